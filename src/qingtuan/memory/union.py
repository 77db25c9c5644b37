"""What becomes of two folders when their persons are one (identity.md, Linking). Pure: pages in, pages out.

Nothing of either is lost. The pages of the one who began it stay, and get entries; those of the other come over, under
new numbers: entry by entry where the same topic has a page and code alone wrote on theirs, else as they stand. What
both know is one entry, seen no further than the stricter of the two. Where they contradict each other, what was said
later holds, and the other goes to 历史 with its days.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from qingtuan.clock import day_of
from qingtuan.errors import PageUnreadable
from qingtuan.identity.scopes import stricter
from qingtuan.memory.holdings import Entry, Holdings
from qingtuan.memory.keeping import RULES, says_nothing_else, with_rules_of
from qingtuan.memory.known import type_of
from qingtuan.memory.likeness import SELF
from qingtuan.memory.topics import free_path, title_key
from qingtuan.memory.wiki import edits
from qingtuan.memory.wiki.page import Page
from qingtuan.memory.wiki.renumbering import is_ours, renumbered
from qingtuan.memory.wording import Wording


@dataclass(frozen=True, slots=True)
class Folder:
    """One person's folder."""

    root: str
    """What its paths begin with, `/` at the end."""
    pages: Mapping[str, Page]
    """Those that hold entries, by path."""
    notes: Mapping[str, Page] = field(default_factory=dict)
    other: Mapping[str, bytes] = field(default_factory=dict)
    """Files that are text and no page."""
    taken: Collection[str] = ()
    """Further paths at which something stands."""

    @property
    def sources(self) -> frozenset[str]:
        """The events in which its entries were said."""
        entries = (belief for page in self.pages.values() for belief in page.beliefs)
        return frozenset(belief.data.source for belief in entries if belief.data.source)

    @property
    def paths(self) -> frozenset[str]:
        """Every path at which something stands."""
        return frozenset((*self.pages, *self.notes, *self.other, *self.taken))


@dataclass(frozen=True, slots=True)
class Basis:
    """What a union rests on."""

    first: int
    """The first number that is free in the folder that stays."""
    today: date
    zone: tzinfo
    aliases: Mapping[str, str]
    said: Mapping[str, datetime | None]
    """By event, when the statement in it was made."""


@dataclass(frozen=True, slots=True)
class United:
    """The folder that stays, as far as it changes, and what leaves the other one."""

    pages: Mapping[str, Page]
    other: Mapping[str, bytes]
    moved: tuple[str, ...]
    """Paths of the other folder at which nothing stands any more."""
    entries: int = 0
    """Entries that came over."""
    known: int = 0
    """Entries of those that were known already."""
    settled: int = 0
    """Contradictions."""


def united(kept: Folder, gone: Folder, basis: Basis) -> United:
    """What becomes of `kept` when `gone` joins it."""
    return _Union(kept, gone, basis).done()


