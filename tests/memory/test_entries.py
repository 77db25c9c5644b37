"""What stands in a scope, found by number, by day and by words."""

from __future__ import annotations

from datetime import date

from qingtuan.identity.scopes import Visibility
from qingtuan.memory.entries import held_on, is_current, pages_of
from qingtuan.memory.holdings import Holdings
from qingtuan.memory.wiki.page import Page, parse
from tests.memory.scene import FOOD, entries, find, next_number

TODAY = date(2026, 11, 29)
ALL = frozenset(Visibility)


def pages(**texts: str) -> dict[str, Page]:
    return {f"{name}.md": parse(text.encode()) for name, text in texts.items()}


def test_numbers_count_bullets_and_data_of_every_page_and_what_was_purged() -> None:
    assert next_number({}) == 1
    assert next_number(pages(food=FOOD)) == 7
    assert next_number(pages(food=FOOD, x="## 当前\n- a ^40\n", y="<!-- qingtuan\n70: {}\n-->\n")) == 71
    assert next_number(pages(food=FOOD), 99) == 100
    assert next_number(pages(x="# x\n- a footnote ^500\n```\n## 当前\n- b ^600\n```\n")) == 1


def test_find_and_pages_of() -> None:
    scope = pages(food=FOOD, old="# x\n<!-- qingtuan\n2: {v: x}\n-->\n")
    found = find(scope, 2)
    assert found
    assert (found.path, found.belief.text, found.lent, found.data.value) == ("food.md", "不吃香菜", True, "x")
    assert find(scope, 7) is None
    assert pages_of(scope, 2) == ("food.md", "old.md")


def test_a_moved_bullet_keeps_its_data_and_the_stricter_of_two_defaults() -> None:
    scope = pages(
        a="---\nvisibility: private\n---\n# a\n<!-- qingtuan\n1: {v: x}\n2: {v: y, vis: own}\n-->\n",
        b="---\nvisibility: public\n---\n# b\n## 当前\n- x ^1\n- y ^2\n- z ^3\n",
    )
    assert [(e.number, e.data.value, str(e.belief.visibility)) for e in entries(scope)] == [
        (1, "x", "private"), (2, "y", "own"), (3, None, "public"),
    ]  # fmt: skip


def test_a_number_on_two_pages_belongs_to_the_one_with_its_data() -> None:
    copy, original = "## 当前\n- x, copied ^1\n", "## 当前\n- x ^1\n<!-- qingtuan\n1: {v: x, vis: own}\n-->\n"
    public = f"---\nvisibility: public\n---\n{copy}"
    scope = pages(a=public, b=original, c=public)
    assert [(e.path, e.number, str(e.belief.visibility)) for e in entries(scope)] == [
        ("a.md", None, "own"), ("b.md", 1, "own"), ("c.md", None, "own"),
    ]  # fmt: skip
    assert set(Holdings(scope).copied("a.md")) == {1}
    assert Holdings(scope).copied("b.md") == {}
    assert [e.number for e in entries(pages(a=copy, b=copy))] == [1, None]


def test_what_holds_on_a_day() -> None:
    text = "## 当前\n- always ^1\n- from tomorrow ^2\n- until yesterday ^3\n- until today ^4\n## 历史\n- once ^5\n"
    data = "2: {since: 2026-11-30}\n3: {until: 2026-11-28}\n4: {since: 2026-11-01, until: 2026-11-29}\n"
    beliefs = parse(f"{text}<!-- qingtuan\n{data}-->\n".encode()).beliefs
    assert [is_current(belief, TODAY) for belief in beliefs] == [True, False, False, True, False]
    assert [held_on(belief, TODAY) for belief in beliefs] == [True, False, False, True, False]
    assert [held_on(belief, date(2026, 12, 1)) for belief in beliefs] == [True, True, False, False, False]
