"""The loop: calls, results, errors, and an end in every case."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from qingtuan.errors import ModelUnreachable, StorageFailed, ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.identity.trust import Risk
from qingtuan.messages import Space
from qingtuan.models.chat import Request
from qingtuan.models.failures import NOT_REACHED, refused
from qingtuan.models.profiles import GENERIC
from qingtuan.tools.tool import Tool, ToolContext, ToolResult
from qingtuan.turn.turn import MAX_ROUNDS
from tests.fakes.turns import (
    GROUP,
    GUEST,
    MEMBER,
    Reply,
    ScriptedModel,
    World,
    calls,
    failing,
    in_order,
    last,
    says,
    shape,
    tool_of,
)
from tests.turn.conftest import Opener


class Bench:
    """Tools that note what they do."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.ended = asyncio.Event()
        self.fault: Exception | None = None

    async def look(self, context: ToolContext, values: dict[str, Any]) -> str:
        self.notes.append(f"look {values['what']} begins")
        if gate := self.gates.get(values["what"]):
            await gate.wait()
        self.notes.append(f"look {values['what']} ends")
        self.ended.set()
        return f"看到{values['what']}"

    async def put(self, context: ToolContext, values: dict[str, Any]) -> str:
        self.notes.append(f"put {values['what']} begins")
        await asyncio.sleep(0)
        self.notes.append(f"put {values['what']} ends")
        return f"放好{values['what']}"

    async def fail(self, context: ToolContext, values: dict[str, Any]) -> str:
        self.notes.append("fail")
        raise self.fault or ToolFailed(failing("柜子锁着"))

    def tools(self) -> tuple[Tool, ...]:
        return (
            tool_of("look", self.look, arguments=["what"], risk=Risk.READ),
            tool_of("put", self.put, arguments=["what"], risk=Risk.WRITE),
            tool_of("fail", self.fail, risk=Risk.READ),
        )


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def world(open_world: Opener, bench: Bench) -> World:
    return open_world(tools=bench.tools())


def results(request: Request) -> list[str]:
    return [message.text for message in request.messages if message.role == "tool"]


async def test_a_result_goes_back_and_the_answer_follows(world: World) -> None:
    world.model.script = in_order(calls(("look", {"what": "天"})), says("天晴。"))
    assert list(map(str, await world.say("看看天"))) == ["天晴。"]
    assert results(world.model.requests[1]) == ["看到天"]
    assert world.model.requests[0].tools == world.model.requests[1].tools


async def test_reads_run_side_by_side_and_their_results_stand_in_the_order_of_the_calls(
    world: World, bench: Bench
) -> None:
    bench.gates = {"甲": asyncio.Event()}
    bench.ended = asyncio.Event()
    world.model.script = in_order(calls(("look", {"what": "甲"}), ("look", {"what": "乙"})), says("都看了。"))
    await world.receive("看看")
    async with asyncio.timeout(5):
        await bench.ended.wait()
    assert bench.notes == ["look 甲 begins", "look 乙 begins", "look 乙 ends"]
    bench.gates["甲"].set()
    await world.queues.idle()
    assert results(world.model.requests[1]) == ["看到甲", "看到乙"]


async def test_writes_run_one_after_the_other(world: World, bench: Bench) -> None:
    world.model.script = in_order(
        calls(("put", {"what": "甲"}), ("put", {"what": "乙"}), ("look", {"what": "丙"})), says("好了。")
    )
    await world.say("放甲、乙，再看丙")
    assert bench.notes == [f"{what} {when}" for what in ("put 甲", "put 乙", "look 丙") for when in ("begins", "ends")]


async def test_a_cut_off_answer_never_runs(world: World, bench: Bench) -> None:
    cut = calls(("put", {"what": "甲"}), finish="length", incomplete="the arguments are cut off")
    world.model.script = in_order(cut, says("没放成。"))
    await world.say("放甲")
    assert bench.notes == []
    assert "没有执行" in results(world.model.requests[1])[0]


@pytest.mark.parametrize(
    ("name", "arguments", "hint"),
    [
        ("lok", {"what": "天"}, "look"),
        ("look", {}, "what"),
        ("look", {"what": "天", "more": "1"}, "more"),
        ("look", '{"what": "天"', "截断"),
        ("look", "[]", "对象"),
        ("", "{}", "没有"),
    ],
)
async def test_a_wrong_call_goes_back_to_the_model(
    world: World, bench: Bench, name: str, arguments: Any, hint: str
) -> None:
    world.model.script = in_order(calls((name, arguments)), says("我再想想。"))
    assert [one.text for one in await world.say("看看天")] == ["我再想想。"]
    assert bench.notes == []
    assert hint in results(world.model.requests[1])[0]


async def test_what_a_tool_raises_is_information(world: World, bench: Bench) -> None:
    world.model.script = in_order(calls(("fail", {})), says("锁着，打不开。"))
    assert [one.text for one in await world.say("开柜子")] == ["锁着，打不开。"]
    assert "柜子锁着" in results(world.model.requests[1])[0]
    bench.fault = ZeroDivisionError("SECRET")
    world.model.script = in_order(calls(("fail", {})), says("出错了。"))
    await world.say("再开")
    assert "SECRET" not in str(world.model.requests[-1])


