"""Serving an ASGI application on a socket, until told to stop. Used by the server over HTTP and by the demo library."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_SHUTDOWN_SECONDS = 2
"""How long an open stream may hold up the end."""


class _Server(uvicorn.Server):
    """Leaves signals to whoever runs it: uvicorn would end the process by the signal, which is no clean end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Captures none."""
        yield


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one.

    Raises:
        OSError: if the address is taken or not of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small pieces at once (TCP_NODELAY) only where the protocol is named; else each page waits 40 ms.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(128)
    except BaseException:
        sock.close()
        raise
    return sock


def address_of(sock: socket.socket) -> str:
    """`http://127.0.0.1:8765`."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@asynccontextmanager
async def serving(
    app: ASGIApp, sock: socket.socket, *, protocol: Callable[..., asyncio.Protocol] | None = None
) -> AsyncIterator[None]:
    """Serve as long as the block runs. `protocol` stands in for uvicorn's own, to get hold of connections."""
    config = uvicorn.Config(
        app,
        http="h11" if protocol is None else protocol,  # type: ignore[arg-type]  # any factory of protocols will do
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[sock]))
    try:
        while not server.started and not task.done():  # noqa: ASYNC110  # uvicorn tells of it in no other way
            await asyncio.sleep(0.005)
        if task.done():
            task.result()
        yield
    finally:
        server.should_exit = True
        await task
        sock.close()


async def until_stopped() -> None:
    """Wait for SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    signals = (signal.SIGTERM, signal.SIGINT)
    for number in signals:
        loop.add_signal_handler(number, stopped.set)
    try:
        await stopped.wait()
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
