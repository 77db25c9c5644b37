"""Markdown, and the check that what is to be written has words at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from qingtuan.language import Language, Words

_CHINESE = re.compile(r"[\u3400-\u9fff]")
_ENGLISH = re.compile(r"[A-Za-z]")
_CODE = re.compile(r"(`+[^`]+`+)")
_MARKUP = str.maketrans({"|": "\\|", "<": "&lt;", "*": "\\*"})


class NoWords(Exception):
    """Something belongs into the reference and nobody has said what it is."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} has no words in Chinese and English: write them where it is declared, and `make docs`"
        )


def say(words: Words, language: Language, what: str) -> str:
    """The words of `what` as the text of a cell or line.

    Raises:
        NoWords: one of the languages is missing, or is not that language.
    """
    if not _CHINESE.search(words.zh) or not _ENGLISH.search(words.en):
        raise NoWords(what)
    return plain(words.say(language))


def prose(words: Words, language: Language) -> str:
    """Paragraphs and lists that were broken into lines in the source, without those breaks: in Chinese they would show
    as blanks."""
    joint = "" if language == "zh" else " "
    return re.sub(r"(?<=\S)\n *(?!- |\n| )", joint, words.say(language).strip())


def plain(text: str) -> str:
    """Text whose characters mean themselves in Markdown; what stands in backticks stays as it is."""
    parts = _CODE.split(" ".join(text.split()))
    return "".join(
        part.replace("|", "\\|") if place % 2 else part.translate(_MARKUP) for place, part in enumerate(parts)
    )


def code(text: str) -> str:
    """Text as code, in a table, too."""
    return f"`{text.replace('|', chr(92) + '|')}`"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the cells are Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))


def bare(sentence: str) -> str:
    """A sentence without its full stop, for a heading."""
    return sentence.removesuffix("。").removesuffix(".")
