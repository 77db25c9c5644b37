"""A long text in parts: nothing is lost, and each fits into a request whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from qingtuan.messages import Origin
from qingtuan.tools.shown import MAX_SHOWN, shown
from qingtuan.web.parts import MOST, parts


@given(st.text(st.sampled_from("ab。\n 字"), max_size=2000), st.integers(10, 300))
def test_together_they_are_the_text(text: str, most: int) -> None:
    found = parts(text, most)
    assert "".join(found) == text
    for part in found:
        assert len(part) + 2 * part.count("\n") + 2 <= most


def test_they_end_where_something_ends() -> None:
    text = "\n\n".join("这是一段话。" * 20 for _ in range(100))
    found = parts(text)
    assert len(found) > 1
    assert all(part.endswith("。\n\n") for part in found[:-1])


@given(st.sampled_from(["字" * 50_000, "\n" * 50_000, "a\n" * 30_000, "长句。" * 20_000]))
def test_a_request_shows_each_whole(text: str) -> None:
    head = "标题：" + "题" * 300 + "\n地址：<https://e.com/" + "a" * 300 + ">"
    for part in parts(text)[:5]:
        assert "略去" not in shown(f"{head}\n\n{part}", Origin.WEB, "web_read", "zh")
    assert MOST < MAX_SHOWN


def test_nothing_is_one_part() -> None:
    assert parts("") == ("",)
