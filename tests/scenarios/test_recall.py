"""Seed 002: "who talked to you lately?" is answered over every session that the asker may see, and no other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.messages import Space
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Reply, call, on_result, on_user

GROUP = Space("group", "qq:777")
MEMBER, OTHER = "qq:10002", "qq:10003"


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    members = f'["{MEMBER}", "{OTHER}"]'
    async with Conversation(tmp_path, ACCESS__MEMBERS=members, ACCESS__GROUPS='["qq:777"]') as chat:
        chat.model(
            on_user("谁来找过你", call("memory_recall")),
            on_result("", lambda asked: Reply(asked.text_of("tool"))),
            on_user("", "嗯。"),
        )
        await chat.say("明天的组会改到三点", by=MEMBER)
        await chat.later(hours=1)
        await chat.say("群里的事", by=OTHER, space=GROUP)
        await chat.later(hours=1)
        yield chat


async def test_the_owner_hears_of_every_contact_in_private(chat: Conversation) -> None:
    (answer,) = await chat.say("最近有谁来找过你？")
    assert MEMBER in answer
    assert "明天的组会改到三点" in answer
    assert OTHER in answer


async def test_a_group_hears_of_itself_alone(chat: Conversation) -> None:
    (answer,) = await chat.say("最近有谁来找过你？", space=GROUP)
    assert OTHER in answer
    assert "组会" not in answer


async def test_a_member_hears_of_their_own_talk_alone(chat: Conversation) -> None:
    (answer,) = await chat.say("最近有谁来找过你？", by=MEMBER)
    assert "明天的组会改到三点" in answer
    assert "群里的事" not in answer
    assert OTHER not in answer
