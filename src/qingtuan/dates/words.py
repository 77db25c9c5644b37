"""The vocabulary of time: text to tokens, each a day, a part of the day, a clock time or a distance from now.

The rules are a table of patterns; `tokens` runs them all and keeps the leftmost, longest matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

Part = Literal["early", "morning", "noon", "afternoon", "evening"]


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time on the clock as it was said."""

    hour: int
    """0 to 24."""
    minute: int
    exact: bool = False
    """Whether it is on the 24-hour clock already (15:00, 3pm)."""
    weak: bool = False
    """Whether it counts only beside a day or a part of one: 一点 alone is more often "a little"."""


@dataclass(frozen=True, slots=True)
class Token:
    """The smallest piece that means something: `text[start:end]`."""

    start: int
    end: int
    day: date | None = None
    bare_weekday: bool = False
    """Whether the day is a weekday with no week named, so that it moves on once it is over."""
    part: Part | None = None
    clock: ClockTime | None = None
    after: timedelta | None = None
    """Distance from now."""


def tokens(text: str, today: date) -> list[Token]:
    """The tokens of `text` from left to right; they do not overlap."""
    found = [
        token
        for pattern, read in _RULES
        for match in pattern.finditer(text)
        if (token := read(match, today)) is not None
    ]
    kept: list[Token] = []
    for token in sorted(found, key=lambda token: (token.start, -token.end)):
        if not kept or token.start >= kept[-1].end:
            kept.append(token)
    return kept


# Numbers

