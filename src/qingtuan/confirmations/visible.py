"""Values as a person must see them before saying yes: nothing hidden, nothing that looks like something else. Pure.

A question holds text that a model wrote, perhaps talked into it by a page. So it must not be able to hide a
part of itself, turn the reading direction, pass for our own sentence, or become a link or a mention.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from qingtuan.language import Language, Words, seen
from qingtuan.storage.files import content_hash
from qingtuan.tools.strict_json import canonical

MAX_VALUE = 500
"""Characters of one value that are shown whole; of a longer one the head, the tail, the length and the hash."""
_HEAD, _TAIL = 200, 100
_MAX_PLAIN = 24


def value_text(value: Any) -> str:
    """A JSON value as text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else canonical(value)


def over_long(text: str) -> bool:
    """Whether a value is too long to be shown whole."""
    return len(text) > MAX_VALUE


def shown(text: str, language: Language, *, limit: int = MAX_VALUE) -> str:
    """A value in quotation marks; one of more than `limit` characters as head, tail, length and hash."""
    if len(text) <= limit:
        return quoted(text, language)
    cut = _CUT.say(language).format(length=len(text), hash=content_hash(text.encode())[:16])
    return f"{quoted(text[:_HEAD], language)}{cut}{quoted(text[-_TAIL:], language)}"


MAX_LINES, MAX_BLOCK = 200, 6_000
"""Lines and characters of a text that is shown line by line, whole; of a longer one the first and the last."""


def long_block(text: str) -> bool:
    """Whether a text is too long to be shown whole line by line."""
    return len(text) > MAX_BLOCK or text.count("\n") >= MAX_LINES


def block(text: str, language: Language) -> str:
    """A text line by line, each with its number before it, so that none can pass for a sentence of ours. Of one that is
    too long the head, the tail, the length and the hash."""
    rows = [f"{number:>3}│ {escaped(line)}" for number, line in enumerate(text.rstrip("\n").split("\n"), 1)]
    if long_block(text):
        cut = _CUT.say(language).format(length=len(text), hash=content_hash(text.encode())[:16])
        rows = [*_within(rows[:_HEAD_LINES]), cut, *reversed(_within(rows[-_TAIL_LINES:][::-1]))]
    inside = "\n".join(rows)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", inside)), default=0))
    return f"{fence}\n{inside}\n{fence}"


def _within(rows: list[str]) -> list[str]:
    """As many of the first rows as are read, each cut where it is endless."""
    left, kept = _MOST_OF_END, []
    for row in rows:
        kept.append(row if len(row) <= left else f"{row[:left]}…")
        left -= len(row)
        if left <= 0:
            break
    return kept


_HEAD_LINES, _TAIL_LINES, _MOST_OF_END = 60, 30, 2_000


def shown_in_sentence(text: str, language: Language) -> str:
    """A value within a sentence: bare if it is one plain word, a date or a time, else as `shown`.

    A bare value has no space and no mark, so that it cannot go on with a sentence of its own.
    """
    if len(text) <= _MAX_PLAIN and _PLAIN.fullmatch(text) and escaped(text) == text:
        return text
    return shown(text, language)


def shown_name(name: str, language: Language) -> str:
    """The name of an argument or tool: bare if it is an identifier."""
    return name if _IDENTIFIER.fullmatch(name) else shown(name, language)


_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*")
_CUT = Words(
    "……（共 {length} 字，SHA-256 {hash}，中间没有显示）……",
    " … ({length} characters, SHA-256 {hash}, middle not shown) … ",
)
_PLAIN = re.compile(r"[^\W_]+(?:[:-][^\W_]+|(?<=[0-9])\.[0-9]+)*")
_QUOTES: Mapping[Language, tuple[str, str]] = {"zh": ("「", "」"), "en": ("“", "”")}


def quoted(text: str, language: Language) -> str:
    """A value in quotation marks, in a Markdown code span: no markup, mention or link in it takes effect.

    Quotation marks within it are preceded by a backslash, so that it cannot end its own quotation.
    """
    left, right = _QUOTES[language]
    inside = escaped(with_plain_hosts(text))
    for mark in (left, right):
        inside = inside.replace(mark, f"\\{mark}")
    if not inside:
        return f"{left}{right}"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", inside)), default=0))
    # A code span takes one space off each side where both have one; a backtick must not touch the fence.
    pad = " " if inside[0] in "` " or inside[-1] in "` " else ""
    return f"{left}{fence}{pad}{inside}{pad}{fence}{right}"


def escaped(text: str) -> str:
    """`text` on one line, with every character that cannot be seen written as `\\u{…}`; a new line as ⏎."""
    text = text.replace("\r\n", "\n")
    return "".join("⏎" if char == "\n" else char if seen(char) else f"\\u{{{ord(char):X}}}" for char in text)


# Hosts

# Chinese marks end a host where prose goes on behind it, but for the full stops that browsers take for dots.
_IN_URL = re.compile(r"(?<=://)(?P<user>[^\s/?#\\]*@)?(?P<host>[^\s/?#\\@，、；：！？（）「」『』《》“”]+)")
_CJK = "\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_BARE = re.compile(rf"(?:[^\W_{_CJK}]|-)+(?:\.(?:[^\W_{_CJK}]|-)+)+")
_HONEST_LABEL = re.compile(rf"[\x21-\x7e]*|[{_CJK}0-9-]+")
_DOTS = re.compile(r"[.\u3002\uff0e\uff61]")


def with_plain_hosts(text: str) -> str:
    """`text` with each host that mixes scripts, or that only looks Latin, in punycode.

    A label stays readable if it is ASCII or wholly Chinese, Japanese or Korean; names without `://` before
    them are looked at, too, where they are no Chinese prose.
    """
    if text.isascii():
        return text
    text = _IN_URL.sub(lambda found: (found["user"] or "") + _plain_host(found["host"]), text)
    return _BARE.sub(lambda found: _plain_host(found[0]), text)


def _plain_host(host: str) -> str:
    labels = _DOTS.split(host)
    if all(_HONEST_LABEL.fullmatch(label) for label in labels):
        return host
    return ".".join(label if label.isascii() else _punycode(label) for label in labels)


def _punycode(label: str) -> str:
    folded = unicodedata.normalize("NFKC", label).casefold()
    return f"xn--{folded.encode('punycode').decode()}" if not folded.isascii() else folded
