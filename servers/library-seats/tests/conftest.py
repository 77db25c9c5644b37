"""One demo library for each module, emptied before each test: starting one takes longer than most tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from library_world import Library, Reader, library, reading


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def one_library() -> AsyncIterator[Library]:
    """Stays open from test to test."""
    async with library() as world:
        yield world


@pytest_asyncio.fixture(loop_scope="module")
async def open_library(one_library: Library) -> Library:
    """As on its first day."""
    await one_library.reset()
    return one_library


@pytest_asyncio.fixture(loop_scope="module")
async def reader(open_library: Library) -> AsyncIterator[Reader]:
    """Reads there as `demo`. Held by a task: the SDK's client must be left by the task that entered it."""
    at_hand: asyncio.Future[Reader] = asyncio.get_running_loop().create_future()
    enough = asyncio.Event()

    async def hold() -> None:
        async with reading(open_library.settings) as reader:
            at_hand.set_result(reader)
            await enough.wait()

    holding = asyncio.create_task(hold())
    either: list[asyncio.Future[Any]] = [at_hand, holding]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if holding.done():
        holding.result()
    yield at_hand.result()
    enough.set()
    await holding
