"""Servers as an instance has them: real files, pins, processes; what they offer and what calls of it come to."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from qingtuan.clock import Clock, SystemClock
from qingtuan.events.log import Log
from qingtuan.home import Home
from qingtuan.identity.scopes import Reader, Role
from qingtuan.ids import Ids
from qingtuan.mcp_client.asking import People
from qingtuan.mcp_client.grants import Grants
from qingtuan.mcp_client.logins import Logins
from qingtuan.mcp_client.pins import Pins, project
from qingtuan.mcp_client.reading import read
from qingtuan.mcp_client.server import Surroundings
from qingtuan.mcp_client.servers import Servers
from qingtuan.mcp_client.status import ServerStatus
from qingtuan.media.store import MediaStore
from qingtuan.messages import Space
from qingtuan.models.chat import Call
from qingtuan.net.fetcher import SafeFetcher
from qingtuan.storage.sqlite import Database
from qingtuan.tools.registry import Registry
from qingtuan.tools.run import Outcome, Prepared, Runner, Situation, prepare
from qingtuan.tools.tool import Tool, ToolContext, ToolResult

PATIENCE = 60.0
"""Seconds of real time after which nothing will happen any more."""
REPOSITORY = Path(__file__).parents[2]
SERVERS = REPOSITORY / "tests" / "fakes" / "mcp_servers"
OWNER = Reader("owner", Role.OWNER, Space("private", "cli:local"))

Entry = dict[str, Any]


def hostile(mode: str, **more: Any) -> Entry:
    """The entry of a server that does one thing wrong."""
    env = more.pop("env", {})
    return {"command": sys.executable, "args": [str(SERVERS / "hostile.py"), mode], "env": env, **more}


def seats(**more: Any) -> Entry:
    """The entry of the friendly server."""
    return {"command": sys.executable, "args": [str(SERVERS / "seats.py")], **more}


class Bench:
    """One data folder with its servers, which can be closed and begun again."""

    def __init__(self, home: Home, clock: Clock | None = None) -> None:
        self.home = home
        self.clock = clock or SystemClock()
        self.database = Database(home.database)
        self.log = Log(self.database, self.clock, Ids(self.clock), [project])
        self.offered: dict[str, tuple[Tool, ...]] = {}
        self.told: list[str] = []
        """Names of servers, each time their tools changed."""
        self.reports: list[str] = []
        self.lost: list[str] = []
        """Names of servers that let us in no more, each time that was told."""
        self.people: People | None = None
        """Whom servers may ask, from the next `begin`."""
        self.logins = Logins(Grants(self.database, self.clock, self.lost.append), self.clock, SafeFetcher())
        self.servers = Servers(lambda: read(home.mcp_file, {}), self._around())

    def _around(self) -> Surroundings:
        home, pins = self.home, Pins(self.log)
        media = MediaStore(home.media)
        return Surroundings(
            self.clock, pins, home.index / "mcp", media, home.logs, self._changed, self.people, self.logins
        )

    def _changed(self, name: str, tools: Sequence[Tool]) -> None:
        self.offered[name] = tuple(tools)
        self.told.append(name)

    async def __aenter__(self) -> Self:
        await self.servers.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.servers.close()
        self.database.close()

    async def begin(self, entries: Mapping[str, Entry], environ: Mapping[str, str] | None = None) -> None:
        """End the servers and begin anew with these in the file, as a new process does."""
        await self.servers.close()
        self.offered.clear()
        self.write(entries)
        self.servers = Servers(lambda: read(self.home.mcp_file, environ or {}), self._around())
        await self.servers.start()

    def write(self, entries: Mapping[str, Entry]) -> None:
        """Put these into the file, and tell nobody."""
        self.home.mcp_file.write_text(json.dumps({"mcpServers": entries}))

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait for something that servers do."""
        async with asyncio.timeout(PATIENCE):
            while not happened():  # noqa: ASYNC110 (files and processes tell nobody)
                await asyncio.sleep(0.02)

    async def listed(self, *names: str) -> None:
        """Wait until servers offer something."""
        await self.until(lambda: all(self.offered.get(name) for name in names))

    def status(self, name: str) -> ServerStatus:
        return next(status for status in self.servers.status() if status.name == name)

    def error(self, name: str) -> str:
        """Why a server failed last, in Chinese; empty if it did not."""
        error = self.status(name).error
        return error.zh if error is not None else ""

    def tools(self, server: str) -> list[str]:
        return [tool.name.partition("__")[2] for tool in self.offered.get(server, ())]

    def tool(self, name: str) -> Tool:
        """A tool by its whole name."""
        return next(tool for tools in self.offered.values() for tool in tools if tool.name == name)

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        """Call a tool; what it raises comes through."""
        return await self.tool(name).run(self.context(), arguments)

    async def run(self, tool: Tool | str, **arguments: Any) -> Outcome:
        """Run a call of the owner, approved, as a turn does."""
        tool = self.tool(tool) if isinstance(tool, str) else tool
        situation = Situation(OWNER, datetime.now(UTC), "zh")
        call = Call("call_1", tool.name, json.dumps(arguments))
        prepared = prepare(call, Registry([tool]), situation, approved=tool.binding(arguments))
        assert isinstance(prepared, Prepared), prepared
        return await Runner(self.clock).execute(prepared, self.context())

    def context(self) -> ToolContext:
        return ToolContext(OWNER, "s_1", "turn_1", "evt_1", "", (), datetime.now(UTC), "zh", self.reports.append)
