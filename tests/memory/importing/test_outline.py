"""A text taken apart: nothing of it is lost, and what only looks like a bullet is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.memory.importing.outline import Bullet, outline, plain_text

LINES = st.sampled_from(
    [
        "# 图书馆", "## 偏好", "标题", "===", "---", "- 一", "- 二\t三", "  - 里面", "    代码", "* 星", "1. 一", "```",
        "~~~", "> 引用", "| a | b |", "<!-- observed: 2026-01-01 -->", "<!-- 没关上", "-->", "", " ", "正文。",
        "- [ ] 事", "+ 加", "- **标**：值", "%% 注 %%", "^12", "- 尾 ^12", "\t- 缩进",
    ]
)  # fmt: skip


@given(st.lists(LINES, max_size=25))
def test_nothing_is_lost(lines: list[str]) -> None:
    found = outline("\n".join(["", *lines]))  # no front matter
    pieces: list[str] = []
    for part in found.parts:
        pieces.append(part.heading)
        for piece in part.pieces:
            if isinstance(piece, Bullet):
                pieces += [f"<!--{piece.above}-->" if piece.above else "", piece.raw]
            else:
                pieces.append(piece)
    said = "".join("".join(pieces).split())
    every = "".join("".join(lines).split())
    assert sorted(said) == sorted(every)


def test_parts_and_bullets() -> None:
    found = outline(
        "---\ntitle: 我的\ntags: [a]\n---\n开头\n# 图书馆\n## 偏好\n- 二楼\n  - 安静\n\n    说明\n- 靠窗\n"
        "```\n- 代码\n```\n## 历史\n| - a |\n"
    )
    assert (found.title, found.front["tags"]) == ("我的", ["a"])
    assert [part.headings for part in found.parts] == [(), ("图书馆",), ("图书馆", "偏好"), ("图书馆", "历史")]
    first, second, code = found.parts[2].pieces
    assert isinstance(first, Bullet)
    assert isinstance(second, Bullet)
    assert (first.text, first.line, [one.text for one in first.below], second.text) == ("二楼", 8, ["安静"], "靠窗")
    assert code == "```\n- 代码\n```"


@pytest.mark.parametrize("front", ["a: [", "a: 'b", "*x", "!!python/object/apply:os.system [ls]", "a: &a [*a]"])
def test_broken_front_matter_is_told_and_the_text_is_read(front: str) -> None:
    found = outline(f"---\n{front}\n---\n- 我爱喝茶\n")
    assert (found.broken, dict(found.front)) == (True, {})
    (piece,) = found.parts[0].pieces
    assert isinstance(piece, Bullet)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("去 [[Library|图书馆]] 看书", "去 图书馆 看书"),
        ("去 [[places/图书馆#二楼]] 看书", "去 图书馆 看书"),
        ("**优先** ==二楼== ~~三楼~~", "优先 二楼 三楼"),
        ("见 [说明](notes/a.md) 和 [网站](https://example.com/)", "见 说明 和 [网站](https://example.com/)"),
        ("照片 ![[a.png]] 和 ![](b.png)", "照片  和"),
        ("不吃香菜 #饮食 #food/spice", "不吃香菜"),
        ("用 C# 和 #1 工位", "用 C# 和 #1 工位"),
        ("不吃香菜 ^abc-1", "不吃香菜"),
        ("看 %%悄悄话%% 书", "看  书"),
        ("snake_case_name 和 2*3*4", "snake_case_name 和 2*3*4"),
        ("_强调_ 一下", "强调 一下"),
    ],
)
def test_what_only_a_viewer_needs_goes(text: str, plain: str) -> None:
    assert plain_text(text) == plain


@given(st.text(max_size=60))
def test_no_line_breaks_it(text: str) -> None:
    assert len(plain_text(text)) <= max(len(text), 1)


def test_long_lines_cost_no_time() -> None:
    for bait in ("**", "[[", "<!--", "%%", "_a", "==x ", "![", " #a"):
        outline("- " + bait * 500_000)
