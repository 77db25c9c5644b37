"""Work of a running instance for programs on this machine that speak MCP through another process (`qingtuan mcp`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import asdict
from typing import Any

from qingtuan.app import App
from qingtuan.app.mcp_server import program_named
from qingtuan.channels.cli.link import Report, Result
from qingtuan.servers.mcp.program import Program

_Reports = AsyncGenerator[Report | Result, None]


async def offers(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """The tools that a program may use."""
    yield Result(app.mcp_service.offers(_program(app, arguments)))


async def call(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """One of them. Whoever goes away takes back what the call waits for."""
    program, given = _program(app, arguments), arguments.get("arguments")
    lines: asyncio.Queue[Report | None] = asyncio.Queue()

    def report(done: float, line: str) -> None:
        lines.put_nowait(Report(line, round(done)))

    calling = asyncio.ensure_future(
        app.mcp_service.call(program, str(arguments["tool"]), given if isinstance(given, dict) else {}, report)
    )
    calling.add_done_callback(lambda _: lines.put_nowait(None))
    try:
        while (line := await lines.get()) is not None:
            yield line
        yield Result(asdict(calling.result()))
    finally:
        calling.cancel()
        await asyncio.wait([calling])


async def pages(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """The pages that a program may read."""
    cursor = arguments.get("cursor")
    listed, more = app.mcp_service.pages(_program(app, arguments), None if cursor is None else str(cursor))
    yield Result({"pages": [asdict(one) for one in listed], "next": more})


async def page(app: App, arguments: Mapping[str, Any]) -> _Reports:
    """One of them."""
    yield Result(asdict(await app.mcp_service.page(_program(app, arguments), str(arguments["uri"]))))


def _program(app: App, arguments: Mapping[str, Any]) -> Program:
    key = arguments.get("key")
    return program_named(app, None if key is None else str(key))
