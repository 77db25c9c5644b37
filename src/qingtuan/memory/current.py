"""What of one scope holds on a day, as far as one sight shows it: what the memory text of a request is chosen from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from qingtuan.identity.scopes import Scope
from qingtuan.memory.entries import is_current
from qingtuan.memory.known import Known


@dataclass(frozen=True, slots=True)
class Current:
    """Made once for many requests: a scope may hold thousands of entries, of which a request takes a few."""

    scope: Scope
    entries: tuple[Known, ...]
    """All of them, by page and place on the page."""
    pinned: tuple[Known, ...]
    profile: tuple[Known, ...]
    """What is not pinned of the pages that say who somebody is."""
    rules: tuple[Known, ...]
    """What is not pinned of the rules."""
    freshest: tuple[Known, ...]
    """All of them, the latest first; of one day, as they stand on the pages."""

    @classmethod
    def on(cls, scope: Scope, entries: Iterable[Known], day: date) -> Current:
        """What of `entries` of one scope holds on `day`."""
        holding = tuple(known for known in entries if is_current(known.belief, day))
        pinned = tuple(known for known in holding if known.belief.data.pinned)
        loose = [known for known in holding if not known.belief.data.pinned]
        return cls(
            scope=scope,
            entries=holding,
            pinned=pinned,
            profile=tuple(known for known in loose if known.type == "profile"),
            rules=tuple(known for known in loose if known.type == "rule"),
            freshest=tuple(sorted(holding, key=begun, reverse=True)),
        )


def begun(known: Known) -> date:
    """The day from which an entry holds: the later, the fresher."""
    return known.belief.data.since or date.min
