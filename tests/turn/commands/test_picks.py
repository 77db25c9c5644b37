"""Answers of nothing but numbers: what they pick, and what is no such answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.turn.commands.picks import Picks, picks, wanted

ALL = Picks()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1 3", (1, 3)), ("1、3", (1, 3)), ("1和3", (1, 3)), ("1，3。", (1, 3)), ("#3", (3,)), ("３", (3,)),
        ("1, 2 and 4", (1, 2, 4)), ("3 1 3", (3, 1)), ("all", ()), ("全部", ()),
    ],
)  # fmt: skip
def test_what_picks(text: str, numbers: tuple[int, ...]) -> None:
    assert picks(text) == Picks(numbers)


@pytest.mark.parametrize("text", ["", "一", "1.5", "13 楼", "1-3", "1 3 好", "-1", "1234567", "1 月", "to 1"])
def test_what_picks_nothing(text: str) -> None:
    assert picks(text) is None


@pytest.mark.parametrize(
    ("text", "verb", "picked"),
    [
        ("1 3", "accept", Picks((1, 3))), ("1 3 留", "accept", Picks((1, 3))), ("留 1 3", "accept", Picks((1, 3))),
        ("只要2", "accept", Picks((2,))), ("1、3都记吧", "accept", Picks((1, 3))),
        ("keep 1 and 3", "accept", Picks((1, 3))), ("都要", "accept", ALL), ("全要。", "accept", ALL),
        ("都记住吧", "accept", ALL), ("All", "accept", ALL),
        ("都不要", "reject", ALL), ("一个都不要", "reject", ALL), ("none", "reject", ALL),
        ("全都不用了", "reject", ALL),
        ("不要 2", "reject", Picks((2,))), ("2不要", "reject", Picks((2,))), ("drop 1 2", "reject", Picks((1, 2))),
    ],
)  # fmt: skip
def test_what_is_an_answer(text: str, verb: str, picked: Picks) -> None:
    assert wanted(text) == (verb, picked)


@pytest.mark.parametrize(
    "text",
    [
        "好",
        "要",
        "不要",
        "1 号下午三点",
        "我都要了",
        "都要什么",
        "帮我留 1 张票",
        "1 3 5 点开会",
        "no",
        "",
        "都",
        "三点",
    ],
)
def test_what_is_talk(text: str) -> None:
    assert wanted(text) is None


def test_where_there_is_but_one_to_choose_from_a_word_will_do() -> None:
    assert (wanted("要", single=True), wanted("不要。", single=True)) == (("accept", ALL), ("reject", ALL))


@given(st.lists(st.integers(0, 999_999), min_size=1, max_size=6, unique=True), st.sampled_from([" ", "、", ",", "和"]))
def test_what_was_picked_reads_back(numbers: list[int], mark: str) -> None:
    found = picks(mark.join(map(str, numbers)))
    assert found == Picks(tuple(numbers))
    assert picks(str(found)) == found


@given(st.text(max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    picks(text)
    wanted(text, single=True)
