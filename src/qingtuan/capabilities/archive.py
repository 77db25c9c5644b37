"""Capabilities as an archive, to take along or to give away: a zip of their folders with a manifest.

An archive may come from anybody. Nothing of it is unpacked onto the disk; names, sizes and numbers are bounded before
anything is read.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping

from qingtuan.capabilities.bounds import NAME
from qingtuan.capabilities.definition import Definition, DefinitionRefused, Fault
from qingtuan.capabilities.folder import FILES, MAX_BYTES, definition_of, files_of
from qingtuan.errors import UsageWrong
from qingtuan.language import Words
from qingtuan.messages import Origin

ORIGIN = Origin.FILE
"""Of the words of what comes in this way."""
MANIFEST = "manifest.json"
FORMAT = "qingtuan-capabilities-1"
MAX_ARCHIVE = 16 * 1024 * 1024
MAX_FOLDERS = 200
_MEMBER = re.compile(r"([a-z][a-z0-9_]{1,47})/(capability\.toml|main\.ts|cases\.json)")
_EPOCH = (1980, 1, 1, 0, 0, 0)


def packed(definitions: Iterable[Definition]) -> bytes:
    """A zip; equal for equal definitions."""
    made = sorted(definitions, key=lambda definition: definition.name)
    told = {"format": FORMAT, "capabilities": [{"name": one.name, "hash": one.hash} for one in made]}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(MANIFEST, _EPOCH), json.dumps(told, ensure_ascii=False, indent=1))
        for one in made:
            for file, data in files_of(one).items():
                archive.writestr(zipfile.ZipInfo(f"{one.name}/{file}", _EPOCH), data)
    return buffer.getvalue()


def unpacked(data: bytes) -> Mapping[str, Callable[[], Definition]]:
    """What an archive holds: by name, what reads it (and raises `DefinitionRefused`).

    Raises:
        UsageWrong: it is no such archive, or holds what has no place there. Then nothing of it is taken.
    """
    if len(data) > MAX_ARCHIVE:
        raise UsageWrong(_TOO_LARGE)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _read(archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise UsageWrong(_DAMAGED, detail=repr(error)) from None


def _read(archive: zipfile.ZipFile) -> Mapping[str, Callable[[], Definition]]:
    folders: dict[str, dict[str, bytes]] = {}
    members = archive.infolist()
    if len(members) > 1 + 4 * MAX_FOLDERS:
        raise UsageWrong(_TOO_LARGE)
    seen: set[str] = set()
    for member in members:
        if member.filename in seen:
            raise UsageWrong(_TWICE.filled(name=ascii(member.filename)[:80]))
        seen.add(member.filename)
        if member.filename == MANIFEST or (member.is_dir() and NAME.fullmatch(member.filename.rstrip("/"))):
            continue
        found = _MEMBER.fullmatch(member.filename)
        if found is None or not _is_plain(member):
            raise UsageWrong(_FOREIGN.filled(name=ascii(member.filename)[:80]))
        folders.setdefault(found[1], {})[found[2]] = _content(archive, member)
    if not folders:
        raise UsageWrong(_EMPTY)
    if len(folders) > MAX_FOLDERS:
        raise UsageWrong(_TOO_LARGE)
    return {name: _reader(name, files) for name, files in sorted(folders.items())}


def _is_plain(member: zipfile.ZipInfo) -> bool:
    """Whether it is a file, as far as its maker says, and no link."""
    kind = member.external_attr >> 16 & 0o170000
    return kind in (0, 0o100000)


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    # What it says of its size may be a lie: no more than the bound is ever unpacked.
    with archive.open(member) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageWrong(_TOO_LARGE)
    return data


def _reader(name: str, files: Mapping[str, bytes]) -> Callable[[], Definition]:
    def read() -> Definition:
        try:
            return definition_of(name, {file: files.get(file) for file in FILES})
        except RecursionError:
            raise DefinitionRefused([Fault(name, Words("读不了", "cannot be read"))]) from None

    return read


_TOO_LARGE = Words(
    f"太大了：最多 {MAX_FOLDERS} 个工具，每个文件 {MAX_BYTES // 1024} KB。",
    f"It is too large: at most {MAX_FOLDERS} capabilities, {MAX_BYTES // 1024} KB a file.",
)
_DAMAGED = Words("这不是完好的 zip 文件。", "This is no undamaged zip file.")
_EMPTY = Words("里面没有工具。", "There is no capability in it.")
_TWICE = Words("里面有两个 {name}，什么都没拿。", "{name} is in it twice; nothing was taken.")
_FOREIGN = Words("里面有不该有的 {name}，什么都没拿。", "{name} has no place in it; nothing was taken.")
