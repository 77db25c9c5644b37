"""The only source of time and of waiting, so that tests can own both."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Protocol


class Clock(Protocol):
    """Time as the product sees it."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC, to the millisecond."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; only differences mean anything."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds` (0 or more)."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        moment = datetime.now(UTC)
        return moment.replace(microsecond=moment.microsecond // 1000 * 1000)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class ManualClock:
    """A clock that stands still until it is moved; sleeping moves it."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError("a clock starts at an aware time")
        self._now = start.astimezone(UTC)
        self._elapsed = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        self.advance(timedelta(seconds=seconds))
        await asyncio.sleep(0)

    def advance(self, delta: timedelta) -> None:
        """Move the clock forward by `delta`."""
        self._now += delta
        self._elapsed += delta.total_seconds()


def day_of(moment: datetime, zone: tzinfo) -> date:
    """The calendar day of `moment` for a person in `zone`: days in pages are of the person's zone."""
    return moment.astimezone(zone).date()
