"""An instance that other agents call: its real server on a free port, with a scripted model behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.agents import Asked


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[Asked]:
    asked = await Asked.open(tmp_path)
    yield asked
    await asked.close()
