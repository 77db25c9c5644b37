"""Other programs that bring tools: the servers of `mcp.json`, and the agents of the settings."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from qingtuan.a2a_client.agent import Surroundings
from qingtuan.a2a_client.agents import Agents
from qingtuan.a2a_client.config import AgentConfig
from qingtuan.a2a_client.pins import Pins
from qingtuan.a2a_client.talks import Talks
from qingtuan.app.mcp import ServerSupply, servers_of
from qingtuan.app.tools import wanted
from qingtuan.capabilities.catalog import Catalog, Supply
from qingtuan.confirmations.inquiry import Asks
from qingtuan.errors import SettingsWrong
from qingtuan.events.log import Log
from qingtuan.home import Home
from qingtuan.language import Words
from qingtuan.mcp_client.servers import Servers
from qingtuan.media.store import MediaStore
from qingtuan.net.fetcher import SafeFetcher
from qingtuan.servers.a2a.book import hops_of
from qingtuan.settings import Settings
from qingtuan.settings.dotenv import read_dotenv
from qingtuan.tools.tool import Tool
from qingtuan.turn.kit import Kit


@dataclass(frozen=True, slots=True)
class Programs:
    """Other programs that bring tools."""

    servers: Servers
    agents: Agents


def programs_of(home: Home, settings: Settings, kit: Kit, media: MediaStore, catalog: Catalog, asks: Asks) -> Programs:
    """The servers and agents of a data folder; none of them is started or asked yet."""
    servers = servers_of(home, settings, kit, media, catalog, asks)
    return Programs(servers, _agents(home, settings, kit.record.log, media, catalog, servers))


def _agents(home: Home, settings: Settings, log: Log, media: MediaStore, catalog: Catalog, servers: Servers) -> Agents:
    """The agents of the settings; none is asked yet, not even for its card. Their tools stand in `catalog`, which from
    here on also waits for their cards."""

    def changed(tools: Sequence[Tool]) -> None:
        catalog.put("agents", wanted(tools, settings))

    around = Surroundings(
        clock=log.clock,
        pins=Pins(log),
        talks=Talks(log),
        cache=home.index / "agents",
        media=media,
        fetcher=SafeFetcher(),
        hops=partial(hops_of, log),
        most_hops=settings.agents.hops,
    )
    agents = Agents(configured(home, settings), around, changed)
    if settings.agents.known:
        catalog.follow(Supplies((ServerSupply(servers), agents)))
    return agents


def configured(home: Home, settings: Settings) -> list[AgentConfig]:
    """The agents of the settings, with their keys."""
    variables = _variables(home) if settings.agents.known else {}
    found = []
    for name, agent in settings.agents.known.items():
        variable = agent.key.removeprefix("${").removesuffix("}")
        key = variables.get(variable, "")
        missing = variable if variable and not key else ""
        found.append(AgentConfig(name, str(agent.url), agent.about, key, agent.timeout, missing))
    return found


def _variables(home: Home) -> Mapping[str, str]:
    """What `${NAME}` may stand for: `.env` and the environment, which wins as it does everywhere."""
    try:
        return read_dotenv(home.secrets_file) | dict(os.environ)
    except SettingsWrong:
        return os.environ  # that the file is broken is said where the settings are read


@dataclass(frozen=True, slots=True)
class Supplies:
    """Everything from which tools come and go, as the catalog sees it."""

    parts: tuple[Supply, ...]

    async def ready(self) -> None:
        for part in self.parts:
            await part.ready()

    def missing(self) -> list[Words]:
        return [words for part in self.parts for words in part.missing()]
