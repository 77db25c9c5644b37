"""The library itself: its rooms, its seats and its rules. Nothing here knows of pages or of storage."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(r"\d{2}:\d{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the library says no: a code for the page's markup and a sentence for the reader."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Room:
    """An area of the library. Every `windows`-th seat stands at a window; 0 means none."""

    name: str
    floor: int
    quiet: bool
    letter: str
    seats: int
    windows: int


@dataclass(frozen=True, slots=True)
class Place:
    """One seat."""

    id: str
    room: Room
    window: bool


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of one day, in the library's own time."""

    day: date
    start: time
    end: time

    @property
    def begins(self) -> datetime:
        """When it begins."""
        return datetime.combine(self.day, self.start)

    @property
    def ends(self) -> datetime:
        """When it ends."""
        return datetime.combine(self.day, self.end)

    def __str__(self) -> str:
        return f"{self.day} {self.start:%H:%M}–{self.end:%H:%M}"


ROOMS = (
    Room("二楼安静区", floor=2, quiet=True, letter="A", seats=16, windows=4),
    Room("二楼讨论区", floor=2, quiet=False, letter="B", seats=8, windows=4),
    Room("三楼靠窗区", floor=3, quiet=True, letter="C", seats=12, windows=1),
    Room("三楼开放区", floor=3, quiet=False, letter="D", seats=16, windows=4),
    Room("四楼研习区", floor=4, quiet=True, letter="E", seats=12, windows=0),
)


@dataclass(frozen=True)
class Library:
    """Rooms, hours and rules. Minutes and days are whole numbers."""

    rooms: tuple[Room, ...] = ROOMS
    opens: time = time(8)
    closes: time = time(22)
    step_minutes: int = 30
    ahead_days: int = 7
    early_minutes: int = 15
    """How long before the start a reader may check in."""
    late_minutes: int = 30
    """How long after the start a reader may check in."""

    @cached_property
    def places(self) -> dict[str, Place]:
        """Every seat by its id, in the order of the rooms."""
        return {place.id: place for room in self.rooms for place in _places_of(room)}

    @property
    def hours(self) -> str:
        """`08:00–22:00`."""
        return f"{self.opens:%H:%M}–{self.closes:%H:%M}"

    @property
    def times(self) -> list[time]:
        """Every time at which a stay may begin or end."""
        first, last = _minutes(self.opens), _minutes(self.closes)
        return [time(minute // 60, minute % 60) for minute in range(first, last + 1, self.step_minutes)]

    def refuses(self, period: Period, now: datetime) -> Refusal | None:
        """Whether this period can be booked at all, whoever wants it and wherever."""
        if period.start >= period.end:
            return Refusal("order", "结束时间要晚于开始时间。")
        if any(_minutes(at) % self.step_minutes for at in (period.start, period.end)):
            return Refusal("granularity", f"时间以 {self.step_minutes} 分钟为单位，例如 09:00、09:30。")
        if period.start < self.opens or period.end > self.closes:
            return Refusal("closed", f"图书馆每天 {self.hours} 开放，{period} 不全在开放时间内。")
        if period.begins < now:
            return Refusal("past", f"{period.day} {period.start:%H:%M} 已经过去了，现在是 {now:%Y-%m-%d %H:%M}。")
        if period.day > now.date() + timedelta(days=self.ahead_days):
            return Refusal(
                "too-far",
                f"最多提前 {self.ahead_days} 天预约，现在最晚能约到 {now.date() + timedelta(days=self.ahead_days)}。",
            )
        return None

    def refuses_check_in(self, period: Period, now: datetime) -> Refusal | None:
        """Whether it is the time to check in for this period."""
        first = period.begins - timedelta(minutes=self.early_minutes)
        last = period.begins + timedelta(minutes=self.late_minutes)
        window = f"{period.day} {first:%H:%M}–{last:%H:%M}"
        if now < first:
            return Refusal("too-early", f"还没到签到时间，{window} 可以签到。")
        if now > last:
            return Refusal("too-late", f"签到时间已经过了，只有 {window} 可以签到。")
        return None


def read_period(values: Mapping[str, str]) -> Period | Refusal:
    """The period that a form or an address names as `date`, `start` and `end`."""
    try:
        return Period(*_read(values))
    except ValueError:
        return Refusal("malformed", "日期要写成 2026-12-01 这样，时间要写成 09:00 这样。")


def _read(values: Mapping[str, str]) -> tuple[date, time, time]:
    day, start, end = (values.get(name, "") for name in ("date", "start", "end"))
    if not (_DATE.fullmatch(day) and _TIME.fullmatch(start) and _TIME.fullmatch(end)):
        raise ValueError(day, start, end)
    return date.fromisoformat(day), time.fromisoformat(start), time.fromisoformat(end)


def _places_of(room: Room) -> list[Place]:
    return [
        Place(f"{room.name}-{room.letter}{number:02d}", room, bool(room.windows and number % room.windows == 0))
        for number in range(1, room.seats + 1)
    ]


def _minutes(at: time) -> int:
    return at.hour * 60 + at.minute
