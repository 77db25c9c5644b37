"""Listens on one address and hands each request to what answers its path."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import uvicorn

from qingtuan.channels.entry import Asgi
from qingtuan.channels.http.patience import Patience
from qingtuan.clock import SystemClock
from qingtuan.errors import SettingsWrong
from qingtuan.language import Words

_TAKEN = Words(
    "{host}:{port} 被别的程序占着。换一个端口（server.port），或停掉那个程序。",
    "Another program has {host}:{port}. Choose another port (server.port), or stop that program.",
)
_NOT_OURS = Words(
    "{host} 不是这台机器的地址。改 server.host：只给这台机器用是 127.0.0.1，别的机器也要连是 0.0.0.0。",
    "{host} is no address of this machine. Change server.host: 127.0.0.1 for this one alone, 0.0.0.0 for others too.",
)
_NO_RIGHT = Words(
    "端口 {port} 要管理员权限才能用（1024 以下都是）。换一个大的（server.port）。",
    "Port {port} needs an administrator's rights, as all below 1024 do. Choose a larger one (server.port).",
)
_OTHERWISE = Words("{host}:{port} 听不了（{why}）。", "Cannot listen on {host}:{port} ({why}).")
_REASONS = {
    errno.EADDRINUSE: _TAKEN,
    errno.EADDRNOTAVAIL: _NOT_OURS,
    errno.EACCES: _NO_RIGHT,
    errno.EPERM: _NO_RIGHT,
}
_IDLE_SECONDS = 75
"""How long a connection may lie idle. Longer than clients let theirs (most of them 5 s): who hangs up last must not be
us, or a request that is just being sent is lost."""
_GRACE_SECONDS = 5
_CONNECTIONS = 500
"""Lines that are open at the same time; more are turned away (503), whoever they are."""
_FRAME_BYTES = 64 * 1024 * 1024
"""Of one WebSocket message: NapCat gives files in one, up to 50 MB. Nobody without its token comes so far."""


class Server:
    """The socket, and who answers on it."""

    def __init__(self, host: str, port: int, routes: Mapping[str, Asgi], patience: Patience | None = None) -> None:
        """`routes`: by the beginning of the path; the longest that fits answers."""
        self._patience = patience or Patience()
        self._host, self._port = host, port
        self._routes = sorted(routes.items(), key=lambda route: -len(route[0]))
        self._server: _Uvicorn | None = None
        self._serving: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._listening: socket.socket

    async def start(self) -> None:
        """Listen. Raises `SettingsWrong` if the address is taken or none of this machine's."""
        try:
            listening = socket.create_server(
                (self._host, self._port), family=socket.AF_INET6 if ":" in self._host else socket.AF_INET
            )
            # Lines inherit it. Without it the end of an answer waits for the receiver's word about its head (40 ms);
            # asyncio sees to it only for sockets that were made otherwise.
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except (OSError, OverflowError, UnicodeError) as error:
            raise _failed(self._host, self._port, error) from error
        config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="websockets-sansio",
            limit_concurrency=_CONNECTIONS,
            ws_max_size=_FRAME_BYTES,
            # Packed, what fits into one piece of the network unpacks to any number of frames, all held at once.
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
            timeout_keep_alive=_IDLE_SECONDS,
        )
        # What `uvicorn.Server.serve` does, but for the signals: those are `serve`'s own.
        config.load()
        self._server = _Uvicorn(config)
        self._server.lifespan = config.lifespan_class(config)
        self._listening = listening
        await self._server.startup(sockets=[listening])
        self._serving = asyncio.create_task(self._server.main_loop(), name="http server")
        lines = self._server.server_state.connections
        self._watching = asyncio.create_task(self._patience.watch(lambda: lines), name="http patience")

    @property
    def port(self) -> int:
        """The port it listens on."""
        if self._server is None or not self._server.servers:
            return self._port
        return int(self._server.servers[0].sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Hang up; requests that are being answered have a few seconds."""
        if self._server is not None and self._serving is not None:
            self._server.leave()
            await self._serving
            await self._server.shutdown(sockets=[self._listening])
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def _answer(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        path = scope.get("path", "")
        answers = next((app for prefix, app in self._routes if path.startswith(prefix)), _nobody)
        await answers(scope, receive, send)


class _Uvicorn(uvicorn.Server):
    """One that wakes once a second, and stops when it is told to. Uvicorn's own looks ten times a second whether it is
    to stop, and then rests a tenth of a second whether or not a line is open."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._leaving = asyncio.Event()

    def leave(self) -> None:
        """Let `main_loop` end."""
        self.should_exit = True
        self._leaving.set()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):  # at 0 it sets the date of the answers anew
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), 1)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while self.server_state.connections or self.server_state.tasks:
                    await SystemClock().sleep(0.005)  # lines close in their own time, which no clock of a test is
                for server in self.servers:
                    await server.wait_closed()
        except TimeoutError:
            for task in self.server_state.tasks:
                task.cancel()


def _failed(host: str, port: int, error: Exception) -> SettingsWrong:
    """Why nobody can listen there, and what to do."""
    number = error.errno if isinstance(error, OSError) else None
    if isinstance(error, UnicodeError) or (number is not None and number < 0):  # of looking the name up
        words, why = _NOT_OURS, ""
    else:
        words = _REASONS.get(number or 0, _OTHERWISE)
        why = os.strerror(number) if number else str(error)
    return SettingsWrong(words.filled(host=host or '""', port=port, why=why))


_NOTHING = json.dumps({"error": {"code": "not_found", "message": "There is nothing here."}}).encode()


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
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(_NOTHING)).encode())]
        await send({"type": "http.response.start", "status": 404, "headers": headers})
        await send({"type": "http.response.body", "body": _NOTHING})
