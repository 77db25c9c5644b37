"""A stretch of the past as people name it (昨天, 上周, 2026-06, 30d), resolved by code. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo

from qingtuan.clock import day_of
from qingtuan.errors import UsageWrong
from qingtuan.language import Words
from qingtuan.memory.periods import Period, periods


@dataclass(frozen=True, slots=True)
class Stretch:
    """Whole days, both included, in the zone of whoever names them."""

    first: date
    last: date
    zone: tzinfo

    @property
    def since(self) -> datetime:
        """The moment at which it begins."""
        return datetime.combine(self.first, time(), self.zone)

    @property
    def until(self) -> datetime:
        """The moment at which it is over."""
        return datetime.combine(self.last + timedelta(days=1), time(), self.zone)

    def __str__(self) -> str:
        first, last = f"{self.first:%Y-%m-%d}", f"{self.last:%Y-%m-%d}"
        return first if first == last else f"{first}~{last}"


USUAL_DAYS = 7
_DIGITS = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10}
_DAYS = {"d": 1, "天": 1, "日": 1, "w": 7, "周": 7, "星": 7, "礼": 7, "m": 30, "月": 30, "y": 365, "年": 365}
_LENGTH = re.compile(
    r"(?:(?:the\s+)?(?:last|past)|最近|近|过去)?\s*(?P<count>\d{1,4}|[一二两三四五六七八九十])\s*"
    r"(?P<unit>days?|d|weeks?|w|months?|m|years?|y|天|日|个?周|个?星期|个?礼拜|个月|年)",
    re.IGNORECASE,
)
_MONTH = re.compile(r"(?P<month>1[0-2]|0?[1-9])月份?")
_ALL = frozenset({"all", "全部", "所有", "everything"})


def stretch(text: str, now: datetime, zone: tzinfo) -> Stretch:
    """The stretch that `text` names, or the usual seven days for none; `now` is aware. It ends today at the latest.

    Raises:
        UsageWrong: it names none, or one that is to come.
    """
    today, plain = day_of(now, zone), text.strip()
    if not plain:
        return Stretch(today - timedelta(days=USUAL_DAYS - 1), today, zone)
    if plain.casefold() in _ALL:
        return Stretch(date(2000, 1, 1), today, zone)
    first, last = _month(plain, today) or _length(plain, today) or _named(plain, now, zone)
    if first > today:
        raise UsageWrong(_TO_COME)
    return Stretch(first, min(last, today), zone)


def _length(text: str, today: date) -> tuple[date, date] | None:
    """`30d`, 3天, 最近两周: so many days up to today."""
    found = _LENGTH.fullmatch(text)
    if found is None:
        return None
    count = _DIGITS.get(found["count"]) or int(found["count"])
    days = count * _DAYS[found["unit"].removeprefix("个")[0].lower()]
    try:
        return today - timedelta(days=max(1, days) - 1), today
    except OverflowError:
        return date(2000, 1, 1), today


def _month(text: str, today: date) -> tuple[date, date] | None:
    """6月: the last one that has begun."""
    found = _MONTH.fullmatch(text)
    if found is None:
        return None
    month = int(found["month"])
    year = today.year if month <= today.month else today.year - 1
    following = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), following - timedelta(days=1)


def _named(text: str, now: datetime, zone: tzinfo) -> tuple[date, date]:
    """昨天, 上周, 2026-06, 6月20日到6月23日: from the first that is named to the last."""
    named = periods(text, now, zone)
    if not named:
        raise UsageWrong(_UNKNOWN)
    days = [_past(one, text, day_of(now, zone)) for one in named]
    return min(first for first, _ in days), max(last for _, last in days)


def _past(one: Period, text: str, today: date) -> tuple[date, date]:
    """The first and last day of a period. A day without a year and a bare weekday, which otherwise mean the next to
    come, here mean the last."""
    if one.relative or one.first <= today or _YEAR.search(text[one.start : one.end]):
        return one.first, one.last
    back = timedelta(days=7) if one.first - today < timedelta(days=7) else timedelta(days=365)
    return one.first - back, one.last - back


_YEAR = re.compile(r"\d{4}")
_UNKNOWN = Words(
    "看不懂是哪段时间。可以写：昨天、上周、2026-06、2026-06-20~2026-06-23、30d。",
    "That names no stretch of time. Try: yesterday, last week, 2026-06, 2026-06-20~2026-06-23, 30d.",
)
_TO_COME = Words("那段时间还没到。", "That time is still to come.")
