"""From tokens to moments: which belong together, and what they mean for a person in a zone."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from qingtuan.dates.words import ClockTime, Part, Token, tokens

_RANGE = re.compile(r"\s*(?:到|至|[-–—~～]|to|until|till)\s*", re.IGNORECASE)
_JOIN = re.compile(r"\s*(?:的|[,，]|at|on|from|in the|by|around|t)?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mention:
    """One expression of time in a text: `text[start:end]`, and what it means in the person's zone."""

    start: int
    end: int
    day: date
    moment: datetime | None
    """Aware, in the person's zone; None when only a day was named."""
    said_day: bool
    """Whether a day was named (or inherited, as in 明天9点到11点), and not only a time."""

    @property
    def value(self) -> datetime | date:
        """The moment if a time was named, else the day."""
        return self.moment or self.day


def resolve(text: str, now: datetime, zone: tzinfo) -> datetime | date | None:
    """What the first expression of time in `text` means: a moment in `zone`, a day if no time is named, or None."""
    found = mentions(text, now, zone)
    return found[0].value if found else None


def mentions(text: str, now: datetime, zone: tzinfo) -> tuple[Mention, ...]:
    """All expressions of time in `text`, in order. `now` is aware; days and times are those of `zone`."""
    here = now.astimezone(zone)
    found: list[Mention] = []
    last: Token | None = None
    for said in _joined(text, here.date()):
        token = said
        if last is not None and _RANGE.fullmatch(text[last.end : token.start]):
            token = _inherited(token, last)
        if (mention := _mention(token, here)) is not None:
            found.append(mention)
        last = token
    return tuple(found)


def _joined(text: str, today: date) -> list[Token]:
    """Neighbouring tokens that say one thing, as one: 明天 + 下午 + 三点."""
    joined: list[Token] = []
    for token in tokens(text, today):
        last = joined[-1] if joined else None
        if last is not None and _JOIN.fullmatch(text[last.end : token.start]) and _compatible(last, token):
            joined[-1] = Token(
                start=last.start,
                end=token.end,
                day=last.day or token.day,
                bare_weekday=last.bare_weekday or token.bare_weekday,
                part=last.part or token.part,
                clock=last.clock or token.clock,
            )
        else:
            joined.append(token)
    return joined


def _compatible(one: Token, other: Token) -> bool:
    if one.after or other.after:
        return False
    return not (one.day and other.day) and not (one.part and other.part) and not (one.clock and other.clock)


def _inherited(token: Token, last: Token) -> Token:
    """The end of a range has the day of its beginning, and its part of the day if the hours still go up."""
    part = token.part
    if part is None and last.part and token.clock and last.clock and last.clock.hour <= token.clock.hour:
        part = last.part
    return replace(token, day=token.day or last.day, bare_weekday=token.bare_weekday or last.bare_weekday, part=part)


def _mention(token: Token, here: datetime) -> Mention | None:
    if token.after is not None:
        moment = _later(here, token.after)
        return Mention(token.start, token.end, moment.date(), moment, said_day=False) if moment else None
    if token.clock is None:
        return Mention(token.start, token.end, token.day, None, said_day=True) if token.day else None
    if token.clock.weak and token.day is None and token.part is None:
        return None
    moment = _moment(token, token.clock, here)
    return Mention(token.start, token.end, token.day or moment.date(), moment, said_day=token.day is not None)


def _later(here: datetime, distance: timedelta) -> datetime | None:
    """A distance is real time: where the clocks change meanwhile, the hour on the wall moves by more or less."""
    try:
        return (here.astimezone(UTC) + distance).astimezone(here.tzinfo)
    except OverflowError:
        return None


def _moment(token: Token, clock: ClockTime, here: datetime) -> datetime:
    today = here.date()
    day = token.day or today
    choices = [_at(day, hour, clock.minute, here.tzinfo) for hour in _hours(clock, token.part)]
    usual = choices[-1] if 1 <= clock.hour <= 5 else choices[0]
    if day != today:
        return usual
    if ahead := [choice for choice in choices if choice > here]:
        return ahead[0]
    if token.day is None:
        return usual + timedelta(days=1)
    return usual + timedelta(days=7) if token.bare_weekday else usual


def _hours(clock: ClockTime, part: Part | None) -> tuple[int, ...]:
    """Hours after midnight that the time may mean; two of them where neither the hour nor a word says which half."""
    hour = clock.hour
    if clock.exact or hour == 0:
        return (hour,)
    late, small = 24 if hour == 12 else hour + 12, hour <= 4
    match part:
        case "early":
            return (0 if hour == 12 else late if hour >= 10 else hour,)
        case "morning":
            return (hour,)
        case "noon":
            return (hour if hour >= 10 else late,)
        case "afternoon":
            return (12 if hour == 12 else late,)
        case "evening":
            return (hour + 24 if small else late,)
        case None:
            return (hour, late)


def _at(day: date, hour: int, minute: int, zone: tzinfo | None) -> datetime:
    """Wall time in the zone; hours beyond 24 are of the next day."""
    return (datetime.combine(day, time()) + timedelta(hours=hour, minutes=minute)).replace(tzinfo=zone)
