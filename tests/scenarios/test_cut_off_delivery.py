"""An answer that was being handed over when the process died is not sent again, and whoever waits for it learns of
that (channels.md, Outbox; product.md, axiom 8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.messages import Space
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.model_server import on_user

FRIEND = "tg:42"
CHAT = Space("private", FRIEND)
MISSING = "刚才断了一下，上一条回答可能没送到。没看到就说「再说一遍」。"


async def cut_off(chat: Conversation, by: str, *, gathers: bool) -> list[str]:
    """Somebody asks, the process dies while it hands the answer over, and starts again; what then is sent."""
    space = Space("private", by)
    await chat.send("在吗", by, gathers=gathers)
    if gathers:
        await chat.later(seconds=3)
    await chat.settled()
    outbox = chat.app.kit.record.outbox
    (answer,) = outbox.waiting(by.partition(":")[0], space)
    outbox.started(answer)
    await chat.restart()
    return chat.deliver(space)


async def test_in_a_chat_app_it_is_said_once(tmp_path: Path) -> None:
    async with Conversation(tmp_path, ACCESS__MEMBERS=f'["{FRIEND}"]') as chat:
        chat.model(on_user("再说一遍", "在的，刚才也说了。"), on_user("", "在的。"))
        assert await cut_off(chat, FRIEND, gathers=True) == [MISSING]
        await chat.restart()
        assert chat.deliver(CHAT) == []
        await chat.send("再说一遍", FRIEND, gathers=True)
        await chat.later(seconds=11)
        assert chat.deliver(CHAT) == ["在的，刚才也说了。"]


@pytest.mark.parametrize("by", [OWNER, FRIEND])
async def test_where_the_line_is_seen_to_break_nothing_is_said(tmp_path: Path, by: str) -> None:
    async with Conversation(tmp_path, ACCESS__MEMBERS=f'["{FRIEND}"]') as chat:
        chat.model(on_user("", "在的。"))
        assert await cut_off(chat, by, gathers=False) == []
