"""What a turn's requests are made from: its person's zone, its words, what verdicts depend on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qingtuan.identity.people import People, Person
from qingtuan.identity.trust import Risk
from qingtuan.messages import Material, Origin
from qingtuan.tools.tool import ToolContext
from qingtuan.turn.viewing import frame, situation
from tests.fakes.turns import GROUP, GUEST, MEMBER, OWNER_QQ, World, calls, in_order, says, tool_of
from tests.turn.conftest import Opener


def view_of(world: World) -> Any:
    """The view of the newest turn as its last request saw it."""
    turn = world.ended[-1][0]
    started = world.work.beginning_of(turn.id)
    events = world.log.of_turn(turn.id)
    return frame(world.kit, turn, started).at(events)


async def test_days_are_those_of_the_persons_zone(open_world: Opener) -> None:
    world = open_world()
    wang = Person("wang", (MEMBER,), timezone="America/New_York", member=True)
    world.kit = replace(world.kit, people=People([wang], owner_accounts=(OWNER_QQ,)))
    world.work = replace(world.work, kit=world.kit)
    world.desk = type(world.desk)(world.work, world.commands, world.desk._admission)
    await world.say("今天几号", MEMBER)
    assert "2026-11-28 21:00（America/New_York）" in str(world.model.requests[-1].messages[-2].text)
    await world.say("今天几号")
    assert "2026-11-29 10:00（Asia/Shanghai）" in str(world.model.requests[-1].messages[-2].text)


async def test_the_time_of_a_turn_stands_still_while_it_works(open_world: Opener) -> None:
    async def slow(context: ToolContext, values: dict[str, Any]) -> str:
        await world.clock.sleep(3600)
        return context.now.isoformat()

    world = open_world(tools=(tool_of("slow", slow, risk=Risk.READ),))
    world.model.script = in_order(calls(("slow", {})), says("好。"))
    await world.say("慢慢看")
    first, second = (request.messages for request in world.model.requests)
    assert second[: len(first)] == first
    assert second[-1].text.startswith("2026-11-29T10:00")


async def test_verdicts_know_words_dates_results_and_other_speakers(open_world: Opener) -> None:
    async def look(context: ToolContext, values: dict[str, Any]) -> str:
        return "看到了 https://a.example"

    world = open_world(tools=(tool_of("look", look, risk=Risk.READ),))
    await world.say("我是小王", GUEST, GROUP)
    world.model.script = in_order(calls(("look", {})), says("好。"))
    await world.say("明天下午三点看看\n> 引来的话", OWNER_QQ, GROUP)
    found = situation(view_of(world))
    assert found.words == "明天下午三点看看"
    assert "2026-11-30T15:00" in found.resolved
    assert found.results == ("看到了 https://a.example",)
    assert found.others == (GUEST,)
    assert {piece.origin for piece in found.material} == {Origin.FORWARD}


async def test_a_turn_after_a_yes_has_the_words_that_it_carries_on(open_world: Opener) -> None:
    async def act(context: ToolContext, values: dict[str, Any]) -> str:
        return "做了"

    world = open_world(tools=(tool_of("act", act, risk=Risk.ACT),))
    world.model.script = in_order(calls(("act", {})), says("好。"))
    await world.say("做吧", materials=(Material(Origin.FILE, "文件", "内容"),))
    await world.say("确认")
    seen = view_of(world)
    assert seen.own_words == "做吧"
    assert [piece.origin for piece in seen.material] == [Origin.FILE]
    assert [item.message.role for item in seen.current] == ["assistant", "tool", "assistant"]
    # And so it is after a restart.
    turn = world.ended[-1][0]
    assert world.work.read_back(world.work.beginning_of(turn.id)).words == "做吧"
