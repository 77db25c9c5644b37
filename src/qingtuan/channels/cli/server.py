"""Serves `run.sock`: other processes of the owner speak through the one that owns the data folder.

One connection is one request: a line in, lines out, and the end. A client that goes away ends its own following
and nothing else.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

from qingtuan.channels.cli import wire
from qingtuan.channels.cli.link import Link, Result
from qingtuan.errors import Bug, QingtuanError, UsageWrong
from qingtuan.home import Home
from qingtuan.language import Words

_NOT_UNDERSTOOD = Words("看不懂这个请求。", "The request cannot be understood.")
_BROKE = Words("出错了。", "Something broke.")


class Server:
    """The socket of a running instance."""

    def __init__(self, link: Link, home: Home) -> None:
        self._link = link
        self._home = home
        self._clients: set[asyncio.Task[None]] = set()
        self._answering: set[asyncio.Task[None]] = set()
        """Requests that come to an end: all but attending."""
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen, for the owner alone.

        Raises:
            StorageFailed: there is no place for the socket.
        """
        address = self._home.socket_address(make=True)
        self._server = await asyncio.start_unix_server(self._connected, address, limit=wire.LONGEST)
        address.chmod(0o600)

    async def settled(self) -> None:
        """Wait until whoever asked for something that ends has it all."""
        while self._answering:
            await asyncio.wait(self._answering)

    async def close(self) -> None:
        """Hang up."""
        if self._server is not None:
            self._server.close()
            for path in {self._home.socket, self._home.socket_address()}:
                path.unlink(missing_ok=True)
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A task of our own: asyncio reports a cancelled one of its own as an error.
        client = asyncio.create_task(self._attend_to(reader, writer))
        self._clients.add(client)
        client.add_done_callback(self._clients.discard)

    async def _attend_to(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # gone before it was answered
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            writer.write(wire.encode(UsageWrong(_NOT_UNDERSTOOD)))
            await writer.drain()
            return
        answering = asyncio.create_task(self._answer(line, writer))
        self._answering.add(answering)
        answering.add_done_callback(self._answering.discard)
        # A client says nothing more; when this ends, it is gone.
        gone = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait([answering, gone], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (answering, gone):
                task.cancel()
            await asyncio.gather(answering, gone, return_exceptions=True)

    async def _answer(self, line: bytes, writer: asyncio.StreamWriter) -> None:
        try:
            async with aclosing(self._values(line)) as values:
                async for value in values:
                    writer.write(wire.encode(value))
                    await writer.drain()
        except ConnectionError:
            return
        except QingtuanError as error:
            failure = error
        except Exception as error:  # noqa: BLE001 (the edge of a channel)
            failure = Bug(_BROKE, detail=repr(error))
        else:
            return
        with suppress(ConnectionError):
            writer.write(wire.encode(failure))
            await writer.drain()

    async def _values(self, line: bytes) -> AsyncGenerator[wire.Message, None]:
        try:
            ((kind, value),) = json.loads(line).items()
            answer = self._answer_to(kind, value)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise UsageWrong(_NOT_UNDERSTOOD, detail=repr(error)) from error
        async with aclosing(answer) as values:
            async for piece in values:
                yield piece

    def _answer_to(self, kind: str, value: Any) -> AsyncGenerator[wire.Message, None]:
        match kind:
            case "say":
                return self._link.say(wire.read_saying(value))
            case "attend":
                if (task := asyncio.current_task()) is not None:
                    self._answering.discard(task)
                return self._link.attend(wire.read_speaker(value))
            case "run":
                return self._link.run(str(value["job"]), dict(value["arguments"]))
            case "stop":
                return self._stop(str(value["session"]))
            case "complete":
                return self._complete(value)
            case _:
                raise ValueError(kind)

    async def _stop(self, session: str) -> AsyncGenerator[Result, None]:
        yield Result(await self._link.stop(session))

    async def _complete(self, value: Any) -> AsyncGenerator[Result, None]:
        suggestions = await self._link.complete(wire.read_speaker(value), str(value["prefix"]))
        yield Result(wire.suggestions_as_json(suggestions))
