"""Where prose that was found goes: notes of origin `file`, each under its title. Pure.

A note is told by its title and grows by what it does not hold yet, paragraph by paragraph: what is brought in twice is
there once. Nothing foreign is ever put into a note that its person wrote: that would make all of it foreign.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from qingtuan.errors import PageUnreadable
from qingtuan.identity.scopes import Visibility
from qingtuan.language import Language, Words
from qingtuan.memory.importing.found import NoteText
from qingtuan.memory.known import origin_of
from qingtuan.memory.notes import LONGEST, LONGEST_TITLE, marked, safe_text, safe_title
from qingtuan.memory.topics import free_path, slug_of, title_key
from qingtuan.memory.wiki.lines import inserted
from qingtuan.memory.wiki.page import MAX_BYTES, Page, new_page, read_page
from qingtuan.memory.wiki.surgery import dated
from qingtuan.memory.wiki.yaml_text import flow
from qingtuan.messages import Origin

NoteOutcome = Literal["new", "same", "grows", "long", "empty"]


@dataclass(frozen=True, slots=True)
class PlacedNote:
    """What becomes of one text."""

    note: NoteText
    outcome: NoteOutcome
    title: str
    path: str = ""
    characters: int = 0
    """How many are added."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where notes go."""

    folder: str
    """Of the scope."""
    notes: Mapping[str, Page]
    """Those that are there, by path."""
    taken: Collection[str]
    """Every path of the scope on which something stands."""
    program: str
    """What it comes from, for the title where somebody's own note has that title."""
    today: date
    language: Language
    page_ids: Callable[[], str]
    known: Collection[str] = ()
    """Files whose text stands here already."""


def place(texts: Sequence[NoteText], shelf: Shelf) -> tuple[list[PlacedNote], dict[str, Page]]:
    """What becomes of each text, and the pages that change."""
    placing = _Placing(shelf)
    return [placing.take(text) for text in texts], placing.changed


class _Placing:
    """One text after the other."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._notes = dict(shelf.notes)
        self._paths = {title_key(page.title): path for path, page in sorted(shelf.notes.items(), reverse=True)}
        self._taken = set(shelf.taken)
        self.changed: dict[str, Page] = {}

    def take(self, text: NoteText) -> PlacedNote:
        title = safe_title(text.title, self._shelf.language)[:LONGEST_TITLE].strip() or self._shelf.program
        content = safe_text(text.text, self._shelf.language)
        if not content:
            return PlacedNote(text, "empty", title)
        if text.file in self._shelf.known:
            return PlacedNote(text, "same", title)
        if len(content) > LONGEST:
            return PlacedNote(text, "long", title, characters=len(content))
        title, path, page = self._home(title, content)
        fresh = _fresh(content, page)
        if not fresh:
            return PlacedNote(text, "same", title, path)
        try:
            grown = self._with(page or self._blank(title, text), fresh, apart=page is not None)
        except PageUnreadable:
            return PlacedNote(text, "long", title, path, len(fresh))
        self._notes[path] = self.changed[path] = grown
        self._paths[title_key(title)] = path
        self._taken.add(path)
        return PlacedNote(text, "grows" if page else "new", title, path, len(fresh))

    def _home(self, title: str, content: str) -> tuple[str, str, Page | None]:
        """The note of this title that holds what is foreign anyway, or all of the content; else a free place."""
        for name in (title, f"{title[: LONGEST_TITLE - 20]}（{self._shelf.program}）"):
            path = self._paths.get(title_key(name))
            if path is None:
                return name, free_path(f"{self._shelf.folder}/notes/{slug_of(name)}", self._taken), None
            if origin_of(self._notes[path]) is not None or not _fresh(content, self._notes[path]):
                return name, path, self._notes[path]
        # Both are somebody's own.
        path = free_path(f"{self._shelf.folder}/notes/{slug_of(name)}", self._taken)
        return name, path, None

    def _blank(self, title: str, text: NoteText) -> Page:
        shelf = self._shelf
        page = new_page(shelf.page_ids(), "note", title, shelf.language, Visibility.PRIVATE, shelf.today)
        lines = [f"source: {flow(f'{shelf.program} {text.file}'.strip())}"]
        if text.when.first is not None:
            stretch = text.when.first.isoformat() if text.when.exact else f"{text.when.first}~{text.when.last}"
            lines.append(f"written: {stretch if text.when.exact else flow(stretch)}")
        if text.tags:
            lines.append(f"tags: {flow(list(text.tags))}")
        return marked(read_page(inserted(page.lines, page.layout.body - 1, lines)), Origin.FILE)

    def _with(self, page: Page, content: str, *, apart: bool) -> Page:
        """The note with the content at its end. Raises `PageUnreadable` if it would be too long."""
        added = [*([""] if apart else []), *content.split("\n")]
        page = dated(read_page(inserted(page.lines, len(page.lines), added), page.known), self._shelf.today)
        if len(page.to_bytes()) > MAX_BYTES:
            raise PageUnreadable(Words("这篇笔记写满了。", "The note is full."))
        return page


def _fresh(content: str, page: Page | None) -> str:
    """What of a text a note does not hold yet, paragraph by paragraph."""
    known = {paragraph.strip() for paragraph in page.body.split("\n\n")} if page else set()
    return "\n\n".join(p for p in content.split("\n\n") if p.strip() and p.strip() not in known)
