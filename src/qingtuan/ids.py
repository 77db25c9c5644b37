"""Ids of events, turns, sessions and pages: ULIDs, monotonic within a process (contracts.md, Ids)."""

from __future__ import annotations

from datetime import datetime

from ulid import ULID, LaxMonotonicPolicy, ULIDGenerator

from qingtuan.clock import Clock


class Ids:
    """Makes ids that sort by time; later ids of one maker are always greater."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._latest = 0
        self._maker = ULIDGenerator(clock=self._milliseconds, policy=LaxMonotonicPolicy())

    def _milliseconds(self) -> int:
        # A machine's clock may be set back while we run; ids must not follow it.
        self._latest = max(self._latest, int(self._clock.now().timestamp() * 1000))
        return self._latest

    def _ulid(self) -> str:
        return str(self._maker.generate())

    def event(self) -> str:
        """`evt_<ULID>`."""
        return f"evt_{self._ulid()}"

    def turn(self) -> str:
        """`turn_<ULID>`."""
        return f"turn_{self._ulid()}"

    def session(self) -> str:
        """`s_<ULID>`."""
        return f"s_{self._ulid()}"

    def page(self) -> str:
        """A bare ULID, for the `id` of a wiki page."""
        return self._ulid()


def first_event_id(moment: datetime) -> str:
    """The least id that an event of this moment can have: ids sort by time, and so find events by it."""
    millis = int(moment.timestamp() * 1000)
    return f"evt_{ULID.from_bytes(millis.to_bytes(6) + bytes(10))}"
