"""Bringing an older database up to date: never without a copy of what it was, and back to that if it fails."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from qingtuan.clock import Clock
from qingtuan.errors import StorageFailed
from qingtuan.language import Words
from qingtuan.storage.copying import Held, copy_failed, look_over, put_back

PACKAGE = "qingtuan.storage.migrations"
KEPT = 3
"""Copies from before an upgrade that stay, newest first."""

_COPY = re.compile(r"upgrade-\d{4}-\d{8}T\d{6}Z(-\d+)?\.sqlite")
_UNFINISHED = ".upgrade-"
_ROOM = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Upgraded:
    """What became of an older database."""

    before: int
    """Number of the newest migration that it had."""
    after: int
    copy: Path
    """What it was before."""

    @property
    def words(self) -> Words:
        """What the owner is told."""
        return Words(
            f"数据从第 {self.before} 版升级到第 {self.after} 版，升级前的副本在 {self.copy}",
            f"The data was upgraded from version {self.before} to {self.after}; what it was before is in {self.copy}",
        )


@dataclass(frozen=True, slots=True)
class Script:
    """One migration."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Copies:
    """Where copies go before a migration."""

    folder: Path
    clock: Clock


def scripts_of(package: str) -> list[Script]:
    """The migrations of a package, in order."""
    files = [entry for entry in resources.files(package).iterdir() if entry.name.endswith(".sql")]
    return [Script(int(entry.name[:4]), entry.read_text("utf-8")) for entry in sorted(files, key=lambda e: e.name)]


def newest(package: str = PACKAGE) -> int:
    """The number of the newest migration; 0 if there is none."""
    scripts = scripts_of(package)
    return scripts[-1].number if scripts else 0


def migrate(
    connection: sqlite3.Connection, path: Path, scripts: Sequence[Script], copies: Copies | None
) -> Upgraded | None:
    """Run the scripts that the database at `path` lacks, each as one transaction. With `copies`, a database that holds
    something is copied before; the result says what was upgraded then.

    Raises:
        StorageFailed: the copy could not be made, and nothing was changed; or a script failed, and the database is
            what it was before. The sentence says which, and where the copy is.
    """
    before = _version(connection)
    missing = [script for script in scripts if script.number > before]
    if not missing:
        return None
    copy = _copied(path, before, copies) if copies is not None and _holds_something(connection) else None
    for script in missing:
        try:
            connection.executescript(f"BEGIN IMMEDIATE;\n{script.text}\nPRAGMA user_version={script.number};\nCOMMIT;")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.rollback()
            if copy is None:
                raise
            raise _undone(connection, before, copy, f"{script.number:04}: {error}") from error
    if copy is None or copies is None:
        return None
    _tidy(copies.folder)
    return Upgraded(before, missing[-1].number, copy)


def _copied(path: Path, version: int, copies: Copies) -> Path:
    folder = copies.folder
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for leftover in folder.glob(f"{_UNFINISHED}*"):
            leftover.unlink()
        _see_room(path, folder)
        stem = f"upgrade-{version:04}-{copies.clock.now():%Y%m%dT%H%M%SZ}"
        target = next(place for place in _places(folder, stem) if not place.exists())
        unfinished = folder / f"{_UNFINISHED}{os.getpid()}.tmp"
        try:
            with Held(path) as held:
                held.copy_to(unfinished)
                look_over(unfinished, held.census())
            unfinished.rename(target)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _no_copy(copy_failed(folder, error.strerror or str(error)).words) from error
    except StorageFailed as error:
        raise _no_copy(error.words) from error
    return target


def _places(folder: Path, stem: str) -> Sequence[Path]:
    return [folder / f"{stem}{suffix}.sqlite" for suffix in ("", *(f"-{number}" for number in range(2, 1000)))]


def _see_room(path: Path, folder: Path) -> None:
    """A disk that fills up half-way through is trouble for whatever else writes there: better not to begin.

    Raises:
        StorageFailed: there is too little for the copy and for a migration that writes everything anew.
    """
    log = path.with_name(f"{path.name}-wal")
    size = path.stat().st_size + (log.stat().st_size if log.exists() else 0)
    needed, free = 2 * size + _ROOM, shutil.disk_usage(folder).free
    if free < needed:
        mega = 1024 * 1024
        raise StorageFailed(
            Words(
                f"{folder} 要有 {needed // mega} MB 空间，只剩 {free // mega} MB。请腾出空间再试。",
                f"{folder} needs {needed // mega} MB of space and has {free // mega}. Make room and try again.",
            )
        )


def _undone(connection: sqlite3.Connection, before: int, copy: Path, why: str) -> StorageFailed:
    if _version(connection) == before:
        return _failed(copy, why)  # the script that failed was the first, and has left nothing
    try:
        put_back(copy, connection)
    except sqlite3.Error as error:
        return _half_way(copy, why, str(error))
    return _failed(copy, why)


def _tidy(folder: Path) -> None:
    """Remove older copies. That one cannot be removed is no reason not to start."""
    copies = sorted((entry for entry in folder.iterdir() if _COPY.fullmatch(entry.name)), key=_taken, reverse=True)
    for old in copies[KEPT:]:
        try:
            old.unlink()
        except OSError:
            return


def _taken(copy: Path) -> str:
    return copy.name.split("-", 2)[2]


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _holds_something(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None


def _no_copy(why: Words) -> StorageFailed:
    return StorageFailed(
        Words(
            f"升级数据之前要先留一份副本，没有留成，所以没有升级，数据没有动。{why.zh}",
            f"Before the data is upgraded a copy of it is kept. There is none, so nothing was upgraded. {why.en}",
        )
    )


def _failed(copy: Path, why: str) -> StorageFailed:
    return StorageFailed(
        Words(
            f"数据升级没有成功，已经恢复成升级前的样子；副本在 {copy}。用原来的版本还能打开。原因：{why}",
            f"The upgrade of the data failed, and all is as it was before; a copy is in {copy}. The version of "
            f"Qingtuan from before still opens it. What went wrong: {why}",
        )
    )


def _half_way(copy: Path, why: str, why_not: str) -> StorageFailed:
    return StorageFailed(
        Words(
            f"数据升级没有成功（{why}），也没能恢复（{why_not}）。请先腾出磁盘空间再试，会接着升级；"
            f"要回到升级前，就删掉 state.sqlite、state.sqlite-wal、state.sqlite-shm，把 {copy} 复制成 state.sqlite。",
            f"The upgrade of the data failed ({why}), and it could not be put back ({why_not}). Free some disk space "
            "and try again: it goes on from there. To go back instead, delete state.sqlite, state.sqlite-wal and "
            f"state.sqlite-shm and copy {copy} to state.sqlite.",
        )
    )
