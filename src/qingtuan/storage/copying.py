"""Copies of a database as it is at one instant, taken while others write to it, and looked over before they count.

A copy is one plain file without a write-ahead log beside it, and says of itself that it is one (`COPIED`, in the
header's application id): whoever opens it later as the real thing knows that time has passed since.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from qingtuan.errors import StorageFailed
from qingtuan.language import Words

COPIED = 0x51544350
"""The application id of a copy: "QTCP"."""


@dataclass(frozen=True, slots=True)
class Census:
    """What a database holds, for comparing a copy with where it came from."""

    schema: int
    """Number of the newest migration that it has."""
    rows: Mapping[str, int]
    """Rows by table."""


class Held:
    """A database as it is at one instant, while others go on writing to it. Made, used and closed by one thread after
    the other, never by two at once."""

    def __init__(self, path: Path, without: Collection[str] = ()) -> None:
        """Hold what stands in the database now; as if the tables `without` had no rows.

        Raises:
            StorageFailed: there is none, or it cannot be read.
        """
        self.path = path
        self._without = frozenset(without)
        try:
            self._connection = _read_only(path)
        except sqlite3.Error as error:
            raise copy_failed(path, str(error)) from error
        try:
            self._connection.execute("PRAGMA busy_timeout=5000")
            # The first read of a transaction chooses the instant.
            self._connection.execute("BEGIN")
            self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        except sqlite3.Error as error:
            self._connection.close()
            raise copy_failed(path, str(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let it go."""
        self._connection.close()

    def census(self) -> Census:
        """What it holds. Counts every row. Raises `StorageFailed`."""
        try:
            found = _census(self._connection)
        except sqlite3.Error as error:
            raise copy_failed(self.path, str(error)) from error
        return replace(found, rows={name: 0 if name in self._without else rows for name, rows in found.rows.items()})

    def value(self, sql: str) -> object:
        """The first value of a query; None if it gives no row. Raises `StorageFailed`."""
        try:
            row = self._connection.execute(sql).fetchone()
        except sqlite3.Error as error:
            raise copy_failed(self.path, str(error)) from error
        return None if row is None else row[0]

    def copy_to(self, target: Path) -> None:
        """Write a copy to `target`, which must not exist; it is on the disk when this returns. Whether it is whole is
        for `look_over` to say.

        Raises:
            StorageFailed: no space or no permission. Nothing is left there.
        """
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            try:
                self._write(target)
                _to_disk(target)
            except BaseException:
                target.unlink(missing_ok=True)
                raise
        except sqlite3.Error as error:
            raise copy_failed(target, str(error)) from error
        except OSError as error:
            raise copy_failed(target, error.strerror or str(error)) from error

    def _write(self, target: Path) -> None:
        with closing(sqlite3.connect(target, isolation_level=None)) as copy:
            # Nobody else sees it before it is whole, so a journal and waiting for the disk at each step buy nothing.
            copy.execute("PRAGMA synchronous=OFF")
            self._connection.backup(copy)
            copy.execute("PRAGMA journal_mode=OFF")
            copy.execute(f"PRAGMA application_id={COPIED}")
            copy.execute("PRAGMA secure_delete=ON")  # what is not to be in it must not stand in a free page either
            for name in self._without & _census(copy).rows.keys():
                copy.execute(f"DELETE FROM {_quoted(name)}")  # noqa: S608 (a name)


def look_over(path: Path, expected: Census | None = None) -> Census:
    """Read a copy from end to end and give what it holds.

    Raises:
        StorageFailed: it is damaged, or does not hold what was `expected`.
    """
    try:
        with closing(_read_only(path)) as copy:
            if (said := copy.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
                raise copy_failed(path, str(said))
            found = _census(copy)
    except sqlite3.Error as error:
        raise copy_failed(path, str(error)) from error
    if expected is not None and found != expected:
        raise copy_failed(path, f"{found} != {expected}")
    return found


def put_back(copy: Path, connection: sqlite3.Connection) -> None:
    """Make the database behind `connection` what the copy holds, at one instant.

    Raises:
        sqlite3.Error: it could not be written; it is as it was.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    with closing(_read_only(copy)) as source:
        source.backup(connection)
    # It goes on where it was: no time has passed.
    connection.execute(f"PRAGMA application_id={application}")


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)


def _census(connection: sqlite3.Connection) -> Census:
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name"
    ).fetchall()
    rows = {}
    for (name,) in tables:
        rows[name] = connection.execute(f"SELECT count(*) FROM {_quoted(name)}").fetchone()[0]  # noqa: S608 (a name)
    return Census(connection.execute("PRAGMA user_version").fetchone()[0], rows)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _to_disk(path: Path) -> None:
    for place, flags in ((path, os.O_RDONLY), (path.parent, os.O_RDONLY | os.O_DIRECTORY)):
        handle = os.open(place, flags | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def copy_failed(path: Path, why: str) -> StorageFailed:
    """What is said when a database cannot be copied."""
    return StorageFailed(
        Words(
            f"数据库的副本 {path} 没做成：{why}。请检查磁盘空间和权限。",
            f"The copy {path} of the database could not be made: {why}. Check free space and permissions.",
        )
    )
