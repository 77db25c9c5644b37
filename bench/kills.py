"""A whole instance killed by SIGKILL before every few of its steps, and what the next process makes of it.

The scenes and what has to hold in each are those of the tests; here they are killed at far more steps.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.table import Row

LEFT_OUT = ("kill -9",)

_STRIDES = {"seat": 1}
"""Before every step of the seat dialogue, before every other one of the rest."""


def rows(*, short: bool) -> list[Row]:
    if short:
        return []
    from tests.scenarios.test_kill import SCENES, common, killed

    scenes = {}
    for scene, holds in SCENES.items():
        os.environ["KILL_STRIDE"] = str(_STRIDES.get(scene, 2))
        with tempfile.TemporaryDirectory() as name:
            every = killed(scene, Path(name)).values()
            wrong = sum(not all({**common(found), **holds(found)}.values()) for found in every)
            scenes[scene] = len(every), wrong, sum(found["booked"] > 1 or found["seats"] > 1 for found in every)
    seat = scenes.pop("seat")
    rest = tuple(map(sum, zip(*scenes.values(), strict=True)))
    return [*_of("kill -9", rest, "acts repeated"), *_of("kill -9 in the seat dialogue", seat, "seats booked twice")]


def _of(what: str, counted: Sequence[int], repeated: str) -> list[Row]:
    kills, wrong, twice = counted
    return [
        Row(f"{what}: how many instants", kills, "", 200, "higher"),
        Row(f"{what}: something lost, untrue or answered twice", wrong, "", 0),
        Row(f"{what}: {repeated}", twice, "", 0, peers="LangGraph repeats the act"),
    ]
