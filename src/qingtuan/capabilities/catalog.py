"""All tools that there are at this moment, from wherever they come."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from qingtuan.capabilities.search import CapabilitySearch
from qingtuan.identity.scopes import Reader, Role
from qingtuan.language import Words
from qingtuan.tools.registry import Registry
from qingtuan.tools.tool import Tool, wire_name

OWN = "own"
"""The source of built-in tools and plug-ins."""
ALWAYS_CORE = frozenset({"remember", "memory_search", "memory_recall", "capability_search"})
"""In every request, whatever a setting says (contracts.md)."""


class Supply(Protocol):
    """Where tools come from that come and go."""

    async def ready(self) -> None:
        """Wait, a while at most, for tools that are on their way."""
        ...

    def missing(self) -> Sequence[Words]:
        """Sentences about what should be there and is not."""
        ...


class Catalog:
    """Holds the registry of the moment. A source that changes its tools puts a new registry in the old one's place,
    so that whoever holds one sees a whole and steady state.

    What can be searched lags behind what can be called, and is brought up to date before a search: a start that is
    never followed by one costs nothing.
    """

    def __init__(
        self, search: CapabilitySearch, granted: Mapping[str, frozenset[Role]] | None = None, *, most_paged: int
    ) -> None:
        """`granted` holds the roles that a setting gives tools; `most_paged` is how many tools besides the core ones a
        request carries."""
        self.most_paged = most_paged
        self._search = search
        self._supplies: list[Supply] = []
        self._granted = granted
        self._sources: dict[str, tuple[Tool, ...]] = {}
        self._stale: dict[str, None] = {}
        """Sources whose tools the search does not know yet, in the order in which they changed."""
        self._settling = asyncio.Lock()
        self._registry = Registry((), granted)

    @property
    def registry(self) -> Registry:
        """The tools of this moment."""
        return self._registry

    def close(self) -> None:
        """Begin no more indexing."""
        self._search.close()

    def follow(self, supply: Supply) -> None:
        """Ask `supply`, too, from now on whether more tools are on their way, and why some are not."""
        self._supplies.append(supply)

    def missing(self, reader: Reader) -> Sequence[Words]:
        """What cannot be found now though it is set up, and why: for the owner, whose servers they are."""
        if reader.role is not Role.OWNER:
            return ()
        return [words for supply in self._supplies for words in supply.missing()]

    def names_beside(self, source: str) -> frozenset[str]:
        """The names of all tools but those of `source`, as they stand in requests."""
        return frozenset(
            wire_name(tool.name) for known, tools in self._sources.items() if known != source for tool in tools
        )

    def put(self, source: str, tools: Iterable[Tool]) -> None:
        """Make `tools` all that `source` offers; none takes the source away. The registry is the same in whatever order
        sources come: our own tools stand first, then those of the others by the names of their sources. Of two tools of
        one name, the first is the one that counts."""
        given = tuple(tools)
        if given == self._sources.get(source, ()):
            return
        self._sources[source] = given
        self._stale[source] = None
        counting: dict[str, Tool] = {}
        for known in sorted(self._sources, key=lambda name: (name != OWN, name)):
            for tool in self._sources[known]:
                counting.setdefault(wire_name(tool.name), tool)
        self._registry = Registry(counting.values(), self._granted)

    async def arrived(self) -> None:
        """Wait, a while at most, for tools that are on their way."""
        for supply in self._supplies:
            await supply.ready()

    async def find(self, query: str, reader: Reader, limit: int, *, source: str | None = None) -> list[Tool]:
        """The tools that serve a purpose best, best first, of those that `reader` may use and is not always shown; only
        those of `source`, if one is given."""
        await self.arrived()
        await self.settle()
        found = await asyncio.to_thread(self._search.find, query, reader.role, limit, source)
        tools = (self.registry.find(hit.name, reader) for hit in found)
        return [tool for tool in tools if tool is not None]

    async def prepare(self) -> None:
        """Do ahead what the first search would wait for, and forget what earlier runs knew of sources that are gone."""
        await self.arrived()
        await self.settle()
        await asyncio.to_thread(self._search.retain, list(self._sources))

    async def scrub(self) -> None:
        """Leave nothing in what can be searched of tools that are gone: for what must be forgotten."""
        await self.settle()
        await asyncio.to_thread(self._search.scrub)

    async def settle(self) -> None:
        """Bring what can be searched up to date with what can be called."""
        async with self._settling:
            while self._stale:
                source = next(iter(self._stale))
                registry, tools = self.registry, self._sources[source]
                # What stands in every request needs no finding. The search goes by roles alone: what a setting adds
                # to a tool's own stands in its place there.
                known = [replace(tool, roles=registry.roles_of(tool)) for tool in tools if not tool.core]
                await asyncio.to_thread(self._search.put, source, known)
                if self._sources[source] is tools:  # else they are others by now, and stale again
                    del self._stale[source]
