"""Thinking inside the text: apart from what is shown, however it is cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.models.chat import TextDelta
from qingtuan.models.thoughts import Thoughts


def divide(*pieces: str) -> tuple[str, str]:
    """What was shown as it streamed, and what was thought."""
    thoughts = Thoughts()
    shown = ""
    for events in [*map(thoughts.feed, pieces), thoughts.end()]:
        for event in events:
            shown = shown + event.text if isinstance(event, TextDelta) else ""
    assert shown == thoughts.text
    return shown, "".join(thoughts.thoughts)


@pytest.mark.parametrize(
    ("text", "shown", "thought"),
    [
        ("你好", "你好", ""),
        ("<think>嗯</think>\n\n你好", "你好", "嗯"),
        ("  \n<think>嗯</think>你好", "你好", "嗯"),
        ("<think></think>你好", "你好", ""),
        ("<think>a</think>一\n<think>b</think>二", "一\n二", "ab"),
        ("好的。<think>秘密</think>结果", "好的。结果", "秘密"),
        ("还在想</think>你好", "你好", "还在想"),
        ("<think>没想完", "", "没想完"),
        ("标签 `<think>` 和 `</think>` 表示思考", "标签 `<think>` 和 `</think>` 表示思考", ""),
        ("```\n<think>\n```\n完", "```\n<think>\n```\n完", ""),
        ("DeepSeek 的 <think> 表示思考", "DeepSeek 的 <think> 表示思考", ""),
        ("1 < 2 </thin", "1 < 2 </thin", ""),
        ("<thinking>", "<thinking>", ""),
        ("", "", ""),
    ],
)
def test_shown_and_thought(text: str, shown: str, thought: str) -> None:
    assert divide(text) == (shown, thought)
    assert divide(*text) == (shown, thought)


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<", "`", "\n", "想", "说 ", "```"]), max_size=12),
    st.lists(st.integers(0, 80)),
)
def test_any_cutting_divides_the_same(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    places = sorted({cut % (len(text) + 1) for cut in cuts} | {0, len(text)})
    assert divide(*(text[start:end] for start, end in pairwise(places))) == divide(text)
