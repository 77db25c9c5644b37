"""`capability_inspect`: what of a self-made tool is shown to whom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qingtuan.capabilities.catalog import Catalog
from qingtuan.capabilities.making import MakingTools
from qingtuan.capabilities.search import CapabilitySearch
from qingtuan.capabilities.surroundings import SOURCE
from qingtuan.clock import SystemClock
from qingtuan.errors import ToolFailed
from qingtuan.identity.scopes import Reader, Role, Visibility
from qingtuan.indexes.indexes import Indexes
from qingtuan.messages import Space
from tests.fakes.calling import context
from tests.fakes.capability_world import OWNER, PROGRAM, READER, CapabilityWorld, adder, second

MEMBER = Reader("qq-10002", Role.MEMBER, Space("private", "qq:10002"))
GROUP = Reader("owner", Role.OWNER, Space("group", "qq:777"))
NARROW = Reader("owner", Role.OWNER, Space("private", "http:laptop"), ceiling=Visibility.PUBLIC)
CODE = "// does: fail\n// the owner's own code\n"


class Inspecting:
    """A registry with a capability that failed and of which another version waits."""

    def __init__(self, folder: Path, **granted: frozenset[Role]) -> None:
        self.world = CapabilityWorld(folder)
        indexes = Indexes(folder, None, SystemClock())
        self.catalog = Catalog(CapabilitySearch(indexes.open("capabilities")), granted, most_paged=24)
        made = MakingTools(self.world.registry, self.catalog).tools()
        self.inspect = next(tool for tool in made if tool.name == "capability_inspect")

    async def begun(self) -> Inspecting:
        await self.world.registry.deploy(adder(code=CODE, cases=()), OWNER)
        await self.world.registry.deploy(second(), PROGRAM)
        with pytest.raises(ToolFailed):
            await self.world.call("adder", a=1, b=2)
        self.catalog.put(SOURCE, self.world.others.tools)
        return self

    async def seen(self, reader: Reader, name: str = "adder") -> dict[str, Any]:
        result = await self.inspect.run(context(reader=reader), {"name": name})
        found = json.loads(result.text)
        assert isinstance(found, dict)
        return found


async def test_whoever_may_not_find_a_tool_cannot_tell_it_from_none(tmp_path: Path) -> None:
    world = await Inspecting(tmp_path).begun()
    told = []
    for name in ("adder", "aaaaa"):
        with pytest.raises(ToolFailed) as refused:
            await world.seen(MEMBER, name)
        told.append(refused.value.words.en.replace(name, "…"))
    assert told[0] == told[1]


async def test_whoever_may_use_it_sees_how_and_not_what_is_the_owners(tmp_path: Path) -> None:
    world = await Inspecting(tmp_path, adder=frozenset({Role.MEMBER})).begun()
    seen = await world.seen(MEMBER)
    assert seen["parameters"] == adder().parameters
    assert (seen["calls"], seen["failures"]) == (1, 1)
    assert not seen.keys() & {"code", "cases", "last_error", "waiting_for_owner"}


async def test_the_owner_sees_all_and_the_error_alone(tmp_path: Path) -> None:
    world = await Inspecting(tmp_path).begun()
    mine = await world.seen(READER)
    assert (mine["code"], mine["last_error"], mine["waiting_for_owner"]) == (CODE, "Error: no luck", [2])
    # In a group others read along what somebody's call was about.
    in_group = await world.seen(GROUP)
    assert in_group["code"] == CODE
    assert "last_error" not in in_group
    narrow = await world.seen(NARROW)
    assert not narrow.keys() & {"code", "cases", "last_error", "waiting_for_owner"}


async def test_the_owner_looks_at_one_that_is_switched_off(tmp_path: Path) -> None:
    world = await Inspecting(tmp_path).begun()
    await world.world.registry.disable("adder", OWNER)
    world.catalog.put(SOURCE, world.world.others.tools)
    assert (await world.seen(READER))["state"] == "off"
