"""Edits and recalls (channels.md): what was not yet answered is what it is by now, and what was answered stands."""

from __future__ import annotations

from typing import Any

import pytest

from qingtuan.events import inbox
from qingtuan.events.kinds import Kind
from qingtuan.identity.access import GUEST_LIMITS, AccessRules
from qingtuan.identity.scopes import Role
from qingtuan.identity.trust import Risk
from qingtuan.messages import Remote
from qingtuan.tools.tool import ToolContext
from tests.fakes.hasty import Door, Hasty, check_requests, held, held_clock, said
from tests.fakes.turns import GROUP, GUEST, MEMBER, World, calls, in_order, says, tool_of
from tests.turn.conftest import Opener


@pytest.fixture
def world(open_world: Opener) -> World:
    return open_world(clock=held_clock())


@pytest.fixture
def owner(world: World) -> Hasty:
    return Hasty(world)


def check(world: World) -> None:
    check_requests(world)
    assert world.desk._inbox.open() == []


def reasons(world: World) -> list[str]:
    return [event.payload["reason"] for event in world.events(Kind.MESSAGE_IGNORED)]


# Edits


async def test_an_edit_of_what_is_gathered_takes_its_place(world: World, owner: Hasty) -> None:
    await owner.writes("名天", message_id="m1")
    await owner.writes("有雨吗")
    await owner.edits("m1", "明天")
    assert await owner.answered() == ["好的。"]
    assert [said(request) for request in world.model.requests] == [["明天", "有雨吗"]]
    assert world.ended[0][0].words == "明天\n有雨吗"
    check(world)


async def test_an_edit_of_what_waits_behind_another_turn(world: World, owner: Hasty) -> None:
    world.model.pause = door = Door()
    await owner.writes("一", gathers=False)
    await door.reached()
    await owner.writes("二", message_id="m2", gathers=False)
    await owner.edits("m2", "贰", gathers=False)
    door.open()
    await owner.answered()
    assert [said(request)[-1] for request in world.model.requests] == ["一", "贰"]
    check(world)


async def test_an_edit_of_what_is_being_asked_asks_anew(world: World, owner: Hasty) -> None:
    world.model.pause = door = Door()
    await owner.writes("名天", message_id="m1")
    await owner.writes("有雨吗")
    await owner.waits(2)
    await door.reached()
    await owner.edits("m1", "明天")
    await door.reached()
    door.open()
    assert await owner.answered() == ["好的。"]
    assert [said(request) for request in world.model.requests] == [["名天", "有雨吗"], ["明天", "有雨吗"]]
    assert len(world.events(Kind.MODEL_CUT_OFF)) == 1
    await owner.writes("后天呢")
    await owner.answered()
    assert said(world.model.requests[-1]) == ["明天", "有雨吗", "后天呢"]
    check(world)


async def test_what_was_looked_up_by_the_old_words_is_forgotten(open_world: Opener) -> None:
    door = Door()
    world = open_world(clock=held_clock(), tools=(tool_of("look", held(door, "旧的"), risk=Risk.READ),))
    world.model.script = in_order(calls(("look", {})), says("好。"))
    owner = Hasty(world)
    await owner.writes("查旧的", message_id="m1")
    await owner.waits(2)
    await door.reached()
    await owner.edits("m1", "查新的")
    assert await owner.answered() == ["好。"]
    last = world.model.requests[-1]
    assert [message.role for message in last.messages if message.role != "system"] == ["user"]
    assert said(last) == ["查新的"]
    started = {event.payload["call"] for event in world.events(Kind.TOOL_STARTED)}
    assert started == {event.payload["call"] for event in world.events(Kind.TOOL_FINISHED)}
    check(world)


async def test_reads_side_by_side_are_cut_off_together(open_world: Opener) -> None:
    door, other = Door(), Door()
    tools = (tool_of("look", held(door), risk=Risk.READ), tool_of("see", held(other), risk=Risk.READ))
    world = open_world(clock=held_clock(), tools=tools)
    world.model.script = in_order(calls(("look", {}), ("see", {})), says("好。"))
    owner = Hasty(world)
    await owner.writes("查旧的", message_id="m1")
    await owner.waits(2)
    await door.reached()
    await other.reached()
    await owner.edits("m1", "查新的")
    assert await owner.answered() == ["好。"]
    assert said(world.model.requests[-1]) == ["查新的"]
    assert [event.payload["status"] for event in world.events(Kind.TOOL_FINISHED)] == ["unknown"] * 2
    check(world)


