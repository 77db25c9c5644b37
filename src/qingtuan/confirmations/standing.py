"""What the owner allowed ahead: a projection of the events about it, and which of it still counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from qingtuan.clock import Clock
from qingtuan.errors import LimitReached, NotThere
from qingtuan.events.erasing import erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.identity.trust import StandingYes
from qingtuan.language import Words
from qingtuan.storage.sqlite import Database, Row
from qingtuan.tools.tool import Tool

MAX_STANDING = 50
"""How many stand at the same time: more than that nobody looks through."""

Pattern = tuple[tuple[str, str], ...]
"""Argument and shell pattern."""


def project(database: Database, event: Event) -> None:
    """Keep `standing_yes` up to date."""
    if event.forgotten:
        return
    match event.kind:
        case Kind.STANDING_GIVEN:
            database.execute(
                "INSERT INTO standing_yes (event, number, state)"
                " SELECT ?, coalesce(max(number), 0) + 1, 'given' FROM standing_yes",
                (event.id,),
            )
        case Kind.STANDING_REVOKED:
            database.execute("UPDATE standing_yes SET state = 'revoked' WHERE event = ?", (event.cause,))
        case Kind.TOOL_STARTED if given := event.payload.get("standing"):
            database.execute(
                "UPDATE standing_yes SET used = used + 1, last_used = ? WHERE event = ?",
                (_millis(event.time), given["event"]),
            )
        case Kind.PERSON_FORGOTTEN | Kind.BELIEF_PURGED:
            _erase(database, event)
        case _:
            pass


def _erase(database: Database, event: Event) -> None:
    """Take out what was given by events that are erased, and count the calls that are left."""
    which, values = erased_by(event)
    database.execute(f"DELETE FROM standing_yes WHERE event IN ({which})", values)  # noqa: S608 (placeholders)
    left = (
        f"FROM events AS c WHERE c.kind = 'tool.started' AND c.seq < ? AND c.id NOT IN ({which})"
        " AND json_extract(c.payload, '$.standing.event') = standing_yes.event"
    )
    database.execute(
        f"UPDATE standing_yes SET used = (SELECT count(*) {left}), last_used = (SELECT max(c.time) {left})",  # noqa: S608
        [event.seq, *values, event.seq, *values],
    )


@dataclass(frozen=True, slots=True)
class Given:
    """A standing yes with what became of it."""

    yes: StandingYes
    fingerprint: str
    """Of the tool as it was when the yes was given (`Tool.fingerprint`)."""
    used: int
    last_used: datetime | None

    def counts(self, tool: Tool | None) -> bool:
        """Whether it still means the tool that now has its name: one that changed since was never agreed to."""
        return tool is not None and tool.fingerprint == self.fingerprint


class StandingBook:
    """Writes down what is allowed ahead, and reads what stands."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._clock = clock

    def give(self, tool: Tool, pattern: Pattern, lasts: timedelta, place: Place, *, cause: str) -> Given:
        """Allow calls of `tool` that fit `pattern`. The same once more takes the place of the earlier one.

        Raises:
            LimitReached: too many stand already.
        """
        standing = self.standing()
        same = [given for given in standing if (given.yes.tool, given.yes.pattern) == (tool.name, pattern)]
        if len(standing) - len(same) >= MAX_STANDING:
            raise LimitReached(_TOO_MANY)
        payload = {
            "tool": tool.name,
            "pattern": [list(pair) for pair in pattern],
            "expires": (self._clock.now() + lasts).isoformat(),
            "fingerprint": tool.fingerprint,
        }
        with self._log.transaction(durable=True):
            for old in same:
                self._revoke(old, place, message=cause)
            event = self._log.append(Kind.STANDING_GIVEN, place, payload, cause=cause)
        return self._load("s.event = ?", [event.id])[0]

    def revoke(self, number: int, place: Place, *, cause: str) -> Given:
        """Take one back. Raises `NotThere` if none of this number stands."""
        found = next((given for given in self.standing() if given.yes.number == number), None)
        if found is None:
            raise NotThere(Words(f"没有第 {number} 条授权。", f"Nothing is allowed under number {number}."))
        with self._log.transaction(durable=True):
            self._revoke(found, place, message=cause)
        return found

    def _revoke(self, given: Given, place: Place, *, message: str) -> None:
        payload = {"tool": given.yes.tool, "number": given.yes.number, "message": message}
        self._log.append(Kind.STANDING_REVOKED, place, payload, cause=given.yes.event)

    def standing(self) -> list[Given]:
        """What was given, not taken back, and not run out, oldest first."""
        return [given for given in self._load("s.state = 'given'", []) if given.yes.expires > self._clock.now()]

    def counting(self, tool_named: Callable[[str], Tool | None]) -> tuple[StandingYes, ...]:
        """Those on which a call can run now. `tool_named` gives the tool that has a name at this moment."""
        return tuple(given.yes for given in self.standing() if given.counts(tool_named(given.yes.tool)))

    def _load(self, condition: str, values: Sequence[Any]) -> list[Given]:
        rows = self._log.database.rows(
            "SELECT s.*, e.payload FROM standing_yes AS s CROSS JOIN events AS e ON e.id = s.event"  # noqa: S608
            f" WHERE {condition} ORDER BY s.number",
            values,
        )
        return [_given(row) for row in rows]


def _given(row: Row) -> Given:
    payload = json.loads(row["payload"])
    return Given(
        yes=StandingYes(
            tool=payload["tool"],
            pattern=tuple((name, pattern) for name, pattern in payload["pattern"]),
            expires=datetime.fromisoformat(payload["expires"]),
            event=row["event"],
            number=row["number"],
        ),
        fingerprint=payload["fingerprint"],
        used=row["used"],
        last_used=datetime.fromtimestamp(row["last_used"] / 1000, UTC) if row["last_used"] is not None else None,
    )


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


_TOO_MANY = Words(
    f"已经有 {MAX_STANDING} 条授权了，先撤销几条。", f"{MAX_STANDING} of them stand already; revoke some first."
)
