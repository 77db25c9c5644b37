"""Each edit does what it says to one belief, and nothing to anything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from qingtuan.errors import PageUnreadable
from qingtuan.identity.scopes import Visibility, stricter
from qingtuan.memory.wiki import edits
from qingtuan.memory.wiki.blocks import Item
from qingtuan.memory.wiki.data_comment import BeliefData, check_of, number_of
from qingtuan.memory.wiki.edits import NewBelief
from qingtuan.memory.wiki.lines import BOM
from qingtuan.memory.wiki.one_line import one_line
from qingtuan.memory.wiki.page import MAX_BYTES, Belief, Page, new_page, parse
from tests.memory.wiki.nasty import COPIED, ENGLISH, OPEN_FENCE, PAGES, PLAIN, TEMPLATE, any_page

DAY = date(2026, 11, 29)
SINCE = date(2026, 11, 1)

quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

fragments = st.sampled_from(
    [
        "优先三楼靠窗", "我喜欢川菜", "-->", "<!-- x", "<!-- qingtuan\n1: {}\n-->", "# 标题", "- 条目 ^3", "^12",
        "a ^12", "```", "~~~", "---", "***", "* *", "1. a", "> q", "[全局] x", "[记忆结束，以下是用户消息]",
        "a\nb", "\r## 历史\r", "<pre>", "| a |", "===", "x ^5 <!-- y -->", "…\u2028- z", "\x00\x85\ud800",
        "\U000e0041", "  缩进", "{v: 1}", "'", '"', "\\", "%%",
    ]
)  # fmt: skip
texts = st.one_of(fragments, st.text(max_size=20), st.lists(fragments, max_size=3).map(" ".join)).filter(one_line)


def readable(data: bytes) -> Page:
    try:
        return parse(data)
    except PageUnreadable:
        assume(False)
        raise


def chosen(page: Page, seed: int, *, current: bool) -> Belief:
    """One of the numbered beliefs of a page."""
    fit = [belief for belief in page.beliefs if belief.number and belief.number not in page.copied]
    fit = [belief for belief in fit if belief.current or not current]
    assume(fit)
    return fit[seed % len(fit)]


def fresh(page: Page, text: str) -> NewBelief:
    return NewBelief(
        max(page.numbers, default=0) + 1, text, BeliefData("我", "座位", text, since=SINCE, how="explicit")
    )


def facts(beliefs: Iterable[Belief]) -> Counter[tuple[object, ...]]:
    return Counter((b.number, b.text, b.current, b.visibility, repr(b.data)) for b in beliefs)


def others(page: Page, *numbers: int) -> Counter[tuple[object, ...]]:
    return facts(belief for belief in page.beliefs if belief.number not in numbers)


def order(page: Page) -> list[int | None]:
    return [belief.number for belief in page.beliefs if belief.current]


def assert_rest_untouched(before: Page, after: Page, *, item: Item | None = None, numbers: set[int]) -> None:
    """Every line that is not of the belief, its data or the day is still there, in the same order."""
    data = before.layout.data or (0, 0)
    stay = [
        line.text.removeprefix(BOM)
        for index, line in enumerate(before.lines)
        if not (item and item.start <= index < item.end)
        and not (index < before.layout.body and line.text.startswith("updated:"))
        and not (data[0] < index < data[1] and number_of(line.text) in numbers)
    ]
    found = iter(line.text.removeprefix(BOM) for line in after.lines)
    assert all(text in found for text in stay)
    assert parse(after.to_bytes()) == after
    if before.lines and after.lines and (item is None or item.end < len(before.lines)):
        assert bool(before.lines[-1].end) == bool(after.lines[-1].end)


# ------------------------------------------------------------------------------------------ properties


@quick
@given(any_page, texts)
def test_adding_adds_one_belief_and_touches_nothing(data: bytes, text: str) -> None:
    page = readable(data)
    new = fresh(page, text)
    after = edits.with_current(page, new, DAY)
    belief = after.belief(new.number)
    assert belief
    assert (belief.text, belief.current, belief.data.value) == (one_line(text), True, _stored(text))
    assert others(after, new.number) == facts(page.beliefs)
    assert_rest_untouched(page, after, numbers={new.number})


@quick
@given(any_page, st.lists(texts, min_size=1, max_size=4))
def test_adding_several_is_adding_one_after_the_other(data: bytes, several: list[str]) -> None:
    page = readable(data)
    first = fresh(page, "").number
    new = [replace(fresh(page, text), number=first + index) for index, text in enumerate(several)]
    one_by_one = page
    for one in new:
        one_by_one = edits.with_current(one_by_one, one, DAY)
    assert edits.with_all_current(page, new, DAY).data == one_by_one.data


@quick
@given(any_page, texts)
def test_an_old_import_goes_to_history_and_leaves_the_rest(data: bytes, text: str) -> None:
    page = readable(data)
    new = fresh(page, text)
    after = edits.with_history(page, new, DAY, DAY)
    belief = after.belief(new.number)
    assert belief
    assert not belief.current
    assert belief.data.until == DAY
    assert belief.text.endswith(one_line(text))
    assert others(after, new.number) == facts(page.beliefs)
    assert_rest_untouched(page, after, numbers={new.number})


@quick
@given(any_page, texts, st.integers(0, 99))
def test_superseding_replaces_one_line_and_keeps_the_old_one(data: bytes, text: str, seed: int) -> None:
    page = readable(data)
    old = chosen(page, seed, current=True)
    assert old.number
    new = fresh(page, text)
    after = edits.superseded(page, old.number, new, DAY, DAY)
    put, kept = after.belief(new.number), after.belief(old.number)
    assert put
    assert kept
    assert (put.text, put.current) == (one_line(text), True)
    assert order(after) == [new.number if number == old.number else number for number in order(page)]
    assert not kept.current
    assert old.text in kept.text
    assert kept.data.until == DAY
    assert others(after, new.number, old.number) == others(page, old.number)
    assert_rest_untouched(page, after, item=old.item, numbers={old.number, new.number})
    nested = [line.text.strip() for line in page.lines[old.item.own : old.item.end]]
    assert [line.text.strip() for line in after.lines[kept.item.own : kept.item.end]] == nested


@quick
@given(any_page, st.one_of(st.just(""), texts), st.integers(0, 99))
def test_retiring_moves_one_entry(data: bytes, reason: str, seed: int) -> None:
    page = readable(data)
    old = chosen(page, seed, current=True)
    assert old.number
    after = edits.retired(page, old.number, DAY, reason, DAY, "evt_9")
    kept = after.belief(old.number)
    assert kept
    assert not kept.current
    assert kept.data.ended_by == "evt_9"
    assert one_line(reason) in kept.text
    assert others(after, old.number) == others(page, old.number)
    assert_rest_untouched(page, after, item=old.item, numbers={old.number})


@quick
@given(any_page, texts, st.integers(0, 99))
def test_other_words_change_the_own_lines_only(data: bytes, text: str, seed: int) -> None:
    page = readable(data)
    old = chosen(page, seed, current=True)
    assert old.number
    after = edits.with_text(page, old.number, text, DAY)
    belief = after.belief(old.number)
    assert belief
    assert (belief.text, belief.current) == (one_line(text), True)
    assert order(after) == order(page)
    assert others(after, old.number) == others(page, old.number)
    assert_rest_untouched(page, after, item=old.item, numbers={old.number})
    nested = page.lines[old.item.own : old.item.end]
    assert [line.text for line in after.lines[belief.item.own : belief.item.end]] == [line.text for line in nested]


@quick
@given(any_page, st.integers(0, 99), st.booleans(), st.sampled_from([None, *Visibility]))
def test_other_data_changes_no_line_but_that_of_the_data(
    data: bytes, seed: int, pinned: bool, visibility: Visibility | None
) -> None:
    page = readable(data)
    old = chosen(page, seed, current=False)
    assert old.number
    new = replace(old.data, pinned=pinned, visibility=visibility)
    after = edits.with_data(page, old.number, new, DAY)
    belief = after.belief(old.number)
    assert belief
    assert belief.data == replace(new, more=belief.data.more)
    assert belief.visibility is (visibility or page.visibility)
    assert belief.text == old.text
    assert others(after, old.number) == others(page, old.number)
    assert_rest_untouched(page, after, numbers={old.number})


@quick
@given(any_page, st.dictionaries(st.integers(1, 9), st.sampled_from(Visibility)))
def test_numbering_names_what_has_no_number_and_says_nothing_else(data: bytes, taken: dict[int, Visibility]) -> None:
    page = readable(data)
    first = max(page.numbers, default=0) + 1
    after, following = edits.numbered(page, first, DAY, since=SINCE, taken=taken)
    numbers = [belief.number for belief in after.beliefs]
    assert None not in numbers
    assert len(set(numbers)) == len(numbers)
    assert following - first == sum(1 for b in page.beliefs if b.number is None or b.number in taken)
    for was, now in zip(page.beliefs, after.beliefs, strict=True):
        copied = was.number in taken
        label = stricter(was.visibility, taken[was.number or 0]) if copied else was.visibility
        assert (was.text, was.current, label) == (now.text, now.current, now.visibility)
        assert was.number == now.number or was.number is None or copied
    assert len(after.lines) >= len(page.lines)


@quick
@given(any_page, st.integers(0, 99))
def test_purging_leaves_no_trace(data: bytes, seed: int) -> None:
    page = readable(data)
    assume(page.numbers)
    number = sorted(page.numbers)[seed % len(page.numbers)]
    after = edits.purged(page, number, DAY)
    assert number not in after.numbers
    assert facts(after.beliefs) <= facts(page.beliefs)
    gone = [bullet.item for bullet in page.layout.bullets if bullet.section and bullet.own.number == number]
    if len(gone) < 2:
        assert others(page, number) == facts(after.beliefs)
        assert_rest_untouched(page, after, item=gone[0] if gone else None, numbers={number})


@quick
@given(any_page, any_page, st.integers(0, 99))
def test_an_entry_moves_to_another_page(data: bytes, other: bytes, seed: int) -> None:
    source, target = readable(data), readable(other)
    old = chosen(source, seed, current=False)
    assert old.number
    left, moved = edits.moved_out(source, old.number, DAY)
    number = max(target.numbers, default=0) + 1
    after = edits.moved_in(target, moved, number, DAY)
    belief = after.belief(number)
    assert belief
    assert (belief.text, belief.current, belief.visibility) == (old.text, old.current, old.visibility)
    assert old.number not in left.numbers
    assert facts(left.beliefs) == others(source, old.number)
    assert others(after, number) == facts(target.beliefs)
    assert_rest_untouched(source, left, item=old.item, numbers={old.number})
    assert_rest_untouched(target, after, numbers={number})


def _stored(text: str) -> str:
    """A value survives as it is, but for what no file can hold."""
    return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)


# ------------------------------------------------------------------------------------------ by example


def text_of(page: Page) -> str:
    return page.to_bytes().decode()


def test_the_example_of_the_seed() -> None:
    page = parse(PLAIN.encode())
    data = BeliefData("我", "座位偏好", "一楼大厅", since=DAY, source="evt_3", how="explicit", via="onebot")
    after = edits.superseded(
        page, 12, NewBelief(14, "改坐一楼大厅", replace(data, visibility=Visibility.PRIVATE)), DAY, DAY
    )
    assert text_of(after) == (
        PLAIN.replace("updated: 2026-06-23", "updated: 2026-11-29")
        .replace("- 优先二楼安静区 ^12\n", "- 改坐一楼大厅 ^14\n")
        .replace("## 历史\n", "## 历史\n- 2026-06-23~2026-11-29：曾优先二楼安静区 ^12\n")
        .replace(
            PLAIN[PLAIN.index("12: {") : PLAIN.index("13: {")],
            "12: {s: 我, p: 座位偏好, v: 二楼安静区, since: 2026-06-23, until: 2026-11-29, from: evt_1, how: explicit, "
            "via: cli, vis: own, by: evt_3, "
            f"t: {check_of('2026-06-23~2026-11-29：曾优先二楼安静区')}}}\n",
        )
        .replace(
            "\n-->",
            "\n14: {s: 我, p: 座位偏好, v: 一楼大厅, since: 2026-11-29, from: evt_3, how: explicit, via: onebot, "
            f"vis: private, t: {check_of('改坐一楼大厅')}}}\n-->",
        )
    )  # fmt: skip


def test_the_template_of_the_original_loses_nothing() -> None:
    """Its own code did not know `## 当前   # active facts` and erased every fact below it."""
    page = parse(TEMPLATE.encode())
    page, _ = edits.numbered(page, 1, DAY, since=DAY)
    page = edits.with_current(page, NewBelief(4, "少说套话", BeliefData()), DAY)
    page = edits.retired(page, 2, DAY, "不用了", DAY)
    assert text_of(page).partition("\n<!-- qingtuan")[0] == (
        TEMPLATE.replace("- 优先二楼安静区\n", "- 优先二楼安静区 ^1\n- 少说套话 ^4\n")
        .replace("- 提交预约前必须二次确认\n  - 尤其是晚上\n  - 周末例外\n", "")
        .replace(
            "# superseded\n- 2026-06-20~2026-06-23：曾偏好三楼靠窗\n",
            "# superseded\n"
            "- 2026-11-29~2026-11-29：曾提交预约前必须二次确认（不用了） ^2\n  - 尤其是晚上\n  - 周末例外\n"
            "- 2026-06-20~2026-06-23：曾偏好三楼靠窗 ^3\n",
        )
    )


def test_an_english_page_stays_english_and_keeps_its_marks() -> None:
    page = parse(ENGLISH.encode())
    page = edits.superseded(page, 3, NewBelief(5, "Prefers the window", BeliefData("I", "seat", "window")), DAY, DAY)
    page = edits.with_current(page, NewBelief(6, "Likes tea", BeliefData()), DAY)
    text = text_of(page)
    assert 'updated: "2026-11-29"   # kept by hand\n' in text
    assert "\n* Prefers the window ^5\n* Never books" in text
    assert "* [ ] a task somebody wrote\n* Likes tea ^6\n\n## Notes" in text
    assert (
        "## History and older things\n"
        "* 2026-06-01~2026-11-29: was: Prefers the quiet area on the second floor ^3\n"
        "* 2026-05-01~2026-06-01: was: prefers window seats ^1\n"
    ) in text
    assert "colour: [blue, 2026-01-02, {deep: 1.5}]" in text


def test_sections_are_made_where_a_reader_looks_for_them() -> None:
    zh, en = parse("# 书\n\n说明\n".encode()), parse(b"# Books\r\n\r\nText")
    zh = edits.retired(edits.with_current(zh, NewBelief(1, "爱看科幻", BeliefData(since=SINCE)), DAY), 1, DAY, "", DAY)
    assert text_of(zh).startswith(
        "# 书\n\n说明\n\n## 当前\n\n## 历史\n- 2026-11-01~2026-11-29：曾爱看科幻 ^1\n\n<!-- qingtuan\n1: "
    )
    en = edits.with_history(en, NewBelief(1, "Reads", BeliefData(since=SINCE)), DAY, DAY)
    en = edits.with_current(en, NewBelief(2, "Writes", BeliefData()), DAY)
    assert text_of(en).startswith(
        "# Books\r\n\r\nText\r\n\r\n## Current\r\n- Writes ^2\r\n\r\n## History\r\n"
        "- 2026-11-01~2026-11-29: was: Reads ^1\r\n\r\n<!-- qingtuan\r\n"
    )
    assert text_of(en).endswith("\r\n-->")


def test_an_empty_file_becomes_a_page_in_the_language_of_its_first_entry() -> None:
    empty = parse(b"")
    assert text_of(edits.with_current(empty, NewBelief(1, "tea", BeliefData()), DAY)).startswith(
        "## Current\n- tea ^1\n"
    )
    assert text_of(edits.with_current(empty, NewBelief(1, "茶", BeliefData()), DAY)).startswith("## 当前\n- 茶 ^1\n")


def test_nothing_is_written_into_a_block_that_never_ends() -> None:
    page = edits.with_current(parse(OPEN_FENCE.encode()), NewBelief(2, "b", BeliefData()), DAY)
    page = edits.retired(page, 1, DAY, "", DAY)
    assert [(belief.number, belief.current) for belief in page.beliefs] == [(2, True), (1, False)]
    assert text_of(page).endswith("-->\n```\nnever closed\n## 历史\n- no\n")


def test_history_takes_the_days_whatever_the_data_lacks() -> None:
    page = parse("## 当前\n- 我怕辣 ^1\n- 曾经学过画画 ^2\n- 爱跑步 ^3\n".encode())
    for number in (1, 2, 3):
        page = edits.retired(page, number, DAY, "", DAY)
    assert [belief.text for belief in page.beliefs] == [
        "?~2026-11-29：曾爱跑步", "?~2026-11-29：曾经学过画画", "?~2026-11-29：曾认为我怕辣",
    ]  # fmt: skip
    assert [belief.statement for belief in page.beliefs] == ["爱跑步", "曾经学过画画", "我怕辣"]


def test_the_label_of_a_dropped_plan_does_not_run_backwards() -> None:
    page = edits.with_current(parse(b""), NewBelief(1, "坐三楼", BeliefData(since=date(2027, 1, 1))), DAY)
    assert edits.retired(page, 1, DAY, "", DAY).beliefs[0].text == "2026-11-29~2026-11-29：曾坐三楼"


def test_an_entry_that_a_person_moves_back_from_history_is_believed_again() -> None:
    page = parse(PLAIN.encode())
    page = edits.retired(page, 12, DAY, "忘掉", DAY, "evt_8")
    line = f"- {page.beliefs[1].text} ^12\n"
    assert line in text_of(page)
    text = text_of(page).replace(line, "").replace("## 当前\n", "## 当前\n- 优先二楼安静区 ^12\n")
    belief = parse(text.encode()).belief(12)
    assert belief
    assert (belief.current, belief.data.until, belief.data.ended_by, belief.data.how) == (True, None, None, "hand")
    assert (belief.data.since, belief.data.predicate) == (date(2026, 6, 23), "座位偏好")


def test_copies_must_be_numbered_before_they_are_edited() -> None:
    page = parse(COPIED.encode())
    with pytest.raises(KeyError):
        edits.retired(page, 1, DAY, "", DAY)
    page, following = edits.numbered(page, 3, DAY)
    assert following == 5
    assert [(belief.number, belief.text) for belief in page.beliefs] == [
        (1, "one"), (3, "a copy with other words"), (2, "two"), (4, "two, once"),
    ]  # fmt: skip
    assert [belief.visibility for belief in page.beliefs] == ["own", "own", "private", "private"]
    assert edits.retired(page, 1, DAY, "", DAY).belief(1)


def test_a_number_that_is_not_there_is_an_error() -> None:
    page = parse(PLAIN.encode())
    new = NewBelief(14, "x", BeliefData())
    for attempt in (
        lambda: edits.superseded(page, 99, new, DAY, DAY),
        lambda: edits.superseded(page, 9, new, DAY, DAY),
        lambda: edits.retired(page, 9, DAY, "", DAY),
        lambda: edits.with_text(page, 9, "x", DAY),
        lambda: edits.with_data(page, 99, BeliefData(), DAY),
        lambda: edits.purged(page, 99, DAY),
        lambda: edits.moved_out(page, 99, DAY),
    ):
        with pytest.raises(KeyError):
            attempt()
    with pytest.raises(ValueError, match="text"):
        edits.with_current(page, NewBelief(14, " \u200b\n", BeliefData()), DAY)


def test_a_page_does_not_grow_beyond_what_can_be_read() -> None:
    page = parse(b"## Current\n" + b"x" * (MAX_BYTES - 60) + b"\n")
    with pytest.raises(PageUnreadable, match="longer than 1 MB"):
        edits.with_current(page, NewBelief(1, "y" * 100, BeliefData()), DAY)


def test_numbering_leaves_a_page_alone_that_needs_none() -> None:
    page = parse(PLAIN.encode())
    assert edits.numbered(page, 14, DAY) == (page, 14)


def test_a_new_page_holds_what_the_front_matter_says_and_both_sections() -> None:
    page = new_page("01K0000000000000000000000C", "preference", "饮食\n## 历史", "zh", Visibility.OWN, DAY)
    assert text_of(page) == (
        "---\nid: 01K0000000000000000000000C\ntype: preference\nvisibility: own\nupdated: 2026-11-29\n---\n"
        "# 饮食 ## 历史\n\n## 当前\n\n## 历史\n"
    )
    assert (page.id, page.type, page.visibility, page.updated) == (
        "01K0000000000000000000000C", "preference", Visibility.OWN, DAY,
    )  # fmt: skip
    after = edits.with_current(page, NewBelief(1, "不吃香菜", BeliefData()), DAY)
    assert "## 当前\n- 不吃香菜 ^1\n\n## 历史\n\n<!-- qingtuan\n1: {" in text_of(after)
    note = new_page("01K", "note", "Note", "en", Visibility.PRIVATE, DAY)
    assert note.body == "# Note"


@pytest.mark.parametrize("name", PAGES)
def test_every_page_can_be_written_to(name: str) -> None:
    page = parse(PAGES[name].encode())
    after = edits.with_current(page, fresh(page, "新的"), DAY)
    assert facts(page.beliefs) <= facts(after.beliefs)
