"""How the memory stands, for the owner: how much there is, what finds it, what is wrong with it. Numbers alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from qingtuan.identity.privacy import sight
from qingtuan.identity.scopes import Reader, Role, Scope
from qingtuan.indexes.base import Extent, Health
from qingtuan.indexes.indexes import Index
from qingtuan.memory.library import Library
from qingtuan.memory.recall import Recall
from qingtuan.memory.wiki.history import History
from qingtuan.memory.wiki.listing import Problem


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """What `/记忆状态` tells."""

    counts: Mapping[Scope, Mapping[str, int]]
    """Entries that hold today, by scope and kind, as far as the reader may be told."""
    health: Health
    extent: Extent
    """Of the index of all that is believed."""
    problems: tuple[Problem, ...]
    """Pages that cannot be read."""
    committed: datetime | None
    """When the newest commit was made; None if there is none."""
    chars: int
    """What every request here carries of the memory."""
    budget: int
    """What it may carry at most."""


class Overview:
    """Looks at one memory."""

    def __init__(
        self, library: Library, index: Index, health: Callable[[], Health], history: History, recall: Recall
    ) -> None:
        self._library = library
        self._index = index
        self._health = health
        self._history = history
        self._recall = recall

    async def status(self, reader: Reader, day: date) -> MemoryStatus:
        """How it stands on a day. Raises `StorageFailed`."""
        injection = await self._recall.injection(reader, "")
        newest = await self._history.newest(limit=1)
        return MemoryStatus(
            counts=self._library.counts(sight(reader), day),
            health=self._health(),
            extent=await asyncio.to_thread(self._index.extent),
            problems=tuple(self._library.problems()) if reader.role is Role.OWNER else (),
            committed=newest[0].time if newest else None,
            chars=injection.chars,
            budget=self._recall.budget,
        )

    def by_hand(self, reader: Reader, day: date) -> Mapping[Scope, int]:
        """How many entries people wrote themselves, by scope, as far as the reader may be told."""
        found = self._library.counts(sight(reader), day, by_hand=True)
        return {scope: counted.total() for scope, counted in found.items()}
