"""Days and who has the last word on them: terms of what was said to hold, cut by what was said later. Pure.

A statement speaks of the days from its first to its last. For each of them what was *said* last counts, so the order
in which statements arrive does not matter. Where something ends because something else was said, the day on which that
began belongs to both: on that day both were believed, one after the other. Only what was announced for a day to come
leaves the last day of the old to its eve. And who says how things are says nothing of how they will be: what was
announced before stands, until something is said of those days.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

_ONE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Term:
    """Days on which something holds, as somebody said."""

    first: date
    """`date.min` where nobody knows since when."""
    last: date
    """`date.max` where no end is known. Before `first` if it was dropped before it began: then it never held, and was
    dropped on that day."""
    said: datetime
    said_on: date
    """The day of that for the person."""
    over: bool = False
    """Whether it ended because something else was said since, so that the last day is not its own."""
    rest: bool = False
    """Whether it is what is left behind an interruption."""
    plain: bool = False
    """Whether it says how things are, and nothing of days to come."""

    @property
    def ahead(self) -> bool:
        """Whether it was to begin on a day to come."""
        return self.first > self.said_on

    @property
    def dropped(self) -> bool:
        """Whether it never held."""
        return self.last < self.first

    def holds(self, day: date) -> bool:
        return self.first <= day <= self.last

    def comes_before(self, same: Term, *, adjoins: bool) -> bool:
        """Whether it leads up to days of which the same is said: reaches into them or, with `adjoins`, up to them."""
        if self.first >= same.first or self.dropped:
            return False
        return self.last > same.first or (not self.over and self.last >= (same.first - _ONE if adjoins else same.first))

    def gives_way(self, other: Term) -> bool:
        """Whether the days that both speak of are the other one's."""
        if self.said <= other.said:
            return not self._announced_to(other)
        return other._announced_to(self)

    def _announced_to(self, other: Term) -> bool:
        """Whether it was announced for days of which the other one says nothing."""
        return other.plain and self.ahead and not self.rest and self.first > other.said_on


class Left:
    """What is left of the days of a statement, while it is told in order what was said later."""

    def __init__(self, term: Term) -> None:
        self.pieces: tuple[Term, ...] = (term,)
        self._term = term
        self._until: list[date] = []
        """The days on which it was said otherwise."""

    @property
    def told(self) -> tuple[Term, ...]:
        """What is to be told of it: the days that it held; else that it was dropped, or believed for a while. Nothing
        of what was to go on after an interruption and did not."""
        held = tuple(piece for piece in self.pieces if not piece.dropped)
        if held or self.pieces:
            return held or self.pieces[:1]
        return (_believed(self._term, min(self._until)),) if self._until and not self._term.rest else ()

    def cut(self, later: Term) -> None:
        """Something else was said."""
        if any(cut(piece, later) != (piece,) for piece in self.pieces):
            begun = later.first if later.first > self._term.first else later.said_on
            self._until.append(begun)
        self.pieces = tuple(left for piece in self.pieces for left in cut(piece, later))


def cut(earlier: Term, later: Term) -> tuple[Term, ...]:
    """What is left of `earlier` after `later` was said: itself, one or two pieces of it, or its being dropped."""
    if earlier.dropped or later.dropped or earlier.last < later.first or later.last < earlier.first:
        return (earlier,)
    behind = _behind(earlier, later)
    before = _before(earlier, later, whole=behind is None)
    return tuple(piece for piece in (before, behind) if piece is not None)


def _before(earlier: Term, later: Term, *, whole: bool) -> Term | None:
    at_once = later.first == later.said_on and not earlier.rest
    if earlier.first < later.first or (earlier.first == later.first and at_once):
        end = later.first - _ONE if later.ahead else later.first
        if earlier.last < end:
            return earlier
        return replace(earlier, last=min(earlier.last, end), over=not later.ahead)
    believed = _believed(earlier, later.said_on)
    return believed if not earlier.rest and (whole or not believed.dropped) else None


def _behind(earlier: Term, later: Term) -> Term | None:
    if later.last >= earlier.last:
        return None
    first = later.last if later.over else later.last + _ONE
    if earlier.over and first == earlier.last:
        return None  # that day belongs to what came after it
    return replace(earlier, first=max(first, earlier.first), rest=True)


def _believed(earlier: Term, until: date) -> Term:
    """What all of whose days are told otherwise since `until`: it was believed until then."""
    left = replace(earlier, last=min(until, earlier.last), over=True)
    if left.dropped and not earlier.ahead:
        return replace(left, first=left.last)  # days are counted somewhere else by now
    return left
