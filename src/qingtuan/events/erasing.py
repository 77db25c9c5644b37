"""What an erasing event erases, the same for the trigger, for every projection and for a replay.

    person.forgotten   {events: [ids], …}   of `place.person`: all that is theirs and came before, and what it names
    belief.purged      {events: [ids], …}   what it names

Each payload that goes becomes a tombstone in the transaction of the event. What else has to go (files, indexes, the git
history) follows; that all of it is gone says an `erasure.finished` caused by the erasing event. So a start finds
by the events what a crash cut off (`unfinished`).

A projection takes its rows about erased events out when it hears of the erasing one (`erased_by`), and passes
over tombstones; then its table is what a replay makes of the events as they are now.
"""

from __future__ import annotations

import json
from typing import Any

from qingtuan.events.kinds import Kind
from qingtuan.events.log import TOMBSTONE, Event, Log

ERASING = frozenset({Kind.PERSON_FORGOTTEN, Kind.BELIEF_PURGED})
"""The kinds on whose word payloads go."""

_STAYING = (
    "e.kind IN ('person.forgotten', 'belief.purged', 'wiki.rewritten', 'erasure.finished',"
    " 'write.undone', 'summary.deleted', 'code.tried')"
    " OR e.space GLOB 'group:*' AND e.kind IN ('session.started', 'session.chosen', 'session.cleared',"
    " 'model.requested')"
    " OR e.kind = 'settings.changed' AND json_extract(e.payload, '$.space') GLOB 'group:*'"
)
"""What stays of a person who is forgotten: events that say nothing but ids, hashes and numbers and that the tables
of others are made from; that a group's session began; what was chosen for a group."""


def erased_by(event: Event) -> tuple[str, list[Any]]:
    """SQL, with its values, for the ids of all events whose payload goes on the word of an erasing one."""
    named = json.dumps(list(event.payload.get("events", ())))
    if event.kind is Kind.PERSON_FORGOTTEN:
        own, values = of_person(event.place.person or "", event.seq)
        return f"{own} UNION SELECT value FROM json_each(?)", [*values, named]  # noqa: S608 (our words)
    return "SELECT value FROM json_each(?)", [named]


def of_person(person: str, before: int) -> tuple[str, list[Any]]:
    """SQL, with its values, for the ids of what is a person's own and goes with them, of all that stands before a
    position of the log."""
    return (
        f"SELECT e.id FROM events AS e WHERE e.person = ? AND e.seq < ? AND NOT ({_STAYING})",  # noqa: S608 (our words)
        [person, before],
    )


def erase(log: Log, event: Event) -> int:
    """Replace by tombstones what an erasing event erases. How many there were. In the transaction of the event."""
    which, values = erased_by(event)
    done = log.database.execute(
        f"UPDATE events SET payload = ? WHERE payload <> ? AND id IN ({which})",  # noqa: S608
        [TOMBSTONE, TOMBSTONE, *values],
    )
    log.forget_read()
    return done.rowcount


def unfinished(log: Log) -> list[Event]:
    """Erasing events of which something is still to be done, oldest first. One that was caused by another is a part
    of that one's work."""
    return log.where(
        "kind IN (?, ?) AND json_extract(payload, '$.plan') IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM events AS f WHERE f.cause = events.id AND f.kind = ?)",
        (Kind.PERSON_FORGOTTEN, Kind.BELIEF_PURGED, Kind.ERASURE_FINISHED),
    )
