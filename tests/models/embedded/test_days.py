"""Days and times in arguments, as the person said them."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from qingtuan.models.embedded.days import with_said_days

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
