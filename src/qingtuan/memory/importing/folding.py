"""What the things that were found would change in the memory of one person, one after the other. Pure.

Each statement is decided on as if it were said on its day (`deciding.decide`), on pages that hold what was decided
before. So what was known later than a statement is never displaced by it, however late it comes in. A statement whose
day nobody knows displaces nothing that stands: that is for its person to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from typing import Literal

from qingtuan.memory.beliefs import Candidate, Review, Same, Standing, Write
from qingtuan.memory.changes import Added, Change, Created, Recorded, Superseded, apply
from qingtuan.memory.deciding import decide
from qingtuan.memory.holdings import Entry, Holdings
from qingtuan.memory.importing.alike import Alike
from qingtuan.memory.importing.found import Statement
from qingtuan.memory.likeness import canonical_predicate, fold, normalise_text
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.edits import NewBelief
from qingtuan.memory.wiki.one_line import one_line
from qingtuan.memory.wiki.page import Page
from qingtuan.memory.writing import language_of

Outcome = Literal["new", "same", "replaces", "past", "ends", "undecided", "unwritable"]
"""What becomes of a statement: an entry; nothing, it stands there; an entry in the place of others; an entry of
history; an entry that stands there is over; nothing, since nobody knows what is newer; nothing, its page cannot be
read."""

_LONG_AGO = datetime(1, 1, 2)


@dataclass(frozen=True, slots=True)
class Folded:
    """What becomes of one statement."""

    statement: Statement
    outcome: Outcome
    path: str = ""
    title: str = ""
    """Of the page."""
    line: str = ""
    """What the page will say, in history with the days."""
    against: tuple[str, ...] = ()
    """What stands there and gives way to it, is ended by it, or stands in its way: `#3 优先三楼靠窗`."""
    number: int | None = None
    """Of the entry that says it, or that is over by it."""
    like: str = ""
    """What stands there and may say the same as a new entry, or its contrary, in other words: `#3 不吃香菜`."""


@dataclass
class Fold:
    """Statements put one after the other onto the pages of a scope."""

    standing: Standing
    """As it is before. Its holdings are copied and not changed."""
    page_ids: Callable[[], str]
    sources: Sequence[str]
    """The id of the event that stands for each statement, by its place."""
    times: dict[str, datetime] = field(default_factory=dict)
    """When each of these was said."""
    seen: Collection[str] = ()
    """Digests of statements that were brought in before: whatever became of them since, they are no news."""

    def __post_init__(self) -> None:
        self._before = Holdings(self.standing.holdings.pages)
        self._holdings = Holdings(self.standing.holdings.pages)
        self._pending: list[Change] = []
        self._floor = self.standing.floor
        self._told: dict[str, Folded] = {}
        self._predicates = {
            fold(entry.data.predicate) for entry in self._before.entries if entry.data.predicate is not None
        }
        self._alike = Alike(entry for entry in self._before.entries if entry.belief.current)
        self._texts: set[str] = set()
        """What was decided on in this fold."""
        self._over: dict[str, list[Entry]] = {}
        """The entries of history that were there before, by what they say."""
        for entry in self._before.entries:
            if not entry.belief.current:
                self._over.setdefault(normalise_text(entry.belief.statement), []).append(entry)
        self.touched: set[str] = set()

    def run(self, statements: Sequence[Statement]) -> tuple[list[Folded], dict[str, Page]]:
        """What becomes of each, in the given order, and the pages that change."""
        candidates = [self._candidate(at, statement) for at, statement in enumerate(statements)]
        for candidate in candidates:
            self.times[candidate.source or ""] = candidate.said_at
        done: dict[int, Folded] = {}
        for at in self._order(statements, candidates):
            done[at] = self._take(statements[at], candidates[at])
        self._flush()
        pages = {path: self._holdings.pages[path] for path in self.touched}
        return [self._in_the_end(done[at]) for at in range(len(statements))], pages

    def _order(self, statements: Sequence[Statement], candidates: Sequence[Candidate]) -> list[int]:
        """First what is older than what stands, from the newest to the oldest: so each ends when the next began. Then
        the rest from the oldest to the newest: so each displaces the one before."""
        old = {at for at, candidate in enumerate(candidates) if candidate.predicate and self._is_overtaken(candidate)}
        every = sorted(
            range(len(statements)), key=lambda at: (candidates[at].said_at, candidates[at].until is None, at)
        )
        return [*(at for at in reversed(every) if at in old), *(at for at in every if at not in old)]

    def _is_overtaken(self, candidate: Candidate) -> bool:
        decision = decide(candidate, self._standing(self._before))
        return isinstance(decision, Write) and decision.late

    def _in_the_end(self, folded: Folded) -> Folded:
        """What became of it when all was done: a later statement of the same source may have displaced it."""
        entry = self._holdings.find(folded.number) if folded.number is not None else None
        if entry is None or folded.outcome not in ("new", "replaces"):
            return folded
        outcome: Outcome = folded.outcome if entry.belief.current else "past"
        return replace(folded, outcome=outcome, line=entry.belief.text)

    # One statement

    def _candidate(self, at: int, statement: Statement) -> Candidate:
        label = statement.label if statement.single or self._is_known(statement.label) else ""
        return Candidate(
            text=one_line(statement.text),
            said_at=self._said_on(statement),
            kind=statement.kind,
            topic=statement.topic or None,
            subject=statement.subject,
            predicate=label or None,
            value=statement.value or None if label else None,
            since=statement.since,
            until=self._end(statement),
            source=self.sources[at],
            how="inferred" if statement.inferred else "manual",
            via="import",
            many=statement.many,
        )

    def _is_known(self, label: str) -> bool:
        """Whether the memory knows a label as a question with an answer."""
        predicate = canonical_predicate(label, self.standing.aliases)
        return predicate is not None and fold(predicate) in self._predicates

    def _end(self, statement: Statement) -> date | None:
        """The last day on which it held. What the source has as history is over, also if it ended only today."""
        until, eve = statement.until, self.standing.today - timedelta(days=1)
        return min(until or eve, eve) if statement.past else until

    def _said_on(self, statement: Statement) -> datetime:
        """When it counts as said: as early as it may have been. What is over was said before it ended, or it would end
        what was said after that."""
        said_at = statement.moment or self._morning(statement.when.first or statement.when.last)
        end = self._end(statement)
        return min(said_at, self._morning(end)) if end and end < self.standing.today else said_at

    def _morning(self, day: date) -> datetime:
        """The beginning of a day: it never comes after what somebody said on it."""
        return datetime.combine(day, time(), self.standing.zone)

    def _take(self, statement: Statement, candidate: Candidate) -> Folded:
        if statement.digest in self.seen:
            return Folded(statement, "same")
        key = f"{fold(statement.subject)}\0{normalise_text(statement.text)}\0{candidate.until}"
        if (told := self._told.get(key)) is not None and told.outcome != "undecided":
            return replace(told, statement=statement, outcome="same", against=())
        folded = self._decided(statement, candidate)
        self._told[key] = folded
        return folded

    def _decided(self, statement: Statement, candidate: Candidate) -> Folded:
        if statement.when.first is None and not statement.past and statement.moment is None:
            stands = self._in_the_way(candidate)
            if stands is not None:
                return Folded(statement, "undecided", against=stands)
        if (over := self._known_as_over(statement, candidate)) is not None:
            return replace(self._folded(statement, "same", over.path, over.belief.text), number=over.number)
        key = normalise_text(candidate.text)
        if candidate.predicate or key in self._texts:
            self._flush()  # what waits may be about the same
        self._texts.add(key)
        decision = decide(candidate, self._standing(self._holdings, statement.text))
        match decision:
            case Same():
                entry = self._entry(decision)
                same = self._folded(statement, "same", decision.path, entry.belief.text if entry else "")
                return replace(same, number=decision.number)
            case Review():
                against = tuple(self._named(number) for number in decision.against)
                return Folded(statement, "undecided" if against else "unwritable", against=against)
            case Write():
                return self._written(statement, candidate, decision)

    def _known_as_over(self, statement: Statement, candidate: Candidate) -> Entry | None:
        """The entry of history that says just this: what is over twice is over once, and what was said somewhere
        within a stretch of days may be what was believed then."""
        over = candidate.until is not None and candidate.until < self.standing.today
        first, last = statement.when.first, statement.when.last
        for entry in self._over.get(normalise_text(candidate.text), ()):
            until = entry.data.until
            # What ended today in the source counts as ended yesterday, until it is tomorrow.
            if over and until and candidate.until and abs((until - candidate.until).days) <= 1:
                return entry
            begun = entry.data.since or date.min
            if not over and first and not statement.when.exact and begun <= last and (until or date.max) >= first:
                return entry
        return None

    def _in_the_way(self, candidate: Candidate) -> tuple[str, ...] | None:
        """What stands that a statement of unknown age would contradict, or nothing of that if somebody took it back;
        None if nothing is in its way."""
        zone, today = self.standing.zone, self.standing.today
        newest = replace(candidate, said_at=datetime.combine(today, time.max, zone), since=today)
        decision = decide(newest, self._standing(self._before))
        if isinstance(decision, Write) and decision.ended:
            return tuple(self._named(number) for number in decision.ended)
        oldest = replace(candidate, said_at=_LONG_AGO.replace(tzinfo=zone))
        decision = decide(oldest, self._standing(self._before))
        if isinstance(decision, Write):
            return () if decision.late else None
        entry = self._before.find(decision.number) if isinstance(decision, Same) and decision.number else None
        return () if entry is not None and not entry.belief.current else None

    def _written(self, statement: Statement, candidate: Candidate, decision: Write) -> Folded:
        made = (change for change in decision.changes if isinstance(change, (Added, Recorded, Superseded)))
        if all(change.new.number != decision.number for change in made):
            entry = self._holdings.find(decision.number)
            if decision.number not in decision.ended:
                # It stands there. What another program knew besides changes nothing about it.
                folded = self._folded(statement, "same", decision.path, entry.belief.text if entry else "")
                return replace(folded, number=decision.number)
            named = self._named(decision.number)
            self._apply(decision.changes)
            folded = self._folded(statement, "ends", decision.path, candidate.text, (named,))
            return replace(folded, number=decision.number)
        against = tuple(self._named(number) for number in decision.ended if self._before.find(number))
        changes = [self._honest(change, statement) for change in decision.changes]
        if all(isinstance(change, (Created, Added, Recorded)) for change in changes):
            self._wait(changes, decision)
        else:
            self._apply(changes)
        folded = self._folded(statement, "replaces" if against else "new", decision.path, candidate.text, against)
        alike = None if against else self._alike.to(candidate.text)
        return replace(folded, number=decision.number, like=_called(alike) if alike else "")

    def _honest(self, change: Change, statement: Statement) -> Change:
        """A change without a first day that nobody knows. Of a stretch of days only the last is certain: by then it
        was so. Where it was over by then, its first day is unknown."""
        when = statement.when
        if when.exact or statement.since or not isinstance(change, (Added, Recorded, Superseded)):
            return change
        by_then: date | None = min(when.last, self.standing.today)
        if isinstance(change, Recorded) and by_then is not None and by_then > change.until:
            by_then = None
        data: BeliefData = replace(change.new.data, since=by_then)
        return replace(change, new=NewBelief(change.new.number, change.new.text, data))

    # The pages

    def _standing(self, holdings: Holdings, text: str = "") -> Standing:
        """What a decision rests on. A page that `text` has to be written on speaks its language."""
        return replace(
            self.standing,
            holdings=holdings,
            floor=self._floor,
            page_id=self.page_ids(),
            said=self._said_at,
            language=language_of(text) if text else self.standing.language,
        )

    def _said_at(self, event: str) -> datetime | None:
        return self.times.get(event) or self.standing.said(event)

    def _wait(self, changes: Iterable[Change], decision: Write) -> None:
        """Put an entry off that touches no other: many are written at once. A new page is there at once."""
        for change in changes:
            if isinstance(change, Created):
                self._holdings.put({change.path: change.page})
            else:
                self._pending.append(change)
        made = (change.new.number for change in changes if isinstance(change, (Added, Recorded)))
        self._floor = max(self._floor, *made)
        self.touched |= decision.paths

    def _apply(self, changes: Sequence[Change]) -> None:
        self._flush()
        pages = apply(self._holdings.pages, changes, self.standing.today)
        self._holdings.put(pages)
        self.touched |= pages.keys()

    def _flush(self) -> None:
        if self._pending:
            pending, self._pending = self._pending, []
            self._holdings.put(apply(self._holdings.pages, pending, self.standing.today))

    def _entry(self, decision: Same) -> Entry | None:
        return self._holdings.find(decision.number) if decision.number is not None else None

    def _named(self, number: int) -> str:
        """An entry that was there before, for people."""
        entry = self._before.find(number)
        return _called(entry) if entry else f"#{number}"

    def _folded(
        self, statement: Statement, outcome: Outcome, path: str, line: str, against: tuple[str, ...] = ()
    ) -> Folded:
        page = self._holdings.pages.get(path)
        return Folded(statement, outcome, path, page.title if page else "", line, against)


def _called(entry: Entry) -> str:
    """An entry, for people; one that was written by hand has no number yet."""
    return f"#{entry.number} {entry.belief.statement}" if entry.number is not None else entry.belief.statement
