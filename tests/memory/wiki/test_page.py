"""Reading a page loses nothing, takes for a belief what is one, and refuses what it cannot be sure of."""

from __future__ import annotations

from contextlib import suppress
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qingtuan.errors import PageUnreadable
from qingtuan.identity.scopes import Visibility
from qingtuan.memory.wiki.page import MAX_BYTES, Page, parse
from tests.memory.wiki.nasty import BARE, CODE, COPIED, ENGLISH, LISTS, PAGES, PLAIN, TEMPLATE, UNINDENTED, any_page


def beliefs(text: str) -> list[tuple[int | None, str, bool]]:
    return [(belief.number, belief.text, belief.current) for belief in parse(text.encode()).beliefs]


def read(text: str) -> Page:
    return parse(text.encode())


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(any_page, st.text().map(str.encode), st.binary(max_size=200)))
def test_a_page_that_is_read_and_not_edited_is_the_same_bytes(data: bytes) -> None:
    try:
        page = parse(data)
    except PageUnreadable:
        return
    assert page.to_bytes() == data


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", PAGES)
def test_hand_made_pages_are_the_same_bytes(name: str, end: str) -> None:
    for data in (PAGES[name].encode(), PAGES[name].rstrip("\n").encode(), b"\xef\xbb\xbf" + PAGES[name].encode()):
        data = data.replace(b"\n", end.encode())
        assert parse(data).to_bytes() == data
        assert len(parse(data).beliefs) == len(read(PAGES[name]).beliefs)


def test_the_page_of_the_specification() -> None:
    page = read(PLAIN)
    assert (page.id, page.type, page.title) == ("01K0000000000000000000000A", "preference", "图书馆")
    assert (page.visibility, page.updated, page.language) == (Visibility.PRIVATE, date(2026, 6, 23), "zh")
    assert beliefs(PLAIN) == [
        (12, "优先二楼安静区", True),
        (13, "提交预约前必须二次确认", True),
        (9, "2026-06-20~2026-06-23：曾偏好三楼靠窗", False),
    ]
    first = page.beliefs[0]
    assert first.line == 12
    assert first.data.subject == "我"
    assert first.data.predicate == "座位偏好"
    assert first.data.value == "二楼安静区"
    assert first.data.since == date(2026, 6, 23)
    assert first.data.source == "evt_1"
    assert first.data.via == "cli"
    assert first.data.how == "explicit"
    assert first.data.pinned
    assert [belief.visibility for belief in page.beliefs] == ["own", "own", "private"]
    assert page.beliefs[2].statement == "偏好三楼靠窗"
    assert page.body.startswith("# 图书馆\n\n任何人")
    assert "qingtuan" not in page.body


def test_english_headings_and_trailing_text() -> None:
    assert beliefs(ENGLISH) == [
        (3, "Prefers the quiet area on the second floor", True),
        (4, "Never books without asking", True),
        (None, "[ ] a task somebody wrote", True),
        (1, "2026-05-01~2026-06-01: was: prefers window seats", False),
    ]
    assert read(ENGLISH).language == "en"
    assert read(ENGLISH).updated is None  # a quoted date is text
    assert [text for _, text, _ in beliefs(TEMPLATE)] == [
        "优先二楼安静区", "提交预约前必须二次确认", "2026-06-20~2026-06-23：曾偏好三楼靠窗",
    ]  # fmt: skip
    past = read(TEMPLATE).beliefs[2]
    assert (past.data.since, past.data.until) == (date(2026, 6, 20), date(2026, 6, 23))


@pytest.mark.parametrize(
    "heading", ["## 当前状态", "## Currently", "### 当前", "# 当前", "##当前", "## 以前", "    ## 当前"]
)
def test_other_headings_are_no_section(heading: str) -> None:
    assert beliefs(f"{heading}\n- a\n") == []


@pytest.mark.parametrize(
    "heading", ["## 当前", "   ## 当前（2026）", "## current ##", "##\tCurrent: now", "## 当前 <!-- x"]
)
def test_these_are_sections(heading: str) -> None:
    assert beliefs(f"{heading}\n- a\n") == [(None, "a", True)]


def test_only_bullets_of_the_top_level_are_beliefs() -> None:
    assert beliefs(LISTS) == [
        (1, "indented by two", True),
        (None, "also", True),
        (2, "plus lazy? no: indented lazy: yes", True),
        (None, "star", True),
        (3, "last", True),
    ]
    assert beliefs(UNINDENTED) == [
        (None, "a", True),
        (2, "b", True),
        (3, "c", False),
        (None, "d", False),
        (None, "e", False),
    ]


def test_code_comments_and_raw_html_hold_no_beliefs() -> None:
    assert beliefs(CODE) == [
        (6, "yes", True),
        (7, "yes too", True),
        (None, "`<!-- qingtuan` in a line", True),
        (None, "a bullet below the data", True),
    ]
    page = read(CODE)
    assert page.visibility is Visibility.PRIVATE  # "nonsense" is none
    assert [belief.visibility for belief in page.beliefs] == ["private", "public", "private", "private"]
    assert page.numbers == {6, 7, 99}


def test_data_that_cannot_be_read_is_private_and_counts_as_written_by_hand() -> None:
    data = "1: {broken\n2: {vis: all}\n3: {v: [x], vis: own, how: guess, pin: 1}\n"
    page = read(
        f"---\nvisibility: public\n---\n## 当前\n- a ^1\n- b ^2\n- c ^3\n- d ^4\n- e\n<!-- qingtuan\n{data}-->\n"
    )
    assert [belief.visibility for belief in page.beliefs] == ["private", "private", "own", "public", "public"]
    assert {belief.data.how for belief in page.beliefs} == {"hand"}
    assert page.beliefs[2].data.more == {"v": ["x"], "how": "guess", "pin": 1}
    assert not page.beliefs[2].data.pinned


