"""An instance that wakes up in an older state: nothing of it is done, answered or sent again, and its owner hears."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.events.turns import open_turns
from qingtuan.messages import Space
from tests.fakes.booking import DONE, MEMBER, OWNER_QQ, WISH, Bookings, codes, library
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.restoring import back_up, copied, restore

TOLD = "数据恢复成了从前的样子"
GRANT = "INSERT INTO grants (server, address, issuer, client, tokens) VALUES ('cloud', 'x', 'x', '{}', '{}')"


def opened(tmp_path: Path, name: str, bookings: Bookings) -> Conversation:
    """A conversation on a folder that was copied or restored, a year later."""
    chat = library(tmp_path / name, bookings)
    chat.clock.advance(timedelta(days=365))
    return chat


def instants(chat: Conversation, tmp_path: Path) -> list[str]:
    """Copies the data folder after every single event from now on; the names of the copies."""
    names: list[str] = []

    def copy(event: Event) -> None:
        names.append(f"{event.seq:04} {event.kind}")
        copied(chat.home, tmp_path / names[-1] / "home")

    chat.app.kit.record.log.listen(copy)
    return names


async def own_wish(chat: Conversation) -> None:
    await chat.say(WISH)
    await chat.say("确认")


async def wish_of_a_member(chat: Conversation) -> None:
    """It goes to the owner, who agrees in another chat."""
    await chat.say("你好", by=OWNER_QQ)
    await chat.say(WISH, by=MEMBER)
    chat.deliver(Space("private", OWNER_QQ))
    await chat.say(f"确认 {codes(chat)[0]}", by=OWNER_QQ)
    chat.deliver(Space("private", MEMBER))


async def wish_that_nobody_answers(chat: Conversation) -> None:
    """When it runs out, both hear of it."""
    await chat.say("你好", by=OWNER_QQ)
    await chat.say(WISH, by=MEMBER)
    chat.deliver(Space("private", OWNER_QQ))
    await chat.later(hours=30)
    for account in (OWNER_QQ, MEMBER):
        chat.deliver(Space("private", account))


@pytest.mark.parametrize(("scene", "booked"), [(own_wish, 1), (wish_of_a_member, 1), (wish_that_nobody_answers, 0)])
async def test_at_whatever_instant_it_was_taken_nothing_is_done_or_sent_twice(
    tmp_path: Path, scene: Callable[..., object], booked: int
) -> None:
    bookings = Bookings(tmp_path / "bookings.jsonl")
    async with library(tmp_path / "first", bookings) as chat:
        names = instants(chat, tmp_path)
        await scene(chat)  # type: ignore[misc]
    assert len(bookings.made) == booked
    told = 0
    for name in names:
        async with opened(tmp_path, name, bookings) as later:
            await later.settled()
            await later.later(hours=1)
            assert later.server.requests == [], name
            log = later.app.kit.record.log
            restored = later.events(Kind.FOLDER_RESTORED)
            assert len(restored) == 1
            new = [event for event in later.events(Kind.MESSAGE_SENT) if event.seq > restored[0].seq]
            assert all(TOLD in event.payload["text"] for event in new), name
            assert len(new) <= 1, name
            told += len(new)
            assert open_turns(log) == [], name
            assert later.app.kit.book.open() == [], name
            assert log.database.rows("SELECT 1 FROM inbox WHERE state <> 'done'") == [], name
            waiting = log.database.rows("SELECT event FROM outbox WHERE state IN ('waiting', 'sending')")
            assert [row["event"] for row in waiting] == [event.id for event in new], name
            # A yes from then counts no more, and talk goes on.
            await later.say("确认", by=OWNER_QQ)
            await later.say("你好", by=MEMBER)
            assert len(bookings.made) == booked, name
    assert 0 < told < len(names)


async def test_a_second_start_finds_nothing_more_to_say(tmp_path: Path) -> None:
    bookings = Bookings(tmp_path / "bookings.jsonl")
    async with library(tmp_path / "first", bookings) as chat:
        await chat.say(WISH)
        path = await back_up(chat, tmp_path / "shelf")
    await restore(path, tmp_path / "second", chat.clock)
    async with opened(tmp_path, "second", bookings) as later:
        assert TOLD in later.deliver(Space("private", OWNER))[0]
        await later.restart()
        assert later.deliver(Space("private", OWNER)) == []
        assert len(later.events(Kind.FOLDER_RESTORED)) == 1


async def test_what_may_have_been_done_since_is_asked_about_as_such(tmp_path: Path) -> None:
    """The question of then was answered after the backup; to ask for it again is no repetition by accident."""
    bookings = Bookings(tmp_path / "bookings.jsonl")
    async with library(tmp_path / "first", bookings) as chat:
        await chat.say(WISH)
        path = await back_up(chat, tmp_path / "shelf")
        assert await chat.say("确认") == [DONE]
    await restore(path, tmp_path / "second", chat.clock)
    later = library(tmp_path / "second", bookings)
    async with later:
        (told,) = later.deliver(Space("private", OWNER))
        assert "等答复或等着做的事 1 件" in told
        await later.say("确认")
        assert len(bookings.made) == 1
        await later.say(WISH)
        (asked,) = later.app.kit.book.open()
        assert asked.must_type
        assert "可能" in asked.text
        # The model knows of it in the same words as after a crash, in a request that keeps its pairs.
        assert "结果未知" in str(later.asked.messages)
    assert len(bookings.made) == 1


async def test_a_reply_that_waited_and_a_turn_that_ran(tmp_path: Path) -> None:
    bookings = Bookings(tmp_path / "bookings.jsonl")
    async with library(tmp_path / "first", bookings) as chat:
        await chat.send("你好")
        await chat.settled()
        held: list[Event] = []

        def copy(event: Event) -> None:
            if event.kind is Kind.MODEL_REQUESTED and not held:
                held.append(event)
                copied(chat.home, tmp_path / "second" / "home")

        chat.app.kit.record.log.listen(copy)
        await chat.send("第二句")
        await chat.settled()
        assert len(chat.deliver(Space("private", OWNER))) == 2
    async with opened(tmp_path, "second", bookings) as later:
        await later.settled()
        (told,) = later.deliver(Space("private", OWNER))
        assert "没发出去的话 1 条、没做完的对话 1 轮" in told
        finished = later.events(Kind.TURN_FINISHED)[-1]
        assert finished.payload["outcome"] == "failed"
        await later.say("第三句")
        said = [message["content"] for message in later.asked.messages if message["role"] == "user"]
        assert said == ["你好", "第二句", "第三句"]


async def test_a_state_with_nothing_open_says_nothing(tmp_path: Path) -> None:
    bookings = Bookings(tmp_path / "bookings.jsonl")
    async with library(tmp_path / "first", bookings) as chat:
        await chat.say("你好")
        path = await back_up(chat, tmp_path / "shelf")
    await restore(path, tmp_path / "second", chat.clock)
    async with opened(tmp_path, "second", bookings) as later:
        assert later.deliver(Space("private", OWNER)) == []
        assert later.events(Kind.FOLDER_RESTORED)[0].payload["shows"].startswith("2026-11-29T02:00")


async def test_no_login_at_a_server_of_the_older_state_is_used(tmp_path: Path) -> None:
    bookings = Bookings(tmp_path / "bookings.jsonl")
    async with library(tmp_path / "first", bookings) as chat:
        chat.app.kit.record.log.database.execute(GRANT)
        archive = await back_up(chat, tmp_path / "backups")
        assert chat.app.kit.record.log.database.rows("SELECT * FROM grants")
    await restore(archive, tmp_path / "second", chat.clock)
    async with opened(tmp_path, "second", bookings) as later:
        assert not later.app.kit.record.log.database.rows("SELECT * FROM grants")
