"""What a start finds: accounts that are nobody any more, people who were forgotten, a clock that went on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from qingtuan.events.inbox import Inbox
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.events.turns import open_turns
from qingtuan.identity.people import People, Person
from qingtuan.identity.trust import Risk
from qingtuan.tools.tool import ToolContext
from tests.fakes.turns import GROUP, GUEST, MEMBER, World, calls, in_order, says, tool_of
from tests.turn.conftest import Opener


def hold(world: World) -> asyncio.Event:
    """Let no answer of the model come; the event says that one is being waited for."""
    reached = asyncio.Event()

    async def pause(request: Any) -> None:
        reached.set()
        await asyncio.Event().wait()

    world.model.pause = pause
    return reached


async def next_process(world: World, people: People | None = None) -> World:
    """The next process over the same folder, with other people perhaps; the model answers again."""
    await world.close()
    world.model.pause = None
    again = World(replace(world.plan), world.model)
    if people is not None:
        again.people = people
        again.kit = replace(again.kit, people=people)
        again.work = replace(again.work, kit=again.kit)
        again.desk = type(again.desk)(again.work, again.commands, again.desk._admission)
    await again.desk.recover()
    await again.queues.idle()
    return again


async def test_a_turn_of_somebody_who_may_not_speak_there_any_more_is_ended(world: World) -> None:
    reached = hold(world)
    await world.receive("你好", GUEST)
    await reached.wait()
    await world.receive("在吗", GUEST)
    await world.receive("主人也在")
    moved = People([Person("li", ("qq:10009",)), Person("zhao", ("qq:10003",))], owner_accounts=("qq:10000",))
    moved._known.by_account[GUEST] = "li"  # linked away: the private chat is nobody's that may speak in it
    again = await next_process(world, moved)
    assert [one.space.id for one in again.sent()] == ["cli:local"]
    assert sorted(again.outcomes()) == ["refused", "refused", "replied"]
    assert Inbox(again.log).open() == []
    assert open_turns(again.log) == []
    third = await next_process(again, moved)
    assert len(third.sent()) == 1
    await third.close()


async def test_a_forgotten_person_leaves_nothing_to_take_up_and_no_stumbling_block(world: World) -> None:
    reached = hold(world)
    await world.receive("我的秘密", GUEST, GROUP)
    await reached.wait()
    await world.receive("还有一个", GUEST, GROUP)
    await world.queues.close()
    with world.log.transaction():
        person = world.people.find(GUEST)
        assert person is not None
        world.log.append(Kind.PERSON_FORGOTTEN, Place(person=person.id))
        world.database.execute(
            "UPDATE events SET payload = '{\"forgotten\":true}' WHERE person = ? AND kind <> 'person.forgotten'",
            (person.id,),
        )
    again = await next_process(world)
    assert again.sent() == []
    assert Inbox(again.log).open() == []
    again.model.script = in_order(says("你好。"))
    assert [one.text for one in await again.say("你好", MEMBER, GROUP)] == ["你好。"]
    assert "秘密" not in str(again.model.requests[-1])
    await again.close()


async def test_a_yes_of_somebody_who_is_nobody_any_more_is_never_carried_out(open_world: Opener) -> None:
    done: list[str] = []

    async def book(context: ToolContext, values: dict[str, Any]) -> str:
        done.append("约")
        return "约好了"

    world = open_world(tools=(tool_of("book", book, risk=Risk.ACT),))
    world.model.script = in_order(calls(("book", {})), says("好的。"))
    await world.say("约座位", GUEST)
    (asked,) = world.kit.book.open()
    await world.queues.close()
    await world.receive(f"确认 {asked.code}")
    moved = People([Person("li", ("qq:10009",))], owner_accounts=("qq:10000",))
    moved._known.by_account[GUEST] = "li"
    again = await next_process(world, moved)
    assert done == []
    assert again.kit.book.unresumed() == []
    third = await next_process(again)
    assert done == []
    await third.close()


async def test_what_waited_is_answered_in_the_order_in_which_it_came(world: World) -> None:
    reached = hold(world)
    await world.receive("一")
    await reached.wait()
    await world.receive("二")
    await world.receive("三")
    again = await next_process(world)
    assert [request.messages[-1].text for request in again.model.requests[-3:]] == ["一", "二", "三"]
    assert again.outcomes() == ["replied"] * 3
    await again.close()


async def test_a_turn_that_had_replied_says_nothing_twice(world: World) -> None:
    reached = asyncio.Event()

    async def pause() -> None:
        reached.set()
        await asyncio.Event().wait()

    world.memory.pause = pause
    await world.receive("你好")
    await reached.wait()
    again = await next_process(world)
    assert len(again.sent()) == 1
    assert again.outcomes() == ["replied"]
    await again.close()
