"""What one more statement changes in what is believed (memory.md, Conflict). Pure: pages in, a decision out.

Same scope, subject and predicate, another value: the new value stands where the old one stood, and the old one
becomes history with its days. What was *said* later wins, whenever it is written; only what was inferred never
displaces what somebody said, commanded or wrote. `decide` finds out, `apply` does it to the pages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from ulid import ULID

from qingtuan.clock import day_of
from qingtuan.identity.scopes import Visibility
from qingtuan.language import Language, Words
from qingtuan.memory.changes import Added, Annotated, Change, Created, Ended, Numbered, Recorded, Superseded
from qingtuan.memory.holdings import Entry, Holdings
from qingtuan.memory.likeness import SELF, canonical_predicate, normalise_subject
from qingtuan.memory.several import Stands, opposed
from qingtuan.memory.topics import Kind, PagePlace, page_for
from qingtuan.memory.wiki.data_comment import BeliefData, How
from qingtuan.memory.wiki.edits import NewBelief, numbered
from qingtuan.memory.wiki.one_line import flat, one_line
from qingtuan.memory.wiki.page import Page, new_page
from qingtuan.memory.wording import Wording


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that may become a belief of one scope."""

    text: str
    """The line as a person would read it; may be empty if there is a predicate with a value."""
    said_at: datetime
    """When it was said or written, aware; not when it is being remembered."""
    kind: Kind = "fact"
    topic: str | None = None
    """Title of its page, for kinds that have pages by topic."""
    subject: str = SELF
    predicate: str | None = None
    value: str | None = None
    since: date | None = None
    """First day it holds, if the person named one; else it holds from the day it was said."""
    until: date | None = None
    """Last day it holds, if the person named one."""
    source: str | None = None
    """Id of the event in which it was said."""
    how: How = "explicit"
    via: str | None = None
    visibility: Visibility = Visibility.PRIVATE
    many: bool = False
    """Whether the predicate holds several values; counts only while nothing is known under it."""
    stands: Stands = ""
    """`beside`: it leaves in force what is known under its predicate, but for its very opposite. `instead`: it takes
    the place of that, also where there can be several, if it is clear of which."""


