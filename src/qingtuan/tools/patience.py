"""The time that a call may take: it stands still while a person is asked something on behalf of the call."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 3600.0
"""Seconds that it stands still at most, in all: whatever asks has to end some day."""


class Allowance:
    """Seconds that are used up as they pass."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._still = LONGEST
        self._asking = 0
        self._since = asyncio.get_running_loop().time()
        self._changed = asyncio.Event()

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """No time is used up until the block is left."""
        self._turn(1)
        try:
            yield
        finally:
            self._turn(-1)

    def _turn(self, step: int) -> None:
        self._count()
        self._asking += step
        self._changed.set()

    def _count(self) -> None:
        now = asyncio.get_running_loop().time()
        passed, self._since = now - self._since, now
        if self._asking:
            self._still -= passed
        else:
            self._left -= passed

    async def over(self) -> None:
        """Return when all of it is used up."""
        while True:
            self._count()
            left = self._still if self._asking else self._left
            if left <= 0:
                return
            self._changed.clear()
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                continue
