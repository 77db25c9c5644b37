"""Which pages there are and what their hashes were when last looked at.

A file whose size and times have not changed is not read again, also not by the next process: the list is kept in
a file of its own, a cache that may be deleted at any time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from qingtuan.clock import Clock
from qingtuan.errors import PageUnreadable, StorageFailed
from qingtuan.identity.scopes import Scope
from qingtuan.language import Words
from qingtuan.memory.wiki.disk import Disk, Snapshot, Stamp, clear_leftovers, read_in
from qingtuan.memory.wiki.walls import TOPS, is_folder_name, is_page_name, is_spoilt_name, open_folder, scope_of
from qingtuan.storage.files import read_regular, write_atomic

_MARGIN = 2_000_000_000
"""Nanoseconds: within them a second change may leave the same times behind, on file systems with coarse clocks."""

_CACHE_LIMIT = 64 * 1024 * 1024
_VERSION = 1

_SHORT = 240
"""Characters: a shorter path cannot be too long for a page, whatever its letters are."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the wiki that is left as it is, and why."""

    path: str
    words: Words


_LINK = Words("这是一个链接，不跟进去。", "This is a link and is not followed.")
_FOLDER = Words(
    "这是一个文件夹，不是页面；里面的页面照样读。", "This is a folder and no page; the pages in it are read."
)
_SPOILT = Words(
    "名字里有控制字符，或者不是 UTF-8，不读：请改名。",
    "Its name holds control characters or is no UTF-8, so it is not read: please rename it.",
)
_STRAY = Words(
    "这里的页面不会被读：请放到 preferences、rules、records 或 notes 里。",
    "A page here is not read: put it into preferences, rules, records or notes.",
)


@dataclass(frozen=True, slots=True)
class _Seen:
    stamp: Stamp
    hash: str
    settled: bool
    """Whether the times were old enough at the look for any later change to leave others."""


