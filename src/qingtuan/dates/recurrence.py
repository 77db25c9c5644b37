"""Words for what comes again (每天, 每周三, every Monday, on weekdays) as a recurrence rule of RFC 5545."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, time, timedelta, tzinfo

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_FAR = 70
"""Days in which every rule comes round: two short months."""
_WORKDAYS = "MO,TU,WE,TH,FR"
_CHINESE = {name: _DAYS[index] for index, name in enumerate("一二三四五六日")} | {"天": "SU"}
_ENGLISH = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_DAILY = re.compile(r"每[天日晚早]|天天|\b(?:every|each) (?:day|morning|evening|night)\b|\bdaily\b", re.IGNORECASE)
_WORKDAY = re.compile(r"(?:每个?)?工作日|周一(?:到|至)周五|\b(?:on|every) (?:week|work)days?\b", re.IGNORECASE)
_WEEKLY = re.compile(r"每个?(?:周|星期|礼拜)((?:[一二三四五六日天](?:[、,，和]|周|星期)*)+)")
_WEEKLY_EN = re.compile(
    rf"\b(?:every|each) ((?:(?:{'|'.join(_ENGLISH)})(?:,? and |, ?|\s)?)+)|\bon ((?:{'|'.join(_ENGLISH)})s)\b",
    re.IGNORECASE,
)
_MONTHLY = re.compile(
    r"每个?月(?:的)?(\d{1,2})[日号]|\b(?:every|each) month on the (\d{1,2})(?:st|nd|rd|th)", re.IGNORECASE
)


def recurrence(text: str) -> str | None:
    """The rule that `text` names, or None. It says on which days; the time of day stands elsewhere."""
    if _WORKDAY.search(text):
        return f"FREQ=WEEKLY;BYDAY={_WORKDAYS}"
    if match := _WEEKLY.search(text):
        return f"FREQ=WEEKLY;BYDAY={_listed(day for name, day in _CHINESE.items() if name in match[1])}"
    if match := _WEEKLY_EN.search(text):
        said = (match[1] or match[2]).lower()
        return f"FREQ=WEEKLY;BYDAY={_listed(_DAYS[index] for index, name in enumerate(_ENGLISH) if name in said)}"
    if (match := _MONTHLY.search(text)) and 1 <= int(match[1] or match[2]) <= 31:
        return f"FREQ=MONTHLY;BYMONTHDAY={int(match[1] or match[2])}"
    return "FREQ=DAILY" if _DAILY.search(text) else None


def first_time(rule: str, clock: time, now: datetime, zone: tzinfo) -> datetime | None:
    """The first moment after `now` at `clock` in `zone` on a day of `rule`, which is one that `recurrence` gives."""
    weekdays = _field(rule, "BYDAY")
    days = _field(rule, "BYMONTHDAY")
    today = now.astimezone(zone).date()
    for ahead in range(_FAR):
        day = today + timedelta(days=ahead)
        moment = datetime.combine(day, clock, zone)
        fits = (not weekdays or _DAYS[day.weekday()] in weekdays) and (not days or str(day.day) in days)
        if fits and moment > now:
            return moment
    return None


def _field(rule: str, name: str) -> list[str]:
    return next(
        (part.removeprefix(f"{name}=").split(",") for part in rule.split(";") if part.startswith(f"{name}=")), []
    )


def _listed(days: Iterable[str]) -> str:
    return ",".join(sorted(set(days), key=_DAYS.index))
