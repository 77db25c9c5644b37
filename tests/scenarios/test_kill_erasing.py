"""Whatever instant the process dies at, an erasure has either not begun, or is finished by the next start.

As in `test_kill`: real processes, killed by SIGKILL before one of their steps.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.test_kill import REPOSITORY

STRIDES = {"purge": 37, "forget": 53, "again-purge": 31, "again-forget": 41}
"""As in `test_kill`. `again`: the start after a crash is killed, too."""
_PATIENCE = 1800


@pytest.mark.parametrize("act", STRIDES)
def test_whenever_it_dies(act: str, tmp_path: Path) -> None:
    stride = os.environ.get("KILL_STRIDE", str(STRIDES[act]))
    command = [sys.executable, "-m", "tests.fakes.killed_erasing", act, str(tmp_path / "killed"), stride]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=_PATIENCE, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Any] = json.loads(done.stdout)
    assert len(found) >= 3
    wrong = {}
    for step, one in found.items():
        reasons = [reason for reason, holds in judged(one, act.removeprefix("again-")).items() if not holds]
        if reasons:
            wrong[step] = (reasons, one)
    assert wrong == {}
    assert list(found.values())[-1]["begun"]


def judged(found: Mapping[str, Any], act: str) -> dict[str, bool]:
    begun = found["begun"]
    return {
        "it is gone everywhere, or nothing has begun": found["holding"] == [] if begun else len(found["holding"]) > 3,
        "whose it was is named nowhere": (found["named"] == []) == (begun and act == "forget"),
        "what others have stays": found["others hold"] and found["kept"] and found["groups"],
        "nothing is left to do": found["unfinished"] == 0 and found["failed"] == [],
        "the tables are what a replay makes": found["replays"],
        "git is sound": found["fsck"] == "",
        "the wiki is clean": found["status"] == "" and not any("rewriting" in name for name in found["folders"]),
        "nothing of ours is taken for a hand edit": found["hand edits"] == 0,
    }
