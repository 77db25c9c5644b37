"""Values out of JSON that a platform or a caller sent: whatever stands there, of the kind that is wanted or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def text_of(value: Any) -> str:
    """A text; empty for anything else."""
    return value if isinstance(value, str) else ""


def text_in(value: Any, name: str) -> str:
    """The text of this name in an object; empty where there is no object, no such name, or something else."""
    return text_of(value.get(name)) if isinstance(value, Mapping) else ""


def one_line(text: str, most: int) -> str:
    """A name or a title as one line of at most `most` characters: for display, never identity."""
    return " ".join(text.split())[:most]


def is_deeper(value: Any, levels: int) -> bool:
    """Whether lists and objects stand in one another more than `levels` deep."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(levels):
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return bool(level)
