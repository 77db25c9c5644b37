"""Server-sent events: pieces as they come, and a sign of life where none comes for a while."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, TypeVar

from qingtuan.clock import Clock

MEDIA_TYPE = "text/event-stream"
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}
"""Nobody between us and the caller may keep or hold back what is sent."""
BEAT = b": beat\n\n"
BEAT_SECONDS = 15.0

_Piece = TypeVar("_Piece")


def event(name: str, value: Any) -> bytes:
    """One event with a name."""
    return f"event: {name}\n".encode() + data(value)


def data(value: Any) -> bytes:
    """One event without a name."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return b"data: " + text.encode("utf-8", "replace") + b"\n\n"


async def beating(
    pieces: AsyncGenerator[_Piece, None], clock: Clock, seconds: float = BEAT_SECONDS
) -> AsyncIterator[_Piece | None]:
    """The pieces, and None whenever none came for so long. A piece is asked for when the one before it was taken."""
    async with aclosing(pieces):
        coming: asyncio.Task[_Piece] | None = None
        try:
            while True:
                coming = coming or asyncio.ensure_future(anext(pieces))
                late = asyncio.ensure_future(clock.sleep(seconds))
                try:
                    await asyncio.wait([coming, late], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    late.cancel()
                if not coming.done():
                    yield None
                    continue
                done, coming = coming, None
                try:
                    piece = done.result()
                except StopAsyncIteration:
                    return
                yield piece
        finally:
            # A generator that is being waited on cannot be closed.
            if coming is not None:
                coming.cancel()
                await asyncio.wait([coming])
