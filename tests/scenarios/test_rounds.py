"""Seed 002: a turn has twelve rounds; in the last one the model gets no tools and must answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import pytest

from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Asked, Reply, ToolCall, call, on_result, when


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with Conversation(tmp_path, EMBEDDING__MODEL="off") as chat:
        yield chat


def searching() -> Reply:
    return call("memory_search", query=f"第 {next(_numbers)} 种说法")


_numbers = count(1)


async def test_after_twelve_rounds_it_answers_with_what_it_has(chat: Conversation) -> None:
    chat.model(when(lambda asked: bool(asked.tools), lambda _: searching()), when(lambda _: True, "没找到，先到这里。"))
    assert await chat.say("一直找") == ["没找到，先到这里。"]
    rounds = chat.server.requests
    assert len(rounds) == 12
    assert [bool(asked.tools) for asked in rounds] == [True] * 11 + [False]
    chat.model()
    assert await chat.say("那算了") == ["好的。"]
    assert chat.asked.tools


async def test_calls_in_the_last_round_are_never_run(chat: Conversation) -> None:
    def stubborn(asked: Asked) -> Reply:
        if asked.tools:
            return searching()
        return Reply("我再记一下", (ToolCall("remember", {"content": "不该写下的"}),))

    chat.model(when(lambda _: True, stubborn))
    (told,) = await chat.say("一直找")
    assert told
    assert chat.pages() == []
    chat.model()
    assert await chat.say("好了吗") == ["好的。"]


async def test_the_same_failing_call_ends_the_turn_with_an_honest_sentence(chat: Conversation) -> None:
    chat.model(when(lambda _: True, call("wiki_read", path="users/owner/none.md")))
    (told,) = await chat.say("读那一页")
    assert "wiki_read" in told
    assert len(chat.server.requests) == 3
    chat.model()
    assert await chat.say("算了") == ["好的。"]


async def test_broken_arguments_are_never_repaired_and_run(chat: Conversation) -> None:
    broken = ('{"content": "不吃香菜"', '{"content": "不吃香菜"} 等等', '{"content": 5}', '{"contents": "x"}', "[]", "")
    for arguments in broken:
        chat.model(on_result("", "参数不对。"), when(lambda _: True, Reply(calls=(ToolCall("remember", arguments),))))
        assert await chat.say("记住我不吃香菜") == ["参数不对。"], arguments
    assert chat.pages() == []
    assert chat.commits() == []


async def test_a_plain_turn_is_one_call(chat: Conversation) -> None:
    await chat.say("今天天气不错")
    assert len(chat.server.requests) == 1
