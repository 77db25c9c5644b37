"""The beliefs of the wiki, read through the privacy filter, and the index that finds them.

Pages are parsed once per content. Whatever leaves this module has passed a `Sight`; the functions without one
(`pages`, `follow`) serve writing and indexing, which look at a scope as a whole and show nothing to anybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from qingtuan.errors import PageUnreadable
from qingtuan.identity.privacy import Sight
from qingtuan.identity.scopes import Scope
from qingtuan.indexes.base import Entry, Hit, Query
from qingtuan.indexes.indexes import Index
from qingtuan.memory.entries import Entry as Belonging
from qingtuan.memory.entries import Pages, entries
from qingtuan.memory.wiki.page import Belief, Page, parse
from qingtuan.memory.wiki.store import WikiStore
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.messages import Origin

_PAST = "/past"
"""Behind the visibility in the label of an entry that is history: it is searched only when the past is asked for."""

_TITLED = ("preference", "rule", "project", "event", "task")
"""Types of pages whose title says what their entries are about, so that it belongs to what is searched."""

_PARAGRAPH = 400
"""Characters of a note that make one entry of the index, about."""


@dataclass(frozen=True, slots=True)
class Known:
    """A belief with its place: whose it is, and where it stands."""

    scope: Scope
    path: str
    type: str | None
    title: str
    belief: Belief

    @property
    def name(self) -> str:
        """Its permanent name for people: `12`, shared `G12`, a group's `群12`; empty if it has no number yet."""
        prefix = {"user": "", "shared": "G", "group": "群"}[self.scope.kind]
        return f"{prefix}{self.belief.number}" if self.belief.number is not None else ""


@dataclass(frozen=True, slots=True)
class Note:
    """A piece of a note that was found."""

    scope: Scope
    path: str
    title: str
    text: str
    foreign: bool
    """Whether it was made from material."""


class Library:
    """Reads beliefs and keeps their index in step with the pages."""

    def __init__(self, store: WikiStore, index: Index) -> None:
        self.store = store
        self._index = index
        self._parsed: dict[str, tuple[str, Page]] = {}
        """Pages by path, with the hash of the bytes they were parsed from."""
        self._known: dict[Scope, dict[tuple[str, str], Known]] = {}
        """Entries by path and id, of scopes whose pages are still those that they were read from."""

    # Reading

    def scopes(self) -> list[Scope]:
        """The scopes that have pages."""
        return sorted({scope for path in self.store.hashes() if (scope := scope_of(path)) is not None})

    def beliefs(self, sight: Sight, scopes: Iterable[Scope] | None = None) -> list[Known]:
        """Every entry, current or past, that this reader may see, by scope, page and place on the page."""
        wanted = sight.searches(self.scopes() if scopes is None else scopes)
        return [
            known
            for scope, labels in wanted.items()
            for known in self._of_scope(scope).values()
            if known.belief.visibility in labels
        ]

    def page(self, sight: Sight, path: str) -> Page | None:
        """A page for a reader who may see all of its scope; None for everybody else, and where there is none.

        Raises:
            PageUnreadable: it stands there and cannot be read.
        """
        scope = scope_of(path)
        return self._page(path) if scope is not None and sight.whole(scope) else None

    async def search(self, sight: Sight, text: str, limit: int, *, past: bool = False) -> list[Known | Note]:
        """What of the reader's sight answers a text, best first; history only with `past`."""
        allowed: dict[str, frozenset[str] | None] = {}
        for scope, labels in sight.searches(self.scopes()).items():
            names = frozenset(str(label) for label in labels)
            allowed[str(scope)] = names | frozenset(f"{name}{_PAST}" for name in names) if past else names
        hits = await asyncio.to_thread(self._index.search, Query(text, allowed, limit))
        return [found for hit in hits if (found := self._found(sight, hit)) is not None]

    def pages(self, scope: Scope) -> dict[str, Page]:
        """All readable pages of a scope as last looked at, by path: for deciding on a write, which notices if they
        changed meanwhile."""
        found = {path: self._cached(path) for path in self.store.paths(scope)}
        return {path: page for path, page in found.items() if page is not None}

    def unreadable(self, scope: Scope) -> frozenset[str]:
        """Paths of a scope where something stands that is no readable page."""
        refused = {problem.path for problem in self.store.problems()}
        silent = {path for path in self.store.paths(scope) if self._cached(path) is None}
        return frozenset(path for path in refused | silent if scope_of(path) == scope)

    def _of_scope(self, scope: Scope) -> Mapping[tuple[str, str], Known]:
        pages = self.pages(scope)
        if scope not in self._known:
            found = [known_of(scope, entry, pages[entry.path]) for entry in entries(belief_pages(pages))]
            self._known[scope] = {(known.path, _entry_id(known.belief)): known for known in found}
        return self._known[scope]

    def _found(self, sight: Sight, hit: Hit) -> Known | Note | None:
        """What stands behind a hit, seen once more through the filter: an index is a cache and may lag behind."""
        page, scope = self._readable(hit.document), scope_of(hit.document)
        if page is None or scope is None:
            return None
        if hit.entry_id.startswith(_NOTE):
            if not sight.sees(scope, page.visibility):
                return None
            return Note(scope, hit.document, page.title, hit.text, origin_of(page) is not None)
        known = self._of_scope(scope).get((hit.document, hit.entry_id))
        return known if known and sight.sees(scope, known.belief.visibility) else None

    def _cached(self, path: str) -> Page | None:
        """A page as last looked at. Writes, the watcher and every search that meets it look again."""
        cached = self._parsed.get(path)
        return cached[1] if cached else self._readable(path)

    def _readable(self, path: str) -> Page | None:
        try:
            return self._page(path)
        except PageUnreadable:
            return None  # reported by `WikiStore.problems`; it takes nothing else down

    def _page(self, path: str) -> Page | None:
        snapshot = self.store.read(path)
        cached = self._parsed.get(path)
        if snapshot is not None and cached is not None and cached[0] == snapshot.hash:
            return cached[1]
        self._parsed.pop(path, None)
        if (scope := scope_of(path)) is not None:
            self._known.pop(scope, None)
        if snapshot is None:
            return None
        self._parsed[path] = (snapshot.hash, parse(snapshot.data))
        return self._parsed[path][1]

    # The index

    def follow(self, paths: Iterable[str]) -> None:
        """Bring the index up to date with these pages: written, edited by hand, moved or gone."""
        by_scope: dict[Scope, set[str]] = {}
        for path in paths:
            if (scope := scope_of(path)) is not None:
                by_scope.setdefault(scope, set()).add(path)
        for scope, changed in by_scope.items():
            there = {path for path in changed if self._readable(path) is not None}
            for path in changed - there:
                self._index.remove(str(scope), path)
            found: dict[str, list[Entry]] = {path: [] for path in there}
            for entry in entries_of(scope, self.pages(scope)):
                if entry.document in found:
                    found[entry.document].append(entry)
            for path, its in found.items():
                self._index.replace(str(scope), path, its, stamp=self._parsed[path][0])

    def catch_up(self) -> int:
        """At start: look only at pages whose content is not the one that was indexed. How many there were."""
        indexed, now = self._index.stamps(), self.store.hashes()
        stale = [path for path, digest in now.items() if indexed.get((str(scope_of(path)), path)) != digest]
        gone = [path for _, path in indexed if path not in now]
        self.follow([*stale, *gone])
        return len(stale) + len(gone)

    def entries(self) -> Iterator[Entry]:
        """Everything that the index should hold, read from the pages: for rebuilding and verifying it."""
        for scope in self.scopes():
            yield from entries_of(scope, self.pages(scope))

    def stamps(self) -> Mapping[tuple[str, str], str]:
        """The content of each page by scope and path, as the index notes it."""
        return {(str(scope_of(path)), path): digest for path, digest in self.store.hashes().items()}


