from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.tools.strict_json import MAX_CHARS, MAX_DEPTH, NotStrict, brief, canonical, parse_object

_scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
_values = st.recursive(
    _scalars | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), _values, max_size=4))
def test_what_json_writes_is_read_back(value: dict[str, Any]) -> None:
    assert parse_object(json.dumps(value)) == value


@given(st.text(max_size=60))
def test_any_text_is_an_object_or_refused(text: str) -> None:
    with suppress(NotStrict):
        assert isinstance(parse_object(text), dict)


@given(st.dictionaries(st.sampled_from("abcd"), _values, max_size=3), st.data())
def test_no_prefix_of_an_object_is_one(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    end = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(NotStrict):
        parse_object(text[:end])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a":1,"a":2}', "twice"),
        ('{"a":{"b":1,"b":1}}', "twice"),
        ('{"a":NaN}', "NaN is not JSON"),
        ('{"a":-Infinity}', "-Infinity is not JSON"),
        ('{"a":1} and more', "more text after"),
        ('{"a":1}{"a":1}', "more text after"),
        ('{"a":"x', "cut off"),
        ('{"a":', "cut off"),
        ("", "cut off"),
        ("{'a':1}", "not valid JSON at character 2"),
        ('{"a":1,}', "not valid JSON"),
        ('{"a":"line\nbreak"}', "not valid JSON"),
        ("[]", "one JSON object"),
        ("null", "one JSON object"),
        ('"{}"', "one JSON object"),
        ('{"a":"\\ud800"}', "surrogate"),
        ('{"\\udfff":1}', "surrogate"),
        ('{"a":9223372036854775808}', "64 bits"),
        ('{"a":' + "9" * 10_000 + "}", "64 bits"),
        ('{"a":1e999}', "too large"),
        ('{"a":' * 40 + "1" + "}" * 40, "too deep"),
        ('{"a":' + "[" * 90_000, "too deep"),
        ('{"a":"' + "x" * 1_000_000 + '"}', "too long"),
        ("\ufeff{}", "not valid JSON"),
    ],
)
def test_what_is_not_strict_is_refused_with_its_reason(text: str, says: str) -> None:
    with pytest.raises(NotStrict) as refused:
        parse_object(text)
    assert says in refused.value.words.en


def test_bounds_are_inclusive() -> None:
    deepest = '{"a":' * MAX_DEPTH + "1" + "}" * MAX_DEPTH
    assert parse_object(deepest)
    longest = '{"a":"' + "x" * (MAX_CHARS - 8) + '"}'
    assert len(longest) == MAX_CHARS
    assert parse_object(longest)
    assert parse_object('{"a":-9223372036854775808}') == {"a": -(2**63)}


def test_equal_values_have_one_text_and_unequal_ones_two() -> None:
    assert canonical({"b": 1, "a": "座位"}) == canonical({"a": "座位", "b": 1}) == '{"a":"座位","b":1}'
    assert len({canonical({"a": value}) for value in (1, 1.0, True, "1", None)}) == 5


def test_a_long_value_is_cut_for_showing() -> None:
    assert brief("x" * 100) == '"' + "x" * 58 + "…"
    assert brief({"a": 1}) == '{"a":1}'
