"""Choices of a space count instead of the settings, and come out of the events alone."""

from __future__ import annotations

from pathlib import Path

from qingtuan.clock import SystemClock
from qingtuan.events.choices import Choices, project
from qingtuan.events.log import Log, Place
from qingtuan.ids import Ids
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database

GROUP = Space("group", "qq:777")
PRIVATE = Space("private", "qq:1")


def _log(path: Path) -> Log:
    return Log(Database(path), SystemClock(), Ids(SystemClock()), (project,))


def test_a_choice_counts_for_its_space_and_name_only(tmp_path: Path) -> None:
    choices = Choices(_log(tmp_path / "state.sqlite"))
    choices.choose(GROUP, "policy", "auto", Place())
    choices.choose(PRIVATE, "persona", "sprout", Place())
    assert choices.of(GROUP, "policy") == "auto"
    assert choices.of(GROUP, "persona") is None
    assert choices.of(PRIVATE, "policy") is None


def test_the_last_choice_counts_and_none_takes_it_back(tmp_path: Path) -> None:
    choices = Choices(_log(tmp_path / "state.sqlite"))
    choices.choose(GROUP, "enabled", "yes", Place())
    choices.choose(GROUP, "enabled", "no", Place())
    assert choices.of(GROUP, "enabled") == "no"
    assert choices.spaces("enabled", "no") == {GROUP}
    assert choices.spaces("enabled", "yes") == frozenset()
    choices.choose(GROUP, "enabled", None, Place())
    assert choices.of(GROUP, "enabled") is None


def test_the_table_can_be_made_again_from_the_events(tmp_path: Path) -> None:
    log = _log(tmp_path / "state.sqlite")
    choices = Choices(log)
    choices.choose(GROUP, "policy", "auto", Place())
    choices.choose(GROUP, "policy", "manual", Place())
    log.database.execute("DELETE FROM choices")
    for event in log.replay():
        project(log.database, event)
    assert choices.of(GROUP, "policy") == "manual"
