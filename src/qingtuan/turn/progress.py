"""What can be seen of a turn while it works: for channels that stream. Nothing here is state; a listener that
comes late or goes away loses the show and nothing else."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from qingtuan.events.log import Event
from qingtuan.models.chat import TakenBack, TextDelta


@dataclass(frozen=True, slots=True)
class ToolRuns:
    """A tool call began, or tells how far it has come."""

    name: str
    line: str = ""
    """What it tells; foreign."""


@dataclass(frozen=True, slots=True)
class MessageOut:
    """A message was put into the outbox: a reply, a question or a notice."""

    message: Event


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is over."""

    turn: str
    outcome: Outcome


Outcome = Literal["replied", "waiting", "unreachable", "failed", "refused", "stopped", "recalled"]
"""How a turn ended: with a reply; with a question that waits for a yes; no model answered; anything else that went
wrong; not allowed (any more); stopped by its person; nothing left to answer, since all that was said was recalled."""

Progress = TextDelta | TakenBack | ToolRuns | MessageOut | TurnEnded


class Stage:
    """Passes progress of turns to whoever watches their session."""

    def __init__(self) -> None:
        self._watchers: dict[str, list[asyncio.Queue[Progress]]] = {}
        self._streaming: Counter[str] = Counter()

    def show(self, session: str, progress: Progress) -> None:
        """Tell everybody who watches `session`."""
        for queue in self._watchers.get(session, ()):
            queue.put_nowait(progress)

    def streams(self, session: str) -> bool:
        """Whether a person sees the pieces of an answer as they come: then it is under way for them from the first."""
        return self._streaming[session] > 0

    @contextmanager
    def watch(self, session: str, *, streaming: bool = False) -> Iterator[AsyncIterator[Progress]]:
        """Progress of a session from now on, until the block is left. `streaming`: the text that comes is shown to a
        person at once, piece by piece."""
        queue: asyncio.Queue[Progress] = asyncio.Queue()
        self._watchers.setdefault(session, []).append(queue)
        self._streaming[session] += streaming
        try:
            yield _endless(queue)
        finally:
            self._watchers[session].remove(queue)
            self._streaming -= Counter({session: int(streaming)})
            if not self._watchers[session]:
                del self._watchers[session]


async def _endless(queue: asyncio.Queue[Progress]) -> AsyncIterator[Progress]:
    while True:
        yield await queue.get()
