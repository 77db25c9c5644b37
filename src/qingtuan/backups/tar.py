"""Tar archives: writing headers as everybody reads them, and reading only what we write.

The standard library's reader follows links, makes devices and takes an extended header of any length into memory.
This one knows regular files, folders and the extended headers of long or foreign names, each within bounds.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from qingtuan.errors import BackupUnusable
from qingtuan.language import Words

BLOCK = tarfile.BLOCKSIZE
CHUNK = 1024 * 1024
_RECORD = tarfile.RECORDSIZE
_LONGEST_EXTENDED = 64 * 1024
_RECORD_OF_EXTENDED = re.compile(rb"(\d{1,5}) ([A-Za-z.]+)=")
_LATEST = 2**33 - 1
"""Seconds since 1970 that a plain header can hold: the year 2242."""
_DIGITS = re.compile(rb"\d{1,18}")


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before a member."""

    path: str
    is_folder: bool
    size: int = 0
    """Bytes that follow."""
    time: int = 0
    """When it was changed last, in seconds since 1970."""


def header(member: Header) -> bytes:
    """The bytes before a member: for the owner alone, whatever its rights were."""
    info = tarfile.TarInfo(member.path)
    info.type = tarfile.DIRTYPE if member.is_folder else tarfile.REGTYPE
    info.mode = 0o700 if member.is_folder else 0o600
    info.size = member.size
    info.mtime = min(max(member.time, 0), _LATEST)
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def padding(size: int) -> bytes:
    """What fills the last block of a member of `size` bytes."""
    return bytes(-size % BLOCK)


def end(written: int) -> bytes:
    """What ends an archive of `written` bytes."""
    return bytes(2 * BLOCK + -(written + 2 * BLOCK) % _RECORD)


@dataclass(frozen=True, slots=True)
class _Extended:
    """What an extended header says: a long or foreign name, a size beyond 8 GB."""

    path: str | None = None
    size: int | None = None


class Reader:
    """Reads an archive from front to back. Whatever is not as `header` writes it is refused."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._left = 0
        """Bytes of the present member that were not read."""
        self._fill = 0

    def next(self) -> Header | None:
        """The header of the next member, None at the end. The one before has been read.

        Raises:
            BackupUnusable: something else stands there.
            OSError, EOFError, zlib.error: the stream itself is broken.
        """
        if self._left:
            raise BackupUnusable(DAMAGED, detail="a member was not read")
        self._exactly(self._fill)
        self._fill = 0
        block = self._exactly(BLOCK)
        if block == bytes(BLOCK):
            self._finish()
            return None
        info, extended = self._parse(block), _Extended()
        if info.type == tarfile.XHDTYPE:
            extended = self._extended(info.size)
            info = self._parse(self._exactly(BLOCK))
        if info.type not in (tarfile.REGTYPE, tarfile.DIRTYPE):
            raise BackupUnusable(_NO_FILE, detail=f"{info.name!r}: type {info.type!r}")
        is_folder = info.type == tarfile.DIRTYPE
        size = info.size if extended.size is None else extended.size
        if size < 0 or (is_folder and size):
            raise BackupUnusable(DAMAGED, detail=f"size {size}")
        self._left, self._fill = size, -size % BLOCK
        path = extended.path or info.name
        time = int(min(max(info.mtime, 0), _LATEST))
        return Header(path.rstrip("/") if is_folder else path, is_folder, size, time)

    def data(self) -> Iterator[bytes]:
        """What follows the last header, in pieces. Raises as `next`."""
        while self._left:
            piece = self._stream.read(min(CHUNK, self._left))
            if not piece:
                raise BackupUnusable(DAMAGED, detail="it is cut off")
            self._left -= len(piece)
            yield piece

    def _parse(self, block: bytes) -> tarfile.TarInfo:
        try:
            return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise BackupUnusable(DAMAGED, detail=repr(error)) from error

    def _extended(self, size: int) -> _Extended:
        """What an extended header says of the next one."""
        if not 0 <= size <= _LONGEST_EXTENDED:
            raise BackupUnusable(DAMAGED, detail=f"an extended header of {size} bytes")
        data = self._exactly(size)
        self._exactly(-size % BLOCK)
        path, length_of_member = None, None
        while data:
            found = _RECORD_OF_EXTENDED.match(data)
            length = int(found[1]) if found else 0
            if found is None or not found.end() < length <= len(data) or data[length - 1] != ord("\n"):
                raise BackupUnusable(DAMAGED, detail="an extended header that cannot be read")
            value = data[found.end() : length - 1]
            if found[2] == b"path":
                path = value.decode("utf-8", "surrogateescape")
            elif found[2] == b"size" and _DIGITS.fullmatch(value):
                length_of_member = int(value)
            elif found[2] != b"hdrcharset":
                raise BackupUnusable(DAMAGED, detail=f"an extended header with {found[2]!r}")
            data = data[length:]
        return _Extended(path, length_of_member)

    def _finish(self) -> None:
        """Read the rest, which is nothing but zeros."""
        read = BLOCK
        while piece := self._stream.read(_RECORD):
            read += len(piece)
            if piece.strip(b"\0") or read > 2 * _RECORD:
                raise BackupUnusable(DAMAGED, detail="something stands behind the end")

    def _exactly(self, size: int) -> bytes:
        pieces, left = [], size
        while left:
            piece = self._stream.read(left)
            if not piece:
                raise BackupUnusable(DAMAGED, detail="it is cut off")
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)


DAMAGED = Words("这份备份损坏了，什么都没有动。", "This backup is damaged. Nothing was changed.")
_NO_FILE = Words(
    "这份备份里有链接、设备或别的东西，不只是文件；不用它，什么都没有动。",
    "This backup holds links, devices or the like besides files. It is not used, and nothing was changed.",
)
