"""Shows what a source would change, and writes exactly that: one write, one commit, one thing to take back.

An import is an act of the person like `/memory add`, so what it writes is `manual`: they were shown each line and said
yes. The text itself stays foreign. It chooses no number and no label, sets no pin, touches nobody else's memory and
is written `private`. Each entry leads to an event with the very line, its file and its day (`/memory why`).

An export of our own goes back byte for byte where there is nothing yet: then its labels and pins are part of what is
shown. What is there already is never replaced by a file.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any

from qingtuan.clock import Clock
from qingtuan.errors import LimitReached, NotAllowed, PageUnreadable
from qingtuan.events.kinds import Kind
from qingtuan.identity.scopes import Role, Scope, Visibility
from qingtuan.ids import Ids
from qingtuan.language import Words
from qingtuan.memory.acts import MAY_NOT_WRITE, By
from qingtuan.memory.importing import found as limits
from qingtuan.memory.importing.exported import OWN
from qingtuan.memory.importing.folding import Fold, Folded
from qingtuan.memory.importing.found import NAMES, Found, PageFile, Skipped
from qingtuan.memory.importing.placing import PlacedNote, Shelf, place
from qingtuan.memory.known import is_note
from qingtuan.memory.wiki.one_line import flat
from qingtuan.memory.wiki.page import Page, parse
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.memory.writing import Plan, Writer
from qingtuan.messages import Origin
from qingtuan.storage.files import content_hash

_WRITES = ("new", "replaces", "past", "ends")
"""Outcomes that change a page."""


@dataclass(frozen=True, slots=True)
class RestoredPage:
    """A page that stands again as it was exported."""

    path: str
    title: str
    entries: int
    pinned: tuple[str, ...]
    wider: tuple[str, ...]
    """Entries that others may see, each with how far: `public 用中文回答`; `all`, `group`: nobody's own."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an import would change."""

    entries: tuple[Folded, ...] = ()
    notes: tuple[PlacedNote, ...] = ()
    restored: tuple[RestoredPage, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether anything would be written."""
        entries = any(one.outcome in _WRITES for one in self.entries)
        return entries or any(one.outcome in ("new", "grows") for one in self.notes) or bool(self.restored)

    @property
    def digest(self) -> str:
        """A name for all that would be done: for all that is shown of it but the hints at what is alike."""
        plain = replace(self, entries=tuple(replace(one, like="") for one in self.entries))
        return hashlib.sha256(json.dumps(as_json(plain), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of it."""

    proposal: Proposal
    written: bool
    """False if the memory is another by now than the one for which yes was said: then `proposal` is what it is now."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    proposal: Proposal
    pages: Mapping[str, Page]
    based_on: Mapping[Scope, Mapping[str, str]]
    """The hashes of all pages that were looked at."""


class Importing:
    """Takes what was found into the memory of one person."""

    def __init__(self, writer: Writer, clock: Clock) -> None:
        self._writer = writer
        self._library = writer.library
        self._log = writer.log
        self._ids = Ids(clock)
        """Of pages, made in another thread: the log's own belongs to this one."""
        self._lock = asyncio.Lock()

    async def propose(self, found: Found, by: By) -> Proposal:
        """What it would change now.

        Raises:
            NotAllowed: guests write nothing.
            LimitReached: it is too much for once.
        """
        async with self._lock:
            return (await self._prepared(found, by, _placeholders(found))).proposal

    async def write(self, found: Found, approved: str, by: By) -> Imported:
        """Write it, if it still is what was approved: the digest of the proposal that the person said yes to.

        Raises:
            NotAllowed, LimitReached: as `propose`.
            StorageFailed: the disk refuses; nothing was written.
        """
        async with self._lock:
            return await self._write(found, approved, by)

    async def _write(self, found: Found, approved: str, by: By) -> Imported:
        prepared = await self._prepared(found, by, _placeholders(found))
        if prepared.proposal.digest != approved or not self._is_unchanged(prepared):
            return Imported(prepared.proposal, written=False)
        if not prepared.proposal.changes:
            return Imported(prepared.proposal, written=True)
        taken = [(one.statement.digest, one.number) for one in prepared.proposal.entries if one.number is not None]
        payload = {**_summary(found, prepared.proposal), "statements": taken}
        act = self._log.append(Kind.MEMORY_IMPORTED, by.place, payload, origin=by.origin)
        by = replace(by, cause=act.id)
        prepared = await self._prepared(found, by, self._told(found, prepared.proposal, by))
        written: list[bool] = []

        def plan() -> Plan | None:
            written[:] = [prepared.proposal.digest == approved and self._is_unchanged(prepared)]
            return Plan(prepared.pages, _message(found, prepared.proposal)) if written[0] else None

        await self._writer.write(by, plan)
        if not written[0]:
            return Imported((await self._prepared(found, by, _placeholders(found))).proposal, written=False)
        for note in prepared.proposal.notes:
            if note.outcome in ("new", "grows"):
                payload = {"scope": str(_own(by)), "path": note.path, "title": note.title}
                self._log.append(Kind.NOTE_WRITTEN, by.place, payload, origin=Origin.FILE, cause=by.cause)
        return Imported(prepared.proposal, written=True)

    # Working it out

    async def _prepared(self, found: Found, by: By, sources: Sequence[str]) -> _Prepared:
        scope = _own(by)
        if not by.reader.is_alone or not self._writer.may_write(by, scope):
            raise NotAllowed(MAY_NOT_WRITE)
        _check(found)
        restored = self._restored(found, by)
        if restored is not None:
            pages, shown = restored
            scopes = {there for path in pages if (there := scope_of(path)) is not None}
            skipped = tuple(one for one in found.skipped if one.reason is not limits.Reason.ELSEWHERE or not shown)
            return _Prepared(Proposal(restored=shown, skipped=skipped), pages, self._hashes({*scopes, scope}))
        standing = self._writer.standing(scope, by)
        # The log belongs to this thread; the work is done in another, and nobody waits for it here.
        entries, again = standing.holdings.entries, dict(self._writer.told_again(scope))
        told = {*chain.from_iterable(again.values()), *chain.from_iterable(_events(entry.data) for entry in entries)}
        said = {name: self._writer.said(name) for name in told}
        edited = {entry.path: self._writer.edited(entry.path) for entry in entries if entry.data.how == "hand"}
        standing = replace(standing, said=said.get, edited=edited.get, again=lambda number: again.get(number, ()))
        shelf = Shelf(
            scope.folder,
            dict(self._library.notes(scope)),
            {*self._library.notes(scope), *standing.holdings.pages, *standing.unreadable},
            NAMES[found.format],
            standing.today,
            by.language,
            self._ids.page,
        )
        based_on = self._hashes({scope})
        known = self._known(found, by)
        told = {one.digest for one in found.statements if one.file in known}
        fold = Fold(standing, self._ids.page, sources, seen=self._seen(by) | told)
        folded, placed, pages = await asyncio.to_thread(_worked_out, found, fold, replace(shelf, known=known))
        return _Prepared(Proposal(tuple(folded), tuple(placed), (), found.skipped), pages, based_on)

    def _seen(self, by: By) -> frozenset[str]:
        """Digests of the statements that this person brought in before, as long as the entry that says them is there,
        be it as history."""
        rows = self._log.database.rows(
            "SELECT e.payload FROM events AS e WHERE e.kind = ? AND e.person IN (SELECT value FROM json_each(?))"
            " AND EXISTS (SELECT 1 FROM wiki_writes AS w WHERE w.cause = e.id)",
            (Kind.MEMORY_IMPORTED, json.dumps(sorted(by.reader.ids))),
        )
        told = (pair for row in rows for pair in json.loads(row["payload"]).get("statements", ()))
        holdings = self._library.holdings(_own(by))
        return frozenset(digest for digest, number in told if holdings.find(number) is not None)

    def _known(self, found: Found, by: By) -> frozenset[str]:
        """Files of an export of ours whose pages stand here as they are."""
        return frozenset(
            file.file
            for file in found.pages
            if self._library.content(_place(file, by)) == content_hash(file.text.encode())
        )

    def _restored(self, found: Found, by: By) -> tuple[dict[str, Page], tuple[RestoredPage, ...]] | None:
        """The pages of our own export, if nothing stands yet where they belong; None otherwise."""
        pages: dict[str, Page] = {}
        for file in found.pages:
            path = _place(file, by)
            scope = scope_of(path)
            if scope is None or (scope != _own(by) and (scope.kind == "user" or by.reader.role is not Role.OWNER)):
                continue
            try:
                pages[path] = parse(file.text.encode())
            except PageUnreadable:
                return None
        scopes = {scope for path in pages if (scope := scope_of(path)) is not None}
        if not pages or any(map(self._holds_anything, scopes)):
            return None
        return pages, tuple(_shown(path, page) for path, page in sorted(pages.items()))

    def _holds_anything(self, scope: Scope) -> bool:
        return bool(self._library.store.hashes_of(scope) or self._library.unreadable(scope))

    def _hashes(self, scopes: set[Scope]) -> Mapping[Scope, Mapping[str, str]]:
        return {scope: dict(self._library.store.hashes_of(scope)) for scope in scopes}

    def _is_unchanged(self, prepared: _Prepared) -> bool:
        return all(self._library.store.hashes_of(scope) == known for scope, known in prepared.based_on.items())

    def _told(self, found: Found, proposal: Proposal, by: By) -> list[str]:
        """An event for each statement that is about to become an entry, with the line as it was read. By its place,
        the id; of the others a placeholder."""
        sources = _placeholders(found)
        with self._log.transaction():
            for at, folded in enumerate(proposal.entries):
                if folded.outcome in _WRITES:
                    payload = _line(folded, found, by)
                    event = self._log.append(
                        Kind.STATEMENT_IMPORTED, by.place, payload, origin=Origin.FILE, cause=by.cause
                    )
                    sources[at] = event.id
        return sources


def _worked_out(found: Found, fold: Fold, shelf: Shelf) -> tuple[list[Folded], list[PlacedNote], dict[str, Page]]:
    before = fold.standing.holdings.pages
    folded, pages = fold.run(found.statements)
    placed, notes = place(found.notes, replace(shelf, taken={*shelf.taken, *pages}))
    changed = {path: page for path, page in pages.items() if before.get(path) != page}
    return folded, placed, {**changed, **notes}


def _place(file: PageFile, by: By) -> str:
    """Where a page of an export belongs here."""
    own = file.path.startswith(f"{OWN}/")
    return file.path.replace(f"{OWN}/", f"{_own(by).folder}/", 1) if own else file.path


def _own(by: By) -> Scope:
    return Scope.of_person(by.reader.person)


def _placeholders(found: Found) -> list[str]:
    return [f"found_{at}" for at in range(len(found.statements))]


def _events(data: Any) -> list[str]:
    return [name for name in (data.source, data.ended_by) if name]


def _check(found: Found) -> None:
    characters = sum(len(note.text) for note in found.notes)
    size = sum(len(page.text) for page in found.pages)
    if (
        len(found.statements) > limits.MOST_STATEMENTS
        or len(found.notes) > limits.MOST_NOTES
        or characters > limits.MOST_NOTE_CHARACTERS
        or size > limits.MOST_PAGE_BYTES
    ):
        raise LimitReached(
            Words(
                f"太多了：一次最多 {limits.MOST_STATEMENTS} 条、{limits.MOST_NOTES} 篇笔记、共"
                f" {limits.MOST_NOTE_CHARACTERS // 10_000} 万字。请分几次，每次指一个小一点的文件夹。",
                f"Too much for once: at most {limits.MOST_STATEMENTS} entries and {limits.MOST_NOTES} notes of"
                f" {limits.MOST_NOTE_CHARACTERS:,} characters. Import smaller folders one by one.",
            )
        )


def _shown(path: str, page: Page) -> RestoredPage:
    beliefs = () if is_note(path, page) else page.beliefs
    pinned = tuple(belief.statement for belief in beliefs if belief.data.pinned)
    all_of_it = {"shared": "all", "groups": "group"}.get(path.split("/")[0])
    wider = tuple(
        f"{all_of_it or belief.visibility} {belief.statement}"
        for belief in beliefs
        if all_of_it or belief.visibility is not Visibility.PRIVATE
    )
    return RestoredPage(path, page.title, len(beliefs), pinned, wider)


# Telling


def as_json(proposal: Proposal) -> dict[str, Any]:
    """What is shown of a proposal, as JSON has it. `n` is the place of a statement or note in what was found."""
    return {
        "entries": [_entry_json(n, one) for n, one in enumerate(proposal.entries)],
        "notes": [_note_json(n, one) for n, one in enumerate(proposal.notes)],
        "pages": [
            {
                "path": page.path,
                "title": page.title,
                "entries": page.entries,
                "pinned": list(page.pinned),
                "wider": list(page.wider),
            }
            for page in proposal.restored
        ],
        "left_out": [
            {"reason": str(one.reason), "file": flat(one.file), "line": one.line, "count": one.count}
            for one in proposal.skipped
        ],
        "changes": proposal.changes,
    }


def _entry_json(n: int, one: Folded) -> dict[str, Any]:
    statement = one.statement
    return {
        "n": n,
        "text": one.line or flat(statement.text),
        "outcome": one.outcome,
        "kind": statement.kind,
        "path": one.path,
        "title": one.title,
        "date": _days(statement.when.first, statement.when.last),
        "against": list(one.against),
        "like": one.like if one.outcome == "new" else "",
        "file": flat(statement.file),
        "line": statement.line,
    }


def _note_json(n: int, one: PlacedNote) -> dict[str, Any]:
    return {
        "n": n,
        "title": one.title,
        "outcome": one.outcome,
        "path": one.path,
        "characters": one.characters,
        "date": _days(one.note.when.first, one.note.when.last),
        "file": flat(one.note.file),
    }


def _days(first: object, last: object) -> list[str | None]:
    return [str(first) if first else None, str(last)]


def _line(folded: Folded, found: Found, by: By) -> dict[str, object]:
    statement = folded.statement
    day = statement.when.first or statement.when.last
    said = statement.moment or datetime(day.year, day.month, day.day, tzinfo=by.zone)
    return {
        "said_at": said.isoformat(),
        "written": [statement.when.first and str(statement.when.first), str(statement.when.last)],
        "text": statement.text,
        "from": found.format,
        "file": statement.file,
        "line": statement.line,
    }


def _summary(found: Found, proposal: Proposal) -> dict[str, object]:
    return {
        "from": found.format,
        "name": found.name,
        "entries": sum(one.outcome in _WRITES for one in proposal.entries),
        "notes": sum(one.outcome in ("new", "grows") for one in proposal.notes),
        "pages": len(proposal.restored),
    }


def _message(found: Found, proposal: Proposal) -> str:
    """What the commit says of it, and `/undo`."""
    counts = _summary(found, proposal)
    parts = (("entries", "条"), ("notes", "篇笔记"), ("pages", "页"))
    told = "、".join(f"{counts[name]} {unit}" for name, unit in parts if counts[name])
    return f"从 {NAMES[found.format]} 导入（{' '.join(found.name.split())[:60]}）：{told}"
