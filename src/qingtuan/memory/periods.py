"""Words for days and stretches of time that people say of facts (上周起, 下个月, since 2020), resolved by code. Pure.

`qingtuan.dates` knows days and times; here come the weeks, months and years around the day on which something was
said, and the spelling out of all of them, so that 明天 does not stand in a belief for years. Of a month or a day that
is named without its year (六月, June 20) the words around it tell which one is meant: since June the last one, until
June the next one, and what has happened is not ahead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from typing import Literal, cast

from qingtuan.clock import day_of
from qingtuan.dates import mentions
from qingtuan.memory.wiki.bullets import CHINESE
from qingtuan.memory.wiki.days import month as _month
from qingtuan.memory.wiki.days import rough


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
_RECURRING = re.compile(r"每(?:个|逢|到)?\s*$|逢\s*$|\b(?:every|each)\s+$", re.IGNORECASE)
_ON_A_WEEKDAY = re.compile(r"\bon\s+\w+day$", re.IGNORECASE)
"""On Monday: as often as not, on every Monday."""


def _days(text: str, said_at: datetime, zone: tzinfo) -> Iterator[Period]:
    for mention in mentions(text, said_at, zone):
        if not mention.said_day or _RECURRING.search(text[: mention.start]):
            continue
        if _ON_A_WEEKDAY.search(text[: mention.end]):
            continue
        said = text[mention.start : mention.end]
        day, moment = mention.day, mention.moment
        if _NO_YEAR.match(said.strip()):
            day = _meant(day, day_of(said_at, zone), _when(text, mention.start, mention.end))
            moment = moment and moment.replace(year=day.year, month=day.month, day=day.day)
        written = f"{moment:%Y-%m-%d %H:%M}" if moment is not None else day.isoformat()
        relative = _RELATIVE.match(said.strip()) is not None
        yield Period(mention.start, mention.end, day, day, relative, written)


_NO_YEAR = re.compile(
    r"(?:\d{1,2}|[一二三四五六七八九十]{1,2})月(?!\d{4})(?:\d|[一二三四五六七八九十])"
    r"|(?:\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
    r"(?:\s+\d{1,2}(?:st|nd|rd|th)?)?(?!.*\b\d{4}\b)",
    re.IGNORECASE,
)
"""A month, perhaps with a day, without a year."""


_SOON = timedelta(days=62)
"""What is said to begin in a month that is further ahead began in that of this year or the last."""

_Direction = Literal["past", "coming", "begins", "happened", "open"]
_BEFORE_PAST = re.compile(r"(?:自从?|\bsince|\blast|\bback in)\s*$", re.IGNORECASE)
_BEFORE_COMING = re.compile(r"(?:到|至|\b(?:until|till|til|by|before|through|next|coming))\s*$", re.IGNORECASE)
_AFTER_PAST = re.compile(r"的时候|那时|那会儿?|那阵子?|当时|以来")
_AFTER_COMING = re.compile(r"\s*(?:为?止|[之以]?前|再(?!次)|才)")
_HAPPENED = re.compile(
    r"(?<![忘为除算])了(?!解)|过(?!期|敏)|曾|当时"
    r"|\b(?:was|were|had|did|used to|been|began|left|got|went|bought|quit|\w{3,}ed)\b",
    re.IGNORECASE,
)
_TO_COME = re.compile(
    r"将|[会要](?!是)|准备|打算|计划|\b(?:will|going to|plan(?:ning)? to|shall|gonna)\b|['’]ll\b", re.IGNORECASE
)
_BEGINS = re.compile(r"\s*份?\s*(?:起|开始)")
_CLAUSE = re.compile(r"[，,。；;！!？?\n]")


def _when(text: str, start: int, end: int) -> _Direction:
    """What the words around a month or a day without a year tell of which year it is."""
    before, after = text[:start], text[end:]
    if _BEFORE_PAST.search(before) or _AFTER_PAST.match(after):
        return "past"
    if _BEFORE_COMING.search(before) or _AFTER_COMING.match(after):
        return "coming"
    sentence = _CLAUSE.split(before)[-1] + "".join(_CLAUSE.split(after)[:2])
    if _TO_COME.search(sentence):
        return "coming"
    if _BEGINS.match(after):
        return "begins"
    return "happened" if _HAPPENED.search(sentence) else "open"


def _meant(day: date, today: date, when: _Direction) -> date:
    """Of the days without a year that `day` is the next of the one that is meant: what has happened is the nearest."""
    years = (day.year - back for back in range(1, 9))
    last = next((found for year in years if (found := _in_year(day, year)) is not None), day)
    if when in ("coming", "open") or day <= today:
        return day
    return last if when == "past" or today - last < day - today else day


def _in_year(day: date, year: int) -> date | None:
    try:
        return day.replace(year=year)
    except ValueError:
        return None  # 29 February


def _stretches(text: str, said_on: date) -> Iterator[Period]:
    for pattern, read in _RULES:
        for match in pattern.finditer(text):
            try:
                span = read(match, said_on)
            except (OverflowError, ValueError):
                continue  # the year 0, or 99999 years ago
            if span is not None:
                relative = pattern not in _ABSOLUTE
                written = _written(span, match[0]) if relative else match[0]
                yield Period(match.start(), match.end(), *rough(*span), relative, written)


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
    return _part(_year(said_on.year) if match[1] == "年" else _shifted_month(said_on, 0), match[2])


def _part(span: Span, name: str | None) -> Span:
    """The part of a month or a year that has a name; all of it for none."""
    first, last = span
    if not name or name == "份":
        return span
    if name[0] in "底末":
        return last, last
    if (last - first).days > 31:
        return first, _month(first.year, 1)[1]
    ten = {"初": 1, "上": 1, "中": 11, "下": 21}[name[0]]
    return first.replace(day=ten), last if ten == 21 else first.replace(day=ten + 9)


def _month_of_year(match: re.Match[str], said_on: date) -> Span:
    year = int(match[1]) if match[1].isdigit() else said_on.year + _YEARS[match[1]]
    return _part(_month(year, _named_month(match[2])), match[3])


def _bare_month(match: re.Match[str], said_on: date) -> Span:
    """A month without its year: the one that the words around it mean, else the nearest."""
    name, part = match["month"], match["part"]
    end = match.end("part") if part and part[0] in "底末" else match.end()
    return _part(_nearest_month(_named_month(name), said_on, _when(match.string, match.start(), end)), part)


def _month_en(match: re.Match[str], said_on: date) -> Span:
    which, number = (match["which"] or "").lower(), _named_month(match["month"])
    if match["year"]:
        return _month(int(match["year"]), number)
    when = {"last": "past", "next": "coming"}.get(which) or _when(match.string, match.start(), match.end())
    return _nearest_month(number, said_on, cast(_Direction, when))


def _end_of_month_en(match: re.Match[str], said_on: date) -> Span:
    if match["month"]:
        span = _month(int(match["year"]), _named_month(match["month"])) if match["year"] else None
        span = span or _nearest_month(_named_month(match["month"]), said_on, "coming")
    else:
        shift = _SHIFT[(match["which"] or "this").lower()]
        span = _year(said_on.year + shift) if match["unit"].lower() == "year" else _shifted_month(said_on, shift)
    return span[1], span[1]


def _nearest_month(number: int, said_on: date, when: _Direction) -> Span:
    """The month of this number that is meant: the running one is both past and to come."""
    past = _month(said_on.year - (number > said_on.month), number)
    coming = _month(said_on.year + (number < said_on.month), number)
    if when == "begins":
        return coming if coming[0] - said_on <= _SOON else past
    nearer = said_on - past[1] <= coming[0] - said_on
    return past if when == "past" or (when != "coming" and nearer) else coming


def _named_month(name: str) -> int:
    if name.isdigit():
        return int(name)
    if name.isascii():
        return _MONTHS_EN.index(name[:3].lower()) + 1
    return 10 * ("十" in name) + _NUMBERS.get(name.replace("十", ""), 0)


def _half_year(match: re.Match[str], said_on: date) -> Span:
    year = said_on.year + (_YEARS[match[1]] if match[1] else 0)
    return (date(year, 1, 1), date(year, 6, 30)) if match[2] == "上" else (date(year, 7, 1), date(year, 12, 31))


def _years_between(match: re.Match[str], _said_on: date) -> Span | None:
    first, last = int(match[1]), int(match[2])
    return (date(first, 1, 1), date(last, 12, 31)) if first < last else None


def _from_now(match: re.Match[str], said_on: date) -> Span | None:
    """The next so many days, today among them."""
    count = _counted(match[1])
    last = _moved(said_on, count, match[2]) if count else None
    return (said_on, last - timedelta(days=1)) if last else None


def _up_to_now(match: re.Match[str], said_on: date) -> Span | None:
    """The last so many days, today among them."""
    count = _counted(match[1])
    return (_moved(said_on, -count, match[2]) + timedelta(days=1), said_on) if count else None


def _counted(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS.get(text.lower(), 0)


def _moved(day: date, count: int, unit: str) -> date:
    match unit.lower():
        case "天" | "day":
            return day + timedelta(days=count)
        case "周" | "星期" | "礼拜" | "week":
            return day + timedelta(weeks=count)
        case "月" | "month":
            first, last = _shifted_month(day, count)
            return min(first.replace(day=min(day.day, last.day)), last)
        case _:
            return _in_year(day, day.year + count) or day.replace(year=day.year + count, day=28)


def _ago(match: re.Match[str], said_on: date) -> Span | None:
    count = _counted(match[1])
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
    return _part(_month(int(match[1]), int(match[2])), match[3])


def _whole_year(match: re.Match[str], _said_on: date) -> Span:
    return _year(int(match[1] or match[2]))


def _shifted_month(said_on: date, months: int) -> Span:
    year, month = divmod(said_on.year * 12 + said_on.month - 1 + months, 12)
    return _month(year, month + 1)


def _year(year: int) -> Span:
    return date(year, 1, 1), date(year, 12, 31)


_N = r"(\d{1,3}|[一二两三四五六七八九十])"
_EN = r"(\d{1,3}|an?|one|two|three|four|five|six|ten)"
_UNIT, _UNIT_EN = "(天|周|星期|礼拜|月|年)", "(day|week|month|year)"
_MONTHS_EN = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH_ZH = r"(?P<month>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])"
_NAME_EN = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_PART = "(份|初|上旬|中旬?|下旬|底|末)?"
_NO_DAY = r"(?![\d一二三四五六七八九十]|天(?!天)|革命)"
_IN = "|".join(
    rf"(?<=\b{word} )"
    for word in ("in", "since", "until", "till", "from", "to", "by", "before", "after", "through", "during", "starting")
)
"""Words without which the name of a month may be a verb or a person's."""
_YEAR_MONTH = re.compile(rf"(?<!\d)((?:19|20)\d\d)(?:年|[-/])(1[0-2]|0?[1-9])(?:月{_NO_DAY}{_PART}|(?![\d/月-])())")
_YEAR = re.compile(
    r"(?<![\d.])((?:19|20)\d\d)年(?!\d)"
    r"|\b(?:in|since|until|till|from|by|before|after|through|during)\s+((?:19|20)\d\d)\b(?![-/.]\d)",
    re.IGNORECASE,
)
_YEARS_BETWEEN = re.compile(
    r"\b(?:from\s+|between\s+)?((?:19|20)\d\d)\s*(?:-|–|~|～|to|until|till|through|and)\s*((?:19|20)\d\d)\b(?![-/.年])",
    re.IGNORECASE,
)
_ABSOLUTE = (_YEAR, _YEAR_MONTH, _YEARS_BETWEEN)

