"""Whoever left a group sees nothing of it any more: every road to past talk knows what was left."""

from __future__ import annotations

import ast
from pathlib import Path

import qingtuan

SOURCE = Path(qingtuan.__file__).parent


def test_every_sight_of_the_log_knows_which_groups_were_left() -> None:
    calls = [
        (path.relative_to(SOURCE).as_posix(), call)
        for path in sorted(SOURCE.rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "event_sight"
    ]
    assert len(calls) > 4
    assert [name for name, call in calls if not any(given.arg == "left" for given in call.keywords)] == []