class Listing:
    """The pages on the disk, as last looked at."""

    def __init__(self, disk: Disk, clock: Clock, cache: Path | None) -> None:
        self._disk = disk
        self._clock = clock
        self._cache = cache
        self._seen: dict[str, dict[str, _Seen]] = {}
        """By folder of the scope, then by path: one person's pages are listed without looking at everybody's."""
        self._problems: dict[str, Words] = {}
        self._fresh = False
        """Whether something was learned that the cache does not know."""
        self.revision = 0
        """Another number whenever what is known of any page may be another."""
        self._journal: dict[str, int] = {}
        """Pages that were looked at one by one since all were, each with the revision of its last change."""
        self._begun = 0
        """The revision with which the journal begins."""
        self._load()

    # -------------------------------------------------------------------------------------------- asking

    def paths(self, scope: Scope) -> list[str]:
        """The readable pages of a scope, sorted."""
        return sorted(self._seen.get(scope.folder, ()))

    def scopes(self) -> list[Scope]:
        """The scopes that have readable pages, sorted."""
        firsts = (next(iter(pages)) for pages in self._seen.values() if pages)
        return sorted(scope for path in firsts if (scope := Scope.of_path(path)) is not None)

    def hashes(self) -> dict[str, str]:
        """The hash of every readable page."""
        return {path: seen.hash for pages in self._seen.values() for path, seen in pages.items()}

    def hashes_of(self, scope: Scope) -> dict[str, str]:
        """The hash of every readable page of a scope."""
        return {path: seen.hash for path, seen in self._seen.get(scope.folder, {}).items()}

    def changed_since(self, revision: int) -> list[str] | None:
        """The pages that may be others than at that revision; None if it may be any."""
        if revision < self._begun:
            return None
        since = takewhile(lambda item: item[1] > revision, reversed(self._journal.items()))
        return [path for path, _ in since]

    def hash_of(self, path: str) -> str | None:
        """The hash of a page; None if there is no readable one."""
        return self._hash(path)

    def problems(self) -> list[Problem]:
        """What is no page though it looks like one, sorted by path."""
        return [Problem(path, words) for path, words in sorted(self._problems.items())]

    # ------------------------------------------------------------------------------------------- looking

    def look(self, path: str) -> Snapshot | None:
        """One page as it is now, or None if there is none. Raises `PageUnreadable` as `Disk.read`."""
        before = self._hash(path)
        try:
            return self._look(path)
        finally:
            if self._hash(path) != before:
                self.revision += 1
                self._journal.pop(path, None)  # what changed last stands last
                self._journal[path] = self.revision

    def _hash(self, path: str) -> str | None:
        seen = self._seen.get(_group(path), {}).get(path)
        return seen.hash if seen else None

    def _look(self, path: str) -> Snapshot | None:
        self._seen.get(_group(path), {}).pop(path, None)
        self._problems.pop(path, None)
        try:
            found = self._disk.read(path)
        except PageUnreadable as error:
            self._problems[path] = error.words
            raise
        if found is None:
            return None
        snapshot, stamp = found
        self._seen.setdefault(_group(path), {})[path] = self._see(stamp, snapshot.hash)
        return snapshot

    def glance(self, paths: Iterable[str]) -> dict[str, str | None]:
        """The hashes of pages as they are now, None for one that is gone; what cannot be read has none. Only those
        are read whose size or times have changed since they were last looked at."""
        folders: dict[str, list[str]] = {}
        for path in paths:
            folders.setdefault(path.rpartition("/")[0], []).append(path)
        found: dict[str, str | None] = {}
        for inside in folders.values():
            stamps = self._disk.stamps(inside)
            for path in inside:
                seen = self._seen.get(_group(path), {}).get(path)
                if seen is not None and seen.settled and stamps.get(path) == seen.stamp:
                    found[path] = seen.hash
                else:
                    with suppress(PageUnreadable):
                        snapshot = self.look(path)
                        found[path] = snapshot.hash if snapshot else None
        return found

    def scan(self, *, clear: bool = False) -> None:
        """Look at the whole wiki; with `clear`, remove what a crash left behind.

        Raises:
            StorageFailed: the wiki's folder is gone.
        """
        if not self._disk.folder.is_dir():
            raise StorageFailed(
                Words(f"wiki 文件夹 {self._disk.folder} 不见了。", f"The wiki's folder {self._disk.folder} is gone.")
            )
        found: dict[str, dict[str, _Seen]] = {}
        self._problems = {}
        for top in TOPS:
            for path, seen in self._walk([top], clear=clear):
                found.setdefault(_group(path), {})[path] = seen
        self._seen = found
        self._begin_anew()
        if self._fresh:
            self.save()

    def scan_below(self, folder: str) -> None:
        """Look at the pages below one folder, if it is one that can hold pages."""
        parts = folder.split("/")
        if parts[0] not in TOPS or not all(map(is_folder_name, parts)):
            return
        here = self._disk.folder / folder
        found = list(self._walk(parts, clear=False)) if here.is_dir() and not here.is_symlink() else []
        for pages in self._seen.values():
            for path in [path for path in pages if path.startswith(f"{folder}/")]:
                del pages[path]
        for path, seen in found:
            self._seen.setdefault(_group(path), {})[path] = seen
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.revision += 1
        self._begun = self.revision
        self._journal.clear()

    def _walk(self, parts: list[str], *, clear: bool) -> Iterator[tuple[str, _Seen]]:
        prefix = "/".join(parts)
        try:
            handle = open_folder(self._disk.folder, parts)
            if handle is None:
                return
            try:
                if clear:
                    clear_leftovers(handle)
                with os.scandir(handle) as entries:
                    pages, folders = self._sort(list(entries), prefix)
                if scope_of(f"{prefix}/page.md") is None:
                    self._problems.update((f"{prefix}/{entry.name}", _STRAY) for entry in pages)
                else:
                    yield from self._look_at(handle, pages, prefix)
            finally:
                os.close(handle)
        except PageUnreadable as error:
            self._problems[prefix] = error.words
            return
        except OSError as error:
            # One locked folder takes nothing else down, and its pages are not taken for deleted.
            self._problems[prefix] = Words(f"打不开：{error.strerror}。", f"Cannot be opened: {error.strerror}.")
            return
        for name in folders:
            yield from self._walk([*parts, name], clear=clear)

    def _sort(self, entries: list[os.DirEntry[str]], prefix: str) -> tuple[list[os.DirEntry[str]], list[str]]:
        """What may be a page, and the names of folders. Everything else is the owner's business."""
        pages, folders = [], []
        for entry in entries:
            if not is_folder_name(entry.name):
                if is_spoilt_name(entry.name):
                    self._problems[f"{prefix}/{entry.name}"] = _SPOILT
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
                if is_page_name(entry.name):
                    self._problems[f"{prefix}/{entry.name}"] = _FOLDER
            elif is_page_name(entry.name):
                pages.append(entry)
            elif entry.is_symlink() and entry.is_dir():
                self._problems[f"{prefix}/{entry.name}"] = _LINK
        return pages, folders

    def _look_at(self, folder: int, pages: list[os.DirEntry[str]], prefix: str) -> Iterator[tuple[str, _Seen]]:
        known = self._seen.get(_group(f"{prefix}/"), {})
        for entry in pages:
            path = f"{prefix}/{entry.name}"
            before = known.get(path)
            try:
                if (
                    before is not None
                    and before.settled
                    and before.stamp == Stamp.of(entry.stat(follow_symlinks=False))
                ):
                    yield path, before
                elif len(path) < _SHORT or scope_of(path) is not None:
                    found = read_in(folder, entry.name, path)
                    if found is not None:
                        yield path, self._see(found[1], found[0].hash)
            except PageUnreadable as error:
                self._problems[path] = error.words
            except FileNotFoundError:
                continue

    def _see(self, stamp: Stamp, name: str) -> _Seen:
        now = int(self._clock.now().timestamp() * 1_000_000_000)
        settled = max(stamp.changed, stamp.touched) + _MARGIN < now
        self._fresh = self._fresh or settled
        return _Seen(stamp, name, settled)

    # ------------------------------------------------------------------------------------------ the cache

    def save(self) -> None:
        """Write the cache, if there is a place for it."""
        if self._cache is None:
            return
        pages = {
            path: [seen.stamp.size, seen.stamp.changed, seen.stamp.touched, seen.hash]
            for group in self._seen.values()
            for path, seen in group.items()
            if seen.settled
        }
        write_atomic(self._cache, json.dumps({"version": _VERSION, "pages": pages}).encode())
        self._fresh = False

    def _load(self) -> None:
        data = read_regular(self._cache, limit=_CACHE_LIMIT) if self._cache else None
        try:
            cache = json.loads(data or b"{}")
            if cache.get("version") != _VERSION:
                return
            for path, (size, changed, touched, name) in cache["pages"].items():
                self._seen.setdefault(_group(path), {})[path] = _Seen(Stamp(size, changed, touched), name, True)
        except (ValueError, AttributeError, KeyError, TypeError):
            self._seen = {}  # a damaged cache is no cache


def _group(path: str) -> str:
    """The folder of the scope that `path` is in."""
    top, _, rest = path.partition("/")
    return top if top == "shared" else f"{top}/{rest.partition('/')[0]}"
