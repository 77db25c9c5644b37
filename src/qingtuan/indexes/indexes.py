"""The index layer as others use it: one `Index` for each kind of thing that can be found.

All calls block and may come from any thread; from a coroutine use `asyncio.to_thread`. What is written is found by
the next search at once: by its words because they are indexed with it, by its meaning because a search first embeds
the few newest entries that have no vector yet. More of them are left to `catch_up`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from qingtuan.clock import Clock
from qingtuan.errors import Bug, LimitReached
from qingtuan.indexes.base import Allowed, Difference, Embedder, Entry, Extent, Health, Hit, Model, Progress, Query
from qingtuan.indexes.embedding import Embeddings, use_one_thread
from qingtuan.indexes.rebuild import Generations, compare, fill
from qingtuan.indexes.shelf import Shelf
from qingtuan.indexes.store import Damaged
from qingtuan.language import Words

_T = TypeVar("_T")
_Change = Callable[[Shelf], bool]

_EMBED_BATCH = 64
_MOST_ROWS = 40_000
"""Vectors that are kept in memory: of 512 numbers, 80 MB."""


class Indexes:
    """The folder of all indexes, and the embedding model that they share."""

    def __init__(self, folder: Path, embedder: Embedder | None, clock: Clock, *, open_files: int = 64) -> None:
        """`embedder` None: words alone find things. `open_files`: scopes of each index that stay open, 1 or more."""
        use_one_thread()
        self._folder = folder
        self._embeddings = Embeddings(embedder, clock)
        self._open_files = open_files
        self._opened: dict[str, Index] = {}

    def open(self, name: str) -> Index:
        """The index of a kind of thing: `beliefs`, `episodes`, `capabilities`; lower-case letters only."""
        if not re.fullmatch("[a-z]+", name):
            raise Bug(Words(f"索引名不对：{name}", f"not a name of an index: {name}"))
        if name not in self._opened:
            self._opened[name] = Index(self._folder / name, self._embeddings, open_files=self._open_files)
        return self._opened[name]

    @property
    def health(self) -> Health:
        """Whether searches can use meaning at the moment."""
        return self._embeddings.health

    @property
    def idle_seconds(self) -> float:
        """Seconds since the embedding model was last used."""
        return self._embeddings.idle_seconds

    def warm(self) -> None:
        """Load the embedding model (USE: 0.8 s of CPU), so that no turn waits for it."""
        self._embeddings.query("warm")

    def release(self) -> None:
        """Give back the memory of the model and of open files. All of it comes back when needed."""
        self._embeddings.release()
        for index in self._opened.values():
            index.release()

    def close(self) -> None:
        """The same, at the end."""
        self.release()


class Index:
    """Entries of one kind, in a file per scope."""

    def __init__(self, folder: Path, embeddings: Embeddings, *, open_files: int = 64) -> None:
        self._embeddings = embeddings
        self._open_files = open_files
        self._lock = threading.RLock()
        self._generations = Generations(folder)
        with suppress(LimitReached), self._generations.locked():
            self._generations.clear()
        self._shelf = Shelf(self._generations.current(), open_files=open_files)
        self._journal: list[_Change] | None = None
        """Changes made while a rebuild reads the source, which may have seen them or not."""

    # Finding

    def search(self, query: Query) -> list[Hit]:
        """The best entries that the reader may see, best first; of equals the newest first.

        With vectors every visible entry has a rank, without them only those that share a term or a key with the query.

        Raises:
            StorageFailed: the disk refuses.
        """
        if query.limit < 1 or not query.text.strip():
            return []
        return _twice(lambda: self._search(query))

    def _search(self, query: Query) -> list[Hit]:
        if not self._anything(query.allowed):
            return []
        vector = self._embeddings.query(query.text)
        # numpy comes with this import; a process that finds nothing to search does without it.
        from qingtuan.indexes.search import Meaning, search

        meaning = Meaning(vector, Model(self._embeddings.name, len(vector))) if vector is not None else None
        if meaning:
            for scope in sorted(query.allowed):
                self._embed(self._shelf, [scope], self._embeddings.batch, _silent)
        with self._lock, self._shelf.guarded(*query.allowed):
            found = search(self._shelf.reading, query, meaning, self._embeddings.weights)
            self._shelf.trim(_MOST_ROWS)
            return found

    def _anything(self, allowed: Mapping[str, Allowed]) -> bool:
        with self._lock:
            self._follow()
            for scope, labels in allowed.items():
                with self._shelf.guarded(scope):
                    file = self._shelf.reading(scope)
                    if file and file.shows(labels):
                        return True
        return False

    # Writing

    def replace(self, scope: str, document: str, entries: Sequence[Entry], *, stamp: str = "") -> bool:
        """Make `entries` all that `document` holds; what is unchanged keeps its vector. Whether anything was different.

        `stamp`: a note about the state of the source, given back by `stamps`, by which it need not be read again.
        """
        _check(scope, entries, document)
        return self._write(lambda shelf: shelf.writing(scope).replace(document, entries, stamp), scope)

    def add(self, scope: str, entries: Sequence[Entry], *, stamps: Mapping[str, str] | None = None) -> bool:
        """Put `entries` into their documents, beside what is there and over what has the same id. `stamps` of documents
        are as in `replace`."""
        _check(scope, entries)

        def change(shelf: Shelf) -> bool:
            file = shelf.writing(scope)
            changed = file.add(entries)
            for document, stamp in (stamps or {}).items():
                file.stamp(document, stamp)
            return changed

        return self._write(change, scope)

    def remove(self, scope: str, document: str) -> bool:
        """Take a document out. Whether it was there."""

        def change(shelf: Shelf) -> bool:
            file = shelf.reading(scope)
            return file is not None and file.remove(document)

        return self._write(change, scope)

    def move(self, scope: str, old: str, new: str) -> bool:
        """Give a document another name without reading it again. Whether it was there."""

        def change(shelf: Shelf) -> bool:
            file = shelf.reading(scope)
            return file is not None and file.move(old, new)

        return self._write(change, scope)

    def drop(self, scope: str) -> bool:
        """Delete all of a scope from the disk. Whether there was anything."""
        return self._write(lambda shelf: shelf.drop(scope), scope)

    def scrub(self, scope: str) -> None:
        """Leave no byte on the disk of what was removed from a scope: for what must be forgotten."""

        def change(shelf: Shelf) -> bool:
            file = shelf.reading(scope)
            if file:
                file.scrub()
            return False

        self._write(change, scope)

    def _write(self, change: _Change, scope: str) -> bool:
        with self._lock:
            self._follow()
            if self._journal is not None:
                self._journal.append(lambda shelf: _apply(shelf, scope, change))
            return _apply(self._shelf, scope, change)

    # Keeping up

    def stamps(self) -> dict[tuple[str, str], str]:
        """The stamp of each document by scope and name."""
        return _twice(self._stamps)

    def _stamps(self) -> dict[tuple[str, str], str]:
        result: dict[tuple[str, str], str] = {}
        with self._lock:
            self._follow()
            for scope in self._shelf.scopes():
                with self._shelf.guarded(scope):
                    file = self._shelf.reading(scope)
                    if file:
                        result.update({(scope, name): stamp for name, stamp in file.stamps().items()})
        return result

    def catch_up(self, limit: int = 1000) -> int:
        """Embed up to `limit` entries that have no vector of the present model. How many were embedded."""
        with self._lock:
            self._follow()
            shelf, scopes = self._shelf, self._shelf.scopes()
        return _twice(lambda: self._embed(shelf, scopes, limit, _silent))

    @property
    def needs_rebuild(self) -> bool:
        """Whether something may be missing: the first start, another format, or a file that was damaged."""
        with self._lock:
            self._follow()
            return self._shelf.incomplete

    def extent(self) -> Extent:
        """How much it holds, and since when. Raises `StorageFailed`."""
        return _twice(self._extent)

    def _extent(self) -> Extent:
        with self._lock:
            self._follow()
            entries = 0
            for scope in self._shelf.scopes():
                with self._shelf.guarded(scope):
                    file = self._shelf.reading(scope)
                    entries += file.count() if file else 0
            return Extent(entries, None if self._shelf.incomplete else self._generations.adopted())

    def rebuild(
        self,
        source: Iterable[Entry],
        *,
        stamps: Mapping[tuple[str, str], str] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Build everything again from `source`, beside the old index, which answers meanwhile, then take its place.

        What is written meanwhile is in the new index too. If nothing complete answers meanwhile, the new one takes its
        place before it has vectors.

        Raises:
            LimitReached: another rebuild is running.
            StorageFailed: the disk refuses; the old index stays.
        """
        tell = progress or _silent
        with self._generations.locked():
            fresh = Shelf(self._generations.fresh(), open_files=self._open_files)
            with self._lock:
                self._follow()
                self._journal = []
                urgent = self._shelf.incomplete
            try:
                fill(fresh, source, tell)
                for (scope, document), stamp in (stamps or {}).items():
                    with fresh.guarded(scope):
                        fresh.writing(scope).stamp(document, stamp)
                if not urgent:
                    self._embed(fresh, fresh.scopes(), None, tell)
                self._adopt(fresh)
            except BaseException:
                with self._lock:
                    self._journal = None
                    fresh.close()
                raise
            finally:
                self._generations.clear()
        if urgent:
            _twice(lambda: self._embed(fresh, fresh.scopes(), None, tell))

    def _adopt(self, fresh: Shelf) -> None:
        with self._lock:
            for change in self._journal or ():
                change(fresh)
            self._journal = None
            # Closed, so that SQLite's logs are folded in and the files are whole on the disk before they serve.
            fresh.close()
            self._generations.adopt(fresh.folder)
            self._shelf.close()
            self._shelf = fresh

    def verify(self, source: Iterable[Entry]) -> list[Difference]:
        """Where the index and `source` disagree; none after a rebuild from it."""
        with self._lock:
            self._follow()
            return compare(self._shelf, source)

    def release(self) -> None:
        """Close the files and give back their memory."""
        with self._lock:
            self._shelf.close()

    def _follow(self) -> None:
        """Go over to the generation that serves, should another process have rebuilt the index."""
        serving = self._generations.current()
        if serving != self._shelf.folder:
            self._shelf.close()
            self._shelf = Shelf(serving, open_files=self._open_files)

    def _embed(self, shelf: Shelf, scopes: Sequence[str], limit: int | None, progress: Progress) -> int:
        """Embed what has no vector, at most `limit` entries. The lock is free while the model works."""
        done = 0
        for scope in scopes:
            while limit is None or done < limit:
                size = _EMBED_BATCH if limit is None else min(_EMBED_BATCH, limit - done)
                with self._lock, shelf.guarded(scope):
                    file = shelf.reading(scope)
                    waiting = file.without_vectors(self._embeddings.name, size) if file else []
                rows = self._embeddings.passages([text for _, text in waiting]) if waiting else None
                if rows is None:
                    break
                with self._lock, shelf.guarded(scope):
                    file = shelf.reading(scope)
                    if file:
                        model = Model(self._embeddings.name, rows.shape[1])
                        file.store_vectors(model, [seq for seq, _ in waiting], rows)
                done += len(waiting)
                progress("vectors", done)
        return done


def _apply(shelf: Shelf, scope: str, change: _Change) -> bool:
    def work() -> bool:
        with shelf.guarded(scope):
            return change(shelf)

    return _twice(work)


def _twice(work: Callable[[], _T]) -> _T:
    """Do it, and again from an empty file if a damaged one was thrown away."""
    try:
        return work()
    except Damaged:
        return work()


def _check(scope: str, entries: Iterable[Entry], document: str | None = None) -> None:
    """A wrong scope would show a text to the wrong people, so it is worth a stop."""
    for entry in entries:
        if entry.scope != scope or (document is not None and entry.document != document):
            raise Bug(Words("条目写错了地方。", f"entry {entry.id} of {entry.scope} was written to {scope}"))


def _silent(_: str, __: int) -> None:
    """Tell nobody."""
