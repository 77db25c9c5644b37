"""Unpacking a backup beside the data folder and looking it over, so that all there is left to do is to move it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from qingtuan.backups import archive
from qingtuan.backups.archive import Unpacking
from qingtuan.backups.checking import check, histories
from qingtuan.backups.manifest import DATABASE, Manifest
from qingtuan.backups.swap import NEW
from qingtuan.backups.working import working
from qingtuan.clock import Clock
from qingtuan.errors import BackupUnusable, StorageFailed
from qingtuan.home import Home
from qingtuan.language import Words
from qingtuan.storage.git import Repository
from qingtuan.storage.git_rewriting import BESIDE
from qingtuan.storage.migrating import newest
from qingtuan.storage.sqlite import Database

_ROOM = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Staged:
    """A backup, unpacked and looked over. It is as it will be: upgraded, closed to others, its histories cleansed."""

    folder: Path
    manifest: Manifest

    @property
    def work(self) -> str:
        """The name of the folder of the work, within `backups/`."""
        return self.folder.parent.name


@asynccontextmanager
async def staged(path: Path, home: Home, clock: Clock, tell: Callable[[int, int], None]) -> AsyncIterator[Staged]:
    """Unpack the backup `path` within `backups/` of a data folder, until the block is left. The data folder itself is
    not touched, and may be in use. `tell` is told from another thread how many bytes of how many were read.

    Raises:
        BackupUnusable: it is damaged, of a newer version, none of ours, or made to do harm.
        StorageFailed: there is no room, or it cannot be brought up to date.
    """
    await asyncio.to_thread(_accept, archive.read_manifest(path), home.backups)
    async with working(home.backups) as work:
        folder = work / NEW
        folder.mkdir(mode=0o700)
        manifest = await asyncio.to_thread(_unpack, path, folder, tell)
        # Before git looks at a history: its configuration comes from who knows where.
        for place in await asyncio.to_thread(histories, folder):
            await Repository(place, clock).cleanse()
        await check(folder, manifest, clock)
        await asyncio.to_thread(_upgrade, folder / DATABASE)
        await asyncio.to_thread(_close, folder)
        yield Staged(folder, manifest)


def _unpack(path: Path, folder: Path, tell: Callable[[int, int], None]) -> Manifest:
    total = 0

    def accept(manifest: Manifest) -> None:
        nonlocal total
        _accept(manifest, folder)
        total = manifest.size

    manifest = archive.read(path, Unpacking(folder, accept), lambda done: tell(done, total))
    _remove_strays(folder)
    return manifest


def _remove_strays(folder: Path) -> None:
    """Remove what would become a history, or lead git to one, past the eyes of `cleanse`."""
    for place, folders, names in os.walk(folder):
        for name in names:
            if name.lower() == ".git":
                (Path(place) / name).unlink()
        for name in [name for name in folders if name.lower() == BESIDE]:
            shutil.rmtree(Path(place) / name)
            folders.remove(name)


def _accept(manifest: Manifest, folder: Path) -> None:
    """See that this version can use a backup, and that there is room for it. Raises."""
    known = newest()
    if manifest.schema > known:
        raise BackupUnusable(
            Words(
                f"这份备份来自更新的版本（{manifest.schema}），这个版本只认识到 {known}。请先升级小青团。",
                f"This backup is of a newer version ({manifest.schema}); this one knows {known}. Please upgrade first.",
            )
        )
    place = next(place for place in (folder, *folder.parents) if place.exists())
    needed, free = manifest.size + _ROOM, shutil.disk_usage(place).free
    if free < needed:
        wanted, there = needed // 1024**2, free // 1024**2
        raise StorageFailed(
            Words(
                f"没有恢复：{place} 要 {wanted} MB 空间，只剩 {there} MB。",
                f"Nothing was restored: {place} needs {wanted} MB of space and has {there} MB.",
            )
        )


def _upgrade(path: Path) -> None:
    """Bring an older database up to date while the present one still stands. The backup itself is the copy."""
    if path.exists():
        Database(path).close()


def _close(folder: Path) -> None:
    """Take the rights of others away from what git and the database have made since."""
    for path in folder.rglob("*"):
        if path.stat(follow_symlinks=False).st_mode & 0o077:
            path.chmod(0o700 if path.is_dir() else 0o600)
