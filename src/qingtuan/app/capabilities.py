"""The self-made capabilities of an instance, and what they need of the other tools."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from qingtuan.app.tools import wanted
from qingtuan.capabilities.catalog import Catalog
from qingtuan.capabilities.disk import Disk
from qingtuan.capabilities.ledger import Ledger
from qingtuan.capabilities.making import MakingTools
from qingtuan.capabilities.registry import Capabilities
from qingtuan.capabilities.sandbox.base import Sandbox
from qingtuan.capabilities.sandbox.later import Later
from qingtuan.capabilities.starters import starters
from qingtuan.capabilities.store import Store
from qingtuan.capabilities.surroundings import SOURCE, Rules, Surroundings
from qingtuan.clock import Clock
from qingtuan.errors import SettingsWrong, StorageFailed
from qingtuan.events.log import Log
from qingtuan.home import Home
from qingtuan.identity.scopes import Reader
from qingtuan.language import Words
from qingtuan.memory.wiki.store import WikiStore
from qingtuan.settings import Settings
from qingtuan.settings.dotenv import read_dotenv
from qingtuan.storage.git import Repository
from qingtuan.tools.tool import Tool

MAKING = "making"
"""The source of the tools that make tools."""
LOOK_EVERY = 5.0
"""Seconds between two looks at the folders, for edits by hand: what asks for one may come in every turn."""
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

Tell = Callable[[str, Words | None], None]


@dataclass(frozen=True, slots=True)
class Beside:
    """The other tools, as the registry sees them."""

    catalog: Catalog
    settings: Settings

    def taken(self) -> Collection[str]:
        return self.catalog.names_beside(SOURCE)

    def offer(self, tools: Sequence[Tool]) -> None:
        self.catalog.put(SOURCE, wanted(tools, self.settings))

    async def find(self, query: str, reader: Reader, limit: int) -> Sequence[str]:
        return [tool.name for tool in await self.catalog.find(query, reader, limit, source=SOURCE)]

    def permits(self, name: str, reader: Reader) -> bool:
        return self.catalog.registry.find(name, reader) is not None


def capabilities_of(
    home: Home, settings: Settings, log: Log, catalog: Catalog, tell: Tell, sandbox: Sandbox | None = None
) -> Capabilities:
    """The registry of a data folder; nothing is read or started yet. What it offers stands in `catalog`.

    `log` needs the projection of `capabilities.ledger`. Without `sandbox` it is the one of this machine.
    """
    ledger, clock = Ledger(log), log.clock
    store = Store(ledger, Disk(home.capabilities), Repository(home.capabilities, clock), clock)
    around = Surroundings(
        ledger=ledger,
        store=store,
        sandbox=sandbox or Later(lambda: _deno(home.index / "sandbox")),
        clock=clock,
        neighbours=Beside(catalog, settings),
        rules=Rules(resident=settings.capabilities.resident),
        headers=lambda: headers_of(settings, home),
        tell=tell,
        shipped=starters(),
    )
    capabilities = Capabilities(around)
    catalog.follow(Edits(capabilities, clock))
    catalog.put(MAKING, wanted(MakingTools(capabilities, catalog).tools(), settings))
    return capabilities


def _deno(folder: Path) -> Sandbox:
    from qingtuan.capabilities.sandbox.deno import Deno

    return Deno(folder)


def headers_of(settings: Settings, home: Home) -> Mapping[str, Mapping[str, str]]:
    """What is added to requests, by host. One that names a variable without a value is left out: half a key helps
    nobody."""
    named = settings.capabilities.headers
    if not named:
        return {}
    try:
        variables = read_dotenv(home.secrets_file) | dict(os.environ)
    except SettingsWrong:
        variables = dict(os.environ)  # that the file is broken is said where the settings are read
    found: dict[str, dict[str, str]] = {}
    for host, headers in named.items():
        for name, secret in headers.items():
            text = secret.get_secret_value()
            if all(variable in variables for variable in _VARIABLE.findall(text)):
                found.setdefault(host, {})[name] = _VARIABLE.sub(lambda match: variables[match[1]], text)
    return found


async def leave_capabilities(capabilities: Capabilities, catalog: Catalog) -> None:
    """Take what was erased out of the folders, their history, and what can be searched. Raises `StorageFailed`."""
    await capabilities.cleanse()
    await catalog.scrub()


@asynccontextmanager
async def at_rest(wiki: WikiStore, capabilities: Capabilities) -> AsyncIterator[None]:
    """Neither pages nor capabilities are written until the block is left."""
    async with wiki.quiet(), capabilities.quiet():
        yield


async def watch_edits(capabilities: Capabilities, clock: Clock) -> None:
    """Take in what is edited by hand, until cancelled: the owner hears of it also where no tool is looked for."""
    while True:
        await clock.sleep(_WATCH_EVERY)
        with suppress(SettingsWrong, StorageFailed):  # said where capabilities are listed
            await capabilities.look()


_WATCH_EVERY = 30.0
"""Seconds. An edit counts for nothing before it is approved, so nobody waits for this."""


@dataclass(slots=True)
class Edits:
    """What was edited by hand comes in before tools are searched."""

    capabilities: Capabilities
    clock: Clock
    looked: float = field(default=float("-inf"))

    async def ready(self) -> None:
        if self.clock.monotonic() - self.looked < LOOK_EVERY:
            return
        self.looked = self.clock.monotonic()
        try:
            await self.capabilities.look()
        except (SettingsWrong, StorageFailed):
            return  # said where capabilities are listed; what was approved runs

    def missing(self) -> Sequence[Words]:
        return ()
