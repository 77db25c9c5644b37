"""A session with a provider that has quirks: the real client, a raw server, and the message that must still work."""

from __future__ import annotations

import random
from datetime import UTC, datetime

from qingtuan.clock import ManualClock
from qingtuan.models.client import Endpoint
from qingtuan.models.service import ModelConfig, Models
from tests.fakes.model_session import CallIds, ModelSession
from tests.fakes.raw_server import RawServer, says

NOW = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
KEY = "sk-secret-0123456789"
FULL = '{"place":"武汉"}'
"""Whole arguments of a call."""


def models(server: RawServer, clock: ManualClock, **changes: object) -> Models:
    config = ModelConfig(
        Endpoint(server.url, KEY),
        "test-model",
        **changes,  # type: ignore[arg-type]
    )
    return Models.of_endpoint(config, clock, random.Random(1), CallIds())


async def goes_on(session: ModelSession, server: RawServer) -> None:
    """One more message in the same session is a request that every provider takes."""
    server.play(says("接着说"))
    answer = await session.say("还有呢")
    assert (answer.text, answer.finish, answer.usage.prompt) == ("接着说", "stop", 10)
    assert not server.scripts
