"""Taking back: one write, one page, or everything since a day. Always by a new write, never by a reset."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby
from typing import Protocol

from qingtuan.errors import CannotUndo, NotThere, PageChanged, PageUnreadable
from qingtuan.events.log import Place
from qingtuan.identity.scopes import Scope
from qingtuan.language import Words
from qingtuan.memory.wiki.disk import Snapshot
from qingtuan.memory.wiki.edits import purged
from qingtuan.memory.wiki.history import newest_at
from qingtuan.memory.wiki.ledger import Write
from qingtuan.memory.wiki.merging import merge
from qingtuan.memory.wiki.page import parse
from qingtuan.memory.wiki.store import Change, WikiStore, Written
from qingtuan.memory.wiki.walls import scope_of

_TRIES = 5

_UPDATED = re.compile(rb"^updated:[^\r\n]*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Versions:
    """A page before and after a write; None where there was none."""

    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class _Undoing:
    message: str
    writes: Sequence[str] = ()


class PageWriter(Protocol):
    """Changes pages; `WikiStore.write` is one."""

    async def __call__(
        self, changes: Sequence[Change], place: Place, *, cause: str | None, message: str, undoes: Sequence[str] = ()
    ) -> Written | None: ...


class Undo:
    """Makes writes that undo others. Each result can itself be undone."""

    def __init__(self, store: WikiStore, write: PageWriter | None = None) -> None:
        """`write` is how pages are written; None leaves it to the store, which tells nobody of the entries on them."""
        self._store = store
        self._writes = write or store.write

    async def undo(self, of: str, place: Place, *, cause: str | None) -> Written | None:
        """Take back exactly the page changes made in a turn, for an event, or by one write (`of` is the id of any).

        What others changed on these pages since stays. None if the pages stand that way already.

        Raises:
            NotThere: nothing (more) to take back.
            CannotUndo: the same lines were changed since; nothing was changed now.
            PageUnreadable, StorageFailed: as `WikiStore.write`.
        """
        writes = [write for write in self._store.ledger.of(of) if write.undone is None]
        if not writes:
            raise NotThere(Words("没有可以撤销的改动了。", "There is nothing left to undo."))
        pages = await self.versions(writes)
        undoes = list(dict.fromkeys(write.event for write in writes))

        def changes() -> list[Change]:
            return [self._taken_back(path, versions) for path, versions in pages.items()]

        message = f"撤销：{self._store.message_of(undoes[0])}"
        written = await self._write(changes, place, cause, _Undoing(message, undoes))
        if written is None:
            self._store.mark_undone(undoes, place, cause=cause)
        return written

    async def page_to(self, path: str, commit: str, place: Place, *, cause: str | None) -> Written | None:
        """Make one page what it was in a commit (gone, if it was not there yet). None if it is.

        Raises:
            NotThere: no such commit or page.
            PageUnreadable, StorageFailed: as `WikiStore.write`.
        """
        self._store.read(path)  # the walls stand before git is asked
        full = await self._store.repository.resolve(commit)
        data = await self._store.repository.show(full, path)

        def changes() -> list[Change]:
            return [Change(path, _hash(self._store.read(path)), data)]

        return await self._write(changes, place, cause, _Undoing(f"{path} 回到 {full[:8]}"))

    async def all_to(
        self, moment: datetime, place: Place, *, cause: str | None, scope: Scope | None = None
    ) -> Written | None:
        """Make every page (of `scope`) what it was at a moment: the end of a day, seen in the person's zone.

        Pages that are left alone now (unreadable) stay so. None if nothing differs.

        Raises:
            NotThere: the wiki is younger than that.
            StorageFailed: as `WikiStore.write`.
        """
        repository = self._store.repository
        await self._store.settle()
        commit = await newest_at(repository, self._store.ledger, moment)
        if commit is None:
            raise NotThere(Words("那时候还没有任何记忆。", "There was no memory at that time yet."))
        then, now = await repository.tree(commit), await repository.tree()
        skipped = {problem.path for problem in self._store.problems()}
        paths = [
            path
            for path in sorted(then.keys() | now.keys())
            if then.get(path) != now.get(path) and path not in skipped and _is_in(path, scope)
        ]
        wanted = [path for path in paths if path in then]
        contents = dict(zip(wanted, await repository.contents([then[path] for path in wanted]), strict=True))

        def changes() -> list[Change]:
            return [Change(path, _hash(self._store.read(path)), contents.get(path)) for path in paths]

        return await self._write(changes, place, cause, _Undoing(f"全部回到 {moment:%Y-%m-%d %H:%M %Z}"))

    async def versions(self, writes: Sequence[Write]) -> dict[str, list[Versions]]:
        """What each page of these writes was before and after each of them, in order.

        Raises:
            CannotUndo: the bytes are nowhere any more.
        """
        return {
            path: [await self._versions(write) for write in group]
            for path, group in groupby(sorted(writes, key=lambda write: write.path), key=lambda write: write.path)
        }

    async def _versions(self, write: Write) -> Versions:
        near = write.revision
        bytes_of = self._store.commits.bytes_of
        before = None if write.before is None else await bytes_of(write.before, write.path, near=near)
        after = None if write.after is None else await bytes_of(write.after, write.path, near=near)
        if (before is None, after is None) != (write.before is None, write.after is None):
            raise CannotUndo(write.path)
        return Versions(before, after)

    def _taken_back(self, path: str, versions: Sequence[Versions]) -> Change:
        """The page without these writes, taken back from the newest to the oldest."""
        snapshot = self._store.read(path)
        data = snapshot.data if snapshot else None
        for version in reversed(versions):
            if data == version.after:
                data = version.before
            elif data != version.before:
                data = _without(path, data, version)
        return Change(path, _hash(snapshot), data)

    async def _write(
        self, changes: Callable[[], list[Change]], place: Place, cause: str | None, undoing: _Undoing
    ) -> Written | None:
        for attempt in range(_TRIES):
            try:
                return await self._writes(changes(), place, cause=cause, message=undoing.message, undoes=undoing.writes)
            except PageChanged:  # somebody is editing right now: look again
                if attempt == _TRIES - 1:
                    raise
        return None


def _without(path: str, data: bytes | None, version: Versions) -> bytes:
    if data is None or version.after is None:
        raise CannotUndo(path)
    made = version.before is None
    without = _bare(path, version.after) if version.before is None else version.before
    after, before = on_one_day(data, version.after, without)
    merged = merge(after, before, data)
    if merged is None or (made and merged == data):
        raise CannotUndo(path)
    return merged


def on_one_day(now: bytes, *others: bytes) -> list[bytes]:
    """Other versions of a page with the day of the last change that it has now: that day moves with every write, and
    stands in no write's way."""
    today = _UPDATED.search(now)
    return [_UPDATED.sub(lambda _: today[0], other, count=1) if today else other for other in others]


def _bare(path: str, made: bytes) -> bytes:
    """A page as it was made, but for its entries: what is left of it when others stand on it by now."""
    try:
        page = parse(made)
        for number in page.numbers:
            page = purged(page, number, date.min)
    except (PageUnreadable, KeyError) as error:
        raise CannotUndo(path) from error
    return page.to_bytes()


def _hash(snapshot: Snapshot | None) -> str | None:
    return snapshot.hash if snapshot else None


def _is_in(path: str, scope: Scope | None) -> bool:
    found = scope_of(path)
    return found is not None and scope in (None, found)