_DIGITS = {"零": 0, "〇": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_ENGLISH = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_ENGLISH |= {"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40}
_N = r"(?:\d{1,4}|[二两三四五六七八九]?十[一二三四五六七八九]?|[零〇一二两三四五六七八九])"
_MINUTES = r"(?:\d{2}(?!\d)|零[一二三四五六七八九]|[二三四五]?十[一二三四五六七八九]?)"
"""Minutes that may stand without 分: 八点二十, 8点05; a single digit (12点二楼) belongs to what follows."""
_EN = r"(?:\d{1,4}|" + "|".join(sorted(_ENGLISH, key=len, reverse=True)) + ")"


def _number(text: str) -> int:
    if text.isdigit():
        return int(text)
    if text.lower() in _ENGLISH:
        return _ENGLISH[text.lower()]
    tens, ten, units = text.partition("十")
    if not ten:
        return _DIGITS[text]
    return (_DIGITS[tens] if tens else 1) * 10 + (_DIGITS[units] if units else 0)


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _coming(today: date, month: int, day: int) -> date | None:
    """The next such day, today included. 29 February may be some years off."""
    candidates = (_date(today.year + ahead, month, day) for ahead in range(9))
    return next((found for found in candidates if found and found >= today), None)


def _months_later(today: date, months: int) -> date | None:
    year, month = divmod(today.month - 1 + months, 12)
    last = next(found for day in (today.day, 30, 29, 28) if (found := _date(today.year + year, month + 1, day)))
    return last if today.year + year < date.max.year else None


def _days_later(today: date, days: int) -> date | None:
    try:
        return today + timedelta(days=days)
    except OverflowError:
        return None


# Readers: what a match means


def _near_zh(match: re.Match[str], today: date) -> Token:
    days = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "大后": 3}[match[1]]
    part: Part | None = None
    if match[2][0] in "早晨晚夜":
        part = "morning" if match[2][0] in "早晨" else "evening"
    return Token(match.start(), match.end(), day=_days_later(today, days), part=part)


def _near_en(match: re.Match[str], today: date) -> Token:
    word = re.sub(r"\s+", " ", match[0].lower().removeprefix("the "))
    days = {
        "yesterday": -1,
        "today": 0,
        "tonight": 0,
        "tomorrow": 1,
        "day after tomorrow": 2,
        "day before yesterday": -2,
    }
    part: Part | None = "evening" if word == "tonight" else None
    return Token(match.start(), match.end(), day=_days_later(today, days[word]), part=part)


def _this_part_en(match: re.Match[str], today: date) -> Token:
    return Token(match.start(), match.end(), day=today, part=_PARTS[match[1].lower()])


def _week_zh(match: re.Match[str], today: date) -> Token:
    which, name = match[1], match[2]
    weekday = 5 if name == "末" else 6 if name in "日天7" else int(name) - 1 if name.isdigit() else _DIGITS[name] - 1
    weeks = {"上上": -2, "上": -1, "这": 0, "本": 0, "下": 1, "下下": 2, None: None}[which]
    return _weekday(match, today, weekday, weeks)


def _week_en(match: re.Match[str], today: date) -> Token | None:
    which = (match[1] or "").lower()
    if which in ("every", "each"):
        return None
    weekday = _WEEKDAYS_EN.index(match[2].lower())
    return _weekday(match, today, weekday, {"next": 1, "last": -1}.get(which))


def _weekday(match: re.Match[str], today: date, weekday: int, weeks: int | None) -> Token:
    distance = weekday - today.weekday()
    days = distance % 7 if weeks is None else distance + 7 * weeks
    return Token(match.start(), match.end(), day=_days_later(today, days), bare_weekday=weeks is None)


def _later_zh(match: re.Match[str], today: date) -> Token | None:
    return _later(match, today, _number(match[1]), match[2][0])


def _later_en(match: re.Match[str], today: date) -> Token | None:
    count, unit = (match[1], match[2]) if match[1] else (match[3], match[4])
    return _later(match, today, _number(count), {"d": "天", "w": "周", "m": "月"}[unit[0].lower()])


def _later(match: re.Match[str], today: date, count: int, unit: str) -> Token | None:
    day = _months_later(today, count) if unit == "月" else _days_later(today, count * (1 if unit == "天" else 7))
    return Token(match.start(), match.end(), day=day) if day else None


def _month_day_zh(match: re.Match[str], today: date) -> Token | None:
    month, day = _number(match[3]), _number(match[4])
    if match[1] or match[2]:
        year = int(match[1]) if match[1] else today.year + (match[2] == "明年")
        return _of_day(match, _date(year, month, day))
    return _of_day(match, _coming(today, month, day))


def _day_zh(match: re.Match[str], today: date) -> Token | None:
    day = _number(match[2])
    first = today.replace(day=1)
    months = [1] if (match[1] or "").startswith("下") else [0] if match[1] else [0, 1, 2]
    for month in (_months_later(first, ahead) for ahead in months):
        found = _date(month.year, month.month, day) if month else None
        if found and (match[1] or found >= today):
            return _of_day(match, found)
    return None


def _month_day_en(match: re.Match[str], today: date) -> Token | None:
    name, day, year = (match[1], match[2], match[3]) if match[1] else (match[5], match[4], match[6])
    month = _MONTHS_EN.index(name[:3].lower()) + 1
    return _of_day(match, _date(int(year), month, int(day)) if year else _coming(today, month, int(day)))


def _iso(match: re.Match[str], _today: date) -> Token | None:
    return _of_day(match, _date(int(match[1]), int(match[2]), int(match[3])))


def _of_day(match: re.Match[str], day: date | None) -> Token | None:
    return Token(match.start(), match.end(), day=day) if day else None


def _part(match: re.Match[str], _today: date) -> Token:
    return Token(match.start(), match.end(), part=_PARTS[match[0].lower()])


def _clock_zh(match: re.Match[str], _today: date) -> Token | None:
    rest = match[2] or ""
    minute = {"半": 30, "一刻": 15, "三刻": 45, "整": 0, "钟": 0, "": 0}.get(rest)
    if minute is None:
        minute = _number(match[3] or match[4].lstrip("零"))
    hour = _number(match[1])
    return _clock(match, ClockTime(hour, minute, exact=hour > 12, weak=match[1] == "一" and not rest))


def _clock_digits(match: re.Match[str], _today: date) -> Token | None:
    exact = match[1].startswith("0") or int(match[1]) > 12
    return _clock(match, ClockTime(int(match[1]), int(match[2]), exact=exact))


def _clock_en(match: re.Match[str], _today: date) -> Token | None:
    hour, minute = int(match[1]), int(match[2] or 0)
    if not 1 <= hour <= 12:
        return None
    return _clock(match, ClockTime(hour % 12 + (12 if match[3].lower() == "p" else 0), minute, exact=True))


def _clock_at(match: re.Match[str], _today: date) -> Token | None:
    hour = int(match[1])
    return _clock(match, ClockTime(hour, 0, exact=hour > 12))


def _range_start(match: re.Match[str], _today: date) -> Token | None:
    hour = _number(match[1])
    return _clock(match, ClockTime(hour, 0, exact=hour > 12))


def _range_start_en(match: re.Match[str], _today: date) -> Token | None:
    hour, end = int(match[1]), int(match[2])
    if not 1 <= hour <= 12 or not 1 <= end <= 12:
        return None
    afternoon = match[3].lower() == "p" and hour % 12 <= end % 12
    return _clock(match, ClockTime(hour % 12 + (12 if afternoon else 0), 0, exact=True))


def _clock_name(match: re.Match[str], _today: date) -> Token | None:
    return _clock(match, ClockTime(12 if match[0].lower() == "noon" else 24, 0, exact=True))


def _clock(match: re.Match[str], clock: ClockTime) -> Token | None:
    valid = clock.hour <= 24 and clock.minute < 60 and (clock.hour < 24 or clock.minute == 0)
    return Token(match.start(), match.end(), clock=clock) if valid else None


def _after_zh(match: re.Match[str], _today: date) -> Token | None:
    hours, half, minutes, quarter = match["hours"], match["half"] or match["half2"], match["minutes"], match["quarter"]
    if not (hours or minutes or quarter) or not (match["past"] or match["after"]):
        return None
    total = 0 if not hours else 30 if hours == "半" else _number(hours) * 60
    total += 30 if half else 0
    total += _number(minutes) if minutes else {"一": 15, "三": 45}[quarter] if quarter else 0
    return Token(match.start(), match.end(), after=timedelta(minutes=total))


def _after_en(match: re.Match[str], _today: date) -> Token:
    half, count, unit, more = match.group(1, 2, 3, 4) if match[3] else (None, match[5], match[6], None)
    size = 60 if unit[0].lower() == "h" else 1
    minutes = 30 if half else _number(count) * size + (30 if more else 0)
    return Token(match.start(), match.end(), after=timedelta(minutes=minutes))


# The rules

_PARTS: dict[str, Part] = {
    **dict.fromkeys(("凌晨", "半夜"), "early"),
    **dict.fromkeys(("清晨", "清早", "早晨", "早上", "上午", "早", "morning"), "morning"),
    **dict.fromkeys(("中午", "正午"), "noon"),
    **dict.fromkeys(("午后", "下午", "傍晚", "afternoon"), "afternoon"),
    **dict.fromkeys(("晚上", "夜里", "夜晚", "晚", "evening", "night"), "evening"),
}  # fmt: skip
_WEEKDAYS_EN = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTHS_EN = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WEEKDAY = "(" + "|".join(_WEEKDAYS_EN) + r")\b"
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
_LATER = r"(?:以|之)?后"
_DASH = r"\s*(?:[-–—~～到至])\s*"
_NO_CLOCK = r"(?!\s*(?:建议|意见|原因|要求|理由|内容|想法|点|儿|不|也|都))"

_Reader = Callable[[re.Match[str], date], Token | None]


def _rule(pattern: str, read: _Reader) -> tuple[re.Pattern[str], _Reader]:
    return re.compile(pattern, re.IGNORECASE), read


_RULES: tuple[tuple[re.Pattern[str], _Reader], ...] = (
    _rule(r"(大前|大后|前|(?<!先天和)(?<!先天)后)(天)(?!性|免疫|养成|努力)", _near_zh),
    _rule(r"(今|明|昨)(天|日|儿|早上?|晚上?|晨|夜)(?!餐|饭|报|头条|说法|方舟|香|之|帝国|边缘|重现|黄花)", _near_zh),
    _rule(
        r"\b(?:the\s+)?(?:day\s+after\s+tomorrow|day\s+before\s+yesterday|yesterday|today|tonight|tomorrow)\b", _near_en
    ),
    _rule(r"\bthis\s+(morning|afternoon|evening)\b", _this_part_en),
    _rule(
        r"(?<![每一两几\d])(上上|下下|上|下|这|本)?个?(?:周|星期|礼拜)([一二三四五六日天末1-7])(?![次天个年\d])",
        _week_zh,
    ),
    _rule(r"(?:\b(next|this|last|coming|every|each|on)\s+)?\b" + _WEEKDAY, _week_en),
    # 六个月后 is a distance, 六月以后 is not.
    _rule(rf"({_N})个?(天|周|星期|礼拜|(?<=[个两])月){_LATER}", _later_zh),
    _rule(rf"\bin\s+({_EN})\s+(day|week|month)s?\b|\b({_EN})\s+(day|week|month)s?\s+(?:later|from\s+now)\b", _later_en),
    _rule(rf"(?:(\d{{4}})年|(明年|今年))?({_N})月({_N})[日号]", _month_day_zh),
    _rule(rf"(?:(下个?月|这个?月|本月)|(?<![A-Za-z0-9第月年-]))({_N})[日号](?![线楼门院房座厅店机码馆])", _day_zh),
    _rule(
        rf"\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(\d{{4}})\b)?"
        rf"|\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+(\d{{4}})\b)?",
        _month_day_en,
    ),
    _rule(r"(?<!\d)(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)", _iso),
    _rule(r"凌晨|半夜|清晨|清早|早晨|早上|上午|中午|正午|午后|下午|傍晚|晚上|夜里|夜晚", _part),
    _rule(rf"[早晚](?=\s*{_N}\s*[点:：])", _part),
    _rule(r"\b(?:morning|afternoon|evening|night)\b", _part),
    _rule(rf"({_N})\s?点(?:钟)?(半|一刻|三刻|整|过?(?:({_N})分|({_MINUTES})))?{_NO_CLOCK}", _clock_zh),
    _rule(r"(?<![\d:：])(\d{1,2})[:：](\d{2})(?:[:：]\d{2})?(?![\d:：]|\s*[ap]\.?m\b)", _clock_digits),
    _rule(r"(?<![\d:])(\d{1,2})(?::(\d{2}))?\s*([ap])\.?m\b\.?", _clock_en),
    _rule(r"(?<=\bat )(\d{1,2})(?![\d:%.])(?!\s*[ap]\.?m\b)", _clock_at),
    _rule(r"\b(\d{1,2})\s*o['’]?clock\b", _clock_at),
    _rule(rf"(?<![\d:：])({_N})(?={_DASH}{_N}\s*点)", _range_start),
    _rule(r"(?<![\d:])(\d{1,2})(?=\s*(?:[-–—~]|to)\s*(\d{1,2})(?::\d{2})?\s*([ap])\.?m\b)", _range_start_en),
    _rule(r"\b(?:noon|midnight)\b", _clock_name),
    _rule(
        rf"(?P<past>再?过)?(?:(?P<hours>{_N}|半)个?(?P<half>半)?(?:小时|钟头)(?P<half2>半)?)?"
        rf"(?:(?P<minutes>{_N})分钟|(?P<quarter>[一三])刻钟)?(?P<after>{_LATER})?",
        _after_zh,
    ),
    _rule(
        rf"\bin\s+(?:(half)\s+an?|({_EN}))\s+(hour|hr|minute|min)s?\b(\s+and\s+a\s+half\b)?"
        rf"|\b({_EN})\s+(hour|minute)s?\s+(?:later|from\s+now)\b",
        _after_en,
    ),
)
