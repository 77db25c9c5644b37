"""An expression as a row of tokens, each with its place in what was written. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from qingtuan.errors import ArgumentsRefused
from qingtuan.language import Words

LONGEST = 500
"""Characters of an expression."""
Sort = Literal["number", "name", "sign", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of an expression."""

    sort: Sort
    text: str
    place: int
    """Index of its first character."""
    value: Fraction = Fraction(0)


def wrong(place: int, words: Words, text: str = "") -> ArgumentsRefused:
    """What to raise for something at a place."""
    shown = f"「{text[:20]}」" if text else ""
    quoted = f" “{text[:20]}”" if text else ""
    return ArgumentsRefused(
        Words(f"第 {place + 1} 个字{shown}：{words.zh}", f"At character {place + 1}{quoted}: {words.en}")
    )


def tokens(expression: str) -> list[Token]:
    """The tokens of an expression, an `end` last.

    Raises:
        ArgumentsRefused: it is empty, too long, or has something in it that is none.
    """
    if len(expression) > LONGEST:
        raise ArgumentsRefused(_LONG)
    text = "".join(map(_plain, expression)).rstrip(" =?")
    if not text.strip():
        raise ArgumentsRefused(_EMPTY)
    found: list[Token] = []
    inside: list[bool] = []
    """For each open bracket, whether it is that of a function: there a comma parts its arguments."""
    place = 0
    while place < len(text):
        letter = text[place]
        if letter in _NOTHING:
            place += 1
            continue
        token = _number(text, place, grouped=not (inside and inside[-1])) or _other(text, place)
        if token is None:
            raise wrong(place, _UNKNOWN, expression[place])
        if token.text == "(":
            inside.append(bool(found) and found[-1].sort == "name" and found[-1].text not in CONSTANTS)
        elif token.text == ")" and inside:
            inside.pop()
        found.append(token)
        place += _length(text, token)
    return [*found, Token("end", "", len(expression))]


CONSTANTS = frozenset({"pi", "e", "p"})
"""Names that stand for a number; `p` is what π is read as."""


def _plain(letter: str) -> str:
    """One character for one: wide ones are made narrow, and signs that mean the same become the same."""
    if letter in _SAME:
        return _SAME[letter]
    narrow = unicodedata.normalize("NFKC", letter)
    narrow = narrow if len(narrow) == 1 else letter
    return _SAME.get(narrow, narrow)


def _number(text: str, place: int, *, grouped: bool) -> Token | None:
    """A number, with its Chinese units: 3万, 1.5亿, 3万5千."""
    pattern = _GROUPED if grouped else _DIGITS
    if (found := pattern.match(text, place)) is None:
        return None
    value = Fraction(found[0].replace(",", ""))
    end = found.end()
    spaced = end + (len(text[end:]) - len(text[end:].lstrip()))
    if spaced < len(text) and text[spaced] in _UNITS:
        value, end = _with_units(text, place, value, spaced)
    return Token("number", text[place:end], place, value)


def _with_units(text: str, place: int, digits: Fraction, end: int) -> tuple[Fraction, int]:
    """The whole of a number whose first digits and their end are known. Units must grow smaller: 3亿5千万 is
    3亿 and 5千万."""
    total, section, last = Fraction(0), Fraction(0), None
    while True:
        unit = 1
        while end < len(text) and text[end] in _UNITS:
            unit *= _UNITS[text[end]]
            end += 1
        if last is not None and unit >= last:
            raise wrong(place, _UNITS_WRONG, text[place:end])
        section = digits * unit
        total, last = total + section, unit
        found = _DIGITS.match(text, end)
        if unit == 1 or found is None:
            return total, end
        if found.end() >= len(text) or text[found.end()] not in _UNITS:
            # 3万5 can be 30005 or 35000.
            raise wrong(place, _UNITS_WRONG, text[place : found.end()])
        digits, end = Fraction(found[0]), found.end()


def _other(text: str, place: int) -> Token | None:
    if _TIMES.match(text, place):
        return Token("sign", "*", place)
    if found := _NAME.match(text, place):
        name = found[0].lower()
        if found[0] in ("x", "X"):
            return Token("sign", "*", place)
        return Token("name", name, place)
    for sign, meant in _SIGNS:
        if text.startswith(sign, place):
            return Token("sign", meant, place)
    return None


def _length(text: str, token: Token) -> int:
    if token.sort == "number":
        return len(token.text)
    if token.sort == "name":
        return len(token.text)
    if _TIMES.match(text, token.place):
        return 1
    if found := _NAME.match(text, token.place):
        return len(found[0])
    return next(len(sign) for sign, _ in _SIGNS if text.startswith(sign, token.place))


_SAME = {
    "×": "*", "✕": "*", "✖": "*", "·": "*", "∙": "*", "⋅": "*", "÷": "/", "∕": "/", "−": "-", "–": "-", "—": "-",
    "﹣": "-", "【": "(", "】": ")", "[": "(", "]": ")", "{": "(", "}": ")", "、": ",", "\t": " ", "\n": " ", "\r": " ",
    "π": "P", "∏": "P", "萬": "万", "億": "亿", "²": "²", "³": "³", "√": "√",
}  # fmt: skip
_NOTHING = frozenset(" ¥￥$€£元块")
"""What changes no number."""
_SIGNS = (
    ("乘以", "*"), ("除以", "/"), ("**", "^"), ("//", "//"), ("加", "+"), ("减", "-"), ("乘", "*"),
    *((sign, sign) for sign in "+-*/^()%!,°²³√"),
)  # fmt: skip
_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}
_DIGITS = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d{1,4}(?![a-z0-9]))?|\.\d+", re.ASCII | re.IGNORECASE)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|" + _DIGITS.pattern, re.ASCII | re.IGNORECASE)
_TIMES = re.compile(r"(?<!^0)(?<![^\d.]0)[xX](?=[\d(.√])", re.ASCII)
"""An x between numbers; 0x10 is no product."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,20}")

_LONG = Words(f"算式太长，最多 {LONGEST} 个字。", f"The expression is longer than {LONGEST} characters.")
_EMPTY = Words("算式是空的。", "The expression is empty.")
_UNKNOWN = Words("这不是算式里的东西。", "that is no part of an expression.")
_UNITS_WRONG = Words("这个数读不准，请写成数字。", "that number is not clear; write it in digits.")
