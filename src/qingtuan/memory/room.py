"""What is known of one scope: its pages as they were last read, and what readers are shown of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from itertools import chain

from qingtuan.identity.scopes import Scope, Visibility
from qingtuan.indexes.base import Entry
from qingtuan.memory import indexing
from qingtuan.memory.current import Current
from qingtuan.memory.holdings import Holdings
from qingtuan.memory.known import Known, is_note, type_of
from qingtuan.memory.wiki.page import Page

_MOST_VIEWS = 16
"""Of labels and days that are kept: one scope is looked at in a few ways at a time."""


class Room:
    """One scope. Whatever it gives out is what its pages said when they were last taken in."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.hashes: dict[str, str] = {}
        """By path, the content that was last read."""
        self.holdings = Holdings()
        self.notes: dict[str, Page] = {}
        self.unreadable: set[str] = set()
        """Paths of files that are text and no page."""
        self.unindexed: set[str] = set()
        """Paths whose entries changed and are to be indexed again."""
        self._taken = False
        """Whether anything was taken in before. What is there at the start has its stamp in the index."""
        self._known: dict[str, tuple[Known, ...]] = {}
        self._visible: dict[frozenset[Visibility], tuple[Known, ...]] = {}
        self._current: dict[tuple[frozenset[Visibility], date], Current] = {}

    def take(self, read: Mapping[str, tuple[str, Page | None] | None]) -> None:
        """Take in what was read: by path the hash and the page, no page where it is none, None where nothing is."""
        holding: dict[str, Page | None] = {}
        for path, found in read.items():
            digest, page = found or (None, None)
            self.hashes.pop(path, None)
            self.notes.pop(path, None)
            self.unreadable.discard(path)
            holding[path] = None
            if digest is not None:
                self.hashes[path] = digest
                if page is None:
                    self.unreadable.add(path)
                elif is_note(path, page):
                    self.notes[path] = page
                else:
                    holding[path] = page
        touched = self.holdings.put(holding)
        for path in touched:
            self._known.pop(path, None)
        if self._taken:
            self.unindexed |= touched
        self._taken = True
        self._visible.clear()
        self._current.clear()

    def page(self, path: str) -> Page | None:
        """A page, with entries or a note."""
        return self.holdings.pages.get(path) or self.notes.get(path)

    # Showing

    def shows(self, labels: frozenset[Visibility]) -> bool:
        """Whether there is anything with one of these labels."""
        return bool(self.visible(labels)) or any(page.visibility in labels for page in self.notes.values())

    def visible(self, labels: frozenset[Visibility]) -> tuple[Known, ...]:
        """Every entry with one of these labels, by page and place on the page."""
        if labels not in self._visible:
            every = chain.from_iterable(self._on(path) for path in sorted(self.holdings.pages))
            self._visible[labels] = tuple(known for known in every if known.belief.visibility in labels)
        return self._visible[labels]

    def current(self, labels: frozenset[Visibility], day: date) -> Current:
        """What of that holds on a day."""
        key = labels, day
        if key not in self._current:
            if len(self._current) >= _MOST_VIEWS:
                self._current.clear()
            self._current[key] = Current.on(self.scope, self.visible(labels), day)
        return self._current[key]

    def known(self, path: str, entry_id: str) -> Known | None:
        """The entry that the index calls `entry_id`."""
        return next((known for known in self._on(path) if indexing.entry_id(known.belief) == entry_id), None)

    def numbered(self, number: int) -> Known | None:
        """The entry of this number."""
        entry = self.holdings.find(number)
        return self.known(entry.path, str(number)) if entry else None

    def index_entries(self, path: str) -> Iterator[Entry]:
        """What the index should hold of a page."""
        if path in self.notes:
            yield from indexing.note_entries(self.scope, path, self.notes[path])
        for known in self._on(path):
            yield indexing.belief_entry(known, self.holdings.pages[path])

    def _on(self, path: str) -> tuple[Known, ...]:
        if path not in self._known:
            page = self.holdings.pages.get(path)
            self._known[path] = tuple(
                Known(self.scope, path, type_of(path, page), page.title, entry.belief, page.visibility)
                for entry in self.holdings.on(path)
                if page is not None
            )
        return self._known[path]
