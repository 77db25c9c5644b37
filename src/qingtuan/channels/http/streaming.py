"""Answers that take their time, to callers who may leave meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from qingtuan.channels.http import sse
from qingtuan.channels.http.front import Receive, Scope, Send

_T = TypeVar("_T")


class Left(Exception):
    """The caller hung up: nobody hears the answer any more."""


async def unless_left(request: Request, work: Coroutine[Any, Any, _T]) -> _T:
    """The result of `work`, which is cancelled when the caller hangs up.

    Raises:
        Left: that happened.
    """
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_left(request.receive))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Left
        return working.result()
    finally:
        await _ended(working, leaving)


class EventStream(Response):
    """Server-sent events, until they end or the caller hangs up."""

    media_type = sse.MEDIA_TYPE

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        super().__init__(headers=sse.HEADERS)
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 (as ASGI has it)
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        sending, leaving = asyncio.ensure_future(self._send(send)), asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait([sending, leaving], return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            await _ended(sending, leaving)

    async def _send(self, send: Send) -> None:
        try:
            async for event in self._events:
                await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            close = getattr(self._events, "aclose", None)
            if close is not None:
                await close()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _ended(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
