"""Seed 000: what is believed now is one thing, what was believed before is history, and nothing is silently lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Reply, call, on_result, on_user, without_tools


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with Conversation(tmp_path, EMBEDDING__MODEL="off") as chat:
        yield chat


def told(subject: str, predicate: str, value: str, *, content: str = "", topic: str = "") -> Reply:
    return call(
        "remember",
        content=content or f"{subject}{predicate}{value}",
        subject=subject,
        predicate=predicate,
        value=value,
        topic=topic or predicate,
        kind="preference",
    )


async def found(chat: Conversation, query: str, **more: str) -> str:
    """What `memory_search` gives the model for a query."""
    chat.model(on_user("查", call("memory_search", query=query, **more)), on_result("", "查到了。"))
    await chat.say("查一下", session=f"search {query} {more}")
    return chat.asked.text_of("tool")


async def test_a_contradiction_keeps_both_one_of_them_as_history(chat: Conversation) -> None:
    chat.model(
        on_user("喜欢川菜", told("我", "口味", "川菜", content="喜欢川菜")),
        on_user("讨厌川菜", told("我", "口味", "讨厌川菜", content="讨厌川菜")),
        on_result("", "记住了。"),
    )
    await chat.say("我以后就说喜欢川菜")
    await chat.later(days=1)
    await chat.say("我现在讨厌川菜了")
    current, _, history = chat.page("users/owner/preferences/口味.md").partition("## 历史")
    assert "讨厌川菜" in current
    assert "- 喜欢川菜" not in current
    assert "喜欢川菜" in history


async def test_a_correction_is_what_is_found(chat: Conversation) -> None:
    chat.model(
        on_user("群晖", told("NAS", "系统", "Synology")),
        on_user("飞牛", told("NAS", "系统", "fnOS")),
        on_result("", "记住了。"),
    )
    await chat.say("记住 NAS 的系统是群晖 Synology")
    await chat.later(days=1)
    await chat.say("说错了，NAS 的系统是飞牛 fnOS")
    answer = await found(chat, "NAS 系统")
    assert "fnOS" in answer
    assert "Synology" not in answer
    before = await found(chat, "NAS 以前的系统")
    assert "曾经：" in before
    assert "Synology" in before
    on_that_day = await found(chat, "NAS 系统", as_of="2026-11-29")
    assert "Synology" in on_that_day


async def test_another_question_about_the_same_retires_nothing(chat: Conversation) -> None:
    chat.model(
        on_user("任职", told("张三", "任职", "A 公司", content="张三任职 A 公司", topic="张三")),
        on_user("代码库", told("张三", "管理", "A 公司的代码库", content="张三管理 A 公司的代码库", topic="张三")),
        on_result("", "记住了。"),
    )
    await chat.say("记住张三任职 A 公司")
    await chat.say("记住张三管理 A 公司的代码库")
    current = chat.page("users/owner/preferences/张三.md").partition("## 历史")[0]
    assert "- 张三任职 A 公司 ^1" in current
    assert "- 张三管理 A 公司的代码库 ^2" in current


async def test_what_one_person_says_displaces_nothing_of_another(tmp_path: Path) -> None:
    member = "qq:10002"
    chat = Conversation(tmp_path / "two", ACCESS__MEMBERS=f'["{member}"]', EMBEDDING__MODEL="off")
    async with chat:
        chat.model(
            on_user("二楼", told("我", "座位", "二楼")),
            on_user("三楼", told("我", "座位", "三楼")),
            on_result("", "好。"),
        )
        await chat.say("我以后坐二楼")
        await chat.say("我以后坐三楼", member)
        assert "二楼" in chat.page("users/owner/preferences/座位.md").partition("## 历史")[0]
        assert "三楼" in chat.page("users/qq-10002/preferences/座位.md")
        assert "三楼" not in await found(chat, "座位")


async def test_what_was_recalled_is_never_learnt_again(chat: Conversation) -> None:
    await chat.say("/memory add 优先二楼安静区")
    learnt = (
        '[{"type": "preference", "subject": "我", "predicate": "座位", "value": "二楼安静区", "confidence": 0.9,'
        ' "explicit": true, "message": 1, "evidence": "优先二楼安静区"}]'
    )
    chat.model(without_tools(learnt), on_user("", "你优先二楼安静区。"))
    await chat.say("我一般坐图书馆哪里来着，帮我想想")
    await chat.say("嗯，知道了，就是这样，谢谢你告诉我")
    await chat.later(minutes=5)
    assert chat.events(Kind.EXTRACTION_DONE)
    assert len(chat.events(Kind.BELIEF_WRITTEN)) == 1
    assert len(chat.commits()) == 1


async def test_said_by_tool_and_found_by_the_extractor_is_one_belief(chat: Conversation) -> None:
    learnt = (
        '[{"type": "preference", "subject": "我", "predicate": "忌口", "value": "香菜", "content": "不吃香菜",'
        ' "confidence": 0.95, "explicit": true, "message": 1, "evidence": "我不吃香菜"}]'
    )
    chat.model(
        without_tools(learnt),
        on_user("香菜", call("remember", content="不吃香菜", subject="我", predicate="忌口", value="香菜")),
        on_result("", "记住了。"),
    )
    await chat.say("记住我不吃香菜，任何时候点菜都要避开它")
    await chat.later(minutes=5)
    assert chat.events(Kind.EXTRACTION_DONE)
    (listing,) = await chat.say("/memory")
    assert listing.count("香菜") == 1
    assert len(chat.commits()) == 1


async def test_what_was_said_earlier_and_written_later_changes_nothing(chat: Conversation) -> None:
    """A message that was held up on its way: it counts by when it was said."""
    chat.model(
        on_user("三楼", told("我", "座位", "三楼")), on_user("二楼", told("我", "座位", "二楼")), on_result("", "好。")
    )
    written = chat.clock.now()
    await chat.later(days=2)
    await chat.say("我以后坐二楼")
    await chat.say("我以后坐三楼", time=written)
    current, _, history = chat.page("users/owner/preferences/座位.md").partition("## 历史")
    assert "二楼" in current
    assert "三楼" not in current
    assert "三楼" in history
