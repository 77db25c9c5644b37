"""What one more statement changes in what is believed (memory.md, Conflict). Pure: pages in, a decision out.

Same scope, subject and predicate, another value: the new value stands where the old one stood, and the old one
becomes history with its days. What was *said* later wins on every day that it speaks of, whenever it is written: a
statement from before goes to history, and parts what stands there if it lies within. What is said to end gives way to
what held before it, once it is over. Only what was inferred never displaces what somebody said, commanded or wrote.
`decide` finds out, `changes.apply` does it to the pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, timedelta

from qingtuan.clock import day_of
from qingtuan.language import Words
from qingtuan.memory.beliefs import Candidate, Decision, Review, Same, Standing, Write
from qingtuan.memory.changes import Annotated, Change, Created, Ended, Numbered
from qingtuan.memory.entries import is_over
from qingtuan.memory.holdings import Entry, Holdings
from qingtuan.memory.likeness import SELF, canonical_predicate, normalise_subject
from qingtuan.memory.making import Making, brought_home, differs, leaves, stands
from qingtuan.memory.pieces import Piece, Pieces
from qingtuan.memory.several import opposed
from qingtuan.memory.timeline import Left, Term
from qingtuan.memory.topics import PagePlace, page_for
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.edits import NewBelief, numbered
from qingtuan.memory.wiki.one_line import flat, one_line
from qingtuan.memory.wiki.page import Page, new_page
from qingtuan.memory.wording import Wording

_ONE = timedelta(days=1)


def decide(candidate: Candidate, standing: Standing) -> Decision:
    """What `candidate` changes in the scope.

    Raises:
        ValueError: it has neither a text nor a predicate with a value.
    """
    candidate = _prepared(candidate, standing)
    case = _Case(candidate, standing)
    ready, numbering = _with_numbers(standing, case.affected)
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


def _with_numbers(standing: Standing, affected: Iterable[Entry]) -> tuple[Standing, tuple[Change, ...]]:
    """The scope with numbers on every page of which an entry without one may be touched, and how it got them."""
    pages = standing.holdings.pages
    bare = {entry.path for entry in affected if entry.number is None or entry.number in pages[entry.path].copied}
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
    """One statement before one scope."""

    def __init__(self, candidate: Candidate, standing: Standing) -> None:
        self._candidate = candidate
        self._standing = standing
        self._said_on = day_of(candidate.said_at, standing.zone)
        over = candidate.until is not None and candidate.until < self._said_on
        first = candidate.since or (date.min if over else self._said_on)
        plain = candidate.until is None and candidate.since != self._said_on and first <= self._said_on
        last = candidate.until or date.max
        self._term = Term(first, last, candidate.said_at, self._said_on, plain=plain)
        self._wording = Wording(
            candidate.text, candidate.subject, candidate.predicate, candidate.value, standing.aliases
        )
        found = standing.holdings.about(self._wording, candidate.source)
        self._family = [entry for entry in found if self._wording.same_question(entry.data)]
        """The entries, current and past, that answer the same question."""
        known = any(entry.data.many for entry in self._family) if self._family else candidate.many
        self._many = known or candidate.stands == "beside"
        self._pieces = Pieces(standing, self._family, {e.data.source for e in self._family} | {candidate.source})
        said = [(entry, self._says_it(entry)) for entry in found]
        self._same = [self._pieces.of(entry) for entry, says_it in said if says_it]
        others = [entry for entry, says_it in said if not says_it and self._wording.same_question(entry.data)]
        if self._many:
            held = [entry for entry in others if entry.belief.current and not is_over(entry.belief, standing.today)]
            instead = candidate.stands == "instead" and len(held) == 1
            others = held if instead else [entry for entry in held if self._opposed(entry)]
        self._rivals = [self._pieces.of(entry) for entry in others]
        self._twin = self._repeated()
        """The entry that says it already."""
        self._claimed: tuple[Term, ...] = ()
        """The days that the statement has, when all that was said later has had its own."""
        self._alone: tuple[Term, ...] = ()
        """Of these, what is an entry of its own."""
        self._joining: list[tuple[Piece, Term]] = []
        """The entries that say the same of the days that follow some of these; they begin with them now."""
        if self._twin is None:
            self._claim()

    def _says_it(self, entry: Entry) -> bool:
        source = self._candidate.source
        same_message = source is not None and source == entry.data.source
        return self._wording.said_by(entry.belief, same_message=same_message, many=self._many)

    def _opposed(self, entry: Entry) -> bool:
        """Whether an entry says the very opposite."""
        ours = self._candidate.value or self._candidate.text
        return opposed(ours, entry.data.value or entry.belief.statement)

    @property
    def affected(self) -> list[Entry]:
        """The entries that a decision may change."""
        if self._twin is not None:
            return [self._twin.entry, *(piece.entry for piece in self._rivals if piece.current)]
        joining = (piece for piece, _ in self._joining)
        return [piece.entry for piece in (*joining, *self._parted(), *self._expired())]

    # What is left of the statement

    def _repeated(self) -> Piece | None:
        """The entry that says it already for the day on which this begins."""
        source, said, day = self._candidate.source, self._candidate.said_at, self._term.first
        if day == date.min:
            day = self._term.last
        for piece in sorted(self._same, key=lambda piece: not piece.current):
            told = (piece.data.source, piece.data.ended_by, *(event for event, _ in piece.again))
            if source is not None and source in told:
                return piece
            if piece.term.said <= said and piece.held(day, said):
                return piece
        return None

    def _claim(self) -> None:
        """Give the statement its days: cut by all that was said later; what others say of the rest is theirs."""
        if self._term.first == date.min:  # nobody knows of which days it speaks
            self._alone = self._claimed = (self._term,)
            return
        left, said = Left(self._term), self._candidate.said_at
        for term in sorted((later for later, _ in self._later()), key=lambda one: one.said):
            left.cut(term)
        alone = left.told
        for piece in self._same:
            later = piece.term.said > said
            if piece.undated or not (later or piece.stood(said)):
                continue
            before = tuple(one for one in alone if one.comes_before(piece.term, adjoins=later))
            self._joining += [(piece, term) for term in before]
            told = piece.term if not later else replace(piece.term, last=date.max)
            alone = tuple(one for one in alone if one not in before and not told.holds(one.first))
            if not alone and not self._joining:
                self._twin = piece
        self._alone = alone
        self._claimed = (*alone, *(term for _, term in self._joining))

    def _later(self) -> Iterator[tuple[Term, str | None]]:
        """What was said since and speaks otherwise, or takes it back from some day on; and where that was."""
        said = self._candidate.said_at
        for piece in self._rivals:
            if self._term.gives_way(piece.term) and not piece.undated:
                yield piece.term, piece.source
            # Whoever said again what had held changed back to it, if this had begun by then.
            begun = ((one, event) for event, one in piece.again if one.first >= self._term.first)
            yield from ((one, event) for one, event in begun if one.said > said)
        single = self._candidate.predicate is not None and not self._many
        for piece in (*self._same, *(self._rivals if single else ())):
            if piece.taken_back and piece.ended is not None and piece.ended > said:
                day = day_of(piece.ended, self._standing.zone)
                yield Term(day, date.max, piece.ended, day), piece.data.ended_by

    def _ended_by(self, term: Term) -> str | None:
        """The event that ended some days of the statement."""
        if not term.over:
            return None
        later = list(self._later())
        begun = [event for one, event in later if one.first == term.last]
        return next(iter([*begun, *(event for one, event in later if one.said_on == term.last)]), None)

    def _left(self, piece: Piece) -> tuple[Term, ...]:
        """What is left of an entry that says otherwise; of one that never comes to hold, that it was dropped."""
        term = piece.term
        gives_way = term.gives_way(self._term) and piece not in self._same
        if not gives_way or piece.undated or self._term.first == date.min:
            return (term,)
        left = Left(term)
        for claimed in self._claimed:
            left.cut(claimed)
        # Who said it again on its very last day changed back to it once more.
        last = [again for _, again in piece.again if again.said > self._term.said and again.first == term.last]
        if last and any(claimed.over and claimed.last == term.last for claimed in self._claimed):
            return (*left.told, replace(last[0], rest=True))
        return left.told or (replace(term, last=min(self._said_on, term.first - _ONE), over=True),)

    def _parted(self) -> list[Piece]:
        """The entries that say otherwise on days that the statement has now."""
        return [piece for piece in self._rivals if differs(piece, self._left(piece), self._standing.today)]

    def _expired(self) -> list[Piece]:
        """Entries under 当前 whose last day has passed: the next statement about them takes them to history."""
        today = self._standing.today
        return [piece for piece in (*self._rivals, *self._same) if piece.current and piece.term.last < today]

    # What follows

    def decision(self) -> Decision:
        if self._twin is not None:
            return self._repeat(self._twin)
        return self._guarded() or self._insert()

    def _guarded(self) -> Review | None:
        """What was inferred does not displace what was said, commanded or written."""
        firm = [piece.entry for piece in self._parted() if piece.data.how != "inferred"]
        if self._candidate.how != "inferred" or not firm:
            return None
        words = Words(
            "这是从聊天里推测的，和已经明确记下的不一样。",
            "This was only inferred, and it differs from what was said or written down.",
        )
        return Review(words, tuple(entry.number for entry in firm if entry.number is not None))

    def _repeat(self, twin: Piece) -> Decision:
        """It stands there. An end that the person now names, or a predicate that it lacked, are added to it."""
        candidate, data, entry = self._candidate, twin.data, twin.entry
        same = Same(entry.path, entry.number)
        over = candidate.until is not None and candidate.until < self._standing.today
        told = candidate.source in (twin.source, *(event for event, _ in twin.again))
        if candidate.source == data.source:
            told = over or data.until is not None
        older = twin.term.said > candidate.said_at and not (candidate.until and data.until is None)
        if not twin.current or entry.number is None or candidate.how == "inferred" or older or told:
            return same
        if candidate.until and over:
            end = Ended(entry.path, entry.number, candidate.until, by=candidate.source)
            return Write((*brought_home(entry), end), entry.number, entry.path, (entry.number,))
        better = data
        if candidate.until and candidate.until != data.until:
            better = replace(better, until=candidate.until)
        if candidate.predicate and not data.predicate and not any(self._later()):
            value, subject = candidate.value, candidate.subject
            better = replace(better, subject=subject, predicate=candidate.predicate, value=value, many=self._many)
        anew = [piece for piece in self._rivals if candidate.since == self._said_on and piece.term.ahead]
        if any(piece.term.first == twin.term.last + _ONE for piece in anew if twin.term.last < date.max):
            better = replace(better, until=candidate.until)  # what was to follow it is off
        if better == data:
            return same
        first = max(twin.term.first, self._term.first)
        self._claimed = (replace(self._term, first=first, last=better.until or date.max),)
        making = self._making()
        making.changes.append(Annotated(entry.path, entry.number, better))
        for piece in self._rivals:
            making.part(piece, self._left(piece))
        again = ((entry.number, candidate.source),) if candidate.source else ()
        return Write(tuple(making.changes), entry.number, entry.path, tuple(making.ended), again)

    def _insert(self) -> Decision:
        making, today = self._making(), self._standing.today
        new = [(making.number(), term) for term in self._alone]
        # What holds now stands first, and in the place of what it displaces.
        new.sort(key=lambda one: not (stands(one[1], today) and one[1].first <= today))
        holding = [one for one in new if stands(one[1], today) and one[1].first <= today]
        place = self._place() if holding else None
        if place is not None:
            making.supersede(place, self._left(place), self._new(*holding[0], pinned=place.data.pinned))
        parted = self._parted()
        for piece in parted:
            if piece is not place:
                making.part(piece, self._left(piece))
        for piece in self._expired():
            if piece is not place and piece not in parted:
                making.retire(piece)
        for piece, before in self._joining:
            making.join(piece, before)
        entry = place.entry if place is not None else self._joining[0][0].entry if not new else None
        path, created = (entry.path, ()) if entry is not None else self._page(self._home())
        if isinstance(path, Review):
            return path
        making.changes += created
        for number, term in new[0 if place is None else 1 :]:
            making.add(path, self._new(number, term), term)
        says_it = new[0][0] if new else entry.number if entry is not None else None
        if says_it is None or not making.changes:
            return Same(path, says_it)
        return Write(tuple(making.changes), says_it, path, tuple(making.ended), tuple(making.again))

    def _making(self) -> Making:
        return Making(self._standing, self._candidate, self._pieces.said)

    def _place(self) -> Piece | None:
        """Of the entries that give way the one in whose place the statement stands."""
        today = self._standing.today
        going = [
            piece
            for piece in (*self._rivals, *self._expired())
            if piece.current and piece.entry.number is not None and leaves(self._left(piece), today)
        ]
        order = [(piece.term.last >= today, piece.term.first <= today, piece.term.said) for piece in going]
        return going[order.index(max(order))] if going else None

    def _new(self, number: int, term: Term, *, pinned: bool = False) -> NewBelief:
        candidate = self._candidate
        data = BeliefData(
            subject=candidate.subject,
            predicate=candidate.predicate,
            value=candidate.value,
            since=None if term.first == date.min else term.first,
            until=None if term.last == date.max else term.last,
            plan=term.ahead,
            source=candidate.source,
            how=candidate.how,
            via=candidate.via,
            visibility=candidate.visibility,
            pinned=pinned,
            many=self._many and candidate.predicate is not None,
            ended_by=self._ended_by(term),
        )
        return NewBelief(number, candidate.text, data)

    # Where

    def _home(self) -> str | None:
        """The page where its family stands, if it has one."""
        single = self._candidate.predicate is not None and not self._many
        told = [piece.entry for piece in (*self._same, *(self._rivals if single else ())) if not piece.current]
        here = [entry for entry in self._family if entry.belief.current] or self._family or told
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
