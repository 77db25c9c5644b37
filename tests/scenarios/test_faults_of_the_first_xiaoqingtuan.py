"""What went wrong in the system whose name this one bears cannot happen here. One test for each fault."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.booking import Bookings, books
from tests.fakes.conversation import Conversation, remembers
from tests.fakes.model_server import Reply, ToolCall, call, on_result, on_user, when, without_tools

LI, GROUP = "qq:10002", Space("group", "qq:777")
PAGE = "users/owner/preferences/图书馆.md"


@pytest.fixture
def bookings(tmp_path: Path) -> Bookings:
    return Bookings(tmp_path / "bookings.jsonl")


@pytest.fixture
async def chat(tmp_path: Path, bookings: Bookings) -> AsyncIterator[Conversation]:
    chat = Conversation(
        tmp_path,
        tools={"booking": bookings},
        ACCESS__MEMBERS=f'["{LI}"]',
        ACCESS__GROUPS='["qq:777"]',
        EMBEDDING__MODEL="off",
    )
    async with chat:
        yield chat


async def believe(chat: Conversation, said: str, value: str) -> None:
    chat.model(without_tools("[]"), on_user(said, remembers(content=value, value=value)), on_result("", "记住了。"))
    await chat.say(said)


async def searched(chat: Conversation, query: str, by: str = "cli:local") -> str:
    chat.model(without_tools("[]"), on_user("找", call("memory_search", query=query)), on_result("", "好。"))
    await chat.say("找", by)
    return chat.asked.text_of("tool")


@pytest.mark.parametrize("query", ["我一般喜欢坐图书馆哪里？", "座位"])
async def test_1_a_natural_question_and_a_short_word_find_the_belief_by_words_alone(
    chat: Conversation, query: str
) -> None:
    await believe(chat, "记住我在图书馆的座位", "优先二楼安静区")
    assert "优先二楼安静区" in await searched(chat, query)


async def test_2_the_best_match_comes_first(chat: Conversation) -> None:
    for text in ("今天的牛奶是早上送的", "牛奶过敏，喝豆浆", "牛奶"):
        await chat.say(f"/memory add {text}")
    found = await searched(chat, "对牛奶过敏吗")
    assert found.splitlines()[0].count("牛奶过敏")


async def test_3_what_a_person_wrote_on_a_page_survives_the_next_write(chat: Conversation) -> None:
    await believe(chat, "记住我坐二楼", "二楼安静区")
    path = chat.home.wiki / PAGE
    by_hand = "\n## 当前 # active facts\n\n- 手写一条\n  - 嵌套\n\n## 想法\n\n一段话。\n\n| 表 | 格 |\n| - | - |\n"
    path.write_text(path.read_text("utf-8").replace("<!-- qingtuan", f"{by_hand}\n<!-- qingtuan"), "utf-8")
    await believe(chat, "记住我改坐三楼", "三楼靠窗")
    page = chat.page(PAGE)
    assert "三楼靠窗" in page
    for line in filter(None, by_hand.splitlines()):
        assert line in page or f"{line} ^" in page


async def test_4_nothing_of_a_page_that_is_gone_is_found_by_anybody(chat: Conversation) -> None:
    await believe(chat, "记住我坐二楼", "二楼安静区")
    (chat.home.wiki / PAGE).unlink()
    assert "二楼" not in await searched(chat, "二楼安静区")
    assert "二楼" not in await searched(chat, "二楼安静区", LI)


async def test_5_two_people_with_the_same_page_id_do_not_collide(chat: Conversation) -> None:
    page = "---\nid: library_preference\ntype: preference\n---\n# 图书馆\n\n## 当前\n- {} ^1\n"
    for person, text in (("owner", "主人坐二楼"), ("qq-10002", "小李坐三楼")):
        path = chat.home.wiki / f"users/{person}/preferences/library.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.format(text), "utf-8")
    await chat.app.remembering.memory.edited(["users"])
    assert "主人坐二楼" in await searched(chat, "图书馆坐哪里")
    assert "小李坐三楼" in (found := await searched(chat, "图书馆坐哪里", LI))
    assert "主人" not in found


async def test_6_the_tool_and_the_extractor_make_one_belief_and_a_new_one_supersedes(chat: Conversation) -> None:
    claim = {
        "message": 1, "type": "preference", "subject": "我", "predicate": "座位偏好", "value": "二楼安静区",
        "evidence": "我坐二楼安静区", "explicit": True, "confidence": 0.95,
    }  # fmt: skip
    chat.model(
        without_tools(json.dumps([claim], ensure_ascii=False)),
        on_user("二楼", remembers(content="坐二楼安静区", value="二楼安静区")),
        on_result("", "记住了。"),
    )
    await chat.say("以后我坐二楼安静区")
    await chat.later(minutes=2)
    await believe(chat, "以后我坐三楼", "三楼靠窗")
    current = chat.page(PAGE).partition("## 历史")[0]
    assert current.count("- ") == 1
    assert "三楼靠窗" in current


async def test_9_a_belief_holds_from_the_day_it_was_learnt_and_not_from_the_last_write(chat: Conversation) -> None:
    await believe(chat, "记住我坐二楼", "二楼安静区")
    await chat.later(days=5)
    await chat.say("/memory pin 1")
    await chat.later(days=5)
    await believe(chat, "记住我改坐三楼", "三楼靠窗")
    assert "- 2026-11-29~2026-12-09：" in chat.page(PAGE)


async def test_10_other_peoples_pages_do_not_crowd_out_ones_own(chat: Conversation) -> None:
    await chat.say("/memory add 我的图书馆座位在二楼", LI)
    for number in range(30):
        await chat.say(f"/memory add 图书馆座位的事第 {number} 条")
    assert "二楼" in await searched(chat, "图书馆座位", LI)


async def test_11_a_model_that_never_stops_calling_still_answers(chat: Conversation) -> None:
    counting = iter(range(100))
    chat.model(
        without_tools("我查了很多次，没有找到。"),
        when(lambda _: True, lambda _: Reply(calls=(ToolCall("memory_search", {"query": f"第 {next(counting)} 次"}),))),
    )
    assert await chat.say("一直找") == ["我查了很多次，没有找到。"]


async def test_11_a_call_beside_a_risky_one_is_not_dropped_and_the_turn_goes_on_after_the_yes(
    chat: Conversation, bookings: Bookings
) -> None:
    both = Reply(calls=(ToolCall("memory_search", {"query": "座位"}), *books(date="2026-12-01").calls))
    chat.model(without_tools("[]"), on_user("预约", both), on_result("", "订好了，祝学习顺利。"))
    await chat.say("帮我预约")
    answers = await chat.say("确认")
    results = [message for message in chat.asked.messages if message["role"] == "tool"]
    assert len(results) >= 2
    assert answers[-1] == "订好了，祝学习顺利。"
    assert len(bookings.made) == 1


@pytest.mark.parametrize("word", ["好", "嗯", "可以", "ok"])
async def test_12_small_talk_by_others_or_after_its_time_carries_nothing_out(
    chat: Conversation, bookings: Bookings, word: str
) -> None:
    chat.model(without_tools("[]"), on_user("预约", books(date="2026-12-01")), when(lambda _: True, "嗯。"))
    await chat.say("帮我预约", space=GROUP)
    await chat.say(word, LI, GROUP)
    assert bookings.made == []
    await chat.later(minutes=31)
    await chat.say(word, space=GROUP)
    assert bookings.made == []


@pytest.mark.parametrize("words", ["关闭插件", "/停用", "/disable", "停用小青团"])
async def test_12_nobody_but_the_owner_switches_it_off(chat: Conversation, words: str) -> None:
    chat.model(without_tools("[]"), when(lambda _: True, "在。"))
    await chat.say(words, LI, GROUP)
    assert await chat.say("还在吗", space=GROUP) == ["在。"]


async def test_13_many_sessions_are_answered_at_once_and_each_in_its_order(chat: Conversation) -> None:
    chat.model(without_tools("[]"), when(lambda _: True, lambda asked: Reply(asked.text_of("user"), delay=0.05)))
    for number in range(3):
        for session in ("甲", "乙", "丙"):
            await chat.send(f"{session}{number}", session=session)
    await asyncio.wait_for(chat.settled(), 30)
    told = chat.deliver(Space("private", "cli:local"))
    for session in ("甲", "乙", "丙"):
        assert [text for text in told if text.startswith(session)] == [f"{session}{number}" for number in range(3)]


async def test_15_a_password_is_neither_echoed_nor_kept_where_others_read(chat: Conversation) -> None:
    chat.model(
        without_tools("[]"),
        on_user("密码", call("remember", content="图书馆密码是 hunter2secret", topic="图书馆")),
        on_result("", "这个我不记。"),
    )
    said = await chat.say("记住图书馆密码：hunter2secret")
    assert "hunter2secret" not in "".join(said)
    assert all("hunter2secret" not in chat.page(page) for page in chat.pages())
    assert "hunter2secret" not in "\n".join(chat.commits())


async def test_a_reply_does_not_wait_for_what_is_learnt_from_it(chat: Conversation) -> None:
    """It asked the extractor before it answered, up to forty seconds."""
    chat.model(without_tools(Reply("[]", delay=0.2)), when(lambda _: True, "你好。"))
    assert await chat.say("我最近在学做饭") == ["你好。"]
    assert all("tools" in asked.body for asked in chat.server.requests)


async def test_every_write_is_a_commit(chat: Conversation) -> None:
    """It promised a diff, and committed nothing."""
    before = len(chat.commits())
    await believe(chat, "记住我坐二楼", "二楼安静区")
    assert len(chat.commits()) == before + 1
    (written,) = chat.events(Kind.BELIEF_WRITTEN)
    assert isinstance(written.time, datetime)
