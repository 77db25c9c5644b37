"""What the demo library allows, and what a model may write; no page and no wire."""

from __future__ import annotations

import re
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan_library_seats.arguments import read_name, read_slot
from qingtuan_library_seats.demo_site.library import Library, Period, Refusal, read_period
from qingtuan_library_seats.driver import Driver
from qingtuan_library_seats.errors import ArgumentWrong, PageUnreadable
from qingtuan_library_seats.text import clean

NOW = datetime(2026, 11, 30, 10, 0)
DAY = date(2026, 12, 1)


def period(start: str, end: str, day: date = DAY) -> Period:
    return Period(day, time.fromisoformat(start), time.fromisoformat(end))


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        (period("09:00", "12:00"), None),
        (period("08:00", "22:00"), None),
        (period("12:00", "12:00"), "order"),
        (period("12:00", "09:00"), "order"),
        (period("09:10", "12:00"), "granularity"),
        (period("09:00", "11:45"), "granularity"),
        (period("07:30", "09:00"), "closed"),
        (period("20:00", "22:30"), "closed"),
        (period("10:00", "12:00", NOW.date()), None),
        (period("09:30", "12:00", NOW.date()), "past"),
        (period("09:00", "12:00", date(2026, 12, 7)), None),
        (period("09:00", "12:00", date(2026, 12, 8)), "too-far"),
    ],
)
def test_what_can_be_booked(wish: Period, code: str | None) -> None:
    refusal = Library().refuses(wish, NOW)
    assert (refusal and refusal.code) == code


@pytest.mark.parametrize(
    ("now", "code"),
    [("08:44", "too-early"), ("08:45", None), ("09:30", None), ("09:31", "too-late")],
)
def test_when_one_checks_in(now: str, code: str | None) -> None:
    moment = datetime.combine(DAY, time.fromisoformat(now))
    refusal = Library().refuses_check_in(period("09:00", "12:00"), moment)
    assert (refusal and refusal.code) == code


def test_every_seat_has_a_name_of_its_own() -> None:
    places = Library().places
    assert len(places) == sum(room.seats for room in Library().rooms)
    assert places["二楼安静区-A12"].window
    assert not places["二楼安静区-A11"].window
    assert all(place.window for place in places.values() if place.room.name == "三楼靠窗区")


@given(st.text(), st.text(), st.text())
def test_no_form_breaks_the_reader_of_periods(day: str, start: str, end: str) -> None:
    assert isinstance(read_period({"date": day, "start": start, "end": end}), (Period, Refusal))


@given(st.dates(), st.times(), st.times())
def test_both_sides_read_the_same_period(day: date, start: time, end: time) -> None:
    texts = (day.isoformat(), f"{start:%H:%M}", f"{end:%H:%M}")
    read = read_period(dict(zip(("date", "start", "end"), texts, strict=True)))
    assert isinstance(read, Period)
    if texts[1] < texts[2]:
        slot = read_slot(*texts)
        assert (slot.day, slot.start, slot.end, str(slot)) == (read.day, read.start, read.end, str(read))
    else:
        with pytest.raises(ArgumentWrong, match="要晚于"):
            read_slot(*texts)


@given(st.text(), st.text(), st.text())
def test_no_argument_breaks_the_reader_of_slots(day: str, start: str, end: str) -> None:
    with pytest.raises(ArgumentWrong) as caught:
        read_slot(day, start, end)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("slot", "words"),
    [
        (("明天", "09:00", "12:00"), "date 要写成 YYYY-MM-DD"),
        (("2026-02-30", "09:00", "12:00"), "没有 2026-02-30 这一天"),
        (("2026-12-1", "09:00", "12:00"), "date 要写成"),
        (("２０２６-12-01", "09:00", "12:00"), "date 要写成"),
        ((DAY.isoformat(), "9:00", "12:00"), "start 要写成 HH:MM"),
        ((DAY.isoformat(), "09:00:00", "12:00"), "start 要写成 HH:MM"),
        ((DAY.isoformat(), "09:00", "24:00"), "没有 24:00 这个时刻，请检查 end"),
        ((DAY.isoformat(), "12:00", "09:00"), "end（09:00）要晚于 start（12:00）"),
    ],
)
def test_a_wrong_argument_is_told_how_it_is_written(slot: tuple[str, str, str], words: str) -> None:
    with pytest.raises(ArgumentWrong, match=words):
        read_slot(*slot)


@pytest.mark.parametrize("text", ["", "  ", "a\nb", "a\u202eb", "座" * 81])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(ArgumentWrong):
        read_name("seat_id", text)


@given(st.text())
def test_foreign_text_becomes_one_plain_line(text: str) -> None:
    line = clean(text, 20)
    assert len(line) <= 20
    assert line.isprintable()
    assert line == line.strip()


def test_the_guide_for_drivers_shows_code_that_works() -> None:
    guide = (Path(__file__).parents[1] / "docs" / "driver.md").read_text("utf-8")
    [code] = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    names: dict[str, Any] = {"__name__": "shown"}
    exec(compile(code, "driver.md", "exec"), names)
    [seat] = names["read_seats"]('<table><tr class="seat free" id="A1"></table>')
    assert (seat.id, seat.free) == ("A1", True)
    with pytest.raises(PageUnreadable):
        names["read_seats"]("<p>something else")
    missing = {name for name in vars(Driver) if not name.startswith("_")} - set(vars(names["MyUniDriver"]))
    assert all(f" {name}" in code.rpartition("#")[2] for name in missing)
