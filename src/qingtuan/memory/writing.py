"""One write: planned on the pages as they are, planned again where somebody was faster, and told in events.

Nothing is overwritten unread, and what became of every belief on the written pages stands in the log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from qingtuan.clock import Clock, day_of
from qingtuan.errors import PageChanged, StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.identity.people import People
from qingtuan.identity.privacy import may_write
from qingtuan.identity.scopes import Role, Scope
from qingtuan.ids import Ids
from qingtuan.language import Language, Words
from qingtuan.memory.acts import By
from qingtuan.memory.beliefs import Standing, event_time
from qingtuan.memory.holdings import HIGHEST, Entry, Holdings
from qingtuan.memory.known import Known, type_of
from qingtuan.memory.library import Library
from qingtuan.memory.wiki import edits
from qingtuan.memory.wiki.bullets import CHINESE
from qingtuan.memory.wiki.page import Page
from qingtuan.memory.wiki.store import Change, Written
from qingtuan.memory.wiki.walls import scope_of

_TRIES = 5
_A_MOMENT = timedelta(milliseconds=1)
_UNDER_WAY = timedelta(minutes=10)
"""How long a message is on its way that was said just now."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Pages as they are to be, and what to say of it in the commit."""

    pages: Mapping[str, Page]
    message: str


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Pages as they are to be, byte for byte, and what to say of it in the commit."""

    changes: Sequence[Change]
    message: str
    undoes: Sequence[str] = ()
    """The writes that it takes back."""
    joins: str | None = None
    """A commit from elsewhere that becomes a part of the history with them."""


class Writer:
    """Writes to the pages of one library."""

    def __init__(self, library: Library, log: Log, people: People, ids: Ids, clock: Clock) -> None:
        self.library = library
        self.log = log
        self._people = people
        self._ids = ids
        self._clock = clock
        self._highest: dict[Scope, int] = {}
        """By scope, the highest number that was ever given, as far as events know."""
        self._again: dict[Scope, dict[int, list[str]]] = {}
        """By scope and number, the events in which somebody said again what an entry says."""
        self._lock = asyncio.Lock()
        """Two plans on different pages of a scope would take the same number."""

    # What a plan rests on

    def day(self, by: By) -> date:
        """Today for the person."""
        return day_of(self._clock.now(), by.zone)

    def standing(self, scope: Scope, by: By, text: str = "") -> Standing:
        """What a decision rests on. A page that `text` has to be written on speaks the language of the text."""
        return Standing(
            holdings=self.library.holdings(scope),
            today=self.day(by),
            zone=by.zone,
            page_id=self._ids.page(),
            language=language_of(text) if text else by.language,
            floor=self.floor(scope),
            aliases=self.library.aliases(),
            unreadable=self.library.unreadable(scope) | self.library.notes(scope).keys(),
            root=f"{scope.folder}/",
            said=self._heard(by),
            again=lambda number: self.told_again(scope).get(number, ()),
            edited=self.edited,
        )

    def floor(self, scope: Scope) -> int:
        """The highest number that the scope ever had: it may have been on an entry that is gone."""
        if scope not in self._highest:
            row = self.log.database.row(
                "SELECT max(number) AS highest FROM ("
                "SELECT json_extract(payload, '$.number') AS number FROM events"
                " WHERE kind IN (?1, ?2, ?3) AND json_extract(payload, '$.scope') = ?5"
                # What somebody wrote for a group who was forgotten since.
                " UNION ALL SELECT n.value FROM events AS e, json_each(e.payload, '$.numbers') AS n"
                " WHERE e.kind = ?4 AND n.key = ?5) WHERE number <= ?6",
                (
                    Kind.BELIEF_WRITTEN,
                    Kind.BELIEF_RETRACTED,
                    Kind.BELIEF_PURGED,
                    Kind.PERSON_FORGOTTEN,
                    str(scope),
                    HIGHEST,
                ),
            )
            self._highest[scope] = (row["highest"] or 0) if row else 0
        return self._highest[scope]

    def may_write(self, by: By, scope: Scope) -> bool:
        """Whether the person may write there."""
        person = self._people.person(by.reader.person)
        allowed = person is not None and by.reader.space.id in person.writes_groups
        return may_write(by.reader, scope, writes_group=allowed)

    def may_change(self, by: By, path: str) -> bool:
        """Whether the person may change this page of a scope that they may write: rules of a group are the owner's."""
        scope = scope_of(path)
        if scope is None or scope.kind != "group" or by.reader.role is Role.OWNER:
            return True
        page = self.library.holdings(scope).pages.get(path)
        return "/rules/" not in path and (page is None or type_of(path, page) != "rule")

    def ready(self, holdings: Holdings, path: str, by: By) -> Page:
        """A page on which each entry has a number and data of its own, so that any of them can be edited."""
        scope, page, today = scope_of(path), holdings.pages[path], self.day(by)
        if scope is not None and any(entry.number is None for entry in holdings.on(path)):
            first = holdings.next_number(self.floor(scope))
            page, _ = edits.numbered(page, first, today, since=today, taken=holdings.copied(path))
        for entry in holdings.on(path):
            if entry.lent and entry.number is not None:
                page = edits.with_data(page, entry.number, entry.data, today)
        return page

    def _heard(self, by: By) -> Callable[[str], datetime | None]:
        """When the statement in an event was made, for whoever decides about what `by` said. Nothing that stands there
        can have been said in the future: if it seems so, the clock was set back, and it came before."""
        now = self._clock.now()
        before = by.said_at - _A_MOMENT if now - by.said_at < _UNDER_WAY else now

        def said(event: str) -> datetime | None:
            found = self.said(event)
            return found if found is None or found <= max(now, by.said_at) else before

        return said

    def said(self, event: str) -> datetime | None:
        """When something was said. A message may have been on its way for a while."""
        found = self.log.get(event)
        said_at = found.payload.get("said_at") if found else None
        return datetime.fromisoformat(said_at) if said_at else event_time(event)

    def told_again(self, scope: Scope) -> dict[int, list[str]]:
        """By number, the events in which somebody said again what the entry says."""
        if scope not in self._again:
            found = self._again[scope] = {}
            rows = self.log.database.rows(
                "SELECT json_extract(payload, '$.number') AS number, cause FROM events"
                " WHERE kind = ? AND json_extract(payload, '$.again') AND json_extract(payload, '$.scope') = ?"
                " AND cause IS NOT NULL ORDER BY seq",
                (Kind.BELIEF_WRITTEN, str(scope)),
            )
            for row in rows:
                found.setdefault(row["number"], []).append(row["cause"])
        return self._again[scope]

    def edited(self, path: str) -> datetime | None:
        """When a page was last changed by hand."""
        row = self.log.database.row(
            "SELECT e.time FROM events AS e, json_each(e.payload, '$.pages') AS page"
            " WHERE e.kind = ? AND json_extract(page.value, '$.path') = ? ORDER BY e.seq DESC LIMIT 1",
            (Kind.PAGE_EDITED, path),
        )
        return datetime.fromtimestamp(row["time"] / 1000, UTC) if row else None

    # Writing

    async def write(self, by: By, plan: Callable[[], Plan | None]) -> Written | None:
        """Carry out what `plan` says of the pages as they are; None for nothing.

        Raises:
            StorageFailed: the disk refuses, or somebody keeps changing the pages.
            PageUnreadable, LimitReached: something else stands there; a page would be too long.
        """
        async with self._lock:
            for _ in range(_TRIES):
                wanted = plan()
                if wanted is None:
                    return None
                with suppress(PageChanged):
                    return await self._written(wanted, by)
        raise StorageFailed(_KEEPS_CHANGING)

    async def _written(self, wanted: Plan, by: By) -> Written | None:
        """Write what was planned. Raises `PageChanged` if somebody changed a page meanwhile."""
        paths = tuple(wanted.pages)
        before = dict(self.numbered(paths))
        changes = [Change(path, self.library.content(path), page.to_bytes()) for path, page in wanted.pages.items()]
        try:
            written = await self.library.store.write(changes, by.place, cause=by.cause, message=wanted.message)
        except PageChanged:
            self.library.follow(paths)
            raise
        self.library.wrote(wanted.pages)
        self.tell(before, dict(self.numbered(paths)), by)
        return written

    async def replace(
        self,
        by: By,
        changes: Sequence[Change],
        place: Place,
        *,
        cause: str | None,
        message: str,
        undoes: Sequence[str] = (),
    ) -> Written | None:
        """Make pages what `changes` say, byte for byte, and tell what became of the entries on them; None for nothing.

        Raises as `WikiStore.write`, `PageChanged` too: whoever planned the changes has to look again.
        """
        paths = [change.path for change in changes]
        async with self._lock:
            self.library.follow(paths)
            before = dict(self.numbered(paths))
            written = await self.library.store.write(changes, place, cause=cause, message=message, undoes=undoes)
            self.library.follow(paths)
            self.tell(before, dict(self.numbered(paths)), by)
        return written

    async def arrange(self, by: By, plan: Callable[[], Awaitable[Arrangement | None]]) -> Written | None:
        """Carry out a plan that moves and deletes whole pages, in one write, and tell what became of the entries on
        them; None for nothing.

        Raises:
            StorageFailed: the disk refuses, or somebody keeps changing the pages.
            PageUnreadable, LimitReached: something else stands there; a page would be too long.
        """
        async with self._lock:
            for _ in range(_TRIES):
                wanted = await plan()
                if wanted is None:
                    return None
                paths = [change.path for change in wanted.changes]
                before = dict(self.numbered(paths))
                try:
                    written = await self._arranged(wanted, by)
                except PageChanged:
                    self.library.follow(paths)
                    continue
                self.library.follow(paths)
                self.tell(before, dict(self.numbered(paths)), by)
                return written
        raise StorageFailed(_KEEPS_CHANGING)

    async def _arranged(self, wanted: Arrangement, by: By) -> Written | None:
        store, changes, message = self.library.store, wanted.changes, wanted.message
        if wanted.joins is not None:
            return await store.join(wanted.joins, changes, by.place, cause=by.cause, message=message)
        return await store.write(changes, by.place, cause=by.cause, message=message, undoes=wanted.undoes)

    def ever_given(self, scope: Scope) -> dict[int, set[str]]:
        """The numbers that entries of a scope ever had, as far as events know, and all that these said."""
        rows = self.log.database.rows(
            "SELECT json_extract(payload, '$.number') AS number, json_extract(payload, '$.text') AS text FROM events"
            " WHERE kind IN (?, ?) AND json_extract(payload, '$.scope') = ?",
            (Kind.BELIEF_WRITTEN, Kind.BELIEF_RETRACTED, str(scope)),
        )
        given: dict[int, set[str]] = {}
        for row in rows:
            if row["number"] is not None:
                given.setdefault(row["number"], set()).add(row["text"])
        return given

    def numbered(self, paths: Iterable[str]) -> Iterator[tuple[tuple[Scope, int], Entry]]:
        """The entries with a number on these pages, by scope and number."""
        for path in paths:
            if (scope := scope_of(path)) is not None:
                for entry in self.library.holdings(scope).on(path):
                    if entry.number is not None:
                        yield (scope, entry.number), entry

    def tell(self, before: Mapping[tuple[Scope, int], Entry], after: Mapping[tuple[Scope, int], Entry], by: By) -> None:
        """Write down what became of each belief: written, changed, moved to history, or gone."""
        with self.log.transaction():
            for scope, number in sorted(before.keys() | after.keys()):
                old, new = before.get((scope, number)), after.get((scope, number))
                self._highest[scope] = max(self.floor(scope), number if number <= HIGHEST else 0)
                if new is None and old is not None:
                    self._append(Kind.BELIEF_RETRACTED, scope, old, by, gone=True)
                elif new is not None and (old is None or not _same(old, new)):
                    if old is not None and old.belief.current and not new.belief.current:
                        # As it was believed: the line in history has the reason in it, too.
                        over = replace(new, belief=replace(new.belief, text=old.belief.text, current=True))
                        self._append(Kind.BELIEF_RETRACTED, scope, over, by)
                    else:
                        self._append(Kind.BELIEF_WRITTEN, scope, new, by)

    def seen_again(self, known: Known, by: By) -> None:
        """Write down that somebody said what stands there already."""
        if known.belief.number is not None:
            self.told_again(known.scope).setdefault(known.belief.number, []).append(by.cause)
        self._append(Kind.BELIEF_WRITTEN, known.scope, Entry(known.path, known.belief), by, again=True)

    def _append(self, kind: Kind, scope: Scope, entry: Entry, by: By, **more: bool) -> None:
        self.log.append(kind, by.place, facts(scope, entry) | more, origin=by.origin, cause=by.cause)


def facts(scope: Scope, entry: Entry) -> dict[str, object]:
    """What an event says of a belief."""
    data = entry.data
    found: dict[str, object | None] = {
        "scope": str(scope),
        "number": entry.number,
        "path": entry.path,
        "text": entry.belief.statement,
        "subject": data.subject,
        "predicate": data.predicate,
        "value": data.value,
        "since": data.since and data.since.isoformat(),
        "until": data.until and data.until.isoformat(),
        "how": data.how,
        "visibility": str(entry.belief.visibility),
    }
    return {name: value for name, value in found.items() if value is not None}


def language_of(text: str) -> Language:
    """The language that a sentence is in."""
    return "zh" if CHINESE.search(text) else "en"


def _same(old: Entry, new: Entry) -> bool:
    return (old.belief.text, old.belief.current, old.data) == (new.belief.text, new.belief.current, new.data)


_KEEPS_CHANGING = Words("这一页一直在变，写不进去。", "The page keeps changing; it cannot be written.")
