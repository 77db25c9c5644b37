"""The doctor's look at backups: when the last one was made, and whether it still is what was checked then."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import timedelta

from qingtuan.backups.archive import opened
from qingtuan.backups.shelf import Last, kept, last_of
from qingtuan.backups.tar import CHUNK
from qingtuan.cli.checkups import Check, Finding
from qingtuan.cli.shell import Shell
from qingtuan.cli.sizes import size_words
from qingtuan.errors import NotThere
from qingtuan.language import Words

_OLD = timedelta(days=7)
_LARGE = 2_000_000_000
"""Bytes of an archive from which on reading it takes longer than a look should."""


async def _backup(shell: Shell) -> Finding:
    home = shell.home
    if not home.database.exists():
        raise NotThere(_NO_DATA)
    last = last_of(home.backups)
    if last is None:
        return Finding("note", _NONE, _MAKE)
    when = f"{last.made.astimezone():%Y-%m-%d %H:%M}"
    if not last.path.is_file():
        return Finding("note", _GONE.filled(path=last.path, when=when), _MAKE)
    if not await asyncio.to_thread(_is_same, last):
        return Finding("wrong", _CHANGED.filled(path=last.path), _MAKE)
    shelf = kept(home.backups)
    said = (_LAST if last.size <= _LARGE else _LAST_UNREAD).filled(
        when=when,
        size=size_words(last.size),
        count=len(shelf),
        all=size_words(sum(path.stat().st_size for path in shelf)),
    )
    is_old = shell.clock.now() - last.made > _OLD
    return Finding("note", said, _MAKE) if is_old else Finding("ok", said)


def _is_same(last: Last) -> bool:
    """Whether the archive is what was looked over, as far as can be told within a few seconds."""
    try:
        if last.path.stat().st_size != last.size or last.size > _LARGE:
            return last.path.stat().st_size == last.size
        digest = hashlib.sha256()
        with opened(last.path) as file:
            while piece := file.read(CHUNK):
                digest.update(piece)
    except OSError:
        return False
    return digest.hexdigest() == last.hash


BACKUP_CHECK = Check("backup", Words("备份", "backup"), _backup)

_NO_DATA = Words("还没有数据。", "There is no data yet.")
_NONE = Words("还没有备份", "there is none yet")
_GONE = Words("最近一份（{when}）不在 {path} 了", "the last one ({when}) is no longer at {path}")
_CHANGED = Words(
    "{path} 和核对时不一样了，不要指望它", "{path} is not what it was when it was checked; do not rely on it"
)
_LAST = Words(
    "最近一份是 {when} 的（{size}），和核对时一样；backups/ 里有 {count} 份，共 {all}",
    "the last is of {when} ({size}) and as it was when it was checked; {count} in backups/, {all} together",
)
_LAST_UNREAD = Words(
    "最近一份是 {when} 的（{size}），太大，没有重读；backups/ 里有 {count} 份，共 {all}",
    "the last is of {when} ({size}), too large to be read again; {count} in backups/, {all} together",
)
_MAKE = Words("qingtuan backup", "qingtuan backup")
