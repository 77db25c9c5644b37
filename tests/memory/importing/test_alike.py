"""A line that says again what stands there, in other words, is shown beside it."""

from __future__ import annotations

import pytest

from qingtuan.memory.holdings import Holdings
from qingtuan.memory.importing.alike import Alike
from qingtuan.memory.wiki.page import parse

PATH = "users/owner/profile.md"


def alike(text: str, *stands: str) -> str | None:
    bullets = "\n".join(f"- {one}" for one in stands)
    entry = Alike(Holdings({PATH: parse(f"# 基本情况\n\n## 当前\n{bullets}\n".encode())}).entries).to(text)
    return entry.belief.statement if entry else None


@pytest.mark.parametrize(
    ("stands", "line", "shown"),
    [
        ("不吃香菜", "从来不吃香菜", True),
        ("不吃香菜", "吃香菜", True),
        ("不吃香菜", "讨厌香菜", False),
        ("优先坐三楼靠窗", "喜欢坐三楼靠窗", True),
        ("User prefers concise answers", "User prefers short answers", True),
        ("User prefers concise answers", "User prefers tea", False),
        ("香菜", "香菜汤", False),
        ("香菜", "", False),
    ],
)
def test_what_is_much_like_a_line(stands: str, line: str, shown: bool) -> None:
    assert alike(line, stands) == (stands if shown else None)


def test_the_most_alike_is_shown_and_the_first_of_equals() -> None:
    assert alike("总喜欢坐三楼靠窗", "喜欢坐三楼靠窗的位置", "喜欢坐三楼靠窗", "喜欢坐二楼") == "喜欢坐三楼靠窗"
    assert alike("我爱喝绿茶", "爱喝绿茶吗", "爱喝绿茶呢") == "爱喝绿茶吗"
