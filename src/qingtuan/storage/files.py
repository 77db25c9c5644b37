"""Files that are whole or not there: atomic writes, and reads that follow no link."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from qingtuan.errors import StorageFailed
from qingtuan.language import Words


def content_hash(data: bytes) -> str:
    """SHA-256 of `data`, 64 hex digits: the hash of pages, media and request parts."""
    return hashlib.sha256(data).hexdigest()


def write_atomic(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write `data` to `path` so that a reader or a crash sees the old file or the new one, never a part.

    The folder is made if needed. Temporary names begin with `.` and end in `.tmp`: watchers pass over them.

    Raises:
        StorageFailed: no space, no permission, or the folder is not a folder.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(mode)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> StorageFailed:
    """What is said when the disk refuses a file or folder."""
    why = error.strerror or type(error).__name__
    return StorageFailed(
        Words(
            f"写不了 {path}：{why}。请检查磁盘空间和权限。",
            f"Cannot write {path}: {why}. Check free space and permissions.",
        )
    )


def read_regular(path: Path, *, limit: int) -> bytes | None:
    """The bytes of a regular file, or None if it is missing, a link, a device, or longer than `limit` bytes.

    Opened without following a link at the last step, so a link swapped in cannot lead outside.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(handle)
    return data if len(data) <= limit else None
