"""Somebody who writes as people do in chat apps: in pieces, with second thoughts; over a clock that a test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.events.turns import messages_in
from qingtuan.messages import Space
from qingtuan.models.chat import Request, WireRequest
from qingtuan.prompt.pipeline import build
from qingtuan.tools.tool import ToolContext
from qingtuan.turn.desk import Taken
from qingtuan.turn.viewing import frame
from tests.fakes.conversation import START as MORNING
from tests.fakes.conversation import HeldClock
from tests.fakes.turns import OWNER_QQ, World

CHAT = Space("private", OWNER_QQ)


def held_clock() -> HeldClock:
    return HeldClock(MORNING)


class Door:
    """Holds whoever comes to it until it is opened; each test of a hold waits until somebody has come."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._open = asyncio.Event()
        self.shut = True

    async def __call__(self, *_: object) -> None:
        if self.shut:
            self._reached.set()
            await self._open.wait()

    async def reached(self) -> None:
        async with asyncio.timeout(5):
            await self._reached.wait()
        self._reached.clear()

    def open(self) -> None:
        """Let through whoever stands there, and all who come."""
        self.shut = False
        self._open.set()


def held(door: Door, text: str = "做完了") -> Callable[[ToolContext, dict[str, Any]], Awaitable[str]]:
    """A tool that stands at a door."""

    async def run(context: ToolContext, values: dict[str, Any]) -> str:
        await door()
        return text

    return run


class Hasty:
    """One person of a world."""

    def __init__(self, world: World, account: str = OWNER_QQ) -> None:
        self.world = world
        self.account = account
        self._seen = world.newest()

    async def writes(self, text: str, *, after: float = 0.5, space: Space | None = None, **fields: Any) -> Taken:
        """Send something, `after` seconds later than the last thing."""
        await self.waits(after)
        taken = await self.world.desk.receive(
            self.world.inbound(text, self.account, space, **{"gathers": True, **fields})
        )
        await breathe()
        return taken

    async def edits(self, message_id: str, text: str, **fields: Any) -> Taken:
        return await self.writes(text, message_id=message_id, edited=True, **fields)

    async def recalls(self, message_id: str, space: Space | None = None) -> None:
        await self.waits(0.5)
        where = space or Space("private", self.account)
        self.world.desk.recalled("onebot" if self.account.startswith("qq:") else "cli", where, message_id)
        await breathe()

    async def waits(self, seconds: float) -> None:
        self.world.clock.advance(timedelta(seconds=seconds))
        await breathe()

    async def answered(self) -> list[str]:
        """What was sent since the last time, once the person has been quiet for so long that every turn is done."""
        await self.waits(2)
        async with asyncio.timeout(10):
            await self.world.queues.idle()
        self.world.deliver()
        seen, self._seen = self._seen, self.world.newest()
        return [one.text for one in self.world.sent(after=seen)]


async def breathe() -> None:
    """Let everybody do what they can do without time passing."""
    for _ in range(20):
        await asyncio.sleep(0)


def said(request: Request) -> list[str]:
    """What people said in a request, in order."""
    return [message.text for message in request.messages if message.role == "user"]


def well_formed(request: Request) -> bool:
    """Whether every call has exactly one result, right behind it."""
    open_calls: list[str] = []
    for message in request.messages:
        if message.role == "tool":
            if message.call_id not in open_calls:
                return False
            open_calls.remove(message.call_id)
        elif open_calls:
            return False
        open_calls += [call.id for call in message.calls]
    return not open_calls


def made_anew(world: World) -> Iterator[tuple[WireRequest, WireRequest]]:
    """Each request of the log as it was sent, and as its events make it."""
    for asked in world.events(Kind.MODEL_REQUESTED):
        events = world.log.of_turn(asked.place.turn or "")
        earlier = [event for event in events if event.seq < asked.seq]
        started = next(event for event in earlier if event.kind is Kind.TURN_STARTED)
        yield world.record.requests.load(asked), world.model.encode(build(_view(world, started, earlier)).request)


def _view(world: World, started: Event, earlier: list[Event]) -> Any:
    turn = world.work.read_back(started)
    found = [event for event in map(world.log.get, messages_in(earlier)) if event is not None]
    turn = replace(turn, messages=tuple(map(Received.of, found)))
    return frame(world.kit, turn, started).at(earlier)


def check_requests(world: World) -> None:
    """What holds of everything that was ever asked: it is well-formed, and can be made anew from the events."""
    assert all(map(well_formed, world.model.requests))
    for sent, again in made_anew(world):
        assert sent == again
