"""What people see while a turn works: a typing sign, and one line if it takes long (channels.md, While working).

Nothing depends on it. It is never in the way of the reply and never comes after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from qingtuan.errors import QingtuanError, StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.events.outbox import notice
from qingtuan.events.turns import open_turns
from qingtuan.language import Words
from qingtuan.messages import Space
from qingtuan.turn.kit import Kit
from qingtuan.turn.progress import MessageOut

TYPING_SECONDS = 4.0
"""How often the sign is renewed: it goes out by itself after about five seconds."""


@runtime_checkable
class Signs(Protocol):
    """A channel that can show that it works."""

    @property
    def name(self) -> str:
        """As messages name it."""
        ...

    async def typing(self, space: Space, *, on: bool) -> None:
        """Show in a chat that something is being written, for about five seconds, or that no longer. What goes wrong
        is let go."""
        ...

    def spares(self, space: Space) -> bool:
        """Whether one line that takes long to work may be sent to a chat now: it counts against what the platform
        takes, and the reply comes first."""
        ...


@dataclass(slots=True)
class _Shown:
    """A turn that works."""

    task: asyncio.Task[None] | None = None
    line: Event | None = None
    """That it takes long, once it was said."""


@dataclass(slots=True)
class Presence:
    """Shows the turns of one channel."""

    signs: Signs
    kit: Kit
    long_work: float = 20.0
    """Seconds after which a line says that it takes long; 0 for none."""
    _turns: dict[str, _Shown] = field(default_factory=dict)
    _ending: set[asyncio.Task[None]] = field(default_factory=set)
    _unlisten: Callable[[], None] | None = None

    def start(self) -> None:
        """Begin; turns that an earlier process left are shown, too."""
        log = self.kit.record.log
        self._unlisten = log.listen(self._heard)
        for started in open_turns(log):
            self._heard(started)

    async def close(self) -> None:
        """End all signs."""
        if self._unlisten is not None:
            self._unlisten()
            self._unlisten = None
        tasks = [shown.task for shown in self._turns.values() if shown.task is not None]
        self._turns.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        ending = list(self._ending)
        for sign in ending:
            sign.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    def _heard(self, event: Event) -> None:
        turn = event.place.turn
        if turn is None or event.forgotten:
            return  # most events are of no concern here
        if event.kind is Kind.TURN_STARTED:
            if event.payload.get("channel") == self.signs.name and event.place.space is not None:
                self._end(turn)  # it may be told of twice
                shown = self._turns[turn] = _Shown()
                shown.task = asyncio.create_task(self._show(event, event.place.space, shown), name=f"typing {turn}")
        elif event.kind is Kind.TURN_FINISHED or (
            event.kind is Kind.MESSAGE_SENT and event.payload["kind"] in ("reply", "question")
        ):
            self._end(turn)

    def _end(self, turn: str) -> None:
        shown = self._turns.pop(turn, None)
        if shown is None:
            return
        if shown.task is not None:
            shown.task.cancel()
        if shown.line is not None:
            line = shown.line
            with suppress(StorageFailed):
                self.kit.record.outbox.withdraw(lambda message: message.id == line.id, "overtaken by the reply")

    async def _show(self, started: Event, space: Space, shown: _Shown) -> None:
        clock = self.kit.record.clock
        begun = clock.monotonic()
        try:
            while True:
                await self._sign(space, on=True)
                if self.long_work and shown.line is None and clock.monotonic() - begun >= self.long_work:
                    self._say_so(started, space, shown)
                await clock.sleep(TYPING_SECONDS)
        finally:
            # Whoever cancels does not wait for it.
            ending = asyncio.ensure_future(self._sign(space, on=False))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def _sign(self, space: Space, *, on: bool) -> None:
        with suppress(Exception):  # the edge of a channel, and only a sign
            async with asyncio.timeout(TYPING_SECONDS):
                await self.signs.typing(space, on=on)

    def _say_so(self, started: Event, space: Space, shown: _Shown) -> None:
        """Say once that it takes a while, if the channel has room for that."""
        record, place = self.kit.record, started.place
        earlier = (event for event in record.log.of_turn(place.turn or "") if event.kind is Kind.MESSAGE_SENT)
        if any(event.payload["text"] in (WORKING.zh, WORKING.en) for event in earlier) or not self.signs.spares(space):
            return
        try:
            language = self.kit.speaks_to(self.kit.people.reader(started.payload["account"], space))
            draft = notice(self.signs.name, WORKING.say(language))
            shown.line = record.outbox.put(draft, place, cause=started.cause)
        except QingtuanError:
            return
        if place.session is not None:
            self.kit.stage.show(place.session, MessageOut(shown.line))


WORKING = Words("还在弄，要等一会儿。", "Still at it; this takes a while.")
"""The line for work that takes long."""
