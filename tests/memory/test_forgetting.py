"""What "forget …" means."""

from __future__ import annotations

import pytest

from qingtuan.identity.scopes import Scope
from qingtuan.memory.forgetting import meant_by
from qingtuan.memory.holdings import Holdings
from qingtuan.memory.known import Known
from qingtuan.memory.wiki.page import parse
from tests.memory.scene import FOOD


def known(text: str, type_: str = "profile") -> list[Known]:
    page = parse(text.encode())
    scope = Scope.of_person("owner")
    current = [entry for entry in Holdings({"a.md": page}).entries if entry.belief.current]
    return [Known(scope, "a.md", type_, page.title, entry.belief) for entry in current]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("忘掉我喜欢川菜", 1),
        ("川菜", 1),
        ("水煮鱼那条", 1),
        ("别再记我不吃香菜", 2),
        ("花生", 3),
        ("过敏的事", 3),
        ("please forget that I like jasmine TEA", 4),
        ("iphone", 5),
        ("二楼", None),
        ("楼", None),
        ("喜欢的菜", 1),
    ],
)
def test_what_is_meant_by_forget(query: str, first: int | None) -> None:
    assert meant_by(query, known(FOOD))[0].known.belief.number == first


def test_what_is_not_shown_or_not_named_is_not_meant() -> None:
    assert [match.known.belief.number for match in meant_by("花生 川菜", known(FOOD)[:2])] == [1]
    assert meant_by("粤菜", known(FOOD)) == ()
    assert meant_by("忘掉", known(FOOD)) == ()
    assert meant_by("川菜", []) == ()


def test_the_topic_of_a_page_counts() -> None:
    shown = [
        *known("# 图书馆\n## 当前\n- 优先二楼 ^1\n", "preference"),
        *known("# 健身房\n## 当前\n- 优先一楼 ^2\n", "rule"),
    ]
    assert meant_by("忘掉图书馆的偏好", shown)[0].known.belief.number == 1