async def test_a_result_that_is_no_json_breaks_its_call_and_nothing_else(open_world: Opener) -> None:
    async def strange(context: ToolContext, values: dict[str, Any]) -> ToolResult:
        return ToolResult("好", data={"when": object()})

    world = open_world(tools=(tool_of("strange", strange, risk=Risk.READ),))
    world.model.script = in_order(calls(("strange", {})), says("它坏了。"))
    assert [one.text for one in await world.say("试试")] == ["它坏了。"]
    assert world.outcomes() == ["replied"]


async def test_half_characters_do_not_stop_a_turn(open_world: Opener) -> None:
    async def halves(context: ToolContext, values: dict[str, Any]) -> ToolResult:
        return ToolResult("\ud83d", data=["\ud83d"])

    world = open_world(tools=(tool_of("halves", halves, risk=Risk.READ),))
    world.model.script = in_order(calls(("halves", {})), says("看不清\ud83d"))
    (reply,) = await world.say("看看 \ud83d 这个", nickname="\udc00")
    assert reply.text.startswith("看不清")
    assert world.outcomes() == ["replied"]


async def test_the_same_failing_call_three_times_ends_the_turn(world: World, bench: Bench) -> None:
    world.model.script = lambda request: calls(("fail", {}))
    (reply,) = await world.say("开柜子")
    assert bench.notes == ["fail"] * 3
    assert "fail" in reply.text
    assert "三次" in reply.text
    assert world.outcomes() == ["failed"]
    world.model.script = in_order(says("好"))
    await world.say("算了吧那就")
    assert ("assistant", reply.text) in shape(world.model.requests[-1])


async def test_the_last_round_has_no_tools_and_must_answer(world: World) -> None:
    def script(request: Request) -> Reply:
        return calls(("look", {"what": str(len(request.messages))})) if request.tools else says("到此为止。")

    world.model.script = script
    assert [one.text for one in await world.say("一直看")] == ["到此为止。"]
    assert len(world.model.requests) == MAX_ROUNDS
    assert [bool(request.tools) for request in world.model.requests] == [True] * (MAX_ROUNDS - 1) + [False]


async def test_a_model_that_calls_without_tools_comes_to_an_honest_end(world: World, bench: Bench) -> None:
    world.model.script = lambda request: calls(("look", {"what": str(len(request.messages))}))
    (reply,) = await world.say("一直看")
    assert len(world.model.requests) == MAX_ROUNDS
    assert reply.event.payload["by"] == "code"
    assert world.outcomes() == ["failed"]
    assert len(bench.notes) == 2 * (MAX_ROUNDS - 1)
    world.model.script = in_order(says("好"))
    await world.say("然后呢")
    assert world.outcomes() == ["failed", "replied"]


async def test_words_beside_calls_in_the_last_round_are_the_reply(world: World, bench: Bench) -> None:
    def script(request: Request) -> Reply:
        return calls(("look", {"what": str(len(request.messages))}), text="" if request.tools else "只看了这些。")

    world.model.script = script
    assert [one.text for one in await world.say("一直看")] == ["只看了这些。"]
    assert len(bench.notes) == 2 * (MAX_ROUNDS - 1)


async def test_what_a_model_without_tools_calls_does_not_run(open_world: Opener, bench: Bench) -> None:
    from dataclasses import replace

    model = ScriptedModel(profile=replace(GENERIC, tools=False))
    world = open_world(model, tools=bench.tools())
    world.model.script = in_order(calls(("look", {"what": "天"})), says("我看不了。"))
    assert [one.text for one in await world.say("看看天")] == ["我看不了。"]
    assert bench.notes == []


# Models that fail


async def test_an_unreachable_model_is_told_once_and_the_next_turn_works(world: World) -> None:
    world.model.script = in_order(ModelUnreachable(NOT_REACHED, detail="connect to 10.0.0.1"))
    (reply,) = await world.say("你好")
    assert "连不上" in reply.text
    assert "10.0.0.1" not in reply.text
    assert world.outcomes() == ["unreachable"]
    world.model.script = in_order(says("来了。"))
    assert [one.text for one in await world.say("在吗")] == ["来了。"]
    assert shape(world.model.requests[-1])[-4:-2] == [("user", "你好"), ("assistant", reply.text)]


async def test_why_a_model_refuses_is_for_the_owner_in_private(world: World) -> None:
    world.model.script = in_order(refused("balance", "account 123"))
    (reply,) = await world.say("你好")
    assert "余额" in reply.text
    (reply,) = await world.say("你好", GUEST)
    assert "余额" not in reply.text
    assert "主人" in reply.text
    reply, told = await world.say("你好", "cli:local", GROUP)
    assert (reply.space, told.space) == (GROUP, Space("private", "cli:local"))
    assert "余额" not in reply.text
    assert "主人" in reply.text
    assert "qq:777" in told.text


async def test_everybody_is_told_that_their_words_were_stopped(world: World) -> None:
    world.model.script = in_order(refused("content"))
    (reply,) = await world.say("你好", GUEST)
    assert "换个说法" in reply.text


