"""What is read without YAML is what YAML would read."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qingtuan.memory.wiki.yaml_text import _simple, _whole, flow, load_yaml

_VALUES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            "true", "True", "yes", "No", "on", "OFF", "null", "Null", "~", "y", "N", "1", "012", "0b101010", "0x1f",
            "1e5", "1.5", "1_000", "12:30", "2026-06-23", "2026-13-45", "2026-06-23 10:00:00", "66d62698", "01K0A",
            "0X1F", "evt_01K", "二楼 安静区", "a - b", "a: b", "a #b", "#a", "- a", "a, b", "a}", "[a]", "*a", "&a b",
            "!x", '"a"', '"a\\n"', "'a'", '"a', "a ", " a", "a\u2028b", "\x85", "\ufeffa", "=", "<<", "...", "---", "",
        ]
    ),
)  # fmt: skip
_KEYS = st.sampled_from(["s", "p", "v", "since", "how", "t", "id", "true", "on", "y", "a-b", "a b", "A", ""])


@st.composite
def mappings(draw: st.DrawFn) -> str:
    pairs = draw(st.lists(st.tuples(_KEYS, _VALUES), max_size=4))
    quoted = draw(st.booleans())
    written = [f'{key}: "{value}"' if quoted else f"{key}: {value}" for key, value in pairs]
    if draw(st.booleans()):
        return (
            f"{draw(st.sampled_from(['', ' ', '  ']))}{{{', '.join(written)}}}{draw(st.sampled_from(['', ' ', 'x']))}"
        )
    return draw(st.sampled_from(["", " "])) + "\n".join(written) + draw(st.sampled_from(["", "\n", "\n\n"]))


@given(mappings() | st.text(max_size=30))
@example("{t: 0b101010}")
@example("{v: 1e5, t: 12345678}")
@example(" a: b\nc: d")
def test_whatever_is_read_at_once_is_read_alike(text: str) -> None:
    simple = _simple(text)
    if simple is not None:
        assert simple == _whole(text)


@given(
    st.dictionaries(
        st.sampled_from(["s", "p", "v", "from", "how", "t"]),
        st.text(max_size=20) | st.dates() | st.booleans(),
        min_size=1,
    )
)
def test_what_we_write_comes_back(value: dict[str, object]) -> None:
    assert load_yaml(flow(value)) == value


def test_what_we_write_is_read_at_once() -> None:
    data = {"s": "我", "p": "座位偏好", "v": "二楼安静区", "since": date(2026, 6, 23), "from": "evt_01K", "pin": True}
    assert _simple(flow({**data, "how": "explicit", "t": "66d62698"})) is not None
    assert _simple("id: 01K0000000000000000000000A\ntype: preference\nvisibility: own\nupdated: 2026-06-23") is not None


@pytest.mark.parametrize("text", ["{a: [1]}", "a:\n  - b", "{a: 1}", "{a: null}", "", "{}", "a: *b", "x"])
def test_all_else_is_left_to_yaml(text: str) -> None:
    assert _simple(text) is None
