"""Notes: longer texts as pages of their own. A note is something to read; nothing in it is ever a belief."""

from __future__ import annotations

import re
from dataclasses import dataclass

from qingtuan.clock import Clock, day_of
from qingtuan.errors import NotAllowed, NotThere, StorageFailed, ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log
from qingtuan.identity.privacy import Sight, may_write
from qingtuan.identity.redaction import mask
from qingtuan.identity.scopes import Scope
from qingtuan.ids import Ids
from qingtuan.language import Words
from qingtuan.memory.acts import By
from qingtuan.memory.library import Library, origin_of
from qingtuan.memory.topics import slug_of, title_key
from qingtuan.memory.wiki.disk import PageChanged
from qingtuan.memory.wiki.one_line import one_line
from qingtuan.memory.wiki.page import parse
from qingtuan.memory.wiki.store import Change
from qingtuan.messages import Origin
from qingtuan.storage.files import content_hash

_LONGEST = 200_000
"""Characters of one note."""
_TRIES = 5
_STRUCTURE = re.compile(r"^(<{7}|={7}|>{7}|\|{7})", re.MULTILINE)
"""Lines that git writes into a page it could not merge; a page that holds them is left alone."""


@dataclass(frozen=True, slots=True)
class PageText:
    """A page as a reader gets it."""

    text: str
    origin: Origin | None
    """Where the text comes from if not simply from the memory: a note can hold what a page or file said."""


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

        Raises:
            NotAllowed: guests write nothing.
            ToolFailed: no title or content, or too long.
            StorageFailed: the disk or git refuses.
        """
        scope = Scope.of_person(by.reader.person)
        if not may_write(by.reader, scope):
            raise NotAllowed(Words("这里的记忆你不能写。", "You may not write the memory here."))
        title, content = one_line(title), _safe(content, by)
        if not title or not content:
            raise ToolFailed(Words("笔记要有标题和内容。", "A note needs a title and content."))
        if len(content) > _LONGEST:
            raise ToolFailed(Words(f"笔记最多 {_LONGEST} 字。", f"A note has at most {_LONGEST} characters."))
        for _ in range(_TRIES):
            path, before = self._place(scope, title)
            after = self._with(before, title, content, by)
            parse(after)  # what cannot be read back is not written
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
        page = self._library.page(sight, path)
        if page is None:
            raise NotThere(Words("没有这个页面。", "There is no such page."))
        return PageText(page.body, origin_of(page))

    def _place(self, scope: Scope, title: str) -> tuple[str, bytes | None]:
        """The note of this title, wherever it stands, or a free place for it."""
        folder = f"{scope.folder}/notes"
        pages = self._library.pages(scope)
        for path, page in sorted(pages.items()):
            if path.startswith(folder) and page.type == "note" and title_key(page.title) == title_key(title):
                snapshot = self._store.read(path)
                return path, snapshot.data if snapshot else None
        taken = {path.casefold() for path in (*pages, *self._library.unreadable(scope))}
        slug, suffix = slug_of(title), ""
        number = 1
        while f"{folder}/{slug}{suffix}.md".casefold() in taken:
            number += 1
            suffix = f"-{number}"
        return f"{folder}/{slug}{suffix}.md", None

    def _with(self, before: bytes | None, title: str, content: str, by: By) -> bytes:
        if before is not None:
            joint = b"\n" if before.endswith(b"\n") else b"\n\n"
            return before + joint + content.encode() + b"\n"
        front = [
            "---",
            f"id: {self._ids.page()}",
            "type: note",
            "visibility: private",
            f"updated: {day_of(self._clock.now(), by.zone)}",
            *([f"origin: {by.origin}"] if by.origin.foreign else []),
            "---",
        ]
        return "\n".join([*front, f"# {title}", "", content, ""]).encode()


def _safe(content: str, by: By) -> str:
    """The text without secrets, and without anything that could pass for our own structure on a page."""
    text = mask(content.replace("\r\n", "\n").replace("\0", ""), language=by.language).text
    text = text.replace("<!-- qingtuan", "&lt;!-- qingtuan").strip()
    return _STRUCTURE.sub(r" \1", text)
