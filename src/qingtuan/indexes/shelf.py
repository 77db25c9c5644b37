"""The files of one index, one per scope, opened when they are needed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qingtuan.errors import StorageFailed
from qingtuan.indexes.store import Damaged, ScopeFile, file_name, files_of, scope_of
from qingtuan.language import Words

_INCOMPLETE = "incomplete"


class Shelf:
    """A folder of scope files. Not for two threads at once: the index that owns it has the lock."""

    def __init__(self, folder: Path, *, open_files: int) -> None:
        """`open_files`: how many files stay open, 1 or more; the one not used for longest is closed first."""
        self.folder = folder
        self._open_files = open_files
        self._files: dict[str, ScopeFile] = {}

    @property
    def incomplete(self) -> bool:
        """Whether something may be missing here, so that the index should be built anew."""
        return (self.folder / _INCOMPLETE).exists()

    def mark_incomplete(self) -> None:
        """Note, for later processes too, that something may be missing."""
        (self.folder / _INCOMPLETE).touch()

    def reading(self, scope: str) -> ScopeFile | None:
        """The file of a scope, None if it has none."""
        if scope in self._files or (self.folder / file_name(scope)).exists():
            return self.writing(scope)
        return None

    def writing(self, scope: str) -> ScopeFile:
        """The file of a scope, made if there is none. One that cannot be used is thrown away first."""
        file = self._files.pop(scope, None)
        if file is None:
            path = self.folder / file_name(scope)
            try:
                file = ScopeFile(path, scope)
            except (Damaged, sqlite3.DatabaseError) as error:
                if not _is_damage(error):
                    raise
                self.discard(scope)
                file = ScopeFile(path, scope)
        self._files[scope] = file
        while len(self._files) > self._open_files:
            self._files.pop(next(iter(self._files))).close()
        return file

    @contextmanager
    def guarded(self, *scopes: str) -> Iterator[None]:
        """Around all work with files: a damaged one is thrown away, since all of it can be made again.

        Raises:
            Damaged: it was thrown away; the same work starts from an empty file now.
            StorageFailed: the disk refuses.
        """
        try:
            yield
        except sqlite3.Error as error:
            if not _is_damage(error):
                raise StorageFailed(
                    Words(
                        f"索引 {self.folder} 写不了：{error}。请检查磁盘空间和文件权限。",
                        f"The index {self.folder} cannot be used: {error}. Check free space and permissions.",
                    )
                ) from error
            # A check of the file does not see into the terms table; if it finds nothing, all of them are made again.
            for scope in [scope for scope in scopes if not self._sound(scope)] or scopes:
                self.discard(scope)
            raise Damaged(", ".join(scopes)) from error

    def discard(self, scope: str) -> None:
        """Throw the file of a scope away because it cannot be used."""
        self.drop(scope)
        self.mark_incomplete()

    def _sound(self, scope: str) -> bool:
        try:
            file = self.reading(scope)
            return file is None or file.sound()
        except sqlite3.Error:
            return False

    def drop(self, scope: str) -> bool:
        """Delete the file of a scope. Whether there was one."""
        file = self._files.pop(scope, None)
        if file is not None:
            file.close()
        path = self.folder / file_name(scope)
        there = path.exists()
        for part in files_of(path):
            part.unlink(missing_ok=True)
        return there

    def scopes(self) -> list[str]:
        """Every scope that has a file, sorted."""
        found = (scope_of(path) for path in self.folder.glob("*.sqlite"))
        return sorted(scope for scope in found if scope is not None)

    def trim(self, most_rows: int) -> None:
        """Let go of vectors, of the files first that were not used for longest, until `most_rows` are in memory."""
        for file in reversed(self._files.values()):
            most_rows -= file.rows_held
            if most_rows < 0:
                file.drop_rows()

    def close(self) -> None:
        """Close all files; they open again when needed."""
        while self._files:
            self._files.popitem()[1].close()


def _is_damage(error: Exception) -> bool:
    # Its subclasses are locks, full disks and our own mistakes, for which nothing is thrown away.
    return isinstance(error, Damaged) or type(error) is sqlite3.DatabaseError
