"""From what a model wrote to values, strictly: a wrong guess here books the wrong time."""

from __future__ import annotations

import re
from datetime import date, time

from qingtuan_library_seats.driver import Slot
from qingtuan_library_seats.errors import ArgumentWrong
from qingtuan_library_seats.text import clean

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(r"\d{2}:\d{2}", re.ASCII)
NAME_CHARS = 80


def read_slot(day: str, start: str, end: str) -> Slot:
    """The slot that a date and two times name.

    Raises:
        ArgumentWrong: says which of them, and how it is written.
    """
    slot = Slot(_read_date(day), _read_time("start", start), _read_time("end", end))
    if slot.start >= slot.end:
        raise ArgumentWrong(f"end（{end}）要晚于 start（{start}），而且在同一天。")
    return slot


def read_name(argument: str, text: str) -> str:
    """The name of a seat, an area or a reservation, without blanks around it.

    Raises:
        ArgumentWrong: if it is empty or no name.
    """
    name = text.strip()
    if not name or len(name) > NAME_CHARS or not name.isprintable():
        raise ArgumentWrong(f"{argument} 要填一个名字，最多 {NAME_CHARS} 个字；收到的是“{clean(text, 40)}”。")
    return name


def _read_date(text: str) -> date:
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        raise ArgumentWrong(f"没有 {text} 这一天，请检查 date。") from None
    raise ArgumentWrong(f"date 要写成 YYYY-MM-DD，例如 2026-12-01；收到的是“{clean(text, 40)}”。")


def _read_time(argument: str, text: str) -> time:
    try:
        if _TIME.fullmatch(text):
            return time.fromisoformat(text)
    except ValueError:
        raise ArgumentWrong(f"没有 {text} 这个时刻，请检查 {argument}（00:00 到 23:59）。") from None
    raise ArgumentWrong(f"{argument} 要写成 HH:MM，例如 09:00；收到的是“{clean(text, 40)}”。")
