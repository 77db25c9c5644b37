"""What is due after a reply, and never in its way: summaries of the session, and what should be remembered of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from qingtuan.errors import QingtuanError
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.events.sessions import Session
from qingtuan.turn.kit import Kit

Chore = Callable[[Session], Awaitable[None]]
"""Something that may be due for a session."""


@dataclass(frozen=True, slots=True)
class Chores:
    """What there is to do."""

    at_once: Chore
    """After every turn: what counts messages (summaries; extraction after eight)."""
    when_quiet: Chore
    """When a session has been quiet for a while, at `/new`, at the end of a one-shot question."""
    quiet_seconds: float


class Afterwards:
    """Runs chores session by session in the background; a failed one is noted and troubles nobody."""

    def __init__(self, kit: Kit, chores: Chores) -> None:
        self._kit = kit
        self._chores = chores
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: dict[str, asyncio.Task[None]] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def turn_ended(self, session: Session) -> None:
        """A turn of this session has ended: do what counts messages, and begin to wait for quiet."""
        self._start(self._run(session, self._chores.at_once))
        self._cancel_timer(session.id)
        self._timers[session.id] = asyncio.create_task(self._wait(session))

    def left(self, session: Session) -> None:
        """The session will not go on for now (`/new`, the end of a one-shot question)."""
        self._cancel_timer(session.id)
        self._start(self._run(session, self._chores.when_quiet))

    def beside(self, work: Awaitable[None]) -> None:
        """Do something that somebody asked for beside the conversation."""
        self._start(work)

    async def done(self) -> None:
        """Wait until nothing is being done. Timers that still run are not waited for."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def interrupt(self) -> None:
        """End what is being done; it stays due, and is begun again after a later turn."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Stop everything; what is due stays due, and is found by the events at the next start."""
        for task in (*self._timers.values(), *self._tasks):
            task.cancel()
        await asyncio.gather(*self._timers.values(), *self._tasks, return_exceptions=True)
        self._timers.clear()

    async def _wait(self, session: Session) -> None:
        await self._kit.record.clock.sleep(self._chores.quiet_seconds)
        self._timers.pop(session.id, None)
        self._start(self._run(session, self._chores.when_quiet))

    async def _run(self, session: Session, chore: Chore) -> None:
        lock = self._locks.setdefault(session.id, asyncio.Lock())
        try:
            async with lock:
                await chore(session)
        except QingtuanError as error:
            place = Place(session.id, session.space)
            self._kit.record.log.append(Kind.CHORE_FAILED, place, {"detail": str(error)})

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _cancel_timer(self, session: str) -> None:
        if timer := self._timers.pop(session, None):
            timer.cancel()
