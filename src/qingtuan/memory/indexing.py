"""What the index holds of the wiki: each belief, and the paragraphs of notes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time

from qingtuan.identity.scopes import Scope, Visibility
from qingtuan.indexes.base import Entry
from qingtuan.memory.holdings import Holdings
from qingtuan.memory.known import Known, is_note, type_of
from qingtuan.memory.wiki.page import Belief, Page

_SHAPE = "3"
"""Rises when an unchanged page gets other entries than before: then all are indexed again at the next start."""

_PAST = "/past"
"""Behind the visibility in the label of an entry that is history: it is searched only when the past is asked for."""

_PARAGRAPH = 400
"""Characters of a note that make one entry, about."""

_NOTE = "note-"


def entries_of(scope: Scope, pages: Mapping[str, Page]) -> Iterator[Entry]:
    """Everything that the index should hold of a scope, read from all of its pages."""
    notes = {path: page for path, page in pages.items() if is_note(path, page)}
    for path, page in notes.items():
        yield from note_entries(scope, path, page)
    for entry in Holdings({path: page for path, page in pages.items() if path not in notes}).entries:
        page = pages[entry.path]
        known = Known(scope, entry.path, type_of(entry.path, page), page.title, entry.belief, page.visibility)
        yield belief_entry(known, page)


def belief_entry(known: Known, page: Page) -> Entry:
    """The entry of a belief. `page` is where it stands."""
    data = known.belief.data
    label = f"{known.belief.visibility}{'' if known.belief.current else _PAST}"
    keys = (f"{data.subject}|{data.predicate}",) if data.subject and data.predicate else ()
    when = _seconds(data.since or page.updated)
    return Entry(entry_id(known.belief), known.path, str(known.scope), label, _sought(known), when, keys)


def _sought(known: Known) -> str:
    """The text by which a belief is found: what it says, behind the property that it is about. Who asks for a seat
    names that, and not the floor that is the answer."""
    told, predicate = known.told, known.belief.data.predicate or ""
    return told if not predicate or predicate.casefold() in told.casefold() else f"{predicate} {told}"


def note_entries(scope: Scope, path: str, page: Page) -> Iterator[Entry]:
    """The entries of a note."""
    for number, text in enumerate(paragraphs(page)):
        yield Entry(f"{_NOTE}{number}", path, str(scope), str(page.visibility), text, _seconds(page.updated))


def entry_id(belief: Belief) -> str:
    """How an entry of the index names a belief within its page."""
    return str(belief.number) if belief.number is not None else f"line-{belief.line}"


def paragraph_of(entry_id: str) -> int | None:
    """Which paragraph of its note an entry of the index is; None for a belief."""
    return int(entry_id.removeprefix(_NOTE)) if entry_id.startswith(_NOTE) else None


def labels_of(visible: frozenset[Visibility], *, past: bool) -> frozenset[str]:
    """The labels of entries that a reader of these visibilities may find."""
    names = frozenset(str(label) for label in visible)
    return names | frozenset(f"{name}{_PAST}" for name in names) if past else names


def stamp_of(content: str) -> str:
    """By what the index knows which content of a page it holds, and in which shape."""
    return f"{_SHAPE}:{content}"


def paragraphs(page: Page) -> tuple[str, ...]:
    """The pieces in which a note is found: whole lines together up to about 400 characters, longer lines cut."""
    pieces: list[str] = []
    piece = ""
    for line in page.body.splitlines():
        if piece and len(piece) + len(line) > _PARAGRAPH:
            pieces.append(piece)
            piece = ""
        for start in range(0, len(line), _PARAGRAPH):
            piece = f"{piece}\n{line[start : start + _PARAGRAPH]}".strip()
            if len(piece) >= _PARAGRAPH:
                pieces.append(piece)
                piece = ""
    return (*pieces, piece) if piece else tuple(pieces)


def _seconds(day: date | None) -> float:
    return datetime.combine(day, time(), UTC).timestamp() if day else 0.0
