"""What holds on which day. Pure."""

from __future__ import annotations

from datetime import date

from qingtuan.memory.holdings import Pages
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.page import Belief


def pages_of(pages: Pages, number: int) -> tuple[str, ...]:
    """The paths of all pages that hold anything of this number: what a purge has to go through."""
    return tuple(path for path in sorted(pages) if number in pages[path].numbers)


def is_current(belief: Belief, today: date) -> bool:
    """Whether it holds today: under 当前, begun, and not past its last day."""
    return belief.current and _holds(belief.data, today)


def is_over(belief: Belief, today: date) -> bool:
    """Whether its last day has passed, wherever its bullet stands."""
    return belief.data.until is not None and belief.data.until < today


def held_on(belief: Belief, day: date) -> bool:
    """Whether it held on `day`, as far as its days say. Without any day only what stands under 当前 holds."""
    known = belief.data.since is not None or belief.data.until is not None
    return _holds(belief.data, day) if known else belief.current


def _holds(data: BeliefData, day: date) -> bool:
    return (data.since is None or data.since <= day) and (data.until is None or day <= data.until)
