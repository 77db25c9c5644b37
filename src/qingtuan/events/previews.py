"""Messages that a platform shows while an answer is written: each becomes the answer's first part, or goes.

    preview.shown  {channel, platform_id}   of the turn
    preview.over   {}                       of the turn: it became the answer, or was removed

Written down, so that a process that dies in the middle leaves nobody half an answer beside the whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database, Row


def project(database: Database, event: Event) -> None:
    """Keep `previews` up to date."""
    if event.kind is Kind.FOLDER_RESTORED:
        # What was half an answer when the backup was made has become a whole one since.
        database.execute("DELETE FROM previews")
    elif event.kind in ERASING:
        which, values = erased_by(event)
        database.execute(f"DELETE FROM previews WHERE event IN ({which})", values)  # noqa: S608 (placeholders)
    elif event.kind is Kind.PREVIEW_OVER:
        database.execute("DELETE FROM previews WHERE turn = ?", (event.place.turn,))
    elif event.kind is Kind.PREVIEW_SHOWN and not event.forgotten:
        database.execute(
            "INSERT OR REPLACE INTO previews (turn, event, channel, space, platform_id) VALUES (?, ?, ?, ?, ?)",
            (
                event.place.turn,
                event.id,
                event.payload["channel"],
                str(event.place.space),
                event.payload["platform_id"],
            ),
        )


@dataclass(frozen=True, slots=True)
class Preview:
    """One that stands in a chat."""

    turn: str
    space: Space
    platform_id: str


class Previews:
    """Those of one channel."""

    def __init__(self, log: Log, channel: str) -> None:
        self._log = log
        self._channel = channel

    def shown(self, place: Place, platform_id: str) -> None:
        """The platform shows one for the turn of `place`. Raises `StorageFailed`."""
        payload = {"channel": self._channel, "platform_id": platform_id}
        with self._log.transaction(durable=True):
            self._log.append(Kind.PREVIEW_SHOWN, place, payload)

    def over(self, preview: Preview) -> None:
        """It became the answer, or is gone. Raises `StorageFailed`."""
        self._log.append(Kind.PREVIEW_OVER, Place(None, preview.space, preview.turn))

    def of(self, turn: str) -> Preview | None:
        """The one of a turn, if it still stands."""
        row = self._log.database.row("SELECT * FROM previews WHERE turn = ? AND channel = ?", (turn, self._channel))
        return _preview(row) if row else None

    def open(self) -> list[Preview]:
        """All that stand."""
        rows = self._log.database.rows("SELECT * FROM previews WHERE channel = ? ORDER BY turn", (self._channel,))
        return [_preview(row) for row in rows]


def _preview(row: Row) -> Preview:
    return Preview(row["turn"], Space.parse(row["space"]), row["platform_id"])
