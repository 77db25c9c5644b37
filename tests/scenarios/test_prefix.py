"""Requests are small, and each begins with most of the one before, so that providers' caches serve it (targets.md)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Asked, call, on_result, on_user

HELLO = 6_000
KEPT = 0.9
TURNS = 30


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with Conversation(tmp_path, EMBEDDING__MODEL="off") as chat:
        yield chat


def tools_and_messages(asked: Asked) -> bytes:
    """The bytes of a request up to the end of its messages: what a cache can serve."""
    end = asked.raw.rindex(b'],"model"')
    assert json.loads(asked.raw[: end + 1] + b"}")["messages"] == asked.messages
    return asked.raw[:end]


def common(one: bytes, other: bytes) -> int:
    """The length of the beginning that two requests share."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@pytest.mark.parametrize("hello", ["你好", "hello"])
async def test_hello_is_small(chat: Conversation, hello: str) -> None:
    await chat.say(hello)
    system = [message for message in chat.asked.messages if message["role"] == "system"]
    carried = [json.dumps(part, ensure_ascii=False).encode() for part in (chat.asked.body["tools"], *system)]
    assert sum(map(len, carried)) <= HELLO
    assert {"remember", "memory_search", "memory_recall"} <= set(chat.asked.tools)


async def test_most_of_each_request_is_the_beginning_of_the_next(chat: Conversation) -> None:
    for number in range(20):
        await chat.say(f"/memory add 第 {number} 件事：喜欢的东西是{'甲乙丙丁戊'[number % 5]}{number}")
    await chat.say("/memory pin 3")
    chat.model(
        on_user("查", call("memory_search", query="喜欢的东西")),
        on_result("", "查到了几条，都是你喜欢的东西，要不要我一条条念？"),
        on_user("", "周末可以去江边走走，天气不错，记得带水。"),
    )
    for number in range(TURNS):
        await chat.say(f"查一下第 {number} 件事" if number % 5 == 0 else f"第 {number} 个话题：周末去哪里走走比较好？")
        if number % 7 == 0:
            await chat.say("/whoami")  # a command is no part of it
    requests = [tools_and_messages(asked) for asked in chat.server.requests if asked.tools]
    kept = [common(one, other) for one, other in pairwise(requests)]
    whole = [len(one) for one in requests[:-1]]
    assert len(whole) > TURNS
    assert sum(kept) / sum(whole) >= KEPT
    # What changes is the tail alone: who speaks, when, what was recalled, and the message itself.
    assert max(one - same for one, same in zip(whole, kept, strict=True)) <= 2_000


@pytest.mark.parametrize("count", [12, 100])
async def test_so_it_is_with_beliefs_that_messages_call_for(chat: Conversation, count: int) -> None:
    page = chat.home.wiki / "users/owner/preferences/东西.md"
    page.parent.mkdir(parents=True)
    lines = "".join(f"- 第{number}件喜欢的东西放在家里{number}号柜子最上面那一层\n" for number in range(count))
    page.write_text(f"# 东西\n\n## 当前\n{lines}", "utf-8")
    await chat.app.remembering.memory.edited(["users"])
    chat.model(on_user("", "放在柜子里，拿的时候小心一点。"))
    for number in range(TURNS):
        await chat.say(f"第{number}件东西放在哪里？")
        # Extraction may have asked meanwhile; it carries no tools.
        asked = next(asked for asked in reversed(chat.server.requests) if asked.tools)
        assert f"第{number}件喜欢的东西" in str(asked.messages) or number >= count
    requests = [tools_and_messages(asked) for asked in chat.server.requests if asked.tools]
    kept = sum(common(one, other) / len(one) for one, other in pairwise(requests)) / (TURNS - 1)
    assert kept >= KEPT
    # The part that is recalled is there where not all of it fits.
    assert ("以下是用户消息" in str(chat.asked.messages)) is (count == 100)


async def test_memory_that_changes_leaves_the_rules_and_tools_as_they_were(chat: Conversation) -> None:
    await chat.say("你好")
    first = tools_and_messages(chat.asked)
    await chat.say("/memory add 不吃香菜")
    await chat.say("/memory pin 1")
    await chat.say("你好呀")
    second = tools_and_messages(chat.asked)
    steady = first.index("现在：".encode())
    assert common(first, second) >= 0.9 * steady
