"""A channel whose other end is a program that is connected right now: a terminal, an HTTP request.

A message goes to whoever set it off, if they still wait for it; else to everybody who attends its chat; else it
waits in the outbox until somebody attends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from qingtuan.channels.base import Delivery, Part, Waits
from qingtuan.channels.pace import UNPACED, Pace
from qingtuan.events.log import Event, Log
from qingtuan.messages import Outbound, Space
from qingtuan.models.chat import TakenBack, TextDelta
from qingtuan.turn.progress import ToolRuns

_HANDOVER_SECONDS = 10.0
"""A receiver that has not dealt with a message by then is stuck; the chat's other messages go on."""


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """Everything that had waited for somebody to attend has been given."""


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing more will come of what was said."""


Piece = Outbound | TextDelta | TakenBack | ToolRuns | CaughtUp | Over


class Mailbox:
    """What one connected program is given, in order: messages, and what can be seen of the work on them."""

    def __init__(self, *, held: bool = False) -> None:
        self.held = held
        """Whether no message is to come yet: whoever reads here could not pass it on."""
        self._pieces: asyncio.Queue[tuple[Piece, asyncio.Future[bool] | None]] = asyncio.Queue()
        self._handed: set[asyncio.Future[bool]] = set()
        self._current: asyncio.Future[bool] | None = None

    def put(self, piece: Piece) -> None:
        """Add something whose receipt nobody needs to know of."""
        self._pieces.put_nowait((piece, None))

    async def hand_over(self, message: Outbound) -> bool:
        """Add a message and wait until the receiver has dealt with it; False if it went away first."""
        taken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._handed.add(taken)
        self._pieces.put_nowait((message, taken))
        try:
            return await taken
        finally:
            self._handed.discard(taken)

    async def take(self) -> Piece:
        """The next piece. Asking for it says that the one before it has been shown."""
        if self._current is not None and not self._current.done():
            self._current.set_result(True)
        piece, self._current = await self._pieces.get()
        return piece

    def close(self) -> None:
        """Nobody takes anything any more."""
        for taken in self._handed:
            if not taken.done():
                taken.set_result(False)


class ConnectedChannel:
    """Hands messages to the programs that are connected."""

    def __init__(self, name: str, log: Log) -> None:
        self._name = name
        self._log = log
        self._expecting: list[tuple[Callable[[Event], bool], Mailbox]] = []
        self._attending: dict[Space, list[tuple[Mailbox, str | None]]] = {}

    @property
    def name(self) -> str:
        return self._name

    @contextmanager
    def expecting(self, owns: Callable[[Event], bool]) -> Iterator[Mailbox]:
        """A mailbox for the messages that `owns` recognises, until the block is left. It is held at first: while it is,
        they wait, and go to nobody else."""
        entry = (owns, Mailbox(held=True))
        self._expecting.append(entry)
        try:
            yield entry[1]
        finally:
            self._expecting.remove(entry)
            entry[1].close()

    @contextmanager
    def attending(self, space: Space, session: str | None = None) -> Iterator[Mailbox]:
        """A mailbox for the messages of a chat, or of one session of it, that nobody expects. Until the block is
        left."""
        entry = (Mailbox(), session)
        self._attending.setdefault(space, []).append(entry)
        try:
            yield entry[0]
        finally:
            self._attending[space].remove(entry)
            entry[0].close()

    @property
    def pace(self) -> Pace:
        return UNPACED

    def waits(self, message: Outbound) -> Waits | None:
        return None if self._receivers(message) else Waits.NOBODY

    def parts(self, message: Outbound) -> list[Part]:
        """One: the other end shows it as it is."""
        return [Part(message.text)]

    async def send(self, message: Outbound, part: Part) -> Delivery:  # noqa: ARG002 (the part is all of it)
        *others, newest = self._receivers(message)
        for mailbox in others:
            mailbox.put(message)
        try:
            async with asyncio.timeout(_HANDOVER_SECONDS):
                taken = await newest.hand_over(message)
        except TimeoutError:
            return Delivery("unknown", detail="the receiver is stuck")
        return Delivery("sent") if taken else Delivery("unknown", detail="the receiver went away")

    def _receivers(self, message: Outbound) -> list[Mailbox]:
        event = self._log.get(message.id)
        if event is None:
            return []
        if expecting := [mailbox for owns, mailbox in self._expecting if owns(event)]:
            return [mailbox for mailbox in expecting if not mailbox.held]
        attending = self._attending.get(message.space, ())
        return [mailbox for mailbox, session in attending if session in (None, event.place.session)]
