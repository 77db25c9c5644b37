"""What was chosen for one space by a command, and counts there instead of the settings.

Payload of the event: `settings.changed {space, name, value}`; a value of null lets the settings count again.
"""

from __future__ import annotations

from typing import Literal

from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database

Choice = Literal["policy", "persona", "enabled", "listening"]
"""How talk becomes memory (`auto`, `review`, `manual`); the name of a persona card; whether a group is answered
(`yes`, `no`), and whether what is said there to others is kept for a while (`yes`, `no`)."""


def project(database: Database, event: Event) -> None:
    """Bring `choices` up to date with one event."""
    if event.kind in ERASING:
        which, values = erased_by(event)
        database.execute(f"DELETE FROM choices WHERE event IN ({which})", values)  # noqa: S608 (placeholders)
    if event.kind is not Kind.SETTINGS_CHANGED or "space" not in event.payload:
        return
    space, name, value = (event.payload.get(field) for field in ("space", "name", "value"))
    database.execute("DELETE FROM choices WHERE space = ? AND name = ?", (space, name))
    if value is not None:
        database.execute(
            "INSERT INTO choices (space, name, value, event) VALUES (?, ?, ?, ?)", (space, name, value, event.id)
        )


class Choices:
    """Reads and makes them."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def of(self, space: Space, name: Choice) -> str | None:
        """What was chosen for a space; None if the settings count."""
        row = self._log.database.row("SELECT value FROM choices WHERE space = ? AND name = ?", (str(space), name))
        return row["value"] if row else None

    def spaces(self, name: Choice, value: str) -> frozenset[Space]:
        """The spaces for which this value was chosen."""
        rows = self._log.database.rows("SELECT space FROM choices WHERE name = ? AND value = ?", (name, value))
        return frozenset(Space.parse(row["space"]) for row in rows)

    def choose(self, space: Space, name: Choice, value: str | None, place: Place, *, cause: str | None = None) -> None:
        """Let a value count for a space from now on; None lets the settings count again."""
        payload = {"space": str(space), "name": name, "value": value}
        self._log.append(Kind.SETTINGS_CHANGED, place, payload, cause=cause)
