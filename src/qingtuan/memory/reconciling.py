"""One scope's pages from elsewhere and our own, as one: what was added on either side stays. Pure.

Pages are woven by units (`wiki.weaving`). What that cannot decide are statements, and the rules of `decide` hold for
them as for any other: two new answers to one question, the same sentence told to both, an entry that both changed. Two
entries that were given one number are parted: ours keeps it, theirs gets another. What contradicts itself in anything
but entries stays as it is here, and theirs waits for a person as a whole page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from qingtuan.errors import PageUnreadable
from qingtuan.identity.scopes import SHARED, Scope
from qingtuan.language import Words
from qingtuan.memory.beliefs import Candidate, Review, Standing, Write
from qingtuan.memory.changes import Ended, apply
from qingtuan.memory.deciding import decide
from qingtuan.memory.holdings import HIGHEST, Holdings
from qingtuan.memory.known import as_statement, is_note
from qingtuan.memory.likeness import SELF
from qingtuan.memory.wiki import edits
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.page import Belief, Page, parse
from qingtuan.memory.wiki.renumbering import renumbered
from qingtuan.memory.wiki.surgery import with_data_lines
from qingtuan.memory.wiki.weaving import weave
from qingtuan.memory.wording import Wording

_POINTER = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class Meeting:
    """A page that was changed there: as both had it, as it is here, as it is there. None where there is none."""

    path: str
    """Where it stands here."""
    base: bytes | None
    ours: bytes | None
    theirs: bytes | None
    unreadable: bool = False
    """Whether something stands here that is no page."""
    goes: str | None = None
    """The path that it had here until now, if it was moved there."""


@dataclass(frozen=True, slots=True)
class Apart:
    """A page that stays as it is here, while theirs waits for a person."""

    path: str
    theirs: bytes
    """With the numbers that it can have here."""
    reason: Words


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What becomes of the scope."""

    pages: Mapping[str, bytes | None]
    """What they are to be; None for one that goes. Those that stay as they are here are left out."""
    apart: tuple[Apart, ...] = ()
    doubtful: tuple[tuple[Candidate, Words], ...] = ()
    """Statements that code may not decide about, and why."""
    numbers: Mapping[int, int] = field(default_factory=dict)
    """The numbers of theirs that became others."""
    scope: Scope = SHARED
    """Whose they are."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A meeting whose pages are read; None where there is no page that can be read."""

    meeting: Meeting
    base: Page | None
    ours: Page | None
    theirs: Page

    @property
    def path(self) -> str:
        return self.meeting.path


def reconcile(
    meetings: Iterable[Meeting],
    standing: Standing,
    *,
    used: Callable[[int, str], bool],
    changed_here: Callable[[str], bool],
    trusted: bool,
) -> Reconciled:
    """What becomes of a scope whose pages here are `standing.holdings`.

    `used` tells of a number whether it was ever given to an entry here that says something else, `changed_here` of a
    page whether it is another here than it was when both had the same. What is not `trusted` counts as written by
    hand, whatever its data says.
    """
    pages: dict[str, bytes | None] = {}
    apart: list[Apart] = []
    cases: list[_Case] = []
    for meeting in meetings:
        reason, case = _read(meeting)
        if case is not None:
            cases.append(case)
        elif reason is not None and meeting.theirs is not None:
            apart.append(Apart(meeting.path, meeting.theirs, reason))
        else:
            pages |= _plainly(meeting)
    if not trusted:
        cases = [replace(case, theirs=as_hand_written(case.theirs, case.ours)) for case in cases]
    numbers = _other_numbers(cases, standing, used)
    cases = [replace(case, theirs=renumbered(case.theirs, numbers)) for case in cases]
    return _Scope(cases, standing, changed_here).settled(pages, apart, numbers)


# ------------------------------------------------------------------------------------------------- page by page


def _read(meeting: Meeting) -> tuple[Words | None, _Case | None]:
    """The pages of a meeting if entries on them matter; else why it stays apart; neither if one side alone decides."""
    ours, theirs = meeting.ours, meeting.theirs
    if theirs is None or theirs == ours:
        return (_UNREADABLE_HERE if meeting.unreadable and theirs != ours else None), None
    if meeting.unreadable:
        return _UNREADABLE_HERE, None
    if theirs.startswith(_POINTER):
        return _LFS, None
    if b"\0" in theirs or not _is_text(theirs):
        return _NO_TEXT, None
    untouched = ours in (meeting.base, None)
    try:
        there = parse(theirs)
    except PageUnreadable:
        return (None if untouched else _UNREADABLE_THERE), None
    here, before = _page(ours), _page(meeting.base)
    if ours is not None and here is None and not untouched:
        return _UNREADABLE_HERE, None
    return None, _Case(meeting, before, here, there)


