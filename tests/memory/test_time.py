"""What holds on which day, told by a model that knows no pages: whatever was said when, in whatever order it came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qingtuan.memory.beliefs import Candidate
from qingtuan.memory.entries import is_current
from tests.memory.scene import SHANGHAI, Wiki, entries

FIRST = datetime(2026, 6, 1, 0, 30, tzinfo=SHANGHAI)
DAYS = range(60)
LATEST = 20
"""The last day on which anything is said."""


# ------------------------------------------------------------------------- the model


@dataclass(frozen=True)
class Said:
    """One statement: the day and hour on which it was said, and from when until when, if that was said."""

    value: str
    day: int
    hour: int
    since: int | None = None
    until: int | None = None

    @property
    def when(self) -> tuple[int, int]:
        return self.day, self.hour

    @property
    def start(self) -> int:
        return self.day if self.since is None else self.since

    @property
    def ahead(self) -> bool:
        return self.start > self.day

    @property
    def plain(self) -> bool:
        """Whether it says nothing of days to come."""
        return self.until is None and self.start <= self.day and self.since != self.day

    @property
    def days(self) -> range:
        return range(self.start, DAYS[-1] + 1 if self.until is None else self.until + 1)


Interval = tuple[str, int, int | None]
"""A value, its first and its last day; None where no end is known."""


class Believed:
    """What is believed after some statements, told day by day: on each day the last word counts that was said of it.

    Who says how things are changes nothing that was announced; who says what holds anyway changes nothing. Where one
    takes over from another without being announced, the day belongs to both.
    """

    def __init__(self, statements: Sequence[Said]) -> None:
        self._word: dict[int, Said] = {}
        self._lost: set[tuple[Said, int]] = set()
        self._takers: dict[Said, list[Said]] = {}
        self._told: list[Said] = []
        for said in sorted(statements, key=lambda said: said.when):
            owner = self._word.get(said.start)
            now = self._word.get(max(said.start, said.day))
            if owner is None or owner is not now or owner.value != said.value:
                self._tell(said)
            elif said.until is not None:
                self._end(owner, said.until)

    def _tell(self, said: Said) -> None:
        self._told.append(said)
        blocked = False
        for day in said.days:
            before = self._word.get(day)
            announced = said.plain and before is not None and before.ahead and before.start > said.day
            blocked = blocked or (announced and before is not None and before.value != said.value)
            if announced and blocked:
                continue
            if before is not None:
                self._takers.setdefault(before, []).append(said)
                if day == said.start <= said.day:
                    self._lost.add((before, day))
            self._word[day] = said

    def _end(self, owner: Said, until: int) -> None:
        """It is known now when something ends that holds."""
        ending = replace(owner, until=until)
        self._told[self._told.index(owner)] = ending
        self._lost |= {(ending, day) for one, day in self._lost if one is owner}
        self._takers[ending] = self._takers.get(owner, [])
        word = {day: ending if one is owner else one for day, one in self._word.items()}
        self._word = {day: one for day, one in word.items() if one is not ending or day <= until}
        if owner.until is not None:
            self._word |= dict.fromkeys(range(owner.until + 1, until + 1), ending)

    def on(self, day: int) -> str | None:
        """What holds on a day, at its end."""
        word = self._word.get(day)
        return word.value if word else None

    @property
    def intervals(self) -> set[Interval]:
        """Everything that was ever believed."""
        return merged({interval for said in self._told for interval in self._intervals(said)})

    def _intervals(self, said: Said) -> list[Interval]:
        runs: list[list[int]] = []
        for day in (day for day, one in sorted(self._word.items()) if one is said):
            if runs and runs[-1][-1] == day - 1:
                runs[-1].append(day)
            else:
                runs.append([day])
        found: list[Interval] = []
        for run in runs:
            last = run[-1]
            found.append((said.value, run[0], None if last == DAYS[-1] else last + ((said, last + 1) in self._lost)))
        if self._word.get(said.start) is not said:
            # Its days are told otherwise from the first one on: it was believed until that was said, if it had begun.
            ends = [one.start if one.start > said.start else one.day for one in self._takers.get(said, ())]
            later = (one.start for one in self._told if one.when > said.when and not one.ahead)
            end = min([*ends, said.days[-1], *(start for start in later if said.start < start)])
            if end >= said.start:
                found.append((said.value, said.start, end))
        return found


def merged(intervals: set[Interval]) -> set[Interval]:
    """What is said of days that follow each other is told once: how often something was said again does not show."""
    found: list[Interval] = []
    for value, first, last in sorted(intervals, key=lambda one: (one[0], one[1], one[2] or 0)):
        before = found[-1] if found and found[-1][0] == value else None
        if before is not None and (before[2] is None or first <= before[2] + 1):
            ends = [end for end in (before[2], last) if end is not None]
            found[-1] = value, before[1], max(ends) if len(ends) == 2 else None
        else:
            found.append((value, first, last))
    return set(found)


# ------------------------------------------------------------------------- the pages


def heard(arrived: Sequence[Said]) -> Wiki:
    """The pages when `arrived` came in this order: each on the day on which it was said, or when the next ones were."""
    wiki, today = Wiki(), 0
    for number, said in enumerate(arrived):
        today = max(today, said.day)
        candidate = Candidate(
            f"说{said.value}",
            FIRST + timedelta(days=said.day, hours=said.hour),
            "preference",
            "甲",
            predicate="p",
            value=said.value,
            since=None if said.since is None else day_at(said.since),
            until=None if said.until is None else day_at(said.until),
            source=f"evt_{number}",
        )
        wiki.hear(candidate, now=FIRST + timedelta(days=today, hours=23))
    return wiki


def intervals_of(wiki: Wiki) -> set[Interval]:
    """What the pages say was believed, from the lines of 历史 and the data of 当前."""
    found: set[Interval] = set()
    for entry in entries(wiki.pages):
        since, until = entry.data.since, entry.data.until
        assert since is not None
        if until is None or since <= until:  # else it was announced and never began
            end = None if until is None else (until - FIRST.date()).days
            found.add((entry.data.value or "", (since - FIRST.date()).days, end))
    return merged(found)


def day_at(count: int) -> date:
    return FIRST.date() + timedelta(days=count)


def agrees(statements: Sequence[Said], arrived: Sequence[Said]) -> None:
    """The pages say what the model says: of every interval, and of what is current on each day to come."""
    wiki, believed = heard(arrived), Believed(statements)
    assert intervals_of(wiki) == believed.intervals
    for day in range(max((said.day for said in statements), default=0), DAYS[-1]):
        current = [entry.data.value for entry in entries(wiki.pages) if is_current(entry.belief, day_at(day))]
        assert current == [value for value in [believed.on(day)] if value is not None]


# ------------------------------------------------------------------------- whatever was said

days, hours = st.integers(5, LATEST), st.integers(0, 22)
plain = st.builds(Said, st.sampled_from("ABC"), days, hours)
since = st.builds(lambda day, hour, back: Said("S", day, hour, since=day - back), days, hours, st.integers(1, 4))
announced = st.builds(lambda day, hour, on: Said("P", day, hour, since=day + on), days, hours, st.integers(1, 9))
bounded = st.builds(
    lambda value, day, hour, on: Said(value, day, hour, until=day + on),
    st.sampled_from("XYZ"),
    days,
    hours,
    st.integers(0, 9),
)


@st.composite
def told(draw: st.DrawFn, *kinds: st.SearchStrategy[Said], often: bool = False) -> list[Said]:
    """A few statements, each of another value; with `often` of the same values again and again, one a day."""
    several = draw(st.lists(plain, max_size=5)) + [one for kind in kinds for one in draw(st.lists(kind, max_size=3))]
    if often:
        return list({said.day: said for said in several}.values())
    return list({said.value: said for said in {said.when: said for said in several}.values()}.values())


common = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
shuffled = st.randoms(use_true_random=False)


def in_any_order(said: Sequence[Said], random: Random) -> list[Said]:
    arrived = list(said)
    random.shuffle(arrived)
    return arrived


@common
@given(told(often=True), shuffled)
def test_the_order_in_which_statements_arrive_does_not_matter(said: list[Said], random: Random) -> None:
    agrees(said, in_any_order(said, random))


@common
@given(told(bounded), shuffled)
def test_nor_does_it_for_what_has_an_end(said: list[Said], random: Random) -> None:
    agrees(said, in_any_order(said, random))


@common
@given(told(announced), shuffled)
def test_nor_for_what_is_announced(said: list[Said], random: Random) -> None:
    agrees(said, in_any_order(said, random))


@common
@given(told(since), shuffled)
def test_nor_for_what_began_before_it_was_said(said: list[Said], random: Random) -> None:
    agrees(said, in_any_order(said, random))


@common
@given(told(since, often=True) | told(announced, often=True) | told(bounded, often=True))
def test_changes_of_mind_and_back_as_they_are_said(said: list[Said]) -> None:
    agrees(said, sorted(said, key=lambda one: one.when))
