"""Joining the folder of one person to another's, as one write and one commit, and parting them again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date

from qingtuan.errors import PageUnreadable
from qingtuan.events.kinds import Kind
from qingtuan.identity.scopes import Scope
from qingtuan.memory.acts import By
from qingtuan.memory.memory import Memory
from qingtuan.memory.topics import free_path
from qingtuan.memory.union import Basis, Folder, United, united
from qingtuan.memory.wiki.edits import purged
from qingtuan.memory.wiki.merging import merge
from qingtuan.memory.wiki.page import Page, parse
from qingtuan.memory.wiki.renumbering import frame_of, is_frame
from qingtuan.memory.wiki.store import Change
from qingtuan.memory.wiki.undo import Undo, Versions, on_one_day
from qingtuan.memory.writing import Arrangement


@dataclass(frozen=True, slots=True)
class Joined:
    """What came of a join."""

    entries: int = 0
    """Entries that came over."""
    known: int = 0
    """Of these, entries that both had."""
    settled: int = 0
    """Contradictions: what was said later holds."""
    left: tuple[str, ...] = ()
    """What stayed where it was, since it cannot be read."""


@dataclass(frozen=True, slots=True)
class Parted:
    """What came of parting."""

    stayed: tuple[str, ...] = ()
    """Pages on which something was written since: that stayed with the one who kept the memory."""


class Joining:
    """Joins and parts over one memory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._writer = memory.writer
        self._library = memory.library
        self._store = memory.library.store

    def folders(self) -> list[str]:
        """The ids of all persons that have a folder."""
        return [scope.id for scope in self._library.scopes() if scope.kind == "user"]

    def waited_for(self) -> frozenset[str]:
        """The ids of those whose word something waits for."""
        return self._memory.candidates.people()

    def joined(self, link: str) -> bool:
        """Whether something was written because of this link that was not taken back."""
        return any(write.undone is None for write in self._store.ledger.of(link))

    async def join(self, kept: str, gone: str, by: By) -> Joined:
        """Let all that `gone` has stand in the folder of `kept`. The write is known by its cause, the link.

        Raises:
            StorageFailed: the disk or git refuses; nothing was changed.
        """
        scopes = Scope.of_person(kept), Scope.of_person(gone)
        await self._memory.edited([scope.folder for scope in scopes])
        done: list[United] = []

        async def plan() -> Arrangement | None:
            # Of the same moment as the pages: whoever saves one while the thread works is noticed by the write.
            hashes = self._store.hashes()
            kept_folder, theirs = map(self._folder, scopes)
            if not (theirs.pages or theirs.notes or theirs.other):
                return None
            basis = self._basis(scopes[0], by, kept_folder.sources | theirs.sources)
            # Of long memories it takes seconds, in which others want to be answered.
            done[:] = [await asyncio.to_thread(united, kept_folder, theirs, basis)]
            return Arrangement(_changes(done[0], hashes), f"关联：{gone} 并入 {kept}")

        await self._writer.arrange(by, plan)
        left = tuple(sorted(self._library.unreadable(scopes[1])))
        if not done:
            return Joined(left=left)
        return Joined(done[0].entries, done[0].known, done[0].settled, left)

    def _basis(self, scope: Scope, by: By, sources: Iterable[str]) -> Basis:
        standing = self._writer.standing(scope, by)
        return Basis(
            first=standing.holdings.next_number(standing.floor),
            today=standing.today,
            zone=standing.zone,
            aliases=standing.aliases,
            said={source: standing.said(source) for source in sources},
        )

    def _folder(self, scope: Scope) -> Folder:
        pages, unreadable = self._library.holdings(scope).pages, self._library.unreadable(scope)
        other = {}
        for path in unreadable & self._store.hashes_of(scope).keys():
            if (snapshot := self._store.read(path)) is not None:
                other[path] = snapshot.data
        return Folder(f"{scope.folder}/", dict(pages), dict(self._library.notes(scope)), other, unreadable)

    async def part(self, link: str, by: By) -> Parted:
        """Take back what was written because of a link: both folders are as they were. What was written since on a
        page of the one who kept the memory stays there.

        Raises:
            CannotUndo: what the pages were is known nowhere any more.
            StorageFailed: the disk or git refuses; nothing was changed.
        """
        await self._memory.edited()
        writes = [write for write in self._store.ledger.of(link) if write.undone is None]
        if not writes:
            return Parted()
        pages = await Undo(self._store).versions(writes)
        undoes = list(dict.fromkeys(write.event for write in writes))
        came, stayed = self._came(link, pages), list[str]()

        async def plan() -> Arrangement | None:
            stayed.clear()
            changes, taken = list[Change](), set(self._store.hashes())
            for path, versions in pages.items():
                snapshot, before = self._store.read(path), versions[0].before
                now = snapshot.data if snapshot else None
                if versions[-1].after is None and before is not None and now not in (None, before):
                    # Something else stands there by now: what was there comes back beside it.
                    beside = free_path(path.removesuffix(".md"), taken)
                    taken.add(beside)
                    changes.append(Change(beside, None, before))
                    continue
                then = parted_page(now, versions, came)
                if then is not None and then != before:
                    stayed.append(path)
                changes.append(Change(path, snapshot.hash if snapshot else None, then))
            return Arrangement(changes, f"解除{self._store.message_of(undoes[0])}", undoes)

        if await self._writer.arrange(by, plan) is None:
            self._store.mark_undone(undoes, by.place, cause=by.cause)
        return Parted(tuple(sorted(stayed)))

    def _came(self, link: str, pages: Mapping[str, Sequence[Versions]]) -> frozenset[int]:
        """The numbers that entries got when they came over."""
        written = (event for event in self._writer.log.caused_by(link) if event.kind is Kind.BELIEF_WRITTEN)
        numbers = frozenset(event.payload["number"] for event in written if "number" in event.payload)
        there = (versions[0].before for versions in pages.values() if versions[-1].after is not None)
        return numbers.difference(*(_numbers_on(before) for before in there if before is not None))


