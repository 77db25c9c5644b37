"""What an erasure makes of pages and of commits: whatever somebody calls themselves, nothing else is touched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from qingtuan.memory.erasing.rules import GONE, NOBODY, Entry, WikiRules, naming
from qingtuan.memory.erasing.words import Needles
from qingtuan.memory.wiki.page import parse

PAGE = """\
---
id: 01M8JGFZZRB6VDMJS4DJF5PM0J
type: profile
visibility: private
updated: 2026-11-29
---
# 基本情况

## 当前
- 订位归小芳 ^1
- 值日是 xiaofang，小芳芳不是 ^2
- 小芳带酒 ^3
- 爱吃榴莲
- 三点开会

## 历史
- ~~爱吃榴莲千层~~ ^4

<!-- qingtuan
1: {s: 本群, p: 订位, v: 小芳, since: 2026-11-29}
3: {s: 小芳, p: 酒, v: 酒, since: 2026-11-29}
-->
"""
FOLDER, PATH = "groups/qq-777", "groups/qq-777/profile.md"


def ruled(rules: WikiRules, text: str = PAGE) -> str:
    return rules.file(PATH, text.encode()).decode()


def test_entries_that_stay_name_nobody() -> None:
    rules = WikiRules(nameless={FOLDER: (1, 2)}, called=("小芳",), names=("xiaofang", "qq:20002"))
    after = ruled(rules)
    assert "- 订位归某人 ^1" in after
    assert "- 值日是 某人，某人芳不是 ^2" in after
    assert "- 小芳带酒 ^3" in after
    page = parse(after.encode())
    assert page.data[1].data.value == "某人"
    assert [one.number for one in page.beliefs] == [one.number for one in parse(PAGE.encode()).beliefs]
    assert ruled(rules, after) == after


def test_an_english_page_says_it_in_english() -> None:
    english = "# Basics\n\n## Current\n- Li keeps the keys, like always ^1\n\n## History\n"
    after = ruled(WikiRules(nameless={FOLDER: (1,)}, called=("li",)), english)
    assert "- somebody keeps the keys, like always ^1" in after


def test_entries_that_go_leave_no_line() -> None:
    rules = WikiRules(entries={FOLDER: (Entry(4, ("爱吃榴莲千层", "爱吃榴莲")), Entry(3, ()))})
    after = ruled(rules)
    assert "榴莲" not in after
    assert "带酒" not in after
    assert "3: {" not in after
    assert "- 三点开会" in after
    assert "- 订位归小芳 ^1" in after
    assert ruled(rules, after) == after


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=2, max_size=8))
def test_no_name_breaks_a_page(name: str) -> None:
    """A nickname is chosen by whoever has it."""
    before = parse(PAGE.encode())
    page = parse(ruled(WikiRules(nameless={FOLDER: (1, 2)}, called=(name, "^1", "~~", "##"))).encode())
    assert [one.number for one in page.beliefs] == [one.number for one in before.beliefs]
    assert [one.text for one in page.beliefs[2:]] == [one.text for one in before.beliefs[2:]]
    assert page.data.keys() == before.data.keys()


def test_a_page_that_cannot_be_read_loses_lines() -> None:
    broken = b"---\nid: [\n---\n- \xe5\xb0\x8f\xe8\x8a\xb3 ^1\r\n- \xff\xfe other\n- mine ^2\n2: {s: x}\n"
    rules = WikiRules(entries={FOLDER: (Entry(2, ()),)}, nameless={FOLDER: (1,)}, called=("小芳",))
    assert rules.file(PATH, broken) == "---\nid: [\n---\n- 某人 ^1\r\n".encode() + b"- \xff\xfe other\n"


def test_only_pages_of_the_scopes_are_touched() -> None:
    rules = WikiRules(gone=frozenset({"users/li"}), entries={"shared": (Entry(1),)}, nameless={FOLDER: (2,)})
    assert [rules.keeps(path) for path in ("users/li/a.md", "users/li", "users/lin/a.md", "li/users")] == [
        False,
        False,
        True,
        True,
    ]
    touched = ("shared/a/b.md", PATH, "groups/qq-7777/a.md", "shared.md", f"{FOLDER}/x.png", "users/li/a.md")
    assert [rules.touches(path) for path in touched] == [True, True, False, False, False, False]


# Commits


def test_a_commit_of_theirs_keeps_no_word() -> None:
    rules = WikiRules(names=("xiaofang",), commits=frozenset({"abc"}))
    message = "记住：爱吃榴莲\n\n还有一行\n\nEvent: evt_1\nFor: xiaofang\nTurn: t_1\n".encode()
    for commit in ("abc", "def"):
        assert rules.message(commit, message).decode() == f"{GONE}\n\nEvent: evt_1\nTurn: t_1\n"
    assert rules.message("abc", b"x\n").decode() == f"{GONE}\n"


def test_a_commit_of_others_keeps_all_but_who_that_is() -> None:
    rules = WikiRules(names=("xiaofang", "qq:20002"), called=("小芳", "owner", "记住", "小青团"))
    message = "记住：小芳来\n\nEvent: evt_1\nFor: owner\n".encode()
    assert rules.message("abc", message) == message
    named = rules.message("abc", "手改：users/xiaofang/a.md\n\nFor: owner\n".encode()).decode()
    assert named == "手改：users/某人/a.md\n\nFor: owner\n"
    assert rules.signature("小青团 <qingtuan@localhost>".encode()) == "小青团 <qingtuan@localhost>".encode()
    assert rules.signature(b"Xiaofang <x@y>") == NOBODY


def test_lines_that_quote_it_go() -> None:
    rules = WikiRules(quotes=Needles.of(["爱吃榴莲千层"], told=["养猫"]))
    message = "记住：爱吃榴莲千层 (+1)\n\n- 养猫\n- 养猫咪\n\nFor: owner\n".encode()
    assert rules.message("abc", message).decode() == f"{GONE}\n\n{GONE}\n- 养猫咪\n\nFor: owner\n"


def test_names_stand_as_whole_words() -> None:
    found = naming(["li", "小芳", "qq:1", ""])
    assert found is not None
    assert found.sub("_", "Li, like li小芳 qq:12 qq:1。") == "_, like __ qq:12 _。"
    assert naming(["", ""]) is None
