"""Tables as a replay of the events makes them, beside what they are."""

from __future__ import annotations

from qingtuan.app import PROJECTIONS
from qingtuan.events.log import Log

RECORD = frozenset({"events", "parts", "keys", "overheard", "grants"})
"""What no replay makes."""


class _Undone(Exception):
    """Takes the transaction back."""


def tables(log: Log) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table that is made from events."""
    names = log.database.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {
        name: sorted((tuple(row) for row in log.database.rows(f"SELECT * FROM {name}")), key=repr)
        for (name,) in map(tuple, names)
        if name not in RECORD
    }


def replayed(log: Log) -> dict[str, list[tuple[object, ...]]]:
    """The same as a replay makes them. Nothing is changed."""
    found: dict[str, list[tuple[object, ...]]] = {}
    try:
        with log.transaction():
            log.database.execute("PRAGMA defer_foreign_keys = ON")
            for name in tables(log):
                log.database.execute(f"DELETE FROM {name}")
            for event in log.replay():
                for project in PROJECTIONS:
                    project(log.database, event)
            found = tables(log)
            raise _Undone
    except _Undone:
        return found
