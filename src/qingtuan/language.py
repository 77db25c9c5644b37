"""Sentences for people, in the two languages of the product, side by side where they are used."""

from __future__ import annotations

import locale
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


def system_language() -> Language:
    """The language of the machine's locale: Chinese for any `zh*` locale, else English."""
    name, _ = locale.getlocale()
    return "zh" if (name or "").lower().startswith(("zh", "chinese")) else "en"
