"""Words for days and times, as Chinese and English speakers use them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qingtuan.dates import mentions, resolve, table
from qingtuan.language import Language

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 12, 1, 9, 30, tzinfo=SHANGHAI)
"""A Tuesday."""

MOMENTS = {
    "明天早上八点提醒我交作业": "2026-12-02 08:00",
    "后天下午三点": "2026-12-03 15:00",
    "今晚8点": "2026-12-01 20:00",
    "明早七点半叫我": "2026-12-02 07:30",
    "明天晚上十一点": "2026-12-02 23:00",
    "晚上12点": "2026-12-02 00:00",
    "明晚一点": "2026-12-03 01:00",
    "中午一点": "2026-12-01 13:00",
    "正午12点": "2026-12-01 12:00",
    "凌晨1点": "2026-12-02 01:00",
    "明天凌晨12点": "2026-12-02 00:00",
    "半夜11点": "2026-12-01 23:00",
    "早8点": "2026-12-02 08:00",
    "上午十点": "2026-12-01 10:00",
    "上午十点二楼见": "2026-12-01 10:00",
    "上午十点二十": "2026-12-01 10:20",
    "上午10点05": "2026-12-01 10:05",
    "上午十点零五": "2026-12-01 10:05",
    "上午十点五分": "2026-12-01 10:05",
    "下周三下午两点一刻": "2026-12-09 14:15",
    "周二下午3点": "2026-12-01 15:00",
    "周二上午8点": "2026-12-08 08:00",
    "这周五 18:30": "2026-12-04 18:30",
    "8点提醒我": "2026-12-01 20:00",
    "10点提醒我": "2026-12-01 10:00",
    "明天3点": "2026-12-02 15:00",
    "明天9点": "2026-12-02 09:00",
    "08:15": "2026-12-02 08:15",
    "12月5日下午2点": "2026-12-05 14:00",
    "2027-01-02T08:00": "2027-01-02 08:00",
    "两小时后叫我起床": "2026-12-01 11:30",
    "半小时后": "2026-12-01 10:00",
    "一个半小时之后": "2026-12-01 11:00",
    "过20分钟提醒我": "2026-12-01 09:50",
    "1小时15分钟后": "2026-12-01 10:45",
    "一刻钟后": "2026-12-01 09:45",
    "next Friday at 3pm": "2026-12-11 15:00",
    "at 3:20 p.m. tomorrow": "2026-12-02 15:20",
    "tomorrow at 9": "2026-12-02 09:00",
    "tonight at 8": "2026-12-01 20:00",
    "tomorrow morning at 7": "2026-12-02 07:00",
    "in two hours": "2026-12-01 11:30",
    "in half an hour": "2026-12-01 10:00",
    "in an hour and a half": "2026-12-01 11:00",
    "20 minutes from now": "2026-12-01 09:50",
    "24th of December at noon": "2026-12-24 12:00",
    "remind me at 7": "2026-12-01 19:00",
    "Friday at midnight": "2026-12-05 00:00",
    "at 11 o'clock": "2026-12-01 11:00",
    "12am": "2026-12-02 00:00",
}
DAYS = {
    "明天": "2026-12-02",
    "大后天": "2026-12-04",
    "昨天": "2026-11-30",
    "前天的事": "2026-11-29",
    "周五不要给我安排会议": "2026-12-04",
    "周二": "2026-12-01",
    "下周日": "2026-12-13",
    "上周五": "2026-11-27",
    "周末去爬山": "2026-12-05",
    "下下个星期一": "2026-12-14",
    "三天后": "2026-12-04",
    "两周后": "2026-12-15",
    "一个月后": "2027-01-01",
    "12月25日": "2026-12-25",
    "3月8号": "2027-03-08",
    "明年三月五日": "2027-03-05",
    "8号": "2026-12-08",
    "下个月3号": "2027-01-03",
    "我生日是2月29日": "2028-02-29",
    "今晚": "2026-12-01",
    "tomorrow": "2026-12-02",
    "the day after tomorrow": "2026-12-03",
    "on Friday": "2026-12-04",
    "last Monday": "2026-11-23",
    "in 3 days": "2026-12-04",
    "this evening": "2026-12-01",
    "Dec 24": "2026-12-24",
    "January 5, 2027": "2027-01-05",
}
NOTHING = [
    "",
    "你好",
    "有一点累",
    "快一点",
    "三点建议",
    "每周三",
    "一周三次",
    "我住3号楼",
    "坐8号线",
    "A12号",
    "早上",
    "25:00",
    "2026-13-40",
    "第2号",
    "I may go",
    "every Monday",
    "the sun",
    "good night",
]


@pytest.mark.parametrize(("text", "moment"), MOMENTS.items())
def test_moment(text: str, moment: str) -> None:
    found = resolve(text, NOW, SHANGHAI)
    assert isinstance(found, datetime)
    assert found.tzinfo is SHANGHAI
    assert f"{found:%Y-%m-%d %H:%M}" == moment


@pytest.mark.parametrize(("text", "day"), DAYS.items())
def test_day(text: str, day: str) -> None:
    found = resolve(text, NOW, SHANGHAI)
    assert found == date.fromisoformat(day)
    assert not isinstance(found, datetime)


@pytest.mark.parametrize("text", NOTHING)
def test_no_expression_of_time(text: str) -> None:
    assert resolve(text, NOW, SHANGHAI) is None


@pytest.mark.parametrize(
    "text",
    [
        "明天上午9点到11点",
        "明天9–11点",
        "明天9-11 点",
        "明天上午 09:00 到 11:00",
        "tomorrow from 9 to 11am",
        "tomorrow 9am to 11am",
    ],
)
def test_the_end_of_a_range_is_of_the_same_day(text: str) -> None:
    ends = [f"{mention.moment:%m-%d %H:%M}" for mention in mentions(text, NOW, SHANGHAI) if mention.moment]
    assert ends == ["12-02 09:00", "12-02 11:00"]


def test_a_mention_knows_where_it_stands() -> None:
    text = "请在明天下午三点和后天提醒我"
    assert [text[found.start : found.end] for found in mentions(text, NOW, SHANGHAI)] == ["明天下午三点", "后天"]


def test_a_distance_is_real_time_where_the_clocks_change() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    before = datetime(2027, 3, 28, 1, 30, tzinfo=berlin)
    assert resolve("in two hours", before, berlin) == datetime(2027, 3, 28, 4, 30, tzinfo=berlin)


def test_days_are_those_of_the_zone() -> None:
    late = datetime(2026, 12, 1, 23, 0, tzinfo=UTC)
    assert resolve("明天", late, SHANGHAI) == date(2026, 12, 3)
    assert resolve("明天", late, UTC) == date(2026, 12, 2)


def test_the_table_names_a_week() -> None:
    assert table(date(2026, 12, 1), "zh") == (
        "今天 12-01 周二，明天 12-02 周三，后天 12-03 周四，周五 12-04，周六 12-05，周日 12-06，下周一 12-07"
    )
    assert table(date(2026, 12, 5), "en").endswith("Thursday 12-10, next Friday 12-11")
    assert table(date(2026, 12, 30), "zh").startswith("今天 12-30 周三，明天 12-31 周四，后天 2027-01-01 周五，")


_MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.sampled_from([UTC, SHANGHAI]))


@settings(max_examples=60)
@given(now=_MOMENTS, language=st.sampled_from(["zh", "en"]))
def test_each_word_of_the_table_means_its_date(now: datetime, language: Language) -> None:
    entries = table(now.date(), language).replace("，", ", ").split(", ")
    assert len(entries) == 7
    for entry in entries:
        day = re.search(r"(\d{4}-)?\d\d-\d\d", entry)
        assert day is not None
        word = entry[: day.start()].strip()
        zone = now.tzinfo
        assert zone is not None
        told = day[0] if day[1] else f"{now.year:04}-{day[0]}"
        assert resolve(word, now, zone) == date.fromisoformat(told)


@settings(max_examples=60)
@given(now=_MOMENTS, hours=st.integers(1, 48), minutes=st.integers(1, 59))
def test_distances(now: datetime, hours: int, minutes: int) -> None:
    start = now.astimezone(UTC)
    assert resolve(f"{hours}小时{minutes}分钟后", now, SHANGHAI) == start + timedelta(hours=hours, minutes=minutes)
    assert resolve(f"in {hours} hours", now, SHANGHAI) == start + timedelta(hours=hours)


@settings(max_examples=60)
@given(now=_MOMENTS, weekday=st.integers(0, 6), weeks=st.sampled_from([(-1, "上"), (0, "这"), (1, "下"), (2, "下下")]))
def test_weekdays_are_of_the_named_week(now: datetime, weekday: int, weeks: tuple[int, str]) -> None:
    zone = now.tzinfo
    assert zone is not None
    found = resolve(f"{weeks[1]}周{'一二三四五六日'[weekday]}", now, zone)
    monday = now.date() - timedelta(days=now.weekday())
    assert found == monday + timedelta(weeks=weeks[0], days=weekday)


@settings(max_examples=60)
@given(now=_MOMENTS, hour=st.integers(0, 23), minute=st.integers(0, 59))
def test_a_bare_time_lies_within_a_day_ahead(now: datetime, hour: int, minute: int) -> None:
    zone = now.tzinfo
    assert zone is not None
    found = resolve(f"{hour}点{minute}分", now, zone)
    assert isinstance(found, datetime)
    assert timedelta() < found - now <= timedelta(days=1)
    assert found.minute == minute
    assert found.hour % 12 == hour % 12


@settings(max_examples=150)
@given(
    text=st.text(alphabet="今明后天周下上三一日月号点半早晚上午小时分钟后到-: 0123456789atinPM年", max_size=20),
    now=_MOMENTS,
)
def test_any_text_is_read_without_an_error(text: str, now: datetime) -> None:
    last = 0
    for mention in mentions(text, now, SHANGHAI):
        assert last <= mention.start < mention.end <= len(text)
        last = mention.end
