"""Reading what somebody points at: a folder, a zip or a file, all of it hostile.

Nothing is unpacked to the disk, no link is followed, no name leads out, and whatever is read is bounded before it is
read. What is passed over is told.
"""

from __future__ import annotations

import os
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Protocol

from qingtuan.errors import LimitReached, NotThere, UsageWrong
from qingtuan.language import Words
from qingtuan.memory.importing.found import Reason, Skipped

MOST_FILES = 20_000
"""Entries of a folder or a zip that are looked at."""
DEEPEST = 24
TEXT_BYTES = 4 * 1024 * 1024
"""Of one text. Longer ones are no memory."""
ALL_TEXT_BYTES = 256 * 1024 * 1024
"""Of all texts of a source together."""
STREAM_BYTES = 2 * 1024 * 1024 * 1024
"""Of a file that is read piece by piece."""
_BOMB_RATIO, _BOMB_BYTES = 200, 16 * 1024 * 1024
"""A text that unpacks to more than so many bytes and so many times its size is made to do harm."""

_HIDDEN = (".", "~", "#")
_JUNK = frozenset({"__MACOSX", "node_modules", "__pycache__"})


class Tree(Protocol):
    """Files by path, however they are kept."""

    paths: tuple[str, ...]
    """With `/`, sorted."""
    skipped: list[Skipped]

    def read(self, path: str) -> bytes | Reason:
        """A text's bytes, or why it is not read."""
        ...

    def modified(self, path: str) -> datetime | None:
        """When a file was last changed, aware, as far as known."""
        ...

    def stream(self, path: str) -> Iterator[bytes]:
        """The bytes of a file piece by piece, up to `STREAM_BYTES`. Raises `LimitReached`, `UsageWrong`."""
        ...


@dataclass
class Source:
    """A tree, or a part of it that is taken for the whole."""

    name: str
    """For people: the last part of its path."""
    tree: Tree
    root: str = ""
    """Empty, or a folder with `/` at its end."""
    _read: int = field(default=0, init=False)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files below the root, relative to it."""
        return tuple(path.removeprefix(self.root) for path in self.tree.paths if path.startswith(self.root))

    def below(self, folder: str) -> Source:
        """The part of it in `folder`, which ends in `/` or is empty."""
        return Source(self.name, self.tree, self.root + folder)

    def read(self, path: str) -> bytes | Reason:
        """A text's bytes, or why it is not read."""
        if self._read > ALL_TEXT_BYTES:
            return Reason.CROWDED
        data = self.tree.read(self.root + path)
        self._read += len(data) if isinstance(data, bytes) else 0
        return data

    def modified(self, path: str) -> datetime | None:
        return self.tree.modified(self.root + path)

    def stream(self, path: str) -> Iterator[bytes]:
        return self.tree.stream(self.root + path)


@contextmanager
def opened(path: Path) -> Iterator[Source]:
    """What stands at `path`, to be read.

    Raises:
        NotThere: nothing does, or it cannot be opened.
        UsageWrong: it is no folder, no file and no usable zip.
        LimitReached: it holds too many files.
    """
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise NotThere(Words(f"打不开 {path}。", f"{path} cannot be opened."), detail=str(error)) from error
    name = path.resolve().name or str(path)
    if stat.S_ISDIR(found.st_mode):
        yield Source(name, Folder(path))
    elif not stat.S_ISREG(found.st_mode):
        raise UsageWrong(
            Words(f"{path} 不是文件夹，也不是普通文件。", f"{path} is neither a folder nor a regular file.")
        )
    elif zipfile.is_zipfile(path):
        with _archive(path) as archive:
            yield Source(name, Zip(archive))
    else:
        yield Source(name, Folder(path.parent, only=path.name))


