"""Looking over a data folder that was unpacked from a backup: the database and every history in it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from qingtuan.backups.manifest import DATABASE, Manifest
from qingtuan.backups.tar import DAMAGED
from qingtuan.clock import Clock
from qingtuan.errors import BackupUnusable, StorageFailed
from qingtuan.language import Words
from qingtuan.storage.copying import Census, look_over
from qingtuan.storage.git import Repository


async def check(folder: Path, manifest: Manifest, clock: Clock) -> Census | None:
    """See that the database is whole and what the manifest says, and that nothing is missing from any history. What
    the database holds; None without one.

    Raises:
        BackupUnusable: it is not, or something is.
    """
    census = await asyncio.to_thread(_database, folder, manifest)
    for place in await asyncio.to_thread(histories, folder):
        try:
            await Repository(place, clock).check()
        except StorageFailed as error:
            name = str(place.relative_to(folder))
            raise BackupUnusable(
                Words(
                    f"{name} 的历史不完整：{error.words.zh}", f"The history of {name} is not whole: {error.words.en}"
                ),
                detail=error.detail,
            ) from error
    return census


def _database(folder: Path, manifest: Manifest) -> Census | None:
    if DATABASE not in manifest.tops:
        return None
    try:
        found = look_over(folder / DATABASE)
    except StorageFailed as error:
        raise BackupUnusable(Words("数据库坏了。", "The database is damaged."), detail=str(error)) from error
    if (found.schema, found.rows.get("events", 0)) != (manifest.schema, manifest.events):
        raise BackupUnusable(DAMAGED, detail=f"{found} instead of {manifest.schema}, {manifest.events}")
    return found


def histories(folder: Path) -> list[Path]:
    """The folders below `folder`, itself too, that are git repositories, in order."""
    found = []
    for place, folders, _ in os.walk(folder):
        if (Path(place) / ".git").is_dir():  # asked of the file system, for which .GIT may be the same
            found.append(Path(place))
        folders[:] = [name for name in folders if name.lower() != ".git"]
    return sorted(found)
