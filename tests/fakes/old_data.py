"""Data folders as older versions left them: with the first migrations and what their tables can hold."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from qingtuan.storage.migrating import PACKAGE, scripts_of

EVENTS = 40


def old_database(path: Path, version: int, *, parts: int = 40) -> None:
    """A database of version `version` with events and `parts` kilobytes of request parts."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        for script in scripts_of(PACKAGE):
            if script.number <= version:
                database.executescript(f"BEGIN;{script.text}\nPRAGMA user_version={script.number};COMMIT;")
        database.execute("BEGIN")
        for number in range(1, EVENTS + 1):
            database.execute(
                "INSERT INTO events (id, time, kind, person, origin, payload)"
                " VALUES (?, 1780000000000 + ?, 'chore.failed', 'owner', 'system', ?)",
                (f"evt_{number:026}", number, f'{{"detail":"第 {number} 件"}}'),
            )
        for number in range(parts):
            database.execute("INSERT INTO parts (hash, body) VALUES (?, zeroblob(1024))", (f"{number:064}",))
        database.execute("COMMIT")


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


def contents(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, for comparing."""
    with closing(sqlite3.connect(path)) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type='table' ORDER BY 1")]
        return {name: database.execute(f'SELECT * FROM "{name}" ORDER BY 1').fetchall() for name in names}
