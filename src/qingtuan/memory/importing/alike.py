"""Which entry may say the same as a line, in other words: a hint for whoever looks at an import. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from qingtuan.memory.forgetting import terms_of
from qingtuan.memory.holdings import Entry
from qingtuan.memory.likeness import fold

_SHARED = 0.6
"""Share of the words of both (pairs of Chinese characters) that both have: twice the common ones by all of them."""
_LEAST = 2
"""Common words: one alone says nothing."""


class Alike:
    """What stands, by its words."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries: list[tuple[Entry, int]] = []
        self._by_term: dict[str, list[int]] = {}
        for entry in entries:
            found = terms_of(fold(entry.belief.statement))
            for term in found:
                self._by_term.setdefault(term, []).append(len(self._entries))
            self._entries.append((entry, len(found)))

    def to(self, text: str) -> Entry | None:
        """The entry that has most in common with a line, if it is much; None otherwise. The first of equals."""
        wanted = terms_of(fold(text))
        common = Counter(at for term in wanted for at in self._by_term.get(term, ()))
        best: tuple[float, int] | None = None
        for at, count in common.items():
            share = 2 * count / (len(wanted) + self._entries[at][1])
            if count >= _LEAST and share >= _SHARED and (best is None or (share, -at) > best):
                best = share, -at
        return self._entries[-best[1]][0] if best is not None else None
