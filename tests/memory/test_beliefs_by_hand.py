"""What people did to the pages with an editor counts; and whatever is said, nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qingtuan.identity.scopes import Visibility
from qingtuan.memory.beliefs import Candidate, Review, Same, Write
from qingtuan.memory.entries import is_current
from qingtuan.memory.wiki import edits
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.edits import NewBelief
from tests.memory.scene import JUNE_20, SECOND_FLOOR, THIRD_FLOOR, Wiki, days, entries, find, next_number


@pytest.fixture
def wiki() -> Wiki:
    return Wiki()


# ------------------------------------------------------------------------- what people did to the pages

BY_HAND = """---
type: preference
visibility: own
---
# 图书馆
## 当前
- 优先二楼安静区
- 提交预约前必须二次确认
## 历史
- 2026-06-01~2026-06-10：曾偏好三楼靠窗
"""


def test_what_a_person_wrote_is_superseded_and_gets_its_number_first(wiki: Wiki) -> None:
    wiki.put("preferences/lib.md", BY_HAND)
    wiki.hear(SECOND_FLOOR)  # says the same: it learns what the line is about
    wiki.hear(THIRD_FLOOR, said_at=JUNE_20 + days(1))
    assert wiki.pages["preferences/lib.md"].body == (
        "# 图书馆\n## 当前\n- 偏好三楼靠窗 ^4\n- 提交预约前必须二次确认 ^2\n"
        "## 历史\n- 2026-06-20~2026-06-21：曾优先二楼安静区 ^1\n- 2026-06-01~2026-06-10：曾偏好三楼靠窗 ^3"
    )
    assert [entry.belief.visibility for entry in entries(wiki.pages)][:2] == [Visibility.PRIVATE, Visibility.OWN]


def test_what_was_rewritten_by_hand_is_what_is_believed(wiki: Wiki) -> None:
    wiki.hear(SECOND_FLOOR)
    path = "preferences/图书馆.md"
    wiki.put(path, wiki.pages[path].to_bytes().decode().replace("- 优先二楼安静区", "- 优先三楼靠窗"))
    assert isinstance(wiki.decide(replace(THIRD_FLOOR, said_at=JUNE_20 + days(1))), Same)
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(1))
    assert wiki.current() == ["优先二楼安静区"]
    assert wiki.past() == ["2026-06-20~2026-06-21：曾优先三楼靠窗"]


def test_an_entry_that_was_moved_to_another_page_keeps_its_data(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR)
    path = "preferences/图书馆.md"
    wiki.put(path, wiki.pages[path].to_bytes().decode().replace("- 偏好三楼靠窗 ^1\n", ""))
    wiki.put("preferences/other.md", "---\nvisibility: public\n---\n# 别的\n## 当前\n- 偏好三楼靠窗 ^1\n")
    entry = find(wiki.pages, 1)
    assert entry
    assert (entry.path, entry.data.value, entry.belief.visibility) == ("preferences/other.md", "三楼靠窗", "private")
    wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(1))
    assert wiki.current() == ["优先二楼安静区"]
    assert wiki.past() == ["2026-06-20~2026-06-21：曾偏好三楼靠窗"]
    assert wiki.pages["preferences/other.md"].data[1].data.since == date(2026, 6, 20)


def test_copies_of_a_line_are_entries_of_their_own(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR)
    path = "preferences/图书馆.md"
    wiki.put("preferences/a.md", "---\nvisibility: public\n---\n# a\n## 当前\n- 偏好三楼靠窗，抄来的 ^1\n")
    found = {entry.path: entry for entry in entries(wiki.pages)}
    assert (found[path].number, found["preferences/a.md"].number) == (1, None)
    assert found["preferences/a.md"].belief.visibility is Visibility.PRIVATE
    wiki.hear(Candidate("偏好三楼靠窗，抄来的", JUNE_20 + days(1), predicate="抄", value="来"))
    numbers = [entry.number for entry in entries(wiki.pages)]
    assert sorted(number or 0 for number in numbers) == [1, 2]


def test_several_current_values_of_a_merge_become_one(wiki: Wiki) -> None:
    wiki.hear(THIRD_FLOOR)
    page = wiki.pages["preferences/图书馆.md"]
    data = BeliefData("我", "座位偏好", "一楼", since=date(2026, 6, 21), how="manual")
    wiki.pages["records/x.md"] = edits.with_current(page, NewBelief(7, "坐一楼", data), JUNE_20.date())
    wiki.pages["records/x.md"] = edits.purged(wiki.pages["records/x.md"], 1, JUNE_20.date())
    decision = wiki.hear(SECOND_FLOOR, said_at=JUNE_20 + days(4))
    assert isinstance(decision, Write)
    assert decision.ended == (7, 1)
    assert decision.path == "records/x.md"
    assert wiki.current() == ["优先二楼安静区"]
    assert len(wiki.past()) == 2


def test_a_page_that_cannot_be_read_is_not_written_over(wiki: Wiki) -> None:
    wiki.unreadable = ("preferences/图书馆.md", "profile.md")
    assert isinstance(wiki.hear(SECOND_FLOOR), Review)
    assert isinstance(wiki.hear(Candidate("叫小王", JUNE_20, "profile")), Review)
    assert wiki.pages == {}


def test_numbers_are_never_used_again(wiki: Wiki) -> None:
    wiki.floor = 40
    wiki.hear(SECOND_FLOOR)
    path = "preferences/图书馆.md"
    assert next_number(wiki.pages, 0) == 42
    wiki.pages[path] = edits.purged(wiki.pages[path], 41, JUNE_20.date())
    assert next_number(wiki.pages, 41) == 42
    wiki.put("profile.md", "## 历史\n- x ^7\n\n<!-- qingtuan\n50: {v: its line was deleted by hand}\n-->\n")
    assert next_number(wiki.pages, 41) == 51


def test_in_english() -> None:
    wiki = Wiki(language="en")
    seat = Candidate(
        "Prefers the window", JUNE_20, "preference", "Library", subject="I", predicate="seat", value="window"
    )
    wiki.hear(seat)
    wiki.hear(seat, said_at=JUNE_20 + days(1), text="", value="quiet area", subject="me")
    assert wiki.pages["preferences/library.md"].body == (
        "# Library\n\n## Current\n- seat: quiet area ^2\n\n"
        "## History\n- 2026-06-20~2026-06-21: was: Prefers the window ^1"
    )
    wiki.hear(Candidate("Call me Al", JUNE_20, "profile"))
    assert wiki.pages["profile.md"].title == "Profile"


def test_nothing_to_say_is_an_error(wiki: Wiki) -> None:
    with pytest.raises(ValueError, match="text"):
        wiki.hear(Candidate(" \u200b", JUNE_20, predicate="x"))


# ------------------------------------------------------------------------- whatever is said, in whatever order

statements = st.builds(
    lambda value, predicate, day, hour, how, many, since, until: Candidate(
        f"说{predicate or ''}{value}",
        JUNE_20 + timedelta(days=day, hours=hour),
        "preference",
        "甲",
        predicate=predicate,
        value=value,
        since=None if since is None else JUNE_20.date() + days(since),
        until=None if until is None else JUNE_20.date() + days(until),
        how=how,
        many=many,
    ),
    st.sampled_from(["一", "二", "不一", "-->", "# x ^3"]),
    st.sampled_from([None, "p", "q"]),
    st.integers(0, 6),
    st.integers(0, 20),
    st.sampled_from(["explicit", "inferred", "manual"]),
    st.booleans(),
    st.one_of(st.none(), st.integers(-3, 9)),
    st.one_of(st.none(), st.integers(-3, 9)),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(statements, max_size=8), st.booleans())
def test_one_value_at_a_time_and_nothing_is_ever_lost(said: list[Candidate], by_hand: bool) -> None:
    wiki = Wiki()
    if by_hand:
        wiki.put("preferences/x.md", BY_HAND)
    now = JUNE_20 + days(7)
    seen: set[int] = set()
    for candidate in said:
        decision = wiki.hear(candidate, now=now)
        found = entries(wiki.pages)
        numbers = [entry.number for entry in found if entry.number]
        assert len(set(numbers)) == len(numbers)
        assert seen <= set(numbers)
        seen = set(numbers)
        for today in (now.date() + days(count) for count in range(12)):
            single = [
                (entry.data.subject, entry.data.predicate)
                for entry in found
                if entry.data.predicate and not entry.data.many and is_current(entry.belief, today)
            ]
            assert len(set(single)) == len(single)
        if isinstance(decision, Write):
            entry = find(wiki.pages, decision.number)
            assert entry
            assert entry.path == decision.path
            again = wiki.decide(replace(candidate, source=f"evt_{len(wiki.times) - 1}"), now)
            assert isinstance(again, Same)
