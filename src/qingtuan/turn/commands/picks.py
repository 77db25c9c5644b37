"""Which of several numbered things somebody means: `1 3`, `1、3`, `1和3`, 全部. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_ALL = frozenset({"all", "全部", "所有", "都", "全", "everything", "all of them"})
_NUMBERS = re.compile(r"[#＃]?\d{1,6}(?:(?:\s*(?:[、,;和跟及与&+]|and)\s*|\s+)[#＃]?\d{1,6})*")


@dataclass(frozen=True, slots=True)
class Picks:
    """What is meant."""

    numbers: tuple[int, ...] = ()
    """In the order in which they were written, each once; empty for all."""

    def __str__(self) -> str:
        """As a command takes it."""
        return " ".join(map(str, self.numbers)) or "all"


def picks(text: str) -> Picks | None:
    """What a text picks; None if it is not made of numbers, nor a word for all."""
    plain = unicodedata.normalize("NFKC", text).casefold().strip().rstrip(" .。!~")
    if plain in _ALL:
        return Picks()
    if not _NUMBERS.fullmatch(plain):
        return None
    return Picks(tuple(dict.fromkeys(int(found) for found in re.findall(r"\d+", plain))))
