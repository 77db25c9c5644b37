"""How long a line may lie open on which nobody asks anything, or nobody takes what is answered.

Whoever can reach the port can open lines and say nothing, or one letter a minute: the server itself waits for ever for
the rest of a request, and with all its lines taken it turns everybody away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from qingtuan.clock import SystemClock

_LOOK_SECONDS = 1.0
"""Between two looks."""


@dataclass(slots=True)
class Patience:
    """Knows since when each line waits. Lines are uvicorn's protocols; those that became WebSockets are left alone."""

    asking: float = 10.0
    """Seconds for a request to have come, head and all, or for the rest of one that was answered already."""
    taking: float = 60.0
    """Seconds in which whoever asked has to take something of the answer."""
    crowd: int = 250
    """With more lines than this, one that only waits has a second."""
    _asks: WeakKeyDictionary[Any, float] = field(default_factory=WeakKeyDictionary)
    _takes: WeakKeyDictionary[Any, tuple[int, float]] = field(default_factory=WeakKeyDictionary)

    async def watch(self, lines: Callable[[], Iterable[Any]]) -> None:
        """Cut off, until cancelled, whoever makes the others wait. By the time of the machine, as a network is."""
        clock = SystemClock()
        while True:
            await clock.sleep(_LOOK_SECONDS)
            for line in self.over([*lines()], clock.monotonic()):
                line.transport.abort()

    def over(self, lines: list[Any], now: float) -> list[Any]:
        """The lines whose time is over."""
        asking = self.asking if len(lines) <= self.crowd else min(self.asking, _LOOK_SECONDS)
        return [line for line in lines if self._asks_too_long(line, now, asking) or self._takes_too_long(line, now)]

    def _asks_too_long(self, line: Any, now: float, most: float) -> bool:
        if not hasattr(line, "cycle"):
            return False  # a WebSocket
        answering = line.cycle is not None and not line.cycle.response_complete
        # Between two requests uvicorn has a clock of its own, which stops at the first letter.
        if answering or line.timeout_keep_alive_task is not None:
            self._asks.pop(line, None)
            return False
        return now - self._asks.setdefault(line, now) >= most

    def _takes_too_long(self, line: Any, now: float) -> bool:
        if line.transport is None or not (left := line.transport.get_write_buffer_size()):
            self._takes.pop(line, None)
            return False
        before, since = self._takes.get(line, (-1, now))
        if left != before:
            self._takes[line] = (left, now)
            return False
        return now - since >= self.taking
