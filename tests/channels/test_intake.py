"""Taking messages in: acknowledged once stored, in order within a chat, chats side by side, and nothing lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from qingtuan.channels.intake import Intake
from qingtuan.clock import ManualClock
from qingtuan.errors import StorageFailed
from qingtuan.events.inbox import Inbox
from qingtuan.events.kinds import Kind
from qingtuan.language import Words
from qingtuan.messages import Space
from qingtuan.turn.commands.registry import Command, CommandReply, Invocation
from qingtuan.turn.desk import Taken
from tests.fakes.turns import MEMBER, OWNER_QQ, START, Plan, World, calls, in_order, says

OWNER, OTHER = Space("private", OWNER_QQ), Space("private", MEMBER)


@dataclass
class Slow:
    """A command that ends when the test wants it to."""

    runs: list[str] = field(default_factory=list)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    let: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, invocation: Invocation) -> CommandReply:
        self.runs.append(invocation.argument)
        self.reached.set()
        await self.let.wait()
        return CommandReply(f"办好了 {invocation.argument}")


@dataclass
class Door:
    """A world with one way in, and a slow command `/slow`."""

    world: World
    intake: Intake
    slow: Slow

    async def take(self, text: str, account: str = OWNER_QQ, **fields: Any) -> Taken | None:
        return await self.intake.take(self.world.inbound(text, account, **fields))

    async def done(self) -> None:
        await self.intake.settled()
        await self.world.queues.idle()

    def texts(self) -> list[str]:
        return [sent.text for sent in self.world.sent()]

    def received(self) -> list[str]:
        return [event.payload["text"] for event in self.world.events(Kind.MESSAGE_RECEIVED)]


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    slow = Slow()
    command = Command(("slow",), Words("慢", "slow"), slow, short_help=False)
    world = World(Plan(folder=tmp_path, clock=ManualClock(START), commands=(command,)))
    door = Door(world, Intake("onebot", world.desk, world.kit.record.clock), slow)
    yield door
    slow.let.set()
    await door.intake.close()
    await world.close()


async def test_a_message_is_acknowledged_when_it_is_stored_and_dealt_with_after(door: Door) -> None:
    assert await door.take("你好") is None
    assert door.received() == ["你好"]
    await door.done()
    assert door.texts() == ["好的。"]


async def test_a_slow_command_holds_up_neither_what_comes_behind_it_nor_another_chat(door: Door) -> None:
    await door.take("/slow 一")
    await door.slow.reached.wait()
    await door.take("/slow 二")
    await door.take("/help", MEMBER)
    assert door.received() == ["/slow 一", "/slow 二", "/help"]
    await asyncio.sleep(0.01)
    assert door.slow.runs == ["一"]
    assert [sent.space for sent in door.world.sent()] == [OTHER]
    door.slow.let.set()
    await door.done()
    assert door.texts()[1:] == ["办好了 一", "办好了 二"]


async def test_the_order_of_a_chat_is_the_order_of_arrival_whoever_is_cancelled_meanwhile(door: Door) -> None:
    door.world.model.script = lambda request: says(request.messages[-1].text[-1])
    taking = [asyncio.create_task(door.take(f"第 {number}")) for number in range(6)]
    await asyncio.sleep(0)
    taking[2].cancel()
    await asyncio.gather(*taking, return_exceptions=True)
    await door.done()
    assert door.received() == [f"第 {number}" for number in range(6)]
    assert door.texts() == [str(number) for number in range(6)]


async def test_what_comes_twice_is_stored_once_and_still_acknowledged(door: Door) -> None:
    both = await asyncio.gather(door.take("你好", message_id="m"), door.take("你好", message_id="m"))
    assert both[0] is None
    assert [taken.kind for taken in both if taken is not None] == ["known"]
    await door.done()
    assert door.texts() == ["好的。"]


async def test_what_cannot_be_stored_is_not_acknowledged_and_comes_again(door: Door) -> None:
    door.world.database.execute("PRAGMA query_only = ON")
    with pytest.raises(StorageFailed):
        await door.take("你好", message_id="m")
    door.world.database.execute("PRAGMA query_only = OFF")
    assert await door.take("你好", message_id="m") is None
    await door.done()
    assert door.texts() == ["好的。"]


async def test_what_breaks_the_handling_is_acknowledged_and_says_why(door: Door) -> None:
    other = replace(door.world.inbound("你好", OWNER_QQ), space=OTHER)  # in the private chat of somebody else
    taken = await door.intake.take(other)
    assert taken is not None
    assert taken.kind == "ignored"
    (ignored,) = door.world.events(Kind.MESSAGE_IGNORED)
    assert ignored.payload["reason"] == "broken"
    (noted,) = door.world.events(Kind.CHORE_FAILED)
    assert "NotAllowed" in noted.payload["detail"]


async def test_a_message_that_waited_means_what_it_means_when_its_turn_comes(door: Door) -> None:
    """A yes behind a slow command is an answer only if there still is a question."""
    door.world.model.script = in_order(calls(("no_such_tool", {})), says("好"))
    await door.take("/slow")
    await door.take("确认")
    door.slow.let.set()
    await door.done()
    assert door.texts()[0] == "办好了 "
    assert len(door.texts()) == 2


async def test_a_recalled_message_is_not_answered_if_it_was_not_yet(door: Door) -> None:
    await door.take("/slow")
    await door.slow.reached.wait()
    await door.take("/slow 收回的", message_id="m1")
    await door.intake.recalled(OWNER, "m1")
    await door.intake.recalled(OWNER, "never came")
    door.slow.let.set()
    await door.done()
    assert door.slow.runs == [""]
    assert Inbox(door.world.log).open() == []


async def test_a_recall_stops_the_turn_of_its_message(door: Door) -> None:
    reached, let = asyncio.Event(), asyncio.Event()

    async def pause(_: object) -> None:
        reached.set()
        await let.wait()

    door.world.model.pause = pause
    await door.take("说长一点", message_id="m1")
    await reached.wait()
    await door.take("排在后面", message_id="m2")
    await door.intake.settled()
    await door.intake.recalled(OWNER, "m2")
    await door.intake.recalled(OWNER, "m1")
    await door.done()
    assert door.world.outcomes() == ["recalled"]
    assert door.texts() == []


async def test_an_end_leaves_what_is_stored_to_the_next_start(door: Door) -> None:
    await door.take("/slow 一")
    await door.slow.reached.wait()
    await door.take("/slow 二")
    closing = asyncio.create_task(door.intake.close())
    await asyncio.sleep(0.01)
    with pytest.raises(StorageFailed):
        await door.take("/slow 三")
    assert not closing.done()
    door.slow.let.set()
    await closing
    assert door.texts() == ["办好了 一"]
    again = await door.world.restart()
    assert [sent.text for sent in again.sent()] == ["办好了 一", "办好了 二"]
    await again.close()
