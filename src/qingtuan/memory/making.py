"""From days to changes of pages: what becomes of an entry whose days are parted, and where new ones stand. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime

from qingtuan.memory.beliefs import Candidate, Standing
from qingtuan.memory.changes import Added, Annotated, Change, Ended, Recorded, Redated, Superseded
from qingtuan.memory.holdings import Entry
from qingtuan.memory.pieces import Piece
from qingtuan.memory.timeline import Term
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.edits import NewBelief

Days = Sequence[Term]
"""What is left of an entry, one term at least."""


def stands(term: Term, today: date) -> bool:
    """Whether something with these days stands under 当前: nothing else has ended it, and its last day is not past."""
    return not term.over and not term.dropped and term.last >= today


def leaves(left: Days, today: date) -> bool:
    """Whether an entry of which these days are left goes to history."""
    return not any(stands(term, today) for term in left)


def differs(piece: Piece, left: Days, today: date) -> bool:
    """Whether these days are other than those that an entry has now."""
    if [(one.first, one.last) for one in left] != [(piece.term.first, piece.term.last)]:
        return True
    return piece.current and piece.term.last >= today and leaves(left, today)


class Making:
    """Collects the changes of one decision. Numbers are given in the order in which entries are made."""

    def __init__(self, standing: Standing, candidate: Candidate, said: Callable[[Entry], datetime]) -> None:
        self.changes: list[Change] = []
        self.ended: list[int] = []
        """Entries that went to history."""
        self.again: list[tuple[int, str]] = []
        """Entries, and events in which they were said, too."""
        self._standing = standing
        self._candidate = candidate
        self._said = said
        self._next = standing.holdings.next_number(standing.floor)

    def number(self) -> int:
        """A number that nothing has yet."""
        self._next += 1
        return self._next - 1

    def add(self, path: str, new: NewBelief, term: Term) -> None:
        """A new entry where its days say: under 当前 or in 历史."""
        if stands(term, self._standing.today):
            self.changes.append(Added(path, new))
        else:
            self.changes.append(Recorded(path, new, term.last, self._above(path, term)))

    def supersede(self, piece: Piece, left: Days, new: NewBelief) -> None:
        """`new` in the place of an entry that goes to history."""
        number = self._ready(piece, left)
        self.changes.append(Superseded(piece.entry.path, number, new, left[0].last))
        self.ended.append(number)
        self._others(piece, left[1:])

    def part(self, piece: Piece, left: Days) -> None:
        """What is left of an entry, if that is not all of it."""
        entry, today = piece.entry, self._standing.today
        if entry.number is None or not differs(piece, left, today):
            return
        if not piece.current:
            self.changes.append(Redated(entry.path, entry.number, self.data(piece, left[0]), left[0].last))
            self._others(piece, left[1:])
        elif leaves(left, today):
            self._ready(piece, left)
            self._end(entry, left[0].last)
            self._others(piece, left[1:])
        else:
            # It stays where it is with the first of its days that lie ahead.
            kept = next(term for term in left if stands(term, today))
            self.changes.append(Annotated(entry.path, entry.number, self.data(piece, kept)))
            self._others(piece, [term for term in left if term is not kept])

    def retire(self, piece: Piece) -> None:
        """An entry whose last day has passed goes to history, with the days that it had."""
        entry = piece.entry
        if entry.number is not None:
            self.changes += brought_home(entry)
            self._end(entry, piece.term.last)

    def join(self, piece: Piece, before: Term) -> None:
        """An entry begins with the days before it; and ends with them if they were told later and have an end."""
        entry, data = piece.entry, piece.data
        if entry.number is None:
            return
        since, until = min(before.first, piece.term.first), data.until
        own_end = before.last == self._candidate.until and before.last >= piece.term.first
        if own_end and (before.said >= piece.term.said or until is None):
            until = self._candidate.until
        if (since, until) == (data.since, data.until):
            return
        if self._candidate.source is not None:
            self.again.append((entry.number, self._candidate.source))
        plan = data.plan if since == data.since else since > piece.term.said_on
        better = replace(data, since=since, until=until, plan=plan)
        if not piece.current and until is not None:
            self.changes.append(Redated(entry.path, entry.number, better, until))
        elif piece.current:
            self.changes.append(Annotated(entry.path, entry.number, better))
            if until is not None and until < self._standing.today:
                self._end(entry, until)

    def data(self, piece: Piece, term: Term) -> BeliefData:
        """The data of an entry for some of its days."""
        own_end = term.last == piece.term.last
        return replace(
            piece.data,
            since=None if term.first == date.min else term.first,
            until=None if term.last == date.max else term.last,
            plan=piece.data.plan or term.dropped or term.ahead,
            ended_by=piece.data.ended_by if own_end or not term.over else self._candidate.source,
        )

    def _end(self, entry: Entry, last: date) -> None:
        assert entry.number is not None
        self.changes.append(Ended(entry.path, entry.number, last, by=self._candidate.source))
        self.ended.append(entry.number)

    def _others(self, piece: Piece, terms: Days) -> None:
        """Further days of an entry, which are entries of their own."""
        for term in terms:
            if term.dropped:
                continue
            number = self.number()
            told = [event for event, again in piece.again if again.first <= term.first]
            self.again += [(number, event) for event, again in piece.again if term.first < again.first <= term.last]
            data = replace(self.data(piece, term), source=told[-1] if told else piece.source)
            self.add(piece.entry.path, NewBelief(number, piece.entry.belief.statement, data), term)
            self.ended += [number] if piece.current and not stands(term, self._standing.today) else []

    def _ready(self, piece: Piece, left: Days) -> int:
        """The number of an entry that goes to history, when its data stands on its page and its first day is right."""
        entry = piece.entry
        assert entry.number is not None
        if left[0].first != piece.term.first and not left[0].dropped:
            self.changes.append(Annotated(entry.path, entry.number, self.data(piece, left[0])))
        else:
            self.changes += brought_home(entry)
        return entry.number

    def _above(self, path: str, term: Term) -> frozenset[int]:
        """What of 历史 began on the same day and was said later: it stays above."""
        return frozenset(
            entry.number
            for entry in self._standing.holdings.on(path)
            if entry.number is not None
            and not entry.belief.current
            and entry.data.since == term.first
            and self._said(entry) > term.said
        )


def brought_home(entry: Entry) -> tuple[Change, ...]:
    """An entry whose data stayed behind on another page gets it on its own, before it is changed."""
    if not entry.lent or entry.number is None:
        return ()
    return (Annotated(entry.path, entry.number, entry.data),)
