"""Taking a backup: put aside what is there now, pack it, look the archive over, and only then give it its name."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from qingtuan import __version__
from qingtuan.backups import archive
from qingtuan.backups.archive import Changed, Unpacking
from qingtuan.backups.checking import check
from qingtuan.backups.manifest import DATABASE, MEDIA, Manifest, Wish
from qingtuan.backups.order import nobody_writes
from qingtuan.backups.shelf import Last, remember
from qingtuan.backups.snapshot import Shot, add_database, add_media, add_rest, put_aside, size_of
from qingtuan.backups.tar import CHUNK
from qingtuan.backups.working import unfinished, working
from qingtuan.clock import Clock
from qingtuan.errors import BackupUnusable, StorageFailed
from qingtuan.home import Home
from qingtuan.language import Words
from qingtuan.storage.copying import Census, Held
from qingtuan.storage.files import cannot_write
from qingtuan.storage.swap import move_new

Tell = Callable[[str, int, int], None]
"""Told which of `STAGES` is on, and how many bytes of how many are done; from any thread."""
STAGES = ("packing", "checking")

_TRIES = 3
"""How often a folder that changes under the work, as when its owner's own git packs it anew, is begun again."""
_ROOM = 64 * 1024 * 1024
_STEPS = 100
"""Reports of a stage."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be backed up, and where to."""

    home: Home
    clock: Clock
    target: Path
    """The archive to be made, in a folder that exists."""
    wish: Wish = field(default_factory=Wish)
    quiet: Callable[[], AbstractAsyncContextManager[None]] = nobody_writes
    """While it is entered, nothing of ours writes to the files of the data folder. The database may go on."""
    tell: Tell = lambda *_: None


@dataclass(frozen=True, slots=True)
class Taken:
    """A backup that was looked over."""

    path: Path
    manifest: Manifest
    size: int
    """Bytes of the archive."""
    passed_over: tuple[str, ...]
    """Links and the like, which are in no backup."""


async def take(plan: Plan) -> Taken:
    """Make a backup. The data folder may be in use meanwhile.

    Raises:
        StorageFailed: a file cannot be read, there is no room, or what is there is damaged itself. No backup was made.
    """
    async with working(plan.home.backups) as folder:
        await asyncio.to_thread(_see_room, plan)
        for left in reversed(range(_TRIES)):
            attempt = folder / str(left)
            attempt.mkdir(mode=0o700)
            try:
                return await _attempt(plan, attempt)
            except (Changed, BackupUnusable) as error:
                if not left:
                    raise _not_whole(error) from error
            await asyncio.to_thread(shutil.rmtree, attempt)
    raise AssertionError("the last try returns or raises")


async def _attempt(plan: Plan, folder: Path) -> Taken:
    work, aside, checked = _Work(), folder / "aside", folder / "checked"
    for place in (aside, checked):
        place.mkdir(mode=0o700)
    with ExitStack() as stack:
        async with plan.quiet():
            # The database is held as it is now and may go on; histories and pages stand still until they are copied.
            made = plan.clock.now()
            held = await work.run(lambda: _held(plan, stack))
            shot = await work.run(lambda: put_aside(plan.home.path, aside, plan.wish, work.stop))
        manifest, census = await work.run(lambda: _complete(plan, made, held, shot, aside, work))
        packed = _unfinished(plan, stack)
        await work.run(lambda: _pack(plan, packed, manifest, shot, work))
        size, digest = await work.run(lambda: _unpack(plan, packed, checked, work))
        if await check(checked, manifest, plan.clock) != census:
            raise Changed(DATABASE)
        _publish(packed, plan.target)
    remember(plan.home.backups, Last(plan.target, made, size, digest))
    return Taken(plan.target, manifest, size, tuple(shot.passed_over))


def _held(plan: Plan, stack: ExitStack) -> Held | None:
    if not plan.home.database.exists():
        return None
    return stack.enter_context(Held(plan.home.database, plan.wish.without_rows))


