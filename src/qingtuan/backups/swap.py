"""Another state of the data folder in the place of the present one: whole or not at all, whenever the process dies.

Everything is moved by renaming. A note is written before the first name moves and removed after the last, so that
whoever opens the folder next finishes what was begun; until then nobody else may use it. What stood there before is
moved into a folder of its own and kept.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from qingtuan.backups import working
from qingtuan.backups.manifest import LOGINS, MEDIA, SECRETS
from qingtuan.errors import StorageFailed
from qingtuan.home import Home
from qingtuan.language import Words
from qingtuan.storage.files import cannot_write, read_regular, write_atomic

NEW = "new"
"""The folder with the unpacked state, within that of the work."""

_COMING, _ASIDE = ".restoring-", "before-restore-"
_STAY = frozenset({"logs", "backups", "run.sock", "run.lock"})
"""Names that belong to the folder and the process, not to its state."""
_LONGEST = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Swap:
    """What moves, and where to. Each step may be done again after a crash. Needs the claim on the data folder."""

    home: Home
    coming: Path
    """Holds the state that is to come."""
    aside: Path
    """Will hold the present one."""
    old: tuple[str, ...]
    """Names of the present state."""
    new: tuple[str, ...]
    """Names of the other one."""
    made: datetime
    """The instant that the other one shows."""

    def place(self) -> None:
        """Move the present state aside, and the other one into its place.

        Raises:
            StorageFailed: something cannot be moved; all is as it was.
        """
        try:
            # First everything aside: a write-ahead log beside a database that it is not of would be taken for its own.
            for name in self.old:
                if not _is_there(self.aside / name) and not self._is_placed(name) and _is_there(self.home.path / name):
                    (self.home.path / name).rename(self.aside / name)
            for name in self.new:
                if _is_there(self.coming / name):
                    self._keep_stray(name)
                    (self.coming / name).rename(self.home.path / name)
            _to_disk(self.home.path)
        except OSError as error:
            self.undo()
            raise _not_moved(error) from error

    def undo(self) -> None:
        """Put the present state back in its place.

        Raises:
            StorageFailed: something cannot be moved. The next start finishes what was begun.
        """
        try:
            # Whatever stands there by now is of the other state, too: a write-ahead log that was made with it.
            for there in sorted(self.home.path.iterdir()):
                if not self._is_old(there.name):
                    taken = _is_there(self.coming / there.name)
                    there.rename(self.coming / (f"{there.name}.{secrets.token_hex(4)}" if taken else there.name))
            for name in self.old:
                if _is_there(self.aside / name):
                    (self.aside / name).rename(self.home.path / name)
            _to_disk(self.home.path)
        except OSError as error:
            raise _not_moved(error) from error
        self.finish()

    def finish(self) -> None:
        """There is nothing more to move. Raises `StorageFailed`."""
        try:
            self.home.restore_note.unlink(missing_ok=True)
            _to_disk(self.home.backups)
            if not any(self.aside.iterdir()):
                self.aside.rmdir()
        except OSError as error:
            raise cannot_write(self.home.backups, error) from error
        shutil.rmtree(self.coming, ignore_errors=True)

    def _is_placed(self, name: str) -> bool:
        """Whether what stands under this name, if anything does, has come from the other state."""
        return name in self.new and not _is_there(self.coming / name)

    def _is_old(self, name: str) -> bool:
        """Whether what stands under this name is of the present state, or of the folder itself."""
        stays = name in _stay(self.new)
        return stays or (name in self.old and not _is_there(self.aside / name) and not self._is_placed(name))

    def _keep_stray(self, name: str) -> None:
        """Move away what somebody who did not know made there meanwhile."""
        if _is_there(self.home.path / name):
            (self.home.path / name).rename(self.aside / f"{name}.{secrets.token_hex(4)}")

    @property
    def words(self) -> Words:
        """What the owner is told when it is done."""
        made = f"{self.made.astimezone():%Y-%m-%d %H:%M}"
        if not self.aside.exists():
            return Words(f"数据是 {made} 的备份。", f"The data is that of the backup of {made}.")
        return Words(
            f"数据恢复成了 {made} 的备份，之前的整个在 {self.aside}，不要了可以删。",
            f"The data is that of the backup of {made}. What was there before is in {self.aside}; "
            "delete it when you no longer need it.",
        )


def begin(home: Home, staged: Path, *, made: datetime, now: datetime) -> Swap:
    """Write down that the state in `staged`, a folder within `backups/`, will take the place of the present one. From
    here on it will, unless it is undone. Media and secrets stay as they are where the other state has none.

    Raises:
        StorageFailed: it cannot be written down; nothing was done.
    """
    backups = home.backups
    try:
        new = sorted(path.name for path in staged.iterdir())
        old = sorted(path.name for path in home.path.iterdir() if path.name not in _stay(new))
        swap = Swap(
            home=home,
            coming=backups / f"{_COMING}{secrets.token_hex(4)}",
            aside=_free(backups / f"{_ASIDE}{now:%Y%m%dT%H%M%SZ}"),
            old=tuple(old),
            new=tuple(new),
            made=made,
        )
        os.sync()  # a power cut must not leave names without what they name
        swap.aside.mkdir(mode=0o700)
        staged.rename(swap.coming)
        note = {"coming": swap.coming.name, "aside": swap.aside.name, "old": old, "new": new, "made": made.isoformat()}
        write_atomic(home.restore_note, json.dumps(note).encode())
        _to_disk(backups)
    except (OSError, StorageFailed) as error:
        _remove_leftovers(backups)
        raise error if isinstance(error, StorageFailed) else cannot_write(backups, error) from error
    return swap


def _stay(new: Iterable[str]) -> frozenset[str]:
    """Names that do not move: media and secrets where the other state has none."""
    return _STAY | (frozenset({MEDIA, SECRETS, LOGINS}) - set(new))


def is_pending(home: Home) -> bool:
    """Whether something was begun and is not finished: the folder is not to be used before that."""
    return home.restore_note.exists()


def pending(home: Home) -> Swap | None:
    """What was begun and is not finished. Needs the claim on the data folder.

    Raises:
        StorageFailed: the note about it cannot be read.
    """
    note = home.restore_note
    working.remove_leftovers(home.backups)
    if not note.exists():
        _remove_leftovers(home.backups)
        return None
    try:
        plain = json.loads(read_regular(note, limit=_LONGEST) or b"")
        return Swap(
            home=home,
            coming=home.backups / _name(plain["coming"]),
            aside=home.backups / _name(plain["aside"]),
            old=tuple(_name(name) for name in plain["old"]),
            new=tuple(_name(name) for name in plain["new"]),
            made=datetime.fromisoformat(plain["made"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StorageFailed(
            Words(
                f"上次恢复做到一半，但 {note} 读不懂。之前的数据在 backups/before-restore-… 里，请手工放回，再删掉它。",
                f"A restore was cut off, and {note} cannot be read. What was there before is in "
                "backups/before-restore-…; please put it back by hand, and delete that file.",
            ),
            detail=repr(error),
        ) from error


def _name(value: object) -> str:
    if not isinstance(value, str) or value in ("", ".", "..") or "/" in value:
        raise ValueError(value)
    return value


def _remove_leftovers(backups: Path) -> None:
    """Remove what was to come and was cut off before anything was written down."""
    for leftover in backups.glob(f"{_COMING}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    for half in backups.glob(".restoring.json.*.tmp"):
        half.unlink(missing_ok=True)
    for empty in backups.glob(f"{_ASIDE}*"):
        with suppress(OSError):  # it is not
            empty.rmdir()


def _free(path: Path) -> Path:
    names = (path.name, *(f"{path.name}-{number}" for number in range(2, 1000)))
    return next(path.with_name(name) for name in names if not path.with_name(name).exists())


def _is_there(path: Path) -> bool:
    """Links count for themselves."""
    return os.path.lexists(path)


def _to_disk(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _not_moved(error: OSError) -> StorageFailed:
    where = error.filename if isinstance(error.filename, str) else ""
    return StorageFailed(
        Words(
            f"没有恢复，一切照旧：{where} 挪不动（{error.strerror}）。",
            f"Nothing was restored, and all is as it was: {where} cannot be moved ({error.strerror}).",
        )
    )
