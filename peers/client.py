"""Our MCP client, whole, with one server in its `mcp.json` and a folder of its own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from qingtuan.clock import SystemClock
from qingtuan.errors import ToolFailed
from qingtuan.events.log import Log
from qingtuan.identity.scopes import Reader, Role
from qingtuan.ids import Ids
from qingtuan.mcp_client import pins
from qingtuan.mcp_client.asking import Question, Said
from qingtuan.mcp_client.grants import Grants
from qingtuan.mcp_client.logins import Logins
from qingtuan.mcp_client.reading import read
from qingtuan.mcp_client.server import Surroundings
from qingtuan.mcp_client.servers import Servers
from qingtuan.media.store import MediaStore
from qingtuan.messages import Space
from qingtuan.net.fetcher import SafeFetcher
from qingtuan.storage.sqlite import Database
from qingtuan.tools.tool import Tool, ToolContext, ToolResult

NAME = "peer"
"""The server's name; the model's names of its tools are `peer__…`."""

LOGIN = "mcp login"
"""Stands in whatever says that the owner has to log in."""

Report = Callable[[str], None]


def _unheard(line: str) -> None:
    pass


class Person:
    """Says yes to everything that a server asks: the first choice, what may be left open left open, else a word."""

    def __init__(self) -> None:
        self.asked: list[Question] = []

    async def ask(self, question: Question, _: ToolContext) -> Said:
        self.asked.append(question)
        if question.may_skip:
            return Said("skipped")
        if question.choices:
            return Said("answered", question.choices[0], (0,))
        return Said("answered", "7" if question.hint and ("number" in question.hint.en.lower()) else "2026-12-01")


@dataclass(frozen=True, slots=True)
class Client:
    """What a model could call, and how."""

    servers: Servers
    tools: Mapping[str, Tool]
    """What is offered now, by the names that the server gave."""
    person: Person
    """Who is asked."""
    folder: Path
    """`media/` holds pictures and files of answers by their hashes, `logs/` what the server logs."""

    async def call(self, name: str, arguments: Mapping[str, Any], report: Report = _unheard) -> ToolResult:
        """Call a tool as a turn of the owner does.

        Raises:
            KeyError: it is not offered.
            QingtuanError: whatever a turn would be told.
        """
        return await self.tools[name].run(_context(report), dict(arguments))


def _context(report: Report) -> ToolContext:
    return ToolContext(
        reader=Reader("owner", Role.OWNER, Space("private", "cli:local")),
        session="s_peers",
        turn="turn_peers",
        call="evt_peers",
        words="",
        material=(),
        now=SystemClock().now(),
        language="en",
        report=report,
    )


async def log_in(servers: Servers) -> None:
    """Log in as an owner does whose browser agrees to everything, once more where the server then wants it elsewhere.
    Raises `ToolFailed`."""
    try:
        await _log_in(servers)
    except ToolFailed as error:
        if LOGIN not in error.words.en:
            raise
        await _log_in(servers)


async def _log_in(servers: Servers) -> None:
    import httpx2

    begun = await servers.log_in(NAME)
    address = begun.address
    async with httpx2.AsyncClient() as browser:
        for _ in range(5):
            answer = await browser.get(address, follow_redirects=False)
            address = urljoin(address, answer.headers.get("location", ""))
            if urlsplit(address).path == "/callback" and "state=" in address:
                break
    servers.came_back(NAME, address)
    await servers.logged_in(NAME)


@asynccontextmanager
async def client(entry: Mapping[str, Any], folder: Path, person: Person) -> AsyncIterator[Client]:
    """Our client with a server as `mcp.json` describes it, started and listed; the owner logs in where that is wanted,
    and `person` answers what they are asked.

    Raises:
        ToolFailed: the server cannot be started.
        ValueError: the entry is wrong.
    """
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {NAME: entry}}), "utf-8")
    configured = read(folder / "mcp.json", {})
    if configured.faults:
        raise ValueError("; ".join(fault.words.en for fault in configured.faults))
    for name in ("cache", "media", "logs"):
        (folder / name).mkdir(exist_ok=True)
    offered: dict[str, Tool] = {}

    def changed(_: str, tools: Sequence[Tool]) -> None:
        offered.clear()
        offered.update({tool.name.removeprefix(f"{NAME}__"): tool for tool in tools})

    clock, database = SystemClock(), Database(folder / "state.sqlite")
    log = Log(database, clock, Ids(clock), (pins.project,))
    media = MediaStore(folder / "media")
    logins = Logins(Grants(database, clock), clock, SafeFetcher())
    around = Surroundings(clock, pins.Pins(log), folder / "cache", media, folder / "logs", changed, person, logins)
    servers = Servers(lambda: configured, around)
    try:
        try:
            await servers.refresh(NAME)
        except ToolFailed as error:
            if LOGIN not in error.words.en:
                raise
            await log_in(servers)
        yield Client(servers, offered, person, folder)
    finally:
        await servers.close()
        database.close()
