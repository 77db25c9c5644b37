"""When something in a file was written: from names, front matter, headings and lines. Pure.

A date may be a month, a week or a year: it becomes the stretch of days that it means, and nobody
pretends to know the day. What lies ahead is no date of writing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from qingtuan.memory.importing.found import When

_YEAR, _MONTH, _DAY = r"(?:19|20)\d\d", r"(?:0?[1-9]|1[0-2])", r"(?:0?[1-9]|[12]\d|3[01])"
_DATE = rf"(?:{_YEAR}年(?:{_MONTH}月(?:{_DAY}[日号])?)?|{_YEAR}(?:[-./_]{_MONTH}(?:[-./_]{_DAY})?)?)"
_TIME = r"(?:[T ]\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z| ?[+-]\d{2}:?\d{2})?)?"
_WHOLE = re.compile(rf"({_DATE}){_TIME}")
_COMPACT = re.compile(r"(?<!\d)((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?!\d)")
_WEEK = re.compile(r"(?<!\d)((?:19|20)\d\d)-?W([0-5]\d)(?!\d)", re.IGNORECASE)
_IN_NAME = re.compile(rf"(?<![\d.]){_DATE}(?!\d)")
_BRACKETED = rf"[\[【(（]({_DATE}{_TIME})[\]】)）]"
_AT_BEGINNING = re.compile(rf"(?:{_BRACKETED}\s*[:：.\-–—]?|({_DATE}{_TIME})\s*(?:[:：]|[-–—](?=\s)))\s*")
_AT_END = re.compile(rf"\s*{_BRACKETED}\s*$")
_NUMBERS = re.compile(r"\d+")
_CREATED = ("date", "created", "created_at", "create_time", "day", "日期", "创建", "创建时间", "创建日期")
_UPDATED = ("updated", "updated_at", "modified", "last_modified", "lastmod", "更新", "更新时间", "修改时间")


def named(text: str) -> When | None:
    """The days that a whole text means: `2026-06-20`, `20260620`, `2026-06`, `2025`, `2026年6月`, `2026-W25`, with or
    without a time of day behind; None for any other text."""
    text = text.strip()
    if week := _WEEK.fullmatch(text):
        return _week(int(week[1]), int(week[2]))
    if compact := _COMPACT.fullmatch(text):
        return _days([int(group) for group in compact.groups()])
    found = _WHOLE.fullmatch(text)
    return _days([int(number) for number in _NUMBERS.findall(found[1])]) if found else None


def in_path(path: str) -> When | None:
    """The days that the name of a file means, else those of the folders that it lies in (`2026/06/20.md`)."""
    *folders, name = path.split("/")
    stem = name.rpartition(".")[0] or name
    for pattern in (_IN_NAME, _COMPACT, _WEEK):
        for found in pattern.finditer(stem):
            # A bare year counts only where it is the whole name: `Windows 2000.md` has no date.
            if (found[0] == stem or not found[0].isdigit() or pattern is _COMPACT) and (when := named(found[0])):
                return when
    parts = [part for part in (*folders, stem) if part.isdigit()]
    return named("-".join(parts)) if len(parts) in (2, 3) and len(parts[0]) == 4 else None


def in_front_matter(front: Mapping[str, Any], zone: tzinfo) -> When | None:
    """Between which days a file was written, as its front matter says."""
    fields = {str(key).strip().casefold(): value for key, value in front.items()}
    created = next((when for key in _CREATED if (when := _value(fields.get(key), zone))), None)
    updated = next((when for key in _UPDATED if (when := _value(fields.get(key), zone))), None)
    if created and updated and created.first and updated.last >= created.last:
        return When(created.first, updated.last)
    return created or (When(None, updated.last) if updated else None)


def at_line(text: str) -> tuple[When | None, str]:
    """The date that a line begins or ends with, and the line without it."""
    if found := _AT_BEGINNING.match(text):
        rest = text[found.end() :].strip()
        if rest and (when := named(found[1] or found[2])):
            return when, rest
    if found := _AT_END.search(text):
        rest = text[: found.start()].strip()
        if rest and (when := named(found[1])):
            return when, rest
    return None, text


def written(when: When | None, other: When, today: date) -> When:
    """`when` as a time of writing: what is not known yet is cut off, and what lies ahead is none, then `other`."""
    if when is None or (when.first or when.last) > today:
        return (
            other if other.last <= today else When(other.first if other.first and other.first <= today else None, today)
        )
    return When(when.first, min(when.last, today))


def of_moment(moment: datetime, zone: tzinfo) -> When:
    """The day of a moment."""
    day = moment.astimezone(zone).date()
    return When(day, day)


def moment_of(seconds: object) -> datetime | None:
    """The moment that a program wrote as seconds since 1970; None for what is none."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < 4_102_444_800:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _value(value: Any, zone: tzinfo) -> When | None:
    if isinstance(value, datetime):
        return of_moment(value, zone) if value.tzinfo else When(value.date(), value.date())
    if isinstance(value, date):
        return When(value, value)
    if isinstance(value, str):
        return named(value)
    if isinstance(value, int) and not isinstance(value, bool) and 1900 <= value < 2100:
        return When(date(value, 1, 1), date(value, 12, 31))
    moment = moment_of(value) or (moment_of(value / 1000) if isinstance(value, int) and value > 10**11 else None)
    return of_moment(moment, zone) if moment else None


def _days(numbers: Sequence[int]) -> When | None:
    """The stretch that year, month and day mean, as many as there are."""
    year, *rest = numbers
    try:
        first = date(year, *[*rest, 1, 1][:2])
    except ValueError:
        return None  # the 31st of June
    if len(numbers) == 3:
        return When(first, first)
    return When(first, _end_of_month(first) if rest else date(year, 12, 31))


def _end_of_month(first: date) -> date:
    return (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


def _week(year: int, week: int) -> When | None:
    try:
        first = date.fromisocalendar(year, week, 1)
    except ValueError:
        return None
    return When(first, first + timedelta(days=6))
