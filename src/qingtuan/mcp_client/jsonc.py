"""JSON as people write it in editors: with comments and with commas before a closing bracket. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

_TOKEN = re.compile(
    r"""
    (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<comment>//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)
    | (?P<comma>,)(?=(?:\s|//[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/)*[}\]])
    """,
    re.VERBOSE | re.DOTALL,
)
MAX_CHARS = 1_000_000


class Table(dict[str, Any]):
    """A JSON object that remembers which names were given more than once."""

    repeated: tuple[str, ...] = ()


def parse(text: str) -> Any:
    """The value of a JSON text with comments. Objects come as `Table`.

    Raises:
        ValueError: no JSON besides that; a `json.JSONDecodeError` says where.
    """
    if len(text) > MAX_CHARS:
        raise ValueError(f"longer than {MAX_CHARS} characters")
    try:
        return json.loads(_TOKEN.sub(_blank, text.removeprefix("\ufeff")), object_pairs_hook=_table)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _blank(found: re.Match[str]) -> str:
    """Strings stay; what is left out becomes as many blanks, so that places in the text stay what they are."""
    return found[0] if found["string"] else re.sub(r"[^\n]", " ", found[0])


def _table(pairs: list[tuple[str, Any]]) -> Table:
    table = Table(pairs)
    names = [name for name, _ in pairs]
    table.repeated = tuple(name for name in table if names.count(name) > 1) if len(table) != len(names) else ()
    return table
