"""Reading JSON that others made."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.channels.foreign import is_deeper, one_line, text_in, text_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=20,
)


def depth(value: Any) -> int:
    """Lists and objects in one another."""
    if isinstance(value, (dict, list)):
        return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)
    return 0


@given(JSON, st.integers(0, 6))
def test_how_deep_a_value_is(value: Any, levels: int) -> None:
    assert is_deeper(value, levels) == (depth(value) > levels)


@given(JSON)
def test_whatever_stands_there_a_text_comes_of_it(value: Any) -> None:
    assert text_of(value) == (value if isinstance(value, str) else "")
    assert text_in({"name": value}, "name") == text_of(value)
    assert text_in(value, "no such name") == ""


@pytest.mark.parametrize(("text", "line"), [(" a\n b\t c ", "a b c"), ("长" * 300, "长" * 200), ("", "")])
def test_a_name_is_one_line(text: str, line: str) -> None:
    assert one_line(text, 200) == line
