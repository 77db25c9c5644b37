"""What was said in enabled groups and not to the assistant, kept apart for a while (channels.md, Groups).

No part of the log: it is material for a turn of the same group, which copies what it uses, and otherwise goes. What a
person said goes with them, and nothing is kept of who does not want it.

overhearing.chosen  {heard, ids}; of the person
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from qingtuan.clock import Clock
from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.messages import Inbound, Space
from qingtuan.storage.sqlite import Database, Row, marks

MOST = 200
"""Messages of a group that are kept."""
LONGEST = timedelta(days=7)
"""For how long."""
MOST_CHARS = 2000
"""Characters that are kept of a message."""


def project(database: Database, event: Event) -> None:
    """Keep `unheard` up to date, and take out of `overheard` what must not stay."""
    if event.kind is Kind.PERSON_FORGOTTEN:
        database.execute("DELETE FROM overheard WHERE person = ?", (event.place.person,))
    elif event.kind is Kind.FOLDER_RESTORED:
        # What was deleted since the backup was made is not to come back.
        database.execute("DELETE FROM overheard")
    if event.kind in ERASING:
        which, values = erased_by(event)
        database.execute(f"DELETE FROM unheard WHERE event IN ({which})", values)  # noqa: S608 (placeholders)
    if event.kind is Kind.OVERHEARING_CHOSEN and not event.forgotten:
        for person in event.payload["ids"]:
            database.execute("DELETE FROM unheard WHERE person = ?", (person,))
            if not event.payload["heard"]:
                database.execute("INSERT INTO unheard (person, event) VALUES (?, ?)", (person, event.id))
                database.execute("DELETE FROM overheard WHERE person = ?", (person,))


@dataclass(frozen=True, slots=True)
class Overheard:
    """One message that was said in a group and not to the assistant."""

    number: int
    account: str
    person: str
    said_at: datetime
    text: str


class Overhearing:
    """The messages of all groups that are kept."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._clock = clock

    @property
    def _database(self) -> Database:
        return self._log.database

    def keep(self, inbound: Inbound, person: str, text: str) -> None:
        """Keep a message as `text`; one that was kept before and was edited reads as it does now."""
        space = str(inbound.space)
        where = (inbound.channel, space, inbound.message_id)
        with self._log.transaction():
            known = self._database.execute(
                "UPDATE overheard SET text = ? WHERE channel = ? AND space = ? AND message_id = ?",
                (text[:MOST_CHARS], *where),
            )
            if not known.rowcount and not self._twice(inbound, text):
                self._database.execute(
                    "INSERT INTO overheard (channel, space, message_id, account, person, said_at, heard, text)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (*where, inbound.account, person, inbound.time.isoformat(), self._now(), text[:MOST_CHARS]),
                )
            self._database.execute(
                "DELETE FROM overheard WHERE space = ? AND (heard < ? OR number <= (SELECT number FROM overheard"
                " WHERE space = ? ORDER BY number DESC LIMIT 1 OFFSET ?))",
                (space, self._since(), space, MOST),
            )

    def _twice(self, inbound: Inbound, text: str) -> bool:
        """Whether another account of the assistant has heard the same."""
        row = self._database.row(
            "SELECT 1 FROM overheard WHERE space = ? AND account = ? AND said_at = ? AND text = ?",
            (str(inbound.space), inbound.account, inbound.time.isoformat(), text[:MOST_CHARS]),
        )
        return row is not None

    def _now(self) -> int:
        return round(self._clock.now().timestamp() * 1000)

    def prune(self) -> None:
        """Delete what has been kept long enough, in every group: it goes through all that is kept."""
        self._database.execute("DELETE FROM overheard WHERE heard < ?", (self._since(),))

    def _since(self) -> int:
        return self._now() - round(LONGEST.total_seconds() * 1000)

    def unused(self, group: Space, *, after: datetime | None = None) -> list[Overheard]:
        """What was said in a group, oldest first, and was not copied into a turn yet; only what was heard after a
        moment."""
        since = self._since()
        if after is not None:
            since = max(since, round(after.timestamp() * 1000))
        rows = self._database.rows(
            "SELECT * FROM overheard WHERE space = ? AND used = 0 AND heard >= ? ORDER BY number", (str(group), since)
        )
        return [_overheard(row) for row in rows]

    def use(self, numbers: Collection[int]) -> None:
        """These were copied into a turn."""
        self._database.execute(
            f"UPDATE overheard SET used = 1 WHERE number IN ({marks(numbers)})",  # noqa: S608 (placeholders)
            list(numbers),
        )

    def find(self, channel: str, group: Space, message_id: str) -> Overheard | None:
        """A message by its id."""
        row = self._database.row(
            "SELECT * FROM overheard WHERE channel = ? AND space = ? AND message_id = ? AND heard >= ?",
            (channel, str(group), message_id, self._since()),
        )
        return _overheard(row) if row else None

    def take_back(self, channel: str, group: Space, message_id: str) -> None:
        """A message was recalled by who said it."""
        self._database.execute(
            "DELETE FROM overheard WHERE channel = ? AND space = ? AND message_id = ?",
            (channel, str(group), message_id),
        )

    def clear(self, group: Space) -> None:
        """Keep nothing of a group."""
        self._database.execute("DELETE FROM overheard WHERE space = ?", (str(group),))

    def hears(self, ids: Collection[str]) -> bool:
        """Whether a person, by any of their ids, may be overheard."""
        row = self._database.row(
            f"SELECT 1 FROM unheard WHERE person IN ({marks(ids)})",  # noqa: S608 (placeholders)
            sorted(ids),
        )
        return row is None

    def choose(self, place: Place, ids: Sequence[str], *, heard: bool, cause: str | None = None) -> None:
        """Let the person of `place`, whom the log knows by `ids`, be overheard, or not."""
        self._log.append(Kind.OVERHEARING_CHOSEN, place, {"heard": heard, "ids": list(ids)}, cause=cause)


def delete_overheard(log: Log, holds: Callable[[str], bool]) -> None:
    """Keep no message whose text `holds` what is erased."""
    rows = log.database.rows("SELECT number, text FROM overheard")
    for row in rows:
        if holds(row["text"]):
            log.database.execute("DELETE FROM overheard WHERE number = ?", (row["number"],))


def _overheard(row: Row) -> Overheard:
    said_at = datetime.fromisoformat(row["said_at"])
    return Overheard(row["number"], row["account"], row["person"], said_at, row["text"])
