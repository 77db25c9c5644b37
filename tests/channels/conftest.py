"""What the tests of channels share: worlds in which turns run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.clock import ManualClock
from tests.fakes.turns import START, Plan, World


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(Plan(folder=tmp_path, clock=ManualClock(START)))
    yield world
    await world.close()