async def test_after_something_was_done_an_edit_is_a_further_word(open_world: Opener) -> None:
    """What was done by the old words was done: the model must see why."""
    door = Door()
    tools = (tool_of("put", held(door), risk=Risk.WRITE),)
    world = open_world(clock=held_clock(), tools=tools)
    world.model.script = in_order(calls(("put", {})), says("好。"))
    owner = Hasty(world)
    await owner.writes("记一", message_id="m1")
    await owner.waits(2)
    await door.reached()
    await owner.edits("m1", "记二")
    door.open()
    assert await owner.answered() == ["好。"]
    last = world.model.requests[-1]
    roles = [message.role for message in last.messages if message.role != "system"]
    assert roles == ["user", "assistant", "tool", "user"]
    assert said(last) == ["记一", "记二"]
    check(world)


async def test_an_edit_of_what_was_answered_is_ignored_and_says_why(world: World, owner: Hasty) -> None:
    await owner.writes("一", message_id="m1")
    await owner.answered()
    taken = await owner.edits("m1", "二")
    assert taken.kind == "ignored"
    assert reasons(world) == ["answered"]
    assert await owner.answered() == []
    assert [event.payload["text"] for event in world.events(Kind.MESSAGE_RECEIVED)] == ["一"]
    check(world)


async def test_an_edit_of_what_was_said_to_a_stranger_who_never_came_is_a_message(world: World, owner: Hasty) -> None:
    await owner.edits("never came", "你好")
    assert await owner.answered() == ["好的。"]


async def test_an_edit_is_delivered_twice(world: World, owner: Hasty) -> None:
    await owner.writes("一", message_id="m1")
    await owner.edits("m1", "二")
    for text in ("二", "一"):
        kinds = [(await owner.edits("m1", text, after=0)).kind]
        assert kinds == (["known"] if text == "二" else ["turn"])
    assert (await owner.writes("一", message_id="m1", after=0)).kind == "known"
    await owner.answered()
    assert said(world.model.requests[0]) == ["一"]
    check(world)


async def test_old_edits_that_come_again_change_nothing(world: World, owner: Hasty) -> None:
    first = world.inbound("二", owner.account, message_id="m1", edited=True, gathers=True)
    await owner.writes("一", message_id="m1")
    await world.desk.receive(first)
    await owner.edits("m1", "三")
    assert (await world.desk.receive(first)).kind == "known"
    await owner.answered()
    assert said(world.model.requests[0]) == ["三"]


async def test_an_edit_into_a_command_is_the_command(world: World, owner: Hasty) -> None:
    await owner.writes("help", message_id="m1")
    await owner.edits("m1", "/help")
    sent = await owner.answered()
    assert world.model.requests == []
    assert len(world.events(Kind.COMMAND_RUN)) == 1
    assert world.events(Kind.TURN_STARTED) == []
    assert "/" in sent[0]
    check(world)


async def test_an_edit_never_confirms(open_world: Opener) -> None:
    done = []

    async def act(context: ToolContext, values: dict[str, Any]) -> str:
        done.append(1)
        return "好"

    world = open_world(clock=held_clock(), tools=(tool_of("act", act, risk=Risk.ACT),))
    world.model.script = in_order(calls(("act", {})), says("好。"))
    owner = Hasty(world)
    await owner.writes("做吧")
    await owner.answered()
    await owner.writes("等等", message_id="m2")
    await owner.edits("m2", "确认")
    await owner.answered()
    assert done == []


async def test_an_edit_beyond_the_limit_leaves_what_was_said(open_world: Opener) -> None:
    world = open_world(clock=held_clock(), rules=AccessRules(trial=1000, limits={Role.GUEST: GUEST_LIMITS}))
    guest = Hasty(world, GUEST)
    await guest.writes("短", message_id="m1")
    await guest.edits("m1", "长" * 151)
    await guest.answered()
    assert reasons(world) == ["too_long"]
    assert said(world.model.requests[0]) == ["短"]
    check(world)


