"""Deploying, calling, updating and taking back capabilities."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from qingtuan.capabilities.definition import Case, DefinitionRefused
from qingtuan.capabilities.folder import definition_of
from qingtuan.errors import ArgumentsRefused, NotAllowed, NotThere, ToolFailed
from tests.fakes.capability_world import MEMBER, OWNER, PROGRAM, READER, CapabilityWorld, adder


async def test_what_was_deployed_can_be_called_and_stands_in_its_folder(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    done = await world.registry.deploy(adder(), OWNER)
    assert (done.version, done.waits) == (1, False)
    assert (await world.call("adder", a=2, b=5)).value == 7
    assert [tool.name for tool in world.others.tools] == ["adder"]
    files = {file.name: file.read_bytes() for file in (world.folder / "adder").iterdir()}
    assert definition_of("adder", files) == adder()
    assert world.git("log", "--format=%s").splitlines() == ["adder v1: new"]
    assert world.git("status", "--porcelain") == ""


async def test_everything_that_is_wrong_comes_in_one_answer_and_nothing_is_stored(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    wrong = adder(
        "Bad Name",
        description="",
        hosts=("https://example.com",),
        code="line one\nsyntax error here\n",
        ttl=5,
    )
    with pytest.raises(DefinitionRefused) as refused:
        await world.registry.deploy(wrong, OWNER)
    fields = [fault.field for fault in refused.value.faults]
    assert fields == ["name", "description", "hosts[0]", "ttl", "code"]
    assert "code line 2, column 1: does not compile" in refused.value.words.en
    assert world.registry.all() == []
    assert world.others.tools == []


async def test_a_case_that_fails_says_what_was_expected_and_what_came(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    with pytest.raises(DefinitionRefused) as refused:
        await world.registry.deploy(adder(cases=(Case({"a": 1, "b": 2}, 3), Case({"a": 1, "b": 2}, 4))), OWNER)
    (fault,) = refused.value.faults
    assert fault.field == "cases[1]"
    assert fault.words.en == "expected 4, got 3"


async def test_arguments_that_do_not_fit_are_named(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    with pytest.raises(ArgumentsRefused, match="b is missing"):
        await world.call("adder", a=1)
    with pytest.raises(ArgumentsRefused, match="no parameter c"):
        await world.call("adder", a=1, b=2, c=3)


async def test_an_update_is_a_new_version_and_the_old_one_can_be_had_again(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    changed = adder(description="Add numbers, two of them.")
    assert (await world.registry.deploy(changed, OWNER, over=1)).version == 2
    assert (await world.registry.deploy(changed, OWNER)).same
    back = await world.registry.rollback("adder", 1, OWNER)
    assert back.version == 3
    assert world.registry.get("adder").definition == adder()
    assert [version.note for version in world.registry.history("adder")] == ["as v1", "description", "new"]
    assert len(world.git("log", "--format=%s").splitlines()) == 3


async def test_nobody_deploys_over_a_version_that_they_have_not_seen(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    await world.registry.deploy(adder(description="Two."), OWNER)
    with pytest.raises(DefinitionRefused, match="version 2 counts now"):
        await world.registry.deploy(adder(description="Three."), OWNER, over=1)
    with pytest.raises(DefinitionRefused, match="exists, as version 2"):
        await world.registry.deploy(adder(description="Three."), OWNER, over=0)


@pytest.mark.parametrize("by", [PROGRAM, MEMBER])
async def test_whoever_is_not_the_owner_waits_and_the_old_version_runs(tmp_path: Path, by: object) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    evil = adder(code="// does: echo\n", cases=())
    done = await world.registry.deploy(evil, by)  # type: ignore[arg-type]
    assert done.waits
    assert (await world.call("adder", a=2, b=5)).value == 7
    assert "add" in world.file("adder").read_text("utf-8")
    (waiting,) = world.registry.waiting("adder")
    assert waiting.changed == ("code", "cases")
    with pytest.raises(NotAllowed):
        await world.registry.approve("adder", by, done.code)  # type: ignore[arg-type]
    with pytest.raises(NotThere):
        await world.registry.approve("adder", OWNER, "000000")
    await world.registry.approve("adder", OWNER, done.code)
    assert (await world.call("adder", a=2, b=5)).value == {"a": 2, "b": 5}
    assert world.registry.get("adder").owner == "owner"


async def test_a_code_stands_for_what_was_shown_over_what_was_shown(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    first = await world.registry.deploy(adder(description="One."), PROGRAM)
    second = await world.registry.deploy(adder(description="Two."), PROGRAM)
    with pytest.raises(NotThere, match="something else"):
        await world.registry.approve("adder", OWNER, first.code)
    await world.registry.deploy(adder(description="Other base."), OWNER)
    with pytest.raises(NotThere, match="something else"):
        await world.registry.approve("adder", OWNER, second.code)


async def test_deleting_keeps_the_history(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    with pytest.raises(NotAllowed):
        await world.registry.delete("adder", MEMBER)
    await world.registry.delete("adder", OWNER)
    with pytest.raises(NotThere):
        world.registry.get("adder")
    with pytest.raises(NotThere):
        await world.call("adder", a=1, b=2)
    assert not (world.folder / "adder").exists()
    assert (await world.registry.rollback("adder", 1, OWNER)).version == 2
    assert (await world.call("adder", a=1, b=2)).value == 3


async def test_disabled_is_neither_found_nor_called(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    await world.registry.disable("adder", OWNER)
    assert world.others.tools == []
    with pytest.raises(NotThere):
        await world.call("adder", a=1, b=2)
    await world.registry.enable("adder", OWNER)
    assert (await world.call("adder", a=1, b=2)).value == 3


async def test_without_an_engine_nothing_is_deployed_and_the_reason_is_told(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    world.scripted.missing = True
    with pytest.raises(ToolFailed, match=r"qingtuan\[sandbox\]"):
        await world.registry.deploy(adder(), OWNER)


async def test_a_name_of_another_tool_is_refused(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    world.others.names = {"water_plants"}
    for name in ("remember", "web_read", "water_plants", "library__seats"):
        with pytest.raises(DefinitionRefused):
            await world.registry.deploy(replace(adder(), name=name), OWNER)


async def test_one_whose_name_another_tool_has_is_neither_found_nor_called(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    world.others.names = {"adder"}
    again = world.registry
    again.offer()
    assert world.others.tools == []
    assert (await again.query("", READER)).total == 0
    with pytest.raises(NotThere):
        await world.call("adder", a=1, b=2)


async def test_the_same_sent_again_while_it_waits_is_no_new_version(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    first = await world.registry.deploy(adder(), PROGRAM)
    assert await world.registry.deploy(adder(), PROGRAM) == first
    assert len(world.registry.history("adder")) == 1
    assert (await world.registry.deploy(adder(), MEMBER)).version == 2
    assert (await world.registry.deploy(adder(description="Other."), PROGRAM)).version == 3
    await world.registry.reject("adder", OWNER, 3)
    assert (await world.registry.deploy(adder(description="Other."), PROGRAM)).version == 4
    assert not (await world.registry.deploy(adder(description="Other."), OWNER)).waits
