"""The index of what was said: which entries it holds, and how it keeps up with the log.

One file per space, one document per session, one entry per message or reply. Nothing is indexed while a turn runs: the
log is read on from where the index stands when somebody searches, or when there is nothing else to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import groupby

from qingtuan.errors import LimitReached
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, event_from_row
from qingtuan.identity.redaction import mask
from qingtuan.indexes.base import Entry, Progress, Query
from qingtuan.indexes.indexes import Index
from qingtuan.memory.wiki.one_line import flat
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database

TALK = "(e.kind = 'message.received' OR e.kind = 'message.sent')"
"""The condition of the indexes `talk_…` on `events AS e`, word for word."""

_LOG = ("log", "position")
"""Scope and document whose stamp says up to which event the log has been indexed; it holds no entries."""

_PAGE = 2000
"""Events that are read at once."""

_NO_DELAY = 5000
"""Events that a search indexes before it looks; more of them are left to `catch_up`."""

_EMBEDDED_AT_ONCE = 200

NEIGHBOURS = 0.3
"""How much a line lends to the next one in a search: the answer stands next to the question."""

_LONGEST = 2000
"""Characters of a message that are indexed."""


def label_of(space: Space, session: str, seq: int) -> str:
    """The label of the entry of an event, by which a search is kept within the sight of its reader.

    A private chat is seen whole or not at all. Of a group somebody may see no more than the stretch between two
    messages, so there each entry has a label of its own: the position of its event in the log.
    """
    return str(seq) if space.is_group else session


def entry_of(event: Event) -> Entry | None:
    """What the index holds of an event; None for what is no talk, has no words, or was forgotten. Pure."""
    space, session, payload = event.place.space, event.place.session, event.payload
    received = event.kind is Kind.MESSAGE_RECEIVED and event.place.person is not None
    replied = event.kind is Kind.MESSAGE_SENT and payload.get("kind") == "reply"
    if not (received or replied) or space is None or session is None:
        return None
    text = masked(payload.get("text") or "", _LONGEST)
    if not text:
        return None
    return Entry(event.id, session, str(space), label_of(space, session, event.seq), text, event.time.timestamp())


def masked(text: str, longest: int, *, keep_phone: bool = False) -> str:
    """`text` on one line with its secrets covered, cut to `longest` characters."""
    # Cut far behind what is kept, so that a secret that begins before the end is still known as one.
    line = flat(mask(text[: longest + 4000], keep_phone=keep_phone).text)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


class Episodes:
    """Finds what was said by its meaning."""

    def __init__(self, log: Log, index: Index) -> None:
        self._log = log
        self._index = index
        self._position: int | None = None
        self._feeding = asyncio.Lock()

    async def search(self, query: Query, *, before: int | None = None) -> list[str]:
        """Ids of the events that answer a query, best first, out of what stands before position `before` of the log."""
        last = newest_position(self._log.database) if before is None else before - 1
        if last - await self._reached() <= _NO_DELAY:
            await self.feed(last)
        hits = await asyncio.to_thread(self._index.search, query)
        return [hit.entry_id for hit in hits]

    async def catch_up(self) -> None:
        """At start, and whenever there is nothing else to do: build anew what is missing, index what is new."""
        if self._index.needs_rebuild:
            with suppress(LimitReached):  # somebody else is at it
                await self.rebuild()
        await self.feed()
        await asyncio.to_thread(self._index.catch_up, _EMBEDDED_AT_ONCE)

    async def feed(self, until: int | None = None) -> None:
        """Index what was said up to position `until` of the log, None for all."""
        async with self._feeding:
            reached = await self._reached()
            last = newest_position(self._log.database) if until is None else until
            while reached < last:
                page = min(reached + _PAGE, last)
                await self._take(reached, page)
                self._position = reached = page

    async def rebuild(self, progress: Progress | None = None) -> None:
        """Build the index anew from the log. The old one answers meanwhile.

        Raises:
            LimitReached: another rebuild is running.
        """
        await asyncio.to_thread(self._rebuild, progress)
        self._position = None

    def _rebuild(self, progress: Progress | None) -> None:
        with closing(Database(self._log.database.path, read_only=True)) as database:
            self._index.rebuild(_entries(database), stamps=_stamps(database), progress=progress)

    async def _reached(self) -> int:
        """The position up to which the log has been indexed."""
        if self._position is None:
            stamps = await asyncio.to_thread(self._index.stamps)
            self._position = int(stamps.get(_LOG) or 0)
        return self._position

    async def forget(self, person: str) -> None:
        """Take out what the log no longer holds of a person, and leave no byte of it on the disk.

        A `person.forgotten` event does the same when it is indexed, for what was erased together with it.
        """
        async with self._feeding:
            await self._forget(person)

    async def forget_in(self, talk: Mapping[str, Sequence[str]]) -> None:
        """The same for sessions, by space, in which something was erased."""
        async with self._feeding:
            await self._forget_in(talk)

    def entries(self) -> Iterator[Entry]:
        """Everything that the index should hold, read from the log: for rebuilding and verifying it."""
        return _entries(self._log.database)

    def stamps(self) -> Mapping[tuple[str, str], str]:
        """How far the log reaches, as the index notes it. To be taken before `entries` are read."""
        return _stamps(self._log.database)

    async def _take(self, after: int, last: int) -> None:
        sql = (
            "SELECT e.* FROM events AS e WHERE e.seq > ? AND e.seq <= ?"  # noqa: S608 (placeholders)
            f" AND ({TALK} OR e.kind = 'person.forgotten') ORDER BY e.seq"
        )
        events = [event_from_row(row) for row in self._log.database.rows(sql, (after, last))]
        if not events:
            return
        await asyncio.to_thread(self._add, events)
        for event in events:
            if event.kind is Kind.PERSON_FORGOTTEN and event.place.person:
                await self._forget(event.place.person)
        scope, document = _LOG
        await asyncio.to_thread(self._index.replace, scope, document, [], stamp=str(last))

    def _add(self, events: Iterable[Event]) -> None:
        found = [entry for event in events if (entry := entry_of(event)) is not None]
        for scope, entries in groupby(sorted(found, key=_scope), _scope):
            self._index.add(scope, list(entries))

    async def _forget(self, person: str) -> None:
        sql = f"SELECT DISTINCT e.space, e.session FROM events AS e WHERE e.person = ? AND {TALK}"  # noqa: S608
        touched: dict[str, list[str]] = {}
        for row in self._log.database.rows(sql, (person,)):
            if row["space"] and row["session"]:
                touched.setdefault(row["space"], []).append(row["session"])
        await self._forget_in(touched)

    async def _forget_in(self, talk: Mapping[str, Sequence[str]]) -> None:
        for scope, sessions in talk.items():
            if any(True for _ in _entries_in(self._log.database, scope)):
                left = {session: list(self._of_session(scope, session)) for session in sessions}
                await asyncio.to_thread(self._replace, scope, left)
            else:
                await asyncio.to_thread(self._index.drop, scope)

    def _of_session(self, space: str, session: str) -> Iterator[Entry]:
        for event in self._log.of_session(session, kinds=(Kind.MESSAGE_RECEIVED, Kind.MESSAGE_SENT)):
            entry = entry_of(event)
            if entry is not None and entry.scope == space:
                yield entry

    def _replace(self, scope: str, documents: Mapping[str, list[Entry]]) -> None:
        for document, entries in documents.items():
            if entries:
                self._index.replace(scope, document, entries)
            else:
                self._index.remove(scope, document)
        self._index.scrub(scope)


def newest_position(database: Database) -> int:
    """Position of the newest event; 0 for an empty log."""
    row = database.row("SELECT MAX(seq) AS last FROM events")
    return (row["last"] if row else None) or 0


def spaces_of(database: Database) -> list[str]:
    """Every space in which anything was said. The cost goes by the number of spaces."""
    return [row["space"] for row in database.rows(_SPACES)]


def _entries(database: Database) -> Iterator[Entry]:
    """All entries, space by space, as far as the log reaches when the first one is asked for."""
    last = newest_position(database)
    for space in spaces_of(database):
        yield from _entries_in(database, space, last)


def _entries_in(database: Database, space: str, last: int | None = None) -> Iterator[Entry]:
    sql = (
        "SELECT e.* FROM events AS e INDEXED BY talk_in_space"  # noqa: S608 (placeholders)
        f" WHERE e.space = ? AND e.seq > ? AND e.seq <= ? AND {TALK} ORDER BY e.seq LIMIT ?"
    )
    after, end = 0, newest_position(database) if last is None else last
    while rows := database.rows(sql, (space, after, end, _PAGE)):
        yield from (entry for row in rows if (entry := entry_of(event_from_row(row))) is not None)
        after = rows[-1]["seq"]


def _stamps(database: Database) -> Mapping[tuple[str, str], str]:
    return {_LOG: str(newest_position(database))}


def _scope(entry: Entry) -> str:
    return entry.scope


# SQLite reads an index whole to tell its different values; this leaps from one to the next.
_SPACES = f"""
    WITH RECURSIVE place (space) AS (
        SELECT (SELECT MIN(e.space) FROM events AS e INDEXED BY talk_in_space WHERE {TALK})
        UNION ALL
        SELECT (
            SELECT MIN(e.space) FROM events AS e INDEXED BY talk_in_space WHERE e.space > place.space AND {TALK}
        )
        FROM place WHERE place.space IS NOT NULL
    )
    SELECT space FROM place WHERE space IS NOT NULL"""  # noqa: S608 (our own words)
