"""Words for days and stretches of time that people say of facts (上周起, 下个月, since 2020), resolved by code. Pure.

`qingtuan.dates` knows days and times; here come the weeks, months and years around the day on which something was
said, and the spelling out of all of them, so that 明天 does not stand in a belief for years.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo

from qingtuan.clock import day_of
from qingtuan.dates import mentions
from qingtuan.memory.wiki.bullets import CHINESE


@dataclass(frozen=True, slots=True)
class Period:
    """One expression of time in a text: `text[start:end]`, the first and the last day that it means."""

    start: int
    end: int
    first: date
    last: date
    relative: bool
    """Whether it means another day when read on another day."""
    written: str
    """How it would be written down for good."""


def periods(text: str, said_at: datetime, zone: tzinfo) -> tuple[Period, ...]:
    """The days, weeks, months and years that `text` names, in order; `said_at` is aware. Times of day alone, and
    what comes round again (每周三), are none."""
    said_on = day_of(said_at, zone)
    found = [*_days(text, said_at, zone), *_stretches(text, said_on)]
    kept: list[Period] = []
    for period in sorted(found, key=lambda one: (one.start, -one.end)):
        if not kept or period.start >= kept[-1].end:
            kept.append(period)
    return tuple(kept)


def spelled_out(text: str, said_at: datetime, zone: tzinfo, *, every: bool = False) -> str:
    """`text` with relative words for days as dates; with `every` also bare weekdays and days without a year, which
    in a habit mean all of them."""
    pieces: list[str] = []
    end = 0
    for period in periods(text, said_at, zone):
        if period.relative or every:
            pieces += (text[end : period.start], period.written)
            end = period.end
    return "".join((*pieces, text[end:]))


_RELATIVE = re.compile(
    r"大?[今明昨前后]|上|下|这|本|\d+ ?[天周日]|[一二两三四五六七八九十]+个?[天周星礼月]"
    r"|next|last|this|today|tonight|tomorrow|yesterday|day|the|in|an?\b|\w+ (?:day|week|month)",
    re.IGNORECASE,
)
_RECURRING = re.compile(r"每(?:个|逢|到)?\s*$|逢\s*$|\b(?:every|each|on)\s+$", re.IGNORECASE)


def _days(text: str, said_at: datetime, zone: tzinfo) -> Iterator[Period]:
    for mention in mentions(text, said_at, zone):
        if not mention.said_day or _RECURRING.search(text[: mention.start]):
            continue
        said = text[mention.start : mention.end]
        written = mention.day.isoformat()
        if mention.moment is not None:
            written = f"{mention.moment:%Y-%m-%d %H:%M}"
        relative = _RELATIVE.match(said.strip()) is not None
        yield Period(mention.start, mention.end, mention.day, mention.day, relative, written)


def _stretches(text: str, said_on: date) -> Iterator[Period]:
    for pattern, read in _RULES:
        for match in pattern.finditer(text):
            try:
                span = read(match, said_on)
            except (OverflowError, ValueError):
                continue  # the year 0, or 99999 years ago
            if span is not None:
                relative = pattern not in (_YEAR, _YEAR_MONTH)
                written = _written(span, match[0]) if relative else match[0]
                yield Period(match.start(), match.end(), *span, relative, written)


def _written(span: Span, said: str) -> str:
    first, last = span
    chinese = CHINESE.search(said)
    if first == last:
        return first.isoformat()
    if span == _year(first.year):
        return f"{first.year}年" if chinese else str(first.year)
    if span == _month(first.year, first.month):
        return f"{first.year}年{first.month}月" if chinese else f"{first:%Y-%m}"
    return f"{first.isoformat()}~{last.isoformat()}"


Span = tuple[date, date]

_SHIFT = {"上上": -2, "上": -1, "这": 0, "本": 0, "当": 0, "下": 1, "下下": 2, "last": -1, "this": 0, "next": 1}
_YEARS = {"前": -2, "去": -1, "今": 0, "明": 1, "后": 2}
_NUMBERS = {"一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10, "半": 0}
_NUMBERS |= {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10}


def _week_of(match: re.Match[str], said_on: date) -> Span:
    first = said_on - timedelta(days=said_on.weekday()) + timedelta(weeks=_SHIFT[match[1].lower()])
    return first, first + timedelta(days=6)


def _month_of(match: re.Match[str], said_on: date) -> Span:
    first, last = _shifted_month(said_on, _SHIFT[match[1].lower()])
    return (last, last) if match[2] else (first, last)


def _year_of(match: re.Match[str], said_on: date) -> Span:
    shift = _YEARS[match[1]] if match[1] else _SHIFT[match[3].lower()]
    first, last = _year(said_on.year + shift)
    return (last, last) if match[2] else (first, last)


def _end_of_this(match: re.Match[str], said_on: date) -> Span:
    last = (_year(said_on.year) if match[1] == "年" else _shifted_month(said_on, 0))[1]
    return last, last


def _ago(match: re.Match[str], said_on: date) -> Span | None:
    count = int(match[1]) if match[1].isdigit() else _NUMBERS.get(match[1].lower(), 0)
    unit = match[2].lower()
    if not count:
        return None
    if unit in ("天", "day"):
        day = said_on - timedelta(days=count)
        return day, day
    if unit in ("周", "星期", "礼拜", "week"):
        day = said_on - timedelta(weeks=count)
        return day - timedelta(days=day.weekday()), day - timedelta(days=day.weekday() - 6)
    return _shifted_month(said_on, -count) if unit in ("月", "month") else _year(said_on.year - count)


def _year_month(match: re.Match[str], _said_on: date) -> Span:
    return _month(int(match[1]), int(match[2]))


def _whole_year(match: re.Match[str], _said_on: date) -> Span:
    return _year(int(match[1] or match[2]))


def _shifted_month(said_on: date, months: int) -> Span:
    year, month = divmod(said_on.year * 12 + said_on.month - 1 + months, 12)
    return _month(year, month + 1)


def _month(year: int, month: int) -> Span:
    following = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), following - timedelta(days=1)


def _year(year: int) -> Span:
    return date(year, 1, 1), date(year, 12, 31)


_N = r"(\d{1,3}|[一二两三四五六七八九十])"
_EN = r"(\d{1,3}|an?|one|two|three|four|five|six|ten)"
_YEAR_MONTH = re.compile(r"(?<!\d)((?:19|20)\d\d)(?:年|[-/])(1[0-2]|0?[1-9])(?:月(?![\d一二三])份?|(?![\d/月-]))")
_YEAR = re.compile(
    r"(?<![\d.])((?:19|20)\d\d)年(?!\d)|\b(?:in|since|until|from)\s+((?:19|20)\d\d)\b(?![-/.]\d)", re.IGNORECASE
)

_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Span | None]], ...] = (
    (re.compile(r"(上上|下下|上|下|这|本)个?(?:周|星期|礼拜)(?![一二三四五六日天末\d])"), _week_of),
    (re.compile(r"\b(last|this|next)\s+week\b", re.IGNORECASE), _week_of),
    (re.compile(r"(上上|下下|上|下|这|本|当)个?月(底|末)?(?![\d一二三四五六七八九十])"), _month_of),
    (re.compile(r"\b(last|this|next)\s+month()\b", re.IGNORECASE), _month_of),
    (re.compile(r"([前去今明后])年(底|末)?(?![\d一二三四五六七八九十]+月)()"), _year_of),
    (re.compile(r"\b()()(last|this|next)\s+year\b", re.IGNORECASE), _year_of),
    (re.compile(r"(?<![每逢前去今明后个上下这本当])(年|月)[底末]"), _end_of_this),
    (re.compile(rf"{_N}个?(天|周|星期|礼拜|月|年)(?:之|以)?前"), _ago),
    (re.compile(rf"\b{_EN}\s+(day|week|month|year)s?\s+ago\b", re.IGNORECASE), _ago),
    (_YEAR_MONTH, _year_month),
    (_YEAR, _whole_year),
)
