"""The backups that stand in a folder: their names, how many stay, and what is known of the last one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from qingtuan.backups.archive import read_manifest
from qingtuan.errors import BackupUnusable, StorageFailed
from qingtuan.storage.files import cannot_write, read_regular, write_atomic

Kind = Literal["qingtuan", "daily"]
"""What the name of a backup begins with: made by hand, or by a running instance."""

_LAST = ".last.json"
_LONGEST = 64 * 1024


@dataclass(frozen=True, slots=True)
class Last:
    """The newest backup that was looked over and found whole, wherever it was put."""

    path: Path
    made: datetime
    size: int
    """Bytes of the archive."""
    hash: str
    """SHA-256 of the archive."""


def free_name(folder: Path, kind: Kind, moment: datetime) -> Path:
    """A name by time that is not taken in the folder."""
    stem = f"{kind}-{moment:%Y%m%dT%H%M%SZ}"
    names = (f"{stem}.tar.gz", *(f"{stem}-{number}.tar.gz" for number in range(2, 1000)))
    return next(folder / name for name in names if not (folder / name).exists())


def kept(folder: Path, kind: Kind | None = None) -> list[Path]:
    """The backups with a name of ours, oldest first."""
    pattern = re.compile(rf"({kind or 'qingtuan|daily'})-(\d{{8}}T\d{{6}}Z(-\d+)?)\.tar\.gz")
    found = [(match[2], entry) for entry in _entries(folder) if (match := pattern.fullmatch(entry.name))]
    return [entry for _, entry in sorted(found) if entry.is_file() and not entry.is_symlink()]


def _entries(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from folder.iterdir()


def prune(folder: Path, kind: Kind, keep: int, origin: str) -> list[Path]:
    """Delete the oldest backups of one data folder and kind, so that `keep` are left; those that were deleted.

    Only what is a backup by its name and by its content goes, and of no other data folder: several may share a disk.

    Raises:
        StorageFailed: one cannot be deleted.
    """
    own = [path for path in kept(folder, kind) if origin and _origin(path) == origin]
    gone = own[: max(0, len(own) - keep)]
    for path in gone:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(path, error) from error
    return gone


def _origin(path: Path) -> str | None:
    try:
        return read_manifest(path).origin
    except (BackupUnusable, StorageFailed):
        return None  # left for a person to look at


def remember(backups: Path, last: Last) -> None:
    """Note the newest backup. Raises `StorageFailed`."""
    plain = asdict(last) | {"path": str(last.path), "made": last.made.isoformat()}
    write_atomic(backups / _LAST, json.dumps(plain, ensure_ascii=True, indent=1).encode())


def last_of(backups: Path) -> Last | None:
    """The newest backup, as far as is known."""
    try:
        plain = json.loads(read_regular(backups / _LAST, limit=_LONGEST) or b"")
        return Last(Path(plain["path"]), datetime.fromisoformat(plain["made"]), int(plain["size"]), str(plain["hash"]))
    except (ValueError, KeyError, TypeError):
        return None
