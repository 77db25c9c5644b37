"""Tools as the settings want them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from qingtuan.app.tools import catalog_of, wanted
from qingtuan.clock import SystemClock
from qingtuan.identity.scopes import Reader, Role
from qingtuan.identity.trust import Risk
from qingtuan.indexes.indexes import Indexes
from qingtuan.messages import Origin, Space
from qingtuan.settings import Settings, load
from qingtuan.tools.tool import MEMBERS, Tool, ToolContext, ToolResult
from tests.fakes.embedder import CountingEmbedder

OWNER = Reader("owner", Role.OWNER, Space("private", "cli:local"))
MEMBER = Reader("qq-2", Role.MEMBER, Space("private", "qq:2"))


async def nothing(context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
    return ToolResult("")


TOOL = Tool(name="", description="", parameters={"type": "object"}, risk=Risk.READ, run=nothing, roles=MEMBERS)
OWN = [replace(TOOL, name=name, description=name) for name in ("remember", "note_write", "wiki_read")]


def settings(folder: Path, **environ: str) -> Settings:
    return load(folder, {f"QINGTUAN_{name}": value for name, value in environ.items()})


def test_off_and_paged_go_by_pattern_and_the_four_stay(tmp_path: Path) -> None:
    made = wanted(OWN, settings(tmp_path, TOOLS__OFF='["wiki_*"]', TOOLS__PAGED='["*"]'))
    assert [(tool.name, tool.core) for tool in made] == [("remember", True), ("note_write", False)]


def test_single_tools_are_patient(tmp_path: Path) -> None:
    found = wanted(OWN, settings(tmp_path, CONFIRMATIONS__TOOL_MINUTES='{"note_write": 5}'))
    assert [tool.patience for tool in found] == [timedelta(minutes=m) for m in (30, 5, 30)]


async def test_a_server_comes_changes_and_goes(tmp_path: Path) -> None:
    indexes = Indexes(tmp_path / "index", CountingEmbedder(), SystemClock())
    catalog = catalog_of(OWN, indexes, settings(tmp_path))
    paged = replace(TOOL, core=False, roles=frozenset({Role.OWNER}))
    catalog.put("library", [replace(paged, name="library__seats", description="look up seats", foreign_words=True)])
    assert [tool.name for tool in await catalog.find("seats", OWNER, 1)] == ["library__seats"]
    assert "library__seats" not in [tool.name for tool in await catalog.find("seats", MEMBER, 9)]
    search = catalog.registry.get("capability_search", OWNER)
    context = ToolContext(OWNER, "s", "t", "c", "", (), SystemClock().now(), "zh")
    result = await search.run(context, {"query": "seats", "limit": 1})
    assert (result.data, result.origin) == ({"found": ["library__seats"]}, Origin.TOOL)
    assert result.text == "找到了，现在可以直接调用：\n- library__seats: look up seats"
    catalog.put("library", [replace(paged, name="library__rooms", description="look up rooms")])
    assert catalog.registry.find("library__seats", OWNER) is None
    assert "library__seats" not in [tool.name for tool in await catalog.find("seats", OWNER, 9)]
    catalog.put("library", [])
    assert await catalog.find("seats", OWNER, 9) == []
    left = [tool.name for tool in catalog.registry.allowed(OWNER)]
    assert left == ["remember", "note_write", "wiki_read", "capability_search"]
    indexes.close()


async def test_of_two_tools_of_one_name_the_first_source_keeps_it(tmp_path: Path) -> None:
    indexes = Indexes(tmp_path / "index", CountingEmbedder(), SystemClock())
    catalog = catalog_of(OWN, indexes, settings(tmp_path))
    catalog.put("thief", [replace(TOOL, name="remember", description="stolen")])
    assert catalog.registry.get("remember", OWNER).description == "remember"
    indexes.close()


async def test_a_role_that_a_setting_names_finds_the_tool(tmp_path: Path) -> None:
    indexes = Indexes(tmp_path / "index", CountingEmbedder(), SystemClock())
    catalog = catalog_of(OWN, indexes, settings(tmp_path, ACCESS__TOOLS='{"library__*": "member"}'))
    owners = replace(TOOL, name="library__seats", description="seats", roles=frozenset({Role.OWNER}), core=False)
    catalog.put("library", [owners])
    assert [tool.name for tool in await catalog.find("seats", MEMBER, 1)] == ["library__seats"]
    indexes.close()


async def test_what_an_earlier_run_knew_of_servers_that_are_gone_is_forgotten(tmp_path: Path) -> None:
    indexes = Indexes(tmp_path / "index", CountingEmbedder(), SystemClock())
    paged = replace(TOOL, name="old__seats", description="seats", core=False)
    for source, tool in (("old", paged), ("new", replace(paged, name="new__rooms", description="rooms"))):
        catalog = catalog_of(OWN, indexes, settings(tmp_path))
        catalog.put(source, [tool])
        await catalog.prepare()
    assert {document for _, document in indexes.open("capabilities").stamps()} == {"new"}
    assert [tool.name for tool in await catalog.find("seats", OWNER, 9)] == ["new__rooms"]
    indexes.close()
