"""Which persons became one, and which were parted again.

    person.linked, person.claimed  {kept, gone, accounts, by, with, code?}; of the one who stays
    person.parted                  {link?, kept, gone, accounts}
    people.changed                 caused by one of these: people.toml says so, too; {taken, before, after} of a link

The event decides. `people.toml` and the memory follow it, at once or at the next start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.storage.sqlite import Database


def project(database: Database, event: Event) -> None:
    """Keep `links` up to date."""
    if event.forgotten:
        return
    if event.kind in ERASING:
        which, values = erased_by(event)
        person = event.place.person if event.kind is Kind.PERSON_FORGOTTEN else None
        database.execute(
            f"DELETE FROM links WHERE event IN ({which}) OR ? IN (kept, gone)",  # noqa: S608 (placeholders)
            [*values, person],
        )
    elif event.kind in (Kind.PERSON_LINKED, Kind.PERSON_CLAIMED):
        database.execute(
            "INSERT INTO links (event, kept, gone) VALUES (?, ?, ?)",
            (event.id, event.payload["kept"], event.payload["gone"]),
        )
    elif event.kind is Kind.PERSON_PARTED and event.payload.get("link"):
        database.execute("UPDATE links SET parted = ? WHERE event = ?", (event.id, event.payload["link"]))


@dataclass(frozen=True, slots=True)
class Link:
    """A person who became one with another."""

    event: Event
    parted: str | None
    """The `person.parted` by which they were parted."""

    @property
    def kept(self) -> str:
        """The id that stayed."""
        return str(self.event.payload["kept"])

    @property
    def gone(self) -> str:
        """The id that went."""
        return str(self.event.payload["gone"])

    @property
    def accounts(self) -> tuple[str, ...]:
        """Those that came with the one who went."""
        return tuple(self.event.payload["accounts"])


class Links:
    """The table."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def all(self) -> list[Link]:
        """Every link, parted or not, oldest first."""
        rows = self._log.database.rows("SELECT event, parted FROM links ORDER BY event")
        return [Link(event, row["parted"]) for row in rows if (event := self._log.get(row["event"])) is not None]

    def of(self, person: str) -> list[Link]:
        """The links that are in force of which this person is what became, oldest first."""
        return [link for link in self.all() if link.kept == person and link.parted is None]

    def is_parted(self, link: str) -> bool:
        """Whether the two of a link (`person.linked`, `person.claimed`) are two again."""
        row = self._log.database.row("SELECT 1 FROM links WHERE event = ? AND parted IS NOT NULL", (link,))
        return row is not None

    def merged(self) -> Mapping[str, str]:
        """By each id that went, the one that it became."""
        return {link.gone: link.kept for link in self.all() if link.parted is None}

    def written(self, event: str) -> Event | None:
        """The `people.changed` that says that the file followed this event."""
        caused = self._log.caused_by(event)
        return next((one for one in caused if one.kind is Kind.PEOPLE_CHANGED), None)
