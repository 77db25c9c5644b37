"""Ids sort by time, and so lead to the events of a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from qingtuan.clock import ManualClock
from qingtuan.ids import Ids, first_event_id

START = datetime(2026, 11, 29, 2, tzinfo=UTC)


def test_ids_of_one_maker_only_grow_even_when_the_clock_goes_back() -> None:
    clock = ManualClock(START)
    ids = Ids(clock)
    made = [ids.event()]
    for seconds in (0, 5, -60, 1):
        clock.advance(timedelta(seconds=seconds))
        made.append(ids.event())
    assert made == sorted(set(made))


@given(st.integers(0, 10**7), st.integers(1, 10**7))
def test_the_first_id_of_a_moment_stands_between_what_came_before_and_after(moment: int, later: int) -> None:
    before = Ids(ManualClock(START + timedelta(milliseconds=moment))).event()
    after = Ids(ManualClock(START + timedelta(milliseconds=moment + later))).event()
    border = first_event_id(START + timedelta(milliseconds=moment + later))
    assert before < border <= after
