"""`/trace`, `/cost`, `/status`, `/context`, `/tools`, `/model`: what one may see of how it works."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from qingtuan.clock import ManualClock
from qingtuan.events.kinds import Kind
from qingtuan.identity.scopes import Role
from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.messages import Remote, Space
from qingtuan.tools.tool import ToolContext
from qingtuan.turn.commands.context import context_commands
from qingtuan.turn.commands.owner import owner_commands
from qingtuan.turn.commands.registry import Commands
from qingtuan.turn.desk import Desk
from qingtuan.turn.trace import steps, summary, trace
from tests.fakes.turns import GROUP, MEMBER, OWNER, OWNER_QQ, START, Plan, World, calls, in_order, says, tool_of


async def look(context: ToolContext, values: dict[str, Any]) -> str:
    return "晴"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    of_library = partial(tool_of, run=look, risk=Risk.ACT, core=False, roles=frozenset({Role.OWNER}))
    tools = (
        tool_of("look", look, risk=Risk.READ, description="看天。\n第二行"),
        of_library("library__reserve", description="预约 座位"),
        of_library("library__cancel", description="Cancel 取消", about=Words("退掉座位", "give a seat back")),
    )
    world = World(Plan(folder=tmp_path, clock=ManualClock(START), tools=tools))
    world.commands = Commands([*world.commands, *owner_commands(world.kit, world.queues), *context_commands(world.kit)])
    world.desk = Desk(world.work, world.commands, world.desk._admission)
    yield world
    await world.close()


async def only(world: World, text: str, account: str = OWNER, space: Space | None = None) -> str:
    (answer,) = await world.say(text, account, space)
    return answer.text


async def test_a_trace_tells_the_whole_turn(world: World) -> None:
    world.model.script = in_order(calls(("look", {}), text="看看"), says("晴。"))
    await world.say("天气怎么样呢")
    text = await only(world, "/trace")
    for part in ("收到 cli:local: 天气怎么样呢", "请求 scripted (reason) #2", "层和字数", "工具 look [read] {}",
                 "结果 look: ok", "回复 晴。", "送到了", "2 次请求，1 次工具，220 词元"):  # fmt: skip
        assert part in text
    found = trace(world.log, "last")
    assert found.events[0].kind is Kind.MESSAGE_RECEIVED
    assert trace(world.log, found.events[0].id).turn == found.turn
    assert (await only(world, "/trace turn_none")) == "没有 turn_none 这一轮。"
    assert "只有主人" in await only(world, "/trace", MEMBER)


async def test_a_trace_names_the_files_that_came(world: World) -> None:
    await world.say("", remotes=(Remote("image", "{}"), Remote("file", "{}", "座位\n表.xlsx")))
    told = next(steps(trace(world.log, "last"), "zh"))
    assert told.head == "收到 cli:local: "
    assert told.below == ("图片", "文件 座位 表.xlsx")


async def test_a_trace_survives_what_was_forgotten(world: World) -> None:
    await world.say("你好")
    found = trace(world.log, "last")
    gone = replace(found, events=tuple(replace(event, payload={"forgotten": True}) for event in found.events))
    assert len(list(steps(gone, "zh"))) == len(found.events)
    assert summary(gone, "en").startswith("not ended")


async def test_the_context_is_shown_by_layers(world: World) -> None:
    assert "还没问过" in await only(world, "/context")
    await world.say("你好")
    head, *layers = (await only(world, "/context")).splitlines()
    assert f"{len(world.model.wires[-1].body())} 字节" in head
    assert [line.partition(" ")[0] for line in layers] == ["1", "2", "3", "8", "4", "9"]
    system = [message.text for message in world.model.requests[-1].messages if message.role == "system"]
    sizes = [int(line.split()[-2]) for line in layers if line[0] not in "89"]
    assert sizes == [len(text) for text in system]
    assert layers[3] == "8 最近的对话 0 条，0 字"
    assert layers[-1] == "9 这条消息 1 条，2 字"
    (refused,) = await world.say("/context", OWNER_QQ, GROUP)
    assert "私聊" in refused.text
    assert "只有主人" in await only(world, "/context", MEMBER)


async def test_cost_is_everybodys_for_the_owner_and_ones_own_for_others(world: World) -> None:
    await world.say("你好")
    await world.say("你好", MEMBER)
    assert "今天：2 轮，220 词元" in await only(world, "/cost")
    theirs = await only(world, "/cost", MEMBER)
    assert "今天：1 轮，110 词元" in theirs
    assert "owner" not in theirs


async def test_status_tools_and_models(world: World) -> None:
    assert "模型：scripted" in await only(world, "/status")
    assert "模型" not in await only(world, "/status", MEMBER)
    assert (await only(world, "/tools")).startswith("look [read]")
    assert "平时：scripted" in await only(world, "/model")
    assert await only(world, "/model", OWNER_QQ, GROUP) == "这里是群，私聊我再说。还不是好友，就先加我。"
    await world.say("你好", OWNER_QQ)
    assert await only(world, "/model", OWNER_QQ, GROUP) == "这里是群，私聊我再说。"


async def test_core_tools_are_listed_others_counted_and_found(world: World) -> None:
    assert (await only(world, "/tools")).splitlines() == [
        "look [read]  看天。",
        "另外还有要用时才找出来的：library 2。/tools 加几个字可以找。",
        "read 只看；write 改自己的数据，/undo 能撤销；act 先问；critical 每次都问，要打代码。",
    ]
    assert await only(world, "/工具 座位") == "library__reserve [act]  预约 座位"
    assert await only(world, "/tools Cancel") == "library__cancel [act]  退掉座位"
    assert await only(world, "/tools 股票") == "没有找到这样的工具，换个说法试试。"
    assert (await only(world, "/tools", MEMBER)).splitlines()[:-1] == ["look [read]  看天。"]
    assert "没有找到" in await only(world, "/tools 座位", MEMBER)
