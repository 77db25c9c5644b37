"""The files of the wiki: reading a page, and changing it only if it still is what it was.

A person may save a page in their editor at any instant. So a new page never lands on an existing one, and a
changed page is exchanged with the old one rather than put over it: what comes out of the exchange is looked at,
and if it is not what was expected, the person was faster and everything goes back.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from qingtuan.errors import PageChanged, PageUnreadable, StorageFailed
from qingtuan.language import Words
from qingtuan.memory.wiki.walls import open_folder
from qingtuan.storage.files import content_hash
from qingtuan.storage.swap import exchange, move_new

MAX_BYTES = 10 * 1024 * 1024
"""A longer file is reported and left alone."""

_PREFIX, _SUFFIX = ".qingtuan-", ".tmp"
"""Of temporary files: hidden from people's tools, and passed over by our own watcher."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A page as it stood at one instant."""

    path: str
    data: bytes
    hash: str
    """SHA-256 of `data`, hex."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What changes, without reading, when a file changes: size in bytes, and times in nanoseconds."""

    size: int
    changed: int
    touched: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class Disk:
    """The files below the wiki's folder. Paths have passed `walls.scope_of`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, path: str) -> tuple[Snapshot, Stamp] | None:
        """The page, or None if there is none.

        Raises:
            PageUnreadable: a link, no regular file, longer than 10 MB, no UTF-8 text, or not to be opened.
        """
        try:
            with self._folder_of(path) as (folder, name):
                return None if folder is None else read_in(folder, name, path)
        except OSError as error:
            raise _unreadable(path, "打不开", "it cannot be opened", detail=str(error)) from error

    def stamps(self, paths: Sequence[str]) -> dict[str, Stamp]:
        """The stamps of pages of one folder. What is not there, no regular file or out of reach has none."""
        found: dict[str, Stamp] = {}
        with suppress(PageUnreadable, OSError), self._folder_of(paths[0]) as (folder, _):
            for path in paths if folder is not None else ():
                with suppress(OSError):
                    status = os.stat(path.rpartition("/")[2], dir_fd=folder, follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        found[path] = Stamp.of(status)
        return found

    def place(self, path: str, data: bytes | None, expected: str | None) -> None:
        """Make the page `data` (None: delete it) if its hash still is `expected` (None: there is none).

        The file is whole or untouched at every instant, and on the disk when this returns.

        Raises:
            PageChanged: somebody was faster; their page stands.
            PageUnreadable: something that is no page stands there.
            StorageFailed: no space or no permission; the page is as it was.
        """
        try:
            with self._folder_of(path, make=data is not None) as (folder, name):
                if folder is None:
                    if expected is not None:
                        raise PageChanged(path)
                    return
                if data is not None:
                    _put(folder, name, data, _Expectation(path, expected))
                elif expected is not None:
                    _delete(folder, name, _Expectation(path, expected))
                os.fsync(folder)
        except OSError as error:
            raise StorageFailed(
                Words(
                    f"写不了 wiki 里的「{path}」：{error.strerror}。请检查磁盘空间和权限。",
                    f"Cannot write “{path}” in the wiki: {error.strerror}. Check free space and permissions.",
                )
            ) from error

    @contextmanager
    def _folder_of(self, path: str, *, make: bool = False) -> Iterator[tuple[int | None, str]]:
        *folders, name = path.split("/")
        handle = open_folder(self.folder, folders, make=make)
        try:
            yield handle, name
        finally:
            if handle is not None:
                os.close(handle)


def read_in(folder: int, name: str, path: str) -> tuple[Snapshot, Stamp] | None:
    """The page `name` in an open folder, or None if there is none. `path` and `Raises` as in `Disk.read`."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, "是链接或打不开", "it is a link or cannot be opened", detail=str(error)) from error
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise _unreadable(path, "不是普通文件", "it is no regular file")
        if status.st_size > MAX_BYTES:
            raise _unreadable(path, "超过 10 MB", "it is longer than 10 MB")
        with os.fdopen(handle, "rb", closefd=False) as file:
            data = file.read(MAX_BYTES + 1)
    finally:
        os.close(handle)
    if b"\0" in data or len(data) > MAX_BYTES or not _is_text(data):
        raise _unreadable(path, "不是 UTF-8 文本", "it is no UTF-8 text")
    return Snapshot(path, data, content_hash(data)), Stamp.of(status)


def clear_leftovers(folder: int) -> None:
    """Remove the temporary files that a crash left in an open folder."""
    for name in os.listdir(folder):
        if name.startswith(_PREFIX) and name.endswith(_SUFFIX):
            os.unlink(name, dir_fd=folder)


# ------------------------------------------------------------------------------------------ changing one name


@dataclass(frozen=True, slots=True)
class _Expectation:
    path: str
    hash: str | None


def _put(folder: int, name: str, data: bytes, expected: _Expectation) -> None:
    temporary = f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
    try:
        _write(folder, temporary, data, _mode(folder, name))
        if expected.hash is None:
            move_new(folder, temporary, name)
        else:
            _replace(folder, temporary, name, expected)
    except (FileExistsError, FileNotFoundError):
        # Made by somebody where nothing stood, or deleted by somebody where a page stood.
        raise PageChanged(expected.path) from None
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)


def _replace(folder: int, temporary: str, name: str, expected: _Expectation) -> None:
    if _hash(folder, name) != expected.hash:
        raise PageChanged(expected.path)
    placed = _hash(folder, temporary)
    if not exchange(folder, temporary, name):
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    if _hash(folder, temporary) == expected.hash:
        return
    # Somebody saved between the look and the exchange. Their page goes back; should they have saved yet again
    # meanwhile, that one must stand in the end, so this goes on until what comes out is what we put there.
    while True:
        theirs = _hash(folder, temporary)
        exchange(folder, temporary, name)
        if _hash(folder, temporary) == placed:
            raise PageChanged(expected.path)
        placed = theirs


def _delete(folder: int, name: str, expected: _Expectation) -> None:
    if _hash(folder, name) != expected.hash:
        raise PageChanged(expected.path)
    temporary = f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
    try:
        os.rename(name, temporary, src_dir_fd=folder, dst_dir_fd=folder)
    except FileNotFoundError:
        raise PageChanged(expected.path) from None
    if _hash(folder, temporary) == expected.hash:
        os.unlink(temporary, dir_fd=folder)
        return
    try:
        move_new(folder, temporary, name)
    except FileExistsError:  # saved once more, so the earlier save is theirs to replace
        os.unlink(temporary, dir_fd=folder)
    raise PageChanged(expected.path)


def _write(folder: int, name: str, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=folder), "wb") as file:
        file.write(data)
        file.flush()
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def _mode(folder: int, name: str) -> int:
    """The permissions of the page that stands there, which the owner may have widened on purpose."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return 0o600
    return stat.S_IMODE(status.st_mode) & 0o666 if stat.S_ISREG(status.st_mode) else 0o600


def _hash(folder: int, name: str) -> str:
    """The hash of whatever file stands there; no hash at all for what is no readable file."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        with os.fdopen(handle, "rb", closefd=False) as file:
            return content_hash(file.read())
    finally:
        os.close(handle)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _unreadable(path: str, zh: str, en: str, *, detail: str = "") -> PageUnreadable:
    return PageUnreadable(
        Words(f"wiki 里的「{path}」{zh}，放着没动。", f"“{path}” in the wiki is left alone: {en}."), detail=detail
    )
