"""Folders and files for work in progress: gone when the work ends, and found out when it was killed.

Whoever works holds a lock on the folder or file, which ends with the process, however that ends. Whoever removes what
is abandoned holds it too, meanwhile; so nothing is removed in the instant between its making and its locking.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from qingtuan.storage.files import cannot_write

_PREFIX = ".working-"
_UNFINISHED, _SUFFIX = ".qingtuan-", ".tar.gz.tmp"
_TRIES = 10


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
        return _locked(lambda: backups / f"{_PREFIX}{secrets.token_hex(4)}", lambda path: path.mkdir(mode=0o700))
    except OSError as error:
        raise cannot_write(backups, error) from error


def _removed(folder: Path, handle: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(handle)


@contextmanager
def unfinished(folder: Path) -> Iterator[Path]:
    """A new file of this folder, for the owner alone, until the block is left or it was renamed. Raises `OSError`."""
    for leftover in folder.glob(f"{_UNFINISHED}*{_SUFFIX}"):
        _remove_abandoned(leftover)
    path, handle = _locked(lambda: folder / f"{_UNFINISHED}{secrets.token_hex(4)}{_SUFFIX}", _make_file)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def is_working(backups: Path, name: str) -> bool:
    """Whether somebody works in this folder of `backups` right now."""
    folder = backups / name
    if not name.startswith(_PREFIX) or "/" in name or not folder.is_dir():
        return False
    if (handle := _lock(folder)) is not None:
        os.close(handle)
    return handle is None


def remove_leftovers(backups: Path) -> None:
    """Remove the folders in which nobody works any more."""
    for folder in backups.glob(f"{_PREFIX}*"):
        _remove_abandoned(folder)


def _locked(name: Callable[[], Path], make: Callable[[Path], None]) -> tuple[Path, int]:
    """Make something new, and lock it. Raises `OSError`."""
    for _ in range(_TRIES):
        path = name()
        make(path)
        handle = _lock(path)
        if handle is not None and path.exists():
            return path, handle
        # Somebody who removes leftovers was there between the two.
        if handle is not None:
            os.close(handle)
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def _make_file(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _remove_abandoned(place: Path) -> None:
    with suppress(OSError):
        if (handle := _lock(place)) is not None:
            try:
                shutil.rmtree(place) if place.is_dir() else place.unlink()
            finally:
                os.close(handle)


def _lock(place: Path) -> int | None:
    """The lock on what stands there; None if somebody has it, or nothing stands there."""
    try:
        handle = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