async def test_nobody_edits_what_another_one_said(world: World, owner: Hasty) -> None:
    await owner.writes("一", space=GROUP, message_id="m1", remotes=(), gathers=True)
    world.model.pause = door = Door()
    await Hasty(world, MEMBER).edits("m1", "二", space=GROUP)
    door.open()
    await owner.answered()
    assert reasons(world) == ["answered"]
    assert said(world.model.requests[0]) == ["一"]


# Recalls


async def test_what_is_gathered_and_recalled_is_not_answered(world: World, owner: Hasty) -> None:
    await owner.writes("说错了", message_id="m1")
    await owner.recalls("m1")
    assert await owner.answered() == []
    assert world.events(Kind.TURN_STARTED) == []
    assert world.model.requests == []
    assert not world.queues.busy(world.events(Kind.MESSAGE_RECEIVED)[0].place.session or "")
    check(world)


async def test_of_several_only_the_recalled_one_goes(world: World, owner: Hasty) -> None:
    await owner.writes("一", message_id="m1")
    await owner.writes("二", message_id="m2")
    await owner.writes("三")
    await owner.recalls("m2")
    await owner.answered()
    assert said(world.model.requests[0]) == ["一", "三"]
    check(world)


async def test_a_recall_stops_what_is_being_asked_without_a_word(world: World, owner: Hasty) -> None:
    world.model.pause = door = Door()
    await owner.writes("说错了", message_id="m1")
    await owner.waits(2)
    await door.reached()
    await owner.recalls("m1")
    await world.queues.idle()
    assert world.sent() == []
    assert world.outcomes() == ["recalled"]
    door.open()
    await owner.writes("对的")
    assert await owner.answered() == ["好的。"]
    last = world.model.requests[-1]
    assert said(last) == ["对的"]
    assert not any("停下" in message.text for message in last.messages)
    check(world)


async def test_a_recall_of_one_asks_anew_about_the_others(world: World, owner: Hasty) -> None:
    world.model.pause = door = Door()
    await owner.writes("一", message_id="m1")
    await owner.writes("二")
    await owner.waits(2)
    await door.reached()
    await owner.recalls("m1")
    door.open()
    assert await owner.answered() == ["好的。"]
    assert [said(request) for request in world.model.requests] == [["一", "二"], ["二"]]
    check(world)


async def test_what_was_looked_up_for_it_goes_too(open_world: Opener) -> None:
    door = Door()
    world = open_world(clock=held_clock(), tools=(tool_of("look", held(door), risk=Risk.READ, arguments=["what"]),))
    world.model.script = in_order(calls(("look", {"what": "一"})), says("好。"))
    owner = Hasty(world)
    await owner.writes("一", message_id="m1")
    await owner.writes("二")
    await owner.waits(2)
    await door.reached()
    await owner.recalls("m1")
    door.open()
    assert await owner.answered() == ["好。"]
    assert [(m.role, m.text) for m in world.model.requests[-1].messages if m.role != "system"] == [("user", "二")]
    check(world)


async def test_what_led_to_something_done_stands(open_world: Opener) -> None:
    door = Door()
    world = open_world(clock=held_clock(), tools=(tool_of("put", held(door), risk=Risk.WRITE),))
    world.model.script = in_order(calls(("put", {})), says("好。"))
    owner = Hasty(world)
    await owner.writes("记一", message_id="m1")
    await owner.waits(2)
    await door.reached()
    await owner.recalls("m1")
    door.open()
    assert await owner.answered() == ["好。"]
    assert world.events(Kind.MESSAGE_RECALLED) == []
    check(world)


async def test_what_was_answered_stands(world: World, owner: Hasty) -> None:
    await owner.writes("一", message_id="m1")
    await owner.answered()
    await owner.recalls("m1")
    await owner.recalls("never came")
    await owner.writes("二")
    await owner.answered()
    assert said(world.model.requests[-1]) == ["一", "二"]
    assert world.events(Kind.MESSAGE_RECALLED) == []


