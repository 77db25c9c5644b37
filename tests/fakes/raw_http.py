"""A web server on this machine that answers with exactly the bytes that it was told, and keeps what it was asked."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Piece = bytes | float
"""Bytes to send, or seconds to wait."""


@dataclass
class RawHttp:
    """One that runs. `answers` are by path; an unknown one is a 404."""

    answers: dict[str, list[Piece]] = field(default_factory=dict)
    endless: dict[str, bytes] = field(default_factory=dict)
    """By path, what is repeated after the answer for as long as anybody reads."""
    asked: list[str] = field(default_factory=list)
    """Whole heads of requests."""
    bodies: list[bytes] = field(default_factory=list)
    """What came with each."""
    port: int = 0

    def url(self, path: str, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    def body(self, path: str, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> str:
        """Answer a path with a body; gives its address."""
        lines = {"Content-Length": str(len(body)), **(headers or {})}
        head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n"
        self.answers[path] = [head.encode("utf-8") + body]
        return self.url(path)

    def moved(self, path: str, target: str, status: int = 302) -> str:
        """Answer a path with a redirect; gives its address."""
        return self.body(path, b"", status, {"Location": target})

    @property
    def paths(self) -> list[str]:
        return [head.split(" ")[1] for head in self.asked]


@asynccontextmanager
async def raw_http(tls: ssl.SSLContext | None = None) -> AsyncIterator[RawHttp]:
    """A server that runs while the block lasts."""
    running = RawHttp()
    tasks: set[asyncio.Task[Any]] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = [line[15:] for line in head.lower().splitlines() if line.startswith("content-length:")]
                running.bodies.append(await reader.readexactly(int(length[0])) if length else b"")
                running.asked.append(head)
                path = head.split(" ")[1].partition("?")[0]
                for piece in running.answers.get(path, [b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"]):
                    if isinstance(piece, bytes):
                        writer.write(piece)
                        await writer.drain()
                    else:
                        await asyncio.sleep(piece)
                while again := running.endless.get(path):
                    writer.write(again)
                    await writer.drain()
        except asyncio.CancelledError:
            pass
        finally:
            tasks.discard(task)
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    running.port = server.sockets[0].getsockname()[1]
    try:
        yield running
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
