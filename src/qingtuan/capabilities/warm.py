"""The resident set: which capabilities are held warm, and which go cold for others. Pure but for being a set.

Warm means that the definition is in memory, code and all, ready to be handed to a runner. A cold one is stored all the
same, and can be called: it is read again then, and another may have to go.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from qingtuan.capabilities.ledger import Held


class Warm:
    """At most `most` of them. What is asked last stays longest, as far as its kind allows."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.evictions = 0
        """How often one went cold for another, since the start."""
        self.cold_starts = 0
        """How often one was called that was not warm."""
        self._held: dict[str, Held] = {}
        """Least recently used first."""

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, name: str) -> bool:
        return name in self._held

    @property
    def names(self) -> list[str]:
        """Least recently used first."""
        return list(self._held)

    def take(self, name: str, read: Callable[[], Held | None], now: datetime) -> tuple[Held | None, bool]:
        """The capability for a call, and whether it was cold. It is warm from now on."""
        held = self._held.get(name)
        if held is not None and not held.over(now):
            self.put(held, now)
            return held, False
        held = read()
        if held is not None:
            self.cold_starts += 1
            self.put(held, now)
        return held, True

    def put(self, held: Held, now: datetime) -> None:
        """Make it warm, as the most recently used one. Others leave if there are too many: those whose time is over,
        then ephemeral ones, then normal ones, then persistent ones; of each, the least recently used first."""
        self._held.pop(held.name, None)
        self._held[held.name] = held
        for name in [name for name, other in self._held.items() if other.over(now) and name != held.name]:
            self._evict(name)
        while len(self._held) > self.most:
            self._evict(min((name for name in self._held if name != held.name), key=self._rank, default=held.name))

    def drop(self, name: str) -> None:
        """Forget what is held of one: it changed, or is gone."""
        self._held.pop(name, None)

    def _rank(self, name: str) -> int:
        # `min` takes the first of equals, and that is the least recently used.
        return _ORDER[self._held[name].definition.kind]

    def _evict(self, name: str) -> None:
        del self._held[name]
        self.evictions += 1


_ORDER = {"ephemeral": 0, "normal": 1, "persistent": 2}
