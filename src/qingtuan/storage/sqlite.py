"""The one SQLite file of a data folder: opening, migrations and transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from qingtuan.errors import Bug, StorageFailed
from qingtuan.language import Words
from qingtuan.storage.copying import COPIED
from qingtuan.storage.migrating import PACKAGE, Copies, Upgraded, migrate, scripts_of

Row = sqlite3.Row
_OWN_MISTAKES = (sqlite3.IntegrityError, sqlite3.ProgrammingError)
"""A broken rule of the tables and a wrong statement: no refusal of the disk or the file."""


class Database:
    """A connection in WAL mode with foreign keys and recursive triggers on.

    All use is from one thread. Statements outside `transaction()` are reads. Nested transactions join
    the outer one, so that an event and its projections always land together. Whatever the disk or the file
    refuses is `StorageFailed`, in reads as in writes.
    """

    def __init__(
        self,
        path: Path,
        *,
        migrations: str = PACKAGE,
        read_only: bool = False,
        copies: Copies | None = None,
    ) -> None:
        """Open (and make, and migrate) the database at `path`. With `read_only` nothing is made or changed: for a
        look from outside while another process works. `copies` is where an older one is kept before it is migrated.

        Raises:
            StorageFailed: the file is no database, is newer than this version, or cannot be written or migrated; for a
                look also if it is missing or older.
        """
        self.path = path
        self.upgraded: Upgraded | None = None
        """What an older database was before it was opened."""
        self._durable = False
        """Whether the transaction that is open waits for the disk."""
        try:
            if read_only:
                address = f"file:{quote(str(path))}?mode=ro"
                self._connection = sqlite3.connect(address, isolation_level=None, uri=True)
            else:
                self._connection = sqlite3.connect(path, isolation_level=None)
                with suppress(OSError):  # of somebody else, or on a disk that knows no modes
                    path.chmod(0o600)
        except sqlite3.Error as error:
            raise _failed(path, error) from error
        try:
            self._connection.row_factory = sqlite3.Row
            self._connection.execute("PRAGMA busy_timeout=5000")
            if not read_only:
                self._set_up()
            self._migrate(migrations, copies, read_only=read_only)
        except sqlite3.Error as error:
            self._connection.close()
            raise _failed(path, error) from error
        except StorageFailed:
            self._connection.close()
            raise

    def _set_up(self) -> None:
        # recursive_triggers: without it INSERT OR REPLACE deletes rows past the triggers that forbid it.
        # secure_delete: what is deleted is written over with zeros.
        for pragma in (
            "journal_mode=WAL",
            "foreign_keys=ON",
            "recursive_triggers=ON",
            "secure_delete=ON",
            "synchronous=NORMAL",
        ):
            self._connection.execute(f"PRAGMA {pragma}")

    def _migrate(self, package: str, copies: Copies | None, *, read_only: bool) -> None:
        done = self._connection.execute("PRAGMA user_version").fetchone()[0]
        scripts = scripts_of(package)
        known = scripts[-1].number if scripts else 0
        if done > known:
            raise StorageFailed(
                Words(
                    f"{self.path} 来自更新的版本（{done}），这个版本只认识到 {known}。请升级小青团。",
                    f"{self.path} was written by a newer version ({done}); this one knows {known}. Please upgrade.",
                )
            )
        if read_only and done < known:
            raise StorageFailed(
                Words(
                    f"{self.path} 还是旧版本的（{done}）。先运行一次 qingtuan chat，它会升级。",
                    f"{self.path} is of an older version ({done}). Run qingtuan chat once, which upgrades it.",
                )
            )
        self.upgraded = migrate(self._connection, self.path, scripts, copies)

    @property
    def is_copy(self) -> bool:
        """Whether this is a copy in the place of the real thing: time has passed that it knows nothing of."""
        row = self.row("PRAGMA application_id")
        return row is not None and row[0] == COPIED

    def own(self) -> None:
        """From here on this is the real thing. Raises `StorageFailed`."""
        self.execute("PRAGMA application_id=0")

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[None]:
        """All or nothing. With `durable` the commit reaches the disk itself before this returns, so that
        not even a power cut forgets it: for messages received and for acts about to be done.

        Raises:
            StorageFailed: the database refused (full disk, lock, damage); nothing was changed.
            Bug: it is to be durable, and the transaction that it joins is not.
        """
        if self._connection.in_transaction:
            if durable and not self._durable:
                raise Bug(Words("这里的写入不会立刻落盘。", "This write would not reach the disk at once."))
            yield
            return
        self._durable = durable
        try:
            if durable:
                self.execute("PRAGMA synchronous=FULL")
            self.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._roll_back()
                raise
            try:
                self.execute("COMMIT")
            except StorageFailed:
                self._roll_back()
                raise
        finally:
            self._durable = False
            if durable:
                self.execute("PRAGMA synchronous=NORMAL")

    def _roll_back(self) -> None:
        # After some errors, such as a full disk, SQLite has done it already.
        if self._connection.in_transaction:
            self.execute("ROLLBACK")

    def execute(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> sqlite3.Cursor:
        """Run one statement; values only through `parameters`.

        Raises:
            StorageFailed: the database refused.
        """
        try:
            return self._connection.execute(sql, parameters)
        except _OWN_MISTAKES:
            raise
        except sqlite3.DatabaseError as error:
            raise _failed(self.path, error) from error

    def rows(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> list[Row]:
        """All rows of a query."""
        try:
            return self._connection.execute(sql, parameters).fetchall()
        except _OWN_MISTAKES:
            raise
        except sqlite3.DatabaseError as error:
            raise _failed(self.path, error) from error

    def row(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> Row | None:
        """The first row of a query, or None."""
        try:
            first: Row | None = self._connection.execute(sql, parameters).fetchone()
        except _OWN_MISTAKES:
            raise
        except sqlite3.DatabaseError as error:
            raise _failed(self.path, error) from error
        return first

    def compact(self) -> bool:
        """Write the whole file anew, so that no byte of what was deleted is left in it or in its write-ahead log.
        False if the log could not be emptied, since somebody else is reading: try again. Takes about a second for
        each 100 MB.

        Raises:
            StorageFailed: the disk refuses; the file is as it was.
        """
        self.execute("VACUUM")
        row = self.row("PRAGMA wal_checkpoint(TRUNCATE)")
        return row is not None and row[0] == 0

    def close(self) -> None:
        """Close the connection; the write-ahead log is folded in by SQLite."""
        self._connection.close()


def marks(values: Collection[object]) -> str:
    """A placeholder for each of some values, as `IN (…)` takes them."""
    return ",".join("?" * len(values))


def _failed(path: Path, error: sqlite3.Error) -> StorageFailed:
    return StorageFailed(
        Words(
            f"数据库 {path} 用不了：{error}。请检查磁盘空间和文件权限。",
            f"The database {path} cannot be used: {error}. Check free space and file permissions.",
        )
    )
