"""What was said later wins, and the days that people name are kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from qingtuan.clock import ManualClock
from qingtuan.ids import Ids
from qingtuan.memory.beliefs import Candidate, Same, Write, event_time
from qingtuan.memory.entries import held_on, is_current
from qingtuan.memory.wiki import edits
from tests.memory.scene import JUNE_20, SECOND_FLOOR, THIRD_FLOOR, Wiki, days, entries, find


@pytest.fixture
def wiki() -> Wiki:
    return Wiki()


# ------------------------------------------------------------------------- what was said when


def test_an_old_import_goes_straight_to_history(wiki: Wiki) -> None:
    """hindsight #2550 said "now prefers"."""
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(3))
    wiki.hear(THIRD_FLOOR, now=JUNE_20 + days(5))
    assert wiki.current() == ["优先二楼安静区"]
    assert wiki.past() == ["2026-06-20~2026-06-23：曾偏好三楼靠窗"]
    assert isinstance(wiki.hear(THIRD_FLOOR, now=JUNE_20 + days(6)), Same)


def test_imports_take_their_places_in_history(wiki: Wiki) -> None:
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(10))
    wiki.hear(THIRD_FLOOR, now=JUNE_20 + days(20))
    wiki.hear(THIRD_FLOOR, text="偏好一楼", value="一楼", said_at=JUNE_20 + days(4), now=JUNE_20 + days(20))
    wiki.hear(THIRD_FLOOR, text="偏好四楼", value="四楼", said_at=JUNE_20 - days(4), now=JUNE_20 + days(20))
    assert wiki.current() == ["优先二楼安静区"]
    assert wiki.past() == [
        "2026-06-24~2026-06-30：曾偏好一楼",
        "2026-06-20~2026-06-30：曾偏好三楼靠窗",
        "2026-06-16~2026-06-20：曾偏好四楼",
    ]


def test_an_import_of_what_is_believed_anyway_changes_nothing(wiki: Wiki) -> None:
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(3))
    assert isinstance(wiki.hear(SECOND_FLOOR, now=JUNE_20 + days(5)), Same)


def test_talk_from_before_does_not_bring_back_what_was_taken_back(wiki: Wiki) -> None:
    """Extraction comes late: what was said before "忘掉" must not be learnt after it, even on the same day."""
    wiki.hear(SECOND_FLOOR, source="evt_said")
    path = "preferences/图书馆.md"
    wiki.times["evt_forget"] = JUNE_20 + timedelta(minutes=5)
    wiki.pages[path] = edits.retired(wiki.pages[path], 1, JUNE_20.date(), "本人要求忘掉", JUNE_20.date(), "evt_forget")
    assert wiki.past() == ["2026-06-20~2026-06-20：曾优先二楼安静区（本人要求忘掉）"]
    late = JUNE_20 + timedelta(minutes=9)
    assert isinstance(wiki.hear(SECOND_FLOOR, now=late, source="evt_said"), Same)
    assert isinstance(wiki.hear(replace(SECOND_FLOOR, predicate=None, value=None), now=late, source="evt_said"), Same)
    assert wiki.current() == []
    assert isinstance(wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + timedelta(minutes=7), source="evt_again"), Write)
    assert wiki.current() == ["优先二楼安静区"]


def test_the_time_of_an_event_is_in_its_id() -> None:
    moment = datetime(2026, 6, 20, 1, 2, 3, tzinfo=UTC)
    assert event_time(Ids(ManualClock(moment)).event()) == moment
    assert event_time("evt_1") is None
    assert event_time("") is None


# ------------------------------------------------------------------------- days that people name


def test_since_last_week(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR)
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(20), since=date(2026, 7, 1))
    assert wiki.past() == ["2026-06-20~2026-07-01：曾偏好三楼靠窗"]


def test_a_day_before_the_old_value_ends_it_on_the_day_it_was_said(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR)
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(2), since=date(2026, 6, 1))
    assert wiki.past() == ["2026-06-20~2026-06-22：曾偏好三楼靠窗"]


def test_from_next_month_is_not_yet_current(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR)
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(1), since=date(2026, 7, 1))
    old, new = find(wiki.pages, 1), find(wiki.pages, 2)
    assert old
    assert new
    today, eve, first = date(2026, 6, 21), date(2026, 6, 30), date(2026, 7, 1)
    assert [is_current(old.belief, day) for day in (today, eve, first)] == [True, True, False]
    assert [is_current(new.belief, day) for day in (today, eve, first)] == [False, False, True]
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(40), text="坐一楼", value="一楼")
    assert wiki.current() == ["坐一楼"]
    assert wiki.past() == ["2026-06-20~2026-06-30：曾偏好三楼靠窗", "2026-07-01~2026-07-30：曾优先二楼安静区"]


def test_a_plan_that_is_dropped_never_began(wiki: Wiki) -> None:
    wiki.hear(SECOND_FLOOR, since=date(2026, 8, 1))
    wiki.hear(THIRD_FLOOR, said_at=JUNE_20 + days(1), since=date(2026, 7, 1))
    assert wiki.current() == ["偏好三楼靠窗"]
    assert wiki.past() == ["2026-06-21~2026-06-21：曾优先二楼安静区"]


def test_a_plan_that_begins_earlier(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR)
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(1), since=date(2026, 7, 1))
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(3))
    assert [entry.belief.text for entry in entries(wiki.pages) if is_current(entry.belief, date(2026, 6, 23))] == [
        "优先二楼安静区"
    ]
    assert wiki.past() == ["2026-06-20~2026-06-23：曾偏好三楼靠窗"]


def test_what_is_over_is_history_at_once(wiki: Wiki) -> None:
    home = Candidate("住在杭州", JUNE_20, "profile", predicate="住址", value="杭州")
    wiki.hear(home)
    wiki.hear(
        home, said_at=JUNE_20 + days(1), text="住在北京", value="北京", since=date(2019, 1, 1), until=date(2021, 1, 1)
    )
    assert wiki.current() == ["住在杭州"]
    assert wiki.past() == ["2019-01-01~2021-01-01：曾住在北京"]


def test_an_end_that_is_named_later(wiki: Wiki) -> None:
    wiki.hear(SECOND_FLOOR)
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(1), until=date(2026, 6, 26))
    entry = find(wiki.pages, 1)
    assert entry
    assert is_current(entry.belief, date(2026, 6, 26))
    assert not is_current(entry.belief, date(2026, 6, 27))
    # said again after it was over: a second interval
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(10))
    assert wiki.current() == ["优先二楼安静区"]
    assert wiki.past() == ["2026-06-20~2026-06-26：曾优先二楼安静区"]


def test_what_ended_yesterday_goes_to_history(wiki: Wiki) -> None:
    wiki.hear(SECOND_FLOOR)
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(9), until=date(2026, 6, 28))
    assert wiki.current() == []
    assert wiki.past() == ["2026-06-20~2026-06-28：曾优先二楼安静区"]


def test_what_held_on_a_day(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR)
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(3))
    held = {
        day: [entry.belief.text for entry in entries(wiki.pages) if held_on(entry.belief, date(2026, 6, day))]
        for day in (19, 21, 24)
    }
    assert held == {19: [], 21: ["2026-06-20~2026-06-23：曾偏好三楼靠窗"], 24: ["优先二楼安静区"]}
