"""Stretches of time around a day: Sunday, 29 November 2026."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.memory.periods import periods, spelled_out

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 29, 10, tzinfo=SHANGHAI)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("上周起不喝咖啡了", "2026-11-16", "2026-11-22"),
        ("下个月再开始", "2026-12-01", "2026-12-31"),
        ("年底前要搬家", "2026-12-31", "2026-12-31"),
        ("到下个月底", "2026-12-31", "2026-12-31"),
        ("下周三去北京", "2026-12-02", "2026-12-02"),
        ("明天下午三点面试", "2026-11-30", "2026-11-30"),
        ("去年搬的家", "2025-01-01", "2025-12-31"),
        ("三年前住北京", "2023-01-01", "2023-12-31"),
        ("两个月前开始的", "2026-09-01", "2026-09-30"),
        ("since 2020", "2020-01-01", "2020-12-31"),
        ("2024年5月入职", "2024-05-01", "2024-05-31"),
        ("last week I moved", "2026-11-16", "2026-11-22"),
        ("starting next month", "2026-12-01", "2026-12-31"),
        ("3 years ago", "2023-01-01", "2023-12-31"),
        ("12月5日交报告", "2026-12-05", "2026-12-05"),
    ],
)
def test_what_a_stretch_means(text: str, first: str, last: str) -> None:
    (found,) = periods(text, NOW, SHANGHAI)
    assert (found.first.isoformat(), found.last.isoformat()) == (first, last)


@pytest.mark.parametrize(
    "text",
    ["每周三健身", "早上7点起床", "每个月底", "每月底", "他前后来了两次", "版本 2024.05", "1024年", "99999 years ago"],
)
def test_what_is_none(text: str) -> None:
    assert periods(text, NOW, SHANGHAI) == ()


@pytest.mark.parametrize(
    ("text", "habit", "occasion"),
    [
        ("明天去体检", "2026-11-30去体检", "2026-11-30去体检"),
        ("周三不开会", "周三不开会", "2026-12-02不开会"),
        ("去年搬到杭州", "2025年搬到杭州", "2025年搬到杭州"),
        ("下个月开始跑步", "2026年12月开始跑步", "2026年12月开始跑步"),
        ("2024-05-01 入职", "2024-05-01 入职", "2024-05-01 入职"),
        ("interview tomorrow at 3pm", "interview 2026-11-30 15:00", "interview 2026-11-30 15:00"),
    ],
)
def test_relative_words_do_not_stay(text: str, habit: str, occasion: str) -> None:
    assert spelled_out(text, NOW, SHANGHAI) == habit
    assert spelled_out(text, NOW, SHANGHAI, every=True) == occasion


@given(st.text(alphabet="上下本这个周月年前天底三两12 03-/nextlasweko ago", max_size=30))
def test_nothing_breaks_it(text: str) -> None:
    found = periods(text, NOW, SHANGHAI)
    assert all(one.first <= one.last for one in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
