"""Groups: who left one, and whether the assistant itself is there and may write.

group.changed  {channel, change, account?, until?}
    joined, left      an account, of the person of the event
    added, removed    the assistant
    muted, unmuted    the assistant; `until` where the platform tells
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database

Change = Literal["joined", "left", "added", "removed", "muted", "unmuted"]

_LONGEST_MUTE = timedelta(days=30)
"""How long a mute without an end counts. No platform has a longer one with an end; whatever it is, we try again."""


def project(database: Database, event: Event) -> None:
    """Bring `groups_left` and `groups_own` up to date with one event."""
    if event.kind in ERASING:
        which, values = erased_by(event)
        database.execute(f"DELETE FROM groups_left WHERE event IN ({which})", values)  # noqa: S608 (placeholders)
    if event.kind is not Kind.GROUP_CHANGED or event.forgotten:
        return
    payload, space = event.payload, str(event.place.space)
    match payload["change"]:
        case "joined":
            database.execute("DELETE FROM groups_left WHERE space = ? AND account = ?", (space, payload["account"]))
        case "left":
            database.execute(
                "INSERT OR REPLACE INTO groups_left (space, account, event) VALUES (?, ?, ?)",
                (space, payload["account"], event.id),
            )
        case change:
            until = payload.get("until") if change == "muted" else None
            database.execute(
                "INSERT OR REPLACE INTO groups_own (channel, space, gone, muted, event) VALUES (?, ?, ?, ?, ?)",
                (payload["channel"], space, change == "removed", until, event.id),
            )


class Groups:
    """Reads and writes what became of groups."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def left(self) -> dict[str, frozenset[str]]:
        """By account, the ids of the groups that it left."""
        found: dict[str, set[str]] = {}
        for row in self._log.database.rows("SELECT space, account FROM groups_left"):
            found.setdefault(row["account"], set()).add(Space.parse(row["space"]).id)
        return {account: frozenset(groups) for account, groups in found.items()}

    def has_left(self, group: Space, account: str) -> bool:
        """Whether an account is known to have left a group."""
        row = self._log.database.row("SELECT 1 FROM groups_left WHERE space = ? AND account = ?", (str(group), account))
        return row is not None

    def is_gone(self, channel: str, group: Space) -> bool:
        """Whether the assistant was removed from a group."""
        row = self._own(channel, group)
        return row is not None and bool(row[0])

    def is_here(self, channel: str, group: Space) -> bool:
        """Whether the assistant is known to be in a group."""
        row = self._own(channel, group)
        return row is not None and not row[0]

    def is_muted(self, channel: str, group: Space, now: datetime) -> bool:
        """Whether the assistant may not write in a group at this moment."""
        row = self._own(channel, group)
        return row is not None and row[1] is not None and now.timestamp() * 1000 < row[1]

    def _own(self, channel: str, group: Space) -> tuple[int, int | None] | None:
        row = self._log.database.row(
            "SELECT gone, muted FROM groups_own WHERE channel = ? AND space = ?", (channel, str(group))
        )
        return (row["gone"], row["muted"]) if row else None

    def account_changed(
        self, change: Literal["joined", "left"], channel: str, group: Space, account: str, person: str
    ) -> Event:
        """Write down that somebody came to a group or left it."""
        payload = {"channel": channel, "change": change, "account": account}
        return self._log.append(Kind.GROUP_CHANGED, Place(None, group, None, person), payload)

    def own_changed(
        self,
        change: Literal["added", "removed", "unmuted"],
        channel: str,
        group: Space,
    ) -> Event:
        """Write down that the assistant came to a group, was removed, or may write again."""
        return self._log.append(Kind.GROUP_CHANGED, Place(None, group), {"channel": channel, "change": change})

    def muted(self, channel: str, group: Space, now: datetime, until: datetime | None) -> Event:
        """Write down that the assistant may not write in a group: until then, or until it is lifted."""
        end = until or now + _LONGEST_MUTE
        payload = {"channel": channel, "change": "muted", "until": round(end.timestamp() * 1000)}
        return self._log.append(Kind.GROUP_CHANGED, Place(None, group), payload)
