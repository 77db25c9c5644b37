"""The pages of the wiki, read through the privacy filter, and the index that finds what stands on them.

Pages are parsed once per content. Whatever is shown has passed a `Sight`; what takes none (`holdings`, `notes`,
`entries`) serves writing and indexing, which look at a scope as a whole and show nothing to anybody.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date

from qingtuan.clock import Clock
from qingtuan.errors import NotThere, PageUnreadable, StorageFailed
from qingtuan.identity.privacy import Sight
from qingtuan.identity.scopes import SHARED, Scope, Visibility
from qingtuan.indexes.base import Entry, Hit, Query
from qingtuan.indexes.indexes import Index
from qingtuan.memory import indexing
from qingtuan.memory.current import Current
from qingtuan.memory.holdings import Holdings
from qingtuan.memory.keeping import Keeping, Rules, page_of, rules_of
from qingtuan.memory.known import BY_HAND, Known, Note, origin_of
from qingtuan.memory.likeness import parse_aliases
from qingtuan.memory.room import Room
from qingtuan.memory.wiki.listing import Problem
from qingtuan.memory.wiki.page import Page, parse
from qingtuan.memory.wiki.store import WikiStore
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.storage.files import content_hash

_ALIASES = "shared/aliases.md"
"""The table of names for predicates; a page, so that the owner can edit it."""

_WIDER = 4
"""By how much a search asks for more when what it found is not wanted."""
_MANY = 200
"""Pages from which on an empty index is filled at once."""
_WIDEST = 500
"""Hits beyond which it does not ask for more."""


class Library:
    """Reads the wiki and keeps the index in step with its pages. What it knows of a page is what the store last saw."""

    def __init__(self, store: WikiStore, index: Index) -> None:
        self.store = store
        self._index = index
        self._rooms: dict[Scope, Room] = {}
        self._revisions: dict[Scope, int] = {}
        """What the store had seen when a room was last brought up to date."""
        self._aliases: tuple[str | None, Mapping[str, str]] = (None, {})
        """What the page of aliases says, and the hash of the page that says so."""
        self._rules: dict[Scope, tuple[str | None, Rules]] = {}
        """The same of the pages that say what is to be remembered."""

    # Reading for somebody

    def scopes(self) -> list[Scope]:
        """The scopes that have pages."""
        return self.store.scopes()

    def beliefs(self, sight: Sight, scopes: Iterable[Scope] | None = None) -> list[Known]:
        """Every entry, current or past, that this reader may see, by scope, page and place on the page."""
        wanted = sight.searches(self.scopes() if scopes is None else scopes)
        return [known for scope, labels in wanted.items() for known in self._room(scope).visible(labels)]

    def current(self, sight: Sight, day: date) -> list[Current]:
        """What holds on a day and this reader may see, scope by scope; scopes with nothing of it are left out."""
        wanted = sight.searches(self.scopes()).items()
        found = (self._room(scope).current(labels, day) for scope, labels in wanted)
        return [current for current in found if current.entries]

    def counts(self, sight: Sight, day: date, *, by_hand: bool = False) -> dict[Scope, Counter[str]]:
        """How many entries hold on a day, by scope and kind, as far as this reader may be told; with `by_hand` only
        those that people wrote themselves. Scopes with none are left out."""
        found: dict[Scope, Counter[str]] = {}
        for scope in self.scopes():
            if sight.counts(scope):
                current = self._room(scope).current(sight.labels(scope) or frozenset(Visibility), day)
                counted = Counter(
                    known.type for known in current.entries if not by_hand or known.belief.data.how in BY_HAND
                )
                found |= {scope: counted} if counted else {}
        return found

    def page(self, sight: Sight, path: str) -> Page | None:
        """A page as it is now, for a reader who may see all of its scope; None for everybody else, and where there is
        none.

        Raises:
            PageUnreadable: it stands there and cannot be read.
        """
        scope = scope_of(path)
        if scope is None or not sight.whole(scope):
            return None
        snapshot = self.store.read(path)
        return self._room(scope).page(path) or parse(snapshot.data) if snapshot else None

    async def search(
        self,
        sight: Sight,
        text: str,
        limit: int,
        *,
        past: bool = False,
        wanted: Callable[[Known | Note], bool] = lambda _: True,
    ) -> list[Known | Note]:
        """What of the reader's sight answers a text, best first; history only with `past`. Of what is not `wanted`
        nothing is counted."""
        allowed, ask, looked = dict(self._findable(sight, past=past)), limit, False
        while True:
            hits = await asyncio.to_thread(self._index.search, Query(text, allowed, ask))
            if not looked and self.changed({hit.document for hit in hits}):
                allowed, looked = dict(self._findable(sight, past=past)), True  # brings the index up to date
                continue
            found = [one for one in self._found(sight, hits) if wanted(one)]
            if len(found) >= limit or len(hits) < ask or ask > _WIDEST:
                return found[:limit]
            ask *= _WIDER

    def _findable(self, sight: Sight, *, past: bool) -> Iterator[tuple[str, frozenset[str]]]:
        """The scopes to search with the labels that may come back. Where nothing is to be seen no file is opened."""
        for scope, visible in sight.searches(self.scopes()).items():
            room = self._room(scope)
            self._catch_up(room)
            if room.shows(visible):
                yield str(scope), indexing.labels_of(visible, past=past)

    def _found(self, sight: Sight, hits: Iterable[Hit]) -> Iterator[Known | Note]:
        """What stands behind hits, seen once more through the filter: an index is a cache and may lag behind."""
        for hit in hits:
            scope = scope_of(hit.document)
            if scope is None:
                continue
            number = indexing.paragraph_of(hit.entry_id)
            if number is None:
                known = self._room(scope).known(hit.document, hit.entry_id)
                if known is not None and sight.sees(scope, known.belief.visibility):
                    yield known
            elif note := self._note(sight, scope, hit.document, number):
                yield note

    def changed(self, paths: set[str]) -> bool:
        """Look at these pages: whether any is another by now than the one that was indexed."""
        self.store.glance(paths)
        return any(self._room(scope).unindexed for scope in {scope_of(path) for path in paths} if scope is not None)

    def _note(self, sight: Sight, scope: Scope, path: str, number: int) -> Note | None:
        page = self._room(scope).notes.get(path)
        if page is None or not sight.sees(scope, page.visibility):
            return None
        pieces = indexing.paragraphs(page)
        return Note(scope, path, page.title, pieces[number], origin_of(page)) if number < len(pieces) else None

    # Reading for writing and indexing

    def holdings(self, scope: Scope) -> Holdings:
        """The pages with entries of a scope, and the entries: as last looked at, kept up as that changes."""
        return self._room(scope).holdings

    def notes(self, scope: Scope) -> Mapping[str, Page]:
        """The notes of a scope by path, as last looked at."""
        return self._room(scope).notes

    def unreadable(self, scope: Scope) -> frozenset[str]:
        """Paths of a scope where something stands that is no readable page."""
        refused = {problem.path for problem in self.store.problems() if scope_of(problem.path) == scope}
        return frozenset(refused | self._room(scope).unreadable)

    def problems(self) -> list[Problem]:
        """Every file of the wiki that is no readable page, and why: for whoever has to mend it."""
        found = {problem.path: problem.words for problem in self.store.problems()}
        for scope in self.scopes():
            for path in self._room(scope).unreadable:
                try:
                    snapshot = self.store.read(path)
                    parse(snapshot.data if snapshot else b"")
                except (PageUnreadable, NotThere) as error:
                    found[path] = error.words
        return [Problem(path, words) for path, words in sorted(found.items())]

    def content(self, path: str) -> str | None:
        """The hash of the page at `path` as it was last read; None where there is none."""
        scope = scope_of(path)
        room = self._room(scope) if scope is not None else None
        return room.hashes[path] if room and room.page(path) else None

    def aliases(self) -> Mapping[str, str]:
        """The other names of predicates, as `parse_aliases` gives them."""
        digest = self.store.hash_of(_ALIASES)
        if self._aliases[0] != digest:
            page = self._room(SHARED).page(_ALIASES) if digest else None
            self._aliases = (digest, parse_aliases(page) if page else {})
        return self._aliases[1]

    def keeping(self, person: str, *, by_owner: bool) -> Keeping:
        """What is always and never to be remembered of what a person says, as the pages say it now."""
        own = Scope.of_person(person)
        self.store.glance(map(page_of, (SHARED, own)))
        return Keeping(self.rules(SHARED), self.rules(own), by_owner)

    def rules(self, scope: Scope) -> Rules:
        """What the page of a scope says is always and never to be remembered."""
        path = page_of(scope)
        digest = self.store.hash_of(path)
        known = self._rules.get(scope)
        if known is None or known[0] != digest:
            page = self._room(scope).page(path) if digest else None
            known = self._rules[scope] = (digest, rules_of(page, path) if page else Rules())
        return known[1]

    def known(self, scope: Scope, number: int) -> Known | None:
        """The entry of this number, whoever may see it."""
        return self._room(scope).numbered(number)

    def _room(self, scope: Scope) -> Room:
        """What is known of a scope, brought up to date with what the store last saw."""
        revision, room = self.store.revision, self._rooms.get(scope)
        if room is not None and self._revisions.get(scope) == revision:
            return room
        if room is None:
            room = self._rooms[scope] = Room(scope)
            room.take({path: self._read(path) for path in self.store.hashes_of(scope)})
        elif changed := self._changed(room, self._revisions[scope]):
            room.take({path: self._read(path) if digest else None for path, digest in changed.items()})
        self._revisions[scope] = revision
        return room

    async def prepare(self, clock: Clock) -> None:
        """Read all pages, a few at a time, so that the first turn need not: while it stays, others go first."""
        for scope in self.scopes():
            revision, read = self.store.revision, dict[str, tuple[str, Page | None] | None]()
            for path in self.store.paths(scope):
                if scope in self._rooms:
                    break
                read[path] = self._read(path)
                await clock.sleep(0)
            if scope not in self._rooms:
                room = self._rooms[scope] = Room(scope)
                room.take(read)
                self._revisions[scope] = revision

    def _changed(self, room: Room, revision: int) -> dict[str, str | None]:
        """The pages of a room that are others by now than those that it holds, with their hashes."""
        paths = self.store.changed_since(revision)
        if paths is None:
            now, held = self.store.hashes_of(room.scope), room.hashes
            return {path: now.get(path) for path in now.keys() | held.keys() if now.get(path) != held.get(path)}
        found = {path: self.store.hash_of(path) for path in paths if scope_of(path) == room.scope}
        return {path: digest for path, digest in found.items() if room.hashes.get(path) != digest}

    def _read(self, path: str) -> tuple[str, Page | None] | None:
        """The hash and the page, None for one that cannot be parsed; None if there is no file to read."""
        try:
            snapshot = self.store.read(path)
        except (PageUnreadable, NotThere):
            return None  # reported by `WikiStore.problems`; it takes nothing else down
        if snapshot is None:
            return None
        try:
            return snapshot.hash, parse(snapshot.data)
        except PageUnreadable:
            return snapshot.hash, None

    def _look(self, path: str) -> None:
        """Let the store see what stands at `path` now."""
        try:
            self.store.read(path)
        except (PageUnreadable, NotThere):
            return

    # The index

    def wrote(self, pages: Mapping[str, Page]) -> None:
        """These pages were written as they are here: take them over without reading them again, and index them."""
        for path, page in pages.items():
            scope = scope_of(path)
            digest = content_hash(page.to_bytes())
            if scope in self._rooms and self.store.hash_of(path) == digest:
                self._rooms[scope].take({path: (digest, page)})
        self.follow(pages)

    def follow(self, paths: Iterable[str]) -> None:
        """Bring the index up to date with these pages: written, edited by hand, moved or gone."""
        by_scope: dict[Scope, set[str]] = {}
        for path in paths:
            if (scope := scope_of(path)) is not None:
                self._look(path)
                by_scope.setdefault(scope, set()).add(path)
        for scope, changed in by_scope.items():
            room = self._room(scope)
            room.unindexed |= changed
            self._catch_up(room)

    def settle(self) -> None:
        """Bring the index up to date with all that was seen of pages since."""
        for scope in list(self._rooms):
            self._catch_up(self._room(scope))

    def _catch_up(self, room: Room) -> None:
        """Index what changed on a scope's pages since that was last done."""
        for path in sorted(room.unindexed):
            try:
                if path in room.holdings.pages or path in room.notes:
                    stamp = indexing.stamp_of(room.hashes[path])
                    self._index.replace(str(room.scope), path, list(room.index_entries(path)), stamp=stamp)
                else:
                    self._index.remove(str(room.scope), path)
            except StorageFailed:
                return  # the pages are right, and the index is a cache: the next search tries again
            room.unindexed.discard(path)

    def catch_up(self) -> int:
        """At start: look only at pages whose content is not the one that was indexed. How many there were."""
        indexed, now = self._index.stamps(), self.stamps()
        stale = {path for (scope, path), stamp in now.items() if indexed.get((scope, path)) != stamp}
        gone = {path for scope, path in indexed if (scope, path) not in now}
        if not indexed and len(stale) > _MANY:
            self._fill(now)
        else:
            self.follow(sorted(stale | gone))
        return len(stale | gone)

    def _fill(self, stamps: Mapping[tuple[str, str], str]) -> None:
        """Put everything into an index that holds nothing: scope by scope in a fraction of the time of page by page."""
        for scope in self.scopes():
            room = self._room(scope)
            entries = [entry for path in sorted(room.hashes) for entry in room.index_entries(path)]
            own = {path: stamp for (name, path), stamp in stamps.items() if name == str(scope)}
            try:
                self._index.add(str(scope), entries, stamps=own)
            except StorageFailed:
                return  # it is a cache: the next search tries again

    def entries(self) -> Iterator[Entry]:
        """Everything that the index should hold, read from the pages: for rebuilding and verifying it."""
        for scope in self.scopes():
            room = self._room(scope)
            for path in sorted(room.hashes):
                yield from room.index_entries(path)

    def stamps(self) -> dict[tuple[str, str], str]:
        """The content of each page by scope and path, as the index notes it."""
        return {(str(scope_of(path)), path): indexing.stamp_of(digest) for path, digest in self.store.hashes().items()}
