"""The folder of the capabilities on the disk: reading what stands there, and writing what should. Follows no link."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from qingtuan.capabilities.bounds import NAME
from qingtuan.capabilities.folder import FILES, MAX_BYTES
from qingtuan.storage.files import cannot_write, content_hash, read_regular, write_atomic

Stamp = tuple[tuple[int, int, int] | None, ...]
"""What changes with every write to one of the files."""


@dataclass(frozen=True, slots=True)
class Found:
    """What stands in one folder."""

    files: Mapping[str, bytes]
    """Of those that belong there, the ones that are there and can be read."""
    unreadable: tuple[str, ...] = ()
    """Those that are links, devices, or too long."""

    @property
    def hashes(self) -> dict[str, str]:
        return {name: content_hash(data) for name, data in self.files.items()}


class Disk:
    """Reads and writes the folders of capabilities."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """The folders whose names could be those of capabilities, in order."""
        try:
            with os.scandir(self.folder) as entries:
                return sorted(
                    entry.name
                    for entry in entries
                    if NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
                )
        except OSError:
            return []

    def stamp(self, name: str) -> Stamp:
        """Of the files in a folder, without reading them."""
        return tuple(map(_stamp, self._paths(name)))

    def read(self, name: str) -> Found:
        """What stands in a folder; nothing where there is none, or a link in its place."""
        files: dict[str, bytes] = {}
        unreadable = []
        for file, path in zip(FILES, self._paths(name), strict=True):
            data = read_regular(path, limit=MAX_BYTES) if _is_folder(path.parent) else None
            if data is not None:
                files[file] = data
            elif _stamp(path) is not None:
                unreadable.append(file)
        return Found(files, tuple(unreadable))

    def write(self, name: str, files: Mapping[str, bytes]) -> None:
        """Put files into a folder, each whole or not at all; those that have not changed are left alone.

        Raises:
            StorageFailed: the disk refuses.
        """
        folder = self.folder / name
        try:
            if folder.is_symlink():
                raise NotADirectoryError(20, "a link")
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise cannot_write(folder, error) from error
        for file, data in files.items():
            path = folder / file
            if read_regular(path, limit=MAX_BYTES) != data:
                write_atomic(path, data)

    def remove(self, name: str) -> None:
        """Take the files out of a folder, and the folder, too, if nothing else is in it. Raises `StorageFailed`."""
        folder = self.folder / name
        if not _is_folder(folder):
            return
        try:
            for file in FILES:
                (folder / file).unlink(missing_ok=True)
            for leftover in folder.glob(".*.tmp"):
                leftover.unlink(missing_ok=True)
            if not any(folder.iterdir()):
                folder.rmdir()
        except OSError as error:
            raise cannot_write(folder, error) from error

    def _paths(self, name: str) -> list[Path]:
        return [self.folder / name / file for file in FILES]


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns) if not stat.S_ISDIR(status.st_mode) else (0, 0, 0)
