"""Which of several numbered things somebody means, and whether they want them: `1、3`, 全部, 都不要, 1 3 留. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

_ALL = frozenset({"all", "全部", "所有", "都", "全", "everything", "all of them"})
_NUMBERS_TEXT = r"[#＃]?\d{1,6}(?:(?:\s*(?:[、,;和跟及与&+]|and)\s*|\s+)[#＃]?\d{1,6})*"
_NUMBERS = re.compile(_NUMBERS_TEXT)


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
    plain = _plain(text)
    if plain in _ALL:
        return Picks()
    if not _NUMBERS.fullmatch(plain):
        return None
    return Picks(tuple(dict.fromkeys(int(found) for found in re.findall(r"\d+", plain))))


Wanted = Literal["accept", "reject"]
_KEEP = "留下?|要|记下?|记住|keep|remember"
_DROP = "不要|不用|不留|别记|不记|不用记|drop|not|no"
_NUMBERED = re.compile(
    rf"(?:(?:只|就)?(?:{_KEEP})\s*)?(?P<kept>{_NUMBERS_TEXT})(?:\s*都?(?:{_KEEP}))?吧?"
    rf"|(?:{_DROP})\s*(?P<dropped>{_NUMBERS_TEXT})|(?P<refused>{_NUMBERS_TEXT})\s*都?(?:{_DROP})"
)
_EVERY = re.compile(r"(?:都|全|全部|全都)(?:都)?(?:要|留下?|记下?|记住)吧?|全部|keep (?:them )?all|all(?: of them)?")
_NONE = re.compile(
    r"(?:一个|一条)?(?:都|全|全部|全都)(?:不要|不用|不留|别记|不记)了?吧?|none(?: of them)?|drop (?:them )?all"
)


def wanted(text: str, *, single: bool = False) -> tuple[Wanted, Picks] | None:
    """What a reply says that is nothing but an answer to "which of these do you want to keep": what to do, with which.
    None for everything else. With `single` there is but one to choose from, and a bare yes will do."""
    plain = _plain(text)
    if single and plain in _ALONE:
        return _ALONE[plain], Picks()
    if _EVERY.fullmatch(plain):
        return "accept", Picks()
    if _NONE.fullmatch(plain):
        return "reject", Picks()
    found = _NUMBERED.fullmatch(plain)
    if found is None:
        return None
    picked = picks(found["kept"] or found["dropped"] or found["refused"])
    return ("accept" if found["kept"] else "reject", picked) if picked is not None else None


_ALONE: dict[str, Wanted] = {"要": "accept", "记": "accept", "留": "accept", "keep": "accept", "不要": "reject"}
_ALONE |= {"不用": "reject", "别记": "reject", "drop": "reject"}


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().strip().rstrip(" .。!~")