def _complete(
    plan: Plan, made: datetime, held: Held | None, shot: Shot, aside: Path, work: _Work
) -> tuple[Manifest, Census | None]:
    """Add what needs no stillness, and list everything."""
    census, origin = None, None
    if held is not None:
        census = held.census()
        if "events" in census.rows:
            origin = held.value("SELECT id FROM events ORDER BY seq LIMIT 1")
        held.copy_to(aside / DATABASE)
        held.close()  # from here on the write-ahead log may be folded in again
        add_database(aside / DATABASE, shot)
    add_rest(plan.home.path, aside, plan.wish, work.stop, shot)
    if plan.wish.media:
        add_media(plan.home.path, shot, work.stop)
    manifest = Manifest(
        made=made,
        product=__version__,
        schema=census.schema if census else 0,
        origin=str(origin or ""),
        events=census.rows.get("events", 0) if census else 0,
        folders=tuple(shot.folders),
        members=tuple(shot.members),
    )
    return manifest, census


def _unfinished(plan: Plan, stack: ExitStack) -> Path:
    try:
        return stack.enter_context(unfinished(plan.target.parent))
    except OSError as error:
        raise cannot_write(plan.target, error) from error


def _pack(plan: Plan, target: Path, manifest: Manifest, shot: Shot, work: _Work) -> None:
    try:
        with target.open("wb") as file:
            archive.write(file, manifest, shot.sources, work.telling(plan.tell, "packing", manifest.size))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise cannot_write(plan.target, error) from error


def _unpack(plan: Plan, path: Path, folder: Path, work: _Work) -> tuple[int, str]:
    """Unpack the archive again, and give its size and hash."""

    def accept(manifest: Manifest) -> None:
        tell.total = manifest.size

    tell = work.telling(plan.tell, "checking", 0)
    archive.read(path, Unpacking(folder, accept, but=frozenset({MEDIA})), tell)
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            work.stop()
            digest.update(piece)
    return path.stat().st_size, digest.hexdigest()


def _publish(packed: Path, target: Path) -> None:
    try:
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            move_new(folder, packed.name, target.name)
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise cannot_write(target, error) from error


class _Work:
    """Work in other threads, which ends when whoever waits for it is cancelled."""

    def __init__(self) -> None:
        self._given_up = False

    async def run(self, work: Callable[[], _T]) -> _T:
        task = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._given_up = True
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # nobody has to hear of it
            raise

    def stop(self) -> None:
        """Called by the work now and then."""
        if self._given_up:
            raise Changed("given up")

    def telling(self, tell: Tell, stage: str, total: int) -> _Telling:
        return _Telling(self, tell, stage, total)


class _Telling:
    def __init__(self, work: _Work, tell: Tell, stage: str, total: int) -> None:
        self.total = total
        self._work = work
        self._tell = tell
        self._stage = stage
        self._said = -1.0

    def __call__(self, done: int) -> None:
        self._work.stop()
        if done == self.total or done - self._said >= self.total / _STEPS:
            self._said = done
            self._tell(self._stage, done, self.total)


def _see_room(plan: Plan) -> None:
    """See that it will fit: an instance that runs into a full disk half-way through has no room for what is said to it.

    Raises:
        StorageFailed: there is too little.
    """
    small, media = size_of(plan.home.path, plan.wish)
    # What is put aside, and again what is unpacked to be looked over; and the archive, which may be on another disk.
    needed: dict[int, int] = {}
    for place, size in ((plan.home.backups, 2 * small), (plan.target.parent, small + media)):
        device = place.stat().st_dev
        needed[device] = needed.get(device, _ROOM) + size
        if (free := shutil.disk_usage(place).free) < needed[device]:
            wanted, there = needed[device] // 1024**2, free // 1024**2
            raise StorageFailed(
                Words(
                    f"备份没有做：{place} 那里要 {wanted} MB 空间，只剩 {there} MB。",
                    f"No backup was made: {place} needs {wanted} MB of space and has {there} MB.",
                )
            )


def _not_whole(error: Changed | BackupUnusable) -> StorageFailed:
    if isinstance(error, BackupUnusable):
        return StorageFailed(
            Words(
                f"备份没有做，因为它不会是完整的：{error.words.zh}",
                f"No backup was made, for it would not be whole: {error.words.en}",
            ),
            detail=error.detail,
        )
    path = str(error).encode("utf-8", "replace").decode()
    return StorageFailed(
        Words(
            f"备份没有做：「{path}」一直在变。等它停下来再试。",
            f"No backup was made: “{path}” kept changing. Try again when it has come to rest.",
        )
    )
