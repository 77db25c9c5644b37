"""Whatever instant the process dies at while a person decides by a word: it is decided once, whole, and told.

Real processes, killed by SIGKILL, as in `test_kill`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.killed_deciding import MOVED, OURS, QQ, TG, THEIRS, WAITING

REPOSITORY = Path(__file__).parents[2]
STRIDES = {"link": 29, "unlink": 41, "undo a link": 37, "accept": 17, "ask": 5, "policy": 13, "move in": 15}
Found = Mapping[str, Any]
_PATIENCE = 1800
"""Seconds for all kills of an act: a bench kills before every step."""


def killed(act: str, folder: Path) -> Mapping[str, Found]:
    """What was found at the end, by the step before which the process was killed."""
    stride = os.environ.get("KILL_STRIDE", str(STRIDES[act]))
    command = [sys.executable, "-m", "tests.fakes.killed_deciding", act, str(folder / "killed"), stride]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=_PATIENCE)
    assert done.returncode == 0, done.stderr
    found: Mapping[str, Found] = json.loads(done.stdout)
    assert len(found) >= 3
    return found


@pytest.mark.parametrize("act", STRIDES)
def test_whenever_it_dies(act: str, tmp_path: Path) -> None:
    wrong = {}
    for step, found in killed(act, tmp_path).items():
        reasons = [reason for reason, holds in {**common(found), **ACTS[act](found)}.items() if not holds]
        if reasons:
            wrong[step] = (reasons, found)
    assert wrong == {}


def common(found: Found) -> dict[str, bool]:
    """What holds whatever was decided."""
    damage = [word for word in ("error", "missing", "corrupt", "broken", "fatal") if word in found["fsck"]]
    return {
        "the wiki is clean": found["status"] == "",
        "git is sound": not damage,
        "nothing of ours is taken for a hand edit": found["hand edits"] == 0,
        "every table is what the events make of it": found["replays"],
    }


def linked(found: Found) -> dict[str, bool]:
    told = "\n".join(found["answers"])
    return {
        "they are one person, once": found["people"][QQ] == found["people"][TG] == "qq-10002",
        "one event says so": found["events"].count("person.linked") == 1,
        "the file says so": QQ in found["file"] and TG in found["file"] and "persons.li" not in found["file"],
        "both see both memories": all(text in found[account] for account in (QQ, TG) for text in (OURS, THEIRS)),
        "what one never wanted kept counts": "体重" in found["pages"]["users/qq-10002/rules/remembering.md"],
        "nothing is left behind": not [page for page in found["pages"] if page.startswith("users/li")],
        "both and the owner are told": all(
            told.count(words) == 1 for words in ("关联好了：", "tg:42 确认了", "成员 qq-10002 关联了账号")
        ),
    }


def parted(found: Found) -> dict[str, bool]:
    return {
        "they are two again, once": (found["people"][QQ], found["people"][TG]) == ("qq-10002", "li"),
        "one event says so": found["events"].count("person.parted") == 1,
        "the file is as it was": found["file"] == f'[persons.li]\naccounts = ["{TG}"]\nmember = true\n',
        "each sees their own": OURS in found[QQ] and THEIRS in found[TG],
        "and nothing of the other": THEIRS not in found[QQ] and OURS not in found[TG],
        "what one never wanted kept is theirs": "体重" in found["pages"]["users/li/rules/remembering.md"],
        "somebody was answered": "分开了" in found["answers"][-1] or "刚才重启了" in found["answers"][-1],
    }


def accepted(found: Found) -> dict[str, bool]:
    (page,) = found["pages"].values()
    decided = found["waiting"] == [] or "刚才重启了" in found["answers"][-1]
    return {
        "each is written once": all(page.count(f"- {text} ^") == 1 for text in WAITING),
        "in one commit": len(found["commits"]) == 1,
        "nothing waits, or they are told to look": decided,
    }


def asked(found: Found) -> dict[str, bool]:
    return {
        "asked once": found["events"].count("review.asked") == 1,
        "told once": sum("想记住这 2 条吗" in text for text in found["answers"]) == 1,
        "both wait": found["waiting"] == list(WAITING),
    }


def chosen(found: Found) -> dict[str, bool]:
    return {"chosen": found["policy"] == "review", "once": found["events"].count("settings.changed") == 1}


def moved_in(found: Found) -> dict[str, bool]:
    (page,) = found["pages"].values()
    return {
        "each is there once": all(page.count(f"- {text} ^") == 1 for text in MOVED),
        "in one commit": len(found["commits"]) == 1,
    }


ACTS: dict[str, Callable[[Found], dict[str, bool]]] = {
    "link": linked,
    "unlink": parted,
    "undo a link": parted,
    "accept": accepted,
    "ask": asked,
    "policy": chosen,
    "move in": moved_in,
}
