"""Worlds for the tests of turns, closed at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pytest

from qingtuan.clock import ManualClock
from tests.fakes.turns import START, Plan, ScriptedModel, World


class Opener(Protocol):
    """Opens a world over this test's folder; keyword arguments are fields of its `Plan`."""

    def __call__(self, model: ScriptedModel | None = None, **fields: Any) -> World: ...


@pytest.fixture
async def open_world(tmp_path: Path) -> AsyncIterator[Opener]:
    opened: list[World] = []

    def open_(model: ScriptedModel | None = None, **fields: Any) -> World:
        plan = replace(Plan(folder=tmp_path, clock=ManualClock(START)), **fields)
        opened.append(World(plan, model))
        return opened[-1]

    yield open_
    for world in opened:
        await world.close()


@pytest.fixture
def world(open_world: Opener) -> World:
    """A world without tools."""
    return open_world()
