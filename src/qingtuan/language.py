"""Sentences for people, in the two languages of the product, side by side where they are used."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Language = Literal["zh", "en"]


@dataclass(frozen=True, slots=True)
class Words:
    """One sentence in Chinese and in English.

    Both are complete sentences, written for a person; they hold no markup and no internal names.
    """

    zh: str
    en: str

    def say(self, language: Language) -> str:
        """The sentence in `language`."""
        return self.zh if language == "zh" else self.en

    def filled(self, *values: object, **named: object) -> Words:
        """The same sentence with values in its places, each in its language if it is a sentence, too."""
        zh, en = (
            text.format(*map(said, values), **{name: said(value) for name, value in named.items()})
            for text, said in ((self.zh, _chinese), (self.en, _english))
        )
        return Words(zh, en)

    @classmethod
    def joined(cls, several: Iterable[Words]) -> Words | None:
        """Several sentences behind each other; None for none."""
        found = list(several)
        return cls("".join(one.zh for one in found), " ".join(one.en for one in found)) if found else None


def _chinese(value: object) -> object:
    return value.zh if isinstance(value, Words) else value


def _english(value: object) -> object:
    return value.en if isinstance(value, Words) else value


def system_language(environ: Mapping[str, str] | None = None) -> Language:
    """The language of the machine's locale: Chinese for `zh*`, and where the locale names no language (`C`, unset),
    as on many servers; English for every other one."""
    environ = os.environ if environ is None else environ
    named = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := environ.get(name))), "")
    language = named.partition(".")[0].partition("_")[0].lower()
    return "zh" if language in ("zh", "c", "posix", "") else "en"


def seen(char: str) -> bool:
    """Whether a character is drawn as something: no control, no turn of the reading, no blank letter."""
    if " " <= char <= "~":
        return True
    if unicodedata.category(char) in _UNSEEN_CATEGORIES or char in _BLANK:
        return False
    variation = "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef" or "\u180b" <= char <= "\u180f"
    spacing = unicodedata.category(char) == "Zs" and char not in " \u3000"
    return not variation and not spacing


_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK = frozenset("\u00a0\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that are drawn as nothing, or as a space that is none."""
