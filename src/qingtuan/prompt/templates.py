"""The default texts of the prompt, each of which the owner can override with a file of the same name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path

from qingtuan.language import Language
from qingtuan.storage.files import read_regular

NAMES = ("system", "instructions", "protocol", "vision")

_LIMIT = 64 * 1024
"""Bytes of one override; longer files are passed over, so that a slip cannot fill every request."""


def load(overrides: Path, language: Language) -> Mapping[str, str]:
    """The templates by name: `<overrides>/<name>.md` where it exists and is text, else the default."""
    return {name: _override(overrides / f"{name}.md") or _default(language, name) for name in NAMES}


def _override(path: Path) -> str | None:
    data = read_regular(path, limit=_LIMIT)
    if data is None:
        return None
    try:
        return data.decode("utf-8-sig").strip() or None
    except UnicodeDecodeError:
        return None


@cache
def _default(language: Language, name: str) -> str:
    return resources.files("qingtuan.prompt").joinpath("templates", language, f"{name}.md").read_text("utf-8").strip()
