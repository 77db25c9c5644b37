"""What the tests of channels share: worlds in which turns run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.channels.base import Deliveries
from tests.fakes.clocks import StillClock
from tests.fakes.post import Platform, Post
from tests.fakes.turns import START, Plan, World


@pytest.fixture
def clock() -> StillClock:
    return StillClock(START)


@pytest.fixture
async def world(tmp_path: Path, clock: StillClock) -> AsyncIterator[World]:
    world = World(Plan(folder=tmp_path, clock=clock))
    yield world
    await world.close()


@pytest.fixture
async def post(world: World, clock: StillClock) -> AsyncIterator[Post]:
    platform = Platform()
    post = Post(world, platform, Deliveries(platform, world.log), clock)
    yield post
    await post.deliveries.close()
