"""`httpx` through the safe fetcher: for libraries that bring their own client (the SDK of A2A).

Each request is looked at as every other (`net.door`): a client that follows redirects, or keys that a server names,
asks again and is looked at again. Cookies go neither way. The client above is told of refusals as of a host that cannot
be reached; `__cause__` holds the `FetchFailed` with the sentence.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx

from qingtuan.errors import FetchFailed
from qingtuan.net.addresses import NotSent
from qingtuan.net.answers import Limits
from qingtuan.net.fetcher import Allow, SafeFetcher
from qingtuan.net.streaming import STREAMED, Slow, Streamed, Streaming


class SafeTransport(httpx.AsyncBaseTransport):
    """Give it to a client as `transport=`, with `trust_env=False`."""

    def __init__(self, fetcher: SafeFetcher, limits: Limits = STREAMED, allow: Allow | None = None) -> None:
        """`allow` is asked for each address (see `SafeFetcher.request`)."""
        self._streaming = Streaming(fetcher, limits, allow)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        Raises:
            httpx.ConnectError: nothing was sent.
            httpx.ReadTimeout: it did not begin in time.
            httpx.ReadError: it broke off.
        """
        assert isinstance(request.stream, httpx.AsyncByteStream)
        try:
            answer = await self._streaming.send(
                request.method, str(request.url), dict(request.headers), aiter(request.stream)
            )
        except FetchFailed as error:
            raise _as_error(error, request) from error
        reply = answer.reply
        return httpx.Response(reply.status, headers=reply.headers, stream=_Body(answer, request), request=request)


class _Body(httpx.AsyncByteStream):
    def __init__(self, answer: Streamed, request: httpx.Request) -> None:
        self._answer = answer
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._answer.pieces():
                yield piece
        except FetchFailed as error:
            raise _as_error(error, self._request) from error

    async def aclose(self) -> None:
        await self._answer.aclose()


def _as_error(error: FetchFailed, request: httpx.Request) -> httpx.RequestError:
    kind: type[httpx.RequestError] = httpx.ReadError
    if isinstance(error, NotSent):
        kind = httpx.ConnectError
    elif isinstance(error, Slow):
        kind = httpx.ReadTimeout
    return kind(error.words.en, request=request)
