"""An export of our own: pages with a list of their hashes.

Pages that are as they were exported can stand again byte for byte where nothing stands yet. Everywhere else, and for
pages that somebody edited since, each entry and note is taken by itself, like that of any other source: it gets no
number, no pin and no label from the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qingtuan.errors import PageUnreadable
from qingtuan.identity.scopes import Scope
from qingtuan.memory.beliefs import event_time
from qingtuan.memory.importing import dates
from qingtuan.memory.importing.decoding import decoded
from qingtuan.memory.importing.found import (
    MOST_PAGE_BYTES,
    Found,
    NoteText,
    PageFile,
    Reason,
    Skipped,
    Statement,
    When,
)
from qingtuan.memory.importing.reading import Reader
from qingtuan.memory.importing.sources import Source
from qingtuan.memory.known import is_note, type_of
from qingtuan.memory.topics import GENERAL, kind_of
from qingtuan.memory.wiki.lines import join_lines
from qingtuan.memory.wiki.page import Belief, Page, parse
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.storage.files import content_hash

MANIFEST = "manifest.json"
FORMAT = "qingtuan-export"
VERSION = 1
PAGES = "wiki/"
"""Where the pages stand in an export, below which all is as it is in the wiki."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an export says of itself."""

    person: str
    """Whose it is."""
    files: Mapping[str, str]
    """SHA-256 by path, of every file but the list itself."""


def is_export(source: Source) -> bool:
    """Whether a source is an export of ours."""
    return MANIFEST in source.paths and manifest_of(source) is not None


def manifest_of(source: Source) -> Manifest | None:
    """The list of an export; None for anything else."""
    data = source.read(MANIFEST)
    text = decoded(data) if isinstance(data, bytes) else data
    if isinstance(text, Reason):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("format") != FORMAT or value.get("version") != VERSION:
        return None
    files, person = value.get("files"), value.get("person")
    if not isinstance(files, dict) or not isinstance(person, str) or not person:
        return None
    return Manifest(person, {str(path): str(digest) for path, digest in files.items()})


def read(reader: Reader) -> Found:
    """What an export holds. Raises `ValueError` if it is none."""
    manifest = manifest_of(reader.source)
    if manifest is None:
        raise ValueError("no export")
    reading = _Reading(reader, manifest)
    for path in reader.source.paths:
        if path.startswith(PAGES):
            reading.page(path)
    known = (MANIFEST, "README.md")
    asides = [path for path in reader.source.paths if not path.startswith(PAGES) and path not in known]
    for reason, paths in (
        (Reason.TALK, [path for path in asides if path.startswith("talk/")]),
        (Reason.OTHER, [path for path in asides if not path.startswith("talk/")]),
    ):
        if paths:
            reading.skipped.append(Skipped(reason, paths[0], count=len(paths)))
    missing = [path for path in manifest.files if path.startswith(PAGES) and path not in reader.source.paths]
    whole = not reading.changed and not missing and reading.size <= MOST_PAGE_BYTES
    reading.skipped += [Skipped(Reason.FORGED, path) for path in (*reading.changed, *missing)]
    return Found(
        "qingtuan",
        reader.source.name,
        tuple(reading.statements),
        tuple(reading.notes),
        tuple(reading.pages) if whole else (),
        (*reading.skipped, *reader.source.tree.skipped),
    )


class _Reading:
    """One pass over an export."""

    def __init__(self, reader: Reader, manifest: Manifest) -> None:
        self._reader = reader
        self._manifest = manifest
        self._own = Scope.of_person(manifest.person)
        self.statements: list[Statement] = []
        self.notes: list[NoteText] = []
        self.pages: list[PageFile] = []
        self.skipped: list[Skipped] = []
        self.changed: list[str] = []
        self.size = 0

    def page(self, path: str) -> None:
        """Take one page."""
        place = path.removeprefix(PAGES)
        scope = scope_of(place)
        data = self._reader.source.read(path)
        if isinstance(data, Reason) or scope is None:
            self.skipped.append(Skipped(data if isinstance(data, Reason) else Reason.OTHER, path))
            self.changed.append(path)
            return
        try:
            page = parse(data)
        except PageUnreadable:
            self.skipped.append(Skipped(Reason.BROKEN, path))
            self.changed.append(path)
            return
        if content_hash(data) != self._manifest.files.get(path):
            self.changed.append(path)
        self.size += len(data)
        # Whoever takes it in stands in for the one whose it was.
        kept = place.replace(f"{self._own.folder}/", f"{OWN}/", 1) if scope == self._own else place
        self.pages.append(PageFile(kept, data.decode(), path))
        if scope == self._own:
            self._take(path, place, page)
        else:
            self.skipped.append(Skipped(Reason.ELSEWHERE, path))

    def _take(self, path: str, place: str, page: Page) -> None:
        updated, today = page.updated, self._reader.reading.today
        when = When(None, min(updated, today) if updated else today)
        if is_note(place, page):
            if text := _without_title(page.body, page.title):
                tags = page.front.get("tags")
                kept = tuple(str(tag) for tag in tags) if isinstance(tags, list) else ()
                self.notes.append(NoteText(page.title or place, text, when, path, kept))
            return
        self.statements += (self._statement(belief, path, place, page, when) for belief in page.beliefs)
        if prose := _prose(page):
            self.notes.append(NoteText(page.title or place, prose, when, path))

    def _statement(self, belief: Belief, path: str, place: str, page: Page, when: When) -> Statement:
        data, today = belief.data, self._reader.reading.today
        moment = event_time(data.source) if data.source else None
        if moment is not None:
            when = dates.written(dates.of_moment(moment, self._reader.reading.zone), when, today)
        elif (known := data.since or data.until) is not None:
            when = dates.written(When(known, known), when, today)
        named = type_of(place, page)
        until = data.until or (None if belief.current else data.since or when.last)
        return Statement(
            text=belief.statement,
            when=when,
            kind=kind_of(named),
            topic="" if page.title in (GENERAL.zh, GENERAL.en) else page.title,
            subject=data.subject or "",
            label=data.predicate or "",
            value=data.value or "" if data.predicate else "",
            single=bool(data.predicate),
            many=data.many,
            moment=moment if when.exact else None,
            since=data.since,
            until=until,
            past=not belief.current,
            inferred=data.how == "inferred",
            file=path,
            line=belief.line,
        )


OWN = "users/~"
"""Stands for the folder of whoever imports: no folder of a person has that name."""


def _prose(page: Page) -> str:
    """What people wrote on a page beside its entries."""
    taken = set(range(page.layout.body))
    if page.layout.data:
        taken |= set(range(page.layout.data[0], page.layout.data[1] + 1))
    for belief in page.beliefs:
        taken |= set(range(belief.item.start, belief.item.end))
    taken |= {section.heading for section in page.layout.sections}
    text = join_lines(line for at, line in enumerate(page.lines) if at not in taken).strip()
    return _without_title(text, page.title)


def _without_title(text: str, title: str) -> str:
    first, _, rest = text.partition("\n")
    return rest.strip() if first.strip().lstrip("#").strip() == title else text.strip()


def manifest_json(person: str, made: str, files: Mapping[str, str]) -> dict[str, Any]:
    """The list of an export, as JSON has it. `made` is when, in ISO 8601."""
    return {"format": FORMAT, "version": VERSION, "person": person, "made": made, "files": dict(sorted(files.items()))}
