"""Tools that come and go, and what a search knows of them."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

from qingtuan.capabilities.catalog import OWN, Catalog
from qingtuan.capabilities.search import CapabilitySearch
from qingtuan.clock import SystemClock
from qingtuan.identity.scopes import Reader, Role
from qingtuan.identity.trust import Risk
from qingtuan.indexes.indexes import Indexes
from qingtuan.messages import Space
from qingtuan.tools.tool import Tool, ToolContext, ToolResult

OWNER = Reader("owner", Role.OWNER, Space("private", "cli:local"))


async def nothing(context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
    return ToolResult("")


SEATS = Tool(
    name="library__seats", description="look up seats", parameters={"type": "object"},
    risk=Risk.READ, run=nothing, core=False,
)  # fmt: skip


async def test_a_search_that_was_stopped_before_it_began_to_index_loses_no_tools(tmp_path: Path) -> None:
    indexes = Indexes(tmp_path, None, SystemClock())
    catalog = Catalog(CapabilitySearch(indexes.open("capabilities")), most_paged=24)
    catalog.put("library", [SEATS])
    free = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        asyncio.get_running_loop().set_default_executor(threads)
        busy = asyncio.create_task(asyncio.to_thread(free.wait))
        stopped = asyncio.create_task(catalog.find("seats", OWNER, 1))
        for _ in range(5):  # it gets as far as the one thread, which is taken
            await asyncio.sleep(0)
        stopped.cancel()
        with suppress(asyncio.CancelledError):
            await stopped
        free.set()
        await busy
        assert [tool.name for tool in await catalog.find("seats", OWNER, 1)] == ["library__seats"]
    indexes.close()


def test_the_registry_is_the_same_in_whatever_order_sources_come(tmp_path: Path) -> None:
    indexes = Indexes(tmp_path, None, SystemClock())
    offers = {
        OWN: [replace(SEATS, name="remember", core=True)],
        "mcp b": [replace(SEATS, name="b__x", core=True), replace(SEATS, name="twice", description="of b")],
        "mcp a": [replace(SEATS, name="a__x", core=True), replace(SEATS, name="twice", description="of a")],
        "self-made": [replace(SEATS, name="remember"), replace(SEATS, name="made")],
    }
    seen = set()
    for sources in permutations(offers):
        catalog = Catalog(CapabilitySearch(indexes.open("capabilities")), most_paged=24)
        for source in sources:
            catalog.put(source, offers[source])
        seen.add(tuple((tool.name, tool.description, tool.core) for tool in catalog.registry))
    assert seen == {
        (
            ("remember", "look up seats", True),
            ("a__x", "look up seats", True),
            ("twice", "of a", False),
            ("b__x", "look up seats", True),
            ("made", "look up seats", False),
        )
    }
    indexes.close()
