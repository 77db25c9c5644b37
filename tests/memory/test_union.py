"""Two folders that become one: nothing of either is lost, and what both say meets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qingtuan.errors import PageUnreadable
from qingtuan.identity.scopes import Visibility
from qingtuan.memory.holdings import Entry, Holdings
from qingtuan.memory.joining import parted_page
from qingtuan.memory.likeness import normalise_text
from qingtuan.memory.union import Basis, Folder, United, united
from qingtuan.memory.wiki import edits
from qingtuan.memory.wiki.data_comment import BeliefData, number_of, read_line, write_line
from qingtuan.memory.wiki.edits import NewBelief
from qingtuan.memory.wiki.page import Page, parse
from qingtuan.memory.wiki.renumbering import frame_of, is_frame, is_ours, renumbered
from qingtuan.memory.wiki.undo import Versions
from tests.memory.wiki.nasty import ENGLISH, PLAIN, TEMPLATE, any_page

TODAY = date(2026, 11, 29)
ZONE = ZoneInfo("Asia/Shanghai")
SAID: dict[str, datetime | None] = {f"evt_{day}": datetime(2026, 6, day, 12, tzinfo=ZONE) for day in range(1, 31)}
BASIS = Basis(first=100, today=TODAY, zone=ZONE, aliases={}, said=SAID)

quick = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def page(*current: str, past: Iterable[str] = (), data: Iterable[str] = (), title: str = "图书馆") -> Page:
    """A page as code makes it, with checks for its lines."""
    lines = ["---", "id: 01K", "type: preference", "visibility: private", "updated: 2026-06-23", "---", f"# {title}"]
    lines += ["", "## 当前", *(f"- {line}" for line in current), "", "## 历史", *(f"- {line}" for line in past), ""]
    texts = {int(line.rpartition("^")[2]): line.rpartition(" ^")[0] for line in (*current, *past)}
    bare = parse("\n".join([*lines, "<!-- qingtuan", *data, "-->", ""]).encode())
    known = [write_line(number, bare.data[number].data, texts[number]) for number in bare.data]
    return parse("\n".join([*lines, "<!-- qingtuan", *known, "-->", ""]).encode())


def folder(who: str, pages: Mapping[str, Page] | None = None, **more: Any) -> Folder:
    root = f"users/{who}/"
    return Folder(root, {root + path: one for path, one in (pages or {}).items()}, **more)


def together(kept: Mapping[str, Page], gone: Mapping[str, Page]) -> United:
    return united(folder("a", kept), folder("b", gone), BASIS)


def entries(done: United, kept: Mapping[str, Page] | None = None) -> list[Entry]:
    before = {f"users/a/{path}": one for path, one in (kept or {}).items()}
    return list(Holdings({**before, **done.pages}).entries)


LIBRARY = "preferences/图书馆.md"
FLOOR = "{{s: 我, p: 座位偏好, v: {0}, since: 2026-06-{1:02}, from: evt_{1}, how: explicit, vis: {2}}}"


def seat(number: int, value: str, day: int, vis: str = "private") -> Page:
    return page(f"优先{value} ^{number}", data=[f"{number}: {FLOOR.format(value, day, vis)}"])


# Examples


def test_the_same_topic_becomes_one_page() -> None:
    ours = page("优先二楼 ^1", data=["1: {s: 我, p: 座位偏好, v: 二楼, from: evt_2, how: explicit}"])
    theirs = page("预约前先问我 ^1", data=["1: {s: 我, p: 预约规则, v: 先问, from: evt_3, how: manual, pin: true}"])
    done = together({LIBRARY: ours}, {"preferences/library.md": theirs})
    assert list(done.pages) == [f"users/a/{LIBRARY}"]
    (one, other) = entries(done)
    assert (one.belief.text, one.number) == ("优先二楼", 1)
    assert (other.belief.text, other.number, other.data.pinned) == ("预约前先问我", 100, True)
    assert done.moved == ("users/b/preferences/library.md",)


def test_what_a_person_wrote_on_stays_one_page() -> None:
    done = together({LIBRARY: seat(1, "二楼", 2)}, {LIBRARY: parse(PLAIN.encode())})
    (new,) = (path for path in done.pages if path != f"users/a/{LIBRARY}")
    assert new == "users/a/preferences/图书馆-2.md"
    text = done.pages[new].to_bytes().decode()
    assert "任何人写在这里的文字都原样保留。" in text
    assert "提交预约前必须二次确认 ^102" in text
    assert "9: {s" not in text


@pytest.mark.parametrize(("ours", "theirs", "holds"), [(2, 5, "三楼"), (5, 2, "二楼"), (3, 3, "二楼")])
def test_what_was_said_later_holds_and_the_other_is_history(ours: int, theirs: int, holds: str) -> None:
    done = together({LIBRARY: seat(1, "二楼", ours)}, {LIBRARY: seat(1, "三楼", theirs)})
    found = entries(done)
    assert [one.data.value for one in found if one.belief.current] == [holds]
    (past,) = (one for one in found if not one.belief.current)
    assert past.data.value == ({"二楼", "三楼"} - {holds}).pop()
    first, last = sorted((ours, theirs))
    assert (past.data.since, past.data.until) == (date(2026, 6, first), date(2026, 6, last))
    assert (done.entries, done.known, done.settled) == (1, 0, 1)


def test_both_histories_stay() -> None:
    old = "9: {s: 我, p: 座位偏好, v: 一楼, since: 2026-05-01, until: 2026-05-03, how: explicit}"
    new = "1: {s: 我, p: 座位偏好, v: 二楼, since: 2026-06-02, from: evt_2, how: explicit}"
    ours = page("优先二楼 ^1", past=["2026-05-01~2026-05-03：曾优先一楼 ^9"], data=[new, old])
    theirs = page("优先三楼 ^1", past=["2026-05-02~2026-05-05：曾优先四楼 ^9"], data=[
        new.replace("二楼", "三楼").replace("evt_2", "evt_8"), old.replace("一楼", "四楼")])  # fmt: skip
    past = [
        one.belief.statement for one in entries(together({LIBRARY: ours}, {LIBRARY: theirs})) if not one.belief.current
    ]
    assert sorted(past) == ["优先一楼", "优先二楼", "优先四楼"]


def test_the_same_fact_is_one_entry_seen_by_the_stricter() -> None:
    for ours, theirs in (("public", "own"), ("own", "public")):
        done = together({LIBRARY: seat(1, "二楼", 2, ours)}, {LIBRARY: seat(7, "二楼", 5, theirs)})
        (one,) = entries(done, {LIBRARY: seat(1, "二楼", 2, ours)})
        assert (one.number, one.belief.visibility) == (1, Visibility.OWN)
        assert done.known == 1


def test_the_same_fact_with_something_added_is_kept_beside() -> None:
    theirs = parse(b"## \xe5\xbd\x93\xe5\x89\x8d\n- a fact ^1\n  - and why\n<!-- qingtuan\n1: {vis: private}\n-->\n")
    ours = parse(b"## \xe5\xbd\x93\xe5\x89\x8d\n- a fact ^1\n<!-- qingtuan\n1: {vis: public}\n-->\n")
    found = entries(together({"profile.md": ours}, {"profile.md": theirs}))
    assert [one.belief.text for one in found] == ["a fact", "a fact"]
    assert {one.belief.visibility for one in found} == {Visibility.PRIVATE}


def test_what_was_only_inferred_displaces_nothing() -> None:
    guess = page("优先三楼 ^1", data=["1: {s: 我, p: 座位偏好, v: 三楼, from: evt_9, how: inferred}"])
    found = entries(together({LIBRARY: seat(1, "二楼", 2)}, {LIBRARY: guess}))
    assert [(one.data.value, one.belief.current) for one in found] == [("二楼", True), ("三楼", False)]


def test_several_values_stay_side_by_side() -> None:
    tea = "1: {s: 我, p: 喜欢, v: 茶, from: evt_2, how: explicit, many: true}"
    milk = tea.replace("茶", "奶").replace("evt_2", "evt_3")
    done = together({LIBRARY: page("喜欢茶 ^1", data=[tea])}, {LIBRARY: page("喜欢奶 ^1", data=[milk])})
    assert [one.belief.current for one in entries(done)] == [True, True]


def test_what_is_to_come_lets_today_be_until_its_eve() -> None:
    plan = page("优先三楼 ^1", data=["1: {s: 我, p: 座位偏好, v: 三楼, since: 2026-12-05, from: evt_9, how: explicit}"])
    found = entries(together({LIBRARY: seat(1, "二楼", 2)}, {LIBRARY: plan}))
    assert [(one.data.value, one.data.until) for one in found] == [("二楼", date(2026, 12, 4)), ("三楼", None)]


def test_notes_and_what_cannot_be_read_come_as_they_are() -> None:
    note = parse("---\ntype: note\norigin: web\n---\n# 菜谱\n- 一 ^3\n".encode())
    kept = folder("a", {}, notes={"users/a/notes/菜谱.md": note}, taken=("users/a/x.md",))
    gone = folder("b", {}, notes={"users/b/notes/菜谱.md": note}, other={"users/b/x.md": b"---\nid: [\n---\n"})
    done = united(kept, gone, BASIS)
    assert done.pages == {"users/a/notes/菜谱-2.md": note}
    assert done.other == {"users/a/x-2.md": b"---\nid: [\n---\n"}
    assert done.moved == ("users/b/notes/菜谱.md", "users/b/x.md")


def test_a_hand_written_entry_gets_a_number_and_meets_its_twin() -> None:
    ours = seat(1, "二楼", 2)
    theirs = parse("# 图书馆\n\n## 当前\n- 优先二楼\n- 带耳机\n".encode())
    found = entries(together({LIBRARY: ours}, {LIBRARY: theirs}), {LIBRARY: ours})
    assert sorted(one.belief.text for one in found) == ["优先二楼", "带耳机"]
    assert None not in [one.number for one in found]


# Whatever stands there


def readable(data: bytes) -> Page | None:
    try:
        return parse(data)
    except PageUnreadable:
        return None


def core(text: str) -> str:
    """A line without what the union may change: mark, number, margin."""
    return re.sub(r"^[ \t]*[-*+][ \t]+|(?<!\S)\^[0-9]+", "", text.removeprefix("\ufeff")).strip()


def told_by(one: Page) -> list[str]:
    """What is said on a page, without the frame of one that code made."""
    if not is_ours(one):
        return lines_of([one])
    return [line.text for belief in one.beliefs for line in one.lines[belief.item.start : belief.item.end]]


def lines_of(pages: Iterable[Page]) -> list[str]:
    """All that stands on pages; the comment apart."""
    found = []
    for one in pages:
        first, last = one.layout.data or (0, -1)
        found += [line.text for at, line in enumerate(one.lines) if not (first <= at <= last and number_of(line.text))]
    return found


some = st.dictionaries(
    st.sampled_from(["profile.md", LIBRARY, "preferences/b.md", "rules/x.md"]),
    any_page.map(readable).filter(bool),
    max_size=3,
)


@quick
@given(some, some)
def test_no_line_of_either_folder_is_missing(ours: dict[str, Page], theirs: dict[str, Page]) -> None:
    done = together(ours, theirs)
    after = {**{f"users/a/{path}": one for path, one in ours.items()}, **done.pages}
    said = [core(text) for text in lines_of(after.values())]
    there = {normalise_text(one.belief.statement) for one in Holdings(after).entries}
    for text in [*lines_of(ours.values()), *(text for one in theirs.values() for text in told_by(one))]:
        wanted = core(text)
        if wanted.startswith("updated:") or wanted in ("", "## 当前", "## 历史", "## Current", "## History"):
            continue
        known = normalise_text(wanted) in there
        assert known or any(wanted in line for line in said), text
    numbers = [one.number for one in Holdings(after).entries if one.number is not None]
    assert len(numbers) == len(set(numbers))
    assert set(done.moved) == {f"users/b/{path}" for path in theirs}


@quick
@given(some, some)
def test_nothing_is_seen_further_than_before(ours: dict[str, Page], theirs: dict[str, Page]) -> None:
    done = together(ours, theirs)
    after = {**{f"users/a/{path}": one for path, one in ours.items()}, **done.pages}
    labels: dict[str, Visibility] = {}
    for pages in (ours, theirs):
        for one in Holdings(pages).entries:
            text = one.belief.statement
            widest = max((labels.get(text, Visibility.PRIVATE), one.belief.visibility), key=lambda label: label.breadth)
            labels[text] = widest
    for one in Holdings(after).entries:
        if one.belief.statement in labels:
            assert one.belief.visibility.breadth <= labels[one.belief.statement].breadth


@quick
@given(any_page)
def test_other_numbers_change_nothing_else(data: bytes) -> None:
    if (before := readable(data)) is None:
        return
    numbers = {number: 1000 + number for number in before.numbers if number < 10**6}
    after = renumbered(before, numbers)
    back = renumbered(after, {new: old for old, new in numbers.items()})
    assert back.to_bytes() == data
    assert [(one.text, one.current, one.visibility) for one in after.beliefs] == [
        (one.text, one.current, one.visibility) for one in before.beliefs
    ]


@quick
@given(any_page)
def test_a_page_is_ours_only_if_nothing_else_stands_on_it(data: bytes) -> None:
    before = readable(data)
    if before is None or not is_ours(before):
        return
    frame = frame_of(before)
    assert is_frame(frame)
    assert len(frame.lines) + len(before.beliefs) * 2 <= len(before.lines)


@pytest.mark.parametrize("text", [PLAIN, ENGLISH, TEMPLATE])
def test_pages_with_words_of_people_are_not_ours(text: str) -> None:
    assert not is_ours(parse(text.encode()))
    assert is_ours(seat(1, "二楼", 2))
    assert read_line("1: {v: x}") is not None


# Apart again


def touched(one: Page, seed: int) -> Page:
    """The page after somebody worked on it."""
    new = NewBelief(9000 + seed, f"后来记的{seed}", BeliefData("我", "后来", "x", since=TODAY, how="manual"))
    one = edits.with_current(one, new, TODAY)
    current = [belief for belief in one.beliefs if belief.current and belief.number not in (None, new.number)]
    chosen = [belief.number or 0 for belief in current if belief.number not in one.copied]
    if not chosen or seed % 4 == 0:
        return one
    number = chosen[seed % len(chosen)]
    if seed % 4 == 1:
        return edits.with_text(one, number, f"后来改的{seed}", TODAY)
    if seed % 4 == 2:
        return edits.retired(one, number, TODAY, "后来收回", TODAY)
    return edits.with_data(one, number, replace(one.belief(number).data, pinned=True), TODAY)  # type: ignore[union-attr]


@quick
@given(some, some, st.integers(0, 40))
def test_parting_loses_nothing_that_was_written_since(
    ours: dict[str, Page], theirs: dict[str, Page], seed: int
) -> None:
    done = together(ours, theirs)
    came = frozenset(range(100, 1000))
    kept = {f"users/a/{path}": one for path, one in ours.items()}
    for path, after in done.pages.items():
        try:
            now = touched(after, seed)
        except (PageUnreadable, KeyError):
            continue
        before = kept[path].to_bytes() if path in kept else None
        version = Versions(before, after.to_bytes())
        assert parted_page(after.to_bytes(), [version], came) == before
        data = parted_page(now.to_bytes(), [version], came)
        left = readable(data) if data is not None else None
        assert left is not None, "what was written since stands there"
        said = [core(text) for text in lines_of([left])]
        fresh = set(map(core, lines_of([now]))) - set(map(core, lines_of([after])))
        missing = [text for text in fresh if text.startswith("后来") and not any(text in line for line in said)]
        assert missing == []
        if path in kept:
            mine = {core(text) for text in lines_of([kept[path]])} & {core(text) for text in lines_of([now])}
            assert [text for text in mine if not any(text in line for line in said)] == []
