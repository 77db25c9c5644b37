"""Comparing two wordings by what can be compared: pairs of Chinese characters, words, numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"[a-z]{2,}|\d+", re.IGNORECASE)
_HAN = re.compile(r"[\u3400-\u9fff]+")
_EMPTY_WORDS = frozenset(
    re.findall(
        r"\w+",
        """a an the is are was were am be been do does did has have had will would can could should may i me my mine you
        your yours he she his her we our they their them it its in on at of to and or for with that this from by as
        not user prefer prefers like likes what where when who which how""",
    )
)
"""Words that say nothing about what a sentence is about."""
_EMPTY_PAIRS = frozenset(
    {"用户", "主人", "你的", "我的", "喜欢", "一般", "户的", "您的", "什么", "哪里", "一个", "我一"}
)


def pieces(text: str) -> frozenset[str]:
    """What `text` is about, in comparable pieces."""
    pairs = (run[start : start + 2] for run in _HAN.findall(text) for start in range(len(run) - 1))
    words = (word.lower() for word in _WORD.findall(text))
    return frozenset(pairs) - _EMPTY_PAIRS | frozenset(
        word.removesuffix("s") for word in words if word not in _EMPTY_WORDS
    )


def shares_with(text: str, others: Iterable[str]) -> bool:
    """Whether any of `others` is about something that `text` names."""
    named = pieces(text)
    return any(named & pieces(other) for other in others)
