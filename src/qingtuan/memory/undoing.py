"""Taking back, with all that is to be told of it: `/undo` for a person's last write, `wiki rollback` for the rest."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from qingtuan.errors import NotAllowed, NotThere
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.identity.scopes import Role
from qingtuan.language import Words
from qingtuan.memory.acts import MAY_NOT_WRITE, By, within
from qingtuan.memory.wiki.store import Written
from qingtuan.memory.wiki.undo import Undo
from qingtuan.memory.wiki.walls import scope_of
from qingtuan.memory.writing import Writer


class Undoing:
    """Takes writes back, or pages back to what they were, and tells what became of each entry."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._library = writer.library

    async def last(self, by: By) -> str:
        """Take back the person's last write that was not taken back yet; what it was.

        Raises:
            NotThere: there is none.
            NotAllowed: the person may not write there any more.
            CannotUndo: the same lines were changed since.
            PageUnreadable, StorageFailed: as a write.
        """
        write = self.newest(by)
        if write is None:
            raise NotThere(Words("没有可以撤销的写入。", "There is nothing to take back."))
        if not self._may(by, write):
            raise NotAllowed(MAY_NOT_WRITE)
        await self.write(write.id, by)
        return self._library.store.message_of(write.id)

    def _may(self, by: By, write: Event) -> bool:
        """Whether the person may still write where they wrote then. Of a group, from wherever they are."""
        scopes = {scope_of(page["path"]) for page in write.payload.get("pages", ())}
        return by.reader.role is Role.OWNER or all(
            scope is not None and self._writer.may_write(within(by, scope), scope) for scope in scopes
        )

    def newest(self, by: By) -> Event | None:
        """The person's last write that was not taken back yet; its `page.intended`."""
        row = self._writer.log.database.row(
            "SELECT e.id FROM events AS e JOIN wiki_writes AS w ON w.event = e.id"
            " WHERE e.kind = ? AND e.person = ? AND w.undone IS NULL AND w.state IN ('open', 'committed')"
            " AND json_extract(e.payload, '$.undoes') IS NULL ORDER BY e.seq DESC LIMIT 1",
            (Kind.PAGE_INTENDED, by.reader.person),
        )
        return self._writer.log.get(row["id"]) if row else None

    async def write(self, name: str, by: By) -> tuple[str, ...]:
        """Take back what was written in a turn, for an event, or by one write; the pages that changed.

        Raises:
            NotThere: nothing (more) to take back.
            CannotUndo: the same lines were changed since.
            PageUnreadable, StorageFailed: as a write.
        """
        return _paths(await self._undo(by).undo(name, by.place, cause=by.cause))

    async def page_to(self, path: str, commit: str, by: By) -> tuple[str, ...]:
        """Make one page what it was in a commit; the pages that changed. Raises as `Undo.page_to`."""
        return _paths(await self._undo(by).page_to(path, commit, by.place, cause=by.cause))

    async def all_to(self, moment: datetime, by: By) -> tuple[str, ...]:
        """Make every page what it was at a moment; the pages that changed. Raises as `Undo.all_to`."""
        return _paths(await self._undo(by).all_to(moment, by.place, cause=by.cause))

    def _undo(self, by: By) -> Undo:
        return Undo(self._library.store, partial(self._writer.replace, by))


def _paths(written: Written | None) -> tuple[str, ...]:
    return written.paths if written else ()
