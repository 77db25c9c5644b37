"""Building an index anew beside the old one, and comparing it with what it should hold.

An index is a folder of generations, `g-` and a random name each; the file `current` names the one that serves. A
rebuild fills a new generation and then replaces `current`, which is one rename: whenever it is killed, the old
generation serves, and what the rebuild left is cleared at the next start.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby, islice
from pathlib import Path

from qingtuan.errors import LimitReached
from qingtuan.indexes import terms
from qingtuan.indexes.base import Difference, Entry, Progress
from qingtuan.indexes.shelf import Shelf
from qingtuan.indexes.store import Damaged, ScopeFile
from qingtuan.language import Words
from qingtuan.storage.files import write_atomic

_BATCH = 500
"""Entries of one transaction, and between two signs of progress."""


class Generations:
    """The folder of an index and the generation of it that serves."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pointer = folder / "current"

    def current(self) -> Path:
        """The generation that serves; the first one, made here, counts as incomplete until a rebuild."""
        try:
            serving = self._folder / self._pointer.read_text("utf-8")
        except FileNotFoundError:
            serving = None
        if serving is None or not serving.is_dir():
            serving = self.fresh()
            Shelf(serving, open_files=1).mark_incomplete()
            self.adopt(serving)
        return serving

    def adopted(self) -> datetime:
        """When the generation that serves took its place."""
        self.current()
        return datetime.fromtimestamp(self._pointer.stat().st_mtime, UTC)

    def fresh(self) -> Path:
        """A new, empty generation that nobody reads yet."""
        # A name that was never used before, so that open files of one that somebody deleted are not taken for it.
        path = self._folder / f"g-{secrets.token_hex(4)}"
        path.mkdir(parents=True, mode=0o700)
        return path

    def adopt(self, generation: Path) -> None:
        """Let `generation` serve from now on."""
        write_atomic(self._pointer, generation.name.encode())

    def clear(self) -> None:
        """Delete every generation that does not serve. For whoever holds `locked()`."""
        serving = self.current()
        for path in self._folder.glob("g-*"):
            if path != serving:
                shutil.rmtree(path, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One rebuild at a time, over all processes; the lock ends with the process.

        Raises:
            LimitReached: another rebuild is running.
        """
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(self._folder / "rebuild.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise LimitReached(
                    Words("索引正在重建，请等它做完。", "The index is being rebuilt already; please wait for it.")
                ) from error
            yield
        finally:
            os.close(handle)


def fill(shelf: Shelf, source: Iterable[Entry], progress: Progress) -> None:
    """Put every entry of `source` on an empty shelf, without vectors."""
    done = 0
    for scope, entries in groupby(source, key=lambda entry: entry.scope):
        while batch := list(islice(entries, _BATCH)):
            with shelf.guarded(scope):
                shelf.writing(scope).add(batch)
            done += len(batch)
            progress("entries", done)


def compare(shelf: Shelf, source: Iterable[Entry]) -> list[Difference]:
    """Every disagreement between a shelf and `source`, by scope, document and id."""
    wanted: dict[str, dict[tuple[str, str], Entry]] = {}
    for entry in source:
        wanted.setdefault(entry.scope, {})[entry.document, entry.id] = entry
    found: list[Difference] = []
    for scope in sorted({*wanted, *shelf.scopes()}):
        try:
            with shelf.guarded(scope):
                found += _compare_scope(shelf, scope, wanted.get(scope, {}))
        except Damaged:
            found += [Difference(scope, *place, "missing") for place in sorted(wanted.get(scope, {}))]
    return found


def _compare_scope(shelf: Shelf, scope: str, wanted: dict[tuple[str, str], Entry]) -> list[Difference]:
    file = shelf.reading(scope)
    present = {(entry.document, entry.id): (seq, entry) for seq, entry in file.entries()} if file else {}
    both = wanted.keys() & present.keys()
    lost = _unfindable(file, {present[place][0]: wanted[place].text for place in both}) if file else frozenset()
    found: list[Difference] = []
    for place in sorted({*wanted, *present}):
        if place not in present:
            found.append(Difference(scope, *place, "missing"))
        elif place not in wanted:
            found.append(Difference(scope, *place, "extra"))
        elif not _same(present[place][1], wanted[place]):
            found.append(Difference(scope, *place, "changed"))
        elif present[place][0] in lost:
            found.append(Difference(scope, *place, "unfindable"))
    return found


def _unfindable(file: ScopeFile, texts: Mapping[int, str]) -> frozenset[int]:
    """Those of these entries, by `seq`, to which not all of their own terms lead. Each term is looked up once: one that
    many entries have costs no more than one that few have."""
    sought: dict[str, list[int]] = {}
    for seq, text in texts.items():
        for term in terms.index_terms(text):
            sought.setdefault(term, []).append(seq)
    return frozenset(seq for term, seqs in sought.items() for seq in set(seqs).difference(file.holding(term)))


def _same(one: Entry, other: Entry) -> bool:
    return (one.label, one.text, one.time, one.keys) == (other.label, terms.clean(other.text), other.time, other.keys)
