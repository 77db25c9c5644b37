"""Servers in a data folder of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.home import Home
from tests.mcp_client.bench import Bench


@pytest.fixture
async def bench(home: Home) -> AsyncIterator[Bench]:
    async with Bench(home) as bench:
        yield bench


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A file in which a server remembers what happened in an earlier process."""
    path = tmp_path / "state"
    path.touch()
    return path
