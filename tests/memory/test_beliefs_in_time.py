"""What was said later wins, and the days that people name are kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from qingtuan.clock import ManualClock
from qingtuan.ids import Ids
from qingtuan.memory.beliefs import Candidate, Same, Write, event_time
from qingtuan.memory.entries import held_on, is_current
from qingtuan.memory.wiki import edits
from qingtuan.memory.wiki.days import rough
from tests.memory.scene import JUNE_20, SECOND_FLOOR, SHANGHAI, THIRD_FLOOR, Wiki, days, entries, find


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
        "2026-06-20~2026-06-24：曾偏好三楼靠窗",
        "2026-06-16~2026-06-20：曾偏好四楼",
    ]


def test_an_import_of_what_is_believed_anyway_tells_only_since_when(wiki: Wiki) -> None:
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(3))
    wiki.hear(SECOND_FLOOR, now=JUNE_20 + days(5))
    assert [(entry.belief.text, entry.data.since) for entry in entries(wiki.pages)] == [
        ("优先二楼安静区", date(2026, 6, 20))
    ]
    assert isinstance(wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(2), now=JUNE_20 + days(6)), Same)


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
    assert wiki.past() == ["2026-06-21：曾打算从 2026-08-01 起：优先二楼安静区"]
    (dropped,) = (entry.belief for entry in entries(wiki.pages) if not entry.belief.current)
    assert dropped.statement == "优先二楼安静区"
    assert not any(held_on(dropped, JUNE_20.date() + days(count)) for count in range(60))


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


# ------------------------------------------------------------------------- for a while, and late


def test_what_is_for_a_while_gives_way_to_what_held_before(wiki: Wiki) -> None:
    """二楼装修, so for two weeks it is the third floor: nobody has to say again what they like."""
    wiki.hear(SECOND_FLOOR)
    wiki.hear(THIRD_FLOOR, said_at=JUNE_20 + days(4), until=date(2026, 7, 8))
    page = wiki.pages["preferences/图书馆.md"]
    assert page.body == (
        "# 图书馆\n\n## 当前\n- 优先二楼安静区 ^1\n- 偏好三楼靠窗 ^2\n\n"
        "## 历史\n- 2026-06-20~2026-06-24：曾优先二楼安静区 ^3"
    )
    current = {
        day: [entry.belief.text for entry in entries(wiki.pages) if is_current(entry.belief, day)]
        for day in (date(2026, 6, 24), date(2026, 7, 8), date(2026, 7, 9), date(2027, 1, 1))
    }
    assert list(current.values()) == [["偏好三楼靠窗"], ["偏好三楼靠窗"], ["优先二楼安静区"], ["优先二楼安静区"]]
    # the next statement about it takes to history what is over
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(40), text="坐一楼", value="一楼")
    assert wiki.current() == ["坐一楼"]
    assert wiki.past() == [
        "2026-06-24~2026-07-08：曾偏好三楼靠窗",
        "2026-07-09~2026-07-30：曾优先二楼安静区",
        "2026-06-20~2026-06-24：曾优先二楼安静区",
    ]


def test_a_while_that_is_announced(wiki: Wiki) -> None:
    wiki.hear(SECOND_FLOOR)
    wiki.hear(THIRD_FLOOR, said_at=JUNE_20 + days(1), since=date(2026, 7, 1), until=date(2026, 7, 8))
    holding = [
        [entry.belief.text for entry in entries(wiki.pages) if is_current(entry.belief, date(2026, month, day))]
        for month, day in ((6, 30), (7, 1), (7, 8), (7, 9))
    ]
    assert holding == [["优先二楼安静区"], ["偏好三楼靠窗"], ["偏好三楼靠窗"], ["优先二楼安静区"]]
    assert wiki.past() == []


def test_an_import_within_an_interval_parts_it(wiki: Wiki) -> None:
    wiki.hear(SECOND_FLOOR)
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(20), text="坐一楼", value="一楼")
    wiki.hear(THIRD_FLOOR, said_at=JUNE_20 + days(4), until=date(2026, 6, 26), now=JUNE_20 + days(30))
    assert wiki.current() == ["坐一楼"]
    assert wiki.past() == [
        "2026-06-27~2026-07-10：曾优先二楼安静区",
        "2026-06-24~2026-06-26：曾偏好三楼靠窗",
        "2026-06-20~2026-06-24：曾优先二楼安静区",
    ]


def test_what_was_said_again_since_stands_against_an_import(wiki: Wiki) -> None:
    """Saying the same again changes no page; all the same it is what was said last."""
    wiki.hear(SECOND_FLOOR)
    assert isinstance(wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(8)), Same)
    wiki.hear(THIRD_FLOOR, said_at=JUNE_20 + days(4), now=JUNE_20 + days(9))
    assert wiki.current() == ["优先二楼安静区"]
    assert wiki.past() == [
        "2026-06-24~2026-06-28：曾偏好三楼靠窗",
        "2026-06-20~2026-06-24：曾优先二楼安静区",
    ]
    (current,) = (entry for entry in entries(wiki.pages) if entry.belief.current)
    assert (current.number, current.data.since) == (1, date(2026, 6, 28))


def test_imports_of_one_day_stand_in_the_order_in_which_they_were_said(wiki: Wiki) -> None:
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + timedelta(hours=9))
    for hour, floor in ((3, "三"), (1, "四"), (2, "五")):
        said_at = JUNE_20 + timedelta(hours=hour)
        wiki.hear(THIRD_FLOOR, text=f"坐{floor}楼", value=f"{floor}楼", said_at=said_at, now=JUNE_20 + days(2))
    assert wiki.past() == [f"2026-06-20~2026-06-20：曾坐{floor}楼" for floor in "三五四"]


def test_what_is_known_of_a_plan_is_not_forgotten_over_what_holds_now(wiki: Wiki) -> None:
    """Who says in June that they live in Wuhan does not take back that they move to Shanghai in July."""
    home = Candidate("住在上海", JUNE_20, "profile", predicate="住址", value="上海", since=date(2026, 7, 1))
    wiki.hear(home)
    wiki.hear(home, said_at=JUNE_20 + days(1), text="住在武汉", value="武汉", since=None)
    assert isinstance(wiki.hear(home, said_at=JUNE_20 + days(2), text="住在武汉", value="武汉", since=None), Same)
    assert [
        [entry.belief.text for entry in entries(wiki.pages) if is_current(entry.belief, day)]
        for day in (date(2026, 6, 30), date(2026, 7, 1))
    ] == [["住在武汉"], ["住在上海"]]
    # but who says it of all days to come does
    wiki.hear(home, said_at=JUNE_20 + days(3), text="还是住在武汉", value="武汉", since=date(2026, 6, 23))
    assert wiki.current() == ["住在武汉"]
    assert wiki.past() == ["2026-06-23：曾打算从 2026-07-01 起：住在上海"]
    entry = find(wiki.pages, 2)
    assert entry
    assert entry.data.until is None


def test_an_end_without_a_beginning_touches_nothing_else(wiki: Wiki) -> None:
    home = Candidate("住在杭州", JUNE_20, "profile", predicate="住址", value="杭州")
    wiki.hear(home)
    wiki.hear(home, said_at=JUNE_20 + days(5), text="住在北京", value="北京", until=date(2026, 6, 18))
    wiki.hear(home, said_at=JUNE_20 + days(6), text="住在武汉", value="武汉", until=date(2026, 6, 21))
    assert wiki.current() == ["住在杭州"]
    assert sorted(wiki.past()) == ["?~2026-06-18：曾住在北京", "?~2026-06-21：曾住在武汉"]
    # of what holds now it tells when it ended
    wiki.hear(home, said_at=JUNE_20 + days(9), until=date(2026, 6, 28))
    assert wiki.current() == []
    assert "2026-06-20~2026-06-28：曾住在杭州" in wiki.past()


def test_months_and_years_stand_in_pages_as_months_and_years(wiki: Wiki) -> None:
    year, month = (rough(date(2025, 1, 1), date(2025, 12, 31))[0], rough(date(2026, 3, 1), date(2026, 3, 31))[1])
    home = Candidate("住在北京", JUNE_20, "profile", predicate="住址", value="北京", since=year, until=month)
    wiki.hear(home)
    assert wiki.past() == ["2025~2026-03：曾住在北京"]
    (belief,) = (entry.belief for entry in entries(wiki.pages))
    held = [held_on(belief, date(2024, 12, 31)), held_on(belief, date(2025, 6, 1)), held_on(belief, date(2026, 3, 31))]
    assert held == [False, True, True]
    assert not held_on(belief, date(2026, 4, 1))
    wiki.hear(home, text="住在武汉", value="武汉", since=rough(date(2026, 4, 1), date(2026, 4, 30))[0], until=None)
    wiki.hear(home, said_at=JUNE_20 + days(1), text="住在上海", value="上海", since=None, until=None)
    assert wiki.past()[0] == "2026-04~2026-06-21：曾住在武汉"


# ------------------------------------------------------------------------- several at a time


def test_occasions_stand_beside_each_other_and_one_that_is_moved_takes_the_place_of_the_other(wiki: Wiki) -> None:
    trip = Candidate(
        "去北京", JUNE_20, "event", "出差", predicate="出差", value="北京", until=date(2026, 6, 24), many=True
    )
    wiki.hear(trip)
    wiki.hear(trip, said_at=JUNE_20 + days(1), text="去上海", value="上海", until=date(2026, 7, 2))
    assert wiki.current() == ["去北京", "去上海"]
    wiki.hear(trip, said_at=JUNE_20 + days(8), text="改去广州", value="广州", until=date(2026, 7, 2), stands="instead")
    assert wiki.current() == ["去北京", "改去广州"]
    assert wiki.past() == ["2026-06-21~2026-06-28：曾去上海"]


# ------------------------------------------------------------------------- where days are counted


def test_whoever_travels_west_keeps_what_they_said(wiki: Wiki) -> None:
    """It is the day before there; what was said to hold holds."""
    wiki.hear(SECOND_FLOOR, said_at=datetime(2026, 6, 21, 8, tzinfo=SHANGHAI))
    wiki.zone = ZoneInfo("America/Los_Angeles")
    there = datetime(2026, 6, 21, 10, tzinfo=SHANGHAI).astimezone(wiki.zone)
    (entry,) = entries(wiki.pages)
    assert there.date() == date(2026, 6, 20)
    assert is_current(entry.belief, there.date())
    wiki.hear(THIRD_FLOOR, said_at=there)
    assert wiki.current() == ["偏好三楼靠窗"]
    assert wiki.past() == ["2026-06-20~2026-06-20：曾优先二楼安静区"]


def test_whoever_travels_east_plans_by_their_own_days(wiki: Wiki) -> None:
    wiki.zone = ZoneInfo("America/Los_Angeles")
    said_at = datetime(2026, 6, 20, 22, tzinfo=wiki.zone)
    wiki.hear(THIRD_FLOOR, said_at=said_at)
    wiki.hear(SECOND_FLOOR, said_at=said_at, since=date(2026, 6, 22))
    planned = find(wiki.pages, 2)
    assert planned
    assert not is_current(planned.belief, said_at.astimezone(ZoneInfo("Asia/Shanghai")).date())
    assert is_current(planned.belief, date(2026, 6, 22))


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/Los_Angeles", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_the_day_of_a_statement_is_that_of_the_persons_zone(zone: str) -> None:
    moment = datetime(2026, 6, 20, 10, 30, tzinfo=UTC)
    wiki = Wiki(zone=ZoneInfo(zone))
    wiki.hear(THIRD_FLOOR, said_at=moment)
    wiki.hear(SECOND_FLOOR, said_at=moment + timedelta(minutes=1), since=moment.astimezone(wiki.zone).date() + days(1))
    today = moment.astimezone(wiki.zone).date()
    assert today.day == {"Pacific/Kiritimati": 21, "Pacific/Pago_Pago": 19}.get(zone, 20)
    old, new = entries(wiki.pages)
    assert (old.data.since, old.data.until, new.data.since) == (today, today, today + days(1))
    assert (is_current(old.belief, today), is_current(new.belief, today)) == (True, False)
    assert (is_current(old.belief, today + days(1)), is_current(new.belief, today + days(1))) == (False, True)


@pytest.mark.parametrize(("month", "day"), [(3, 14), (11, 1)])
def test_a_day_has_23_or_25_hours_where_the_clocks_change(wiki: Wiki, month: int, day: int) -> None:
    wiki.zone = ZoneInfo("America/Los_Angeles")
    for hour, (candidate, minute) in zip((0, 23), ((THIRD_FLOOR, 5), (SECOND_FLOOR, 55)), strict=True):
        wiki.hear(candidate, said_at=datetime(2026, month, day, hour, minute, tzinfo=wiki.zone).astimezone(UTC))
    assert wiki.past() == [f"2026-{month:02}-{day:02}~2026-{month:02}-{day:02}：曾偏好三楼靠窗"]
    wiki.hear(THIRD_FLOOR, said_at=datetime(2026, month, day, 23, 59, 59, tzinfo=wiki.zone) + timedelta(seconds=2))
    assert wiki.past()[0] == f"2026-{month:02}-{day:02}~2026-{month:02}-{day + 1:02}：曾优先二楼安静区"


def test_what_held_on_a_day(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR)
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(3))
    held = {
        day: [entry.belief.text for entry in entries(wiki.pages) if held_on(entry.belief, date(2026, 6, day))]
        for day in (19, 21, 24)
    }
    assert held == {19: [], 21: ["2026-06-20~2026-06-23：曾偏好三楼靠窗"], 24: ["优先二楼安静区"]}
