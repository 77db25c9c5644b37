"""The stdio transport: a server is a program that takes and gives JSON, one message a line.

The SDK's own reads lines of any length into memory, and leaves children behind when the program itself ends in peace.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from qingtuan.mcp_client.config import Command
from qingtuan.mcp_client.journal import Journal
from qingtuan.mcp_client.process import MAX_MESSAGE, TOO_LARGE, ServerProcess

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

MAX_SKIPPED = 64 * 1024 * 1024
"""Bytes of one endless line after which the server is given up."""
_ANSWER = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*[,}]')
_LAST_WORDS = 0.2
"""Seconds for reading what a dead server had written, for a child of it may hold the pipe for ever."""


@asynccontextmanager
async def stdio_transport(command: Command, journal: Journal) -> AsyncGenerator[TransportStreams, None]:
    """Start the server and speak with it for as long as the block lasts. The end of the server ends the stream.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    import anyio

    process = await ServerProcess.start(command)
    try:
        to_sdk, inbound = anyio.create_memory_object_stream["SessionMessage | Exception"](0)
        outbound, from_sdk = anyio.create_memory_object_stream["SessionMessage"](0)
        async with anyio.create_task_group() as group, to_sdk, inbound, outbound, from_sdk:
            group.start_soon(_read, process, to_sdk, journal)
            group.start_soon(_write, process, from_sdk)
            group.start_soon(_note, process, journal)
            try:
                yield inbound, outbound
            finally:
                with anyio.CancelScope(shield=True):
                    await process.end()
                group.cancel_scope.cancel()
    finally:
        process.kill()


async def _read(
    process: ServerProcess, to_sdk: MemoryObjectSendStream[SessionMessage | Exception], journal: Journal
) -> None:
    """Hand messages on until the server ends: it closes its output, or it is gone."""
    lines = asyncio.ensure_future(_read_lines(process.output, to_sdk, journal))
    gone = asyncio.ensure_future(process.process.wait())
    try:
        await asyncio.wait([lines, gone], return_when=asyncio.FIRST_COMPLETED)
        if not lines.done():
            await asyncio.wait([lines], timeout=_LAST_WORDS)
    finally:
        lines.cancel()
        gone.cancel()
        await asyncio.gather(lines, gone, return_exceptions=True)
        to_sdk.close()


async def _read_lines(
    output: asyncio.StreamReader, to_sdk: MemoryObjectSendStream[SessionMessage | Exception], journal: Journal
) -> None:
    import anyio
    from anyio.lowlevel import checkpoint

    while True:
        message: SessionMessage | Exception | None
        try:
            line = await output.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return
        except asyncio.LimitOverrunError as error:
            head = await output.readexactly(min(error.consumed, 4096))
            if not await _skipped(output):
                return
            message = _too_large(head)
        else:
            message = _parsed(line, journal)
        try:
            if message is not None:
                await to_sdk.send(message)
            else:
                await checkpoint()  # lines of no use must not keep everything else waiting
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return


async def _skipped(output: asyncio.StreamReader) -> bool:
    """Read over the rest of a line that is too long. False if it does not end."""
    passed = 0
    while passed < MAX_SKIPPED:
        try:
            await output.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return False
        except asyncio.LimitOverrunError as error:
            passed += len(await output.readexactly(error.consumed))
        else:
            return True
    return False


def _parsed(line: bytes, journal: Journal) -> SessionMessage | Exception | None:
    """A message; what is none is noted, since many programs print there what belongs to a log."""
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    if not line.strip():
        return None
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        journal.write(f"[stdout] {line[:500].decode(errors='replace')}")
        return error


def _too_large(head: bytes) -> SessionMessage | None:
    """In place of an answer that is too large, an error to whoever waits for it."""
    from mcp.shared.message import SessionMessage
    from mcp_types import ErrorData, JSONRPCError

    found = _ANSWER.search(head[:512])
    if found is None:
        return None
    error = ErrorData(code=TOO_LARGE, message=f"larger than {MAX_MESSAGE} bytes")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(found[1]), error=error))


async def _write(process: ServerProcess, from_sdk: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with from_sdk:  # closed at the end, so that nobody waits for a server that takes nothing any more
        async for item in from_sdk:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                process.input.write(text.encode("utf-8", "replace") + b"\n")
                await process.input.drain()
            except OSError:
                return


async def _note(process: ServerProcess, journal: Journal) -> None:
    """Keep what the server writes on standard error."""
    while True:
        try:
            line = await process.errors.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            journal.write(error.partial.decode(errors="replace"))
            return
        except asyncio.LimitOverrunError as error:
            line = await process.errors.readexactly(error.consumed)
        journal.write(line.decode(errors="replace"))
