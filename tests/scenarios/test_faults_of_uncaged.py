"""What went wrong with the memory of Uncaged cannot happen here. One test for each fault."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from tests.fakes.conversation import Conversation, remembers
from tests.fakes.model_server import call, on_result, on_user, when, without_tools

OWNER = "cli:local"


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    members = "[" + ", ".join(f'"qq:{20000 + number}"' for number in range(50)) + "]"
    chat = Conversation(
        tmp_path,
        ACCESS__MEMBERS=members,
        LIMITS__MEMBER__PRIVATE_COOLDOWN="0",
        EMBEDDING__MODEL="off",
    )
    async with chat:
        chat.model(
            without_tools("[]"),
            on_user("谁来过", call("memory_recall", hours=0, limit=30)),
            on_result("", "查好了。"),
            when(lambda _: True, "好。"),
        )
        yield chat


async def recalled(chat: Conversation) -> str:
    await chat.say("谁来过")
    return chat.asked.text_of("tool")


async def test_8_the_newest_messages_are_there_beside_the_old_contacts(chat: Conversation) -> None:
    """It sorted by time and cut at the wrong end: with five old contacts the newest five messages were lost."""
    for number in range(5):
        await chat.say(f"旧消息 {number}", f"qq:{20000 + number}")
    for number in range(40):
        await chat.say(f"新消息 {number:02}", "qq:20010")
    found = await recalled(chat)
    assert all(f"旧消息 {number}" in found for number in range(5))
    assert all(f"新消息 {number:02}" in found for number in range(30, 40))


async def test_8_of_many_contacts_the_newest_are_told_and_how_many_are_missing(chat: Conversation) -> None:
    """With fifty contacts it returned the thirty oldest."""
    for number in range(50):
        await chat.say(f"我是第 {number:02} 个", f"qq:{20000 + number}")
    found = await recalled(chat)
    assert all(f"我是第 {number:02} 个" in found for number in range(20, 50))
    assert "我是第 19 个" not in found
    assert "另有 20 个联系人未列出" in found


async def test_14_forgetting_what_is_not_there_is_no_success(chat: Conversation) -> None:
    """It said true with the index down, and for the id of somebody else's."""
    await chat.say("/memory add 小李的生日是五月", "qq:20001")
    for query in ("99", "没有的事", "小李的生日", "1"):
        chat.model(without_tools("[]"), on_user("忘", call("memory_forget", query=query)), on_result("", "嗯。"))
        await chat.say("忘掉它")
        assert "没有" in chat.asked.text_of("tool")
    assert "小李的生日是五月" in (await chat.say("/memory", "qq:20001"))[0]
    assert chat.events(Kind.BELIEF_RETRACTED) == []


async def test_14_a_failed_index_loses_no_message(chat: Conversation) -> None:
    """What could not be embedded was not kept either."""
    (chat.home.index / "episodes").mkdir(parents=True, exist_ok=True)
    await chat.say("我把护照放在书柜第二层", "qq:20001")
    await chat.stop()
    for path in sorted(chat.home.index.rglob("*"), reverse=True):
        if path.is_file():
            path.write_bytes(b"not an index any more")
    await chat.start()
    assert "护照放在书柜第二层" in await recalled(chat)


async def test_15_what_one_contact_is_about_comes_into_no_other_contacts_prompt(chat: Conversation) -> None:
    """It looked contacts up by a part of their id, and gave general facts to anybody."""
    await chat.say("/memory add 我的保险箱密码本在阁楼", "qq:20001")
    await chat.say("/memory add 钥匙在花盆下面", OWNER)
    await chat.say("我的东西都在哪里？", "qq:20010")
    text = chat.asked.raw.decode()
    assert "阁楼" not in text
    assert "花盆" not in text


async def test_15_what_is_overwritten_stays_as_history(chat: Conversation) -> None:
    """The same kind and subject were overwritten without a trace."""
    for value in ("川菜", "粤菜"):
        told = remembers(content=f"喜欢{value}", topic="口味", predicate="口味", value=value)
        chat.model(without_tools("[]"), on_user("记住", told), on_result("", "记住了。"))
        await chat.say(f"记住我喜欢{value}")
    current, _, history = chat.page("users/owner/preferences/口味.md").partition("## 历史")
    assert "粤菜" in current
    assert "川菜" not in current.partition("<!--")[0]
    assert "喜欢川菜" in history
