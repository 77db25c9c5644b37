"""Half characters, NULs and the like in every field of a message: nothing breaks, nothing is swallowed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Attachment, Inbound, Material, Origin, Space, whole
from tests.fakes.conversation import OWNER, START, Conversation

MEMBER, GROUP = "qq:10002", Space("group", "qq:777")
BROKEN = ("坏\ud800字", "\udfff", "a\0b", "\ud83d", "x\u2028y\u0085z", "\u202e反\u2066过\u200b来")


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    environ = {"ACCESS__MEMBERS": f'["{MEMBER}"]', "ACCESS__GROUPS": '["qq:777"]', "EMBEDDING__MODEL": "off"}
    async with Conversation(tmp_path, tools=None, **environ) as chat:
        chat.model()
        yield chat


def fields(broken: str, text: str) -> list[dict[str, Any]]:
    """Each field of a message with it."""
    attached = Attachment("file", broken, broken, "0" * 64, 1)
    return [
        {"nickname": broken},
        {"quotes": broken},
        {"session": broken},
        {"message_id": f"{broken}{text}"},
        {"materials": (Material(Origin.FILE, broken, broken),)},
        {"attachments": (attached,)},
    ]


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_message_with_it_is_answered(chat: Conversation, broken: str) -> None:
    for text in (broken, "你好", "确认", "1", "2345-6789"):
        for more in ({}, *fields(broken, text)):
            assert await chat.say(text, **more)
    assert await chat.say(broken, MEMBER, GROUP)
    await chat.say(broken, MEMBER, GROUP, addressed=False)
    assert not chat.events(Kind.TURN_FAILED)


@pytest.mark.parametrize("broken", BROKEN)
async def test_a_command_with_it_is_answered_in_a_sentence(chat: Conversation, broken: str) -> None:
    for command in [command for command in chat.app.commands if command.name not in ("stop", "disable")]:
        for name in command.names[:2]:
            assert await chat.say(f"/{name} {broken}")
    for sub in ("add", "del", "edit 1", "share 1", "why", "always", "never", "purge", "pin"):
        assert await chat.say(f"/memory {sub} {broken}")
    assert await chat.say(f"/{broken}")
    assert not chat.events(Kind.TURN_FAILED)


@pytest.mark.parametrize("broken", BROKEN)
async def test_an_account_or_a_group_with_it_is_nobody_s(chat: Conversation, broken: str) -> None:
    for account, space in ((f"wx:{broken}", None), (MEMBER, Space("group", f"qq:{broken}"))):
        await chat.send("你好", account, space)
        await chat.send("/memory", account, space)
    await chat.settled()
    assert not chat.events(Kind.MODEL_REQUESTED)


def test_no_two_ids_become_one() -> None:
    def of(account: str) -> Inbound:
        return whole(Inbound("wx", account, Space("private", account), account, "你好", START))

    broken = [of(f"wx:{half}") for half in ("\ud800", "\ud801", "\udc00", "?", "\ufffd")]
    assert len({one.account for one in broken}) == len({one.message_id for one in broken}) == len(broken)
    sound = Inbound("cli", OWNER, Space("private", OWNER), "1", "你好 😀", START)
    assert whole(sound) is sound
