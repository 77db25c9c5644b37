"""Answers that are read as they come, for the transports of the two HTTP libraries: the same checks, no redirects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from qingtuan.errors import FetchFailed
from qingtuan.language import Words
from qingtuan.net.addresses import NotSent
from qingtuan.net.answers import Limits, Reply
from qingtuan.net.door import Asking
from qingtuan.net.fetcher import Allow, SafeFetcher

STREAMED = Limits(size=32 * 1024 * 1024, seconds=600.0, idle=60.0)
"""What a program may answer if its caller sets no limits of its own. `seconds` is for one answer from its request to
its end; `redirects` and `kinds` are the caller's matter."""


class Slow(FetchFailed):
    """Nothing came for too long, or it came for too long."""

    def __init__(self) -> None:
        super().__init__(_SLOW, again=True)


class Streamed:
    """One answer, piece by piece, within its limits. To be closed."""

    def __init__(self, reply: Reply, limits: Limits, deadline: float) -> None:
        self.reply = reply
        self._pieces = reply.pieces(limits.size)
        self._limits = limits
        self._deadline = deadline

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body. Raises `FetchFailed`; `Slow` where a limit of time is over."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                async with asyncio.timeout_at(min(self._deadline, loop.time() + self._limits.idle)):
                    piece = await anext(self._pieces, None)
            except TimeoutError:
                raise Slow from None
            if piece is None:
                return
            yield piece

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self.reply.aclose()


@dataclass(frozen=True, slots=True)
class Streaming:
    """Sends single requests of a library."""

    fetcher: SafeFetcher
    limits: Limits
    allow: Allow | None

    async def send(self, method: str, url: str, headers: dict[str, str], body: AsyncIterator[bytes]) -> Streamed:
        """The answer to one request, whatever its status; a redirect is an answer, too.

        Raises:
            NotSent: the address may not be asked for, or is out of reach, or the request is too large.
            Slow: it did not begin in time.
            FetchFailed: it broke off.
        """
        deadline = asyncio.get_running_loop().time() + self.limits.seconds
        try:
            async with asyncio.timeout_at(deadline):
                address = self.fetcher.allowed(url, self.allow)
                content = await _whole(body)
                reply = await self.fetcher.door.open(Asking(method, address, headers, content), self.limits.idle)
        except TimeoutError:
            raise Slow from None
        return Streamed(reply, self.limits, deadline)


async def _whole(body: AsyncIterator[bytes]) -> bytes | None:
    found = bytearray()
    async for piece in body:
        found += piece
        if len(found) > _LARGEST_REQUEST:
            raise NotSent(_LARGE)
    return bytes(found) or None


_LARGEST_REQUEST = 32 * 1024 * 1024
_SLOW = Words("太慢了，没等到。", "It took too long.")
_LARGE = Words("要发的内容太大，没有发。", "What was to be sent is too large.")
