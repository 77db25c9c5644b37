"""The memory text of a request: what comes first, what is shared out fairly, and what is left out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from qingtuan.identity.scopes import SHARED, Reader, Role, Scope
from qingtuan.memory.injection import Budget, Injection, Sources, inject
from qingtuan.memory.library import Known
from qingtuan.memory.wiki.page import parse
from qingtuan.messages import Space

TODAY = date(2026, 11, 29)
OWNER = Reader("owner", Role.OWNER, Space("private", "cli:local"))
MINE = Scope.of_person("owner")
GROUP = Scope.of_group("qq:777")


def known(number: int, scope: Scope = MINE, kind: str = "preference", days: int = 0, *, pinned: bool = False) -> Known:
    """An entry that was said so many days ago; negative: that begins on a day to come."""
    facts = f"since: {TODAY - timedelta(days=days)}, how: manual" + (", pin: true" if pinned else "")
    page = parse(f"# 页\n\n## 当前\n- 第{number}条 ^{number}\n\n<!-- qingtuan\n{number}: {{{facts}}}\n-->\n".encode())
    (belief,) = page.beliefs
    assert belief.data.pinned is pinned
    return Known(scope, f"{scope.folder}/{kind}-{number}.md", kind, "页", belief)


def injected(beliefs: Sequence[Known], called_for: Sequence[Known] = (), budget: Budget = Budget()) -> Injection:  # noqa: B008
    return inject(Sources(OWNER, beliefs, called_for, TODAY, "zh"), budget)


def numbers(injection: Injection) -> list[int | None]:
    return [entry.belief.number for entry in injection.entries]


def test_pins_then_profile_and_rules_then_what_is_called_for_then_what_is_fresh() -> None:
    old = [known(number, days=100 + number) for number in range(10, 20)]
    pin, profile, rule = known(1, days=900, pinned=True), known(2, kind="profile", days=900), known(3, kind="rule")
    fresh = known(4, days=1)
    found = injected([*old, fresh, rule, profile, pin], [old[7], old[5], pin])
    assert numbers(found)[:3] == [1, 3, 2]
    assert numbers(found)[3:] == [17, 15, 4, 10, 11, 12]
    assert found.left_out == 5
    assert "另有 5 条" in found.recalled
    assert "另有" not in found.pinned


def test_no_scope_crowds_out_another_among_the_fresh() -> None:
    mine = [known(number, days=number) for number in range(1, 10)]
    theirs = [known(number, GROUP, days=50 + number) for number in range(20, 24)]
    assert numbers(injected([*mine, *theirs])) == [1, 20, 2, 21]


def test_rules_of_others_stand_in_front_only_if_they_are_for_all() -> None:
    beliefs = [known(1, kind="rule"), known(2, SHARED, "rule"), known(3, Scope.of_person("qq-1"), "rule")]
    found = injected(beliefs)
    assert "第1条" in found.pinned
    assert "[全局] 第2条" in found.pinned
    assert "[qq-1] 第3条" in found.recalled


def test_what_does_not_hold_today_is_not_told() -> None:
    ahead = known(2, days=-1)
    found = injected([known(1), ahead], [ahead])
    assert numbers(found) == [1]
    assert found.left_out == 0


def test_pins_that_do_not_fit_are_named_and_never_cut() -> None:
    pins = [known(number, pinned=True) for number in range(10, 16)]
    found = injected(pins, [pins[5]], Budget(whole=30, recalled=20))
    assert numbers(found) == [10, 11, 12, 13]
    assert [entry.belief.number for entry in found.pinned_left_out] == [14, 15]


@given(
    st.lists(
        st.tuples(st.sampled_from([MINE, GROUP, SHARED]), st.integers(0, 3), st.booleans()), min_size=1, max_size=30
    ),
    st.integers(0, 200),
)
def test_every_entry_is_in_once_or_counted_as_left_out(made: list[tuple[Scope, int, bool]], room: int) -> None:
    beliefs = [known(number, scope, days=days, pinned=pin) for number, (scope, days, pin) in enumerate(made, 1)]
    found = injected(beliefs, beliefs[::3], Budget(room, room // 2))
    told = numbers(found)
    assert len(set(told)) == len(told)
    assert len(told) + found.left_out == len(beliefs)
    lines = [line for line in found.text.splitlines() if line.startswith("- ")]
    assert len(lines) == len(told)
    assert sum(len(line) + 1 for line in lines) <= room


def test_the_same_sources_give_the_same_text() -> None:
    again = partial(injected, [known(number, days=number % 3) for number in range(1, 20)], [known(5, days=2)])
    assert again() == again()
