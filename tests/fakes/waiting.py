"""Waiting for what nobody tells of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from qingtuan.clock import ManualClock
from tests.fakes.conversation import PATIENCE

_T = TypeVar("_T")


async def until(true: Callable[[], _T], clock: ManualClock | None = None, step: float = 0.0) -> _T:
    """Wait until something is so, and give it. On `clock`, `step` seconds go by in each moment of ours."""
    async with asyncio.timeout(PATIENCE):
        while not (found := true()):
            if clock is not None:
                clock.advance(timedelta(seconds=step))
            await asyncio.sleep(0.005)
    return found
