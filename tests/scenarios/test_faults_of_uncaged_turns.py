"""What went wrong with the turns of Uncaged cannot happen here. One test for each fault, named after its number."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.identity.trust import Risk
from qingtuan.media.remote import Blob
from qingtuan.messages import Space
from qingtuan.tools.tool import EVERYONE, ToolContext, ToolResult, tool, wire_name
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Asked, Reply, ToolCall, call, on_result, on_user, when, without_tools
from tests.fakes.platform import Platform, left, png
from tests.fakes.telegram_room import room
from tests.fakes.telegram_text import units

SUMMARY = "- 用户要看门牌\n- 没有要办的事"


@tool(risk=Risk.READ, returns="own", roles=EVERYONE, core=False)
async def sha256_hash(context: ToolContext, text: Annotated[str, "what to hash"]) -> ToolResult:
    """Hash a text with SHA-256."""
    return ToolResult(f"杂凑 {len(text)}")


@tool(risk=Risk.READ, returns="own", roles=EVERYONE)
async def look(context: ToolContext, where: Annotated[str, "a place"]) -> ToolResult:
    """Look somewhere."""
    return ToolResult(f"看到 {where}")


FOREIGN = replace(sha256_hash, name="图书馆 server__查/座位", description="Look up free seats.", foreign_words=True)


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    settings = {
        "EMBEDDING__MODEL": "off",
        "LLM__CODE_MODEL": "scripted-coder",
        "LLM__VISION_MODEL": "scripted-vl",
        "MEMORY__MAX_STORED": "8",
        "MEMORY__KEEP_RECENT": "3",
        "MEMORY__BATCH": "4",
        "MEMORY__MIN_SOURCE": "2",
    }
    async with Conversation(tmp_path, tools={"some": lambda: [sha256_hash, FOREIGN, look]}, **settings) as chat:
        yield chat


def images(asked: Asked) -> list[str]:
    parts = [part for message in asked.messages if isinstance(message["content"], list) for part in message["content"]]
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


def torn(asked: Asked) -> list[Any]:
    """Results without their call right before them, and calls without their result right behind them."""
    faults: list[Any] = []
    open_calls: list[str] = []
    for message in asked.messages:
        if message["role"] == "tool":
            faults += [] if message["tool_call_id"] in open_calls else [message]
            open_calls = [one for one in open_calls if one != message["tool_call_id"]]
        else:
            faults += open_calls
            open_calls = [made["id"] for made in message.get("tool_calls") or ()]
    return faults + open_calls


@pytest.mark.parametrize("name", ["sha256_hash", wire_name(FOREIGN.name)])
async def test_9_a_tool_is_called_by_the_name_under_which_it_was_found(chat: Conversation, name: str) -> None:
    """`_` became `-` on the way back: `sha256_hash` could never be called."""
    chat.model(
        without_tools("[]"),
        on_user("算", call("capability_search", query="hash a text, look up free seats")),
        on_result("可以直接调用", call(name, text="abc")),
        on_result("杂凑 3", "算好了。"),
    )
    assert await chat.say("算一下") == ["算好了。"]
    assert name in chat.asked.tools
    assert f"- {name}: " in str(chat.server.requests[1].messages)


BROKEN = [
    '{"where": "门',
    '{"where": "门口"}}',
    "",
    "null",
    "[1]",
    '{"where": "门口", "why": 1}',
    "\\ud800",
    "{" * 9000,
]


@pytest.mark.parametrize("arguments", BROKEN)
async def test_11_broken_arguments_are_an_answer_to_the_model_and_not_the_end_of_the_turn(
    chat: Conversation, arguments: str
) -> None:
    """They were parsed outside of all care: the turn ended with them."""
    chat.model(
        without_tools("[]"),
        on_user("看", Reply(calls=(ToolCall("look", arguments),))),
        on_result("看到", "看过了。"),
        on_result("", call("look", where="门口")),
    )
    assert await chat.say("看看门口") == ["看过了。"]
    assert [event.payload["status"] for event in chat.events(Kind.TOOL_FINISHED)] == ["refused", "ok"]


@pytest.mark.parametrize("ahead", range(4))
async def test_12_no_result_is_left_without_its_call_wherever_a_summary_ends(chat: Conversation, ahead: int) -> None:
    """In one of four alignments a result stood alone, which services refuse."""
    chat.model(without_tools(SUMMARY), on_user("看", call("look", where="门口")), on_result("", "看过了。"))
    for number in range(ahead):
        await chat.say(f"闲聊 {number}")
    for number in range(8):
        await chat.say(f"看看第 {number} 次")
        await chat.done()
    assert len(chat.events(Kind.SUMMARY_WRITTEN)) > 1
    assert [found for asked in chat.server.requests if (found := torn(asked))] == []


async def test_12_what_was_summed_up_is_there_after_a_restart_and_in_the_next_summary(chat: Conversation) -> None:
    """Its summaries were left out when the talk was saved: older history was lost."""
    chat.model(without_tools("- 用户的门牌是 A12\n- 没有要办的事"))
    for number in range(8):
        await chat.say(f"闲聊 {number}")
        await chat.done()
    chat.model(without_tools(SUMMARY))
    await chat.restart()
    before = len(chat.server.requests)
    for number in range(8, 16):
        await chat.say(f"闲聊 {number}")
        await chat.done()
    talked = [asked.raw.decode() for asked in chat.server.requests[before:]]
    assert "门牌是 A12" in talked[0]
    rolled_up = [text for text in talked if "[摘要]" in text]
    assert rolled_up
    assert "门牌是 A12" in rolled_up[0]


async def test_16_a_picture_is_shown_once_and_only_to_a_model_that_sees(chat: Conversation) -> None:
    """It stayed in the history, and was sent to models that do not see."""
    chat.app.media.collector.register("cli", Platform({"p": Blob(png(), "a.png")}))
    chat.model(
        when(lambda asked: bool(images(asked)), "图1：一只小鸟。"), when(lambda asked: bool(asked.tools), "是小鸟。")
    )
    await chat.say("这是什么", remotes=(left("p", "image"),))
    for number in range(6):
        await chat.say(f"闲聊 {number}")
    shown = [asked.body["model"] for asked in chat.server.requests if images(asked)]
    assert shown == ["scripted-vl"]
    assert {asked.body["model"] for asked in chat.server.requests} == {"scripted-vl", "scripted"}


async def test_16_a_picture_is_a_file_of_ours_and_no_address_that_expires(chat: Conversation) -> None:
    """After an hour its address led nowhere."""
    chat.app.media.collector.register("cli", Platform({"p": Blob(png(), "a.png")}))
    chat.model(when(lambda asked: bool(images(asked)), "图1：一只小鸟。"), without_tools("[]"))
    await chat.say("这是什么", remotes=(left("p", "image"),))
    assert images(chat.server.requests[0])[0].startswith("data:image/png;base64,")
    await chat.later(days=2)
    await chat.restart()
    (attached,) = chat.events(Kind.MEDIA_FETCHED)[0].payload["attachments"]
    assert chat.app.media.store.path(attached["hash"]).read_bytes() == png()


async def test_17_what_is_said_in_a_chat_is_answered_in_its_order_one_after_the_other(tmp_path: Path) -> None:
    """No chat had a lock: two turns wrote over each other."""
    passed: list[str] = []

    @tool(risk=Risk.READ, returns="own", roles=EVERYONE)
    async def pass_door(context: ToolContext) -> ToolResult:
        """Go through a door that only one fits through."""
        passed.append("in")
        await asyncio.sleep(0.05)
        passed.append("out")
        return ToolResult("过了")

    settings = {"ACCESS__GROUPS": '["qq:777"]', "ACCESS__MEMBERS": '["qq:1", "qq:2", "qq:3"]'}
    async with Conversation(tmp_path, tools={"door": lambda: [pass_door]}, EMBEDDING__MODEL="off", **settings) as chat:
        chat.model(without_tools("[]"), on_user("", call("pass_door")), on_result("", "好。"))
        group = Space("group", "qq:777")
        for number in (1, 2, 3):
            await chat.send(f"第 {number} 句", f"qq:{number}", group)
        await chat.settled()
        assert passed == ["in", "out"] * 3
        assert [text for text in said(chat.asked) if text.startswith("第")] == ["第 1 句", "第 2 句", "第 3 句"]


def said(asked: Asked) -> list[str]:
    return [message["content"] for message in asked.messages if message["role"] == "user"]


async def test_17_a_text_of_any_length_comes_whole_and_within_the_limit_of_telegram(tmp_path: Path) -> None:
    """More than 4,096 characters were refused, and nothing came."""
    long = "".join(f"第 {number} 行 😀\n" for number in range(2000))
    async with room(tmp_path) as opened:
        await opened.open()
        opened.chat.model(when(lambda asked: bool(asked.tools), long), without_tools("[]"))
        await opened.ask("写长一点")
        await opened.until(lambda: "第 1999 行" in "".join(opened.server.texts()))
        shown = opened.server.texts()
        assert all(0 < units(text) <= 4096 for text in shown)
        assert [line for line in "\n".join(shown).splitlines() if line] == long.splitlines()


@pytest.mark.parametrize("text", ["请问 decode 是什么意思", "我的邮编 postcode 是多少", "function 这个词怎么读"])
async def test_17_a_word_in_a_sentence_chooses_no_model(chat: Conversation, text: str) -> None:
    """`decode` holds `code`, and went to the model for code."""
    await chat.say(text)
    assert chat.asked.body["model"] == "scripted"
    await chat.say("这段对吗\n```python\nprint(1)\n```")
    assert chat.asked.body["model"] == "scripted-coder"