async def test_words_that_the_provider_refuses_do_not_poison_the_session(world: World) -> None:
    def script(request: Request) -> Reply:
        return refused("content") if "坏词" in str(request) else says("好的。")

    world.model.script = script
    await world.say("你好")
    await world.say("坏词")
    assert [one.text for one in await world.say("那天气呢")] == ["好的。"]
    # What was refused is left out from then on, and what came before it stays.
    assert ("user", "你好") in shape(world.model.requests[-1])
    assert len(world.events(Kind.SESSION_REPAIRED)) == 1


async def test_a_refused_history_is_repaired_once(world: World, bench: Bench) -> None:
    world.model.script = in_order(calls(("look", {"what": "天"})), says("天晴。"))
    await world.say("看看天")

    def script(request: Request) -> Reply:
        return refused("history", "tool_calls must be …") if results(request) else says("好的。")

    world.model.script = script
    assert [one.text for one in await world.say("然后呢")] == ["好的。"]
    assert world.events(Kind.SESSION_REPAIRED)[0].payload["detail"] == "tool_calls must be …"
    assert [(role, text) for role, text in shape(world.model.requests[-1]) if role != "system"] == [
        ("user", "看看天"), ("assistant", "天晴。"), ("user", "然后呢"),
    ]  # fmt: skip
    asked = len(world.model.requests)
    await world.say("再然后呢")
    assert len(world.model.requests) == asked + 1


async def test_a_repair_within_a_turn_does_not_hide_what_was_done(world: World, bench: Bench) -> None:
    def script(request: Request) -> Reply:
        if results(request):
            return refused("history")
        if any("放好甲" in message.text for message in request.messages):
            return says("放好了。")
        return calls(("put", {"what": "甲"}))

    world.model.script = script
    assert [one.text for one in await world.say("放甲")] == ["放好了。"]
    assert bench.notes == ["put 甲 begins", "put 甲 ends"]


async def test_a_history_that_stays_refused_ends_the_turn_and_not_the_session(world: World) -> None:
    world.model.script = in_order(refused("history"))
    await world.say("你好")
    assert world.outcomes() == ["failed"]
    assert len(world.model.requests) == 1  # there is nothing that could be left out of it
    world.model.script = in_order(says("好的。"))
    assert [one.text for one in await world.say("在吗")] == ["好的。"]
    assert ("user", "你好") not in shape(world.model.requests[-1])


async def test_what_is_refused_because_of_what_came_before_goes_on_without_that(world: World) -> None:
    for text in ("一", "二"):
        await world.say(text)

    def script(request: Request) -> Reply:
        return refused("history") if ("user", "一") in shape(request) else says("好的。")

    world.model.script = script
    await world.say("三")
    assert world.outcomes()[-1] == "failed"
    # Twice in a row: the fault is not in these two turns.
    assert [one.text for one in await world.say("四")] == ["好的。"]
    assert [text for role, text in shape(world.model.requests[-1]) if role == "user"] == ["四"]
    await world.say("五")
    assert [text for role, text in shape(world.model.requests[-1]) if role == "user"] == ["四", "五"]


# What breaks on our side


async def test_a_memory_that_breaks_does_not_take_the_turn_with_it(world: World) -> None:
    world.memory.injected = StorageFailed(failing("索引坏了"))
    assert [one.text for one in await world.say("你好")] == ["好的。"]
    assert world.outcomes() == ["replied"]
    assert "索引坏了" in world.events(Kind.TURN_FAILED)[0].payload["detail"]


@pytest.mark.parametrize("account", ["cli:local", MEMBER])
async def test_a_turn_that_breaks_is_ended_and_told_without_details(world: World, account: str) -> None:
    world.memory.injected = ValueError("/srv/SECRET")
    (reply,) = await world.say("你好", account)
    assert "SECRET" not in reply.text
    assert world.outcomes() == ["failed"]
    assert "SECRET" in world.events(Kind.TURN_FAILED)[0].payload["detail"]
    # It is over: the next process does not try again.
    again = await world.restart()
    assert len(again.sent()) == 1
    await again.close()


async def test_a_broken_commit_is_noted_and_the_reply_stands(world: World) -> None:
    world.memory.fault = StorageFailed(failing("git 坏了"))
    assert [one.text for one in await world.say("你好")] == ["好的。"]
    world.memory.fault = OSError("ours")
    assert [one.text for one in await world.say("再说")] == ["好的。"]
    assert world.outcomes() == ["replied", "replied"]
    assert len(world.events(Kind.TURN_FAILED)) == 2


async def test_an_owners_fault_in_a_tool_of_a_guest_is_not_spelled_out(open_world: Opener) -> None:
    async def broken(context: ToolContext, values: dict[str, Any]) -> str:
        raise StorageFailed(failing("/srv/SECRET 满了"))

    world = open_world(tools=(tool_of("broken", broken, risk=Risk.READ),))
    world.model.script = in_order(calls(("broken", {})), says("不行。"))
    await world.say("试试", GUEST)
    assert "SECRET" not in str(world.model.requests)
    assert last(world.model.requests[-1]).role == "tool"
