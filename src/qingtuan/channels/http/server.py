"""Listens on one address and hands each request to what answers its path."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import uvicorn

from qingtuan.channels.entry import Asgi
from qingtuan.errors import SettingsWrong
from qingtuan.language import Words

_TAKEN = Words(
    "{host}:{port} 听不了（{why}）。换一个：server.port，或停掉占着它的程序。",
    "Cannot listen on {host}:{port} ({why}). Choose another server.port, or stop what holds it.",
)
_GRACE_SECONDS = 5


class Server:
    """The socket, and who answers on it."""

    def __init__(self, host: str, port: int, routes: Mapping[str, Asgi]) -> None:
        """`routes`: by the beginning of the path; the longest that fits answers."""
        self._host, self._port = host, port
        self._routes = sorted(routes.items(), key=lambda route: -len(route[0]))
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._listening: socket.socket

    async def start(self) -> None:
        """Listen. Raises `SettingsWrong` if the address is taken or none of this machine's."""
        try:
            listening = socket.create_server(
                (self._host, self._port), family=socket.AF_INET6 if ":" in self._host else socket.AF_INET
            )
        except (OSError, OverflowError) as error:
            why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
            raise SettingsWrong(_TAKEN.filled(host=self._host, port=self._port, why=why)) from error
        config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="websockets-sansio",
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        # What `uvicorn.Server.serve` does, but for the signals: those are `serve`'s own.
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        self._listening = listening
        await self._server.startup(sockets=[listening])
        self._serving = asyncio.create_task(self._server.main_loop(), name="http server")

    @property
    def port(self) -> int:
        """The port it listens on."""
        if self._server is None or not self._server.servers:
            return self._port
        return int(self._server.servers[0].sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Hang up; requests that are being answered have a few seconds."""
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await self._serving
            await self._server.shutdown(sockets=[self._listening])

    async def _answer(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        path = scope.get("path", "")
        answers = next((app for prefix, app in self._routes if path.startswith(prefix)), _nobody)
        await answers(scope, receive, send)


async def _nobody(
    scope: MutableMapping[str, Any],
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
    send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
) -> None:
    """Nothing is there."""
    del receive
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    else:
        await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})
