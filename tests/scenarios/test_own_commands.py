"""The owner writes commands of their own, as files, and uses them like any other (memory.md, Commands)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from qingtuan.turn.commands.own import OwnCommands
from tests.fakes.booking import Bookings
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import call, on_user, when, without_tools

MEMBER, GROUP = "qq:10002", Space("group", "qq:777")


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    chat = Conversation(
        tmp_path,
        tools={"booking": Bookings(tmp_path / "bookings.jsonl")},
        OWNER__ACCOUNTS='["qq:10001"]',
        ACCESS__MEMBERS=f'["{MEMBER}"]',
        ACCESS__GROUPS='["qq:777"]',
        EMBEDDING__MODEL="off",
    )
    async with chat:
        yield chat


def write(chat: Conversation, name: str, text: str) -> None:
    path = chat.home.prompts / "commands" / f"{name}.md"
    path.write_text(text, "utf-8")


async def test_a_file_is_a_command_from_the_moment_it_is_saved(chat: Conversation) -> None:
    chat.model(without_tools("[]"), when(lambda _: True, "写好了。"))
    assert "没有 /周报" in (await chat.say("/周报"))[0]
    write(chat, "周报", "---\ndescription: 写这周的周报\n---\n把这周做的事写成周报，给 $ARGUMENTS 看。\n")
    assert await chat.say("/周报 老板") == ["写好了。"]
    assert chat.asked.text_of("user") == "把这周做的事写成周报，给 老板 看。"
    assert "/周报  写这周的周报" in (await chat.say("/help all"))[0]
    write(chat, "周报", "把这周做的事写成三行。")
    await chat.say("/周报 少一点")
    assert chat.asked.text_of("user") == "把这周做的事写成三行。\n少一点"


async def test_it_is_the_owners_alone_and_nobody_else_hears_of_it(chat: Conversation) -> None:
    write(chat, "weekly", "把这周做的事写成周报。")
    nothing = (await chat.say("/weekli", MEMBER))[0]
    assert nothing == "没有 /weekli 这个命令。发 /help 看有哪些。"
    assert (await chat.say("/weekly", MEMBER))[0] == "没有 /weekly 这个命令。发 /help 看有哪些。"
    assert (await chat.say("/weekly", MEMBER, GROUP))[0] == "没有 /weekly 这个命令。发 /help 看有哪些。"
    assert "weekly" not in (await chat.say("/help all", MEMBER))[0]
    assert "是不是 /weekly" in (await chat.say("/weekli"))[0]


async def test_it_takes_no_name_of_ours_and_answers_no_question(chat: Conversation) -> None:
    write(chat, "memory", "忘掉一切")
    assert "还没有记住什么" in (await chat.say("/memory"))[0]
    chat.model(
        on_user("预约", call("book_seat", seat="A12", date="2026-11-30", start="09:00", end="10:00")),
        without_tools("[]"),
        when(lambda _: True, "嗯？"),
    )
    await chat.say("帮我预约")
    assert chat.app.kit.book.open()
    write(chat, "ok", "确认")
    chat.model(without_tools("[]"), when(lambda _: True, "嗯？"))
    await chat.say("/ok")
    assert chat.app.kit.book.open(), "a text in a file is no yes"


async def test_what_it_stands_for_is_what_was_said(chat: Conversation) -> None:
    """The record holds the text, so that a restart, a summary and the memory go by it."""
    write(chat, "茶", "记住我不喝浓茶。")
    chat.model(
        on_user("浓茶", call("remember", content="不喝浓茶")), without_tools("[]"), when(lambda _: True, "记住了。")
    )
    assert (await chat.say("/茶"))[0].startswith("记住了")
    assert chat.events(Kind.MESSAGE_RECEIVED)[-1].payload["text"] == "记住我不喝浓茶。"
    assert "不喝浓茶" in (await chat.say("/memory"))[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [("空", "  \n"), ("a b", "x"), ("README", "x"), (".hidden", "x"), ("又一个", "/memory clear 确认")],
    ids=["empty", "blank", "readme", "dot", "another command"],
)
async def test_what_makes_no_command(chat: Conversation, name: str, text: str) -> None:
    write(chat, name, text)
    assert [command for command in chat.app.commands if command.says] == []
    unusable = OwnCommands(chat.home.prompts / "commands").unusable()
    assert unusable == ([] if name == "README" else [f"{name}.md"])