def _changes(done: United, hashes: Mapping[str, str]) -> list[Change]:
    """What a union writes to pages that had these hashes when it was made."""
    files = {**{path: page.to_bytes() for path, page in done.pages.items()}, **done.other}
    return [
        *(Change(path, hashes.get(path), data) for path, data in files.items()),
        *(Change(path, hashes.get(path), None) for path in done.moved),
    ]


def parted_page(now: bytes | None, versions: Sequence[Versions], came: frozenset[int]) -> bytes | None:
    """A page without these writes, taken back from the newest to the oldest."""
    for version in reversed(versions):
        if now == version.after:
            now = version.before
        elif now is not None and version.after is not None and now != version.before:
            now = _without(now, version.before, version.after, came)
    return now


def _without(now: bytes, before: bytes | None, after: bytes, came: frozenset[int]) -> bytes | None:
    """A page that was changed since: what the write brought is taken out, line by line if that can be, else entry by
    entry as far as each stands as it came. None if nothing is left."""
    try:
        base = frame_of(parse(after)).to_bytes() if before is None else before
        then, base = on_one_day(now, after, base)
        merged = merge(then, base, now)
        if merged is None:
            merged = _entry_by_entry(parse(now), parse(after), came - _bare_on(before, after))
        return None if before is None and is_frame(parse(merged)) else merged
    except PageUnreadable:
        return now


def _numbers_on(data: bytes) -> frozenset[int]:
    try:
        return parse(data).numbers
    except PageUnreadable:
        return frozenset()


def _bare_on(before: bytes | None, after: bytes) -> frozenset[int]:
    """The numbers that entries got by the write that stood on the page without any."""
    if before is None:
        return frozenset()
    bare = {belief.text for belief in parse(before).beliefs if belief.number is None}
    return frozenset(belief.number for belief in parse(after).beliefs if belief.number and belief.text in bare)


def _entry_by_entry(now: Page, after: Page, came: frozenset[int]) -> bytes:
    for number in sorted(came):
        then, belief = after.belief(number), now.belief(number)
        if then is None or belief is None:
            continue
        if replace(belief, item=then.item) == then:
            with suppress(KeyError, PageUnreadable):
                now = purged(now, number, now.updated or date.min)
    return now.to_bytes()
