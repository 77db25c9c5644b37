"""Days and times in the arguments of a call, set to what the person said: this model takes 明天 for today."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, time, tzinfo
from typing import Any

from qingtuan.dates import Mention, first_time, mentions, recurrence, resolve

_DAY = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")
_MOMENT = re.compile(r"(\d{4}-\d{1,2}-\d{1,2})[T ]((?:[01]?\d|2[0-3]):[0-5]\d)(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?")
_CLOCK = re.compile(r"(?:[01]?\d|2[0-3]):[0-5]\d")
_MORNING = "09:00"
_TIME_NAMES = frozenset({"at", "date", "day", "when", "time", "start", "end", "since", "until"})


def with_said_days(arguments: Mapping[str, Any], words: str, now: datetime, zone: tzinfo) -> dict[str, Any]:
    """`arguments` with each date and time that `words` names put right.

    A value on a day that was named stays; any other becomes the (first) day that was named. Where exactly one time
    was named it is taken over too, and of a range both ends. Values in words (明天8点) become ISO. What `words` says
    nothing about stays as it is.
    """
    said = mentions(words, now, zone)
    return {name: _right(name, value, said, now, zone) for name, value in arguments.items()}


def _right(name: str, value: Any, said: Sequence[Mention], now: datetime, zone: tzinfo) -> Any:
    if not isinstance(value, str):
        return value
    text = value.strip()
    if _DAY.fullmatch(text):
        return _day(text, said)
    if match := _MOMENT.fullmatch(text):
        return _moment(match[1], match[2], said)
    if _CLOCK.fullmatch(text):
        return _clock(name, text, said)
    if name in _TIME_NAMES and (meant := resolve(text, now, zone)) is not None:
        return meant.strftime("%Y-%m-%dT%H:%M") if isinstance(meant, datetime) else meant.isoformat()
    return value


def _day(text: str, said: Sequence[Mention]) -> str:
    days = [mention.day.isoformat() for mention in said if mention.said_day]
    return days[0] if days and text not in days else text


def _moment(day: str, clock: str, said: Sequence[Mention]) -> str:
    moments = [mention.moment for mention in said if mention.moment]
    if len(moments) == 1 and len(said) == 1:
        return moments[0].strftime("%Y-%m-%dT%H:%M")
    # Midnight is what the model writes for a day without a time.
    clock = _MORNING if not moments and clock.zfill(5) == "00:00" else clock.zfill(5)
    return f"{_day(day, said)}T{clock}"


def _clock(name: str, text: str, said: Sequence[Mention]) -> str:
    moments = [mention.moment for mention in said if mention.moment]
    place = {"start": 0, "end": 1}.get(name)
    if place is not None and len(moments) == 2:
        return moments[place].strftime("%H:%M")
    if len(moments) == 1 and name != "end":
        return moments[0].strftime("%H:%M")
    return text.zfill(5)


def with_said_rule(arguments: Mapping[str, Any], words: str, now: datetime, zone: tzinfo) -> dict[str, Any]:
    """`arguments` of a reminder with the rule that `words` name (每周三 …), and its first time; else as they are."""
    rule = recurrence(words)
    if rule is None:
        return dict(arguments)
    changed = {**arguments, "rrule": rule}
    match = _MOMENT.fullmatch(str(arguments.get("at", "")))
    if match and (first := first_time(rule, time.fromisoformat(match[2].zfill(5)), now, zone)):
        changed["at"] = first.strftime("%Y-%m-%dT%H:%M")
    return changed