class _Union:
    def __init__(self, kept: Folder, gone: Folder, basis: Basis) -> None:
        self._kept = kept
        self._gone = gone
        self._basis = basis
        self._pages = dict(kept.pages)
        self._fresh: dict[str, Page] = {}
        self._taken = set(kept.paths)
        self._theirs = _numbered(gone.pages, basis.today)
        numbers = sorted(frozenset[int]().union(*(page.numbers for page in self._theirs.values())))
        self._numbers = {number: basis.first + at for at, number in enumerate(numbers)}
        self._came = frozenset(self._numbers.values())
        self._next = basis.first + len(numbers)
        self._known = self._settled = 0

    def done(self) -> United:
        for path, page in sorted(self._theirs.items()):
            if not self._rules(path, page):
                self._carry(path, page)
        for path, page in sorted(self._gone.notes.items()):
            if not self._rules(path, page):
                self._fresh[self._free(path)] = page
        other = {self._free(path): data for path, data in sorted(self._gone.other.items())}
        came = sum(len(page.beliefs) for page in self._theirs.values())
        self._compare()
        changed = {path: page for path, page in self._pages.items() if self._kept.pages.get(path) is not page}
        return United(
            pages={**changed, **self._fresh},
            other=other,
            moved=tuple(sorted((*self._gone.pages, *self._gone.notes, *self._gone.other))),
            entries=came,
            known=self._known,
            settled=self._settled,
        )

    def _rules(self, path: str, page: Page) -> bool:
        """Let what one of the two never wanted remembered hold for both: only one page of rules counts. Whether
        nothing is left of theirs to bring over."""
        home = f"{self._kept.root}{RULES}"
        ours = self._pages.get(home) or self._kept.notes.get(home)
        if ours is None or path != f"{self._gone.root}{RULES}":
            return False
        with suppress(PageUnreadable):  # no place for them: the page stands beside ours
            both = with_rules_of(ours, page, self._basis.today)
            if both is not ours:
                (self._pages if home in self._pages else self._fresh)[home] = both
            return says_nothing_else(page)
        return False

    # Coming over

    def _carry(self, path: str, page: Page) -> None:
        home = self._home(path, page)
        if home is not None:
            with suppress(KeyError, PageUnreadable):  # too long, or entries that have no place there: as it stands
                self._pages[home] = self._received(self._pages[home], page)
                return
        self._pages[self._free(path)] = renumbered(page, self._numbers)

    def _home(self, path: str, page: Page) -> str | None:
        """The page of the one who stays on which the entries of another belong; None if that must stay one page."""
        if not is_ours(page):
            return None
        same, kind, title = f"{self._kept.root}{path.removeprefix(self._gone.root)}", type_of(path, page), page.title
        for there, other in sorted(self._kept.pages.items(), key=lambda item: (item[0] != same, item[0])):
            topic = bool(title) and title_key(other.title) == title_key(title)
            if type_of(there, other) == kind and (topic or (there == same and kind == "profile")):
                return there
        return None

    def _received(self, home: Page, page: Page) -> Page:
        past = [belief for belief in page.beliefs if not belief.current]
        for belief in (*(belief for belief in page.beliefs if belief.current), *reversed(past)):
            number = belief.number or 0
            _, moved = edits.moved_out(page, number, self._basis.today)
            home = edits.moved_in(home, moved, self._numbers[number], self._basis.today)
        return home

    def _free(self, path: str) -> str:
        stem = f"{self._kept.root}{path.removeprefix(self._gone.root)}".removesuffix(".md")
        free = free_path(stem, self._taken)
        self._taken.add(free)
        return free

    # What both know, and where they differ

    def _compare(self) -> None:
        holdings = Holdings(self._pages)
        for number in sorted(self._came):
            while (entry := holdings.find(number)) is not None and (changed := self._meet(entry, holdings)):
                self._pages.update(changed)
                holdings.put(changed)

    def _meet(self, entry: Entry, holdings: Holdings) -> dict[str, Page]:
        """The pages that change because an entry that came meets those that were there."""
        data = entry.data
        statement, subject = entry.belief.statement, data.subject or SELF
        wording = Wording(statement, subject, data.predicate, data.value, self._basis.aliases)
        others = [
            other
            for other in holdings.about(wording, None)
            if other.number not in self._came and other.belief.current == entry.belief.current
        ]
        same = [other for other in others if self._same(entry, other, wording)]
        rivals = [other for other in others if other not in same and self._rivals(entry, other, wording)]
        for other in (*same, *rivals):
            with suppress(KeyError, PageUnreadable):  # something a person did to the line: both stay as they are
                if changed := self._met(entry, other, holdings, known=other in same):
                    return changed
        return {}

    def _met(self, entry: Entry, other: Entry, holdings: Holdings, *, known: bool) -> dict[str, Page]:
        if known:
            return self._folded(entry, other, holdings)
        return self._ended(*((other, entry) if self._later(entry, other) else (entry, other)), holdings)

    def _same(self, entry: Entry, other: Entry, wording: Wording) -> bool:
        if not entry.belief.current:
            return entry.belief.text == other.belief.text
        if self._over(entry) or self._over(other):
            return False
        many = entry.data.many or other.data.many
        return wording.said_by(other.belief, same_message=False, many=many)

    def _rivals(self, entry: Entry, other: Entry, wording: Wording) -> bool:
        if not entry.belief.current or entry.data.many or other.data.many:
            return False
        return not self._over(entry) and not self._over(other) and wording.same_question(other.data)

    def _over(self, entry: Entry) -> bool:
        return entry.data.until is not None and entry.data.until < self._basis.today

    def _folded(self, entry: Entry, other: Entry, holdings: Holdings) -> dict[str, Page]:
        """One entry of two that say the same: the one that was there. One to which a person added something stays
        beside it."""
        today, pages = self._basis.today, dict[str, Page]()
        label = stricter(entry.belief.visibility, other.belief.visibility)
        pinned = other.data.pinned or entry.data.pinned
        if (label, pinned) != (other.belief.visibility, other.data.pinned):
            page, known = self._ready(other, holdings)
            data = replace(known.data, visibility=label, pinned=pinned)
            pages[other.path] = edits.with_data(page, known.number or 0, data, today)
        theirs = pages.get(entry.path, self._pages[entry.path])
        if _is_bare(theirs, entry):
            pages[entry.path] = edits.purged(theirs, entry.number or 0, today)
            self._known += 1
        elif entry.belief.visibility is not label:
            data = replace(entry.data, visibility=label)
            pages[entry.path] = edits.with_data(theirs, entry.number or 0, data, today)
        return pages

    def _ended(self, loser: Entry, winner: Entry, holdings: Holdings) -> dict[str, Page]:
        """The one that was said earlier goes to 历史, or ends on the eve of what is to come."""
        today = self._basis.today
        page, loser = self._ready(loser, holdings)
        number = loser.number or 0
        start = winner.data.since or self._day(winner)
        if start > today and not (loser.data.since and loser.data.since >= start):
            eve = start - timedelta(days=1)
            if loser.data.until and loser.data.until <= eve:
                return {}
            page = edits.with_data(page, number, replace(loser.data, until=eve), today)
        else:
            page = edits.retired(page, number, self._last_day(loser, winner, start), "", today, winner.data.source)
        pages = {loser.path: page}
        if loser.data.pinned and winner.number is not None and not winner.data.pinned:
            theirs = pages.get(winner.path, self._pages[winner.path])
            data = replace(winner.data, pinned=True)
            pages[winner.path] = edits.with_data(theirs, winner.number, data, today)
        self._settled += 1
        return pages

    def _ready(self, entry: Entry, holdings: Holdings) -> tuple[Page, Entry]:
        """The page of an entry on which it has a number and data of its own, and the entry as it is there."""
        page, today = self._pages[entry.path], self._basis.today
        if entry.number is None:
            if entry.lent or holdings.copied(entry.path):
                raise KeyError(entry.path)
            page, after = edits.numbered(page, self._next, today, since=today)
            self._next = after
            line = entry.belief.line
            belief = next(one for one in page.beliefs if one.line == line)
            return page, Entry(entry.path, belief)
        if entry.lent:
            page = edits.with_data(page, entry.number, entry.data, today)
        return page, entry

    # When

    def _later(self, entry: Entry, other: Entry) -> bool:
        """Whether `entry` was said after `other`. What was inferred never displaces what was said or written."""
        inferred = [one.data.how == "inferred" for one in (entry, other)]
        if inferred[0] != inferred[1]:
            return inferred[1]
        return self._said(entry) > self._said(other)

    def _said(self, entry: Entry) -> datetime:
        said = self._basis.said.get(entry.data.source or "")
        day = entry.data.since or self._pages[entry.path].updated
        return said or (self._morning(min(day, self._basis.today)) if day else datetime.min.replace(tzinfo=UTC))

    def _day(self, entry: Entry) -> date:
        said = self._said(entry)
        return self._basis.today if said.year == 1 else day_of(said, self._basis.zone)

    def _morning(self, day: date) -> datetime:
        return datetime.combine(day, time(), self._basis.zone)

    def _last_day(self, loser: Entry, winner: Entry, start: date) -> date:
        """The last day of an entry that gives way to one that holds from `start` on."""
        since, until = loser.data.since, loser.data.until
        if until is not None and until < start:
            return until
        return start if since is None or since <= start else self._day(winner)


def _numbered(pages: Mapping[str, Page], today: date) -> dict[str, Page]:
    """The pages with a number on each entry that has none of its own, wherever that can be given."""
    holdings = Holdings(pages)
    for path in sorted(pages):
        if any(entry.number is None for entry in holdings.on(path)):
            with suppress(KeyError, PageUnreadable):
                first, taken = holdings.next_number(), holdings.copied(path)
                page, _ = edits.numbered(holdings.pages[path], first, today, since=today, taken=taken)
                holdings.put({path: page})
    return holdings.pages


def _is_bare(page: Page, entry: Entry) -> bool:
    """Whether nobody added to the line of an entry: nothing is nested in it, and no comment stands behind it."""
    item = entry.belief.item
    own = next((bullet.own for bullet in page.layout.bullets if bullet.item == item), None)
    one_line = item.end == item.own and item.own - item.start == 1
    return own is not None and one_line and own.raw.strip() == own.text and not entry.data.more
