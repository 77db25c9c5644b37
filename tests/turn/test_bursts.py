"""Bursts and joining (channels.md): what belongs together is one turn, and what comes before the answer is answered."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.identity.access import GUEST_LIMITS, AccessRules
from qingtuan.identity.scopes import Role
from qingtuan.identity.trust import Risk
from qingtuan.messages import Remote
from qingtuan.tools.tool import ToolContext
from qingtuan.turn.loop import FETCHING
from tests.fakes.hasty import CHAT, Door, Hasty, check_requests, held, held_clock, said
from tests.fakes.turns import GROUP, GUEST, MEMBER, OWNER_QQ, World, calls, in_order, last, says, tool_of
from tests.turn.conftest import Opener

PICTURE = (Remote("image", "r"),)


@pytest.fixture
def world(open_world: Opener) -> World:
    return open_world(clock=held_clock())


@pytest.fixture
def owner(world: World) -> Hasty:
    return Hasty(world)


# Bursts


async def test_texts_within_two_seconds_are_one_turn(world: World, owner: Hasty) -> None:
    for text in ("帮我", "看看", "明天的天气"):
        await owner.writes(text, after=1.9)
    assert world.model.requests == []
    assert await owner.answered() == ["好的。"]
    (request,) = world.model.requests
    assert said(request) == ["帮我", "看看", "明天的天气"]
    assert world.ended[0][0].words == "帮我\n看看\n明天的天气"
    assert len(world.events(Kind.TURN_STARTED)) == 1
    assert world.desk._inbox.open() == []
    check_requests(world)


async def test_after_a_pause_another_turn_begins(world: World, owner: Hasty) -> None:
    await owner.writes("一")
    await owner.answered()
    await owner.writes("二", after=2.1)
    await owner.answered()
    assert [said(request)[-1] for request in world.model.requests] == ["一", "二"]


async def test_nobody_is_waited_for_longer_than_ten_seconds(world: World, owner: Hasty) -> None:
    for number in range(7):
        await owner.writes(str(number), after=1.5)
    await owner.waits(1)
    await world.queues.idle()
    (request,) = world.model.requests
    assert said(request) == list("0123456")


async def test_what_does_not_gather_begins_at_once(world: World, owner: Hasty) -> None:
    await owner.writes("一", gathers=False)
    await world.queues.idle()
    assert len(world.model.requests) == 1


async def test_each_message_is_stored_at_once(world: World, owner: Hasty) -> None:
    taken = [await owner.writes(text) for text in ("一", "二")]
    assert [one.payload["text"] for one in world.events(Kind.MESSAGE_RECEIVED)] == ["一", "二"]
    assert taken[0] == taken[1]


async def test_an_album_is_one_turn_in_a_group_too(world: World, owner: Hasty) -> None:
    await owner.writes("@ 看看这些", space=GROUP, album="a1", remotes=PICTURE)
    await owner.writes("", space=GROUP, album="a1", remotes=PICTURE, addressed=False)
    await owner.waits(2)
    await owner.waits(FETCHING)
    await world.queues.idle()
    (turn,) = (turn for turn, _ in world.ended)
    assert [bool(message.remotes) for message in turn.messages] == [True, True]
    assert len(world.model.requests) == 1


async def test_a_picture_waits_for_its_words_in_a_group(world: World, owner: Hasty) -> None:
    await owner.writes("", space=GROUP, remotes=PICTURE)
    await owner.writes("这是什么", space=GROUP)
    await owner.waits(2)
    await owner.waits(FETCHING)
    await world.queues.idle()
    assert len(world.events(Kind.TURN_STARTED)) == 1


async def test_words_in_a_group_are_not_waited_for(world: World, owner: Hasty) -> None:
    await owner.writes("在吗", space=GROUP)
    await world.queues.idle()
    assert len(world.model.requests) == 1


async def test_two_people_are_not_one(world: World, owner: Hasty) -> None:
    door = Door()
    world.model.pause = door
    member = Hasty(world, MEMBER)
    await owner.writes("一", space=GROUP)
    await door.reached()
    await member.writes("二", space=GROUP)
    await owner.writes("三", space=GROUP)
    door.open()
    await world.queues.idle()
    assert [said(request)[-1] for request in world.model.requests] == ["一", "二", "三"]


async def test_a_command_never_waits_and_begins_what_waits(world: World, owner: Hasty) -> None:
    await owner.writes("第一件事")
    await owner.writes("/new")
    assert world.sent()[0].text == "好，开始新的对话。"
    await world.queues.idle()
    assert len(world.model.requests) == 1, "it begins at once, in the session in which it was said"
    await owner.writes("第二件事")
    await owner.answered()
    assert [said(request) for request in world.model.requests] == [["第一件事"], ["第二件事"]]


async def test_a_number_of_messages_is_the_most(world: World, owner: Hasty) -> None:
    for number in range(25):
        await owner.writes(str(number), after=0.1)
    await owner.answered()
    await owner.answered()
    assert [len(turn.messages) for turn, _ in world.ended] == [20, 5]


# Limits


def limited(**fields: Any) -> AccessRules:
    return AccessRules(trial=1000, limits={Role.GUEST: replace(GUEST_LIMITS, **fields)})


async def test_a_burst_counts_as_one_for_queue_and_cool_down(open_world: Opener) -> None:
    world = open_world(clock=held_clock(), rules=limited(queued=1))
    guest = Hasty(world, GUEST)
    for text in ("一", "二", "三"):
        await guest.writes(text)
    assert await guest.answered() == ["好的。"]
    for text in ("四", "五"):
        await guest.writes(text)
    await guest.waits(2)
    assert len(world.model.requests) == 1, "the cool-down goes on"
    await guest.writes("六", after=3)
    await guest.waits(7)
    await guest.answered()
    assert [len(turn.messages) for turn, _ in world.ended] == [3, 3]
    assert world.events(Kind.MESSAGE_IGNORED) == []


async def test_a_burst_may_be_no_longer_than_one_message(open_world: Opener) -> None:
    world = open_world(clock=held_clock(), rules=limited(private_cooldown=0))
    guest = Hasty(world, GUEST)
    for _ in range(3):
        await guest.writes("长" * 70)
    await guest.answered()
    await guest.answered()
    assert [len(turn.messages) for turn, _ in world.ended] == [2, 1]


# Joining


async def test_what_comes_before_the_first_output_joins(world: World, owner: Hasty) -> None:
    door = Door()
    world.model.pause = door
    await owner.writes("查一下天气")
    await owner.waits(2)
    await door.reached()
    await owner.writes("上海的", after=5)
    await door.reached()
    door.open()
    assert await owner.answered() == ["好的。"]
    assert [said(request) for request in world.model.requests] == [["查一下天气"], ["查一下天气", "上海的"]]
    assert world.model.closed == 2, "the first request was let go"
    (joined,) = world.events(Kind.TURN_JOINED)
    assert joined.payload["messages"] == [world.events(Kind.MESSAGE_RECEIVED)[-1].id]
    (cut,) = world.events(Kind.MODEL_CUT_OFF)
    assert cut.cause == world.events(Kind.MODEL_REQUESTED)[0].id
    assert world.ended[0][0].words == "查一下天气\n上海的"
    assert world.desk._inbox.open() == []
    check_requests(world)


async def test_what_comes_while_a_tool_runs_waits_for_it(open_world: Opener) -> None:
    door = Door()
    world = open_world(clock=held_clock(), tools=(tool_of("look", held(door, "晴"), risk=Risk.READ),))
    world.model.script = in_order(calls(("look", {})), says("晴。"))
    owner = Hasty(world)
    await owner.writes("看天")
    await owner.waits(2)
    await door.reached()
    await owner.writes("还有明天")
    assert world.events(Kind.TOOL_FINISHED) == []
    door.open()
    assert await owner.answered() == ["晴。"]
    roles = [message.role for message in world.model.requests[-1].messages if message.role != "system"]
    assert roles == ["user", "assistant", "tool", "user"]
    assert last(world.model.requests[-1]).text == "还有明天"
    check_requests(world)


async def test_calls_that_have_not_begun_wait_for_what_joined(open_world: Opener) -> None:
    """The model made them before it heard the rest."""
    door, done = Door(), []

    async def put(context: ToolContext, values: dict[str, Any]) -> str:
        done.append(context.words)
        return "好"

    look, write = tool_of("look", held(door), risk=Risk.READ), tool_of("put", put, risk=Risk.WRITE)
    world = open_world(clock=held_clock(), tools=(look, write))
    world.model.script = in_order(calls(("look", {}), ("put", {})), calls(("put", {})), says("好了。"))
    owner = Hasty(world)
    await owner.writes("放这里")
    await owner.waits(2)
    await door.reached()
    await owner.writes("不，放那里")
    door.open()
    assert await owner.answered() == ["好了。"]
    assert done == ["放这里\n不，放那里"]
    assert [event.payload["status"] for event in world.events(Kind.TOOL_FINISHED)] == ["ok", "refused", "ok"]
    check_requests(world)


async def test_words_that_joined_are_evidence_for_what_is_written(open_world: Opener) -> None:
    written = []

    async def put(context: ToolContext, values: dict[str, Any]) -> str:
        written.append(values["what"])
        return "好"

    async def look(context: ToolContext, values: dict[str, Any]) -> str:
        return "网页"

    tools = (
        tool_of("put", put, risk=Risk.WRITE, arguments=["what"]),
        tool_of("look", look, risk=Risk.READ, returns="foreign"),
    )
    world = open_world(clock=held_clock(), tools=tools)
    door = Door()
    world.model.script = in_order(says("……"), calls(("look", {})), calls(("put", {"what": "不吃香菜"})), says("好。"))
    world.model.pause = door
    owner = Hasty(world)
    await owner.writes("记一下")
    await owner.waits(2)
    await door.reached()
    await owner.writes("不吃香菜")
    await door.reached()
    door.open()
    await owner.answered()
    assert written == ["不吃香菜"]
    check_requests(world)


async def test_after_the_first_output_it_is_a_turn_of_its_own(world: World, owner: Hasty) -> None:
    door = Door()
    world.model.pause = door
    await owner.writes("一")
    session = world.record.sessions.running(CHAT, "owner").id
    with world.kit.stage.watch(session, streaming=True):
        await owner.waits(2)
        await door.reached()
        await owner.writes("二")
        door.open()
        await owner.answered()
        await owner.answered()
    assert [said(request)[-1] for request in world.model.requests] == ["一", "二"]
    assert len(world.events(Kind.TURN_STARTED)) == 2


async def test_a_question_is_output(open_world: Opener) -> None:
    async def act(context: ToolContext, values: dict[str, Any]) -> str:
        return "好"

    world = open_world(clock=held_clock(), tools=(tool_of("act", act, risk=Risk.ACT),))
    world.memory.pause = door = Door()
    world.model.script = in_order(calls(("act", {})), says("好。"))
    owner = Hasty(world)
    await owner.writes("做吧")
    await owner.waits(2)
    await door.reached()
    await owner.writes("再说一件")
    door.open()
    await owner.answered()
    assert world.outcomes() == ["waiting", "replied"]
    check_requests(world)


async def test_a_yes_is_never_gathered_and_never_joins(open_world: Opener) -> None:
    done = []

    async def act(context: ToolContext, values: dict[str, Any]) -> str:
        done.append(1)
        return "好"

    world = open_world(clock=held_clock(), tools=(tool_of("act", act, risk=Risk.ACT),))
    world.model.script = in_order(calls(("act", {})), says("好了。"))
    owner = Hasty(world)
    await owner.writes("做吧")
    await owner.answered()
    await owner.writes("确认")
    await world.queues.idle()
    assert done == [1]


async def test_what_is_said_while_the_memory_is_asked_belongs_to_the_turn(world: World, owner: Hasty) -> None:
    door, asked = Door(), []
    inject = world.memory.inject

    async def slow(reader: Any, words: str) -> Any:
        asked.append(words)
        await door()
        return await inject(reader, words)

    world.memory.inject = slow  # type: ignore[method-assign]
    await owner.writes("一")
    await owner.waits(2)
    await door.reached()
    await owner.writes("二")
    door.open()
    await owner.answered()
    assert asked == ["一", "一\n二"]
    assert world.events(Kind.TURN_JOINED) == []
    assert said(world.model.requests[0]) == ["一", "二"]


async def test_what_comes_behind_a_working_turn_is_answered_after_it(world: World, owner: Hasty) -> None:
    door = Door()
    world.model.pause = door
    await owner.writes("一", gathers=False)
    await door.reached()
    await owner.writes("二", gathers=False)
    await owner.writes("三", gathers=False)
    door.open()
    assert await owner.answered() == ["好的。"] * 3
    assert [said(request)[-1] for request in world.model.requests] == ["一", "二", "三"]


# Files


async def test_a_turn_waits_for_the_files_of_its_messages(open_world: Opener) -> None:
    world = open_world(clock=held_clock())
    door, asked = Door(), []

    async def ready(messages: Any) -> Any:
        asked.append([message.text for message in messages])
        await door()
        return messages

    use(world, ready)
    owner = Hasty(world)
    await owner.writes("看图", remotes=PICTURE)
    await owner.waits(2)
    await door.reached()
    await owner.writes("左边那个", after=5)
    assert world.model.requests == []
    door.open()
    await owner.answered()
    assert asked == [["看图"]]
    assert said(world.model.requests[0])[1:] == ["看图", "左边那个"]  # behind what is said of the picture


async def test_but_not_for_ever(open_world: Opener) -> None:
    world = open_world(clock=held_clock())
    use(world, Door())
    owner = Hasty(world)
    await owner.writes("看图", remotes=PICTURE)
    await owner.waits(2)
    await owner.waits(FETCHING - 1)
    assert world.model.requests == []
    await owner.waits(1)
    await world.queues.idle()
    note, words = said(world.model.requests[0])
    assert (note[:11], words) == ("[带来的图片还没有取到", "看图")


def use(world: World, ready: Any) -> None:
    world.kit = replace(world.kit, ready=ready)
    world.work = replace(world.work, kit=world.kit)
    world.desk = type(world.desk)(world.work, world.commands, world.gate)


# Stopping


@pytest.mark.parametrize("seconds", [0.5, 2.0])
async def test_stop_ends_what_is_gathered_or_works(world: World, owner: Hasty, seconds: float) -> None:
    world.model.pause = Door()
    await owner.writes("一")
    await owner.writes("二")
    await owner.waits(seconds)
    assert [one.text for one in await stop(world, owner)] == ["已停下。"]
    assert world.outcomes() == ["stopped"]
    assert world.desk._inbox.open() == []
    again = await world.restart()
    assert again.outcomes() == ["stopped"]
    await again.close()


async def stop(world: World, who: Hasty) -> Any:
    seen = world.newest()
    await who.writes("/stop")
    await world.queues.idle()
    return world.sent(after=seen)


async def test_after_a_join_a_stop_still_stops(world: World, owner: Hasty) -> None:
    door = Door()
    world.model.pause = door
    await owner.writes("一")
    await owner.waits(2)
    await door.reached()
    world.clock.advance(timedelta(seconds=1))
    # In one breath, so that the turn has not yet looked at what joined.
    await world.desk.receive(world.inbound("二", OWNER_QQ, gathers=True))
    await world.desk.receive(world.inbound("/stop", OWNER_QQ, gathers=True))
    await world.queues.idle()
    assert world.outcomes() == ["stopped"]
    assert world.desk._inbox.open() == []


async def test_a_join_and_the_end_of_the_process_in_one_breath(world: World, owner: Hasty) -> None:
    door = Door()
    world.model.pause = door
    await owner.writes("一")
    await owner.waits(2)
    await door.reached()
    await world.desk.receive(world.inbound("二", OWNER_QQ, gathers=True))
    world.model.pause = None
    again = await world.restart()
    assert again.outcomes() == ["replied"]
    assert said(again.model.requests[-1]) == ["一", "二"]
    check_requests(again)
    await again.close()


# The end of the process


async def test_what_was_gathered_is_one_turn_of_the_next_process(world: World, owner: Hasty) -> None:
    for text in ("一", "二", "三"):
        await owner.writes(text)
    again = await world.restart()
    assert [said(request) for request in again.model.requests] == [["一", "二", "三"]]
    assert len(again.sent()) == 1
    check_requests(again)
    await again.close()


async def test_a_joined_turn_goes_on_in_the_next_process(open_world: Opener) -> None:
    door = Door()
    world = open_world(clock=held_clock(), tools=(tool_of("look", held(door, "晴"), risk=Risk.READ),))
    world.model.script = in_order(calls(("look", {})), says("晴。"))
    owner = Hasty(world)
    await owner.writes("看天")
    await owner.waits(2)
    await door.reached()
    await owner.writes("还有明天")
    door.open()
    again = await world.restart()
    assert [one.text for one in again.sent()] == ["晴。"]
    assert last(again.model.requests[-1]).text == "还有明天"
    check_requests(again)
    await again.close()


async def test_later_turns_see_the_conversation_as_it_was(world: World, owner: Hasty) -> None:
    door = Door()
    world.model.pause = door
    await owner.writes("一")
    await owner.waits(2)
    await door.reached()
    await owner.writes("二")
    door.open()
    await owner.answered()
    await owner.writes("三")
    await owner.answered()
    talk = [(m.role, m.text) for m in world.model.requests[-1].messages if m.role in ("user", "assistant")]
    assert talk == [("user", "一"), ("user", "二"), ("assistant", "好的。"), ("user", "三")]
    check_requests(world)
