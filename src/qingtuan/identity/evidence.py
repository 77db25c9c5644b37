"""Whether the values of a call stand in the speaker's own message, so that no material put them there. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from qingtuan.identity.redaction import has_invisible, readable

_URL = re.compile(r"(?:[a-z][a-z0-9+.-]{1,20}://|www\.)[^\s<>\"'“”‘’「」『』《》（）【】，。；、！？]+", re.IGNORECASE)
_TRAILING = ".,;:!?)]}'\""
_LONGEST_ADDRESS = 4096
_OPENING = {")": "(", "]": "[", "}": "{"}
_PLACE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,20}://)?([^/?#\\]*@)?([^/?#\\]*)")
"""The scheme of an address, who asks, and the host with its port."""
_NEGATION = re.compile(r"(?:不|不要|别|勿|没|没有|无须|不用|\bnot|n't|\bnever|\bno|\bwithout)\s*$", re.IGNORECASE)
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_UNITS = {"十": 10, "百": 100, "千": 1000}
_CHINESE_NUMBER = re.compile(r"[零〇一二两三四五六七八九十百千万]{1,20}")


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a call's arguments: where it stands (`message`, `filter.area`), and its text."""

    path: str
    text: str


def values_of(arguments: Mapping[str, Any], *, without: Collection[str] = ()) -> Iterator[Value]:
    """Every value of the arguments, one by one, and every key below the top (those are data, too).

    The arguments named in `without` are left out. Nothing (null, an empty text, list or object) is no value.
    """
    for key, value in arguments.items():
        if key not in without:
            yield from _flatten(key, value)


def _flatten(path: str, value: object) -> Iterator[Value]:
    stack: list[tuple[str, object]] = [(path, value)]
    while stack:
        where, item = stack.pop()
        if isinstance(item, Mapping):
            for key, below in item.items():
                yield Value(f"{where}.{key}", str(key))
                stack.append((f"{where}.{key}", below))
        elif isinstance(item, (list, tuple)):
            stack.extend((where, below) for below in item)
        elif isinstance(item, bool):
            yield Value(where, "true" if item else "false")
        elif isinstance(item, float) and item.is_integer():
            yield Value(where, str(int(item)))
        elif item is not None and str(item).strip():
            yield Value(where, str(item))


def evidence(
    arguments: Mapping[str, Any], own_words: str, resolved: Iterable[str] = (), labels: Collection[str] = ()
) -> tuple[str, ...]:
    """The arguments that the speaker's own message of this turn does not account for; empty when all are.

    A value counts when it stands in `own_words` (letter case, width and spaces aside; a number or a Latin word as
    a whole; not right behind a negation that the value leaves out), or when it equals one of `resolved`: what code,
    never a model, made from those words, such as a date. Arguments named in `labels` (kind, predicate, topic,
    subject) need no evidence.
    """
    words = OwnWords(own_words)
    made = {_canonical(text) for text in resolved} | chinese_numbers(own_words)
    missing = (
        value.path
        for value in values_of(arguments, without=labels)
        if _canonical(value.text) not in made and not words.hold(value.text)
    )
    return tuple(dict.fromkeys(missing))


def _canonical(text: str) -> str:
    """One spelling for a moment (`2026-12-01T09:00`, with seconds, with a space), else the text as compared."""
    if _MOMENT.fullmatch(text.strip()):
        try:
            return datetime.fromisoformat(text.strip()).isoformat()
        except ValueError:
            pass
    return squeezed(text)


def chinese_numbers(text: str) -> set[str]:
    """The numbers that a text writes in Chinese characters, in digits: 三十 and 两百零五 give 30 and 205."""
    return {str(_number(found[0])) for found in _CHINESE_NUMBER.finditer(text)}


def _number(characters: str) -> int:
    total, section, digit = 0, 0, 0
    for character in characters:
        if character in _DIGITS:
            # Characters read one by one (二零二六) are a row of digits.
            digit = digit * 10 + _DIGITS[character]
        elif character == "万":
            total, section, digit = (total + section + digit) * 10_000, 0, 0
        else:
            section, digit = section + (digit or 1) * _UNITS[character], 0
    return total + section + digit


def spoken(text: str) -> tuple[str, tuple[str, ...]]:
    """A message's text in two: the speaker's own words, and the fenced and quoted blocks in it, which are material
    (identity.md, What is trusted). An open fence reaches to the end."""
    own: list[str] = []
    blocks: list[list[str]] = []
    fence, inside = "", False
    for line in text.split("\n"):
        opened = _FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            else:
                blocks[-1].append(line)
        elif opened:
            fence, inside = opened[1], False
            blocks.append([])
        elif line.lstrip().startswith((">", "＞")):
            if not inside:
                blocks.append([])
            blocks[-1].append(line.lstrip()[1:].removeprefix(" "))
            inside = True
        else:
            own.append(line)
            inside = False
    return "\n".join(own).strip(), tuple("\n".join(block) for block in blocks)