async def test_a_recalled_message_that_comes_again_is_known(world: World, owner: Hasty) -> None:
    await owner.writes("一", message_id="m1")
    await owner.recalls("m1")
    await owner.recalls("m1")
    assert (await owner.writes("一", message_id="m1")).kind == "known"
    assert (await owner.edits("m1", "二")).kind == "ignored"
    assert await owner.answered() == []
    assert len(world.events(Kind.MESSAGE_RECALLED)) == 1
    check(world)


async def test_a_recall_in_the_cool_down(open_world: Opener) -> None:
    world = open_world(clock=held_clock(), rules=AccessRules(trial=1000, limits={Role.GUEST: GUEST_LIMITS}))
    guest = Hasty(world, GUEST)
    await guest.writes("一")
    await guest.answered()
    await guest.writes("二", message_id="m2")
    await guest.recalls("m2")
    await guest.waits(10)
    await world.queues.idle()
    assert len(world.model.requests) == 1
    check(world)


# The end of the process in the middle


@pytest.mark.parametrize("gathering", [True, False])
async def test_an_edit_outlives_the_process(world: World, owner: Hasty, gathering: bool) -> None:
    world.model.pause = door = Door()
    await owner.writes("名天", message_id="m1")
    await owner.writes("有雨吗")
    if not gathering:
        await owner.waits(2)
        await door.reached()
    await world.desk.receive(world.inbound("明天", owner.account, message_id="m1", edited=True, gathers=True))
    world.model.pause = None
    again = await world.restart()
    assert said(again.model.requests[-1]) == ["明天", "有雨吗"]
    assert len(again.sent()) == 1
    check(again)
    await again.close()


@pytest.mark.parametrize("gathering", [True, False])
async def test_a_recall_outlives_the_process(world: World, owner: Hasty, gathering: bool) -> None:
    world.model.pause = door = Door()
    await owner.writes("说错了", message_id="m1")
    if not gathering:
        await owner.waits(2)
        await door.reached()
    world.desk.recalled("onebot", world.events(Kind.MESSAGE_RECEIVED)[0].place.space, "m1")  # type: ignore[arg-type]
    world.model.pause = None
    again = await world.restart()
    assert again.sent() == []
    assert again.outcomes() == ([] if gathering else ["recalled"])
    check(again)
    await again.close()


async def test_a_recall_of_what_an_earlier_process_took_up(world: World, owner: Hasty) -> None:
    """It comes while nothing runs: after the end, or before the start has taken anything up."""
    world.model.pause = door = Door()
    await owner.writes("说错了", message_id="m1")
    await owner.waits(2)
    await door.reached()
    await world.queues.close()
    await owner.recalls("m1")
    again = await world.restart()
    assert again.sent() == []
    assert again.outcomes() == ["recalled"]
    check(again)
    await again.close()


def replayed(world: World) -> list[Any]:
    """The inbox as the events make it anew."""
    columns = "event, channel, space, message_id, session, state, turn"
    kept = [tuple(row) for row in world.database.rows(f"SELECT {columns} FROM inbox ORDER BY event")]
    with world.database.transaction():
        world.database.execute("DELETE FROM inbox")
        for event in world.log.replay():
            inbox.project(world.database, event)
    made = [tuple(row) for row in world.database.rows(f"SELECT {columns} FROM inbox ORDER BY event")]
    assert made == kept
    return made


async def test_the_inbox_is_what_its_events_make_it(world: World, owner: Hasty) -> None:
    await owner.writes("一", message_id="m1")
    await owner.edits("m1", "壹")
    await owner.writes("二", message_id="m2")
    await owner.recalls("m2")
    await owner.answered()
    await owner.writes("三", message_id="m3")
    assert [row[5] for row in replayed(world)] == ["done", "done", "waiting"]


async def test_an_album_may_lose_a_picture(world: World, owner: Hasty) -> None:
    one = (Remote("image", "r"),)
    await owner.writes("看", album="a", remotes=one, message_id="m1", space=GROUP)
    await owner.writes("", album="a", remotes=one, message_id="m2", space=GROUP, addressed=False)
    await owner.recalls("m2", GROUP)
    await owner.waits(2)
    await owner.waits(30)
    await world.queues.idle()
    assert [len(turn.messages) for turn, _ in world.ended] == [1]
    assert world.ended[0][0].words == "看"
