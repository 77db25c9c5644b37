"""Rooms in which people chat with a whole instance over a fake of Telegram."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.telegram_room import Room, room


@pytest.fixture
async def telegram(tmp_path: Path) -> AsyncIterator[Room]:
    """The channel open, by polling; `tg:5` is the owner."""
    async with room(tmp_path) as opened:
        await opened.open()
        yield opened