def _plainly(meeting: Meeting) -> dict[str, bytes | None]:
    """What becomes of a page about which one side alone has something to say."""
    if meeting.theirs == meeting.ours or (meeting.theirs is None and meeting.ours != meeting.base):
        return {}  # gone there, and changed here since: it stays
    return {meeting.path: meeting.theirs}


def _page(data: bytes | None) -> Page | None:
    try:
        return parse(data) if data is not None else None
    except PageUnreadable:
        return None


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# -------------------------------------------------------------------------------------------- what data may say


def as_hand_written(theirs: Page, ours: Page | None) -> Page:
    """A page from somebody who is not trusted: what its data says beyond ours counts as written by hand.

    Nobody but the owner says by which event, how and through what something was said here, or pins an entry.
    """
    known = set(ours.known) if ours is not None else set()
    texts = {line.number: text for text, line in theirs.known.items()}
    data: dict[int, BeliefData | None] = {}
    for number, line in theirs.data.items():
        if texts.get(number) in known:
            continue
        belief = theirs.belief(number)
        if belief is None:
            data[number] = None
            continue
        said = belief.data
        label = said.visibility if line.data.visibility is not None else None
        data[number] = replace(
            said, source=None, how="hand", via=None, pinned=False, ended_by=None, visibility=label, more={}
        )
    return with_data_lines(theirs, data) if data else theirs


# ------------------------------------------------------------------------------------------------------- numbers


def _other_numbers(cases: Sequence[_Case], standing: Standing, used: Callable[[int, str], bool]) -> dict[int, int]:
    """Other numbers for entries of theirs that are new, and whose number is another entry's here or was one's."""
    before = _numbers(case.base for case in cases)
    new = {number: (case, number) for case in cases for number in case.theirs.numbers - before if not _note(case)}
    taken = sorted(number for number, (case, _) in new.items() if _is_taken(number, case.theirs, standing, used))
    highest = max((number for number in (*before, *new) if number <= HIGHEST), default=0)
    first = max(standing.holdings.next_number(standing.floor), highest + 1)
    return {number: first + count for count, number in enumerate(taken)}


def _numbers(pages: Iterable[Page | None]) -> frozenset[int]:
    return frozenset(number for page in pages if page is not None for number in page.numbers)


def _is_taken(number: int, page: Page, standing: Standing, used: Callable[[int, str], bool]) -> bool:
    here, there = standing.holdings.find(number), page.belief(number)
    if here is None:
        return used(number, there.statement if there is not None else "")
    same = there is not None and here.belief.text == there.text and here.data.source == there.data.source
    return not same


def _note(case: _Case) -> bool:
    return is_note(case.path, case.theirs)


# --------------------------------------------------------------------------------------------------- the scope


