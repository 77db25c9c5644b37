"""Texts of other programs as they may be shown: nothing hidden, nothing endless, and no secret of ours. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from qingtuan.identity.redaction import mask
from qingtuan.settings.fields import HIDDEN

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_KEPT = frozenset("\n\t\u200d")
"""What stays though it is unseen: lines, and the joiner that makes one picture of several."""
_ENDING = "…"


def plain(text: str, limit: int) -> str:
    """`text` without characters that nobody sees (control, bidi, tags, halves of characters), cut to `limit`."""
    # What is cut away need not be looked at; invisible ones must not push visible ones out at no cost.
    text = text[: 4 * limit]
    kept = text if text.isascii() and text.isprintable() else "".join(map(_seen, text))
    return kept if len(kept) <= limit else kept[: limit - 1] + _ENDING


def line(text: str, limit: int) -> str:
    """The same on one line."""
    return plain(" ".join(text[: 4 * limit].split()), limit)


def _seen(letter: str) -> str:
    if letter in _KEPT:
        return letter
    if letter == "\r":
        return ""
    return "\ufffd" if unicodedata.category(letter) in _UNSEEN else letter


def covered(text: str, secrets: Iterable[str]) -> str:
    """`text` with every one of `secrets` covered: what we gave a program to keep, and what it may repeat."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def covered_in(data: Any, secrets: Iterable[str]) -> Any:
    """The same for all texts of a JSON value, names of its parts among them."""
    secrets = tuple(secrets)
    if not secrets:
        return data
    if isinstance(data, Mapping):
        return {covered(str(key), secrets): covered_in(value, secrets) for key, value in data.items()}
    if isinstance(data, list):
        return [covered_in(item, secrets) for item in data]
    return covered(data, secrets) if isinstance(data, str) else data


def without(text: str, secrets: Iterable[str]) -> str:
    """The same, and with whatever else looks like a secret covered: for logs and for what is shown of an entry."""
    return mask(covered(text, secrets)).text


_SECRET_NAME = re.compile(r"key|token|secret|passw|pwd|auth|cookie|credential|session|\bpat\b|_pat\b", re.IGNORECASE)
_LEAST = 6
"""A shorter value is a word that may occur anywhere."""


def secrets_of(values: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The values that must not be shown, of variables or headers as (name, value): by their names, or by their look.

    Of `Bearer abc` the part behind the scheme counts too.
    """
    found: dict[str, None] = {}
    for name, value in values:
        if _SECRET_NAME.search(name) or mask(f"{name}: {value}").kinds:
            for part in (value, value.partition(" ")[2]):
                if len(part.strip()) >= _LEAST:
                    found[part.strip()] = None
    return tuple(sorted(found, key=len, reverse=True))
