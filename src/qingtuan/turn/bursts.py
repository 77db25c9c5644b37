"""The messages of a turn as they come: in bursts, joining it before it says anything, edited, recalled (channels.md).

What belongs to a turn stands in the events. Here is kept, while it waits or works, who may still join it, and what has
to be done anew because of that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from qingtuan.clock import Clock
from qingtuan.events.inbox import Received, content_of
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.messages import Inbound, Space
from qingtuan.turn.turn import Turn, has_acted, is_open

PAUSE = 2.0
"""Seconds without a message after which somebody has said what they had to say (channels.md, Bursts)."""
LONGEST = 10.0
"""Seconds from the first message after which a turn begins, whatever still comes."""
MOST = 20
"""Messages of one turn."""
_INSTANT = 0.001
"""Seconds that are none: sums of seconds are not exact."""


class Outdated(Exception):
    """What was being done is to be done anew: the turn is about something else by now."""


class Burst:
    """A turn that waits or works, with the messages that it is about by now."""

    def __init__(self, turn: Turn, log: Log, clock: Clock, *, gathers: bool = False, begun: bool = False) -> None:
        """`gathers`: more is waited for, a moment, before it begins. `begun`: its `turn.started` stands."""
        self.turn = turn
        self.begun = begun
        self.over = False
        """Whether it has shown something or ended: nobody joins it any more."""
        self._log = log
        self._clock = clock
        self._first = self._last = clock.monotonic()
        self._hurried = asyncio.Event()
        if not gathers:
            self._hurried.set()
        self._fetched: set[str] = set()
        self._task: asyncio.Task[object] | None = None
        """Works on something that depends on the messages."""
        self._calling = False
        """Whether that is calls: what merely joins waits until they are done."""
        self._cut = False

    # Who belongs to it

    def is_silent(self) -> bool:
        """Whether nothing was said in it yet: what it is about may still change."""
        return not self.over and (not self.begun or is_open(self._log.of_turn(self.turn.id)))

    def takes(self, received: Inbound | Received, person: str) -> bool:
        """Whether a message may join."""
        mine = (self.turn.account, self.turn.channel, self.turn.reader.person)
        fits = received.gathers and mine == (received.account, received.channel, person)
        return fits and 0 < len(self.turn.messages) < MOST and self.is_silent()

    def extent(self, *, but: Event | None = None) -> tuple[int, int]:
        """How many characters of the person's own words it holds, and how many of material, beside one message."""
        messages = [one for one in self.turn.messages if but is None or one.event.id != but.id]
        materials = (material for message in messages for material in message.materials)
        return sum(len(message.text) for message in messages), sum(len(one.text) for one in materials)

    def holds(self, message: str) -> bool:
        """Whether it is about a stored message."""
        return any(one.event.id == message for one in self.turn.messages)

    def has_acted(self) -> bool:
        """Whether something was done by what was said: that then stays said."""
        return self.begun and has_acted(self._log.of_turn(self.turn.id))

    def note(self, message: Event, instead: Event | None = None) -> None:
        """Write down that a stored message joins, or takes the place of another one, if the turn has begun. In the
        transaction that stores it; `take_in` is to follow when that stands."""
        if self.begun:
            replaced = {"instead": [instead.id]} if instead else {}
            payload = {"messages": [message.id], **replaced}
            self._log.append(Kind.TURN_JOINED, self.turn.place, payload, cause=message.id)

    def take_in(self, received: Received, instead: Event | None = None) -> None:
        """Be about this message, too."""
        self._last = self._clock.monotonic()
        if instead is None:
            self._becomes((*self.turn.messages, received))
        else:
            said = (received if one.event.id == instead.id else one for one in self.turn.messages)
            self._becomes(tuple(said), redone=True)

    def lose(self, message: Event) -> None:
        """Be no more about a message that was recalled."""
        self._becomes(tuple(one for one in self.turn.messages if one.event.id != message.id), redone=True)

    def _becomes(self, messages: tuple[Received, ...], *, redone: bool = False) -> None:
        # Until it begins, the newest message is what sets it off.
        cause = self.turn.cause if self.begun or not messages else messages[-1].event.id
        self.turn = replace(self.turn, messages=messages, cause=cause)
        if self.turn.gone:
            self._hurried.set()
        if self._task is not None and not self._cut and (redone or not self._calling):
            self._cut = True
            self._task.cancel()

    # Waiting

    def begin(self) -> None:
        """Wait for no more: the person has turned to something else."""
        self._hurried.set()

    async def gathered(self) -> None:
        """Wait until the person has said what they have to say."""
        while not self._hurried.is_set() and (left := self._left()) > _INSTANT:
            await _first_of(self._clock.sleep(left), self._hurried.wait())

    def _left(self) -> float:
        return min(self._last + PAUSE, self._first + LONGEST) - self._clock.monotonic()

    @property
    def unfetched(self) -> tuple[Received, ...]:
        """The messages with something that lies with the platform and was not waited for yet."""
        bringing = (one for one in self.turn.messages if one.remotes or one.attachments)
        return tuple(one for one in bringing if one.event.id not in self._fetched)

    def fetched(self, messages: Sequence[Received], found: Collection[Received]) -> None:
        """What was waited for has come, or is not waited for any more; `found` are the messages as they are now."""
        self._fetched |= {one.event.id for one in messages}
        by_event = {one.event.id: one for one in found}
        self.turn = replace(self.turn, messages=tuple(by_event.get(one.event.id, one) for one in self.turn.messages))

    # Working

    @contextmanager
    def current(self, *, calling: bool = False) -> Iterator[None]:
        """What is done within holds for the messages of this moment, and is cut off when they become others. With
        `calling` only when one of them does: what merely joins can wait.

        Raises:
            Outdated: it was cut off.
        """
        task = asyncio.current_task()
        self._task, self._calling, self._cut = task, calling, False
        try:
            yield
        except asyncio.CancelledError:
            # Somebody else may have cancelled the task, too, and that counts more.
            if not self._cut or task is None or task.uncancel() > 0:
                raise
            raise Outdated from None
        else:
            if self._cut and task is not None:
                task.uncancel()
                raise Outdated
        finally:
            self._task = None

    def settle(self) -> None:
        """What is being done has come to its end: nothing cuts it off any more."""
        self._task = None


