"""A wiki of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.wiki_world import WikiWorld


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[WikiWorld]:
    """A new, empty wiki, recovered and ready."""
    made = WikiWorld(tmp_path)
    await made.store.recover()
    yield made
    made.close()
