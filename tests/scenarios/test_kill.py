"""Axiom 7: whatever instant the process dies at, nothing is lost, nothing is done twice, and each message is answered
once.

Real processes, killed by SIGKILL before one of their steps, over a real data folder with its database, wiki and git.
The strides are such that the whole stays short; together with the scenes they fall on other steps each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.killed_instance import DONE, LIBRARY, LISTED, LISTED_NONE, NOT_DONE, SERVER, UNSURE
from tests.fakes.library import library_processes

REPOSITORY = Path(__file__).parents[2]
STRIDES = {"remember": 19, "change": 31, "act": 29, "command": 31, "summary": 41, "seat": 43, "burst": 11}
Found = Mapping[str, Any]
_PATIENCE = 1800
"""Seconds for all kills of a scene: a bench kills before every step."""


def killed(scene: str, folder: Path) -> Mapping[str, Found]:
    """What was found at the end, by the step before which the process was killed."""
    stride = int(os.environ.get("KILL_STRIDE", STRIDES[scene]))
    if scene != "seat":
        return _killed(scene, folder, stride, {})
    with library_processes() as (library, server):
        return _killed(scene, folder, stride, {LIBRARY: library, SERVER: server})


def _killed(scene: str, folder: Path, stride: int, addresses: Mapping[str, str]) -> Mapping[str, Found]:
    command = [sys.executable, "-m", "tests.fakes.killed_instance", scene, str(folder / "killed"), str(stride)]
    environ = {**os.environ, **addresses}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environ, capture_output=True, text=True, check=False, timeout=_PATIENCE
    )
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Found] = json.loads(done.stdout)
    assert len(found) >= 4
    return found


@pytest.mark.parametrize("scene", STRIDES)
def test_whenever_it_dies(scene: str, tmp_path: Path) -> None:
    wrong = {}
    for step, found in killed(scene, tmp_path).items():
        reasons = [reason for reason, holds in {**common(found), **SCENES[scene](found)}.items() if not holds]
        if reasons:
            wrong[step] = (reasons, found)
    assert wrong == {}


def common(found: Found) -> dict[str, bool]:
    """What holds in every scene."""
    messages = found["messages"]
    damage = [word for word in ("error", "missing", "corrupt", "broken", "fatal") if word in found["fsck"]]
    return {
        "each message is stored once": len(messages) == len(set(messages)),
        "no turn is left": found["open turns"] == 0,
        "no question is left": found["open questions"] == 0,
        "the wiki is clean": found["status"] == "",
        "git is sound": not damage,
        "nothing of ours is taken for a hand edit": found["hand edits"] == 0,
        "no number stands twice": all(len(set(lines)) == len(lines) for lines in map(bullets, found["pages"].values())),
    }


def bullets(page: str) -> list[str]:
    return [line.rpartition("^")[2] for line in page.splitlines() if line.startswith("- ")]


def answered_once(found: Found) -> dict[str, bool]:
    return {f"{message} is answered once": len(texts) == 1 for message, texts in found["answers"].items()}


def remember(found: Found) -> dict[str, bool]:
    told = found["answers"].get("m0")
    done = found["listed"] == ["不吃香菜"]
    return {
        **answered_once(found),
        "the write began once": found["writes started"] == ["remember"],
        "what is said is true": (told == [DONE] and done) or (told == [UNSURE] and (done or found["listed"] == [])),
    }


def change(found: Found) -> dict[str, bool]:
    told, listed = found["answers"].get("m0"), set(found["listed"])
    new, old = listed == {"不吃香菜", "坐三楼"}, listed == {"不吃香菜", "坐二楼"}
    return {
        **answered_once(found),
        "the write began once": found["writes started"] == ["remember"] * 3,
        "the old is history where the new is current": not new or "坐二楼" in str(found["pages"]),
        "what is said is true": (told == [DONE] and new) or (told == [UNSURE] and (new or old)),
    }


def act(found: Found) -> dict[str, bool]:
    outcomes = [text for text in found["replies"] if text in (DONE, UNSURE)]
    questions = [text for text in found["replies"] if text.startswith("要预约")]
    return {
        "it is done once at most": found["booked"] <= 1,
        "it was begun once": found["writes started"] == ["book_seat"],
        "it was asked about once": len(questions) == 1,
        "its outcome is told once": len(outcomes) == 1,
        "what is said is true": outcomes != [DONE] or found["booked"] == 1,
    }


def seat(found: Found) -> dict[str, bool]:
    outcomes = [text for text in found["replies"] if text in (DONE, UNSURE, NOT_DONE)]
    questions = [text for text in found["replies"] if text.startswith("要预约")]
    return {
        "no seat is booked twice": found["seats"] <= 1,
        "it was begun once": found["writes started"].count("library__reserve_seat") == 1,
        "it was asked about once": len(questions) == 1,
        "its outcome is told once": len(outcomes) == 1,
        "what is said is true": (outcomes == [DONE]) == (found["seats"] == 1),
        "what is asked later is answered once": found["answers"].get("m2") in ([LISTED], [LISTED_NONE]),
        "and truly": (found["answers"].get("m2") == [LISTED]) == (found["seats"] == 1),
    }


def command(found: Found) -> dict[str, bool]:
    undone = found["answers"].get("m1", [""])[0].startswith("已撤销")
    return {
        **answered_once(found),
        "nothing else came about": found["listed"] in ([], ["不吃葱"]),
        "what is said is true": not undone or found["listed"] == [],
    }


def summary(found: Found) -> dict[str, bool]:
    spans, covered = found["summaries"], found["covered"]
    behind = [name for name, seq in found["positions"].items() if seq > covered]
    return {
        **answered_once(found),
        "there is one": spans != [],
        "no gap and no overlap": all(one[1] < other[0] for one, other in pairwise(spans)),
        "every message is in one place": found["raw"] == behind,
        "all of them were said": len(found["messages"]) == 5,
    }


def burst(found: Found) -> dict[str, bool]:
    answered = [message for messages in found["answered"].values() for message in messages]
    return {
        "all of them were said": len(found["messages"]) == 4,
        "nothing is answered twice": len(answered) == len(set(answered)),
        "what was not taken back is answered": {"m0", "m1", "m3"} <= set(answered),
        "in the order in which it was said": answered == sorted(answered),
        "each turn has one reply": found["replies"] == ["好的。"] * len(found["answered"]),
    }


SCENES = {
    "remember": remember,
    "change": change,
    "act": act,
    "command": command,
    "summary": summary,
    "seat": seat,
    "burst": burst,
}
