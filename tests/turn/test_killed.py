"""kill -9 at every step of a conversation with an act in it: nothing is lost, nothing is done or said twice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.killed_turn import STEPS

REPOSITORY = Path(__file__).parents[2]
EVENTS = 31
"""How many events the conversation has when nobody dies."""
WAYS = ["in act", "near act", *(f"{when} {number}" for when in ("before", "after") for number in range(1, EVENTS + 1))]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """One process tries every way to die, in copies of itself: importing anew for each would take a minute."""
    command = [sys.executable, "-m", "tests.fakes.killed_turn", str(tmp_path_factory.mktemp("killed"))]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=300)
    assert done.stderr == ""
    return dict(json.loads(done.stdout))


def test_without_a_kill_it_is_asked_confirmed_and_done(found: dict[str, dict[str, Any]]) -> None:
    never = found["never"]
    assert never["events"] == EVENTS
    assert never["acts"] == 1
    assert never["results"] == ["waiting", "ok"]
    assert [kind for kind, _ in never["sent"]] == ["question", "reply", "reply"]
    assert found.keys() == {"never", *WAYS}


@pytest.mark.parametrize("way", WAYS)
def test_whenever_it_dies_the_next_process_goes_on(found: dict[str, dict[str, Any]], way: str) -> None:
    one = found[way]
    assert (one["killed"], one["ended"]) == (-9, 0)
    # Every message was stored once, and answered once, by what belongs there.
    assert one["received"] == list(STEPS)
    question, booked, thanks = one["sent"]
    assert question == found["never"]["sent"][0]
    assert booked[1] in ("约好了。", "不知道约成没有。")
    assert thanks == ["reply", "不客气。"]
    assert len(one["delivered"]) == len(set(one["delivered"])) == 3
    # The act was done once, or nobody can know, and that is what was said.
    assert one["results"] == ["waiting", "ok" if booked[1] == "约好了。" else "unknown"]
    assert one["acts"] == 1 if one["results"][1] == "ok" else one["acts"] in (0, 1)
    # Nothing is left that a later start would take up.
    assert one["outcomes"] == ["waiting", "replied", "replied"]
    assert one["open"] == [0, 0, 0, 0]


def test_only_a_kill_between_the_beginning_of_the_act_and_its_result_leaves_a_doubt(
    found: dict[str, dict[str, Any]],
) -> None:
    doubtful = {way for way in WAYS if found[way]["results"][1] == "unknown"}
    assert {"in act", "near act"} <= doubtful
    assert len(doubtful) == 4  # and right behind `tool.started`, and while `tool.finished` was being written
