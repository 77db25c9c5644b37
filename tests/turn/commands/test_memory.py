"""`/memory` and `/undo` where a conversation does not reach: days ahead, pins that are too long, what is not kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qingtuan.events.sessions import Session
from qingtuan.ids import Ids
from qingtuan.memory.injection import Budget
from qingtuan.memory.ruling import Ruling
from qingtuan.messages import Space
from qingtuan.turn.commands.memory import memory_commands
from qingtuan.turn.commands.registry import Commands, Invocation
from qingtuan.turn.commands.undo import undo_command
from tests.memory.world import ACCOUNTS, GROUP, PEOPLE, ZONE, World

Say = Callable[..., Coroutine[Any, Any, str]]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path, budget=Budget(60, 20))
    yield await world.start()
    world.close()


@pytest.fixture
def say(world: World) -> Say:
    """What a command of somebody answers."""
    ruling = Ruling(world.memory.writer, Ids(world.clock))
    own = memory_commands(world.purge, ruling, world.recall, PEOPLE, lambda _: ZONE, lambda _: None)
    commands = Commands([*own, undo_command(world.undoing, lambda _: ZONE)])

    async def say(text: str, person: str = "owner", space: Space | None = None) -> str:
        by = world.by(text, person, space)
        message = world.log.get(by.cause)
        matched = commands.match(text, by.reader)
        assert message
        assert isinstance(matched, tuple)
        command, argument = matched
        session = Session("s_1", by.reader.space, None, 0)
        invocation = Invocation(by.reader, ACCOUNTS[person], "cli", session, message, argument, "zh")
        return (await command.run(invocation)).text

    return say


async def test_what_is_to_come_is_listed_with_its_day_and_what_is_over_is_not(world: World, say: Say) -> None:
    today = world.clock.now().astimezone(ZONE).date()
    await world.say("出差", since=today + timedelta(days=3), kind="event", topic="日程")
    await world.say("休假", until=today + timedelta(days=5), kind="event", topic="日程")
    await world.say("在家", until=today, kind="event", topic="日程")
    assert (await say("/memory")).splitlines()[1:-2] == [
        "#1 出差（2026-12-02 起）", "#2 休假（到 2026-12-04）", "#3 在家（到 2026-11-29）",
    ]  # fmt: skip
    world.clock.advance(timedelta(days=1))
    assert "在家" not in await say("/memory")
    await say("/memory del 1")
    assert "出差" not in await say("/memory")
    assert "2 条" in await say("/memory clear")
    assert "2 条" in await say("/memory clear 确认")


async def test_pins_that_do_not_fit_are_told_to_whoever_pins(world: World, say: Say) -> None:
    for number in range(1, 4):
        await say(f"/memory add 第{number}条{'很长' * 10}")
    assert await say("/memory pin 1") == "📌 #1 置顶了。"
    assert await say("/memory 置顶 2") == "📌 #2 置顶了。"
    assert await say("/memory pin 3") == "📌 #3 置顶了。置顶的太长了，这几条放不下：#3"
    assert await say("/memory 取消置顶 1") == "#1 不再置顶。"


async def test_what_is_not_kept_is_said(world: World, say: Say) -> None:
    assert await say("/memory add 手机 13812345678") == "记住了（#1）。"
    assert await say("/memory add 密码是 Tr0ub4dor&3，手机 13812345678") == "记住了（#2）。密码不记，已隐去。"


async def test_a_page_that_cannot_be_read_keeps_a_wish_waiting(world: World, say: Say) -> None:
    world.wiki.edit("users/owner/profile.md", "---\na: b: c\n---\n")
    await world.memory.edited(["users"])
    assert await say("/memory add 不吃香菜") == "先没有记：要写的那一页读不了。"


@pytest.mark.parametrize(
    "text", ["/memory add 不吃香菜", "/memory  add\t不吃香菜", "/memory\nadd\n不吃香菜", "/记忆　添加　不吃香菜"]
)
async def test_any_white_space_parts_words(world: World, say: Say, text: str) -> None:
    assert await say(text) == "记住了（#1）。"
    assert world.current() == ["#1 不吃香菜"]


async def test_sharing_in_chinese(world: World, say: Say) -> None:
    await say("/memory add 先给结论")
    assert await say("/记忆 公开 1") == "#1：公开。"
    assert await say("/记忆 公开 1 只有我") == "#1：只有我。"
    assert await say("/记忆 公开 1 全局") == "#G1：全局。"
    assert await say("/memory share G1 own") == "#2：我在哪都能用。"


async def test_undo_says_what_it_took_back_in_private_only(world: World, say: Say) -> None:
    await say("/memory add 存折在抽屉")
    assert await say("/undo") == "已撤销：记住：存折在抽屉"
    await say("/memory add 存折在抽屉")
    assert "存折" not in await say("/undo", space=GROUP)
    assert world.current() == []
