"""What machines need of a belief survives on one line, and breaks out of none."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qingtuan.identity.scopes import Visibility
from qingtuan.memory.wiki.data_comment import BeliefData, check_of, number_of, read_line, write_line
from qingtuan.memory.wiki.yaml_text import flow, load_yaml

words = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from(
        ["yes", "2026-06-23", "1", "1e3", "0x1f", "~", "null", "-->", "a: b", "{", "1:30", "=", "<<", "#x", " a", "\n"]
    ),
)
optional = st.one_of(st.none(), words)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), words, st.dates(), st.binary(max_size=9),
    st.datetimes(min_value=datetime(1000, 1, 1)),
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3), st.sets(st.integers(), max_size=3)
    ),
    max_leaves=6,
)
OURS = {"s", "p", "v", "since", "until", "from", "how", "via", "vis", "pin", "many", "by", "t"}
data = st.builds(
    BeliefData,
    subject=optional, predicate=optional, value=optional, source=optional, via=optional, ended_by=optional,
    since=st.one_of(st.none(), st.dates()), until=st.one_of(st.none(), st.dates()),
    how=st.sampled_from(["explicit", "inferred", "manual", "hand"]),
    visibility=st.sampled_from([None, *Visibility]), pinned=st.booleans(), many=st.booleans(),
    more=st.dictionaries(words.filter(lambda key: key not in OURS), values, max_size=3),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 999_999_999), data, words)
def test_a_line_says_what_it_was_written_for(number: int, given: BeliefData, text: str) -> None:
    line = write_line(number, given, text)
    assert "\n" not in line
    assert "\r" not in line
    assert "-->" not in line
    read = read_line(line)
    assert read
    assert (read.number, read.data, read.check) == (number, given, check_of(text))
    assert number_of(line) == number


def test_it_reads_well() -> None:
    given = BeliefData(
        "我", "座位偏好", "二楼安静区", since=date(2026, 6, 23), source="evt_01K", how="explicit", via="onebot",
        visibility=Visibility.PRIVATE, pinned=True,
    )  # fmt: skip
    assert write_line(12, given, "优先二楼安静区") == (
        "12: {s: 我, p: 座位偏好, v: 二楼安静区, since: 2026-06-23, from: evt_01K, how: explicit, via: onebot, "
        f"vis: private, pin: true, t: {check_of('优先二楼安静区')}}}"
    )


@pytest.mark.parametrize("line", ["", "# 12: {}", "text", "0: {}", "1234567890: {}", "-1: {}", "12 {}", "x12: {}"])
def test_lines_that_are_none_of_ours(line: str) -> None:
    assert read_line(line) is None
    assert number_of(line) is None


@pytest.mark.parametrize(
    "rest", ["", "{", "[1]", "text", "{a: *b}", "{a: &b [1], c: *b}", "{x: !!python/object:os.system y}", "{a: =}",
             "{a: !!int ''}", "{a: 2026-13-45}", "{a: {b: c}", "[" * 3000, f"{{a: {'x' * 70_000}}}", "{? [a] : b}"],
)  # fmt: skip
def test_a_broken_line_is_private_and_by_hand(rest: str) -> None:
    read = read_line(f"12: {rest}")
    assert read
    assert read.data == BeliefData(visibility=Visibility.PRIVATE)


def test_what_makes_no_sense_is_kept_until_it_is_set() -> None:
    read = read_line(
        "1: {since: 上周, until: 2026-13-01x, how: guess, pin: maybe, s: [a], v: 3, p: true, x: {y: 2026-01-02}}"
    )
    assert read
    assert read.data == BeliefData(
        value="3", predicate="true",
        more={"since": "上周", "until": "2026-13-01x", "how": "guess", "pin": "maybe", "s": ["a"],
              "x": {"y": date(2026, 1, 2)}},
    )  # fmt: skip
    again = read_line(write_line(1, replace(read.data, since=date(2026, 1, 1)), ""))
    assert again
    assert again.data.since == date(2026, 1, 1)
    assert again.data.more == {key: value for key, value in read.data.more.items() if key not in ("since", "how")}


def test_days_may_be_text_or_carry_a_time() -> None:
    read = read_line("1: {since: '2026-06-23', until: 2026-06-24 10:00:00}")
    assert read
    assert (read.data.since, read.data.until) == (date(2026, 6, 23), date(2026, 6, 24))


@pytest.mark.parametrize(
    "value", [2**70, -(2**200), 1e-7, 1e300, float("inf"), float("-inf"), datetime(2026, 1, 2, 3, tzinfo=UTC)]
)
def test_numbers_and_times_survive(value: object) -> None:
    assert load_yaml(flow(value)) == value
    assert load_yaml(flow(float("nan"))) != load_yaml(flow(float("nan")))
    assert load_yaml(flow(16**5000)) == 16**5000
    assert load_yaml(flow(object())).startswith("<object")
