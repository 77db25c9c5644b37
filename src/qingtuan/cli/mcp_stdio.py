"""`qingtuan mcp`: our MCP server on the standard streams, through the instance that runs, or one that is opened for as
long as there is something to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from qingtuan.channels.cli.link import Report as Line
from qingtuan.channels.cli.link import Result
from qingtuan.cli.door import Door, entered
from qingtuan.cli.shell import Shell
from qingtuan.errors import Disconnected
from qingtuan.language import Words
from qingtuan.servers.mcp.call import Report
from qingtuan.servers.mcp.ports import Answer
from qingtuan.servers.mcp.reading import Listed
from qingtuan.servers.mcp.stdio import speak

_IDLE_SECONDS = 5.0
"""How long an instance of our own is kept after a request. As long as it is there, `qingtuan serve` cannot start."""


async def serve(shell: Shell, key: str | None) -> int:
    """Speak the protocol for the program with the key of this name, or for one without, until it hangs up.

    Raises:
        NotThere: there is no valid key of that name.
        HomeInUse, SettingsWrong, StorageFailed: no instance can be had.
    """
    ways = Ways(shell)
    try:
        there = There(ways, key)
        await there.offers()
        await speak(there, shell.language)
    finally:
        await ways.close()
    return 0


@dataclass(slots=True)
class Ways:
    """To an instance, for one request or several at the same time."""

    shell: Shell
    _users: int = 0
    _door: Door | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _leaving: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def door(self) -> AsyncIterator[Door]:
        """The instance, for as long as the block lasts. Raises as `entered`."""
        async with self._lock:
            if self._leaving is not None:
                self._leaving.cancel()
                self._leaving = None
            if self._door is None:
                self._door = await self._stack.enter_async_context(entered(self.shell, "qingtuan mcp", serve=True))
            self._users += 1
            door = self._door
        try:
            yield door
        finally:
            self._users -= 1
            if not self._users:
                self._leaving = asyncio.create_task(self._leave(0 if door.app is None else _IDLE_SECONDS))

    async def _leave(self, after: float) -> None:
        await self.shell.clock.sleep(after)
        async with self._lock:
            if not self._users:
                await self._give_up()

    async def _give_up(self) -> None:
        self._door, stack = None, self._stack.pop_all()
        # Being told that somebody comes again must not cut this off in the middle.
        await asyncio.shield(asyncio.ensure_future(stack.aclose()))

    async def close(self) -> None:
        """Give the instance up."""
        if self._leaving is not None:
            self._leaving.cancel()
            await asyncio.gather(self._leaving, return_exceptions=True)
        async with self._lock:
            await self._give_up()


@dataclass(frozen=True, slots=True)
class There:
    """The service where the instance runs."""

    ways: Ways
    key: str | None

    async def offers(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self._value("mcp.offers", {})
        return found

    async def call(self, name: str, arguments: Mapping[str, Any], report: Report) -> Answer:
        async with self.ways.door() as door:
            if name == "ask_owner" and door.app is not None:
                return Answer(self.ways.shell.say(_NOBODY_RUNS), failed=True)
            given = {"tool": name, "arguments": dict(arguments)}
            async with aclosing(self._run(door, "mcp.call", given)) as reports:
                async for piece in reports:
                    if isinstance(piece, Result):
                        return Answer(**piece.value)
                    report(float(piece.done), piece.what)
        raise Disconnected

    async def pages(self, cursor: str | None) -> tuple[list[Listed], str | None]:
        found = await self._value("mcp.pages", {"cursor": cursor})
        return [Listed(**one) for one in found["pages"]], found["next"]

    async def page(self, uri: str) -> Answer:
        return Answer(**await self._value("mcp.page", {"uri": uri}))

    async def _value(self, job: str, given: Mapping[str, Any]) -> Any:
        async with self.ways.door() as door, aclosing(self._run(door, job, given)) as reports:
            async for piece in reports:
                if isinstance(piece, Result):
                    return piece.value
        raise Disconnected

    def _run(self, door: Door, job: str, given: Mapping[str, Any]) -> AsyncGenerator[Line | Result, None]:
        return door.link.run(job, {**given, "key": self.key})


_NOBODY_RUNS = Words(
    "小青团没有开着，主人收不到问题。先运行 qingtuan serve。",
    "Qingtuan does not run, so that no question reaches the owner. Run qingtuan serve first.",
)
