"""`/undo`: taking back a person's last write, whatever it was."""

from __future__ import annotations

from qingtuan.errors import NotThere
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log
from qingtuan.language import Words
from qingtuan.memory.acts import By
from qingtuan.memory.library import Library
from qingtuan.memory.wiki.undo import Undo


class Undoing:
    """Finds a person's last write and takes it back."""

    def __init__(self, library: Library, log: Log) -> None:
        self._store = library.store
        self._undo = Undo(library.store)
        self._library = library
        self._log = log

    async def last(self, by: By) -> str:
        """Take back the person's last write that was not taken back yet; what it was.

        Raises:
            NotThere: there is none.
            CannotUndo: the same lines were changed since.
            PageUnreadable, StorageFailed: as a write.
        """
        row = self._log.database.row(
            "SELECT e.id FROM events AS e JOIN wiki_writes AS w ON w.event = e.id"
            " WHERE e.kind = ? AND e.person = ? AND w.undone IS NULL AND w.state IN ('open', 'committed')"
            " AND json_extract(e.payload, '$.undoes') IS NULL ORDER BY e.seq DESC LIMIT 1",
            (Kind.PAGE_INTENDED, by.reader.person),
        )
        if row is None:
            raise NotThere(Words("没有可以撤销的写入。", "There is nothing to take back."))
        message = self._store.message_of(row["id"])
        written = await self._undo.undo(row["id"], by.place, cause=by.cause)
        self._library.follow(written.paths if written else ())
        return message
