"""A line to the instance that owns the data folder, through its socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from qingtuan.channels.cli import wire
from qingtuan.channels.cli.link import Report, Result, Saying, Speaker, Suggestion
from qingtuan.channels.connected import CaughtUp
from qingtuan.channels.following import Followed
from qingtuan.channels.outcome import Done
from qingtuan.errors import Disconnected, QingtuanError
from qingtuan.messages import Outbound


class SocketLink:
    """Each request is a connection of its own, so that none waits for another."""

    def __init__(self, address: Path) -> None:
        self._address = address

    async def reachable(self) -> bool:
        """Whether somebody listens there."""
        try:
            _, writer = await asyncio.open_unix_connection(self._address)
        except OSError:
            return False
        writer.close()
        return True

    async def say(self, saying: Saying) -> AsyncGenerator[Followed, None]:
        async with aclosing(self._ask(wire.saying_request(saying))) as values:
            async for value in values:
                if not isinstance(value, (Report, Result)):
                    yield value
                if isinstance(value, Done):
                    return
        raise Disconnected("hung up in the middle")

    async def attend(self, speaker: Speaker) -> AsyncGenerator[Outbound | CaughtUp, None]:
        async with aclosing(self._ask({"attend": wire.speaker_fields(speaker)})) as values:
            async for value in values:
                if isinstance(value, (Outbound, CaughtUp)):
                    yield value
        raise Disconnected("hung up")

    async def stop(self, session: str) -> bool:
        return bool(await self._value({"stop": {"session": session}}))

    async def complete(self, speaker: Speaker, prefix: str) -> tuple[Suggestion, ...]:
        found = await self._value({"complete": {**wire.speaker_fields(speaker), "prefix": prefix}})
        return tuple(Suggestion(**suggestion) for suggestion in found)

    async def run(self, job: str, arguments: Mapping[str, Any]) -> AsyncGenerator[Report | Result, None]:
        async with aclosing(self._ask({"run": {"job": job, "arguments": dict(arguments)}})) as values:
            async for value in values:
                if isinstance(value, (Report, Result)):
                    yield value
                if isinstance(value, Result):
                    return
        raise Disconnected("hung up in the middle")

    async def _value(self, request: Mapping[str, Any]) -> Any:
        async with aclosing(self._ask(request)) as values:
            async for value in values:
                if isinstance(value, Result):
                    return value.value
        raise Disconnected("no answer")

    async def _ask(self, request: Mapping[str, Any]) -> AsyncGenerator[Followed | Report | Result, None]:
        try:
            reader, writer = await asyncio.open_unix_connection(self._address, limit=wire.LONGEST)
        except OSError as error:
            raise Disconnected(str(error)) from error
        try:
            writer.write(wire.line(request))
            await writer.drain()
            while line := await reader.readline():
                value = wire.decode(line)
                if isinstance(value, QingtuanError):
                    raise value
                yield value
        except (ConnectionError, ValueError) as error:  # ValueError: a line that is longer than any of ours
            raise Disconnected(str(error)) from error
        finally:
            writer.close()
