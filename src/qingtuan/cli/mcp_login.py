"""`qingtuan mcp login`: the address to open, and what the browser brings back, by itself or by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from qingtuan.app import App
from qingtuan.channels.cli.link import Link, Report, Result
from qingtuan.cli.asking import answered
from qingtuan.cli.door import entered
from qingtuan.cli.shell import Shell, is_terminal
from qingtuan.cli.view import printable
from qingtuan.confirmations import visible
from qingtuan.errors import NotThere, UsageWrong
from qingtuan.language import Words


async def log_in(app: App, arguments: Mapping[str, Any]) -> AsyncGenerator[Report | Result, None]:
    """Begin a login, report the address to open, and wait for its end."""
    name = str(arguments["name"])
    begun = await app.servers.log_in(name)
    for part in (begun.host, begun.before, begun.address):
        yield Report(part, 0)
    await app.servers.logged_in(name)
    yield Result(None)


async def came_back(app: App, arguments: Mapping[str, Any]) -> AsyncGenerator[Report | Result, None]:
    """Hand over the address that a browser was led back to."""
    app.servers.came_back(str(arguments["name"]), str(arguments["address"]))
    yield Result(None)


async def login(shell: Shell, name: str) -> int:
    """Log in at a server, from the process that runs or from this one."""
    async with entered(shell, "qingtuan mcp login") as door:
        told: list[str] = []
        typing: asyncio.Task[None] | None = None
        try:
            async for report in door.link.run("mcp.login", {"name": name}):
                if isinstance(report, Report):
                    told.append(report.what)
                if len(told) == 3 and typing is None:
                    _show(shell, name, *told)
                    typing = asyncio.create_task(_typed(shell, door.link, name))
        finally:
            if typing is not None:
                typing.cancel()
                await asyncio.wait([typing])
    shell.out(shell.say(_DONE).format(name=name))
    return 0


def _show(shell: Shell, name: str, host: str, before: str, address: str) -> None:
    moved = shell.say(_ELSEWHERE).format(host=before) if before else ""
    shown = visible.with_plain_hosts(host)
    shell.out(printable(shell.say(_OPEN).format(name=name, host=shown, moved=moved)))
    shell.out(printable(address))


async def _typed(shell: Shell, link: Link, name: str) -> None:
    """Take the address by hand, as often as it is not the right one."""
    while is_terminal():
        text = await answered(shell, shell.say(_PASTE))
        if not text:
            continue
        try:
            async for _ in link.run("mcp.came_back", {"name": name, "address": text}):
                pass
            return
        except UsageWrong as error:
            shell.explain(error)
        except NotThere:
            return


_OPEN = Words(
    "登录 {name}，在 {host}{moved}。十分钟内在浏览器里打开：",
    "Log in for {name} at {host}{moved}. Open this in a browser within ten minutes:",
)
_ELSEWHERE = Words("（以前是在 {host}）", " (before, it was {host})")
_PASTE = Words(
    "等浏览器回来。浏览器不在这台机器上，就把它最后跳到的整个地址贴在这里：",
    "Waiting for the browser. If it is on another machine, paste the whole address that it is led to in the end: ",
)
_DONE = Words("{name} 登录好了。", "Logged in at {name}.")
