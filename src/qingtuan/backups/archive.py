"""A backup as one file: a gzipped tar with a manifest in front.

Tar and gzip, and not zip, because `tar xzf` is on every system that runs this (Debian brings no unzip), names may be
any bytes, it is written and read from front to back in one go, and gzip's check value covers every byte of it. The
manifest comes first, so that what a backup is, and how much room it needs, is known before anything is unpacked; a
member is taken only if it is the next one of the manifest and has the size and the hash that stand there.

    qingtuan-backup/manifest.json
    qingtuan-backup/data/…          the data folder
"""

from __future__ import annotations

import gzip
import hashlib
import os
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from qingtuan.backups.manifest import LONGEST, NOT_OURS, Manifest, Member, decode
from qingtuan.backups.tar import CHUNK, DAMAGED, Header, Reader, end, header, padding
from qingtuan.errors import BackupUnusable, StorageFailed
from qingtuan.language import Words

TOP = "qingtuan-backup"
_MANIFEST, _DATA = f"{TOP}/manifest.json", f"{TOP}/data"
_LEVEL = 6
"""Of gzip: 1 takes half the time and a third more room."""

Tell = Callable[[int], None]
"""Told how many bytes of the files are done; raises to give up."""


class Changed(Exception):
    """A file is no longer what the manifest says: it was changed while the backup was made."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file that goes into an archive."""

    path: Path
    """Where its bytes are."""
    time: int
    """Seconds since 1970."""


def write(file: BinaryIO, manifest: Manifest, sources: Sequence[Source], tell: Tell) -> None:
    """Write an archive; `sources` are the files of the manifest in its order.

    Raises:
        Changed: a file is not what the manifest says.
        OSError: it cannot be read, or there is no room.
    """
    time = int(manifest.made.timestamp())
    with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=_LEVEL, mtime=time) as packed:
        out = _Counting(cast(BinaryIO, packed))
        listed = manifest.encode()
        for name in (TOP, _DATA):
            out.write(header(Header(name, is_folder=True, time=time)))
            if name == TOP:
                out.write(header(Header(_MANIFEST, is_folder=False, size=len(listed), time=time)))
                out.write(listed + padding(len(listed)))
        for folder in manifest.folders:
            out.write(header(Header(f"{_DATA}/{folder}", is_folder=True, time=time)))
        done = 0
        for member, source in zip(manifest.members, sources, strict=True):
            out.write(header(Header(f"{_DATA}/{member.path}", is_folder=False, size=member.size, time=source.time)))
            for piece in _pieces(member, source.path):
                out.write(piece)
                done += len(piece)
                tell(done)
            out.write(padding(member.size))
        out.write(end(out.written))


class _Counting:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.written = 0

    def write(self, data: bytes) -> None:
        self._file.write(data)
        self.written += len(data)


