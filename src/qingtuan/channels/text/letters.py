"""Text letter by letter: what must not reach a screen, and where it may be cut."""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff]"
)
"""Control characters, and those that turn the direction of what stands behind them: a text could show another."""
_HALF = re.compile("[\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?|[\x85\u2028\u2029]")
_MARK = (
    "\u0300-\u036f\u0483-\u0489\u0610-\u061a\u064b-\u065f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f\U000e0020-\U000e007f\U000e0100-\U000e01ef"
)
MOST_MARKS = 8
"""Marks on one letter. No language needs more; a tower of them covers the lines around it."""
_TOWER = re.compile(f"([{_MARK}]{{{MOST_MARKS}}})[{_MARK}]+")
_JOINER = "\u200d"
_SKIN = range(0x1F3FB, 0x1F400)
_FLAG = range(0x1F1E6, 0x1F200)
_TAGS = range(0xE0020, 0xE0080)
_JAMO = range(0x1100, 0x1200)
_SYLLABLE = range(0xAC00, 0xD7A4)


def clean(text: str) -> str:
    """The text without what nobody sees or what disturbs others, and with one kind of line end."""
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_ENDS.sub("\n", text)
    return _TOWER.sub(r"\1", _HALF.sub("\ufffd", _UNSEEN.sub("", text)))


def between(text: str, at: int) -> bool:
    """Whether `at` lies between two characters as people see them, so that the text may be cut there."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return (before, after) != ("\r", "\n")
    code = ord(after)
    if after == _JOINER or before == _JOINER or code in _SKIN or code in _TAGS:
        return False
    if unicodedata.category(after) in ("Mn", "Me", "Mc"):
        return False
    if code in _FLAG and ord(before) in _FLAG:
        return _flags_before(text, at) % 2 == 0
    return not (code in _JAMO and (ord(before) in _JAMO or ord(before) in _SYLLABLE))


def _flags_before(text: str, at: int) -> int:
    start = at
    while start > 0 and ord(text[start - 1]) in _FLAG:
        start -= 1
    return at - start


def utf16(text: str) -> int:
    """The length of a text in UTF-16 units, as Telegram counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def columns(text: str) -> int:
    """How many columns a text takes where each Latin letter takes one."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(letter) for letter in text)


def _columns_of(letter: str) -> int:
    if letter == _JOINER or unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in ("W", "F") else 1
