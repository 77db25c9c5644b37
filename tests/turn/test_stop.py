"""Stopping a turn, ending the process, and what the next one finds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from qingtuan.errors import Stopped
from qingtuan.events.kinds import Kind
from qingtuan.identity.access import GUEST_LIMITS, AccessRules
from qingtuan.identity.scopes import Role
from qingtuan.identity.trust import Risk
from qingtuan.models.chat import Request
from qingtuan.tools.tool import ToolContext
from qingtuan.turn.progress import TurnEnded
from tests.fakes.turns import GROUP, GUEST, MEMBER, OWNER_QQ, World, calls, failing, in_order, says, shape, tool_of
from tests.turn.conftest import Opener


class Door:
    """Holds whoever comes to it until it is opened, and lets tests wait for somebody to come."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()
        self.left = 0

    async def __call__(self, *_: object) -> None:
        self.reached.set()
        try:
            await self.open.wait()
        finally:
            self.left += 1

    async def reach(self) -> None:
        async with asyncio.timeout(5):
            await self.reached.wait()


def held(door: Door) -> Callable[[ToolContext, dict[str, Any]], Awaitable[str]]:
    async def run(context: ToolContext, values: dict[str, Any]) -> str:
        await door()
        return "做完了"

    return run


async def test_stop_in_the_middle_of_an_answer(world: World) -> None:
    door = Door()
    world.model.pause = door
    await world.receive("慢慢说")
    await door.reach()
    assert [one.text for one in await world.say("/stop")] == ["已停下。"]
    assert world.outcomes() == ["stopped"]
    assert door.left == 1
    world.model.pause = None
    await world.say("说别的")
    # The model must not take up what was stopped.
    words = shape(world.model.requests[-1])
    assert ("user", "慢慢说") in words
    assert any(role == "system" and "停下" in text for role, text in words)


async def test_stop_in_a_tool_closes_its_calls(open_world: Opener) -> None:
    door = Door()
    tools = (
        tool_of("book", held(door), risk=Risk.WRITE),
        tool_of("look", held(door), risk=Risk.READ),
    )
    world = open_world(tools=tools)
    world.model.script = in_order(calls(("book", {}), ("look", {})), says("好。"))
    await world.receive("约座位")
    await door.reach()
    sent = await world.say("/停")
    assert sorted(one.text for one in sent) == ["不知道做成没有：book。要知道就让我查一查。", "已停下。"]
    assert world.outcomes() == ["stopped"]
    finished = {event.payload["name"]: event.payload for event in world.events(Kind.TOOL_FINISHED)}
    assert finished["book"]["status"] == "unknown"
    assert finished["look"]["status"] == "refused"
    await world.say("然后呢")
    assert sum(role == "tool" for role, _ in shape(world.model.requests[-1])) == 2


async def test_stop_goes_to_the_running_turn_and_the_next_one_goes_on(world: World) -> None:
    door = Door()
    world.model.pause = door
    await world.receive("一")
    await door.reach()
    await world.receive("二")
    world.model.pause = None
    await world.say("/stop")
    assert world.outcomes() == ["stopped", "replied"]
    assert [text for role, text in shape(world.model.requests[-1]) if role == "user"] == ["一", "二"]


async def test_stop_with_nothing_running(world: World) -> None:
    assert [one.text for one in await world.say("/stop")] == ["现在没有在做的事。"]


async def test_stop_while_what_was_written_is_committed_comes_too_late(world: World) -> None:
    door = Door()
    world.memory.pause = door
    await world.receive("你好")
    await door.reach()
    task = asyncio.create_task(world.receive("/stop"))
    await asyncio.sleep(0.01)
    door.open.set()
    await task
    await world.queues.idle()
    assert world.outcomes() == ["replied"]
    assert len(world.memory.committed) == 1


async def test_stop_during_the_cool_down_is_the_end_of_that_message(open_world: Opener) -> None:
    world = open_world(rules=AccessRules(trial=1000, limits={Role.GUEST: GUEST_LIMITS}))
    await world.say("一", GUEST)
    door = Door()
    world.clock.sleep = door  # type: ignore[method-assign, assignment]
    await world.receive("二", GUEST)
    await door.reach()
    await world.say("/stop", GUEST)
    assert world.outcomes() == ["replied", "stopped"]
    again = await world.restart()
    assert again.outcomes() == ["replied", "stopped"]
    await again.close()


async def test_a_tool_may_say_that_its_person_stopped_it(open_world: Opener) -> None:
    async def stops(context: ToolContext, values: dict[str, Any]) -> str:
        raise Stopped(failing("停"))

    async def looks(context: ToolContext, values: dict[str, Any]) -> str:
        return "看了"

    world = open_world(tools=(tool_of("stops", stops, risk=Risk.READ), tool_of("looks", looks, risk=Risk.READ)))
    world.model.script = in_order(calls(("looks", {}), ("stops", {})), says("好。"))
    await world.say("试试")
    assert world.outcomes() == ["stopped"]
    started = {event.payload["call"] for event in world.events(Kind.TOOL_STARTED)}
    assert started == {event.payload["call"] for event in world.events(Kind.TOOL_FINISHED)}