def urls_in(text: str) -> frozenset[str]:
    """The addresses in a text, as they stand there; without the punctuation of the sentence around them."""
    return frozenset(url.rstrip(_TRAILING) for url in _URL.findall(text))


def addresses_in(text: str) -> frozenset[str]:
    """Every way to read where the addresses in a text end, in the form of `same_address`: as written, without the
    punctuation behind them, and with the brackets that were opened within."""
    found = _URL.findall(text)
    return frozenset(same_address(url) for raw in found for url in (raw, raw.rstrip(_TRAILING), _balanced(raw)))


def _balanced(url: str) -> str:
    while len(url) < _LONGEST_ADDRESS and url and url[-1] in _TRAILING:
        opening = _OPENING.get(url[-1])
        if opening is not None and url.count(opening) >= url.count(url[-1]):
            break
        url = url[:-1]
    return url


def addresses_of(value: Value) -> tuple[str, ...]:
    """The addresses in a value of a call, to the letter: what a sentence would end with may carry something there. An
    argument named `url` is one as a whole, even without a scheme."""
    if value.path == "url":
        return (value.text.strip().strip("<>"),)
    return tuple(_URL.findall(value.text))


def beside_addresses(value: Value) -> str:
    """What a value of a call holds besides `addresses_of`."""
    return "" if value.path == "url" else without_urls(value.text)


def same_address(url: str) -> str:
    """An address for comparing. People leave out `https://` and a slash at the end, and the letter case of a host
    means nothing; everything else counts."""
    found = _PLACE.match(url)
    assert found is not None  # it matches everything
    scheme, user, host = (found[1] or "").lower(), found[2] or "", found[3].lower()
    kept = "" if scheme in ("http://", "https://") else scheme
    return f"{kept}{user}{host}{url[found.end() :]}".removesuffix("/")


def typed(url: str, text: str) -> bool:
    """Whether somebody wrote an address without its scheme: whole, not negated, and to the letter."""
    sought = same_address(url)
    found = _PLACE.match(sought)
    if not sought or found is None or not OwnWords(text).hold(sought):
        return False
    host, behind = re.escape(sought[: found.end()]), re.escape(sought[found.end() :])
    return re.search(rf"(?<![A-Za-z0-9])(?i:{host}){behind}(?![A-Za-z0-9])", text) is not None


def without_urls(text: str) -> str:
    """The text with its addresses taken out."""
    return _URL.sub(" ", text).strip()


def squeezed(text: str) -> str:
    """`text` for comparing: as a person reads it, in one letter case, without spaces."""
    plain, _ = readable(text)
    return "".join(plain.casefold().split())


class OwnWords:
    """A text in which values are looked up."""

    def __init__(self, text: str) -> None:
        plain, _ = readable(text)
        self._text = text
        self._spaced = plain.casefold()
        self._letters: list[str] = []
        self._places: list[int] = []
        for place, letter in enumerate(self._spaced):
            if not letter.isspace():
                self._letters.append(letter)
                self._places.append(place)
        self._squeezed = "".join(self._letters)

    def hold(self, value: str) -> bool:
        """Whether `value` stands here, whole, and not negated.

        Invisible characters could carry anything: a value that has some must stand here letter by letter.
        """
        if has_invisible(value):
            return value in self._text
        return any(not self._negated(start) for start in self._places_of(value))

    def mention(self, value: str) -> bool:
        """Whether `value` stands here, whole, negated or not."""
        return any(True for _ in self._places_of(value))

    def _places_of(self, value: str) -> Iterator[int]:
        sought = squeezed(value)
        start = self._squeezed.find(sought) if sought else -1
        while start >= 0:
            if self._whole(start, start + len(sought)):
                yield start
            start = self._squeezed.find(sought, start + 1)

    def _whole(self, start: int, stop: int) -> bool:
        """No number and no Latin word is cut at either end: 3 is not in 30, and not "art" in "start"."""
        return not (self._runs_on(start - 1, start) or self._runs_on(stop - 1, stop))

    def _runs_on(self, left: int, right: int) -> bool:
        if left < 0 or right >= len(self._squeezed) or self._places[right] - self._places[left] > 1:
            return False
        one, other = self._letters[left], self._letters[right]
        return _latin(one) and _latin(other)

    def _negated(self, start: int) -> bool:
        place = self._places[start]
        return bool(_NEGATION.search(self._spaced[max(0, place - 12) : place]))


def _latin(letter: str) -> bool:
    return letter.isascii() and letter.isalnum()