async def within(work: Awaitable[tuple[Received, ...]], seconds: float, clock: Clock) -> tuple[Received, ...] | None:
    """What comes of some work, if it comes within so many seconds."""
    task = asyncio.ensure_future(work)
    await _first_of(task, clock.sleep(seconds))
    return None if task.cancelled() or not task.done() else task.result()


async def _first_of(*works: Awaitable[object]) -> None:
    """Wait for one of several, and drop the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            if not task.done():
                task.cancel()


class Bursts:
    """The turns that wait or work, in the order in which they came, by session."""

    def __init__(self) -> None:
        self._of: dict[str, list[Burst]] = {}

    def add(self, burst: Burst) -> None:
        self._of.setdefault(burst.turn.session.id, []).append(burst)

    def remove(self, burst: Burst) -> None:
        """It has ended."""
        burst.over = True
        session = burst.turn.session.id
        left = [one for one in self._of.get(session, ()) if one is not burst]
        if left:
            self._of[session] = left
        else:
            self._of.pop(session, None)

    def last(self, session: str) -> Burst | None:
        """The one that came last in a session: who joins any other would overtake it."""
        return next((burst for burst in reversed(self._of.get(session, ())) if not burst.turn.gone), None)

    def holding(self, message: Event) -> Burst | None:
        """The one that is about a stored message."""
        return next((one for one in self._of.get(message.place.session or "", ()) if one.holds(message.id)), None)

    def any_of(self, account: str, space: Space) -> bool:
        """Whether a turn of an account waits or works in a space, in any session."""
        turns = (burst.turn for bursts in self._of.values() for burst in bursts)
        return any(turn.account == account and turn.session.space == space for turn in turns)

    def begin(self, session: str | None = None) -> None:
        """No turn of a session, or of any, waits for more."""
        for name in (session,) if session is not None else tuple(self._of):
            for burst in self._of.get(name, ()):
                burst.begin()

    def surplus(self, persons: Collection[str]) -> int:
        """How many messages of these persons wait beyond one for each turn."""
        waiting = (
            burst
            for bursts in self._of.values()
            for burst in bursts
            if not burst.begun and burst.turn.reader.person in persons
        )
        return sum(len(burst.turn.messages) - 1 for burst in waiting if burst.turn.messages)


class Albums:
    """The albums of which something was taken in lately: of several pictures one has the words and the mention."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[tuple[str, Space, str, str], float] = {}

    def holds(self, inbound: Inbound) -> bool:
        """Whether a message belongs to one of them."""
        key = _album_of(inbound)
        return key is not None and self._clock.monotonic() - self._kept.get(key, -LONGEST) < LONGEST

    def keep(self, inbound: Inbound) -> None:
        """A message was taken in."""
        if (key := _album_of(inbound)) is not None:
            now = self._clock.monotonic()
            self._kept = {one: begun for one, begun in self._kept.items() if now - begun < LONGEST}
            self._kept.setdefault(key, now)


def _album_of(inbound: Inbound) -> tuple[str, Space, str, str] | None:
    return (inbound.channel, inbound.space, inbound.account, inbound.album) if inbound.album else None


def gathers(received: Received) -> bool:
    """Whether more is to be waited for behind a message: in a group behind pictures and files without words only."""
    if not received.gathers:
        return False
    space = received.event.place.space
    alone = bool(received.remotes or received.attachments) and not received.text.strip()
    return space is None or not space.is_group or received.album is not None or alone


def is_news(inbound: Inbound, versions: Iterable[Event]) -> bool:
    """Whether an edited message says something new, and was not just delivered once more. `versions`: what it was by
    now, newest first."""
    now, *earlier = versions
    said = content_of(inbound)
    if said == {name: now.payload.get(name) for name in said}:
        return False
    time = inbound.time.isoformat()
    return not any(
        one.payload.get("said_at") == time and said == {name: one.payload.get(name) for name in said} for one in earlier
    )
