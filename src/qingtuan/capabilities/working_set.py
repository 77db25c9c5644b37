"""Which tools a request carries, as a function of its history. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qingtuan.identity.scopes import Reader
from qingtuan.tools.registry import Registry
from qingtuan.tools.tool import Tool


def working_set(history: Iterable[Sequence[str]], registry: Registry, reader: Reader, limit: int) -> tuple[Tool, ...]:
    """The core tools, and behind them those that the history brought in, in the order in which they first appeared.

    `history` are the names that each successful search, deployment and call mentions, oldest first; they may be names
    on the wire. Names of tools that are gone, or not for this reader, count for nothing. Of more than `limit` tools
    that were brought in, the one leaves first that was not mentioned for the longest time; of those that one search
    found, the one that fits worst. The same history and registry give the same tools in the same order, so that a
    provider's prefix cache holds.
    """
    core = registry.core(reader)
    always = {tool.name for tool in core}
    found: dict[str, Tool] = {}
    latest: dict[str, tuple[int, int]] = {}
    for moment, names in enumerate(history):
        for place, name in enumerate(dict.fromkeys(names)):
            tool = registry.find(name, reader)
            if tool is not None and tool.name not in always:
                found.setdefault(tool.name, tool)
                latest[tool.name] = (moment, -place)
    staying = set(sorted(latest, key=latest.__getitem__, reverse=True)[:limit])
    return (*core, *(tool for name, tool in found.items() if name in staying))
