"""A whole instance killed by SIGKILL before every few of its steps, and what the next process makes of it.

The scenes and what has to hold in each are those of the tests; here they are killed at far more steps.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bench.table import Row

LEFT_OUT = ("kill -9",)

_STRIDE = 2
"""A kill before every other step makes some 260 over the five scenes."""


def rows(*, short: bool) -> list[Row]:
    if short:
        return []
    from tests.scenarios.test_kill import SCENES, common, killed

    os.environ["KILL_STRIDE"] = str(_STRIDE)
    kills, wrong, repeated = 0, 0, 0
    for scene, holds in SCENES.items():
        with tempfile.TemporaryDirectory() as name:
            for found in killed(scene, Path(name)).values():
                kills += 1
                wrong += not all({**common(found), **holds(found)}.values())
                repeated += found["booked"] > 1
    return [
        Row("kill -9: how many instants", kills, "", 200, "higher"),
        Row("kill -9: something lost, untrue or answered twice", wrong, "", 0),
        Row("kill -9: acts repeated", repeated, "", 0, peers="LangGraph repeats the act"),
    ]
