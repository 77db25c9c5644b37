"""Days and times in arguments, as the person said them."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from qingtuan.models.embedded.days import with_said_days, with_said_rule

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 12, 1, 9, 30, tzinfo=SHANGHAI)
"""A Tuesday."""


@pytest.mark.parametrize(
    ("words", "given", "right"),
    [
        ("明天早上八点提醒我", {"at": "2026-12-01T08:00"}, {"at": "2026-12-02T08:00"}),
        ("明天早上八点提醒我", {"at": "2026-12-02T08:00"}, {"at": "2026-12-02T08:00"}),
        ("明天早上八点提醒我", {"at": "2026-12-01T08:00:00+08:00"}, {"at": "2026-12-02T08:00"}),
        ("两小时后叫我", {"at": "2026-12-01T23:00"}, {"at": "2026-12-01T11:30"}),
        ("后天提醒我交房租", {"at": "2026-12-02T00:00"}, {"at": "2026-12-03T09:00"}),
        ("后天提醒我交房租", {"at": "2026-12-02T18:00"}, {"at": "2026-12-03T18:00"}),
        ("提醒我", {"at": "2026-12-05T18:00"}, {"at": "2026-12-05T18:00"}),
        ("明天提醒我周五交作业", {"at": "2026-12-02T09:00"}, {"at": "2026-12-02T09:00"}),
        ("明天提醒我周五交作业", {"at": "2026-12-04T09:00"}, {"at": "2026-12-04T09:00"}),
        ("明天提醒我周五交作业", {"at": "2026-12-09T09:00"}, {"at": "2026-12-02T09:00"}),
        (
            "明天上午9点到11点有座位吗",
            {"date": "2026-12-01", "start": "9:00", "end": "10:00"},
            {"date": "2026-12-02", "start": "09:00", "end": "11:00"},
        ),
        ("明天下午3点", {"date": "2026-12-01", "start": "09:00"}, {"date": "2026-12-02", "start": "15:00"}),
        ("", {"at": "明天下午三点"}, {"at": "2026-12-02T15:00"}),
        ("", {"date": "tomorrow"}, {"date": "2026-12-02"}),
        ("明天", {"text": "2026 年的计划", "days": 2}, {"text": "2026 年的计划", "days": 2}),
        ("明天", {"text": "明天见"}, {"text": "明天见"}),
    ],
)
def test_dates_are_those_that_were_said(words: str, given: dict[str, object], right: dict[str, object]) -> None:
    assert with_said_days(given, words, NOW, SHANGHAI) == right


@pytest.mark.parametrize(
    ("words", "given", "right"),
    [
        ("每天9点提醒我", "2026-12-02T09:00", ("FREQ=DAILY", "2026-12-02T09:00")),
        ("每天10点提醒我", "2026-12-02T10:00", ("FREQ=DAILY", "2026-12-01T10:00")),
        ("每周一 9 点", "2026-12-02T09:00", ("FREQ=WEEKLY;BYDAY=MO", "2026-12-07T09:00")),
        ("每月1号 9 点", "2026-12-01T09:00", ("FREQ=MONTHLY;BYMONTHDAY=1", "2027-01-01T09:00")),
    ],
)
def test_what_comes_again_begins_on_its_first_day(words: str, given: str, right: tuple[str, str]) -> None:
    changed = with_said_rule({"text": "x", "at": given}, words, NOW, SHANGHAI)
    assert (changed["rrule"], changed["at"]) == right


def test_a_reminder_that_comes_once_has_no_rule() -> None:
    given = {"text": "x", "at": "2026-12-02T09:00"}
    assert with_said_rule(given, "明天9点提醒我", NOW, SHANGHAI) == given
    assert with_said_rule({"text": "x", "at": "25:99"}, "每天", NOW, SHANGHAI)["at"] == "25:99"
