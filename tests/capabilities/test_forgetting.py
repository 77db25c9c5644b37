"""Of whoever is forgotten no version is left: not in events, tables, folders or the git history."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.capabilities import ledger
from qingtuan.capabilities.ledger import By
from qingtuan.errors import NotThere
from qingtuan.events.erasing import erase
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from tests.fakes.capability_world import MEMBER, OWNER, CapabilityWorld, adder

MARK = "durian cake"


async def forget(world: CapabilityWorld, person: str) -> None:
    event = world.log.append(Kind.PERSON_FORGOTTEN, Place(person=person), {"events": []})
    erase(world.log, event)
    await world.registry.cleanse()


def tables(world: CapabilityWorld) -> list[list[tuple[object, ...]]]:
    names = ("capability_versions", "capability_states", "capability_calls")
    return [[tuple(row) for row in world.database.rows(f"SELECT * FROM {name} ORDER BY 1")] for name in names]


def same(world: CapabilityWorld) -> None:
    """Every table is what a replay makes of the events, and git finds nothing wrong."""
    before = tables(world)
    with world.database.transaction():
        for name in ("capability_versions", "capability_states", "capability_calls"):
            world.database.execute(f"DELETE FROM {name}")
        for event in world.log.replay():
            ledger.project(world.database, event)
    assert tables(world) == before
    assert world.git("fsck", "--strict", "--no-dangling") == ""
    assert world.git("status", "--porcelain") == ""


def left(world: CapabilityWorld) -> list[str]:
    found = [str(path) for path in world.folder.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()]
    objects = world.git("cat-file", "--batch-all-objects", "--batch")
    return [*found, *(["objects"] if MARK in objects or MEMBER.person in objects else [])]


async def test_a_capability_of_theirs_goes_and_those_of_others_keep_their_history(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    await world.registry.deploy(adder(description="Once more."), OWNER)
    theirs = await world.registry.deploy(adder("cake", description=f"All about {MARK}."), MEMBER)
    await world.registry.approve("cake", OWNER, theirs.code)
    assert left(world) != []
    await forget(world, MEMBER.person)
    assert left(world) == []
    with pytest.raises(NotThere):
        world.registry.get("cake")
    assert [tool.name for tool in world.others.tools] == ["adder"]
    assert world.git("log", "--format=%s").splitlines() == ["adder v2: description", "adder v1: new"]
    assert (await world.call("adder", a=1, b=2)).value == 3
    same(world)
    assert (await world.registry.deploy(adder("cake"), OWNER)).version == 2


async def test_a_version_of_theirs_goes_and_the_one_before_it_runs(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    theirs = await world.registry.deploy(adder(code=f"// does: echo\n// {MARK}\n", cases=()), MEMBER)
    await world.registry.approve("adder", OWNER, theirs.code)
    await world.registry.deploy(adder(description=f"Waits: {MARK}."), MEMBER)
    await forget(world, MEMBER.person)
    assert left(world) == []
    assert world.registry.waiting() == []
    assert (await world.call("adder", a=1, b=2)).value == 3
    assert world.file("adder").read_text("utf-8") == adder().code
    same(world)
    again = CapabilityWorld(tmp_path)
    await again.registry.start()
    assert again.warnings() == []
    assert again.registry.get("adder").version.number == 1


async def test_their_calls_count_no_more(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    await world.call("adder", a=1, b=2)
    await forget(world, OWNER.person)
    assert world.registry.status().calls == 0
    assert world.registry.all() == []
    same(world)


async def test_cut_off_in_between_it_is_done_again(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    done = await world.registry.deploy(adder("cake", description=MARK), By("qq-10002", how="http"))
    await world.registry.approve("cake", OWNER, done.code)
    event = world.log.append(Kind.PERSON_FORGOTTEN, Place(person="qq-10002"), {"events": []})
    erase(world.log, event)
    (world.folder / ".git").rename(world.folder / ".gone.git")
    again = CapabilityWorld(tmp_path)
    await again.registry.cleanse()
    assert left(again) == []
    assert not (again.folder / ".gone.git").exists()
    await again.registry.start()
    same(again)