def event_time(event: str) -> datetime | None:
    """The time in the id of an event; None for another kind of id."""
    try:
        return ULID.from_str(event.rpartition("_")[2]).datetime
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Standing:
    """What a decision about one scope rests on."""

    holdings: Holdings
    today: date
    """In the person's zone."""
    zone: tzinfo
    page_id: str
    """Id for a page, should one have to be made."""
    language: Language = "zh"
    """Of a page that has to be made."""
    floor: int = 0
    """The highest number that the scope ever had, as far as events know (`next_number`)."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """What `parse_aliases` made of the table of aliases."""
    default: Visibility = Visibility.PRIVATE
    """Of a page that has to be made."""
    unreadable: Collection[str] = ()
    """Paths of pages that are there and cannot be read."""
    root: str = ""
    """What every path here begins with: empty, or the folder of the scope with `/` at its end."""
    said: Callable[[str], datetime | None] = event_time
    """When the statement in an event was made: for imported talk earlier than its event."""

    def said_of(self, data: BeliefData, updated: date | None) -> datetime:
        """When an entry was said: by its event, else by its first day, else by the day of its page (`updated`)."""
        said = self.said(data.source) if data.source else None
        day = data.since or updated
        return said or (self._morning(min(day, self.today)) if day else datetime.min.replace(tzinfo=UTC))

    def ended_of(self, data: BeliefData) -> datetime | None:
        """When an entry of history was ended: by the event that did it, else by its last day."""
        ended = self.said(data.ended_by) if data.ended_by else None
        return ended or (self._morning(data.until) if data.until else None)

    def _morning(self, day: date) -> datetime:
        return datetime.combine(day, time(), self.zone)


@dataclass(frozen=True, slots=True)
class Same:
    """Nothing to write: this stands there already. It was seen again."""

    path: str
    number: int | None


@dataclass(frozen=True, slots=True)
class Write:
    """Pages have to change. All of it or nothing."""

    changes: tuple[Change, ...]
    number: int
    """The entry that says it afterwards."""
    path: str
    """Its page."""
    ended: tuple[int, ...] = ()
    """Entries that go to history by it."""

    @property
    def paths(self) -> frozenset[str]:
        """Every page that changes."""
        return frozenset(change.path for change in self.changes)


@dataclass(frozen=True, slots=True)
class Review:
    """Code may not decide this: a person has to."""

    reason: Words
    against: tuple[int, ...] = ()
    """The entries that stand in its way."""


Decision = Same | Write | Review


def decide(candidate: Candidate, standing: Standing) -> Decision:
    """What `candidate` changes in the scope.

    Raises:
        ValueError: it has neither a text nor a predicate with a value.
    """
    candidate = _prepared(candidate, standing)
    case = _Case(candidate, standing)
    ready, numbering = _with_numbers(standing, case)
    if not numbering:
        return case.decision()
    decision = _Case(candidate, ready).decision()
    if isinstance(decision, Write):
        return replace(decision, changes=(*numbering, *decision.changes))
    return case.decision()  # numbers that are not written must not be named


def _prepared(candidate: Candidate, standing: Standing) -> Candidate:
    predicate = canonical_predicate(candidate.predicate, standing.aliases)
    value = flat(candidate.value) if candidate.value else None
    subject = normalise_subject(candidate.subject)
    text = one_line(candidate.text)
    if not text and predicate and value:
        about = predicate if subject == SELF else f"{subject}的{predicate}"
        text = one_line(f"{about}：{value}" if standing.language == "zh" else f"{about}: {value}")
    if not text:
        raise ValueError("a candidate needs a text, or a predicate with a value")
    since, until = candidate.since, candidate.until
    if since and until and since > until:
        since = None  # days that contradict each other: the end is the safer one
    return replace(candidate, text=text, subject=subject, predicate=predicate, value=value or None, since=since)


def _with_numbers(standing: Standing, case: _Case) -> tuple[Standing, tuple[Change, ...]]:
    """The scope with numbers on every page of which an entry without one may be touched, and how it got them."""
    pages = standing.holdings.pages
    bare = {
        entry.path
        for entry in (*case.rivals, *filter(None, [case.twin]))
        if entry.number is None or entry.number in pages[entry.path].copied
    }
    if not bare:
        return standing, ()
    holdings = Holdings(pages)
    changes: list[Change] = []
    for path in sorted(bare):
        change = Numbered(path, holdings.next_number(standing.floor), holdings.copied(path))
        page, today = holdings.pages[path], standing.today
        holdings.put({path: numbered(page, change.first, today, since=today, taken=change.taken)[0]})
        changes.append(change)
    return replace(standing, holdings=holdings), tuple(changes)


class _Case:
    """One candidate before one scope."""

    def __init__(self, candidate: Candidate, standing: Standing) -> None:
        self._candidate = candidate
        self._standing = standing
        self._said_on = day_of(candidate.said_at, standing.zone)
        self._start = candidate.since or self._said_on
        self._wording = Wording(
            candidate.text, candidate.subject, candidate.predicate, candidate.value, standing.aliases
        )
        found = standing.holdings.about(self._wording, candidate.source)
        self._family = [entry for entry in found if self._wording.same_question(entry.data)]
        """The entries, current and past, that answer the same question."""
        known = any(entry.data.many for entry in self._family) if self._family else candidate.many
        self._many = known or candidate.stands == "beside"
        self._past = [entry for entry in found if not entry.belief.current]
        self.twin = next(filter(self._twin, found), None)
        """The entry under 当前 that says the same."""
        rivals = [entry for entry in self._family if entry.belief.current and entry is not self.twin]
        instead = candidate.stands == "instead" and len(rivals) == 1
        self.rivals = [rival for rival in rivals if self._opposed(rival)] if self._many and not instead else rivals
        """The entries under 当前 that it contradicts."""

    def decision(self) -> Decision:
        candidate, today = self._candidate, self._standing.today
        if self.twin:
            return self._again(self.twin)
        if self._overtaken() or (candidate.until and candidate.until < today):
            return self._into_history()
        guarded = self._guarded()
        if guarded:
            return guarded
        if self._start > today:
            return self._planned()
        if self.rivals:
            return self._supersede()
        return self._add(self._home())

    # What is the same, and what came when

    def _says_it(self, entry: Entry) -> bool:
        source = self._candidate.source
        same_message = source is not None and source == entry.data.source
        return self._wording.said_by(entry.belief, same_message=same_message, many=self._many)

    def _twin(self, entry: Entry) -> bool:
        return entry.belief.current and not self._expired(entry) and self._says_it(entry)

    def _opposed(self, entry: Entry) -> bool:
        ours = self._candidate.value or self._candidate.text
        return opposed(ours, entry.data.value or entry.belief.statement)

    def _expired(self, entry: Entry) -> bool:
        return entry.data.until is not None and entry.data.until < self._standing.today

    def _ahead(self, entry: Entry) -> bool:
        return entry.data.since is not None and entry.data.since > self._standing.today

    def _said(self, entry: Entry) -> datetime:
        return self._standing.said_of(entry.data, self._standing.holdings.pages[entry.path].updated)

    def _ended(self, entry: Entry) -> datetime | None:
        return self._standing.ended_of(entry.data)

    def _overtaken(self) -> bool:
        """Whether something later is known: a newer value, or that it was taken back since."""
        said_at = self._candidate.said_at
        if any(self._said(entry) > said_at for entry in self.rivals):
            return True
        return any((ended := self._ended(entry)) is not None and ended > said_at for entry in self._told_before())

    def _told_before(self) -> list[Entry]:
        """Entries of history that say something about the same question, as far as it has one answer at a time."""
        single = self._candidate.predicate and not self._many
        return [e for e in self._past if (single and e in self._family) or self._says_it(e)]

    def _guarded(self) -> Review | None:
        """What was inferred does not displace what was said, commanded or written."""
        firm = [entry for entry in self.rivals if entry.data.how != "inferred" and not self._expired(entry)]
        if self._candidate.how != "inferred" or not firm:
            return None
        words = Words(
            "这是从聊天里推测的，和已经明确记下的不一样。",
            "This was only inferred, and it differs from what was said or written down.",
        )
        return Review(words, tuple(entry.number for entry in firm if entry.number is not None))

    # What follows

    def _again(self, twin: Entry) -> Decision:
        """It stands there. Days that the person now names, or a predicate that it lacked, are added to it."""
        candidate, data = self._candidate, twin.data
        same = Same(twin.path, twin.number)
        if candidate.how == "inferred" or self._said(twin) > candidate.said_at or twin.number is None:
            return same
        if candidate.until and candidate.until < self._standing.today:
            end = Ended(twin.path, twin.number, candidate.until, by=candidate.source)
            return Write((*_brought_home(twin), end), twin.number, twin.path, (twin.number,))
        better = data
        if candidate.until and candidate.until != data.until:
            better = replace(better, until=candidate.until)
        if self._ahead(twin) and self._start < (data.since or self._start):
            better = replace(better, since=self._start)
        if candidate.predicate and not data.predicate:
            value, subject = candidate.value, candidate.subject
            better = replace(better, subject=subject, predicate=candidate.predicate, value=value, many=self._many)
        if better == data:
            return same
        rivals = [rival for rival in self.rivals if self._said(rival) <= candidate.said_at]
        changes, ended = self._giving_way(rivals, max(better.since or self._start, self._start))
        return Write((Annotated(twin.path, twin.number, better), *changes), twin.number, twin.path, ended)

    def _into_history(self) -> Decision:
        """Something later is known, or the person speaks of what is over: it is kept as history."""
        candidate = self._candidate
        over = candidate.until is not None and candidate.until < self._standing.today
        until = candidate.until if candidate.until and over else self._until_then()
        since = candidate.since or (self._said_on if self._said_on <= until else None)
        day = until if over or since is None else since
        for entry in self._past:
            within = (entry.data.since or date.min) <= day <= (entry.data.until or date.max)
            if within and self._says_it(entry):
                return Same(entry.path, entry.number)
        new = self._new(since=since, until=until)
        place, making = self._page(self._home())
        if isinstance(place, Review):
            return place
        return Write((*making, Recorded(place, new, until)), new.number, place)

    def _until_then(self) -> date:
        """The day on which something later began, or on which this was taken back."""
        about = [*self.rivals, *self._told_before()]
        later = [entry for entry in about if self._said(entry) > self._candidate.said_at]
        begun = [entry.data.since for entry in later if entry.data.since and entry.data.since >= self._start]
        over = [entry.data.until for entry in about if entry.data.until and entry.data.until >= self._start]
        return min([*begun, *over], default=max(self._start, self._standing.today))

    def _planned(self) -> Decision:
        """It begins on a day to come."""
        changes, ended = self._giving_way(self.rivals, self._start)
        decision = self._add(self._home())
        if isinstance(decision, Write):
            return replace(decision, changes=(*changes, *decision.changes), ended=ended)
        return decision

    def _giving_way(self, rivals: list[Entry], start: date) -> tuple[tuple[Change, ...], tuple[int, ...]]:
        """What becomes of `rivals` when something else holds from `start` on, and which of them go to history.

        If that is a day to come, what holds today goes on until its eve, and what was to begin later is off.
        """
        eve = start - timedelta(days=1)
        ahead = start > self._standing.today
        going = [rival for rival in rivals if not ahead or (rival.data.since and rival.data.since >= start)]
        changes = self._endings(going)
        for rival in rivals:
            lasting = rival.data.until is None or rival.data.until > eve
            if rival not in going and rival.number is not None and lasting:
                changes.append(Annotated(rival.path, rival.number, replace(rival.data, until=eve)))
        return tuple(changes), _numbers(going)

    def _supersede(self) -> Decision:
        place = max(
            self.rivals, key=lambda rival: (not self._expired(rival), not self._ahead(rival), self._said(rival))
        )
        others = [rival for rival in self.rivals if rival is not place]
        assert place.number is not None
        new = self._new(since=self._start, until=self._candidate.until, pinned=place.data.pinned)
        change = Superseded(place.path, place.number, new, self._last_day(place))
        changes = (*_brought_home(place), change, *self._endings(others))
        return Write(changes, new.number, place.path, _numbers([place, *others]))

    def _add(self, home: str | None) -> Decision:
        place, making = self._page(home)
        if isinstance(place, Review):
            return place
        new = self._new(since=self._start, until=self._candidate.until)
        return Write((*making, Added(place, new)), new.number, place)

    # The parts of it

    def _new(self, *, since: date | None, until: date | None, pinned: bool = False) -> NewBelief:
        candidate = self._candidate
        data = BeliefData(
            subject=candidate.subject,
            predicate=candidate.predicate,
            value=candidate.value,
            since=since,
            until=until,
            source=candidate.source,
            how=candidate.how,
            via=candidate.via,
            visibility=candidate.visibility,
            pinned=pinned,
            many=self._many and candidate.predicate is not None,
        )
        return NewBelief(self._standing.holdings.next_number(self._standing.floor), candidate.text, data)

    def _last_day(self, old: Entry) -> date:
        """The last day of an entry that the candidate displaces: when that begins, or when it was said, or its own."""
        since, until = old.data.since, old.data.until
        if until is not None and until < self._start:
            return until
        return self._start if since is None or since <= self._start else self._said_on

    def _endings(self, old: list[Entry]) -> list[Change]:
        source = self._candidate.source
        return [
            change
            for entry in old
            if entry.number is not None
            for change in (
                *_brought_home(entry),
                Ended(entry.path, entry.number, self._last_day(entry), by=source),
            )
        ]

    def _home(self) -> str | None:
        """The page where its family stands, if it has one."""
        here = [entry for entry in self._family if entry.belief.current] or self._family or self._told_before()
        return here[-1].path if here else None

    def _page(self, home: str | None) -> tuple[str | Review, tuple[Change, ...]]:
        """The page to write on, and how it comes to be; or why it cannot be written."""
        if home is not None:
            return home, ()
        standing, candidate = self._standing, self._candidate
        holdings, taken = standing.holdings, standing.unreadable
        place = page_for(holdings.titles, candidate.kind, candidate.topic, standing.language, taken, root=standing.root)
        if place.path in holdings.pages:
            return place.path, ()
        if place.path in taken:
            return Review(Words("要写的那一页读不了。", "The page that it belongs on cannot be read.")), ()
        return place.path, (Created(place.path, self._blank(place)),)

    def _blank(self, place: PagePlace) -> Page:
        standing = self._standing
        return new_page(standing.page_id, place.type, place.title, standing.language, standing.default, standing.today)


def _brought_home(entry: Entry) -> tuple[Change, ...]:
    """An entry whose data stayed behind on another page gets it on its own, before it is changed."""
    if not entry.lent or entry.number is None:
        return ()
    return (Annotated(entry.path, entry.number, entry.data),)


def _numbers(old: list[Entry]) -> tuple[int, ...]:
    return tuple(entry.number for entry in old if entry.number is not None)
