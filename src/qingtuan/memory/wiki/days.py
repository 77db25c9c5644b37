"""Days as people write them down: a day, or a month or a year of which nobody knows the day (2026-06, 2025)."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import Self

DAY = r"(?:(?<!\d)(?:19|20|21)\d\d(?:[-/.]\d{1,2}(?:[-/.]\d{1,2})?|年(?:\d{1,2}月(?:\d{1,2}[日号])?)?)?(?!\d))"
"""A pattern for one of them, without groups."""

_PARTS = re.compile(r"(\d{4})(?:年|[-/.年](\d{1,2})(?:月|[-/.月](\d{1,2})[日号]?)?)?")


class Rough(date):
    """The first or the last day of a month or of a year, where no more than that month or year is known. It is
    written as what is known, and compares as the day."""

    _written: str

    def __new__(cls, year: int, month: int, day: int, written: str = "") -> Self:
        """The day, written as `2026-06` or `2025`; a day that was reckoned from one is no rough one."""
        made = super().__new__(cls, year, month, day)
        made._written = written
        return made

    def isoformat(self) -> str:
        return self._written or super().isoformat()

    __str__ = isoformat


def first_of(text: str) -> date | None:
    """The day on which something begins that is said to begin then; None for what is no day, month or year."""
    found = _read(text)
    return found[0] if found else None


def last_of(text: str) -> date | None:
    """The last day of something that is said to end then; None for what is no day, month or year."""
    found = _read(text)
    return found[1] if found else None


def month(year: int, number: int) -> tuple[date, date]:
    """The first and the last day of a month."""
    return date(year, number, 1), date(year, number, monthrange(year, number)[1])


def rough(first: date, last: date) -> tuple[date, date]:
    """The two ends of a stretch of days, rough where it is exactly one month or one year."""
    if (first, last) == (date(first.year, 1, 1), date(first.year, 12, 31)):
        return _written(first, f"{first.year:04}"), _written(last, f"{first.year:04}")
    if (first, last) == month(first.year, first.month):
        return _written(first, f"{first:%Y-%m}"), _written(last, f"{first:%Y-%m}")
    return first, last


def _written(day: date, text: str) -> Rough:
    return Rough(day.year, day.month, day.day, text)


def _read(text: str) -> tuple[date, date] | None:
    found = _PARTS.fullmatch(text.strip())
    if not found:
        return None
    year, number, day = (int(part) if part else None for part in found.groups())
    assert year is not None
    try:
        if number is None:
            return rough(date(year, 1, 1), date(year, 12, 31))
        if day is None:
            return rough(*month(year, number))
        return date(year, number, day), date(year, number, day)
    except ValueError:  # monthrange has its own for a month 13, which is one of these
        return None