def entries_of(scope: Scope, pages: Pages) -> Iterator[Entry]:
    """The index entries of a scope: each belief, and the paragraphs of notes. Pure."""
    for path, page in pages.items():
        if page.type == "note":
            label = str(page.visibility)
            for number, text in enumerate(_paragraphs(f"{page.title}\n{page.body}")):
                yield Entry(f"{_NOTE}{number}", path, str(scope), label, text, _seconds(page.updated))
    for entry in entries(belief_pages(pages)):
        page, belief = pages[entry.path], entry.belief
        label = f"{belief.visibility}{'' if belief.current else _PAST}"
        text = belief.statement
        if page.type in _TITLED and page.title not in text:
            text = f"{page.title}：{text}" if page.language == "zh" else f"{page.title}: {text}"
        data = belief.data
        keys = (f"{data.subject}|{data.predicate}",) if data.subject and data.predicate else ()
        when = _seconds(data.since or page.updated)
        yield Entry(_entry_id(belief), entry.path, str(scope), label, text, when, keys)


def belief_pages(pages: Pages) -> dict[str, Page]:
    """The pages whose entries are beliefs. What a note holds may come from anywhere and is none."""
    return {path: page for path, page in pages.items() if page.type != "note"}


def known_of(scope: Scope, entry: Belonging, page: Page) -> Known:
    """An entry of a scope with its place."""
    return Known(scope, entry.path, page.type, page.title, entry.belief)


_NOTE = "note-"


def _entry_id(belief: Belief) -> str:
    return str(belief.number) if belief.number is not None else f"line-{belief.line}"


def origin_of(page: Page) -> Origin | None:
    """The foreign origin that a page says it has; None for what people wrote or said themselves."""
    try:
        origin = Origin(str(page.front.get("origin", "")))
    except ValueError:
        return None
    return origin if origin.foreign else None


def _paragraphs(text: str) -> Iterator[str]:
    piece = ""
    for line in text.splitlines():
        if piece and len(piece) + len(line) > _PARAGRAPH:
            yield piece
            piece = ""
        for start in range(0, len(line), _PARAGRAPH):
            piece = f"{piece}\n{line[start : start + _PARAGRAPH]}".strip()
            if len(piece) >= _PARAGRAPH:
                yield piece
                piece = ""
    if piece:
        yield piece


def _seconds(day: date | None) -> float:
    return datetime.combine(day, time(), UTC).timestamp() if day else 0.0
