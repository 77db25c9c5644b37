"""All tools that there are at this moment, from wherever they come."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace

from qingtuan.capabilities.search import CapabilitySearch
from qingtuan.identity.scopes import Reader, Role
from qingtuan.tools.registry import Registry
from qingtuan.tools.tool import Tool, wire_name

OWN = "own"
"""The source of built-in tools and plug-ins."""
ALWAYS_CORE = frozenset({"remember", "memory_search", "memory_recall", "capability_search"})
"""In every request, whatever a setting says (contracts.md)."""


class Catalog:
    """Holds the registry of the moment. A source that changes its tools puts a new registry in the old one's place,
    so that whoever holds one sees a whole and steady state.

    What can be searched lags behind what can be called, and is brought up to date before a search: a start that is
    never followed by one costs nothing.
    """

    def __init__(
        self, search: CapabilitySearch, granted: Mapping[str, frozenset[Role]] | None = None, *, most_paged: int = 24
    ) -> None:
        """`granted` holds the roles that a setting gives a tool, by name; `most_paged` is how many tools besides the
        core ones a request carries."""
        self.most_paged = most_paged
        self._search = search
        self._granted = granted
        self._sources: dict[str, tuple[Tool, ...]] = {}
        self._stale: set[str] = set()
        self._settling = asyncio.Lock()
        self._registry = Registry((), granted)

    @property
    def registry(self) -> Registry:
        """The tools of this moment."""
        return self._registry

    def put(self, source: str, tools: Iterable[Tool]) -> None:
        """Make `tools` all that `source` offers; none takes the source away. Of two tools of one name, that of the
        source which came first is the one that counts."""
        given = tuple(tools)
        if given == self._sources.get(source, ()):
            return
        self._sources[source] = given
        self._stale.add(source)
        counting: dict[str, Tool] = {}
        for tool in (tool for known in self._sources.values() for tool in known):
            counting.setdefault(wire_name(tool.name), tool)
        self._registry = Registry(counting.values(), self._granted)

    async def find(self, query: str, reader: Reader, limit: int) -> list[Tool]:
        """The tools that serve a purpose best, best first, of those that `reader` may use."""
        await self.settle()
        found = await asyncio.to_thread(self._search.find, query, reader.role, limit)
        tools = (self.registry.find(hit.name, reader) for hit in found)
        return [tool for tool in tools if tool is not None]

    async def settle(self) -> None:
        """Bring what can be searched up to date with what can be called."""
        async with self._settling:
            while self._stale:
                source = self._stale.pop()
                registry, tools = self.registry, self._sources[source]
                # The search goes by roles alone: what a setting adds to a tool's own stands in its place there.
                known = [replace(tool, roles=registry.roles_of(tool)) for tool in tools]
                await asyncio.to_thread(self._search.put, source, known)
