"""A server that says exactly the bytes it is told to, in the pieces it is told to, and remembers what it was asked.

HTTP is written out by hand in the scripts: faults of real providers lie below what a framework would let through.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Pause:
    """Say nothing for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """Drop the connection without a word."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Say nothing more until the other side hangs up."""


Step = bytes | Pause | Cut | Hold
Script = Sequence[Step]
"""What is said to one request. After the last step the connection stays open, unless the bytes say
`Connection: close`."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int
    """Which connection it came over, from 1."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class RawServer:
    """Plays one script per request, in order. A request without a script is answered with 500 and fails `close`.

    `judge`, if given, sees every request first; an answer other than None is said instead of the script.
    """

    scripts: list[Script] = field(default_factory=list)
    judge: Callable[[Asked], Script | None] | None = None
    asked: list[Asked] = field(default_factory=list)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the other side ends a connection that is held."""

    async def __aenter__(self) -> Self:
        self._connections = 0
        self._unscripted = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        assert not self._unscripted, f"{self._unscripted} requests without a script"

    @property
    def url(self) -> str:
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{host}:{port}/v1"

    def play(self, *scripts: Script) -> None:
        """Add scripts for the next requests."""
        self.scripts += scripts

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._connections += 1
        number = self._connections
        try:
            while (asked := await _request(reader, number)) is not None:
                self.asked.append(asked)
                script = self.judge(asked) if self.judge else None
                if script is None:
                    script = self._next()
                if not await self._play(script, reader, writer):
                    break
        except ConnectionError:
            pass
        finally:
            writer.close()

    def _next(self) -> Script:
        if self.scripts:
            return self.scripts.pop(0)
        self._unscripted += 1
        return [http(b"no script", status=500)]

    async def _play(self, script: Script, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection goes on."""
        closing = False
        for step in script:
            match step:
                case bytes():
                    closing = closing or b"connection: close" in step.lower()
                    writer.write(step)
                    await writer.drain()
                case Pause(seconds):
                    await asyncio.sleep(seconds)
                case Cut():
                    writer.transport.abort()
                    return False
                case Hold():
                    await reader.read(1)
                    self.hung_up.set()
                    return False
        return not closing


async def _request(reader: asyncio.StreamReader, connection: int) -> Asked | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, target, headers, body, connection)


def http(body: bytes, status: int = 200, content_type: str = "application/json", **headers: str) -> bytes:
    """A whole HTTP answer with its length; `_` in names of headers stands for `-`."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {content_type}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def error(status: int, message: str, code: str | int = "", **headers: str) -> Script:
    """A refusal in the usual shape."""
    document = {"error": {"message": message, "type": "error", "code": code}}
    return [http(json.dumps(document, ensure_ascii=False).encode(), status, **headers)]


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
STREAM_END = b"0\r\n\r\n"


def chunked(data: bytes) -> bytes:
    """One chunk of a chunked body; nothing for no data, which would end the body."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n" if data else b""


def events(*chunks: object, done: bool = True) -> bytes:
    """The text of a stream: one event per chunk; `bytes` stand as they are."""
    lines = [
        chunk if isinstance(chunk, bytes) else b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"
        for chunk in chunks
    ]
    return b"".join(lines) + (b"data: [DONE]\n\n" if done else b"")


def stream(text: bytes, *, size: int | None = None) -> Script:
    """A streamed answer: `text` in HTTP chunks of `size` bytes, or in one."""
    pieces: Iterable[bytes] = [text] if size is None else (text[i : i + size] for i in range(0, len(text), size))
    return [STREAM_HEAD + b"".join(map(chunked, pieces)) + STREAM_END]


def delta(finish: str | None = None, *, usage: tuple[int, int] | None = None, **fields: object) -> dict[str, object]:
    """One chunk as OpenAI writes it, with `fields` as its delta."""
    chunk: dict[str, object] = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": fields, "finish_reason": finish}],
    }
    if usage:
        chunk["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return chunk


def tool_delta(
    index: int | None, id_: str | None = None, name: str | None = None, arguments: object = None
) -> dict[str, object]:
    """One chunk with a piece of one tool call; None leaves a field out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    call: dict[str, object] = {"type": "function", "function": function}
    if index is not None:
        call["index"] = index
    if id_ is not None:
        call["id"] = id_
    return delta(tool_calls=[call])


def says(text: str, *, size: int | None = None) -> Script:
    """A plain streamed answer."""
    return stream(events(delta(content=text), delta("stop", usage=(10, 5))), size=size)
