"""Seed 000: a preference is said once and known from then on; a change of mind leaves its history."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from tests.fakes.conversation import Conversation, remembers
from tests.fakes.model_server import Reply, Script, call, on_result, on_user

PAGE = "users/owner/preferences/图书馆.md"


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with Conversation(tmp_path) as chat:
        chat.model(
            on_user("二楼安静区", remembers(content="优先二楼安静区", value="二楼安静区")),
            on_user("三楼靠窗", remembers(content="优先三楼靠窗", value="三楼靠窗")),
            on_user("坐图书馆哪里", _from_the_prompt("二楼安静区")),
            on_result("", "记住了。"),
        )
        yield chat


async def test_a_preference_lands_on_a_page_as_one_commit_and_is_known_in_another_session(chat: Conversation) -> None:
    assert await chat.say("我以后图书馆优先坐二楼安静区") == ["记住了。"]
    current, _, history = chat.page(PAGE).partition("## 历史")
    assert "- 优先二楼安静区 ^1" in current.partition("## 当前")[2]
    assert "二楼" not in history.partition("<!--")[0]
    assert chat.commits() == ["记住：优先二楼安静区"]
    assert await chat.say("我一般喜欢坐图书馆哪里？", session="other") == ["二楼安静区"]
    # It stood in the prompt already: one request, no search.
    assert [message["role"] for message in chat.asked.messages].count("assistant") == 0


async def test_a_change_of_mind_and_back_leaves_two_intervals(chat: Conversation) -> None:
    await chat.say("我以后图书馆优先坐三楼靠窗")
    await chat.later(days=3)
    await chat.say("三楼太吵了，以后二楼安静区优先")
    await chat.later(days=2)
    await chat.say("还是三楼靠窗吧")
    current, _, history = chat.page(PAGE).partition("## 历史")
    assert "三楼靠窗" in current
    assert "二楼" not in current
    assert "2026-12-02~2026-12-04" in history
    assert "2026-11-29~2026-12-02" in history
    assert len(chat.commits()) == 3


async def test_the_same_thing_twice_is_one_line_and_one_commit(chat: Conversation) -> None:
    await chat.say("我以后图书馆优先坐二楼安静区")
    before = chat.page(PAGE)
    await chat.say("记得啊，图书馆我要二楼安静区")
    assert chat.page(PAGE) == before
    assert len(chat.commits()) == 1
    seen = chat.events(Kind.BELIEF_WRITTEN)
    assert [event.payload.get("again", False) for event in seen] == [False, True]


async def test_said_in_english_it_reads_in_english(chat: Conversation) -> None:
    chat.model(
        on_user(
            "quiet",
            call(
                "remember",
                content="prefers the quiet zone on the second floor",
                topic="library",
                kind="preference",
                subject="I",
                predicate="seat",
                value="quiet zone, second floor",
            ),
        ),
        on_user("Where", _from_the_prompt("quiet zone")),
        on_result("", "Noted."),
    )
    assert await chat.say("From now on I prefer the quiet zone on the second floor of the library") == ["Noted."]
    assert "- prefers the quiet zone on the second floor ^1" in chat.page("users/owner/preferences/library.md")
    assert await chat.say("Where do I usually like to sit in the library?", session="other") == ["quiet zone"]


async def test_a_page_edited_by_hand_meanwhile_keeps_both(chat: Conversation) -> None:
    await chat.say("我以后图书馆优先坐二楼安静区")
    page = chat.home.wiki / PAGE
    page.write_text(page.read_text("utf-8").replace("## 当前", "靠窗的位子夏天晒。\n\n## 当前\n- 带水杯"), "utf-8")
    chat.model(
        on_user("耳塞", remembers(content="要带耳塞", predicate="随身物品", value="耳塞")), on_result("", "记住了。")
    )
    await chat.say("记住我去图书馆要带耳塞")
    text = chat.page(PAGE)
    assert "靠窗的位子夏天晒。" in text
    assert "- 带水杯" in text
    assert "- 要带耳塞" in text
    assert len(chat.commits()) == 3
    assert chat.events(Kind.PAGE_EDITED)
    assert "带水杯" in (await chat.say("/memory"))[0]


async def test_forgetting_moves_it_to_history_and_says_so(chat: Conversation) -> None:
    await chat.say("我以后图书馆优先坐二楼安静区")
    chat.model(on_user("忘掉", call("memory_forget", query="座位偏好")), on_result("移到历史", "好，不再按这个来了。"))
    assert await chat.say("忘掉我的座位偏好") == ["好，不再按这个来了。"]
    current, _, history = chat.page(PAGE).partition("## 历史")
    assert "二楼安静区" not in current
    assert "二楼安静区" in history
    assert "二楼安静区" not in str(await _prompt(chat))


async def test_undo_takes_the_last_write_back(chat: Conversation) -> None:
    await chat.say("我以后图书馆优先坐三楼靠窗")
    await chat.say("三楼太吵了，以后二楼安静区优先")
    assert "已撤销" in (await chat.say("/undo"))[0]
    current, _, history = chat.page(PAGE).partition("## 历史")
    assert "三楼靠窗" in current
    assert "二楼" not in current + history.partition("<!--")[0]
    assert "已撤销" in (await chat.say("/undo"))[0]
    assert chat.pages() == []
    assert await chat.say("/undo") == ["没有可以撤销的写入。"]
    assert len(chat.commits()) == 4


async def test_why_leads_to_the_sentence_and_each_change(chat: Conversation) -> None:
    await chat.say("我以后图书馆优先坐二楼安静区")
    (why,) = await chat.say("/memory why 1")
    assert "我以后图书馆优先坐二楼安静区" in why
    assert "2026-11-29" in why
    assert PAGE in why


def _from_the_prompt(words: str) -> Script:
    """A model that says `words` if they stand before it, and else that it knows nothing."""
    return lambda asked: Reply(words if words in str(asked.messages[:-1]) else "没有记录")


async def _prompt(chat: Conversation) -> object:
    chat.model(on_user("", "嗯。"))
    await chat.say("说说图书馆的座位", session="elsewhere")
    return chat.asked.messages
