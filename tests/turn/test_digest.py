"""The weekly question about what waits: asked wholly or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.errors import StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.outbox import Outbox
from qingtuan.language import Words
from tests.fakes.conversation import Conversation
from tests.scenarios.test_review import HOME, start


async def test_a_process_that_dies_in_the_middle_has_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That it was asked, and the message, stand together or not at all: the next look asks once."""
    async with Conversation(tmp_path) as chat:
        await start(chat)

        def dies(*_: object, **__: object) -> None:
            raise StorageFailed(Words("坏了", "broken"))

        with monkeypatch.context() as dying:
            dying.setattr(Outbox, "put", dies)
            await chat.later(days=1)
        assert chat.events(Kind.REVIEW_ASKED) == []
        await chat.restart()
        await chat.later(seconds=1)  # it begins to wait
        await chat.later(minutes=11)
        assert len(chat.events(Kind.REVIEW_ASKED)) == 1
        assert len(chat.deliver(HOME)) == 1


async def test_what_was_asked_and_not_delivered_is_not_answered_by_numbers(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await start(chat)
        await chat.later(days=1)
        await chat.send("1")
        await chat.settled()
        assert chat.pages() == []


async def test_an_answer_that_a_crash_left_undone_is_taken_up(tmp_path: Path) -> None:
    """Stored, and then the process ended: the next one reads it as what it was."""
    async with Conversation(tmp_path) as chat:
        await start(chat)
        await chat.later(days=1)
        chat.deliver(HOME)

        async def dies(*_: object) -> object:
            raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as dying:
            dying.setattr("qingtuan.turn.desk.run", dies)
            with pytest.raises(KeyboardInterrupt):
                await chat.send("1 3")
        await chat.restart()
        await chat.settled()
        assert "记住了" in "".join(chat.deliver(HOME))
        assert len(chat.commits()) == 1