async def test_in_a_group_a_guest_stops_nobody_elses_turn(world: World) -> None:
    door = Door()
    world.model.pause = door
    await world.receive("慢慢说", OWNER_QQ, GROUP)
    await door.reach()
    await world.receive("/stop", GUEST, GROUP)
    assert [one.text for one in world.sent()] == ["现在没有在做的事。"]
    assert world.queues.busy(world.record.sessions.running(GROUP, "owner").id)
    await world.say("/stop", OWNER_QQ, GROUP)
    assert world.outcomes() == ["stopped"]


async def test_the_owner_may_stop_anybodys_turn_in_a_group(world: World) -> None:
    door = Door()
    world.model.pause = door
    await world.receive("慢慢说", MEMBER, GROUP)
    await door.reach()
    await world.say("/stop", OWNER_QQ, GROUP)
    assert world.outcomes() == ["stopped"]


async def test_the_watcher_is_told_of_the_end_in_every_case(world: World) -> None:
    await world.say("你好")
    session = world.ended[0][0].session.id
    world.memory.fault = ValueError("ours")
    seen = await world.show_of(session, world.say("再说"))
    assert [piece.outcome for piece in seen if isinstance(piece, TurnEnded)] == ["replied"]


# The end of the process


async def test_close_in_the_middle_and_the_next_process_goes_on(world: World) -> None:
    door = Door()
    world.model.pause = door
    await world.receive("一")
    await door.reach()
    await world.receive("二")
    world.model.pause = None
    again = await world.restart()
    assert again.outcomes() == ["replied", "replied"]
    assert [text for role, text in shape(again.model.requests[-1]) if role == "user"] == ["一", "二"]
    assert len(again.sent()) == 2
    # And the one after that finds nothing to do.
    third = await again.restart()
    assert len(third.sent()) == 2
    await third.close()


async def test_close_in_an_act_leaves_its_outcome_unknown(open_world: Opener) -> None:
    door, tries = Door(), [0]

    async def run(context: ToolContext, values: dict[str, Any]) -> str:
        tries[0] += 1
        await door()
        return "约好了"

    def script(request: Request) -> Any:
        tools = [message.text for message in request.messages if message.role == "tool"]
        return says("不知道约成没有。" if "结果未知" in tools[-1] else "约好了。") if tools else calls(("book", {}))

    world = open_world(tools=(tool_of("book", run, risk=Risk.WRITE),))
    world.model.script = script
    await world.receive("约座位")
    await door.reach()
    again = await world.restart()
    assert tries == [1]
    assert [one.text for one in again.sent()] == ["不知道约成没有。"]
    await again.close()


async def test_close_in_a_read_reads_again(open_world: Opener) -> None:
    door, tries = Door(), [0]

    async def run(context: ToolContext, values: dict[str, Any]) -> str:
        tries[0] += 1
        if tries[0] == 1:
            await door()
        return "晴"

    world = open_world(tools=(tool_of("look", run, risk=Risk.READ),))
    world.model.script = in_order(calls(("look", {})), says("晴。"))
    await world.receive("看天")
    await door.reach()
    again = await world.restart()
    assert tries == [2]
    assert [one.text for one in again.sent()] == ["晴。"]
    assert [message.text for message in again.model.requests[-1].messages if message.role == "tool"] == ["晴"]
    await again.close()


async def test_a_read_that_takes_the_process_with_it_twice_is_left_alone(open_world: Opener) -> None:
    tries: list[Door] = []

    async def run(context: ToolContext, values: dict[str, Any]) -> str:
        tries.append(Door())
        await tries[-1]()
        return "晴"

    world = open_world(tools=(tool_of("look", run, risk=Risk.READ),))
    world.model.script = in_order(calls(("look", {})), says("看不了。"))
    await world.receive("看天")
    for _ in range(2):
        await asyncio.sleep(0.01)
        await world.close()
        world = World(world.plan, world.model)
        await world.desk.recover()
    await world.queues.idle()
    assert len(tries) == 2
    assert [one.text for one in world.sent()] == ["看不了。"]
    await world.close()


async def test_what_arrives_after_the_close_is_kept_for_the_next_process(world: World) -> None:
    await world.queues.close()
    await world.receive("一")
    await asyncio.sleep(0.01)
    assert world.model.requests == []
    again = await world.restart()
    assert len(again.sent()) == 1
    await again.close()


async def test_no_transaction_is_open_while_a_turn_waits(open_world: Opener) -> None:
    async def run(context: ToolContext, values: dict[str, Any]) -> str:
        await asyncio.sleep(0)
        return "好"

    world = open_world(tools=(tool_of("put", run, risk=Risk.WRITE), tool_of("act", run, risk=Risk.ACT)))
    world.model.script = in_order(calls(("put", {})), calls(("act", {})), says("好。"))
    open_ones, done = [], False

    async def look() -> None:
        while not done:
            # Whenever another task has its turn, everything that was begun must stand.
            open_ones.append(world.database._connection.in_transaction)
            await asyncio.sleep(0)

    watcher = asyncio.create_task(look())
    await world.say("放好，再做")
    await world.say("确认")
    await world.say("/new")
    done = True
    await watcher
    assert len(open_ones) > 10
    assert not any(open_ones)
