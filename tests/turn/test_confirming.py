"""Questions and their answers as people live them: through the desk, over restarts, between chats."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from qingtuan.confirmations.confirmation import Confirmation
from qingtuan.errors import ModelUnreachable
from qingtuan.events.kinds import Kind
from qingtuan.identity.access import MEMBER_LIMITS, AccessRules
from qingtuan.identity.scopes import Role
from qingtuan.identity.trust import Risk
from qingtuan.messages import Material, Origin, Space
from qingtuan.models.chat import Request
from qingtuan.models.failures import NOT_REACHED
from qingtuan.tools.tool import Tool, ToolContext
from tests.fakes.turns import (
    GROUP,
    GUEST,
    MEMBER,
    OWNER,
    OWNER_QQ,
    Reply,
    Script,
    Sent,
    World,
    calls,
    in_order,
    says,
    shape,
    tool_of,
)
from tests.turn.conftest import Opener

AT = {"at": "明天上午"}


class Library:
    """Seats that can be booked, once."""

    def __init__(self) -> None:
        self.booked: list[str] = []
        self.contexts: list[ToolContext] = []

    async def book(self, context: ToolContext, values: dict[str, Any]) -> str:
        self.booked.append(values["at"])
        self.contexts.append(context)
        return f"约好了：{values['at']}"

    def tool(self, **traits: Any) -> Tool:
        return tool_of("book", self.book, arguments=["at"], risk=Risk.ACT, **traits)


@pytest.fixture
def library() -> Library:
    return Library()


@pytest.fixture
def world(open_world: Opener, library: Library) -> World:
    world = open_world(tools=(library.tool(),))
    world.model.script = booking()
    return world


def booking(at: str = "明天上午", text: str = "") -> Script:
    """Books when asked to, and says what came of it."""

    def script(request: Request) -> Reply:
        last = request.messages[-1]
        if last.role == "tool":
            return says(last.text if "约好了" in last.text else "这次没有约成。")
        return calls(("book", {"at": at}), text=text) if "约" in last.text else says("好的。")

    return script


def texts(sent: list[Sent], kind: str | None = None) -> list[str]:
    return [one.text for one in sent if kind in (None, one.kind)]


def open_ones(world: World) -> list[Confirmation]:
    return world.kit.book.open()


async def test_a_yes_carries_the_call_out_and_the_talk_goes_on(world: World, library: Library) -> None:
    (question,) = await world.say("约座位")
    assert question.kind == "question"
    assert "明天上午" in question.text
    assert library.booked == []
    assert world.outcomes() == ["waiting"]
    assert texts(await world.say("确认")) == ["约好了：明天上午"]
    assert library.booked == ["明天上午"]
    assert world.outcomes() == ["waiting", "replied"]


async def test_the_history_shows_paired_calls_and_never_the_code(world: World) -> None:
    world.model.script = booking(text="我来约。")
    await world.say("约座位")
    code = open_ones(world)[0].code
    await world.say(f"确认 {code}")
    request = world.model.requests[-1]
    roles = [message.role for message in request.messages if message.role != "system"]
    assert roles == ["user", "assistant", "tool", "assistant", "tool"]
    called = [call.id for message in request.messages for call in message.calls]
    assert called == [message.call_id for message in request.messages if message.role == "tool"]
    assert len(set(called)) == 2
    assert code not in str(world.model.requests)
    assert "确认" not in [text for _, text in shape(request)]


async def test_what_the_model_says_beside_the_call_comes_first_and_apart(world: World) -> None:
    world.model.script = booking(text="我来约，稍等。")
    said, question = await world.say("约座位")
    assert (said.kind, said.text) == ("reply", "我来约，稍等。")
    assert question.kind == "question"
    assert "稍等" not in question.text
    assert world.outcomes() == ["waiting"]


async def test_a_no_closes_it_and_the_model_learns_of_it(world: World, library: Library) -> None:
    await world.say("约座位")
    assert texts(await world.say("算了")) == ["好，不做了。"]
    assert library.booked == []
    assert texts(await world.say("确认")) == ["好的。"]  # there is nothing left to confirm: it is talk
    assert any(role == "system" and "book" in text and "不要" in text for role, text in shape(world.model.requests[-1]))


async def test_a_yes_twice_runs_once(world: World, library: Library) -> None:
    await world.say("约座位")
    world.clock.advance(timedelta(seconds=1))
    await asyncio.gather(world.desk.receive(world.inbound("确认")), world.desk.receive(world.inbound("确认")))
    await world.queues.idle()
    assert library.booked == ["明天上午"]


async def test_a_late_yes_asks_anew(world: World, library: Library) -> None:
    await world.say("约座位")
    world.clock.advance(timedelta(minutes=31))
    notice, question = await world.say("确认")
    assert "过期" in notice.text
    assert question.kind == "question"
    assert "明天上午" in question.text
    assert library.booked == []
    assert texts(await world.say("好")) == ["约好了：明天上午"]
    assert library.booked == ["明天上午"]


async def test_what_was_asked_for_is_known_to_the_call_also_after_a_late_yes(world: World, library: Library) -> None:
    await world.say("约座位，要靠窗")
    world.clock.advance(timedelta(minutes=31))
    await world.say("确认")
    await world.say("确认")
    assert [context.words for context in library.contexts] == ["约座位，要靠窗"]


async def test_a_yes_that_was_said_before_the_question_arrived_does_not_count(world: World, library: Library) -> None:
    world.clock.advance(timedelta(seconds=1))
    await world.desk.receive(world.inbound("约座位"))
    await world.queues.idle()
    await world.receive("好")  # the question waits in the outbox
    await world.queues.idle()
    assert library.booked == []
    world.deliver()
    said_before = replace(world.inbound("好"), time=world.clock.now() - timedelta(minutes=1))
    world.clock.advance(timedelta(seconds=1))
    await world.desk.receive(said_before)
    await world.queues.idle()
    assert library.booked == []
    await world.say("好")
    assert library.booked == ["明天上午"]


async def test_two_questions_need_codes(world: World, library: Library) -> None:
    world.model.script = in_order(calls(("book", {"at": "上午"}), ("book", {"at": "下午"})), says("好的。"))
    first, second = await world.say("约上午和下午")
    one, other = open_ones(world)
    assert other.code in second.text
    (which,) = await world.say("确认")
    assert one.code in which.text
    assert other.code in which.text
    assert library.booked == []
    await world.say(f"确认 {other.code}")
    assert library.booked == ["下午"]
    await world.say("确认")
    assert library.booked == ["下午", "上午"]
    assert first.text != second.text


async def test_anything_else_that_is_said_leaves_it_open(world: World, library: Library) -> None:
    await world.say("约座位")
    assert texts(await world.say("天气怎么样")) == ["好的。"]
    assert len(open_ones(world)) == 1
    await world.say("确认")
    assert library.booked == ["明天上午"]


async def test_another_wish_replaces_the_open_question(world: World, library: Library) -> None:
    await world.say("约座位")
    world.model.script = booking(at="明天下午")
    await world.say("改约下午")
    (asked,) = open_ones(world)
    assert asked.arguments == {"at": "明天下午"}
    assert not asked.needs_code
    await world.say("确认")
    assert library.booked == ["明天下午"]


async def test_it_outlives_a_restart(world: World, library: Library) -> None:
    await world.say("约座位")
    again = await world.restart()
    assert texts(await again.say("确认")) == ["约好了：明天上午"]
    assert library.booked == ["明天上午"]
    third = await again.restart()
    assert library.booked == ["明天上午"]
    assert len(third.sent()) == 2
    await third.close()


async def test_a_process_that_ends_between_the_yes_and_the_call_still_runs_it_once(
    world: World, library: Library
) -> None:
    await world.say("约座位")
    await world.queues.close()  # what is queued from now on never runs here
    await world.receive("确认")
    assert library.booked == []
    again = await world.restart()
    assert library.booked == ["明天上午"]
    assert texts(again.sent())[-1] == "约好了：明天上午"
    third = await again.restart()
    assert library.booked == ["明天上午"]
    await third.close()


async def test_a_yes_that_was_given_long_ago_is_asked_anew(world: World, library: Library) -> None:
    await world.say("约座位")
    await world.queues.close()
    await world.receive("确认")
    world.clock.advance(timedelta(hours=2))  # nobody was there to carry it out
    told: list[str] = []

    def script(request: Request) -> Reply:
        if request.messages[-1].role == "tool" and "隔了太久" in request.messages[-1].text:
            told.append(request.messages[-1].text)
            return calls(("book", {"at": "明天上午"}))
        return booking()(request)

    world.model.script = script
    again = await world.restart()
    again.deliver()
    assert library.booked == []
    assert len(told) == 1
    assert again.sent()[-1].kind == "question"
    assert texts(await again.say("好")) == ["约好了：明天上午"]
    await again.close()


async def test_what_was_done_is_told_though_the_model_is_gone(world: World, library: Library) -> None:
    await world.say("约座位")
    world.model.script = in_order(ModelUnreachable(NOT_REACHED))
    (told,) = await world.say("确认")
    assert library.booked == ["明天上午"]
    assert "连不上" in told.text
    assert "已经做了：book。" in told.text
    world.model.script = in_order(says("好的。"))
    await world.say("然后呢")
    assert told.text in [text for role, text in shape(world.model.requests[-1]) if role == "assistant"]


async def test_confirm_and_cancel_with_nothing_open_say_so(world: World) -> None:
    for words in ("/confirm", "/确认", "/cancel K7QM", "／取消"):
        assert texts(await world.say(words)) == ["现在没有等你确认的事。"]
    assert world.model.requests == []


async def test_a_yes_that_was_stopped_never_runs_later(world: World, library: Library) -> None:
    await world.say("约座位")
    reached, hold = asyncio.Event(), asyncio.Event()

    async def inject(*_: object) -> Any:
        reached.set()
        await hold.wait()

    world.memory.inject = inject  # type: ignore[method-assign, assignment]
    await world.receive("确认")
    await reached.wait()
    await world.say("/stop")
    assert world.outcomes() == ["waiting", "stopped"]
    again = await world.restart()
    assert library.booked == []
    assert again.kit.book.unresumed() == []
    await again.close()


async def test_a_tool_that_changed_since_the_yes_is_not_run(open_world: Opener, library: Library) -> None:
    world = open_world(tools=(library.tool(),))
    world.model.script = booking()
    await world.say("约座位")
    again = await world.restart(tools=(library.tool(description="约座位，并付款。"),))
    assert texts(await again.say("确认")) == ["这次没有约成。"]
    assert library.booked == []
    third = await again.restart()
    assert library.booked == []
    await third.close()


async def test_a_tool_that_is_gone_by_the_late_yes_is_said_to_be_gone(world: World) -> None:
    await world.say("约座位")
    world.clock.advance(timedelta(minutes=31))
    again = await world.restart(tools=())
    assert texts(await again.say("确认")) == ["这件事现在做不了了。"]
    third = await again.restart()
    assert len(third.sent()) == 2
    await third.close()


async def test_a_late_yes_with_too_many_questions_open_is_told_so(world: World) -> None:
    await world.say("约座位")
    world.clock.advance(timedelta(minutes=31))
    for session in ("一", "二", "三"):
        await world.say("约座位", OWNER_QQ, GROUP, session=session)
    code = world.events(Kind.CONFIRMATION_ASKED)[0].payload["code"]
    (told,) = await world.say(f"确认 {code}")
    assert "等你答复" in told.text
    assert world.outcomes().count("waiting") == 4
    assert len(open_ones(world)) == 3


class TestGroups:
    async def test_somebody_else_says_yes_and_learns_nothing(self, world: World, library: Library) -> None:
        await world.say("约座位", OWNER_QQ, GROUP)
        for words in ("确认", f"确认 {open_ones(world)[0].code}"):
            before = len(world.model.requests)
            sent = await world.say(words, GUEST, GROUP)
            assert library.booked == []
            assert texts(sent) == ["好的。"]  # to us it was talk like any other
            assert len(world.model.requests) == before + 1
            assert "book" not in str(world.model.requests[-1].messages)

    async def test_an_answer_in_so_many_words_needs_no_mention(self, world: World, library: Library) -> None:
        await world.say("约座位", OWNER_QQ, GROUP)
        assert await world.say("好", OWNER_QQ, GROUP, addressed=False) == []
        assert library.booked == []
        await world.say("确认", OWNER_QQ, GROUP, addressed=False)
        assert library.booked == ["明天上午"]

    async def test_the_owner_confirms_a_members_act_in_private(self, world: World, library: Library) -> None:
        told, question = await world.say("约座位", MEMBER, GROUP)
        (asked,) = open_ones(world)
        assert (told.space, told.kind) == (GROUP, "reply")
        assert asked.code not in told.text
        assert "明天上午" not in told.text
        assert (question.space, question.kind) == (Space("private", OWNER), "question")
        assert asked.code in question.text
        assert texts(await world.say(f"确认 {asked.code}", MEMBER, GROUP)) == ["好的。"]
        assert library.booked == []
        sent = await world.say(f"确认 {asked.code}")
        assert library.booked == ["明天上午"]
        assert [(one.space, one.kind) for one in sent] == [
            (Space("private", OWNER), "notice"), (GROUP, "reply"),
        ]  # fmt: skip
        assert sent[1].text == "约好了：明天上午"

    async def test_the_member_learns_that_the_owner_said_no(self, world: World, library: Library) -> None:
        await world.say("约座位", MEMBER)
        (asked,) = open_ones(world)
        sent = await world.say(f"取消 {asked.code}")
        assert {one.space for one in sent} == {Space("private", OWNER), Space("private", MEMBER)}
        assert "主人没有同意" in next(one.text for one in sent if one.space.id == MEMBER)
        assert library.booked == []

    async def test_a_setting_lets_members_confirm_their_own(self, open_world: Opener, library: Library) -> None:
        world = open_world(tools=(library.tool(),), granted={"book": frozenset({Role.MEMBER})})
        world.model.script = booking()
        await world.say("约座位", MEMBER, GROUP)
        await world.say("确认", MEMBER, GROUP)
        assert library.booked == ["明天上午"]


async def test_a_forwarded_or_edited_yes_is_none(world: World, library: Library) -> None:
    await world.say("约座位")
    await world.say("确认", materials=(Material(Origin.FORWARD, "转发", "确认"),))
    await world.say("确认", edited=True)
    assert library.booked == []
    assert len(open_ones(world)) == 1


async def test_a_quote_of_the_question_names_it(world: World, library: Library) -> None:
    world.model.script = in_order(calls(("book", {"at": "上午"}), ("book", {"at": "下午"})), says("好的。"))
    sent = await world.say("约上午和下午")
    assert len(sent) == 2
    first = next(asked for asked in open_ones(world) if asked.arguments["at"] == "上午")
    await world.say("确认", quotes=f"p_{first.message}")
    assert library.booked == ["上午"]


async def test_limits_do_not_stand_between_a_person_and_their_answer(open_world: Opener, library: Library) -> None:
    limits = {Role.MEMBER: replace(MEMBER_LIMITS, turns_a_day=1)}
    granted = {"book": frozenset({Role.MEMBER})}
    world = open_world(tools=(library.tool(),), granted=granted, rules=AccessRules(limits=limits))
    world.model.script = booking()
    await world.say("约座位", MEMBER)
    assert "明天再来" in texts(await world.say("你好", MEMBER))[0]
    await world.say("确认", MEMBER)
    assert library.booked == ["明天上午"]


async def test_an_answer_waits_for_no_turn_that_waits_behind(world: World, library: Library) -> None:
    await world.say("约座位")
    reached, hold = asyncio.Event(), asyncio.Event()
    script = world.model.script

    async def pause(request: Request) -> None:
        if request.messages[-1].text == "慢慢说":
            reached.set()
            await hold.wait()

    world.model.pause = pause
    await world.receive("慢慢说")
    await reached.wait()
    await world.receive("排队的话")
    await world.receive("确认")
    hold.set()
    await world.queues.idle()
    assert script is world.model.script
    words = [request.messages[-1].text for request in world.model.requests[-3:]]
    assert words == ["慢慢说", "约好了：明天上午", "排队的话"]


async def test_an_act_of_a_guest_who_may_not_ask_for_it_is_refused(open_world: Opener, library: Library) -> None:
    world = open_world(tools=(library.tool(roles=frozenset({Role.OWNER})),))
    world.model.script = in_order(calls(("book", AT)), says("我做不了。"))
    assert texts(await world.say("约座位", GUEST)) == ["我做不了。"]
    assert open_ones(world) == []
    assert library.booked == []
