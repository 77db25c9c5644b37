"""The servers of tools of an instance, from `mcp.json`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from qingtuan.app.tools import wanted
from qingtuan.capabilities.catalog import Catalog
from qingtuan.confirmations.inquiry import Asks, Inquiry, Recipient
from qingtuan.errors import SettingsWrong
from qingtuan.home import Home
from qingtuan.language import Words
from qingtuan.mcp_client.asking import Question, Said
from qingtuan.mcp_client.config import Configured
from qingtuan.mcp_client.grants import Grants
from qingtuan.mcp_client.logins import Logins
from qingtuan.mcp_client.pins import Pins
from qingtuan.mcp_client.reading import read
from qingtuan.mcp_client.server import Surroundings
from qingtuan.mcp_client.servers import Servers
from qingtuan.media.store import MediaStore
from qingtuan.net.fetcher import SafeFetcher
from qingtuan.settings import Settings
from qingtuan.settings.dotenv import read_dotenv
from qingtuan.tools.tool import Tool, ToolContext
from qingtuan.turn.kit import Kit
from qingtuan.turn.telling import word_to_owner
from qingtuan.turn.troubles import tell_owner


def servers_of(home: Home, settings: Settings, kit: Kit, media: MediaStore, catalog: Catalog, asks: Asks) -> Servers:
    """The servers of a data folder; none of them is started yet. What each offers stands in `catalog`, first from here:
    tools that are known from the cache need no start. What they ask people goes through `asks`.

    The log of `kit` needs the projection of `mcp_client.pins`.
    """

    def changed(name: str, tools: Sequence[Tool]) -> None:
        catalog.put(f"mcp {name}", wanted(tools, settings))

    def lost(name: str) -> None:
        tell_owner(kit, _login_key(name), _LOST.filled(name=name))

    def let_in(name: str, why: Words | None) -> None:
        if why is None:
            tell_owner(kit, _login_key(name), None)
        told = word_to_owner(kit, _LET_IN.filled(name=name) if why is None else why)
        kit.record.outbox.put(told.draft, told.place)

    record = kit.record
    grants = Grants(record.log.database, record.clock, lost)
    around = Surroundings(
        clock=record.clock,
        pins=Pins(record.log),
        cache=home.index / "mcp",
        media=media,
        logs=home.logs,
        changed=changed,
        people=AskedInTurn(asks),
        logins=Logins(grants, record.clock, SafeFetcher()),
        let_in=let_in,
    )
    servers = Servers(lambda: configured(home, settings), around)
    catalog.follow(ServerSupply(servers))
    return servers


def configured(home: Home, settings: Settings) -> Configured:
    """What `mcp.json` says; nothing where the settings switch servers off."""
    return read(home.mcp_file, _variables(home)) if settings.mcp.servers else Configured()


def _variables(home: Home) -> Mapping[str, str]:
    """What `${NAME}` may stand for: `.env` and the environment, which wins as it does everywhere."""
    try:
        return read_dotenv(home.secrets_file) | dict(os.environ)
    except SettingsWrong:
        return os.environ  # that the file is broken is said where the settings are read


@dataclass(frozen=True, slots=True)
class AskedInTurn:
    """Asks the person whose turn called a server."""

    asks: Asks

    async def ask(self, question: Question, context: ToolContext) -> Said:
        inquiry = Inquiry(
            asker=question.server,
            kind="server",
            text=question.text,
            choices=question.choices,
            values=question.values,
            several=question.several,
            hint=question.hint,
            link=question.link,
            may_skip=question.may_skip,
            trusted=question.trusted,
            lasts=_LASTS,
        )
        reply = await self.asks.ask(inquiry, Recipient(context.reader.person, context.turn))
        return Said("cancelled" if reply.kind == "expired" else reply.kind, reply.text, reply.picks)


def _login_key(name: str) -> str:
    return f"mcp login {name}"


_LOST = Words(
    "服务器 {name} 不认原来的登录了，它的工具用不了。再登录一次：/mcp login {name}",
    "Server {name} takes the login no more, and its tools cannot be used. Log in once more: /mcp login {name}",
)
_LET_IN = Words("{name} 登录好了，可以用了。", "Logged in at {name}; it can be used now.")
_LASTS = timedelta(minutes=10)
"""A session waits for the answer, and so does the server."""


@dataclass(frozen=True, slots=True)
class ServerSupply:
    """The servers as the catalog sees them."""

    servers: Servers

    async def ready(self) -> None:
        await self.servers.tried(_PATIENCE)

    def missing(self) -> list[Words]:
        # The name is the owner's word; why it is down may be the server's own, and stays out of what the model reads.
        return [_down(status.name) for status in self.servers.status() if status.state == "down" and not status.tools]


def _down(name: str) -> Words:
    return Words(
        f"服务器 {name} 现在起不来，它的工具用不了：照实告诉对方。主人可以用 /mcp 看原因。",
        f"Server {name} does not start at present, and its tools cannot be used: say so. The owner sees why by /mcp.",
    )


_PATIENCE = 15.0
"""Seconds that a search waits for servers that are being started for the first time."""
