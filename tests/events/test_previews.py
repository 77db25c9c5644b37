"""Messages that show an answer while it is written: which of them stand, after a replay as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.app import PROJECTIONS
from qingtuan.clock import ManualClock
from qingtuan.events.erasing import erase
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.events.previews import Preview, Previews
from qingtuan.ids import Ids
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database
from tests.fakes.replaying import replayed, tables

CHAT = Space("private", "tg:5")
TURN = Place("s_1", CHAT, "turn_1", "tg-5")
OTHER = Place("s_2", Space("group", "tg:-7"), "turn_2", "tg-6")
SHOWN = Preview("turn_1", CHAT, "3#4")


@pytest.fixture
def kept(database: Database, clock: ManualClock, tmp_path: Path) -> Log:
    return Log(database, clock, Ids(clock), PROJECTIONS)


def test_one_stands_until_it_is_over(kept: Log) -> None:
    previews = Previews(kept, "telegram")
    previews.shown(TURN, "3#4")
    previews.shown(OTHER, "9")
    assert previews.of("turn_1") == SHOWN
    assert Previews(kept, "onebot").open() == []
    assert tables(kept) == replayed(kept)
    previews.over(SHOWN)
    assert [preview.turn for preview in previews.open()] == ["turn_2"]
    assert tables(kept) == replayed(kept)


def test_after_a_restore_none_is_thought_to_stand(kept: Log) -> None:
    previews = Previews(kept, "telegram")
    previews.shown(TURN, "3#4")
    kept.append(Kind.FOLDER_RESTORED, Place())
    assert previews.open() == []
    assert tables(kept) == replayed(kept)


def test_who_is_forgotten_leaves_none(kept: Log) -> None:
    previews = Previews(kept, "telegram")
    previews.shown(TURN, "3#4")
    previews.shown(OTHER, "9")
    forgotten = kept.append(Kind.PERSON_FORGOTTEN, Place(person="tg-5"))
    erase(kept, forgotten)
    assert [preview.turn for preview in previews.open()] == ["turn_2"]
    assert tables(kept) == replayed(kept)
