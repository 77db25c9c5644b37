"""How much and how often callers may ask."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from qingtuan.clock import Clock

MINUTE = 60.0
_MOST_KNOWN = 4096
"""Names that are counted at the same time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """For all callers alike."""

    body_bytes: int
    """Of one request."""
    a_minute: int
    """Requests of one key."""
    at_once: int
    """Requests of one key that are open at the same time."""
    wrong_a_minute: int = 20
    """Wrong keys from one address. Right ones pass all the same: nobody behind the same address can lock them
    out."""
    body_seconds: float = 30.0
    """In which a request has to be there."""


class Window:
    """Counts, by name, how often something happened within the last minute."""

    def __init__(self, most: int, clock: Clock) -> None:
        self._most = most
        self._clock = clock
        self._times: dict[str, deque[float]] = {}

    def full(self, name: str) -> bool:
        """Whether it has happened as often as it may."""
        return len(self._lately(name)) >= self._most

    def count(self, name: str) -> None:
        """It happened."""
        if len(self._times) >= _MOST_KNOWN:
            self._times = {one: times for one in [*self._times] if (times := self._lately(one))}
        if len(self._times) >= _MOST_KNOWN:
            self._times.clear()
        times = self._times.setdefault(name, deque(maxlen=self._most))
        times.append(self._clock.monotonic())

    def _lately(self, name: str) -> deque[float]:
        times = self._times.get(name, deque())
        while times and self._clock.monotonic() - times[0] >= MINUTE:
            times.popleft()
        return times
