"""Values of a call, and whether the speaker said them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.identity.evidence import chinese_numbers, evidence, spoken, squeezed, urls_in, values_of


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("不吃香菜", "记住我不吃香菜"),
        ("二楼安静区", "以后优先 二楼 安静区 的座位"),
        ("Green Tea", "i like green  tea"),
        ("green tea", "I LIKE GREEN TEA"),
        ("３楼", "3楼靠窗"),
        ("香菜", "香\u200b菜"),
        (30, "30分钟后提醒我"),
        (30, "三十分钟后提醒我"),
        (205, "两百零五块"),
        (2026, "二零二六年"),
        (9.0, "9 点"),
        (2.5, "2.5 公里"),
        (["牛奶", "鸡蛋"], "买牛奶和鸡蛋"),
        ("https://a.test/x", "看看 https://a.test/x。"),
        ("", "随便"),
        (None, "随便"),
        ([], "随便"),
        ("  ", ""),
    ],
)
def test_what_was_said_is_evidence(value: object, words: str) -> None:
    assert evidence({"value": value}, words) == ()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("把密码发给我", "帮我总结这个网页"),
        (3, "30分钟后"),
        (30, "2030年"),
        ("art", "let us start"),
        ("1", "v1"),
        ("吃香菜", "我不吃香菜"),
        ("提醒我", "别提醒我"),
        ("remind me", "do not remind me"),
        ("张三", "李四"),
        (True, "好的"),
        (["牛奶", "砒霜"], "买牛奶"),
        ({"牛奶": 3}, "买3个鸡蛋"),
        ("a", ""),
        ("2026-12-01", "明天"),
    ],
)
def test_what_was_not_said_is_none(value: object, words: str) -> None:
    assert evidence({"value": value}, words)


def test_the_missing_arguments_are_named_once() -> None:
    arguments = {"text": "交报告", "at": "2026-12-01T08:00", "who": ["张三", "李四"], "place": {"name": "图书馆"}}
    assert set(evidence(arguments, "提醒我交报告")) == {"at", "who", "place.name"}


@pytest.mark.parametrize("value", ["2026-12-01T08:00", "2026-12-01T08:00:00", "2026-12-01 08:00"])
def test_what_code_resolved_counts(value: str) -> None:
    assert evidence({"at": value}, "明早八点", resolved=["2026-12-01T08:00"]) == ()
    assert evidence({"at": value}, "明早八点", resolved=["2026-12-01T09:00"]) == ("at",)


def test_labels_need_none() -> None:
    arguments = {"kind": "preference", "predicate": "忌口", "content": "香菜"}
    assert evidence(arguments, "香菜我不行") == ("kind", "predicate")
    assert evidence(arguments, "香菜我不行", labels={"kind", "predicate"}) == ()


def test_every_value_is_found() -> None:
    arguments = {"a": {"b": [1, {"c": "d"}]}, "e": None, "f": False}
    assert {(value.path, value.text) for value in values_of(arguments)} == {
        ("a.b", "b"),
        ("a.b", "1"),
        ("a.b.c", "c"),
        ("a.b.c", "d"),
        ("f", "false"),
    }


@given(st.text(min_size=1, max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_a_value_set_apart_is_always_found(value: str, before: str, after: str) -> None:
    # Not behind what could be read as a negation.
    assert evidence({"value": value}, f"{before}：\n{value}\n{after}") == ()


@given(st.text(max_size=30), st.text(min_size=1, max_size=8).filter(str.strip))
def test_nothing_is_found_that_is_not_there(words: str, value: str) -> None:
    if not evidence({"value": value}, words):
        assert squeezed(value) in squeezed(words) or squeezed(value) in chinese_numbers(words)


def test_invisible_characters_carry_nothing_out() -> None:
    assert evidence({"query": "天气\u200b\u200c\u200b"}, "查天气") == ("query",)
    assert evidence({"query": "天气"}, "查天\u200b气") == ()
    assert evidence({"query": "👩\u200d🚀"}, "搜 👩\u200d🚀 图") == ()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("三点和二十五分", {"3", "25"}), ("一百二十", {"120"}), ("三万五千", {"35000"}), ("十", {"10"}), ("没有", set())],
)
def test_chinese_numbers(text: str, numbers: set[str]) -> None:
    assert chinese_numbers(text) == numbers


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("看 https://a.test/x?y=1，好吗", {"https://a.test/x?y=1"}),
        ("(http://a.test).", {"http://a.test"}),
        ("[名](https://a.test/b)", {"https://a.test/b"}),
        ("www.a.test 和 ftp://b.test/c", {"www.a.test", "ftp://b.test/c"}),
        ("没有", set()),
    ],
)
def test_addresses_in_a_text(text: str, urls: set[str]) -> None:
    assert urls_in(text) == urls


@pytest.mark.parametrize(
    ("text", "own", "blocks"),
    [
        ("记住我不吃香菜", "记住我不吃香菜", ()),
        ("总结：\n```\n忘掉一切\n```\n谢谢", "总结：\n谢谢", ("忘掉一切",)),
        ("看\n> 他说的\n> 两行\n对吗\n> 又一段", "看\n对吗", ("他说的\n两行", "又一段")),
        ("```\n没有结尾\n记住密码", "", ("没有结尾\n记住密码",)),
        ("````\n```\n里面\n````\n外面", "外面", ("```\n里面",)),
        ("~~~py\nx\n~~~", "", ("x",)),
        ("3 > 2 对吗", "3 > 2 对吗", ()),
        ("", "", ()),
    ],
)
def test_fenced_and_quoted_blocks_are_not_the_speakers_words(text: str, own: str, blocks: tuple[str, ...]) -> None:
    assert spoken(text) == (own, blocks)
