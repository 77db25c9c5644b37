"""Folders and files for work in progress: gone when the work ends, and found out when it was killed."""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from qingtuan.storage.files import cannot_write

_PREFIX = ".working-"
_UNFINISHED, _SUFFIX = ".qingtuan-", ".tar.gz.tmp"


@asynccontextmanager
async def working(backups: Path) -> AsyncIterator[Path]:
    """A new folder, for the owner alone, until the block is left. What killed processes left behind is removed.

    Raises:
        StorageFailed: it cannot be made.
    """
    folder, handle = await asyncio.to_thread(_begun, backups)
    try:
        yield folder
    finally:
        # Elsewhere, for it may hold a hundred thousand files; and to the end, whoever is cancelled meanwhile.
        await asyncio.shield(asyncio.to_thread(_removed, folder, handle))


def _begun(backups: Path) -> tuple[Path, int]:
    remove_leftovers(backups)
    try:
        backups.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = backups / f"{_PREFIX}{secrets.token_hex(4)}"
        folder.mkdir(mode=0o700)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise cannot_write(backups, error) from error
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # ends with the process, however that ends
    return folder, handle


def _removed(folder: Path, handle: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(handle)


@contextmanager
def unfinished(folder: Path) -> Iterator[Path]:
    """A new file of this folder, for the owner alone, until the block is left or it was renamed. Raises `OSError`."""
    for leftover in folder.glob(f"{_UNFINISHED}*{_SUFFIX}"):
        if _abandoned(leftover):
            leftover.unlink(missing_ok=True)
    path = folder / f"{_UNFINISHED}{secrets.token_hex(4)}{_SUFFIX}"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield path
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def is_working(backups: Path, name: str) -> bool:
    """Whether somebody works in this folder of `backups` right now."""
    folder = backups / name
    return name.startswith(_PREFIX) and "/" not in name and folder.is_dir() and not _abandoned(folder)


def remove_leftovers(backups: Path) -> None:
    """Remove the folders in which nobody works any more."""
    for folder in backups.glob(f"{_PREFIX}*"):
        if _abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _abandoned(place: Path) -> bool:
    with suppress(OSError):
        handle = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(handle)
        return True
    return False
