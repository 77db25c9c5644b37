"""Which file came with which event: for finding one again, for quotas, and for what must not be cleared away."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.identity.privacy import EventSight
from qingtuan.ids import first_event_id
from qingtuan.messages import Attachment
from qingtuan.storage.sqlite import Database, marks

_BRINGING = frozenset({Kind.MESSAGE_RECEIVED, Kind.MEDIA_FETCHED, Kind.TOOL_FINISHED})


def project(database: Database, event: Event) -> None:
    """Keep `media_files` up to date."""
    if event.forgotten:
        return
    if event.kind in ERASING:
        which, values = erased_by(event)
        database.execute(f"DELETE FROM media_files WHERE event IN ({which})", values)  # noqa: S608 (placeholders)
    elif event.kind in _BRINGING:
        for attached in event.payload.get("attachments", ()):
            columns = (attached[name] for name in ("hash", "kind", "name", "media_type", "size"))
            database.execute(
                "INSERT OR IGNORE INTO media_files (event, hash, kind, name, media_type, size, sent)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (event.id, *columns, event.kind is not Kind.TOOL_FINISHED),
            )


class Files:
    """The files of one log."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def find(self, source: str, sight: EventSight) -> tuple[Attachment, Event] | None:
        """The newest file of a name, or whose hash begins with `file:…` (8 digits at least), of those that came with
        something that `sight` may see."""
        prefix = source.strip().removeprefix("file:").lower()
        by_hash = len(prefix) >= _SHORTEST and all(digit in "0123456789abcdef" for digit in prefix)
        condition, value = ("substr(f.hash, 1, ?) = ?", [len(prefix), prefix]) if by_hash else ("f.name = ?", [source])
        seen, values = sight.where("e")
        row = self._log.database.row(
            "SELECT f.* FROM media_files AS f JOIN events AS e ON e.id = f.event"  # noqa: S608 (placeholders)
            f" WHERE {condition} AND {seen} ORDER BY e.seq DESC LIMIT 1",
            [*value, *values],
        )
        event = self._log.get(row["event"]) if row else None
        if row is None or event is None:
            return None
        return Attachment(row["kind"], row["name"], row["media_type"], row["hash"], row["size"]), event

    def copies_of_pages(self) -> list[str]:
        """The hashes of what the assistant made a file of, and nobody sent."""
        rows = self._log.database.rows(
            "SELECT DISTINCT f.hash FROM media_files AS f JOIN events AS e ON e.id = f.event"
            " WHERE NOT f.sent AND json_extract(e.payload, '$.name') = ?"
            " AND NOT EXISTS (SELECT 1 FROM media_files AS g WHERE g.hash = f.hash AND g.sent)",
            ["send_file"],
        )
        return [row["hash"] for row in rows]

    def taken_since(self, persons: Sequence[str], moment: datetime) -> int:
        """Bytes that these persons have sent since a moment, each file once."""
        row = self._log.database.row(
            "SELECT sum(size) AS total FROM (SELECT DISTINCT f.hash, f.size FROM events AS e"  # noqa: S608
            " JOIN media_files AS f ON f.event = e.id"
            f" WHERE e.person IN ({marks(persons)}) AND e.time >= ? AND f.sent)",
            [*persons, round(moment.timestamp() * 1000)],
        )
        return int(row["total"] or 0) if row else 0

    def taken_of_others_since(self, persons: Sequence[str], moment: datetime) -> int:
        """Bytes that all but these persons have sent since a moment, a file once for each who sent it."""
        row = self._log.database.row(
            "SELECT sum(size) AS total FROM (SELECT DISTINCT e.person, f.hash, f.size FROM media_files AS f"  # noqa: S608
            " JOIN events AS e ON e.id = f.event"
            f" WHERE f.event >= ? AND f.sent AND e.person IS NOT NULL AND e.person NOT IN ({marks(persons)}))",
            [first_event_id(moment), *persons],
        )
        return int(row["total"] or 0) if row else 0

    def of_events(self, names: Sequence[str]) -> set[str]:
        """The hashes of the files that came with these events, or were fetched for them."""
        found: set[str] = set()
        for start in range(0, len(names), _AT_ONCE):
            some = names[start : start + _AT_ONCE]
            rows = self._log.database.rows(
                "SELECT f.hash FROM media_files AS f JOIN events AS e ON e.id = f.event"  # noqa: S608 (placeholders)
                f" WHERE e.id IN ({marks(some)}) OR e.cause IN ({marks(some)})",
                [*some, *some],
            )
            found.update(row["hash"] for row in rows)
        return found


_SHORTEST = 8
_AT_ONCE = 400
