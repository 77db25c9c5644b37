"""Entries as statements with their days: what each says, when that was said and said again, and what ended it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from qingtuan.clock import day_of
from qingtuan.memory.beliefs import Standing
from qingtuan.memory.holdings import Entry
from qingtuan.memory.timeline import Term
from qingtuan.memory.wiki.data_comment import BeliefData

_ONE = timedelta(days=1)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Piece:
    """An entry that bears on a statement, and the days for which it holds."""

    entry: Entry
    term: Term
    ended: datetime | None
    """When that was said by which it ended."""
    taken_back: bool
    """Whether it ended without anything else taking its place."""
    source: str | None
    """The event in which it was said first."""
    again: tuple[tuple[str, Term], ...]
    """The events in which somebody said it again, and its days from then on."""

    @property
    def current(self) -> bool:
        return self.entry.belief.current

    @property
    def data(self) -> BeliefData:
        return self.entry.data

    @property
    def undated(self) -> bool:
        """Whether it is history of which nobody knows the days."""
        return not self.current and (self.data.since is None or self.data.until is None)

    def stood(self, moment: datetime) -> bool:
        """Whether nothing had ended it by then."""
        return self.current or (self.ended is not None and self.ended > moment)

    def held(self, day: date, moment: datetime) -> bool:
        """Whether by what was known at a moment it held on a day."""
        since_ended = not self.current and self.data.ended_by is not None and self.term.first <= day
        return self.stood(moment) and (self.term.holds(day) or since_ended)


class Pieces:
    """Makes pieces of the entries of one question. `sources` are the events in which its statements were made."""

    def __init__(self, standing: Standing, family: Sequence[Entry], sources: Collection[str | None]) -> None:
        self._standing = standing
        self._family = family
        self._sources = sources

    def of(self, entry: Entry) -> Piece:
        """The piece of an entry."""
        data, again = entry.data, self._again(entry)
        named = (self.said(entry), data.source)
        # The event that an entry names may have come first, and have been said later than another.
        said, source = min([named, *(one for one in again if self._day(one[0]) == data.since)], key=lambda one: one[0])
        said_on = self._day(said)
        over = not entry.belief.current and self._taken_over(entry)
        first = data.since or date.min
        if first > said_on and data.source is not None and not data.plan:
            first = said_on  # it had begun: days are counted somewhere else by now, or the clock was wrong
        term = Term(
            first=first,
            last=data.until or date.max,
            said=said,
            said_on=said_on,
            over=over,
            rest=self._is_rest(entry),
            plain=first <= said_on and (over or self._is_open(entry)),
        )
        by_hand = data.ended_by is None and data.source is None
        taken_back = not entry.belief.current and (by_hand or data.ended_by not in (None, *self._sources))
        later = tuple(
            (event, replace(term, first=day, said=when, said_on=day, plain=True))
            for when, event in sorted([named, *again], key=lambda one: one[0])
            if when > said and event is not None and term.holds(day := self._day(when))
        )
        return Piece(entry, term, self._standing.ended_of(entry.data), taken_back, source, later)

    def _taken_over(self, entry: Entry) -> bool:
        """Whether it ended because something else was said, and not by itself before."""
        until, ended = entry.data.until, self._standing.ended_of(entry.data)
        if entry.data.ended_by is None or until is None or ended is None:
            return False
        begun = [(other.data.since, other.data.source) for other in self._family if other != entry]
        if (until + _ONE, entry.data.ended_by) in begun:
            return False  # that was announced, and it ended on the eve
        return self._day(ended) <= until or any(since == until for since, _ in begun)

    def _is_open(self, entry: Entry) -> bool:
        """Whether nobody named an end: it has none, or ends on the eve of something that was announced."""
        until = entry.data.until
        return until is None or any(other.data.since == until + _ONE for other in self._family)

    def _is_rest(self, entry: Entry) -> bool:
        """Whether it is what was left of a statement behind an interruption."""
        told, since = self._events(entry), entry.data.since or date.min
        return any(
            other.belief.statement == entry.belief.statement
            and (other.data.since or date.min) < since
            and not told.isdisjoint(self._events(other))
            for other in self._family
        )

    def _events(self, entry: Entry) -> set[str]:
        """The events in which an entry was said."""
        again = self._standing.again(entry.number) if entry.number is not None else ()
        return {*again, *([entry.data.source] if entry.data.source else [])}

    def said(self, entry: Entry) -> datetime:
        """When an entry was said: by its event; what was written by hand, when that was seen; else by its first day,
        or the day of its page."""
        standing, data = self._standing, entry.data
        if data.how == "hand" and (edited := standing.edited(entry.path)) is not None:
            said = standing.said(data.source) if data.source else None
            return max(said, edited) if said else edited
        return standing.said_of(data, standing.holdings.pages[entry.path].updated)

    def _day(self, moment: datetime) -> date:
        return date.min if moment == _LONG_AGO else day_of(moment, self._standing.zone)

    def _again(self, entry: Entry) -> list[tuple[datetime, str]]:
        """When an entry was said again, and in which events."""
        events = self._standing.again(entry.number) if entry.number is not None else ()
        return [(said, event) for event in events if (said := self._standing.said(event)) is not None]
