"""Stretches of time around a day: Sunday, 29 November 2026."""

from __future__ import annotations

from datetime import date, datetime
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
        # months and days without a year
        ("从五月起不喝酒", "2026-05-01", "2026-05-31"),
        ("五月起不喝酒", "2026-05-01", "2026-05-31"),
        ("一月份开始健身", "2027-01-01", "2027-01-31"),
        ("自一月以来一直健身", "2026-01-01", "2026-01-31"),
        ("到六月底为止都住这", "2027-06-30", "2027-06-30"),
        ("六月的时候我喜欢坐哪", "2026-06-01", "2026-06-30"),
        ("11月的时候", "2026-11-01", "2026-11-30"),
        ("等到11月底", "2026-11-30", "2026-11-30"),
        ("十二月初搬家", "2026-12-01", "2026-12-10"),
        ("去年六月住哪", "2025-06-01", "2025-06-30"),
        ("明年三月底到期", "2027-03-31", "2027-03-31"),
        ("2024年5月底入职", "2024-05-31", "2024-05-31"),
        ("今年下半年在上海", "2026-07-01", "2026-12-31"),
        ("年初换的工作", "2026-01-01", "2026-01-31"),
        ("6月20日搬家了", "2026-06-20", "2026-06-20"),
        ("自从6月20日就吃素", "2026-06-20", "2026-06-20"),
        ("1月5日就要考试了", "2027-01-05", "2027-01-05"),
        ("12月5日别忘了交报告", "2026-12-05", "2026-12-05"),
        ("接下来两周住酒店", "2026-11-29", "2026-12-12"),
        ("未来三个月不喝酒", "2026-11-29", "2027-02-27"),
        ("过去两周吃素", "2026-11-16", "2026-11-29"),
        ("since May", "2026-05-01", "2026-05-31"),
        ("until May", "2027-05-01", "2027-05-31"),
        ("until Friday", "2026-12-04", "2026-12-04"),
        ("since June 20", "2026-06-20", "2026-06-20"),
        ("I moved on June 20", "2026-06-20", "2026-06-20"),
        ("the exam is on January 5", "2027-01-05", "2027-01-05"),
        ("last May I was in Rome", "2026-05-01", "2026-05-31"),
        ("next January", "2027-01-01", "2027-01-31"),
        ("in March 2024 I quit", "2024-03-01", "2024-03-31"),
        ("until the end of June", "2027-06-30", "2027-06-30"),
        ("by the end of next month", "2026-12-31", "2026-12-31"),
        ("for the next two weeks", "2026-11-29", "2026-12-12"),
        ("over the past 3 months", "2026-08-30", "2026-11-29"),
        ("before 2020", "2020-01-01", "2020-12-31"),
        ("from 2019 to 2021 I lived in Rome", "2019-01-01", "2021-12-31"),
    ],
)
def test_what_a_stretch_means(text: str, first: str, last: str) -> None:
    (found,) = periods(text, NOW, SHANGHAI)
    assert (found.first, found.last) == (date.fromisoformat(first), date.fromisoformat(last))


@pytest.mark.parametrize(
    "text",
    [
        *("每周三健身", "早上7点起床", "每个月底", "每月底", "他前后来了两次", "版本 2024.05", "1024年"),
        *("99999 years ago", "三个月", "五月天的歌", "十月革命", "you may call me", "March on", "第3月", "每年上半年"),
        *("明日方舟", "今日头条", "先天和后天", "昨日重现"),
    ],
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
        ("六月起喝茶", "2026年6月起喝茶", "2026年6月起喝茶"),
        ("since May I drink tea", "since 2026-05 I drink tea", "since 2026-05 I drink tea"),
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
