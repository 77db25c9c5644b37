"""Before the webhook: what is too large is turned away before it is read, whoever sends it, and of who does not know
the secret nothing is read at all."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from qingtuan.channels.entry import Asgi

_MOST_BYTES = 1024 * 1024
"""Larger than any update."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def bounded(app: Asgi, header: str, secret: str) -> Asgi:
    """The same application for bodies up to a megabyte, sent whole, by who says the secret in a header. Of anybody else
    it gets no body, to say no to: they may send theirs as slowly as they like."""
    name = header.lower().encode()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        body = bytearray()
        said = [value for key, value in scope["headers"] if key == name]
        more = len(said) == 1 and hmac.compare_digest(said[0], secret.encode())
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > _MOST_BYTES:
                await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
                await send({"type": "http.response.body", "body": b""})
                return
        given = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def once() -> MutableMapping[str, Any]:
            return given.pop() if given else await receive()

        await app(scope, once, send)

    return answer