class _Scope:
    """The pages of one scope, and what is to be decided by the rules of beliefs."""

    def __init__(self, cases: Sequence[_Case], standing: Standing, changed_here: Callable[[str], bool]) -> None:
        self._cases = cases
        self._standing = standing
        self._changed_here = changed_here
        self._before = _numbers(case.base for case in cases)
        self._theirs = _numbers(case.theirs for case in cases)
        self._statements: list[Candidate] = []
        """Of theirs, to be decided about once all pages stand."""
        self._ends: list[Ended] = []
        """Entries that were taken back there after they were changed here."""

    def settled(self, pages: dict[str, bytes | None], apart: list[Apart], numbers: Mapping[int, int]) -> Reconciled:
        """All of it together."""
        made: dict[str, Page] = {}
        for case in self._cases:
            page = self._woven(case)
            if page is None:
                apart.append(Apart(case.path, case.theirs.to_bytes(), _CONTRADICT))
                continue
            if case.meeting.goes is not None:
                pages[case.meeting.goes] = None
            if page.to_bytes() != case.meeting.ours or case.meeting.goes is not None:
                made[case.path] = page
        holdings = self._standing_with(pages, made)
        made, doubtful = self._decided(holdings, made)
        return Reconciled(
            {**pages, **{path: page.to_bytes() for path, page in made.items()}},
            tuple(apart),
            tuple(doubtful),
            numbers,
        )

    def _woven(self, case: _Case) -> Page | None:
        """The page that two become; None if they contradict each other."""
        aside = [] if _note(case) else list(self._aside(case))
        theirs = case.theirs
        for belief in aside:
            theirs = edits.taken_out(theirs, belief.number or 0)
        if case.meeting.ours in (case.meeting.base, None) or case.ours is None:
            woven, contested = theirs, frozenset[int]()
        else:
            found = weave(case.base, theirs, case.ours)
            if found is None:
                return None
            woven, contested = found.page, found.contested
        statements, ends = [self._statement(case, belief) for belief in aside], list[Ended]()
        for number in sorted(contested):
            if not self._contest(case, woven, number, statements, ends):
                return None
        self._statements += statements
        self._ends += ends
        return woven

    # What is no matter of pages

    def _aside(self, case: _Case) -> Iterator[Belief]:
        """New statements of theirs that say what somebody said here as well, or answer what was answered here."""
        for belief in case.theirs.beliefs:
            number, alone = belief.number, belief.item.own == belief.item.end
            if number is None or number in self._before or number in case.theirs.copied:
                continue
            if belief.current and alone and self._meets(belief):
                yield belief

    def _meets(self, belief: Belief) -> bool:
        data = belief.data
        wording = Wording(belief.text, data.subject or SELF, data.predicate, data.value, self._standing.aliases)
        for entry in self._standing.holdings.about(wording, None):
            if not entry.belief.current or not self._changed_here(entry.path) or entry.number in self._theirs:
                continue
            many = data.many or entry.data.many
            if wording.said_by(entry.belief, same_message=False, many=many):
                return True
            if wording.same_question(entry.data) and not many:
                return True
        return False

    def _contest(self, case: _Case, woven: Page, number: int, statements: list[Candidate], ends: list[Ended]) -> bool:
        """An entry that both changed, or that was taken out here and changed there. False if it is no statement."""
        here, there = woven.belief(number), case.theirs.belief(number)
        if there is None:
            return False
        if there.current:
            # Where neither is known to have been said later, what stands here does.
            said = self._statement(case, there)
            statements.append(replace(said, said_at=said.said_at - timedelta(microseconds=1)))
            return True
        if here is None:
            return True
        if not here.current:
            return here.statement == there.statement
        ended = self._standing.ended_of(there.data)
        if ended is not None and ended >= self._standing.said_of(here.data, woven.updated):
            until = there.data.until or self._standing.today
            ends.append(Ended(case.path, number, until, by=there.data.ended_by))
        return True

    def _statement(self, case: _Case, belief: Belief) -> Candidate:
        said_at = self._standing.said_of(belief.data, case.theirs.updated)
        return as_statement(belief, case.path, case.theirs, min(said_at, self._now()))

    def _now(self) -> datetime:
        """No later than this can anything have been said: whoever sets a clock ahead is not always right."""
        return datetime.combine(self._standing.today + timedelta(days=1), datetime.min.time(), self._standing.zone)

    def _standing_with(self, pages: Mapping[str, bytes | None], made: Mapping[str, Page]) -> Holdings:
        holdings = Holdings(self._standing.holdings.pages)
        found: dict[str, Page | None] = {path: _page(data) for path, data in pages.items()}
        found.update(made)
        holdings.put({path: None if page is not None and is_note(path, page) else page for path, page in found.items()})
        return holdings

    def _decided(
        self, holdings: Holdings, made: dict[str, Page]
    ) -> tuple[dict[str, Page], list[tuple[Candidate, Words]]]:
        """The pages after every statement has been decided about, oldest first."""
        floor = max([self._standing.floor, *(number for number in self._theirs if number <= HIGHEST)])
        standing, doubtful = replace(self._standing, holdings=holdings, floor=floor), []
        today = standing.today
        if self._ends:
            touched = apply(holdings.pages, self._ends, today)
            holdings.put(touched)
            made |= touched
        for candidate in sorted(self._statements, key=lambda one: one.said_at):
            decision = decide(candidate, standing)
            if isinstance(decision, Review):
                doubtful.append((candidate, decision.reason))
            elif isinstance(decision, Write):
                touched = apply(holdings.pages, decision.changes, today)
                holdings.put(touched)
                made |= touched
        return made, doubtful


_CONTRADICT = Words(
    "两边改了这一页的同一处，留着这里的。", "Both sides changed the same place on this page; ours stays."
)
_UNREADABLE_HERE = Words("这里的这一页读不了，没有动它。", "The page here cannot be read and was left alone.")
_UNREADABLE_THERE = Words(
    "远程的这一页读不了，这里的又改过，留着这里的。",
    "The page there cannot be read, and ours was changed since; ours stays.",
)
_NO_TEXT = Words("远程的这一页不是 UTF-8 文本。", "The page there is no UTF-8 text.")
_LFS = Words(
    "远程的这一页存在 Git LFS 里，拿到的只是个指针。", "The page there is kept by Git LFS; all that came is a pointer."
)
