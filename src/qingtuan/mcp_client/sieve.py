"""Between a transport and the SDK: what a server may send there, and how much of it.

The SDK starts a task for each notification and each request of a server, and refuses a whole list for one malformed
tool. So notifications that nothing needs end here, a flood ends the connection, and tools come through one by one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from qingtuan.clock import Clock
from qingtuan.mcp_client.journal import Journal

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, WriteStream
    from mcp.shared.message import SessionMessage

MAX_DROPPED = 20_000
"""Messages of no use within one window: beyond it the server floods, and the connection ends."""
_WINDOW = 10.0
_MAX_REQUESTS = 32
"""Requests of the server that wait for their answers."""
_PROGRESS_GAP = 0.2
"""Seconds between two lines of progress that are let through."""
_THROUGH = frozenset({"notifications/subscriptions/acknowledged", "notifications/cancelled"})


UNUSABLE: dict[str, Any] = {"type": "object", "$comment": "no schema of an object"}
"""Stands for a schema of arguments that is none."""


class Flood(Exception):
    """A server sends more than anybody reads."""


class Sieve:
    """Looks at each message, both ways. One for each connection."""

    def __init__(self, clock: Clock, journal: Journal, changed: Callable[[], None]) -> None:
        """`changed` is called when the server says that its list of tools is another one."""
        self._clock = clock
        self._journal = journal
        self._changed = changed
        self._window = clock.monotonic()
        self._dropped = 0
        self._progress = -_PROGRESS_GAP + self._window
        self._requests: set[Any] = set()
        self.ended = asyncio.Event()
        """The server has said its last."""

    def passes(self, item: SessionMessage | Exception) -> bool:
        """Whether the SDK gets a message. Raises `Flood`."""
        from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

        if isinstance(item, Exception):
            return self._drop()
        message = item.message
        if isinstance(message, JSONRPCNotification):
            return self._notification(message.method, message.params) or self._drop()
        if isinstance(message, JSONRPCRequest):
            if len(self._requests) >= _MAX_REQUESTS:
                return self._drop()
            self._requests.add(message.id)
        elif isinstance(message, JSONRPCResponse) and isinstance(message.result.get("tools"), list):
            message.result["tools"] = [tidied(tool) for tool in message.result["tools"] if _has_name(tool)]
        return True

    def answered(self, item: SessionMessage) -> None:
        """A message goes out; an answer makes room for another request."""
        from mcp_types import JSONRPCError, JSONRPCResponse

        if isinstance(item.message, (JSONRPCResponse, JSONRPCError)):
            self._requests.discard(item.message.id)

    def _notification(self, method: str, params: Any) -> bool:
        params = params if isinstance(params, dict) else {}
        if method == "notifications/tools/list_changed":
            self._changed()
            return False
        if method == "notifications/message":
            self._journal.write(f"[{params.get('level', 'log')}] {params.get('data', '')}"[:4_000])
            return False
        if method == "notifications/progress":
            now = self._clock.monotonic()
            if now - self._progress < _PROGRESS_GAP:
                return False
            self._progress = now
            return True
        if method in _THROUGH:
            self._drop()  # they count, for nobody needs thousands of them
            return True
        return False

    def _drop(self) -> bool:
        now = self._clock.monotonic()
        if now - self._window >= _WINDOW:
            self._window, self._dropped = now, 0
        self._dropped += 1
        if self._dropped > MAX_DROPPED:
            self.ended.set()
            raise Flood
        return False


def _has_name(tool: Any) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("name"), str)


def tidied(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool as the SDK takes it. What is malformed besides the schema of arguments is left away, for it changes
    nothing of what the tool does; a schema of arguments that is none is marked, and found behind the SDK."""
    tidy: dict[str, Any] = {"name": tool["name"], "inputSchema": _schema(tool.get("inputSchema")) or UNUSABLE}
    for key in ("title", "description"):
        if isinstance(tool.get(key), str):
            tidy[key] = tool[key]
    if output := _schema(tool.get("outputSchema")):
        tidy["outputSchema"] = output
    if isinstance(annotations := tool.get("annotations"), dict):
        hints = {key: value for key, value in annotations.items() if key.endswith("Hint") and isinstance(value, bool)}
        title = annotations.get("title")
        tidy["annotations"] = hints | ({"title": title} if isinstance(title, str) else {})
    if isinstance(execution := tool.get("execution"), dict) and execution.get("taskSupport") == "required":
        tidy["execution"] = {"taskSupport": "required"}
    if isinstance(tool.get("_meta"), dict):
        tidy["_meta"] = tool["_meta"]
    return tidy


def _schema(schema: Any) -> dict[str, Any] | None:
    """A schema of an object in the form that the SDK lets pass, None if it is none."""
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return None
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if (
        not isinstance(properties, dict)
        or not isinstance(required, list)
        or not isinstance(schema.get("$schema", ""), str)
    ):
        return None
    if not all(isinstance(name, str) for name in required):
        return None
    # JSON Schema has true and false for "anything" and "nothing"; the SDK wants them as objects.
    spelled = {name: _SPELLED.get(part, part) if isinstance(part, bool) else part for name, part in properties.items()}
    if not all(isinstance(part, dict) for part in spelled.values()):
        return None
    return {**schema, "type": "object"} | ({"properties": spelled} if "properties" in schema else {})


_SPELLED: dict[bool, dict[str, Any]] = {True: {}, False: {"not": {}}}


class SievedRead:
    """The stream that the SDK reads, without what it need not see."""

    def __init__(self, inner: ReadStream[SessionMessage | Exception], sieve: Sieve) -> None:
        self._inner = inner
        self._sieve = sieve

    @property
    def last_context(self) -> Any:
        """What the SDK hands on from whoever sent the last message."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        import anyio

        while True:
            try:
                item = await self._inner.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError):
                self._sieve.ended.set()
                raise
            if self._sieve.passes(item):
                return item

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        import anyio

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class SievedWrite:
    """The stream that the SDK writes."""

    def __init__(self, inner: WriteStream[SessionMessage], sieve: Sieve) -> None:
        self._inner = inner
        self._sieve = sieve

    async def send(self, item: SessionMessage, /) -> None:
        self._sieve.answered(item)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