class Folder:
    """A folder on the disk, or one file of it."""

    def __init__(self, folder: Path, *, only: str | None = None) -> None:
        self._folder = folder
        self.skipped: list[Skipped] = []
        if only is not None:
            self.paths: tuple[str, ...] = (only,)
            return
        found = sorted(self._walk("", DEEPEST))
        self.paths = tuple(found)

    def _walk(self, below: str, depth: int) -> Iterator[str]:
        count = 0
        pending = [(below, depth)]
        while pending:
            below, depth = pending.pop()
            for entry in self._entries(below):
                count += 1
                if count > MOST_FILES:
                    raise _too_many()
                path = f"{below}{entry.name}"
                if _passed_over(entry.name):
                    continue
                if entry.is_symlink():
                    self.skipped.append(Skipped(Reason.LINK, _shown(path)))
                elif entry.is_dir(follow_symlinks=False):
                    if depth:
                        pending.append((f"{path}/", depth - 1))
                    else:
                        self.skipped.append(Skipped(Reason.UNSAFE, _shown(path)))
                elif entry.is_file(follow_symlinks=False):
                    yield path

    def _entries(self, below: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self._folder / below) as entries:
                return list(entries)
        except OSError:
            self.skipped.append(Skipped(Reason.UNSAFE, _shown(below)))
            return []

    def read(self, path: str) -> bytes | Reason:
        try:
            with self._opened(path) as file:
                if os.fstat(file.fileno()).st_size > TEXT_BYTES:
                    return Reason.LONG
                data = file.read(TEXT_BYTES + 1)
        except OSError:
            return Reason.UNSAFE
        return data if len(data) <= TEXT_BYTES else Reason.LONG

    def modified(self, path: str) -> datetime | None:
        try:
            return datetime.fromtimestamp((self._folder / path).lstat().st_mtime, UTC)
        except (OSError, OverflowError, ValueError):
            return None

    def stream(self, path: str) -> Iterator[bytes]:
        try:
            with self._opened(path) as file:
                yield from _pieces(file.read)
        except OSError as error:
            raise NotThere(
                Words(f"打不开 {_shown(path)}。", f"{_shown(path)} cannot be opened."), detail=str(error)
            ) from error

    @contextmanager
    def _opened(self, path: str) -> Iterator[BinaryIO]:
        """A regular file, and no link in its place."""
        handle = os.open(self._folder / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise IsADirectoryError(path)
            yield file


class Zip:
    """A zip file. Its entries are read in memory and never unpacked."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.skipped: list[Skipped] = []
        entries = archive.infolist()
        if len(entries) > MOST_FILES:
            raise _too_many()
        self._entries: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            path = _name_of(entry)
            if entry.is_dir() or any(_passed_over(part) for part in path.split("/")):
                continue
            if not _is_safe(path):
                self.skipped.append(Skipped(Reason.UNSAFE, _shown(path)))
            elif stat.S_ISLNK(entry.external_attr >> 16):
                self.skipped.append(Skipped(Reason.LINK, _shown(path)))
            else:
                self._entries[path] = entry
        self.paths = tuple(sorted(self._entries))

    def read(self, path: str) -> bytes | Reason:
        entry = self._entries[path]
        if entry.file_size > TEXT_BYTES:
            return Reason.LONG
        try:
            data = b"".join(self._pieces(entry, TEXT_BYTES))
        except LimitReached:
            return Reason.LONG
        except UsageWrong:
            return Reason.BROKEN
        return data

    def modified(self, path: str) -> datetime | None:
        try:
            return datetime(*self._entries[path].date_time, tzinfo=UTC)
        except ValueError:
            return None

    def stream(self, path: str) -> Iterator[bytes]:
        return self._pieces(self._entries[path], STREAM_BYTES)

    def _pieces(self, entry: zipfile.ZipInfo, most: int) -> Iterator[bytes]:
        if entry.flag_bits & 0x1:
            raise UsageWrong(Words("这个 zip 有密码，请先解开。", "This zip has a password; unpack it first."))
        if entry.file_size > _BOMB_BYTES and entry.file_size > _BOMB_RATIO * max(entry.compress_size, 1):
            raise _bomb()
        try:
            with self._archive.open(entry) as file:
                yield from _pieces(file.read, most)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            raise UsageWrong(
                Words(f"zip 里的 {_shown(entry.filename)} 坏了。", f"{_shown(entry.filename)} in the zip is broken."),
                detail=str(error),
            ) from error


_PIECE = 1024 * 1024


def _pieces(read: Callable[[int], bytes], most: int = STREAM_BYTES) -> Iterator[bytes]:
    """What `read` gives, piece by piece. What an archive says of sizes is not believed."""
    count = 0
    while piece := read(_PIECE):
        count += len(piece)
        if count > most:
            raise LimitReached(
                Words(f"文件超过 {most >> 20} MB，不读。", f"The file is longer than {most >> 20} MB; it is not read.")
            )
        yield piece


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UsageWrong(
            Words(f"{path} 不是完好的 zip。", f"{path} is no sound zip file."), detail=str(error)
        ) from error
    with archive:
        yield archive


def _name_of(entry: zipfile.ZipInfo) -> str:
    """The name of an entry. Where a zip does not say that its names are UTF-8, Chinese ones mostly are GB18030."""
    name = entry.filename
    if not entry.flag_bits & 0x800 and not name.isascii():
        try:
            name = name.encode("cp437").decode("gb18030")
        except UnicodeError:
            name = entry.filename
    return unicodedata.normalize("NFC", name)


def _is_safe(path: str) -> bool:
    """Whether a name in an archive is that of a file below it."""
    parts = path.split("/")
    plain = all(part not in ("", ".", "..") and len(part.encode("utf-8", "replace")) <= 255 for part in parts)
    return plain and "\\" not in path and ":" not in parts[0] and "\0" not in path and len(parts) <= DEEPEST


def _passed_over(name: str) -> bool:
    """Whether a file or folder is none that people look at: hidden (`.git`, `.obsidian`, `.trash`), an editor's own."""
    return name.startswith(_HIDDEN) or name.endswith("~") or name in _JUNK


def _shown(path: str) -> str:
    """A path for people, whatever stands in it."""
    printable = "".join(letter if letter.isprintable() else "�" for letter in path)
    return printable.encode("utf-8", "replace").decode()[:200]


def _too_many() -> LimitReached:
    return LimitReached(
        Words(
            f"里面超过 {MOST_FILES} 个文件，请指到放记忆的那个文件夹。",
            f"It holds more than {MOST_FILES} files; point at the folder with the memory.",
        )
    )


def _bomb() -> UsageWrong:
    return UsageWrong(
        Words("这个 zip 解开会大得不正常，不读。", "This zip would unpack to an absurd size; it is not read.")
    )
