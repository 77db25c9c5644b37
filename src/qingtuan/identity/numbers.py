"""Finds identity-card, bank-card and mobile numbers among the digits of a text. Pure, in linear time.

Digits are read in groups: `6222 0212 3456 7890 128` is five groups of one number. A number is one whole group, or
neighbouring groups that are set as people set such numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal

NumberKind = Literal["id_card", "bank_card", "phone"]

_GROUP = re.compile(r"(?<![A-Za-z0-9])(?:tel|phone|mobile|card|no|id)?(\d+[Xx]?)(?![A-Za-z0-9])", re.IGNORECASE)
_SEPARATOR = re.compile(r"[ \-.·_‐‑‒–—]{1,3}")
_UUID = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9A-Za-z])", re.IGNORECASE)
_SHORTEST, _LONGEST = 11, 19
"""Digits of the numbers that are looked for: from a mobile number to a card (ISO/IEC 7812)."""


@dataclass(frozen=True, slots=True)
class _Group:
    start: int
    stop: int
    digits: str
    separator: str | None
    """What stands between this group and the next of the same run; None at the end of a run."""


def number_spans(text: str) -> Iterator[tuple[int, int, NumberKind]]:
    """Start, end and kind of each number in `text`; they do not overlap."""
    for run in _runs(_UUID.sub("u" * 36, text)):
        place = 0
        while place < len(run):
            size, kind = _number_at(run, place)
            if kind:
                yield run[place].start, run[place + size - 1].stop, kind
            place += size


def _runs(text: str) -> Iterator[list[_Group]]:
    """Groups that follow one another with nothing but a separator between."""
    run: list[_Group] = []
    matches = list(_GROUP.finditer(text))
    for index, found in enumerate(matches):
        start, stop = found.span(1)
        between = _SEPARATOR.match(text, stop)
        joined = index + 1 < len(matches) and between is not None and between.end() == matches[index + 1].start(1)
        run.append(_Group(start, stop, found[1].upper(), between[0].strip() if joined and between else None))
        if not joined:
            yield run
            run = []


def _number_at(run: list[_Group], place: int) -> tuple[int, NumberKind | None]:
    """How many groups from `place` on make a number, and of which kind; (1, None) if they make none."""
    digits = ""
    best: tuple[int, NumberKind | None] = (1, None)
    for count, group in enumerate(run[place : place + _LONGEST], start=1):
        digits += group.digits
        if len(digits) > _LONGEST or "X" in digits[:-1]:
            break
        kind = _kind(digits) if len(digits) >= _SHORTEST else None
        if kind and _is_set(run, place, count, kind):
            best = count, kind
        if len(group.digits) == 1 and len(run) > _LONGEST:
            break  # a single digit inside a number is set like that throughout, and this run is longer than any
    return best


def _is_set(run: list[_Group], place: int, count: int, kind: NumberKind) -> bool:
    """Whether these groups are set as one number of this kind is, and are not several numbers side by side."""
    groups = run[place : place + count]
    decimal = len(run) == 2 and run[0].separator == "."
    if decimal and kind != "id_card" and (kind == "bank_card" or run[0].digits == "0"):
        return False
    even = len({group.separator for group in groups[:-1]}) <= 1
    if count == 1 or (even and count == len(run)):
        return True
    sizes = tuple(len(group.digits) for group in groups)
    match kind:
        case "phone":
            return sizes in _PHONE_SETTINGS or (sizes[0] in (2, 4) and sizes[1:] in (*_PHONE_SETTINGS, (11,)))
        case "id_card":
            return sizes in _ID_SETTINGS or all(size >= 4 for size in sizes[:-1])
        case "bank_card":
            return even and all(size >= 3 for size in sizes[:-1])


_ID_SETTINGS = ((6, 4, 2, 2, 4), (3, 3, 8, 4), (3, 3, 4, 4, 4), (2, 2, 2, 8, 4), (2, 2, 2, 4, 4, 4))
_PHONE_SETTINGS = ((3, 4, 4), (3, 8), (7, 4), (4, 4, 3), (4, 3, 4), (3, 3, 5))


def _kind(digits: str) -> NumberKind | None:
    if is_id_card(digits):
        return "id_card"
    if _is_phone(digits):
        return "phone"
    return "bank_card" if is_bank_card(digits) else None


_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_CHECK_DIGITS = "10X98765432"


def is_id_card(digits: str) -> bool:
    """Whether 18 characters are a resident identity number: region, date of birth, check digit (GB 11643-1999)."""
    if len(digits) != 18 or not digits[:17].isdecimal() or digits[0] in "09":
        return False
    try:
        born = date(int(digits[6:10]), int(digits[10:12]), int(digits[12:14]))
    except ValueError:
        return False
    total = sum(int(digit) * weight for digit, weight in zip(digits, _WEIGHTS, strict=False))
    return 1850 <= born.year <= 2150 and digits[17] == _CHECK_DIGITS[total % 11]


_CARD = re.compile(
    r"4\d{12,18}|5\d{12,18}|6\d{12,18}|81\d{14,17}|9\d{15,18}|3[4-7]\d{13}|3[0689]\d{12}|35\d{14}|2[2-7]\d{14}"
)
"""First digits that issuers really have, by length: without them every tenth long number would be a card."""


def is_bank_card(digits: str) -> bool:
    """Whether 13 to 19 digits are a card number: an issuer's first digits and the Luhn check (ISO/IEC 7812)."""
    return bool(_CARD.fullmatch(digits)) and len(set(digits)) > 1 and _luhn(digits)


def _luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


_MOBILE = re.compile(r"(?:86|0086)?1[3-9]\d{9}")


def _is_phone(digits: str) -> bool:
    return bool(_MOBILE.fullmatch(digits))
