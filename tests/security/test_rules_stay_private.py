"""What somebody never wants remembered says what they do not want known: it is theirs, and nobody hears of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.messages import Space
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.model_server import call, on_result, on_user, without_tools
from tests.security.planted import Watching, mark

LI, MING = "qq:10002", "qq:10003"
GROUP = Space("group", "qq:777")
OWN, SECOND = mark(41), mark(42)
"""In the rules of one member."""


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    environ = {
        "ACCESS__MEMBERS": f'["{LI}", "{MING}"]',
        "ACCESS__GROUPS": '["qq:777"]',
        "EMBEDDING__MODEL": "off",
        "MEMORY__POLICY_GROUP": "auto",
        "MEMORY__EXTRACT_AFTER": "2",
    }
    async with Conversation(tmp_path, tools=None, **environ) as chat:
        await chat.say(f"/memory never 吃药、{OWN}", LI)
        await chat.say(f"/memory always 加班、{SECOND}", LI)
        yield chat


@pytest.mark.parametrize("words", ["我在吃药", "记住我在吃药", "今天又加班了，吃药了"])
async def test_no_rule_is_told_in_a_group(chat: Conversation, words: str) -> None:
    watching = Watching(chat)
    chat.model(
        on_user("吃药", call("remember", content="在吃药", predicate="吃药", value="在吃药")),
        on_result("", "嗯。"),
        without_tools("[]"),
    )
    await chat.say(words, LI, GROUP)
    for said in ("说说", "接着说"):
        await chat.say(said, MING, GROUP)
    await chat.later(minutes=5)
    for said in ("/memory never", "/memory always", "/memory never del 1"):
        await chat.say(said, LI, GROUP)
    seen = watching.seen()
    told = [place for place in (*seen.where(OWN), *seen.where(SECOND)) if not place.startswith("belief.withheld")]
    assert told == []


async def test_no_rule_is_told_to_others(chat: Conversation) -> None:
    watching = Watching(chat)
    chat.model(
        on_user("吃药", call("remember", content="在吃药", predicate="吃药", value="在吃药")),
        on_result("", "嗯。"),
        without_tools("[]"),
    )
    for account in (MING, OWNER):
        for said in ("我在吃药", "/memory never", "/memory always", "/memory never del 1", "/memory never 吃药"):
            await chat.say(said, account)
    await chat.later(minutes=5)
    assert watching.seen().where(OWN) == []
    assert "1. 吃药" in (await chat.say("/memory never", LI))[0]
