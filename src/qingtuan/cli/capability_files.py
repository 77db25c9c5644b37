"""A capability that somebody wrote, read from the disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from qingtuan.capabilities.definition import read
from qingtuan.capabilities.folder import CODE, FILES, MANIFEST, MAX_BYTES, definition_of
from qingtuan.errors import UsageWrong
from qingtuan.language import Words
from qingtuan.storage.files import read_regular


def definition_at(path: Path) -> dict[str, Any]:
    """What a folder holds, one of its files stands for, or a `.json` file says, as JSON.

    Raises:
        UsageWrong: it cannot be read.
        DefinitionRefused: it does not say what a capability is; all that is wrong is named.
    """
    path = path.expanduser().resolve()
    if path.suffix == ".json" and path.name not in FILES:
        return read(_json(path)).json
    folder = path if path.is_dir() else path.parent
    if not (folder / CODE).exists() and not (folder / MANIFEST).exists():
        raise UsageWrong(_NO_FOLDER.filled(path))
    return definition_of(folder.name, {file: read_regular(folder / file, limit=MAX_BYTES) for file in FILES}).json


def _json(path: Path) -> Any:
    data = read_regular(path, limit=MAX_BYTES)
    try:
        return json.loads(data or b"")
    except (ValueError, RecursionError):
        raise UsageWrong(_NOT_JSON.filled(path)) from None


_NO_FOLDER = Words(
    "{0} 里没有 main.ts 和 capability.toml。写法见 docs/guide/capabilities.md。",
    "There is no main.ts and no capability.toml in {0}. docs/guide/capabilities.md says how to write them.",
)
_NOT_JSON = Words("{0} 不是 JSON。", "{0} is no JSON.")
