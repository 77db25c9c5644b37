"""All tools of one server as it listed them, and the cache of that. No cache is believed further than a list: what
may be offered is decided by the pins."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qingtuan.errors import StorageFailed
from qingtuan.language import Words
from qingtuan.mcp_client.definition import MAX_NAME, Definition, LeftOut, Raw, definition_of, fault, with_usable_output
from qingtuan.storage.files import read_regular, write_atomic
from qingtuan.tools.plain import line
from qingtuan.tools.strict_json import canonical
from qingtuan.tools.tool import wire_name

MAX_TOOLS = 1_000
"""Tools of one server."""
MAX_CHARS = 8 * 1024 * 1024
"""Characters of all of them as JSON."""
_VERSION = 1
"""Of the cache's form, and of what was checked before a tool came into it."""
_MAX_CACHE = 4 * MAX_CHARS
_MAX_LEFT_OUT = 50


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server offers."""

    tools: tuple[Definition, ...]
    left_out: tuple[LeftOut, ...] = ()
    server: str = ""
    """Its own name and version, in its own words."""
    raw: tuple[Raw, ...] = ()
    """The same tools as JSON, for the cache."""
    resources: bool = False
    """Whether there is something to be read beside them."""


def listing_of(raws: Iterable[Mapping[str, Any]], server: str, more: int = 0, *, prefix: str = "") -> Listing:
    """The tools that can be used of those that a server listed; `more` were not even read. `prefix` begins their names:
    two that would meet on the wire are one too many. Slow for many tools: to be run beside the loop."""
    kept: dict[str, dict[str, Any]] = {}
    left_out: list[LeftOut] = []
    chars = 0
    for raw in raws:
        name = line(str(raw.get("name", "")), MAX_NAME)
        why = fault(raw)
        wire = wire_name(f"{prefix}__{raw['name']}") if why is None else ""
        if wire in kept:
            why = _TWICE
        if why is None:
            raw = with_usable_output(dict(raw))
            chars += len(canonical(raw))
            if len(kept) < MAX_TOOLS and chars <= MAX_CHARS:
                kept[wire] = raw
            else:
                more += 1
        elif len(left_out) < _MAX_LEFT_OUT:
            left_out.append(LeftOut(name, why))
        else:
            more += 1
    if more:
        left_out.append(LeftOut("…", _MORE.filled(more=more)))
    return Listing(tuple(map(definition_of, kept.values())), tuple(left_out), server, tuple(kept.values()))


def load(folder: Path, key: str) -> Listing | None:
    """The cached list of a server whose entry has this hash; None if there is none that can be read."""
    data = read_regular(_path(folder, key), limit=_MAX_CACHE)
    if data is None:
        return None
    try:
        found = json.loads(data)
        if found["version"] != _VERSION:
            return None
        left_out = tuple(LeftOut(one["name"], Words(one["zh"], one["en"])) for one in found["left_out"])
        raws = tuple(found["tools"])
        read = found.get("resources") is True
        return Listing(tuple(map(definition_of, raws)), left_out, str(found["server"]), raws, read)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def save(folder: Path, key: str, listing: Listing) -> None:
    """Keep a list. A disk that refuses costs nothing but the next start's time."""
    left_out = [{"name": one.name, "zh": one.why.zh, "en": one.why.en} for one in listing.left_out]
    facts = {"version": _VERSION, "server": listing.server, "resources": listing.resources}
    found = {**facts, "left_out": left_out, "tools": listing.raw}
    try:
        write_atomic(_path(folder, key), json.dumps(found).encode())
    except StorageFailed:
        return


def _path(folder: Path, key: str) -> Path:
    return folder / f"{key[:32]}.json"


_TWICE = Words("名字和前面的一个重了。", "Another one before it has this name.")
_MORE = Words(
    f"还有 {{more}} 个没有用：一个服务器最多 {MAX_TOOLS} 个。", f"{{more}} more are not used: {MAX_TOOLS} a server."
)
