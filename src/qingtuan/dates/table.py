"""The coming days on one line, for a prompt."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache

from qingtuan.language import Language, Words

WEEKDAYS = (
    Words("周一", "Monday"),
    Words("周二", "Tuesday"),
    Words("周三", "Wednesday"),
    Words("周四", "Thursday"),
    Words("周五", "Friday"),
    Words("周六", "Saturday"),
    Words("周日", "Sunday"),
)
_NEAR = (Words("今天", "today"), Words("明天", "tomorrow"), Words("后天", "day after tomorrow"))
_NEXT = Words("下", "next ")


@lru_cache(maxsize=16)
def table(today: date, language: Language) -> str:
    """Today and the six days after it: each with the word that a person would use and its date, the year only where it
    is not today's."""
    entries = [_entry(today, offset, language) for offset in range(7)]
    return "，".join(entries) if language == "zh" else ", ".join(entries)


def _entry(today: date, offset: int, language: Language) -> str:
    day = today + timedelta(days=offset)
    weekday = WEEKDAYS[day.weekday()].say(language)
    told = f"{day:%m-%d}" if day.year == today.year else day.isoformat()
    if offset < len(_NEAR):
        return f"{_NEAR[offset].say(language)} {told} {weekday}"
    in_next_week = day.weekday() < today.weekday()
    return f"{_NEXT.say(language) if in_next_week else ''}{weekday} {told}"
