"""Two versions of a page become one, by entries; what contradicts itself stays apart, and no line is lost."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.errors import PageUnreadable
from qingtuan.identity.scopes import Visibility
from qingtuan.memory.wiki import edits
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.edits import NewBelief
from qingtuan.memory.wiki.lines import join_lines
from qingtuan.memory.wiki.page import Page, parse
from qingtuan.memory.wiki.units import units_of
from qingtuan.memory.wiki.weaving import weave
from tests.memory.wiki.nasty import PAGES, PLAIN, any_page

DAY = date(2026, 7, 1)


def page(text: str) -> Page:
    return parse(text.encode())


def woven(base: str | None, theirs: str, ours: str) -> str:
    found = weave(page(base) if base is not None else None, page(theirs), page(ours))
    assert found is not None
    return found.page.to_bytes().decode()


def added(text: str, number: int, said: str) -> str:
    new = NewBelief(number, said, BeliefData(predicate=said, value=said))
    return edits.with_current(page(text), new, DAY).to_bytes().decode()


@given(any_page)
def test_the_units_of_a_page_are_all_of_its_lines(data: bytes) -> None:
    try:
        read = parse(data)
    except PageUnreadable:
        return
    assert join_lines(line for unit in units_of(read) for line in unit.lines).encode() == data
    keys = [unit.key for unit in units_of(read) if unit.key.unique]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("name", PAGES)
def test_what_one_side_alone_changed_is_so(name: str) -> None:
    text = PAGES[name]
    for changed in (added(text, 91, "新的"), f"{text}\n\n最后一段\n" if "open" not in name else text):
        assert weave(page(text), page(changed), page(text)) is not None
        assert woven(text, changed, text).splitlines() == changed.splitlines()
        assert woven(text, text, changed) == changed


def test_both_added_entries_at_the_same_place() -> None:
    result = woven(PLAIN, added(PLAIN, 15, "他们的"), added(PLAIN, 14, "我们的"))
    lines = result.splitlines()
    at = lines.index("- 提交预约前必须二次确认 ^13")
    assert lines[at + 1 : at + 3] == ["- 我们的 ^14", "- 他们的 ^15"]
    assert {14, 15} <= page(result).data.keys()
    assert "updated: 2026-07-01" in lines


def test_reworded_here_and_gone_to_history_there_and_the_other_way_round() -> None:
    read = page(PLAIN)
    reworded = edits.with_text(read, 13, "预约前一定要确认两次", DAY)
    retired = edits.retired(read, 12, DAY, "不再", DAY)
    for theirs, ours in ((reworded, retired), (retired, reworded)):
        found = weave(read, theirs, ours)
        assert found is not None
        assert not found.contested
        thirteen, twelve = found.page.belief(13), found.page.belief(12)
        assert thirteen is not None
        assert twelve is not None
        assert (thirteen.text, thirteen.current, twelve.current) == ("预约前一定要确认两次", True, False)


def test_what_both_changed_is_told_and_stands_as_here() -> None:
    read = page(PLAIN)
    theirs, ours = edits.with_text(read, 12, "坐三楼", DAY), edits.with_text(read, 12, "坐一楼", DAY)
    found = weave(read, theirs, ours)
    assert found is not None
    assert found.contested == {12}
    belief = found.page.belief(12)
    assert belief is not None
    assert belief.text == "坐一楼"
    retired = edits.retired(read, 12, DAY, "", DAY)
    found = weave(read, retired, ours)
    assert found is not None
    assert found.contested == {12}
    belief = found.page.belief(12)
    assert belief is not None
    assert belief.current


def test_superseded_on_both_sides() -> None:
    read = page(PLAIN)

    def superseded(number: int, text: str) -> Page:
        return edits.superseded(
            read, 12, NewBelief(number, text, BeliefData(predicate="座位偏好", value=text)), DAY, DAY
        )

    found = weave(read, superseded(15, "坐三楼"), superseded(14, "坐一楼"))
    assert found is not None
    assert [(one.number, one.current) for one in found.page.beliefs][:3] == [(14, True), (15, True), (13, True)]
    assert sum(one.number == 12 for one in found.page.beliefs) == 1


def test_taken_out_there_and_reworded_here_it_stays() -> None:
    read = page(PLAIN)
    theirs, ours = edits.purged(read, 12, DAY), edits.with_text(read, 12, "坐一楼", DAY)
    found = weave(read, theirs, ours)
    assert found is not None
    belief = found.page.belief(12)
    assert belief is not None
    assert belief.text == "坐一楼"
    found = weave(read, ours, theirs)
    assert found is not None
    assert found.contested == {12}
    assert found.page.belief(12) is None
    assert weave(read, theirs, read) is not None
    assert "^12" not in woven(PLAIN, theirs.to_bytes().decode(), PLAIN)


def test_labels_and_pins_field_by_field() -> None:
    read = page(PLAIN)
    twelve = read.belief(12)
    assert twelve is not None

    def with_data(**changes: object) -> Page:
        from dataclasses import replace

        return edits.with_data(read, 12, replace(twelve.data, **changes), DAY)  # type: ignore[arg-type]

    found = weave(read, with_data(pinned=False), with_data(visibility=Visibility.PUBLIC))
    assert found is not None
    belief = found.page.belief(12)
    assert belief is not None
    assert (belief.data.pinned, belief.visibility) == (False, Visibility.PUBLIC)
    found = weave(read, with_data(visibility=Visibility.PUBLIC), with_data(visibility=Visibility.PRIVATE))
    assert found is not None
    belief = found.page.belief(12)
    assert belief is not None
    assert belief.visibility is Visibility.PRIVATE


def test_text_that_both_put_in_other_words_stays_apart() -> None:
    theirs = PLAIN.replace("任何人写在这里的文字都原样保留。", "他们的话")
    ours = PLAIN.replace("任何人写在这里的文字都原样保留。", "我们的话")
    assert weave(page(PLAIN), page(theirs), page(ours)) is None
    assert woven(PLAIN, theirs, theirs) == theirs
    # Taken out by one side and put in other words by the other: the words stay.
    without = PLAIN.replace("任何人写在这里的文字都原样保留。\n", "")
    assert "我们的话" in woven(PLAIN, without, ours)
    assert "我们的话" in woven(PLAIN, ours, without)


def test_paragraphs_added_by_both_stand_one_after_the_other() -> None:
    first = PLAIN.replace("# 图书馆\n", "# 图书馆\n\n甲说的\n")
    second = PLAIN.replace("# 图书馆\n", "# 图书馆\n\n乙说的\n")
    result = woven(PLAIN, first, second)
    assert result.index("乙说的") < result.index("甲说的")


def test_a_page_that_both_made() -> None:
    front = "---\nid: A\ntype: profile\nvisibility: own\nupdated: 2026-06-01\n---\n"
    one = f"{front}# 基本情况\n\n## 当前\n- 甲 ^1\n\n## 历史\n"
    other = one.replace("id: A", "id: B").replace("甲 ^1", "乙 ^2").replace("own", "private").replace("06-01", "06-02")
    result = woven(None, other, one)
    assert result.startswith("---\nid: A\ntype: profile\nvisibility: private\nupdated: 2026-06-02\n---\n# 基本情况\n")
    assert "- 甲 ^1\n- 乙 ^2\n" in result
    assert result.count("## ") == 2
    assert weave(None, page("# 甲\n另一页\n"), page("---\ntags: [a]\n---\n# 乙\n")) is not None
    assert weave(None, page("---\ntags: [b]\n---\n"), page("---\ntags: [a]\n---\n")) is None


def test_line_ends_of_windows_on_one_side() -> None:
    dos = PLAIN.replace("\n", "\r\n")
    result = woven(PLAIN, added(dos, 15, "他们的"), added(PLAIN, 14, "我们的"))
    assert "\r" not in result
    assert "- 我们的 ^14\n- 他们的 ^15\n" in result
    result = woven(PLAIN, added(PLAIN, 15, "他们的"), added(dos, 14, "我们的"))
    assert result.count("\r\n") == result.count("\n")


def test_a_missing_last_line_end_stays_missing() -> None:
    bare = PLAIN.rstrip("\n")
    assert not woven(bare, added(bare, 15, "他们的"), added(bare, 14, "我们的")).endswith("\n")


# ------------------------------------------------------------------------------------------------------ any page


@st.composite
def changes(draw: st.DrawFn, data: bytes, first: int) -> bytes:
    """Some edits of a page, by hand and by us; new numbers from `first` on."""
    read = parse(data)
    for count in range(draw(st.integers(0, 4))):
        numbers = [one.number for one in read.beliefs if one.number is not None and one.number not in read.copied]
        current = [one.number for one in read.beliefs if one.current and one.number in numbers]
        kind = draw(st.sampled_from(["add", "reword", "retire", "purge", "line", "drop", "pin"]))
        said = f"说{first + count}"
        try:
            if kind == "add":
                read = edits.with_current(read, NewBelief(first + count, said, BeliefData(value=said)), DAY)
            elif kind == "reword" and current:
                read = edits.with_text(read, draw(st.sampled_from(current)), said, DAY)
            elif kind == "retire" and current:
                read = edits.retired(read, draw(st.sampled_from(current)), DAY, "", DAY)
            elif kind == "purge" and numbers:
                read = edits.purged(read, draw(st.sampled_from(numbers)), DAY)
            elif kind == "pin" and numbers:
                number = draw(st.sampled_from(numbers))
                belief = read.belief(number)
                assert belief is not None
                read = edits.with_data(read, number, BeliefData(pinned=True), DAY)
            elif kind in ("line", "drop") and read.lines:
                lines = read.to_bytes().splitlines(keepends=True)
                at = draw(st.integers(0, len(lines) - 1))
                lines[at : at + (kind == "drop")] = [f"{said}\n".encode()] if kind == "line" else []
                read = parse(b"".join(lines))
        except (PageUnreadable, KeyError):
            continue
    return read.to_bytes()


@st.composite
def triples(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    data = draw(any_page)
    try:
        parse(data)
    except PageUnreadable:
        data = PLAIN.encode()
    return data, draw(changes(data, 500)), draw(changes(data, 600))


@given(triples())
def test_no_line_that_somebody_wrote_is_lost(versions: tuple[bytes, bytes, bytes]) -> None:
    base, theirs, ours = versions
    found = weave(parse(base), parse(theirs), parse(ours))
    if found is None:
        assert theirs not in (base, ours)
        return
    words = Counter(line.strip("\ufeff ") for line in found.page.to_bytes().decode().splitlines())
    old = Counter(line.strip("\ufeff ") for line in base.decode().splitlines())
    said = _entries(found.page)
    copied = frozenset[int]().union(*(parse(version).copied for version in versions))
    for side, other in ((theirs, ours), (ours, theirs)):
        for line, count in (Counter(line.strip("\ufeff ") for line in side.decode().splitlines()) - old).items():
            about_an_entry = line.startswith(("updated:", "visibility:")) or line.split(":")[0].isdigit()
            if line.startswith("说") and not about_an_entry:
                assert words[line] >= count
        for number, text in _entries(parse(side)).items():
            unchanged_there = _entries(parse(other)).get(number) == _entries(parse(base)).get(number)
            if number not in found.contested | copied and unchanged_there:
                assert said.get(number) == text
    again = weave(parse(base), parse(theirs), found.page)
    assert again is None or not found.contested or again.page.numbers == found.page.numbers


def _entries(read: Page) -> dict[int, str]:
    return {one.number: one.text for one in read.beliefs if one.number is not None and one.number not in read.copied}
