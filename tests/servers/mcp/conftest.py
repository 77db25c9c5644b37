"""An instance with its server on a free port, and programs that call it by the SDK's own client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from mcp.client.client import Client

from tests.servers.mcp.program import Programs, connected

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
async def programs(tmp_path: Path) -> AsyncIterator[Programs]:
    async with Programs(tmp_path) as programs:
        yield programs


@pytest.fixture(params=["legacy", "auto"])
def connect(request: pytest.FixtureRequest, programs: Programs) -> Connect:
    """What opens a client of either era with a key."""

    def opened(key: str) -> AbstractAsyncContextManager[Client]:
        return connected(programs.url, key, mode=request.param)

    return opened
