"""What the tests of quirks share: a raw server, a clock, and a session through the real client."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from qingtuan.clock import ManualClock
from tests.fakes.model_session import ModelSession
from tests.fakes.quirks import NOW, models
from tests.fakes.raw_server import RawServer
from tests.fakes.strict_provider import judge


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    async with RawServer(judge=judge) as server:
        yield server


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
async def session(server: RawServer, clock: ManualClock) -> AsyncIterator[ModelSession]:
    model = models(server, clock)
    yield ModelSession(model)
    await model.close()
