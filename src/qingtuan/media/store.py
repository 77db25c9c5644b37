"""Where pictures, voice and files are kept: once each, under the hash of their bytes, for a time."""

from __future__ import annotations

import os
import re
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from qingtuan.errors import FetchFailed, NotThere
from qingtuan.language import Words
from qingtuan.media.kinds import BINARY, Nature, nature_of
from qingtuan.messages import Attachment
from qingtuan.storage.files import cannot_write, content_hash, read_regular, write_atomic

_HASH = re.compile(r"[0-9a-f]{64}")
_ODD = re.compile(r'[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff/\\:*?"<>|%\[\]]+')
_NAME_CHARS = 60
LARGEST = 32 * 1024 * 1024
"""Bytes of one file, unless the settings say otherwise."""


@dataclass(frozen=True, slots=True)
class MediaStore:
    """The files of one data folder. Who may see which of them is not decided here: a hash is no right."""

    folder: Path
    largest: int = LARGEST
    """Bytes that one file may have."""

    def put(self, data: bytes, name: str = "") -> Attachment:
        """Keep a file. What it is follows from its bytes, and the ending of its name from what it is; the rest of
        `name` is cleaned and shortened. A file that was there already has its time begin anew.

        Raises:
            FetchFailed: it is empty, or larger than `largest`.
            StorageFailed: the disk refuses.
        """
        if not data:
            raise FetchFailed(_EMPTY)
        if len(data) > self.largest:
            raise FetchFailed(_LARGE.filled(most=megabytes(self.largest)))
        nature = nature_of(data)
        attachment = Attachment(nature.kind, clean_name(name, nature), nature.media_type, content_hash(data), len(data))
        path = self.path(attachment.hash)
        try:
            os.utime(path, follow_symlinks=False)
            known = path.is_file() and not path.is_symlink() and path.stat().st_size == len(data)
        except FileNotFoundError:
            known = False
        except OSError as error:
            raise cannot_write(path, error) from error
        if not known:
            write_atomic(path, data)
        return attachment

    def read(self, name: str) -> bytes:
        """The bytes of the file with this hash.

        Raises:
            NotThere: it was never kept, its time is over, or it is not what its hash says.
        """
        data = read_regular(self.path(name), limit=_MOST_EVER)
        if data is None or content_hash(data) != name:
            raise NotThere(_GONE)
        return data

    def path(self, name: str) -> Path:
        """Where the file with this hash stands, if it does.

        Raises:
            NotThere: that is no hash.
        """
        if not _HASH.fullmatch(name):
            raise NotThere(_GONE)
        return self.folder / name

    def holds(self, name: str) -> bool:
        """Whether the file with this hash is still there."""
        return _HASH.fullmatch(name) is not None and (self.folder / name).is_file()

    def clear(self, now: datetime, keep: timedelta, needed: Container[str]) -> int:
        """Remove what has been here for longer than `keep` and is not `needed`, and leftovers of writes that were cut
        off. How many files went.

        Raises:
            StorageFailed: the disk refuses.
        """
        gone = 0
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    age = now.timestamp() - entry.stat(follow_symlinks=False).st_mtime
                    if _is_leftover(entry.name):
                        due = age > _LEFTOVER_SECONDS
                    else:
                        due = (
                            bool(_HASH.fullmatch(entry.name))
                            and entry.name not in needed
                            and age > keep.total_seconds()
                        )
                    if due and entry.is_file(follow_symlinks=False):
                        Path(entry.path).unlink(missing_ok=True)
                        gone += 1
        except FileNotFoundError:
            return gone
        except OSError as error:
            raise cannot_write(self.folder, error) from error
        return gone


def clean_name(name: str, nature: Nature) -> str:
    """A file's name that can stand in a sentence and in a folder: one line, no path, at most 60 characters, with the
    ending of what the file really is. Foreign text all the same."""
    base = _ODD.sub("_", name.replace("\\", "/").rstrip("/").rpartition("/")[2]).strip(" ._")
    stem, dot, ending = base.rpartition(".")
    if dot and (ending.lower() == nature.extension or ending.lower() in _ALIKE.get(nature.extension, ())):
        extension = ending
    elif dot and nature.media_type == "text/plain" and _ENDING.fullmatch(ending) and ending.lower() not in BINARY:
        extension = ending  # notes.md, main.py: any text may be called as it likes
    else:
        # report.final becomes report.final.pdf, but no picture is called plan.pdf.png.
        stem, extension = stem if dot and ending.lower() in BINARY else base, nature.extension
    stem = stem.strip(" ._") or _KIND_NAMES[nature.kind]
    return f"{stem[: _NAME_CHARS - len(extension) - 1]}.{extension}"


def sized(size: int) -> str:
    """The size of a file for people: `12 KB`, `1.4 MB`."""
    return f"{max(1, size // 1024)} KB" if size < 1024 * 1024 else megabytes(size)


def megabytes(size: int) -> str:
    """A size for people: `32 MB`, `0.4 MB`."""
    number = size / (1024 * 1024)
    return f"{number:.0f} MB" if number >= 10 else f"{max(number, 0.1):.1f} MB"


def _is_leftover(name: str) -> bool:
    return name.startswith(".") and name.endswith(".tmp")


_MOST_EVER = 512 * 1024 * 1024
"""Bytes that are read at once, whatever `largest` was when the file came."""
_LEFTOVER_SECONDS = 3600.0
_ENDING = re.compile(r"[A-Za-z0-9_+-]{1,12}")
_ALIKE = {
    "jpg": ("jpeg", "jpe", "jfif"),
    "tiff": ("tif",),
    "mp4": ("m4v", "mov"),
    "ogg": ("oga", "opus"),
    "heic": ("heif",),
    "mp3": ("mpga",),
    "ole": ("doc", "xls", "ppt", "msg"),
    "zip": ("jar", "apk", "whl"),
}
_KIND_NAMES: dict[Literal["image", "audio", "file"], str] = {"image": "image", "audio": "audio", "file": "file"}
_EMPTY = Words("文件是空的。", "The file is empty.")
_LARGE = Words("文件太大，最多 {most}。", "The file is too large: at most {most}.")
_GONE = Words("这个文件已经不在了。", "That file is no longer there.")
