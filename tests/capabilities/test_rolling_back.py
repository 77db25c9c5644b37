"""Going back to an earlier version: to what counted once, tried again, and still its author's."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.capabilities.definition import DefinitionRefused
from qingtuan.errors import NotAllowed, NotThere
from tests.fakes.capability_world import MEMBER, OWNER, PROGRAM, CapabilityWorld, adder

ECHO = "// does: echo\nexport default (input) => input\n"


async def test_what_nobody_approved_is_no_version_to_go_back_to(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    await world.registry.deploy(adder(code=ECHO, cases=()), PROGRAM)
    with pytest.raises(NotThere, match="version 2 was never approved"):
        await world.registry.rollback("adder", 2, OWNER)
    await world.registry.reject("adder", OWNER, 2)
    with pytest.raises(NotThere, match="version 2 was never approved"):
        await world.registry.rollback("adder", 2, OWNER)
    assert (await world.call("adder", a=1, b=2)).value == 3


async def test_an_edit_by_hand_is_not_run_by_going_back_to_it(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    world.file("adder").write_text("syntax error", "utf-8")
    await world.registry.look()
    with pytest.raises(NotThere, match="never approved"):
        await world.registry.rollback("adder", 2, OWNER)
    assert world.registry.get("adder").version.number == 1


async def test_an_earlier_version_is_tried_as_a_new_one_is(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    await world.registry.deploy(adder(code=ECHO, cases=()), OWNER)
    world.scripted.does["add"] = world.scripted.does["fail"]
    with pytest.raises(DefinitionRefused, match="no luck"):
        await world.registry.rollback("adder", 1, OWNER)
    assert world.registry.get("adder").version.number == 2


async def test_an_edit_by_hand_is_not_lost_to_going_back(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    await world.registry.deploy(adder(description="Other."), OWNER)
    world.file("adder").write_text(ECHO, "utf-8")
    await world.registry.rollback("adder", 1, OWNER)
    assert [waiting.version.how for waiting in world.registry.waiting()] == ["hand"]
    assert world.file("adder").read_text("utf-8") == ECHO


async def test_what_comes_with_the_product_can_always_be_had_again(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path, shipped=[adder()])
    await world.registry.deploy(adder(description="Mine."), OWNER)
    assert (await world.registry.rollback("adder", 0, OWNER)).version == 2
    assert world.registry.get("adder").definition == adder()


async def test_words_of_somebody_else_stay_theirs(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    theirs = await world.registry.deploy(adder(description="By a member."), MEMBER)
    await world.registry.approve("adder", OWNER, theirs.code)
    await world.registry.deploy(adder(), OWNER)
    assert [tool.foreign_words for tool in world.others.tools] == [False]
    await world.registry.rollback("adder", 2, OWNER)
    held = world.registry.get("adder")
    assert (held.version.author, held.version.how, held.owner) == (MEMBER.person, "rollback", "owner")
    assert [tool.foreign_words for tool in world.others.tools] == [True]


async def test_it_belongs_to_whoever_brought_the_first_version_that_counted(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(description="By a member."), MEMBER)
    await world.registry.reject("adder", OWNER, 1)
    await world.registry.deploy(adder(), OWNER)
    assert world.registry.get("adder").owner == "owner"
    with pytest.raises(NotAllowed):
        await world.registry.delete("adder", MEMBER)