def _pieces(member: Member, path: Path) -> Iterator[bytes]:
    """The bytes of a file, as many as the manifest says, whatever grows behind them."""
    digest, left = hashlib.sha256(), member.size
    with opened(path) as file:
        while left and (piece := file.read(min(CHUNK, left))):
            digest.update(piece)
            left -= len(piece)
            yield piece
    if left or digest.hexdigest() != member.hash:
        raise Changed(member.path)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A regular file, for reading. No link is followed at the last step, and nothing is waited for.

    Raises:
        OSError: it cannot be opened.
        Changed: something else stands there.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Changed(str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(handle)


class Sink(Protocol):
    """Where the contents of an archive go."""

    def begin(self, manifest: Manifest) -> None:
        """What will come. Raises to refuse it."""
        ...

    def folder(self, path: str) -> None:
        """A folder."""
        ...

    def file(self, member: Member, time: int, data: Iterator[bytes]) -> None:
        """A file, whose bytes must be taken. They were looked at when this is called for the next one, or `read`
        returns, and not before."""
        ...


def read(path: Path, sink: Sink, tell: Tell = lambda _: None) -> Manifest:
    """Read a whole archive into `sink`, every byte of it compared with the manifest.

    Raises:
        BackupUnusable: it is damaged, of a newer version, none of ours or made to do harm. What `sink` got is worth
            nothing then.
        StorageFailed: it cannot be read, or what is read cannot be written.
    """
    with _unpacked(path) as reader:
        manifest = _manifest(reader)
        sink.begin(manifest)
        _folder(reader, _DATA)
        for folder in manifest.folders:
            _folder(reader, f"{_DATA}/{folder}")
            sink.folder(folder)
        done = 0
        for member in manifest.members:
            found = reader.next()
            wanted = Header(
                f"{_DATA}/{member.path}", is_folder=False, size=member.size, time=found.time if found else 0
            )
            if found != wanted:
                raise BackupUnusable(DAMAGED, detail=f"{found} instead of {wanted}")
            sink.file(member, wanted.time, _checked(member, reader.data()))
            done += member.size
            tell(done)
        if (more := reader.next()) is not None:
            raise BackupUnusable(DAMAGED, detail=f"{more} stands in no manifest")
        return manifest


def read_manifest(path: Path) -> Manifest:
    """The manifest of an archive alone. Raises as `read`."""
    with _unpacked(path) as reader:
        return _manifest(reader)


@contextmanager
def _unpacked(path: Path) -> Iterator[Reader]:
    try:
        # Without waiting: a pipe that nobody writes to would hold us for ever.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BackupUnusable(NOT_OURS)
            with gzip.GzipFile(fileobj=file, mode="rb") as packed:
                yield Reader(cast(BinaryIO, packed))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BackupUnusable(DAMAGED, detail=repr(error)) from error
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else path
        raise StorageFailed(
            Words(f"读写 {where} 时出错：{error.strerror}。", f"Trouble with {where}: {error.strerror}.")
        ) from error


def _manifest(reader: Reader) -> Manifest:
    try:
        _folder(reader, TOP)
        found = reader.next()
        if found is None or found.path != _MANIFEST or found.is_folder or found.size > LONGEST:
            raise BackupUnusable(NOT_OURS, detail=str(found))
        return decode(b"".join(reader.data()))
    except (BackupUnusable, EOFError, zlib.error, gzip.BadGzipFile) as error:
        if isinstance(error, BackupUnusable) and error.words is not DAMAGED:
            raise
        # Whatever breaks before a manifest was read is more likely something else than a damaged backup.
        raise BackupUnusable(NOT_OURS, detail=str(error)) from error


def _folder(reader: Reader, path: str) -> None:
    found = reader.next()
    if found is None or not found.is_folder or found.path != path:
        raise BackupUnusable(DAMAGED, detail=f"{found} instead of {path!r}")


def _checked(member: Member, data: Iterator[bytes]) -> Iterator[bytes]:
    digest = hashlib.sha256()
    for piece in data:
        digest.update(piece)
        yield piece
    if digest.hexdigest() != member.hash:
        raise BackupUnusable(DAMAGED, detail=f"{member.path!r} is not what was written")


class Unpacking:
    """Puts the contents of an archive below a folder, which is empty and ours: files 0600, folders 0700."""

    def __init__(self, folder: Path, accept: Callable[[Manifest], None], *, but: frozenset[str] = frozenset()) -> None:
        """`accept` is asked first and raises to refuse. What stands below the names of `but` is read and not kept."""
        self._folder = folder
        self._accept = accept
        self._but = but

    def begin(self, manifest: Manifest) -> None:
        self._accept(manifest)

    def folder(self, path: str) -> None:
        if path.partition("/")[0] not in self._but:
            (self._folder / path).mkdir(mode=0o700)

    def file(self, member: Member, time: int, data: Iterator[bytes]) -> None:
        if member.path.partition("/")[0] in self._but:
            for _ in data:
                pass
            return
        target = self._folder / member.path
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            for piece in data:
                file.write(piece)
        with suppress(OSError):  # a time that this file system does not take is no loss
            os.utime(target, (time, time))
