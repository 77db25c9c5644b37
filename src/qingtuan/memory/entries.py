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
    return belief.current and is_begun(belief.data, today) and not is_over(belief, today)


def is_begun(data: BeliefData, today: date) -> bool:
    """Whether its first day has come. What somebody said to hold already has begun, also where it is still the day
    before: who said it may have been further east."""
    said = data.source is not None and not data.plan
    return said or data.since is None or data.since <= today


def is_over(belief: Belief, today: date) -> bool:
    """Whether its last day has passed, wherever its bullet stands."""
    return belief.data.until is not None and belief.data.until < today


def held_on(belief: Belief, day: date) -> bool:
    """Whether it held on `day`, as far as its days say. Without any day only what stands under 当前 holds."""
    return held_in(belief, day, day)


def held_in(belief: Belief, first: date, last: date) -> bool:
    """Whether it held on any of these days. What was dropped before it began held on none."""
    data = belief.data
    if data.since is None and data.until is None:
        return belief.current
    begun, over = data.since or date.min, data.until or date.max
    return begun <= over and begun <= last and first <= over


def has_held(belief: Belief, today: date) -> bool:
    """Whether it held at any time up to today, as far as its days say."""
    if not belief.current and belief.data.since is None and belief.data.until is None:
        return True  # somebody wrote it into 历史
    return held_in(belief, date.min, today)
