"""Events that came over a connection and are not dealt with yet: few at a time. When there are enough, nothing more is
read, so that what floods us waits in the connection and then at the other end.

While an answer is waited for, reading goes on for a while: it comes over the same connection, behind the events, and
who deals with an event may be the one who waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

MOST = 500
"""Events that wait before reading stops."""
LARGEST = 16 * 1024 * 1024
"""Characters of their frames."""
_FURTHER = 8
"""How many times as much is read while an answer is waited for."""


class Backlog:
    """What waits, in the order in which it came."""

    def __init__(self, expecting: Callable[[], bool], most: int = MOST, largest: int = LARGEST) -> None:
        """`expecting`: whether an answer is waited for."""
        self._expecting = expecting
        self._most, self._largest = most, largest
        self._events: deque[tuple[Mapping[str, Any], int]] = deque()
        self._size = 0
        self._open = 0
        """How many are not dealt with: those that wait, and the one that is in hand."""
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return self._open

    def put(self, event: Mapping[str, Any], size: int) -> None:
        """One more. To be followed by `room`."""
        self._events.append((event, size))
        self._size += size
        self._open += 1
        self.changed()

    async def take(self) -> tuple[Mapping[str, Any], int]:
        """The next one and its size, when there is one; to be given to `done`."""
        await self._until(lambda: bool(self._events))
        return self._events.popleft()

    def done(self, size: int) -> None:
        """One was dealt with."""
        self._size -= size
        self._open -= 1
        self.changed()

    async def room(self) -> None:
        """Wait until one more may be read."""
        await self._until(lambda: self._fits(_FURTHER if self._expecting() else 1))

    async def empty(self) -> None:
        """Wait until all were dealt with."""
        await self._until(lambda: self._open == 0)

    def changed(self) -> None:
        """Look again: one came or went, or an answer is waited for now."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _fits(self, times: int) -> bool:
        return self._open < self._most * times and self._size < self._largest * times

    async def _until(self, true: Callable[[], bool]) -> None:
        while not true():
            await self._changed.wait()
