"""Foreign text made fit for one line of a sentence."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def clean(text: str, limit: int = 80) -> str:
    """One line without control, format and direction characters, of at most `limit` characters."""
    seen = "".join(" " if unicodedata.category(char) in _UNSEEN else char for char in text[: limit * 4])
    line = " ".join(seen.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def listed(names: Iterable[str]) -> str:
    """`甲、乙、丙`."""
    return "、".join(names)
