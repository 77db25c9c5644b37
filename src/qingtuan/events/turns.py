"""Turns that have begun and not ended."""

from __future__ import annotations

from collections.abc import Iterable

from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, event_from_row
from qingtuan.storage.sqlite import Database


def project(database: Database, event: Event) -> None:
    """Keep `open_turns` up to date."""
    if event.kind is Kind.TURN_STARTED:
        database.execute("INSERT INTO open_turns (turn, started) VALUES (?, ?)", (event.place.turn, event.id))
    elif event.kind is Kind.TURN_FINISHED:
        database.execute("DELETE FROM open_turns WHERE turn = ?", (event.place.turn,))
    elif event.kind in ERASING:
        which, values = erased_by(event)
        database.execute(f"DELETE FROM open_turns WHERE started IN ({which})", values)  # noqa: S608 (placeholders)


def messages_in(events: Iterable[Event]) -> list[str]:
    """The messages that turns are about, by their events in order: those that they began with and those that joined,
    without what was edited or recalled."""
    names: list[str] = []
    for event in events:
        if event.forgotten:
            continue
        match event.kind:
            case Kind.TURN_STARTED:
                names += event.payload.get("messages", ())
            case Kind.TURN_JOINED:
                old = [name for name in event.payload.get("instead", ()) if name in names]
                at = names.index(old[0]) if old else len(names)
                names[at : at + len(old)] = event.payload["messages"]
            case Kind.MESSAGE_RECALLED if event.payload["message"] in names:
                names.remove(event.payload["message"])
            case _:
                pass
    return names


SAYING = (Kind.TURN_STARTED, Kind.TURN_JOINED, Kind.MESSAGE_RECALLED)
"""The kinds that `messages_in` reads."""


def open_turns(log: Log) -> list[Event]:
    """The `turn.started` events of turns without an end, oldest first."""
    rows = log.database.rows(
        "SELECT e.* FROM open_turns AS t CROSS JOIN events AS e ON e.id = t.started ORDER BY e.seq"
    )
    return [event_from_row(row) for row in rows]