def test_two_lines_for_one_number_are_a_merge_and_the_stricter_label_counts() -> None:
    page = read(COPIED)
    assert page.beliefs[0].data.value == "one"
    assert page.beliefs[0].visibility is Visibility.OWN


def test_a_copied_line_is_another_entry_and_seen_no_further() -> None:
    page = read(COPIED)
    assert [belief.number for belief in page.beliefs] == [1, None, 2, None]
    assert page.copied == {1, 2}
    assert page.beliefs[1].visibility is Visibility.OWN
    assert page.beliefs[1].data.value is None


def test_the_line_counts_where_its_data_says_otherwise() -> None:
    """A person edits the line in any editor; what stands there is believed."""
    page = read(
        "## 当前\n- 三楼 ^1\n<!-- qingtuan\n1: {p: 座位, v: 二楼, how: explicit, from: evt_1, t: 00000000}\n-->\n"
    )
    data = page.beliefs[0].data
    assert (data.value, data.how, data.predicate, data.source) == (None, "hand", "座位", "evt_1")


def test_a_bullet_may_run_over_lines_and_carry_comments() -> None:
    assert beliefs(
        "## 当前\n- 我不吃\n  香菜 ^1\n- likes\n  tea\n- a <!-- x --> b ^2 <!-- y -->  \n- c ^3\n  went on\n"
    ) == [
        (1, "我不吃香菜", True),
        (None, "likes tea", True),
        (2, "a b", True),
        (3, "c went on", True),
    ]


def test_bullets_that_say_nothing_are_no_beliefs_but_keep_their_numbers() -> None:
    page = read("## 当前\n-\n- \n- ^7\n- <!-- later -->\n- ```\n  code\n  ```\n")
    assert page.beliefs == ()
    assert page.numbers == {7}


@pytest.mark.parametrize("text", ["a^2", "a ^", "a ^0", "a ^01", "a ^1234567890", "a ^x1", "a ^2."])
def test_what_is_no_number(text: str) -> None:
    assert beliefs(f"## 当前\n- {text}\n") == [(None, text, True)]


def test_bare_bullets_without_anything_around() -> None:
    assert beliefs(BARE) == [(None, "一", True), (None, "二", True)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"---\ndescription: a: \"b\"c\n---\n# x\n", "front matter is broken"),
        (b"---\nid: 1\n# x\n", "never ends"),
        (b"---\n- a\n---\n", "no mapping"),
        (b"---\na: &x [1]\nb: *x\n---\n", "front matter is broken"),
        (b"---\na: !!bool maybe\n---\n", "front matter is broken"),
        ("---\na: " + "[" * 5000 + "\n---\n", "front matter is broken"),
        (b"# x\n<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> other\n", "conflict"),
        (b"## \xe5\xbd\x93\xe5\x89\x8d\n- a\n<<<<<<< HEAD\n- b\n", "conflict"),
        (b"<!-- qingtuan\n<<<<<<< HEAD\n1: {}\n=======\n>>>>>>> x\n-->\n", "conflict"),
        (b"# x\n\xff\xfe\n", "not UTF-8"),
        (b"# x\n\x00", "binary"),
        (b"x" * (MAX_BYTES + 1), "longer than 1 MB"),
        (b"x" * 10_000_000, "longer than 1 MB"),
        (b"<!-- qingtuan\n-->\n\n<!-- qingtuan\n-->\n", "two data comments"),
        (b"<!-- qingtuan\n1: {v: 1}\n", "no -->"),
        (b"<!-- qingtuan\n1: {v: 1} -->\n", "no -->"),
        (b"<!-- left open\n\n<!-- qingtuan\n-->\n", "never closed"),
        (b"```\nleft open\n\n<!-- qingtuan\n-->\n", "never closed"),
    ],
)  # fmt: skip
def test_unreadable(data: bytes | str, reason: str) -> None:
    with pytest.raises(PageUnreadable, match=reason) as error:
        parse(data if isinstance(data, bytes) else data.encode())
    assert error.value.words.zh.startswith("这一页读不了")


def test_conflict_marks_in_a_code_block_are_an_example() -> None:
    assert read("# git\n```\n<<<<<<< HEAD\n=======\n>>>>>>> x\n```\n").title == "git"


def test_front_matter_is_optional_and_may_hold_anything() -> None:
    assert read("# x\n").visibility is Visibility.PRIVATE
    assert read("---\n---\n# x\n").front == {}
    page = read("---\nid: 7\nupdated: 2026-01-02 03:04:05\ntitle: 书\ntags: [a]\n...\ntext\n")
    assert (page.id, page.updated, page.title, page.body) == ("7", date(2026, 1, 2), "书", "text")
    assert read("---\nvisibility: [public]\n---\n").visibility is Visibility.PRIVATE


def test_hostile_lines_are_read_in_linear_time() -> None:
    """A page cannot be made that holds up everything else: with one quadratic scan this would take minutes."""
    size = 200_000
    hostile = [
        "<!--" * (size // 4),
        "- " + "<!-- a -->" * (size // 10) + "x",
        "- " + "<!-- a -->" * (size // 10),
        "#" + " " * size,
        "- " * (size // 2),
        "- a" + " " * size + "^1",
        "`" * size,
        "- x " + "^1 " * (size // 3),
        "[" * size,
        "1. " * (size // 3),
    ]
    for line in hostile:
        data = line[:60_000].replace("-->", "")
        with suppress(PageUnreadable):
            read(f"## 当前\n- a ^1\n\n{line}\n-->\n\n<!-- qingtuan\n2: {data}\n-->\n")
