"""Claims of a model: read strictly, and held against the words of the message."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.memory.claims import MOST_CLAIMS, Backed, Said, backed, claims_in
from tests.fakes.talk import SHANGHAI

SUNDAY = datetime(2026, 11, 29, 10, tzinfo=SHANGHAI)


def claim(evidence: str, **fields: Any) -> dict[str, Any]:
    plain = {"type": "preference", "predicate": "口味", "value": evidence, "confidence": 0.9, "explicit": True}
    return {**plain, "message": 1, "evidence": evidence, **fields}


def checked(words: str, evidence: str | None = None, **fields: Any) -> Backed | None:
    (read,) = claims_in(json.dumps([claim(evidence or words, **fields)]))
    return backed(read, Said(words, SUNDAY, SHANGHAI))


@pytest.mark.parametrize(
    ("said", "fields", "since", "until", "value", "write"),
    [
        ("上周起我不喝咖啡", {"value": "不喝咖啡", "since": "上周"}, "2026-11-16", "", "不喝咖啡", True),
        ("上周起我不喝咖啡", {"value": "不喝咖啡", "since": "2026-11-16"}, "2026-11-16", "", "不喝咖啡", True),
        ("我不喝咖啡了", {"value": "不喝咖啡", "since": "2020-01-01"}, "", "", "不喝咖啡", False),
        ("我不喝咖啡了", {"value": "不喝咖啡", "since": "2026-11-29"}, "", "", "不喝咖啡", True),
        ("放暑假起我不喝咖啡", {"value": "不喝咖啡", "since": "放暑假"}, "", "", "不喝咖啡", False),
        ("到年底我都不喝咖啡", {"value": "不喝咖啡", "until": "年底"}, "", "2026-12-31", "不喝咖啡", True),
        ("到今年底我都不喝咖啡", {"value": "不喝咖啡", "until": "今年底"}, "", "2026-12-31", "不喝咖啡", True),
        # what a model leaves out, code reads
        ("上周起我不喝咖啡", {"value": "不喝咖啡"}, "2026-11-16", "", "不喝咖啡", True),
        ("从明年开始，我不喝咖啡", {"value": "不喝咖啡"}, "2027-01-01", "", "不喝咖啡", True),
        ("我不喝咖啡，到六月底为止", {"value": "不喝咖啡"}, "", "2027-06-30", "不喝咖啡", True),
        ("明年之前我不喝咖啡", {"value": "不喝咖啡", "until": "明年"}, "", "2026-12-31", "不喝咖啡", True),
        ("我不吃香菜，从下个月起不喝咖啡", {"value": "不吃香菜"}, "", "", "不吃香菜", True),
        ("接下来两周我住酒店", {"value": "住酒店"}, "", "2026-12-12", "住酒店", True),
        ("I drink no coffee until Friday", {"value": "no coffee"}, "", "2026-12-04", "no coffee", True),
        ("周三别给我排会", {"type": "rule", "value": "周三别给我排会"}, "", "", "周三别给我排会", True),
        ("下周三去北京", {"type": "event", "value": "去北京"}, "", "2026-12-02", "去北京（2026-12-02）", True),
        ("下周三去北京", {"type": "event", "value": "下周三去北京"}, "", "2026-12-02", "2026-12-02去北京", True),
        ("下周三去北京出差", {"value": "北京", "predicate": "出差去哪"}, "", "2026-12-02", "北京（2026-12-02）", True),
        ("下周三到上海出差", {"value": "上海", "predicate": "出差去哪"}, "", "2026-12-02", "上海（2026-12-02）", True),
        ("下周起我不喝咖啡", {"value": "不喝咖啡", "since": "下周"}, "2026-11-30", "", "不喝咖啡", True),
        ("以后叫我阿明", {"type": "rule", "value": "叫我阿明", "since": "以后"}, "2026-11-29", "", "叫我阿明", True),
        ("我女儿今年五岁", {"type": "profile", "value": "五岁", "since": "今天"}, "", "", "五岁", True),
        ("周五之前要交报告", {"type": "task", "value": "交报告"}, "", "2026-12-04", "交报告（2026-12-04）", True),
        (
            "12月1日到12月5日我在北京",
            {"type": "event", "value": "在北京", "since": "12月1日", "until": "12月5日"},
            "",
            "2026-12-05",
            "在北京（2026-12-01~2026-12-05）",
            True,
        ),
        (
            "I moved to Berlin last month",
            {"type": "profile", "value": "Berlin", "since": "last month"},
            "2026-10-01",
            "",
            "Berlin",
            True,
        ),
    ],
)
def test_days_are_those_that_the_person_named_as_code_reads_them(
    said: str, fields: dict[str, Any], since: str, until: str, value: str, write: bool
) -> None:
    found = checked(said, **fields)
    assert found is not None
    days = [f"{day:%Y-%m-%d}" if day else "" for day in (found.since, found.until)]
    assert (*days, found.value, found.explicit) == (since, until, value, write)


def test_a_value_in_other_words_is_not_explicit() -> None:
    found = checked("提交预约之前一定要跟我二次确认", type="rule", value="提交预约前二次确认")
    assert found is not None
    assert not found.explicit


def test_evidence_is_found_whatever_its_spaces_case_and_width() -> None:
    assert checked("我用 iPhone 15 Pro", evidence="我用iphone１５pro", value="iPhone 15 Pro") is not None
    assert checked("我用 iPhone 15 Pro", evidence="我用安卓", value="iPhone 15 Pro") is None


def test_numbers_in_characters_and_days_that_code_read_count_as_said() -> None:
    assert checked("我女儿五岁", value="5 岁", predicate="女儿") is not None
    assert checked("我女儿五岁", value="6 岁", predicate="女儿") is None
    assert checked("我明天去体检", type="event", value="2026-11-30 去体检") is not None
    assert checked("我明天去体检", type="event", value="2026-12-01 去体检") is None


def test_an_answer_in_a_fence_or_as_a_list_is_read_and_a_flood_is_not() -> None:
    body = json.dumps([claim("不吃香菜")])
    assert len(claims_in(f"```json\n{body}\n```")) == 1
    assert len(claims_in(json.dumps({"memories": [claim("不吃香菜", message="#1")]}))) == 1
    assert len(claims_in(json.dumps([claim("不吃香菜")] * 500))) <= MOST_CLAIMS


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["candidates", "type", "message", "evidence", "value"]), inner, max_size=4
            )
        ),
        max_leaves=12,
    )
)
def test_no_answer_breaks_the_reader(answer: Any) -> None:
    claims_in(json.dumps(answer))
    claims_in(str(answer))
