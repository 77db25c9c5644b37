"""`/undo`: taking back a person's last write, whatever it was."""

from __future__ import annotations

from qingtuan.errors import NotThere
from qingtuan.events.kinds import Kind
from qingtuan.language import Words
from qingtuan.memory.acts import By
from qingtuan.memory.wiki.undo import Undo
from qingtuan.memory.writing import Writer


class Undoing:
    """Finds a person's last write and takes it back."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._library = writer.library
        self._undo = Undo(writer.library.store)

    async def last(self, by: By) -> str:
        """Take back the person's last write that was not taken back yet; what it was.

        Raises:
            NotThere: there is none.
            CannotUndo: the same lines were changed since.
            PageUnreadable, StorageFailed: as a write.
        """
        store = self._library.store
        row = self._writer.log.database.row(
            "SELECT e.id FROM events AS e JOIN wiki_writes AS w ON w.event = e.id"
            " WHERE e.kind = ? AND e.person = ? AND w.undone IS NULL AND w.state IN ('open', 'committed')"
            " AND json_extract(e.payload, '$.undoes') IS NULL ORDER BY e.seq DESC LIMIT 1",
            (Kind.PAGE_INTENDED, by.reader.person),
        )
        if row is None:
            raise NotThere(Words("没有可以撤销的写入。", "There is nothing to take back."))
        write = str(row["id"])
        paths = sorted({change.path for change in store.ledger.of(write)})
        self._library.follow(paths)
        before = dict(self._writer.numbered(paths))
        await self._undo.undo(write, by.place, cause=by.cause)
        self._library.follow(paths)
        self._writer.tell(before, dict(self._writer.numbered(paths)), by)
        return store.message_of(write)
