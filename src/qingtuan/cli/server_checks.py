"""The rows of `qingtuan doctor` about servers that bring tools: each is started once, from here."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from qingtuan.app.mcp import configured
from qingtuan.cli.checkups import Check, Finding
from qingtuan.cli.reading import record
from qingtuan.cli.shell import Shell
from qingtuan.errors import NotThere, SettingsWrong, StorageFailed
from qingtuan.language import Words
from qingtuan.mcp_client.config import ServerConfig
from qingtuan.mcp_client.grants import Grants, Lent
from qingtuan.mcp_client.looking import Look, look
from qingtuan.mcp_client.offer import Offer
from qingtuan.mcp_client.pins import Pinned, Pins
from qingtuan.turn.commands.servers import change_lines

_MAX_LEFT_OUT = 10


def server_checks(shell: Shell) -> Iterator[Check]:
    """A check for each server and for each fault of the file; none where the settings cannot be read."""
    try:
        found = configured(shell.home, shell.settings)
    except SettingsWrong:
        return
    for number, fault in enumerate(found.faults, 1):
        yield Check(f"mcp.json.{number}", Words("mcp.json", "mcp.json"), partial(_fault, fault))
    looks = _Looks(found.servers)
    for config in found.servers:
        title = Words(f"服务器 {config.name}", f"server {config.name}")
        yield Check(f"mcp.{config.name}", title, partial(looks.finding, config))


async def _fault(fault: SettingsWrong, _: Shell) -> Finding:
    return Finding("wrong", fault.words, _MEND_FILE)


class _Looks:
    """All servers are started side by side when the first is asked about: slow ones are waited for once."""

    def __init__(self, servers: Iterable[ServerConfig]) -> None:
        self._servers = tuple(servers)
        self._looks: Mapping[str, asyncio.Task[Look]] | None = None

    async def finding(self, config: ServerConfig, shell: Shell) -> Finding:
        if self._looks is None:
            self._looks = looks_at(self._servers, shell)
        return _finding(await self._looks[config.name], shell)


def looks_at(servers: Iterable[ServerConfig], shell: Shell) -> Mapping[str, asyncio.Task[Look]]:
    """Begin to look at servers, side by side."""
    servers = tuple(servers)
    pinned, lent = _known(servers, shell)
    return {
        config.name: asyncio.create_task(look(config, pinned.get(config.name), shell.clock, shell.home.logs, lent))
        for config in servers
    }


def _known(servers: Iterable[ServerConfig], shell: Shell) -> tuple[dict[str, Pinned], Lent]:
    """What is pinned of servers, and what lets us in, as far as there is a record that can be read."""
    try:
        with record(shell) as log:
            pins, grants = Pins(log), Grants(log.database, shell.clock)
            pinned = {config.name: pins.of(config.name) for config in servers}
            granted = {config.name: grants.of(config) for config in servers}
    except (NotThere, StorageFailed):
        return {}, Lent({}, shell.clock)
    lent = Lent({name: grant for name, grant in granted.items() if grant is not None}, shell.clock)
    return {name: one for name, one in pinned.items() if one is not None}, lent


def _finding(seen: Look, shell: Shell) -> Finding:
    name = seen.config.name
    if seen.error is not None:
        return Finding("wrong", seen.error, _LOG.filled(name=name))
    if seen.offer.moved or seen.offer.changes:
        mend = _APPROVE.filled(name=name)
        return Finding("note", _MOVED if seen.offer.moved else _WITHHELD.filled(len(seen.offer.changes)), mend)
    found = _TOOLS.filled(len(seen.offer.tools))
    if seen.offer.left_out:
        lines = "；".join(of_offer(seen.offer, name, shell))
        return Finding("note", Words(f"{found.zh}。{lines}", f"{found.en}. {lines}"), _ASK_MAKER)
    return Finding("ok", found)


def of_offer(offer: Offer, name: str, shell: Shell) -> Iterator[str]:
    """What is withheld or left out of a server's tools, and what to do, a line each."""
    if offer.moved:
        yield f"{shell.say(_MOVED)} {shell.say(_APPROVE).format(name=name)}"
    if offer.changes:
        yield from change_lines(offer.changes, shell.language)
        yield shell.say(_APPROVE).format(name=name)
    for one in offer.left_out[:_MAX_LEFT_OUT]:
        yield shell.say(_LEFT_OUT).format(tool=one.name, why=shell.say(one.why))
    if (more := len(offer.left_out) - _MAX_LEFT_OUT) > 0:
        yield shell.say(_MORE_LEFT_OUT).format(count=more)


_MEND_FILE = Words("改数据文件夹里的 mcp.json", "Mend mcp.json in the data folder")
_LOG = Words(
    "改好后 qingtuan mcp check {name}；日志在 logs/mcp-{name}.log",
    "qingtuan mcp check {name}; its log is logs/mcp-{name}.log",
)
_APPROVE = Words(
    "qingtuan mcp list 看改了什么，没问题就 qingtuan mcp approve {name}",
    "qingtuan mcp list shows what changed; if it looks right: qingtuan mcp approve {name}",
)
_MOVED = Words(
    "要运行的命令或地址和认可的不一样，没有启动。",
    "Its command or address is not the approved one; it was not started.",
)
_WITHHELD = Words("{0} 个工具和认可时不一样，先不给用。", "{0} tools are not what was approved, and are withheld.")
_TOOLS = Words("{0} 个工具", "{0} tools")
_ASK_MAKER = Words("这些要服务器的作者来改", "These are for the maker of the server to mend")
_LEFT_OUT = Words("没有用 {tool}：{why}", "{tool} is not used: {why}")
_MORE_LEFT_OUT = Words("还有 {count} 个没有用", "{count} more are not used")
