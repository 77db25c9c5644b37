"""Stretches of the past as people name them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.errors import UsageWrong
from qingtuan.memory.stretches import stretch

ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 29, 2, tzinfo=UTC)
"""Sunday, ten in the morning in Shanghai."""


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("", "2026-11-23~2026-11-29"),
        ("昨天", "2026-11-28"),
        ("yesterday", "2026-11-28"),
        ("今天", "2026-11-29"),
        ("前天", "2026-11-27"),
        ("上周", "2026-11-16~2026-11-22"),
        ("last week", "2026-11-16~2026-11-22"),
        ("本周", "2026-11-23~2026-11-29"),
        ("上个月", "2026-10-01~2026-10-31"),
        ("2026-06", "2026-06-01~2026-06-30"),
        ("2026年6月", "2026-06-01~2026-06-30"),
        ("6月", "2026-06-01~2026-06-30"),
        ("12月", "2025-12-01~2025-12-31"),
        ("11月", "2026-11-01~2026-11-29"),
        ("去年", "2025-01-01~2025-12-31"),
        ("2026-06-23", "2026-06-23"),
        ("2026-06-20~2026-06-23", "2026-06-20~2026-06-23"),
        ("2026-06-20 到 2026-06-23", "2026-06-20~2026-06-23"),
        ("6月20日", "2026-06-20"),
        ("周三", "2026-11-25"),
        ("30d", "2026-10-31~2026-11-29"),
        ("3天", "2026-11-27~2026-11-29"),
        ("最近三天", "2026-11-27~2026-11-29"),
        ("两周", "2026-11-16~2026-11-29"),
        ("最近一个月", "2026-10-31~2026-11-29"),
        ("last 3 days", "2026-11-27~2026-11-29"),
        ("all", "2000-01-01~2026-11-29"),
    ],
)
def test_what_is_meant(text: str, days: str) -> None:
    assert str(stretch(text, NOW, ZONE)) == days


@pytest.mark.parametrize("text", ["随便", "明天", "明年", "2027-06", "1", "x" * 200, "13月"])
def test_what_names_none(text: str) -> None:
    with pytest.raises(UsageWrong):
        stretch(text, NOW, ZONE)


def test_days_are_those_of_the_person() -> None:
    late = datetime(2026, 11, 28, 17, tzinfo=UTC)  # Sunday, one in the morning in Shanghai
    found = stretch("昨天", late, ZONE)
    assert (found.first, found.since.isoformat()) == (date(2026, 11, 28), "2026-11-28T00:00:00+08:00")
    assert found.until.isoformat() == "2026-11-29T00:00:00+08:00"


@given(st.text(max_size=20) | st.from_regex(r"[0-9]{1,6}[dwmy天周月年]", fullmatch=True))
def test_no_text_breaks_it(text: str) -> None:
    try:
        found = stretch(text, NOW, ZONE)
    except UsageWrong:
        return
    assert found.first <= found.last <= date(2026, 11, 29)
