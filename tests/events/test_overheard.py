"""What was said in groups to others: how much is kept, for how long, and what takes it away."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from qingtuan.clock import ManualClock
from qingtuan.events import overheard
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.events.overheard import MOST, MOST_CHARS, Overhearing, delete_overheard
from qingtuan.ids import Ids
from qingtuan.messages import Inbound, Space
from qingtuan.storage.sqlite import Database

GROUP, OTHER = Space("group", "qq:777"), Space("group", "qq:888")
LI, WANG = "qq:1", "qq:2"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 11, 30, tzinfo=UTC))


@pytest.fixture
def log(tmp_path: Path, clock: ManualClock) -> Log:
    return Log(Database(tmp_path / "state.sqlite"), clock, Ids(clock), [overheard.project])


@pytest.fixture
def hearing(log: Log, clock: ManualClock) -> Overhearing:
    return Overhearing(log, clock)


def say(
    hearing: Overhearing, clock: ManualClock, text: str, by: str = LI, space: Space = GROUP, name: str = ""
) -> None:
    clock.advance(timedelta(seconds=1))
    inbound = Inbound("onebot", by, space, name or f"m{clock.monotonic()}", text, clock.now(), addressed=False)
    hearing.keep(inbound, by.replace(":", "-"), text)


def texts(hearing: Overhearing, space: Space = GROUP) -> list[str]:
    return [one.text for one in hearing.unused(space)]


def test_the_newest_of_each_group_are_kept(hearing: Overhearing, clock: ManualClock) -> None:
    say(hearing, clock, "那边的", space=OTHER)
    for number in range(MOST + 3):
        say(hearing, clock, str(number))
    assert texts(hearing) == [str(number) for number in range(3, MOST + 3)]
    assert texts(hearing, OTHER) == ["那边的"]


def test_for_a_week(hearing: Overhearing, log: Log, clock: ManualClock) -> None:
    say(hearing, clock, "旧的")
    clock.advance(timedelta(days=6))
    say(hearing, clock, "新的")
    clock.advance(timedelta(days=1, seconds=5))
    assert texts(hearing) == ["新的"], "what is over is not read, deleted or not"
    assert len(log.database.rows("SELECT 1 FROM overheard")) == 2
    hearing.prune()
    assert len(log.database.rows("SELECT 1 FROM overheard")) == 1


def test_what_was_used_is_not_used_again_but_found(hearing: Overhearing, clock: ManualClock) -> None:
    say(hearing, clock, "一", name="a")
    say(hearing, clock, "二", name="b")
    first, _ = hearing.unused(GROUP)
    hearing.use([first.number])
    assert texts(hearing) == ["二"]
    found = hearing.find("onebot", GROUP, "a")
    assert found is not None
    assert found.text == "一"
    assert hearing.find("telegram", GROUP, "a") is None
    assert hearing.find("onebot", OTHER, "a") is None
    hearing.use([])


def test_an_edit_a_recall_and_what_comes_twice(hearing: Overhearing, clock: ManualClock) -> None:
    say(hearing, clock, "原来", name="a")
    say(hearing, clock, "改过", name="a")
    say(hearing, clock, "收回", name="b")
    hearing.take_back("onebot", GROUP, "b")
    assert texts(hearing) == ["改过"]
    twice = Inbound("onebot", LI, GROUP, "c", "x" * 5000, clock.now())
    hearing.keep(twice, "qq-1", twice.text)
    hearing.keep(Inbound("onebot", LI, GROUP, "d", twice.text, clock.now()), "qq-1", twice.text)
    assert texts(hearing) == ["改过", "x" * MOST_CHARS]


def test_whoever_is_forgotten_or_does_not_want_it(hearing: Overhearing, log: Log, clock: ManualClock) -> None:
    say(hearing, clock, "李说的")
    say(hearing, clock, "王说的", WANG)
    log.append(Kind.PERSON_FORGOTTEN, Place(person="qq-1"))
    assert texts(hearing) == ["王说的"]
    hearing.choose(Place(person="qq-2"), ["qq-2", "wang"], heard=False)
    assert texts(hearing) == []
    assert not hearing.hears({"wang"})
    assert hearing.hears({"qq-1"})
    hearing.choose(Place(person="qq-2"), ["qq-2", "wang"], heard=True)
    assert hearing.hears({"wang", "qq-2"})


def test_a_restore_brings_nothing_back(hearing: Overhearing, log: Log, clock: ManualClock) -> None:
    say(hearing, clock, "备份里的")
    log.append(Kind.FOLDER_RESTORED, Place(), {"shows": None})
    assert texts(hearing) == []


def test_what_holds_an_erased_entry_goes(hearing: Overhearing, log: Log, clock: ManualClock) -> None:
    say(hearing, clock, "暗号是海豚")
    say(hearing, clock, "别的")
    delete_overheard(log, lambda text: "海豚" in text)
    assert texts(hearing) == ["别的"]
    hearing.clear(GROUP)
    assert texts(hearing) == []
