"""A clock on which sleepers sleep until a test moves it."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from qingtuan.clock import ManualClock


class StillClock(ManualClock):
    """While `held`, sleeping does not move it, and ends when it has been moved far enough."""

    def __init__(self, start: datetime) -> None:
        super().__init__(start)
        self.held = False
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        if not self.held:
            await super().sleep(seconds)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        sleeper = (self.monotonic() + seconds, woken)
        self._sleepers.append(sleeper)
        try:
            await woken
        finally:
            self._sleepers.remove(sleeper)

    def advance(self, delta: timedelta) -> None:
        super().advance(delta)
        for due, woken in self._sleepers:
            if due <= self.monotonic() and not woken.done():
                woken.set_result(None)

    async def move(self, seconds: float) -> None:
        """Move it, and let whoever wakes by that do what they woke for."""
        self.advance(timedelta(seconds=seconds))
        for _ in range(20):
            await asyncio.sleep(0)
