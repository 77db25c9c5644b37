"""Days, months and years as people write them into pages."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.memory.wiki.bullets import interval_of, past_label
from qingtuan.memory.wiki.data_comment import BeliefData, read_line, write_line
from qingtuan.memory.wiki.days import first_of, last_of, rough
from qingtuan.memory.wiki.page import parse


@pytest.mark.parametrize(
    ("text", "first", "last", "written"),
    [
        ("2026-06-23", date(2026, 6, 23), date(2026, 6, 23), "2026-06-23"),
        ("2026/6/3", date(2026, 6, 3), date(2026, 6, 3), "2026-06-03"),
        ("2026年6月23日", date(2026, 6, 23), date(2026, 6, 23), "2026-06-23"),
        ("2026-06", date(2026, 6, 1), date(2026, 6, 30), "2026-06"),
        ("2024年2月", date(2024, 2, 1), date(2024, 2, 29), "2024-02"),
        ("2025", date(2025, 1, 1), date(2025, 12, 31), "2025"),
        ("2025年", date(2025, 1, 1), date(2025, 12, 31), "2025"),
    ],
)
def test_what_a_day_a_month_or_a_year_begins_and_ends_with(text: str, first: date, last: date, written: str) -> None:
    assert (first_of(text), last_of(text)) == (first, last)
    assert [str(first_of(text)), f"{last_of(text)}"] == [written, written]


@pytest.mark.parametrize("text", ["", "?", "2026-13", "2026-02-30", "26-06", "2026-06-", "0000", "去年"])
def test_what_is_none(text: str) -> None:
    assert first_of(text) is last_of(text) is None


@given(st.dates(date(1, 1, 1), date(9999, 11, 30)), st.integers(0, 400))
def test_only_whole_months_and_years_are_rough(first: date, length: int) -> None:
    last = first + timedelta(days=min(length, (date.max - first).days))
    ends = rough(first, last)
    assert ends == (first, last)
    if ends[0].isoformat() != first.isoformat():
        assert (first_of(str(ends[0])), last_of(str(ends[1]))) == (first, last)
    assert (ends[0] + timedelta(days=1)).isoformat() == (first + timedelta(days=1)).isoformat()


@pytest.mark.parametrize(
    ("text", "since", "until", "statement"),
    [
        ("2026-06-20~2026-06-23：曾偏好三楼靠窗", "2026-06-20", "2026-06-23", "偏好三楼靠窗"),
        ("2026-06-20 ～ 2026-06-23: 偏好三楼", "2026-06-20", "2026-06-23", "偏好三楼"),
        ("2025~2026-03: 住北京", "2025", "2026-03", "住北京"),
        ("2025-2026：住北京", "2025", "2026", "住北京"),
        ("2025-03 – 2025-09: lived in Paris", "2025-03", "2025-09", "lived in Paris"),
        ("2025年3月到2025年9月：住巴黎", "2025-03", "2025-09", "住巴黎"),
        ("2025-03 to 2025-09: lived in Paris", "2025-03", "2025-09", "lived in Paris"),
        ("2025~2026-03 住北京", "2025", "2026-03", "住北京"),
        ("（2025~2026）住北京", "2025", "2026", "住北京"),
        ("[2025~2026]: 住北京", "2025", "2026", "住北京"),
        ("住北京（2025~2026-03）", "2025", "2026-03", "住北京"),
        ("lived in Paris (until 2026-01)", None, "2026-01", "lived in Paris"),
        ("until 2026-01: was: in Paris", None, "2026-01", "in Paris"),
        ("until 2026-01 lived in Paris", None, "2026-01", "lived in Paris"),
        ("到 2026-01 为止：住北京", None, "2026-01", "住北京"),
        ("2026-01 之前：住北京", None, "2026-01", "住北京"),
        ("~2026-01：住北京", None, "2026-01", "住北京"),
        ("?~2026-01-03：曾住北京", None, "2026-01-03", "住北京"),
        ("2025~?：住北京", "2025", None, "住北京"),
        ("2026-06-20：坐过三楼", "2026-06-20", "2026-06-20", "坐过三楼"),
        ("2026-06：坐三楼", "2026-06", "2026-06", "坐三楼"),
        ("2026-06-21：曾打算从 2026-08 起：坐二楼", "2026-08", "2026-06-21", "坐二楼"),
        ("2026-06-21: planned from 2026-08-01 on: tea", "2026-08-01", "2026-06-21", "tea"),
    ],
)
def test_histories_as_people_write_them(text: str, since: str | None, until: str | None, statement: str) -> None:
    found = interval_of(text)
    assert found
    told = [None if day is None else str(day) for day in (found.since, found.until)]
    assert (*told, found.statement) == (since, until, statement)


@pytest.mark.parametrize(
    "text",
    [
        "住北京",
        "2001: A Space Odyssey",
        "1024~2048：内存",
        "2026-13~2026-14：住北京",
        "2026-06-20~2026-06-23：",
        "2025~2026",
        "电话 010-2025-2026",
        "看过 1984（乔治·奥威尔）",
        "到 2026 年底再说",
    ],
)
def test_what_is_no_interval(text: str) -> None:
    assert interval_of(text) is None


@given(
    st.one_of(st.none(), st.dates(date(1900, 1, 1), date(2199, 12, 31))),
    st.dates(date(1900, 1, 1), date(2199, 12, 31)),
    st.sampled_from(["住北京", "我喜欢茶", "曾祖父姓李", "likes tea", "a：b", "（1）茶"]),
    st.sampled_from(["zh", "en"]),
)
def test_what_we_write_is_read_again(since: date | None, until: date, statement: str, language: str) -> None:
    found = interval_of(past_label(since, until, statement, "zh" if language == "zh" else "en") + statement)
    assert found
    assert (found.since, found.until) == (since, until)
    assert found.statement.removeprefix("曾") == statement.removeprefix("曾")


def test_the_comment_keeps_months_and_years_as_they_are() -> None:
    line = read_line("3: {s: 我, p: 住址, v: 北京, since: 2025, until: 2026-03}")
    assert line
    assert (line.data.since, line.data.until) == (date(2025, 1, 1), date(2026, 3, 31))
    assert "since: 2025, until: 2026-03," in write_line(3, line.data, "住北京")
    again = read_line(write_line(3, line.data, "住北京"))
    assert again
    assert again.data == line.data
    odd = read_line("3: {since: soon, until: true}")
    assert odd
    assert (odd.data.since, odd.data.until) == (None, None)
    assert odd.data.more == {"since": "soon", "until": True}
    planned = BeliefData(since=date(2026, 8, 1), plan=True)
    read = read_line(write_line(1, planned, "x"))
    assert read
    assert read.data == planned


def test_days_in_a_line_of_history_are_those_that_count() -> None:
    """A person put the days right by hand: the comment still has the old ones."""
    page = parse(
        "## 历史\n- 2025~2026-03: 住北京 ^3\n<!-- qingtuan\n3: {since: 2026-01-01, until: 2026-02-01}\n-->\n".encode()
    )
    (belief,) = page.beliefs
    assert (belief.data.since, belief.data.until) == (date(2025, 1, 1), date(2026, 3, 31))
    assert belief.statement == "住北京"
