"""Notes: longer texts as pages of their own. A note is something to read; nothing in it is ever a belief."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from heapq import nsmallest

from qingtuan.clock import Clock, day_of
from qingtuan.errors import LimitReached, NotAllowed, NotThere, PageChanged, PageUnreadable, StorageFailed, ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log
from qingtuan.identity.privacy import Sight, may_write
from qingtuan.identity.redaction import mask
from qingtuan.identity.scopes import Scope, Visibility
from qingtuan.identity.trust import inherit
from qingtuan.ids import Ids
from qingtuan.language import Language, Words
from qingtuan.memory.acts import MAY_NOT_WRITE, By
from qingtuan.memory.known import origin_of, type_of
from qingtuan.memory.library import Library
from qingtuan.memory.topics import free_path, slug_of, title_key
from qingtuan.memory.wiki.lines import inserted
from qingtuan.memory.wiki.one_line import one_line
from qingtuan.memory.wiki.page import MAX_BYTES, Page, new_page, parse, read_page
from qingtuan.memory.wiki.store import Change
from qingtuan.memory.wiki.surgery import dated
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.messages import Origin
from qingtuan.storage.files import content_hash

LONGEST = 200_000
"""Characters of what is written at once."""
LONGEST_TITLE = 100
_TRIES = 5
_DATA = re.compile(r"<!--(?=[ \t]*qingtuan)")
_CONFLICT = re.compile(r"^(?=<{7}|={7}|>{7}|\|{7})", re.MULTILINE)
"""Lines that git writes into a page it could not merge; a page that holds them is left alone."""
_CLOSING_MARKS = re.compile(r"(?:\s+#+)+\s*$")
"""What Markdown takes for the end of a heading."""
_ORIGIN = re.compile(r"origin[ \t]*:")


@dataclass(frozen=True, slots=True)
class PageText:
    """A page as a reader gets it."""

    text: str
    origin: Origin | None
    """Where the text comes from if not simply from the memory: a note can hold what a page or file said, and a group's
    page what others did."""


@dataclass(frozen=True, slots=True)
class PageName:
    """A page in a list."""

    path: str
    title: str


class Notes:
    """Writes and reads them."""

    def __init__(self, library: Library, log: Log, ids: Ids, clock: Clock) -> None:
        self._library = library
        self._store = library.store
        self._log = log
        self._ids = ids
        self._clock = clock

    async def write(self, title: str, content: str, by: By) -> str:
        """Write a note of the person's own, or add to the one of this title; its path.

        What is foreign in it makes all of the note foreign.

        Raises:
            NotAllowed: guests write nothing.
            ToolFailed: no title or content, or too long.
            LimitReached: the note of this title is full.
            StorageFailed: the disk or git refuses.
        """
        scope = Scope.of_person(by.reader.person)
        if not may_write(by.reader, scope):
            raise NotAllowed(MAY_NOT_WRITE)
        title, content = safe_title(title, by.language), safe_text(content, by.language)
        if not title or not content:
            raise ToolFailed(Words("笔记要有标题和内容。", "A note needs a title and content."))
        if len(title) > LONGEST_TITLE or len(content) > LONGEST:
            raise ToolFailed(
                Words(
                    f"标题最多 {LONGEST_TITLE} 字，内容最多 {LONGEST} 字。",
                    f"A title has at most {LONGEST_TITLE} characters, the content {LONGEST}.",
                )
            )
        for _ in range(_TRIES):
            path, before = self._place(scope, title)
            after = self._with(before, title, content, by).to_bytes()
            if len(after) > MAX_BYTES:
                raise LimitReached(Words("这篇笔记写满了，换个标题。", "This note is full; use another title."))
            change = Change(path, content_hash(before) if before is not None else None, after)
            try:
                await self._store.write([change], by.place, cause=by.cause, message=f"笔记：{title}")
            except PageChanged:
                continue
            finally:
                self._library.follow([path])
            payload = {"scope": str(scope), "path": path, "title": title}
            self._log.append(Kind.NOTE_WRITTEN, by.place, payload, origin=by.origin, cause=by.cause)
            return path
        raise StorageFailed(Words("这一页一直在变，写不进去。", "The page keeps changing; it cannot be written."))

    def read(self, sight: Sight, path: str) -> PageText:
        """A page for a reader who may see its whole scope.

        Raises:
            NotThere: there is none, or not for this reader, who cannot tell the difference.
            PageUnreadable: it is there and cannot be read.
        """
        page, scope = self._library.page(sight, path), scope_of(path)
        if page is None or scope is None:
            raise NotThere(Words("没有这个页面。", "There is no such page."))
        of_others = scope.kind == "group" and type_of(path, page) != "rule"
        return PageText(page.body, origin_of(page) or (Origin.FORWARD if of_others else None))

    def pages(self, sight: Sight, after: str, limit: int) -> list[PageName]:
        """The first pages behind a path, in the order of paths, of those that this reader may see whole."""
        library = self._library
        paths = (path for scope in library.scopes() if sight.whole(scope) for path in self._store.paths(scope))
        wanted = nsmallest(limit, (path for path in paths if path > after))
        return [PageName(path, self._title(sight, path)) for path in wanted]

    def _title(self, sight: Sight, path: str) -> str:
        try:
            page = self._library.page(sight, path)
        except (PageUnreadable, NotThere):
            page = None
        return (page.title if page else "") or path

    def _place(self, scope: Scope, title: str) -> tuple[str, bytes | None]:
        """The note of this title, wherever it stands, or a free place for it."""
        notes = self._library.notes(scope)
        for path, page in sorted(notes.items()):
            if title_key(page.title) == title_key(title):
                snapshot = self._store.read(path)
                return path, snapshot.data if snapshot else None
        taken = [*notes, *self._library.holdings(scope).pages, *self._library.unreadable(scope)]
        return free_path(f"{scope.folder}/notes/{slug_of(title)}", taken), None

    def _with(self, before: bytes | None, title: str, content: str, by: By) -> Page:
        """The note with the content at its end."""
        day = day_of(self._clock.now(), by.zone)
        if before is None:
            page = new_page(self._ids.page(), "note", title, by.language, Visibility.PRIVATE, day)
            added = content.split("\n")
        else:
            page = parse(before)
            added = ["", *content.split("\n")]
        page = read_page(inserted(page.lines, len(page.lines), added))
        return dated(marked(page, by.origin), day)


def marked(page: Page, origin: Origin) -> Page:
    """The page with its origin, which is the least trusted of all that was ever written on it."""
    known = origin_of(page)
    wanted = inherit([origin, known]) if known else origin
    if not wanted.foreign or wanted == known:
        return page
    line = f"origin: {wanted}"
    if not page.layout.body:
        return read_page(inserted(page.lines, 0, ["---", line, "---"]))
    lines = list(page.lines)
    for at in range(1, page.layout.body - 1):
        if _ORIGIN.match(lines[at].text):
            lines[at] = replace(lines[at], text=line)
            return read_page(lines)
    return read_page(inserted(lines, page.layout.body - 1, [line]))


def safe_title(title: str, language: Language) -> str:
    """A title without secrets, on one line; may be empty."""
    return _CLOSING_MARKS.sub("", one_line(mask(title, language=language).text)).strip()


def safe_text(content: str, language: Language) -> str:
    """The text without secrets, and without anything that could pass for our own structure on a page."""
    text = content.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()
    text = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) != "Cc")
    text = _DATA.sub("&lt;!--", mask(text, language=language).text).strip()
    return _CONFLICT.sub(" ", text)
