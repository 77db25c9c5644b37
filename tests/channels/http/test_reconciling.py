"""A stream that only grows: whatever is taken back, what was meant can be read at its end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from qingtuan.channels.http.reconciling import Shown


def test_what_comes_again_the_same_is_shown_once() -> None:
    shown = Shown()
    assert shown.delta("你好") == "你好"
    shown.take_back()
    assert shown.delta("你") == ""
    assert shown.delta("好，我在") == "，我在"
    assert shown.message("你好，我在。") == "。"


def test_what_comes_instead_stands_apart() -> None:
    shown = Shown()
    assert shown.delta("今天晴") == "今天晴"
    shown.take_back()
    assert shown.delta("今") == ""
    assert shown.delta("晚有雨") == "\n\n今晚有雨"
    assert shown.message("今晚有雨。") == "。"
    assert shown.message("还有一件事。") == "\n\n还有一件事。"


texts = st.text("ab", max_size=4)


@given(st.lists(st.one_of(texts, st.none()), max_size=8), texts.filter(bool))
def test_the_message_stands_at_the_end(pieces: list[str | None], message: str) -> None:
    """None takes back."""
    shown, seen = Shown(), ""
    for piece in pieces:
        if piece is None:
            shown.take_back()
        else:
            seen += shown.delta(piece)
    seen += shown.message(message)
    assert seen.endswith(message)
    before = seen
    seen += shown.message("ccc")
    assert seen == f"{before}\n\nccc"