_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Span | None]], ...] = (
    (re.compile(r"(上上|下下|上|下|这|本)个?(?:周|星期|礼拜)(?![一二三四五六日天末\d])"), _week_of),
    (re.compile(r"\b(last|this|next)\s+week\b", re.IGNORECASE), _week_of),
    (re.compile(r"(上上|下下|上|下|这|本|当)个?月(底|末)?(?![\d一二三四五六七八九十])"), _month_of),
    (re.compile(r"\b(last|this|next)\s+month()\b", re.IGNORECASE), _month_of),
    (re.compile(rf"([前去今明后])年(?:的)?{_MONTH_ZH}月{_NO_DAY}{_PART}"), _month_of_year),
    (re.compile(r"([前去今明后])年(底|末)?(?![\d一二三四五六七八九十]+月|[上下]半年)()"), _year_of),
    (re.compile(r"\b()()(last|this|next)\s+year\b", re.IGNORECASE), _year_of),
    (re.compile(r"(?:([去今明])年)?(?<!每年)([上下])半年"), _half_year),
    (re.compile(r"(?<![每逢前去今明后个上下这本当])(年|月)([底末初])"), _end_of_this),
    (
        re.compile(
            rf"(?<![\d一二三四五六七八九十年个第每月/.-]){_MONTH_ZH}月{_NO_DAY}(?P<part>份|初|上旬|中旬?|下旬|底|末)?"
        ),
        _bare_month,
    ),
    (
        re.compile(
            rf"(?:(?:{_IN})|\b(?P<which>last|next|this)\s+){_NAME_EN}\b(?!\s+\d{{1,2}}\b)(?:,?\s+(?P<year>(?:19|20)\d\d)\b)?",
            re.IGNORECASE,
        ),
        _month_en,
    ),
    (
        re.compile(
            rf"\b(?:the\s+)?end\s+of\s+(?:the\s+)?(?:(?P<which>last|this|next)\s+)?"
            rf"(?:(?P<unit>month|year)|{_NAME_EN}(?:,?\s+(?P<year>(?:19|20)\d\d))?)\b",
            re.IGNORECASE,
        ),
        _end_of_month_en,
    ),
    (re.compile(rf"{_N}个?{_UNIT}(?:之|以)?前"), _ago),
    (re.compile(rf"\b{_EN}\s+{_UNIT_EN}s?\s+ago\b", re.IGNORECASE), _ago),
    (re.compile(rf"(?:接下来|未来|今后|往后|后面)的?{_N}个?{_UNIT}(?:之?[内里])?"), _from_now),
    (re.compile(rf"\b(?:the|these)\s+(?:next|coming|following)\s+{_EN}\s+{_UNIT_EN}s\b", re.IGNORECASE), _from_now),
    (re.compile(rf"(?:最近|过去|近)这?的?{_N}个?{_UNIT}"), _up_to_now),
    (re.compile(rf"\b(?:the|these)\s+(?:last|past)\s+{_EN}\s+{_UNIT_EN}s\b", re.IGNORECASE), _up_to_now),
    (_YEARS_BETWEEN, _years_between),
    (_YEAR_MONTH, _year_month),
    (_YEAR, _whole_year),
)
