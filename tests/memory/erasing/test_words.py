"""Whether something says what is to be erased."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from qingtuan.memory.erasing.words import Needles, columns, finder, strings_in, strings_of, telling
from qingtuan.memory.likeness import fold


def test_four_chinese_characters_say_enough() -> None:
    assert [telling(text) for text in ("养猫", "爱吃榴莲", "12345678", "tea", "tea now", "  爱 吃 榴 莲 ")] == [
        False, True, True, False, False, True,
    ]  # fmt: skip
    assert columns("爱吃tea") == 7


def test_it_is_found_in_any_dress() -> None:
    needles = Needles.of(["爱吃榴莲 Cake"])
    for text in ("我爱吃榴莲cake。", "爱吃榴莲　ＣＡＫＥ", "爱 吃 榴 莲 CAKE"):
        assert needles.in_text(text), text
    assert needles.in_value({"a": [{"b": json.dumps({"c": "爱吃榴莲 cake"})}]})
    assert needles.in_value({"爱吃榴莲cake": 1})
    assert not needles.in_value({"a": ["爱吃榴莲", "cake", 1, None]})


def test_short_words_are_known_behind_a_label_only() -> None:
    needles = Needles.of(told=["养猫"])
    for text in ("- 养猫", "#1 养猫", "- [本群] 养猫（从 2026-11-29 说的话）", "📌 #3 养猫。", "记住：养猫"):
        assert needles.in_text(text), text
    for text in ("我养猫", "- 养猫咪", "不养猫"):
        assert not needles.in_text(text), text


def test_a_line_of_a_commit_may_be_cut() -> None:
    needles = Needles.of(["我家门口那家店的榴莲千层最好吃"])
    assert needles.in_line("记住：我家门口那家店的…")
    assert needles.in_line("- 我家门口那家店的榴莲千层最好吃 (+2)")
    assert not needles.in_line("记住：我家…")
    assert not needles.in_line("记住：我家门口有树")


@given(st.lists(st.text("ab小 ", min_size=1, max_size=6), max_size=6), st.text("ab小 ", max_size=30))
def test_many_are_found_as_one_by_one(needles: list[str], text: str) -> None:
    folded = [one for one in map(fold, needles) if one]
    assert set(finder(folded)(fold(text))) == {one for one in folded if one in fold(text)}


def test_the_words_of_the_format_were_said_by_nobody() -> None:
    body = json.dumps(
        {
            "role": "user",
            "content": [{"type": "text", "text": "你好"}],
            "calls": [{"arguments": '{"role": "x", "say": "text"}'}],
        }
    ).encode()
    said = list(strings_in(body))
    assert "你好" in said
    assert "user" not in said
    assert said.count("text") == 1
    assert list(strings_in("只是话".encode())) == ["只是话"]
    assert list(strings_in(b'"one"')) == ["one"]


def test_depth_ends() -> None:
    nested = "x"
    for _ in range(12):
        nested = json.dumps([nested])
    assert len(list(strings_of(nested))) < 12
