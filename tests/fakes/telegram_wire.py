"""The HTTP below the fake of Telegram: requests by hand, so that every fault of a connection can be played."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email import policy
from email.parser import BytesParser
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    method: str
    path: str
    parameters: Mapping[str, Any]
    files: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)
    """By the name of the field: file name and content."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said to it."""

    status: int
    body: bytes
    kind: str = "application/json"

    @classmethod
    def of(cls, status: int, body: Any) -> Answer:
        return cls(status, json.dumps(body, ensure_ascii=False).encode())


Handler = Callable[[Asked], Awaitable[Answer | None]]
"""None: the connection is dropped without a word."""


async def read_request(reader: asyncio.StreamReader) -> Asked | None:
    """One request, None if the other side is gone."""
    line = (await reader.readline()).decode()
    if not line.strip():
        return None
    method, target, _ = line.split(" ", 2)
    headers: dict[str, str] = {}
    while (header := (await reader.readline()).decode().strip()) != "":
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    split = urlsplit(target)
    parameters: dict[str, Any] = dict(parse_qsl(split.query))
    files: dict[str, tuple[str, bytes]] = {}
    kind = headers.get("content-type", "")
    if kind.startswith("application/json") and body:
        parameters |= json.loads(body)
    elif kind.startswith("application/x-www-form-urlencoded"):
        parameters |= dict(parse_qsl(body.decode()))
    elif kind.startswith("multipart/form-data"):
        more, files = _multipart(kind, body)
        parameters |= more
    return Asked(method, unquote(split.path), {name: _loaded(value) for name, value in parameters.items()}, files)


def _multipart(kind: str, body: bytes) -> tuple[dict[str, str], dict[str, tuple[str, bytes]]]:
    message = BytesParser(policy=policy.HTTP).parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    fields: dict[str, str] = {}
    files: dict[str, tuple[str, bytes]] = {}
    for part in message.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        if (filename := part.get_filename()) is None:
            fields[name] = content.decode()
        else:
            files[name] = (filename, content)
    return fields, files


def _loaded(value: Any) -> Any:
    """A value as the Bot API reads it: structures and numbers may come as JSON in a text."""
    if isinstance(value, str) and value[:1] in "[{-0123456789tf":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


@dataclass
class Wire:
    """Listens on a free port of the loopback; one request to a connection."""

    handler: Handler
    connections: int = 0
    _server: asyncio.Server | None = None
    _open: set[asyncio.Task[None]] = field(default_factory=set)

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port)

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self._open.discard(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (asked := await read_request(reader)) is None:
            return
        answering = asyncio.ensure_future(self.handler(asked))
        leaving = asyncio.ensure_future(reader.read(1))
        try:
            # Who hangs up is not waited for: a long poll that was cut off takes no updates.
            await asyncio.wait([answering, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() and leaving.done():
                return
            answer = await answering
        finally:
            answering.cancel()
            leaving.cancel()
        if answer is None:
            return
        head = f"HTTP/1.1 {answer.status} X\r\nContent-Type: {answer.kind}\r\nContent-Length: {len(answer.body)}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n".encode() + answer.body)
        await writer.drain()


async def post(url: str, body: Any, headers: Mapping[str, str]) -> int:
    """Post JSON somewhere; the status of the answer, 0 if there was none."""
    split = urlsplit(url)
    try:
        reader, writer = await asyncio.open_connection(split.hostname, split.port)
        content = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        lines = [f"POST {split.path} HTTP/1.1", f"Host: {split.netloc}", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(content)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + content)
        await writer.drain()
        status = (await reader.readline()).split(b" ")
        writer.close()
        return int(status[1])
    except (OSError, IndexError, ValueError):
        return 0
