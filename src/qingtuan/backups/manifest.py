"""What stands in a backup: the list that is its first member, and which paths may stand there at all."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from qingtuan.errors import BackupUnusable
from qingtuan.language import Words

FORMAT = 1
LONGEST = 64 * 1024 * 1024
"""Bytes of a manifest: room for some 300,000 files."""

LEFT_OUT = frozenset(
    {
        "index",
        "logs",
        "backups",
        "run.sock",
        "run.lock",
        "state.sqlite-wal",
        "state.sqlite-shm",
        "state.sqlite-journal",
        ".state.sqlite-litestream",
    }
)
"""Names in a data folder that no backup holds: caches, what belongs to a running process or to a program that
replicates the database, and backups themselves. All else is in it, also what no version so far knows of."""

DATABASE, SECRETS, MEDIA = "state.sqlite", ".env", "media"
LOGINS = "wechat.json"
"""Logins of chat apps, which are secrets too."""
GRANTS = "grants"
"""The table of the database with logins at servers of tools."""

_LONGEST_NAME, _LONGEST_PATH = 255, 4096
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Wish:
    """What goes into a backup besides what always does."""

    media: bool = True
    secrets: bool = True

    @property
    def without(self) -> frozenset[str]:
        """Names in the data folder that do not."""
        left = {MEDIA: self.media, SECRETS: self.secrets, LOGINS: self.secrets}
        return LEFT_OUT | {name for name, wanted in left.items() if not wanted}

    @property
    def without_rows(self) -> frozenset[str]:
        """Tables of the database of which no row does."""
        return frozenset() if self.secrets else frozenset({GRANTS})


@dataclass(frozen=True, slots=True)
class Member:
    """A file of a backup."""

    path: str
    """Within the data folder, with `/`; bytes that are no UTF-8 as lone surrogates."""
    size: int
    """Bytes."""
    hash: str
    """SHA-256, 64 hex digits."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything that a backup holds, in the order in which it stands there: folders, then files."""

    made: datetime
    """The instant that it shows, in UTC."""
    product: str
    """Version that made it."""
    schema: int
    """Number of the newest migration of its database; 0 without one."""
    origin: str
    """The first event of the data folder, which tells it from others; empty if nothing has happened there yet."""
    events: int
    folders: tuple[str, ...]
    members: tuple[Member, ...]

    @property
    def tops(self) -> frozenset[str]:
        """The names that it brings into a data folder."""
        return frozenset(path.partition("/")[0] for path in (*self.folders, *(member.path for member in self.members)))

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(member.size for member in self.members)

    @property
    def pages(self) -> int:
        """Pages of the wiki."""
        paths = (member.path for member in self.members)
        return sum(path.startswith("wiki/") and path.endswith(".md") and "/.git/" not in path for path in paths)

    @property
    def with_secrets(self) -> bool:
        return SECRETS in self.tops

    @property
    def with_media(self) -> bool:
        return MEDIA in self.tops

    def encode(self) -> bytes:
        """As it stands in the archive."""
        plain = {
            "format": FORMAT,
            "made": self.made.isoformat(),
            "product": self.product,
            "schema": self.schema,
            "origin": self.origin,
            "events": self.events,
            "folders": self.folders,
            "files": [{"path": member.path, "size": member.size, "sha256": member.hash} for member in self.members],
        }
        return json.dumps(plain, indent=1).encode("ascii")


def decode(data: bytes) -> Manifest:
    """The manifest of an archive.

    Raises:
        BackupUnusable: it is none, is of a newer format, or names what may not stand in a data folder.
    """
    try:
        plain = json.loads(data)
        number = plain["format"]
        if isinstance(number, int) and not isinstance(number, bool) and number > FORMAT:
            raise BackupUnusable(_NEWER)
        if number != FORMAT:
            raise ValueError(number)
        manifest = Manifest(
            made=_moment(plain["made"]),
            product=_text(plain["product"]),
            schema=_number(plain["schema"]),
            origin=_text(plain["origin"]),
            events=_number(plain["events"]),
            folders=tuple(_text(path) for path in plain["folders"]),
            members=tuple(_member(entry) for entry in plain["files"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BackupUnusable(NOT_OURS, detail=repr(error)) from error
    _check_paths(manifest.folders, [member.path for member in manifest.members])
    return manifest


def _member(entry: Any) -> Member:
    digest = _text(entry["sha256"])
    if not _HASH.fullmatch(digest):
        raise ValueError(digest)
    return Member(_text(entry["path"]), _number(entry["size"]), digest)


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(_text(value))
    if moment.tzinfo is None:
        raise ValueError(value)
    return moment


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(repr(value))
    return value


def _check_paths(folders: Sequence[str], files: Iterable[str]) -> None:
    known: set[str] = set()
    taken: set[str] = set()
    for path in folders:
        _check(path, known, taken)
        known.add(path)
    for path in files:
        _check(path, known, taken)


def _check(path: str, folders: set[str], taken: set[str]) -> None:
    parent, _, _ = path.rpartition("/")
    if not _fits(path) or (parent and parent not in folders) or path in taken:
        shown = path.encode("utf-8", "replace").decode()[:200]
        raise BackupUnusable(
            Words(
                f"备份里有不该有的路径「{shown}」，什么都没有动。",
                f"The backup names a path that cannot stand there: “{shown}”. Nothing was changed.",
            )
        )
    taken.add(path)


def _fits(path: str) -> bool:
    """Whether a path stays within the data folder, and away from what belongs to a running process."""
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError:
        return False
    parts = path.split("/")
    return (
        len(raw) <= _LONGEST_PATH
        and b"\0" not in raw
        and parts[0].lower() not in LEFT_OUT
        and all(part not in ("", ".", "..") and len(os.fsencode(part)) <= _LONGEST_NAME for part in parts)
    )


NOT_OURS = Words("这不是小青团的备份，或者已经损坏。", "This is no backup of Qingtuan, or it is damaged.")
_NEWER = Words(
    "这份备份是更新的版本做的，这个版本读不懂。请先升级小青团。",
    "This backup was made by a newer version, which this one cannot read. Please upgrade Qingtuan first.",
)
