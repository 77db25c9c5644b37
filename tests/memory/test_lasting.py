"""From when until when, in people's words: said on Sunday, 29 November 2026."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.memory.lasting import Lasting, lasting, lasting_at, span_named

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 29, 10, tzinfo=SHANGHAI)


def told(text: str) -> list[str]:
    found = lasting(text, NOW, SHANGHAI)
    return [f"{day:%Y-%m-%d}" if day else "" for day in (found.since, found.until)]


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("上周起我不喝咖啡", "2026-11-16", ""),
        ("我从上周开始不喝咖啡", "2026-11-16", ""),
        ("下个月再开始跑步", "2026-12-01", ""),
        ("从下个月起改喝茶", "2026-12-01", ""),
        ("到六月底为止住在上海", "", "2027-06-30"),
        ("在上海住到六月底", "", "2027-06-30"),
        ("从明年开始吃素", "2027-01-01", ""),
        ("自从五月就不喝酒了", "2026-05-01", ""),
        ("从12月1日到12月5日住酒店", "2026-12-01", "2026-12-05"),
        ("下周三以后在家办公", "2026-12-02", ""),
        ("六月以后我在家办公", "2026-07-01", ""),
        ("六个月以后我在家办公", "", ""),
        ("周五之前都吃素", "", "2026-12-03"),
        ("2020年以前住北京", "", "2019-12-31"),
        ("接下来两周住酒店", "", "2026-12-12"),
        ("这周都吃素", "", "2026-11-29"),
        ("本月先不喝酒", "", "2026-11-30"),
        ("到下个月再说，先喝茶", "", ""),
        ("since May I drink tea", "2026-05-01", ""),
        ("I drink tea until Friday", "", "2026-12-04"),
        ("for the next two weeks I work from home", "", "2026-12-12"),
        ("starting next month I drink tea", "2026-12-01", ""),
        ("from Monday on I drink tea", "2026-11-30", ""),
        ("I lived in Rome from 2019 to 2021", "2019-01-01", "2021-12-31"),
        ("after next week I am back", "2026-12-07", ""),
        ("I am in Rome by the end of June", "", "2027-06-30"),
        # days that are neither
        ("下周三去北京", "", ""),
        ("我今年五岁", "", ""),
        ("去年搬到杭州", "", ""),
        ("去年的这个时候在杭州", "", ""),
        ("明天来到上海", "", ""),
        ("我的生日是5月3日", "", ""),
        ("in May I was in Rome", "", ""),
        ("不喝咖啡", "", ""),
    ],
)
def test_beginnings_and_ends(text: str, since: str, until: str) -> None:
    assert told(text) == [since, until]


@pytest.mark.parametrize(
    "text", ["以后叫我阿明", "从现在起喝茶", "我还是坐三楼吧", "from now on call me Al", "那以后坐二楼"]
)
def test_who_speaks_of_all_days_to_come(text: str) -> None:
    assert lasting(text, NOW, SHANGHAI) == Lasting(anew=True)


@pytest.mark.parametrize("text", ["放暑假以后坐二楼", "以后再说", "after the exam I drink tea"])
def test_who_does_not(text: str) -> None:
    assert lasting(text, NOW, SHANGHAI) == Lasting()


@pytest.mark.parametrize(
    ("text", "piece", "since", "until"),
    [
        ("从下个月起，我改喝茶，另外我不吃香菜", "喝茶", "2026-12-01", ""),
        ("从下个月起，我改喝茶，另外我不吃香菜", "不吃香菜", "", ""),
        ("我改喝茶，到年底为止。我不吃香菜", "喝茶", "", "2026-12-31"),
        ("我改喝茶，到年底为止。我不吃香菜", "不吃香菜", "", ""),
        ("我改喝茶，到年底为止，不过不吃香菜", "喝茶", "", ""),
        ("我上周起住酒店，下周起回家住", "住酒店", "2026-11-16", ""),
        ("我上周起住酒店，下周起回家住", "回家住", "2026-11-30", ""),
    ],
)
def test_days_are_those_of_the_piece_that_they_stand_with(text: str, piece: str, since: str, until: str) -> None:
    at = text.index(piece)
    found = lasting_at(text, at, at + len(piece), NOW, SHANGHAI)
    assert [f"{day:%Y-%m-%d}" if day else "" for day in (found.since, found.until)] == [since, until]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-06-20", "2026-06-20", "2026-06-20"),
        ("2026-06", "2026-06-01", "2026-06-30"),
        ("2025", "2025-01-01", "2025-12-31"),
        ("2025~2026-03", "2025-01-01", "2026-03-31"),
        ("2026-06-01 to 2026-06-20", "2026-06-01", "2026-06-20"),
        ("去年", "2025-01-01", "2025-12-31"),
        ("昨天", "2026-11-28", "2026-11-28"),
        ("六月的时候", "2026-06-01", "2026-06-30"),
        ("since May", "2026-05-01", "2026-05-31"),
        ("last week", "2026-11-16", "2026-11-22"),
    ],
)
def test_the_days_that_an_argument_names(text: str, first: str, last: str) -> None:
    assert span_named(text, NOW, SHANGHAI) == (date.fromisoformat(first), date.fromisoformat(last))


@pytest.mark.parametrize("text", ["", "茶", "放暑假", "2026-13", "2026-06-20~2026-06-01", "去年和明年"])
def test_what_names_none(text: str) -> None:
    assert span_named(text, NOW, SHANGHAI) is None


@given(
    st.text(alphabet="从自到上下个周月年起前后再都，。六12 ~sinceutlMayfrom-", max_size=30),
    st.integers(0, 30),
    st.integers(0, 30),
)
def test_nothing_breaks_it(text: str, start: int, length: int) -> None:
    for found in (lasting(text, NOW, SHANGHAI), lasting_at(text, start, start + length, NOW, SHANGHAI)):
        assert found.since is None or found.until is None or found.since <= found.until
    span = span_named(text, NOW, SHANGHAI)
    assert span is None or span[0] <= span[1]
