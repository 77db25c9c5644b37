"""What counts as the same, and what never may."""

from __future__ import annotations

import pytest

from qingtuan.memory.likeness import (
    SELF,
    canonical_predicate,
    contains,
    negated,
    normalise_subject,
    normalise_text,
    normalise_value,
    parse_aliases,
)
from qingtuan.memory.wiki.page import parse


@pytest.mark.parametrize("subject", [None, "", "我", "自己", " 用户 ", "主人", "I", "Me", "the user", "ＭＥ"])
def test_all_names_of_the_speaker_are_one(subject: str | None) -> None:
    assert normalise_subject(subject) == SELF


def test_other_subjects_stay() -> None:
    assert normalise_subject(" 张三 ") == "张三"
    assert normalise_subject("ａ公司") == "a公司"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("二楼安静区", " 二楼 安静区。"),
        ("二楼安静区", "“二楼安静区”"),
        ("iPhone 15", "ＩＰＨＯＮＥ　15"),
        ("Quiet  area!", "quiet area"),
        ("3.5", "3.5。"),
        ("二楼\n安静区", "二楼安静区"),
    ],
)
def test_the_same_value(one: str, other: str) -> None:
    assert normalise_value(one) == normalise_value(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("吃香菜", "不吃香菜"), ("5", "-5"), ("5", ".5"), ("5", "5%"), ("3", "3.5"), ("C", "C#"), ("C", "C++"),
        ("iPhone 15", "iPhone 1 5"), ("is here", "ishere"), ("二楼", "二楼（安静区）"), ("10:30", "10:3"),
    ],
)  # fmt: skip
def test_other_values(one: str, other: str) -> None:
    assert normalise_value(one) != normalise_value(other)


def test_a_sentence_may_begin_with_the_speaker() -> None:
    assert normalise_text("我不吃香菜。") == normalise_text("不吃香菜") == normalise_text("用户不吃香菜")
    assert normalise_text("I like tea") == normalise_text("like tea.")
    assert normalise_text("我们周五聚餐") != normalise_text("们周五聚餐")
    assert normalise_text("我的生日是五月一日") == "我的生日是五月一日"
    assert normalise_text("iPhone") == "iphone"


def test_a_value_within_a_sentence() -> None:
    assert contains("优先三楼靠窗", "三楼靠窗")
    assert not contains("住在13楼", "3楼")
    assert not contains("预算 3.5", "5")
    assert contains("住在13楼和3楼", "3楼")
    assert not contains("scattered", "cat")
    assert contains("a cat", "cat")
    assert not contains("x", "")


@pytest.mark.parametrize("text", ["不吃香菜", "别放糖", "don't like it", "never again", "讨厌川菜"])
def test_no(text: str) -> None:
    assert negated(text)


@pytest.mark.parametrize(
    "text", ["吃香菜", "非常喜欢", "无论如何都去", "未来要去", "不是不喜欢", "别人的伞", "nothing"]
)
def test_yes(text: str) -> None:
    assert not negated(text)


def test_the_table_of_aliases_is_a_page() -> None:
    page = parse(
        "---\ntype: note\n---\n# 别名\n说明：一行一个。\n\n"
        "- 座位偏好：喜欢坐哪, 常坐位置、 Seat\n- 住址: 住哪；家在哪\n"
        "- 只是一句话\n- 住处：住哪\n\n```\n- 代码：不算\n```\n".encode()
    )
    table = parse_aliases(page)
    assert table == {
        "座位偏好": "座位偏好", "喜欢坐哪": "座位偏好", "常坐位置": "座位偏好", "seat": "座位偏好",
        "住址": "住址", "住哪": "住址", "家在哪": "住址", "住处": "住处",
    }  # fmt: skip
    assert canonical_predicate("喜欢 坐哪", table) == "座位偏好"
    assert canonical_predicate("SEAT", table) == "座位偏好"
    assert canonical_predicate(" 过敏\n", table) == "过敏"
    assert canonical_predicate(" ", table) is None
    assert canonical_predicate(None, table) is None
