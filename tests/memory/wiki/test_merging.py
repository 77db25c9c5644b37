"""Merging pages line by line: nothing of either side is lost, or there is no result."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.memory.wiki.merging import merge

LINES = st.lists(st.sampled_from(["- a", "- b", "- c", "", "## 当前", "- d ^4"]), max_size=10)
PAGES = LINES.map(lambda lines: "".join(f"{line}\n" for line in lines).encode())
UNIQUE = st.lists(st.integers(0, 60), unique=True, max_size=14)


def page(*lines: object) -> bytes:
    return "".join(f"- {line}\n" for line in lines).encode()


class TestExamples:
    @pytest.mark.parametrize(
        ("base", "theirs", "ours", "result"),
        [
            # An entry is taken out though others were added right before and behind it.
            (page(1, 2), page(1), page(1, 2, 3), page(1, 3)),
            (page(1, 2), page(1), page(1, 3, 2), page(1, 3)),
            (page(1, 2, 4), page(1, 4), page(1, 3, 2, 5, 4), page(1, 3, 5, 4)),
            # Two add at the same place; both stay.
            (page(1), page(1, 2), page(1, 3), page(1, 2, 3)),
            # Changed by both: no result.
            (page(1, "x"), page(1, "y"), page(1, "z"), None),
            # Taken out by one, changed by the other: no result.
            (page(1, "x"), page(1), page(1, "z"), None),
            # What one has done already is not done twice.
            (page(1), page(1, 2), page(1, 2, 3), page(1, 2, 3)),
            (page(1, 2), page(1), page(1), page(1)),
            (page(1, "x"), page(1, "y"), page(0, 1, "y", 2), page(0, 1, "y", 2)),
            # An entry that moved to history and came back.
            (
                page("当前", "历史", "a"),
                page("当前", "a", "历史"),
                page("当前", "b", "历史", "a"),
                page("当前", "a", "b", "历史"),
            ),
            (b"", page(1), b"", page(1)),
            (page(1), b"", page(1), b""),
        ],
    )
    def test_by_lines(self, base: bytes, theirs: bytes, ours: bytes, result: bytes | None) -> None:
        assert merge(base, theirs, ours) == result

    def test_line_ends_stay_and_a_missing_one_glues_nothing(self) -> None:
        assert merge(b"a\r\nb", b"a\r\nb\r\nc", b"x\r\na\r\nb") == b"x\r\na\r\nb\r\nc"
        assert merge(b"a\nb\n", b"a\nb\nc", b"x\na\nb\n") == b"x\na\nb\nc"


class TestProperties:
    @given(PAGES, PAGES)
    def test_only_one_side_changed(self, base: bytes, other: bytes) -> None:
        assert merge(base, other, base) == other
        assert merge(base, base, other) == other

    @given(PAGES, PAGES)
    def test_both_made_the_same_change(self, base: bytes, other: bytes) -> None:
        assert merge(base, other, other) == other

    @given(UNIQUE, st.data())
    def test_lines_added_and_taken_out_by_each_side_are_all_there_and_all_gone(
        self, lines: list[int], data: st.DataObject
    ) -> None:
        taken = data.draw(st.sets(st.sampled_from(lines or [0]), max_size=3))
        ours_taken = data.draw(st.sets(st.sampled_from(lines or [0]), max_size=3)) - taken
        theirs = [line for line in lines if line not in taken]
        ours = [line for line in lines if line not in ours_taken]
        for number in data.draw(st.lists(st.integers(100, 199), unique=True, max_size=3)):
            theirs.insert(data.draw(st.integers(0, len(theirs))), number)
        for number in data.draw(st.lists(st.integers(200, 299), unique=True, max_size=3)):
            ours.insert(data.draw(st.integers(0, len(ours))), number)
        merged = merge(page(*lines), page(*theirs), page(*ours))
        if merged is not None:
            found = [int(line[2:]) for line in merged.decode().splitlines()]
            wanted = (set(theirs) | set(ours)) - taken - ours_taken
            assert sorted(found) == sorted(wanted)

    @given(UNIQUE, st.integers(300, 399), st.data())
    def test_taking_one_added_line_out_again_never_fails_while_it_stands(
        self, lines: list[int], number: int, data: st.DataObject
    ) -> None:
        after = list(lines)
        after.insert(data.draw(st.integers(0, len(after))), number)
        later = list(after)
        for other in data.draw(st.lists(st.integers(400, 499), unique=True, max_size=4)):
            later.insert(data.draw(st.integers(0, len(later))), other)
        wanted = [line for line in later if line != number]
        assert merge(page(*after), page(*lines), page(*later)) == page(*wanted)
