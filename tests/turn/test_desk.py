"""What becomes of a message: turn, command, answer, silence; once, whatever happens."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from qingtuan.errors import NotAllowed, StorageFailed, UsageWrong
from qingtuan.events.inbox import Inbox
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.identity.access import GUEST_LIMITS, MEMBER_LIMITS, AccessRules
from qingtuan.identity.privacy import Prints
from qingtuan.identity.scopes import Role
from qingtuan.language import Words
from qingtuan.messages import Space
from qingtuan.turn.commands.registry import Command, CommandReply, Invocation
from qingtuan.turn.silence import MAX_A_MINUTE, MAX_AN_HOUR
from tests.fakes.turns import (
    GROUP,
    GUEST,
    MEMBER,
    OWNER,
    OWNER_QQ,
    World,
    failing,
    in_order,
    says,
    shape,
)
from tests.turn.conftest import Opener


def texts(sent: list[Any]) -> list[str]:
    return [one.text for one in sent]


# Once


async def test_a_message_that_is_delivered_twice_is_answered_once(world: World) -> None:
    first = await world.receive("你好", message_id="m")
    again = await world.receive("你好", message_id="m")
    await world.queues.idle()
    third = await (await world.restart()).receive("你好", message_id="m")
    assert [first.kind, again.kind, third.kind] == ["turn", "known", "known"]
    assert len(world.model.requests) == 1


async def test_the_same_id_in_another_chat_is_another_message(world: World) -> None:
    await world.receive("你好", message_id="1")
    await world.receive("你好", OWNER_QQ, message_id="1")
    await world.receive("你好", OWNER_QQ, GROUP, message_id="1")
    await world.queues.idle()
    assert len(world.sent()) == 3


async def test_a_message_is_stored_before_anything_else_happens(world: World) -> None:
    taken = await world.receive("你好")
    assert taken.kind == "turn"
    assert [event.payload["text"] for event in Inbox(world.log).open()] == ["你好"]
    assert world.model.requests == []


async def test_what_cannot_be_stored_is_not_taken(world: World) -> None:
    world.database.execute("PRAGMA query_only=ON")
    with pytest.raises(StorageFailed):
        await world.receive("你好", message_id="m")
    world.database.execute("PRAGMA query_only=OFF")
    assert (await world.receive("你好", message_id="m")).kind == "turn"


async def test_turns_of_one_session_follow_each_other_and_sessions_do_not_wait(world: World) -> None:
    hold = asyncio.Event()

    async def pause(request: Any) -> None:
        if request.messages[-1].text == "慢":
            await hold.wait()

    world.model.pause = pause
    await world.receive("慢", session="一")
    await world.receive("快", session="一")
    await world.receive("别处", session="二")
    await asyncio.sleep(0.01)
    assert [request.messages[-1].text for request in world.model.requests] == ["慢", "别处"]
    hold.set()
    await world.queues.idle()
    assert world.model.requests[-1].messages[-1].text == "快"


async def test_twenty_sessions_at_once_are_all_answered_in_order(world: World) -> None:
    for number in range(3):
        for session in range(20):
            await world.receive(f"第 {number} 句", session=f"会话 {session}")
    await world.queues.idle()
    assert len(world.sent()) == 60
    for session in range(20):
        found = world.record.sessions.named(Space("private", OWNER), f"会话 {session}", "owner")
        said = [event.payload["text"] for event in world.log.of_session(found.id, kinds=[Kind.MESSAGE_RECEIVED])]
        assert said == ["第 0 句", "第 1 句", "第 2 句"]


# Silence


async def test_what_is_ignored_leaves_its_reason_and_nothing_of_what_it_said(open_world: Opener) -> None:
    world = open_world(rules=AccessRules(limits={}))
    taken = await world.receive("我的秘密", GUEST)
    assert taken.kind == "ignored"
    (event,) = world.events(Kind.MESSAGE_IGNORED)
    assert event.payload["reason"] == "stranger"
    assert len(event.payload["hash"]) == 64
    assert "秘密" not in str(world.events())
    assert world.events(Kind.SESSION_STARTED) == []
    assert texts(world.sent()) == ["我只和主人认识的人聊天。"]
    await world.receive("在吗", GUEST)
    assert len(world.sent()) == 1  # once a minute is enough


async def test_a_crowd_of_strangers_is_not_answered_one_by_one(open_world: Opener) -> None:
    world = open_world(rules=AccessRules(limits={}))
    for number in range(MAX_A_MINUTE + 10):
        await world.receive("在吗", f"qq:{70000 + number}")
    assert len(world.sent()) == MAX_A_MINUTE
    assert len(world.events(Kind.MESSAGE_IGNORED)) == MAX_A_MINUTE + 10
    world.clock.advance(timedelta(minutes=1))
    await world.receive("在吗", GUEST)
    assert len(world.sent()) == MAX_A_MINUTE + 1


async def test_a_group_that_is_not_enabled_stays_silent_but_tells_the_owner(open_world: Opener) -> None:
    world = open_world(rules=AccessRules())
    assert (await world.receive("你好", GUEST, GROUP)).kind == "ignored"
    assert world.sent() == []
    await world.receive("你好", OWNER_QQ, GROUP)
    assert "/启用" in world.sent()[0].text


async def test_what_is_not_meant_for_us_does_not_fill_the_log(world: World) -> None:
    for number in range(MAX_AN_HOUR + 50):
        await world.desk.receive(world.inbound(f"闲聊 {number}", GUEST, GROUP, addressed=False))
    assert len(world.events(Kind.MESSAGE_IGNORED)) == MAX_AN_HOUR
    world.clock.advance(timedelta(hours=1))
    await world.receive("又聊", GUEST, GROUP, addressed=False)
    assert len(world.events(Kind.MESSAGE_IGNORED)) == MAX_AN_HOUR + 1
    assert world.model.requests == []


async def test_an_id_that_many_speak_through_is_nobody(world: World) -> None:
    assert (await world.receive("你好", "qq:80000000", GROUP)).kind == "ignored"
    assert world.events(Kind.MESSAGE_IGNORED)[0].payload["reason"] == "shared_id"


async def test_a_private_chat_of_somebody_else_is_no_place_to_speak(world: World) -> None:
    with pytest.raises(NotAllowed):
        await world.receive("你好", GUEST, Space("private", MEMBER))
    assert world.events(Kind.MESSAGE_RECEIVED) == []


# Limits


async def test_the_cool_down_holds_back_and_drops_nothing(open_world: Opener) -> None:
    limits = {Role.MEMBER: MEMBER_LIMITS, Role.GUEST: GUEST_LIMITS}
    world = open_world(rules=AccessRules(groups=frozenset({"qq:777"}), limits=limits))
    waits: list[float] = []
    go = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await go.wait()

    world.clock.sleep = sleep  # type: ignore[method-assign]
    for text in ("一", "二", "三"):
        await world.receive(text, GUEST, GROUP)
        await asyncio.sleep(0.01)
    # Each begins five seconds after the one before, counted from when that is to begin.
    assert [round(seconds) for seconds in waits] == [4, 8]
    # The owner does not wait for a guest.
    await world.receive("主人的话", OWNER_QQ, GROUP)
    await asyncio.sleep(0.01)
    assert [request.messages[-1].text for request in world.model.requests] == ["一", "主人的话"]
    go.set()
    await world.queues.idle()
    assert [request.messages[-1].text for request in world.model.requests[2:]] == ["二", "三"]


async def test_at_most_so_many_of_one_person_wait(open_world: Opener) -> None:
    limits = {Role.MEMBER: replace(MEMBER_LIMITS, private_cooldown=0)}
    world = open_world(rules=AccessRules(limits=limits))
    hold = asyncio.Event()
    world.model.pause = lambda request: hold.wait()  # type: ignore[assignment, return-value]
    kinds = []
    for number in range(6):
        kinds.append((await world.receive(f"第 {number} 句", MEMBER)).kind)
        await asyncio.sleep(0.01)
    assert kinds == ["turn"] * 4 + ["ignored"] * 2
    assert (await world.receive("/stop", MEMBER)).kind == "command"
    hold.set()
    await world.queues.idle()
    assert world.outcomes() == ["stopped", "replied", "replied", "replied"]


async def test_what_was_used_today_counts_over_restarts_and_is_forgotten_at_midnight(open_world: Opener) -> None:
    limits = {Role.MEMBER: replace(MEMBER_LIMITS, turns_a_day=2, private_cooldown=0)}
    world = open_world(rules=AccessRules(limits=limits))
    await world.say("一", MEMBER)
    world = await world.restart()
    await world.say("二", MEMBER)
    assert (await world.receive("三", MEMBER)).kind == "ignored"
    world.clock.advance(timedelta(days=1))
    assert (await world.receive("四", MEMBER)).kind == "turn"
    await world.queues.idle()
    await world.close()


@pytest.mark.parametrize(("tokens", "kinds"), [(110, ["turn", "ignored"]), (111, ["turn", "turn"])])
async def test_tokens_of_all_but_the_owner_have_a_ceiling(open_world: Opener, tokens: int, kinds: list[str]) -> None:
    limits = {Role.MEMBER: replace(MEMBER_LIMITS, private_cooldown=0)}
    world = open_world(rules=AccessRules(limits=limits, tokens_of_all=tokens))
    await world.say("主人的话")
    assert (await world.receive("一", MEMBER)).kind == kinds[0]
    await world.queues.idle()
    assert (await world.receive("二", MEMBER)).kind == kinds[1]
    await world.queues.idle()
    assert (await world.receive("主人还能说")).kind == "turn"
    await world.queues.idle()


# Commands


def command(run: Any, *names: str, **traits: Any) -> Command:
    return Command(names or ("试", "try"), Words("试试", "try it"), run, **traits)


async def test_commands_never_enter_the_history(world: World) -> None:
    await world.say("你好")
    await world.say("/whoami")
    await world.say("/nonsense")
    await world.say("再见")
    request = world.model.requests[-1]
    assert [text for role, text in shape(request) if role == "user"] == ["你好", "再见"]
    assert len(world.model.requests) == 2
    assert [event.payload for event in world.events(Kind.COMMAND_RUN)] == [
        {"command": "whoami"}, {"command": "", "error": "UsageWrong"},
    ]  # fmt: skip


async def test_an_unknown_command_gets_a_hint(world: World) -> None:
    assert "/help" in texts(await world.say("／hlep"))[0]
    assert "/help" in texts(await world.say("/hlep"))[0]
    assert "/xyzzy" in texts(await world.say("/xyzzy"))[0]


async def test_in_a_group_a_command_that_we_have_needs_no_mention(world: World) -> None:
    assert (await world.receive("/help", GUEST, GROUP, addressed=False)).kind == "command"
    # One that we do not have was meant for another bot.
    assert (await world.receive("/start", GUEST, GROUP, addressed=False)).kind == "ignored"


async def test_a_flood_of_commands_is_answered_so_far_and_no_further(world: World) -> None:
    kinds = [(await world.desk.receive(world.inbound("/help", GUEST, GROUP))).kind for _ in range(25)]
    assert kinds == ["command"] * 20 + ["ignored"] * 5
    assert len(world.sent()) == 21
    world.clock.advance(timedelta(minutes=1))
    assert (await world.receive("/help", GUEST, GROUP)).kind == "command"


@pytest.mark.parametrize("text", ["/ foo", "/etc/hosts", "/", "//", "1/2", "看看 /help 是什么"])
async def test_what_merely_looks_like_a_command_is_a_message(world: World, text: str) -> None:
    assert (await world.receive(text)).kind == "turn"
    await world.queues.idle()
    assert world.model.requests[-1].messages[-1].text == text


async def test_new_and_clear_leave_what_was_said_behind(world: World) -> None:
    await world.say("你好")
    await world.say("/clear")
    await world.say("清空以后")
    assert [text for role, text in shape(world.model.requests[-1]) if role == "user"] == ["清空以后"]
    await world.say("/new")
    await world.say("新的开始")
    assert [text for role, text in shape(world.model.requests[-1]) if role == "user"] == ["新的开始"]
    assert len(world.left_sessions) == 1


async def test_clear_in_the_middle_of_a_turn_leaves_nothing_of_it_behind(world: World) -> None:
    reached, hold = asyncio.Event(), asyncio.Event()

    async def pause(request: Any) -> None:
        reached.set()
        await hold.wait()

    world.model.pause = pause
    await world.receive("一")
    await reached.wait()
    await world.receive("二")  # it waits, and is answered in a context that is empty
    await world.receive("/clear")
    hold.set()
    await world.queues.idle()
    assert [text for role, text in shape(world.model.requests[-1]) if role != "system"] == ["二"]
    await world.say("三")
    assert [text for role, text in shape(world.model.requests[-1]) if role != "system"] == ["二", "好的。", "三"]


async def test_guests_do_not_steer_a_group(world: World) -> None:
    await world.say("你好", OWNER_QQ, GROUP)
    for words in ("/new", "/clear"):
        assert "主人或成员" in texts(await world.say(words, GUEST, GROUP))[0]
        assert (await world.receive(words, GUEST)).kind == "command"
    await world.say("/new", MEMBER, GROUP)
    assert len({event.place.session for event in world.events(Kind.SESSION_STARTED)}) == 4


async def test_an_owners_command_tells_others_one_refusal(open_world: Opener) -> None:
    async def run(invocation: Invocation) -> CommandReply:
        return CommandReply("SECRET")

    world = open_world(commands=(command(run, owner_only=True), command(run, "私", "own", prints=Prints.PERSON)))
    assert texts(await world.say("/try", MEMBER)) == ["只有主人可以执行这个命令。"]
    assert texts(await world.say("/try")) == ["SECRET"]
    assert texts(await world.say("/own", OWNER_QQ, GROUP)) == ["这里是群，私聊我再说。还不是好友，就先加我。"]
    assert [event.payload.get("error") for event in world.events(Kind.COMMAND_RUN)] == [
        "NotAllowed",
        None,
        "NotAllowed",
    ]


@pytest.mark.parametrize(
    ("error", "said", "kind"),
    [
        (UsageWrong(failing("用法：/try 数")), "用法：/try 数", "UsageWrong"),
        (StorageFailed(failing("/srv 满了")), "/srv 满了", "StorageFailed"),
        (ValueError("SECRET"), "出错", "ValueError"),
    ],
)
async def test_a_command_that_fails_says_so_and_is_over(
    open_world: Opener, error: Exception, said: str, kind: str
) -> None:
    async def run(invocation: Invocation) -> CommandReply:
        raise error

    world = open_world(commands=(command(run),))
    (reply,) = await world.say("/try")
    assert said in reply.text
    assert "SECRET" not in reply.text
    assert world.events(Kind.COMMAND_RUN)[0].payload["error"] == kind
    again = await world.restart()
    assert len(again.sent()) == 1
    await again.close()


async def test_what_only_the_owner_can_mend_is_told_to_nobody_else(open_world: Opener) -> None:
    async def run(invocation: Invocation) -> CommandReply:
        raise StorageFailed(failing("/srv/SECRET 满了"))

    world = open_world(commands=(command(run),))
    assert "SECRET" not in texts(await world.say("/try", MEMBER))[0]
    assert "SECRET" in world.events(Kind.TURN_FAILED)[0].payload["detail"]


async def test_a_command_that_was_cut_off_before_it_did_anything_is_run_again(open_world: Opener) -> None:
    runs: list[str] = []

    async def run(invocation: Invocation) -> CommandReply:
        runs.append(invocation.argument)
        if len(runs) == 1:
            await asyncio.Event().wait()
        return CommandReply("办好了")

    world = open_world(commands=(command(run),))
    task = asyncio.create_task(world.receive("/try 数"))
    await asyncio.sleep(0.01)
    task.cancel()
    again = await world.restart()
    assert runs == ["数", "数"]
    assert texts(again.sent()) == ["办好了"]
    await again.close()


async def test_a_command_that_was_cut_off_after_it_did_something_is_not_run_again(open_world: Opener) -> None:
    runs: list[str] = []
    worlds: list[World] = []

    async def run(invocation: Invocation) -> CommandReply:
        runs.append(invocation.argument)
        place = Place(invocation.session.id, invocation.session.space, None, invocation.reader.person)
        worlds[-1].log.append(Kind.NOTE_WRITTEN, place, {}, cause=invocation.message.id)
        await asyncio.Event().wait()
        return CommandReply("办好了")

    worlds.append(open_world(commands=(command(run),)))
    task = asyncio.create_task(worlds[0].receive("/try 数"))
    await asyncio.sleep(0.01)
    task.cancel()
    again = await worlds[0].restart()
    assert runs == ["数"]
    assert "重启" in again.sent()[0].text
    assert Inbox(again.log).open() == []
    await again.close()


async def test_a_reply_is_said_in_the_language_of_its_person(open_world: Opener) -> None:
    world = open_world()
    world.model.script = in_order(says("hi"))
    world.people.take([replace(world.people.owner, language="en")])
    assert texts(await world.say("/stop")) == ["Nothing is running."]
