"""The data folder as it is at one instant, put aside: what a backup is then made from in peace.

Everything but media is copied; media are many and large, are kept under their hashes and never change.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from qingtuan.backups.archive import Changed, Source, opened
from qingtuan.backups.manifest import DATABASE, MEDIA, Member, Wish
from qingtuan.backups.tar import CHUNK
from qingtuan.errors import StorageFailed
from qingtuan.language import Words
from qingtuan.storage.git_rewriting import BESIDE, MARK

Stop = Callable[[], None]
"""Raises when the work was given up."""

_STILL = frozenset({"wiki", "capabilities"})
_TRIES = 3
"""How often a file that changes while it is read is read again."""


@dataclass(slots=True)
class Shot:
    """What was put aside, as far as that has come."""

    folders: list[str] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    """Links and the like, which are in no backup."""

    def add(self, member: Member, source: Source) -> None:
        self.members.append(member)
        self.sources.append(source)


@dataclass(frozen=True, slots=True)
class _Found:
    path: str
    """Within the data folder."""
    place: Path
    status: os.stat_result


def size_of(home: Path, wish: Wish) -> tuple[int, int]:
    """Bytes that are to be put aside, and bytes of media, roughly: both may grow meanwhile."""
    small = media = 0
    for found in _walk(home, wish.without, []):
        if not stat.S_ISREG(found.status.st_mode):
            continue
        if found.path.startswith(f"{MEDIA}/"):
            media += found.status.st_size
        else:
            small += found.status.st_size
    return small, media


def put_aside(home: Path, folder: Path, wish: Wish, stop: Stop) -> Shot:
    """Copy the histories with their pages into `folder`, which is empty: what has to stand still meanwhile.

    Folders of the data folder that are links themselves are followed, as they are in use; nothing below them is.

    Raises:
        StorageFailed: a file cannot be read, or there is no room.
    """
    shot = Shot()
    everything_else = frozenset(_names(home, "")) - _STILL
    _put_aside(home, folder, wish.without | everything_else, stop, shot)
    return shot


def add_rest(home: Path, folder: Path, wish: Wish, stop: Stop, shot: Shot) -> None:
    """Copy what else there is, but for the database and media. Raises as `put_aside`."""
    _put_aside(home, folder, wish.without | _STILL | {DATABASE, MEDIA}, stop, shot)


def _put_aside(home: Path, folder: Path, without: frozenset[str], stop: Stop, shot: Shot) -> None:
    for found in _walk(home, without, shot.passed_over):
        stop()
        target = folder / found.path
        if stat.S_ISDIR(found.status.st_mode):
            with _said(found.path):
                target.mkdir(mode=0o700)
            shot.folders.append(found.path)
        elif (member := _copied(found, target)) is not None:
            shot.add(member, Source(target, int(found.status.st_mtime)))


def add_media(home: Path, shot: Shot, stop: Stop) -> None:
    """Add what stands in `media/`, which stays where it is. Raises `StorageFailed`."""
    place = home / MEDIA
    if (status := _status(place, follow=True)) is None:
        return
    for found in _below(_Found(MEDIA, place, status), shot.passed_over):
        stop()
        if stat.S_ISDIR(found.status.st_mode):
            shot.folders.append(found.path)
        elif (member := _copied(found, None)) is not None:
            shot.add(member, Source(found.place, int(found.status.st_mtime)))


def add_database(copy: Path, shot: Shot) -> None:
    """Add the copy of the database."""
    with _said(DATABASE):
        size, digest = _transfer(copy, None)
        shot.add(Member(DATABASE, size, digest), Source(copy, int(copy.stat().st_mtime)))


def _walk(home: Path, without: frozenset[str], passed_over: list[str]) -> Iterator[_Found]:
    """Folders, each before what is in it, and files."""
    for name in _names(home, ""):
        if name in without or _is_temporary(name):
            continue
        place = home / name
        if (status := _status(place, follow=True)) is None:
            continue
        yield from _below(_Found(name, place, status), passed_over)


def _below(found: _Found, passed_over: list[str]) -> Iterator[_Found]:
    mode = found.status.st_mode
    if stat.S_ISREG(mode):
        yield found
    elif not stat.S_ISDIR(mode):
        passed_over.append(found.path)
    else:
        yield found
        for name in _names(found.place, found.path):
            place = found.place / name
            if _is_temporary(name) or (_in_git(found.path) and name.endswith(".lock")) or _is_half_erased(place):
                continue
            if (status := _status(place, follow=False)) is not None:
                yield from _below(_Found(f"{found.path}/{name}", place, status), passed_over)


def _names(folder: Path, path: str) -> list[str]:
    try:
        names = [entry.name for entry in folder.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unreadable(path or str(folder), error) from error
    # What branches point to is read before the objects, which only grow: so none is missing.
    return sorted(names, key=lambda name: (name == "objects", name))


def _status(place: Path, *, follow: bool) -> os.stat_result | None:
    try:
        return place.stat(follow_symlinks=follow)
    except FileNotFoundError:
        return None  # gone since it was listed, or a link that leads nowhere
    except OSError as error:
        raise _unreadable(str(place), error) from error


def _is_temporary(name: str) -> bool:
    return name.startswith(".") and name.endswith(".tmp")


def _is_half_erased(place: Path) -> bool:
    """Whether this is a history without what was erased, which was not yet to take the place of the old one.

    Raises:
        StorageFailed: it was to. Only a start can finish that, and until then the old one holds what must be gone.
    """
    if place.name == BESIDE and (place / MARK).exists():
        raise StorageFailed(_HALF_ERASED)
    return place.name == BESIDE


def _in_git(path: str) -> bool:
    return "/.git/" in f"{path}/"


def _copied(found: _Found, target: Path | None) -> Member | None:
    """Copy a file, or only read it; None if it is gone."""
    for left in reversed(range(_TRIES)):
        try:
            with _said(found.path):
                size, digest = _transfer(found.place, target, strict=left > 0)
        except Changed:
            continue
        except FileNotFoundError:
            return None
        return Member(found.path, size, digest)
    return None


def _transfer(source: Path, target: Path | None, *, strict: bool = False) -> tuple[int, str]:
    """Read a file as far as it goes now, and write it to `target`, if one is given; its size and hash.

    Raises:
        Changed: it is `strict`, and the file was changed meanwhile.
    """
    # A settings file may be a link of the owner's: what it leads to is what is in use.
    with opened(source.resolve() if source.is_symlink() else source) as file:
        before = os.fstat(file.fileno())
        left, done, digest = before.st_size, 0, hashlib.sha256()
        out = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600) if target else None
        try:
            while left and (piece := file.read(min(CHUNK, left))):
                digest.update(piece)
                left -= len(piece)
                done += len(piece)
                if out is not None:
                    _write(out, piece)
        finally:
            if out is not None:
                os.close(out)
        after = os.fstat(file.fileno())
    if strict and (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise Changed(str(source))
    return done, digest.hexdigest()


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


@contextmanager
def _said(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: OSError) -> StorageFailed:
    shown = path.encode("utf-8", "replace").decode()
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StorageFailed(
            Words(
                f"没有空间放「{shown}」的副本，备份没有做。请腾出磁盘空间。",
                f"There is no room for a copy of “{shown}”, so no backup was made. Free some disk space.",
            )
        )
    return StorageFailed(
        Words(
            f"读不了「{shown}」：{error.strerror}。备份没有做，因为它不会是完整的。请检查权限。",
            f"“{shown}” cannot be read: {error.strerror}. No backup was made, for it would not be whole. "
            "Check permissions.",
        )
    )


_HALF_ERASED = Words(
    "有一次抹除断在半路，备份没有做，不然抹掉的还在里面。先运行一次 qingtuan chat，它会做完。",
    "An erasure was cut off half-way. No backup was made, for it would hold what must be gone. Run qingtuan chat once, "
    "which finishes it.",
)
