"""How long capabilities live, which are warm, how calls are counted, and what is said of one that fails."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qingtuan.capabilities.definition import DefinitionRefused
from qingtuan.capabilities.sandbox.base import Fault, Fetch, Ran
from qingtuan.errors import NotThere, ToolFailed
from qingtuan.events.kinds import Kind
from tests.fakes.capability_world import OWNER, PROGRAM, READER, CapabilityWorld, adder


async def test_an_ephemeral_one_ends_with_its_time_wherever_it_is_asked_for(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(kind="ephemeral", ttl=60), OWNER)
    tool = world.others.tools[0]
    assert (await world.registry.query("", READER)).total == 1
    world.clock.advance(timedelta(seconds=60))
    with pytest.raises(ToolFailed):
        await world.call("adder", a=1, b=2)
    assert (await world.registry.query("", READER)).total == 0
    assert world.registry.status().stored == 0
    with pytest.raises(NotThere):
        world.registry.get("adder")
    await world.registry.look()
    assert world.others.tools == []
    assert not (world.folder / "adder").exists()
    assert tool.name == "adder"
    assert world.registry.history("adder")[0].number == 1


async def test_time_begins_anew_with_a_version(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(kind="ephemeral", ttl=60), OWNER)
    world.clock.advance(timedelta(seconds=50))
    await world.registry.deploy(adder(kind="ephemeral", ttl=60, description="Once more."), OWNER)
    world.clock.advance(timedelta(seconds=50))
    assert (await world.call("adder", a=1, b=2)).value == 3


async def test_no_more_are_warm_than_is_said_and_cold_ones_can_be_called(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path, resident=3)
    for number in range(5):
        await world.registry.deploy(adder(f"adder_{number}"), OWNER)
        assert world.registry.status().resident <= 3
    status = world.registry.status()
    assert (status.stored, status.resident, status.evictions, status.cold_starts) == (5, 3, 2, 0)
    for number in range(5):
        assert (await world.call(f"adder_{number}", a=1, b=number)).value == 1 + number
        assert world.registry.status().resident == 3
    assert world.registry.status().cold_starts == 5
    assert world.registry.status().evictions == 7


async def test_who_leaves_first(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path, resident=4)
    kinds: dict[str, dict[str, Any]] = {
        "lasting": {"kind": "persistent"},
        "plain": {},
        "recent": {},
        "brief": {"kind": "ephemeral", "ttl": 3600},
    }
    for name, changes in kinds.items():
        await world.registry.deploy(adder(name, **changes), OWNER)
    await world.call("plain", a=1, b=1)

    for name, leaves in (("one", "brief"), ("two", "recent"), ("three", "plain")):
        before = set(world.registry.warm)
        await world.registry.deploy(adder(name), OWNER)
        assert before - set(world.registry.warm) == {leaves}


async def test_calls_are_counted_over_versions_and_starts(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(), OWNER)
    await world.call("adder", a=1, b=2)
    await world.registry.deploy(adder(code="// does: fail\n", cases=()), OWNER)
    with pytest.raises(ToolFailed, match="no luck"):
        await world.call("adder", a=1, b=2)
    again = CapabilityWorld(tmp_path)
    await again.registry.start()
    use = again.registry.card("adder").use
    assert (use.calls, use.failures, use.error) == (2, 1, "Error: no luck")
    assert use.last == world.clock.now()
    assert (again.registry.status().calls, again.registry.status().failures) == (2, 1)


async def test_three_failures_in_a_row_are_said_once_and_an_update_ends_that(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    await world.registry.deploy(adder(code="// does: fail\n", cases=()), OWNER)
    for _ in range(5):
        with pytest.raises(ToolFailed):
            await world.call("adder", a=1, b=2)
    assert world.warnings() == ["capability adder broken"]
    assert world.registry.get("adder").broken
    assert "broken" in world.others.tools[0].description
    assert "no luck" not in world.others.tools[0].description
    again = CapabilityWorld(tmp_path)
    await again.registry.start()
    assert again.registry.get("adder").broken
    await again.registry.deploy(adder(), OWNER)
    assert not again.registry.get("adder").broken
    assert again.told[-1] == ("capability adder broken", None)
    assert "broken" not in again.others.tools[0].description


async def test_a_sandbox_that_does_not_start_breaks_no_tool(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    world.scripted.does["never"] = lambda job: Ran(fault=Fault("unavailable", "The sandbox did not start."))
    await world.registry.deploy(adder(code="// does: never\n", cases=()), OWNER)
    for _ in range(4):
        with pytest.raises(ToolFailed, match="not the code's fault") as refused:
            await world.call("adder", a=1, b=2)
        assert refused.value.detail == "The sandbox did not start."
    assert not world.registry.get("adder").broken
    assert world.warnings() == []
    assert world.registry.status().failures == 0
    # Nor is a definition refused for it.
    with pytest.raises(ToolFailed, match="not the code's fault") as refused:
        await world.registry.deploy(adder("other", code="// does: never\n"), OWNER)
    assert not isinstance(refused.value, DefinitionRefused)


async def test_enabling_and_a_success_end_it_too(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    world.scripted.does["sometimes"] = lambda job: Ran(1) if job.arguments["a"] else Ran(fault=Fault("time", "late"))
    await world.registry.deploy(adder(code="// does: sometimes\n", cases=()), OWNER)
    for _ in range(3):
        with pytest.raises(ToolFailed, match="too long"):
            await world.call("adder", a=0, b=2)
    await world.registry.enable("adder", OWNER)
    assert not world.registry.get("adder").broken
    for _ in range(3):
        with pytest.raises(ToolFailed):
            await world.call("adder", a=0, b=2)
    assert world.registry.get("adder").broken
    await world.call("adder", a=1, b=2)
    assert not world.registry.get("adder").broken
    assert "broken" not in world.others.tools[0].description


async def test_where_a_call_reached_out_to_is_written_down_without_our_keys(tmp_path: Path) -> None:
    key = "sk-very-secret-value"
    world = CapabilityWorld(
        tmp_path, headers={"api.example.com": {"Authorization": key}, "other.example.com": {"X": key}}
    )
    fetched = (
        Fetch("GET", f"https://api.example.com/?k={key}", 200, 0, 120),
        Fetch("GET", "https://evil.example.com/", None, 0, 0, "not approved"),
    )
    world.scripted.does["reach"] = lambda job: Ran(
        {"echoed": f"it was {key}", key: [key]}, fetched=fetched, printed=key
    )
    await world.registry.deploy(adder(code="// does: reach\n", cases=(), hosts=("api.example.com",)), OWNER)
    done = await world.call("adder", a=1, b=2)
    assert key not in repr(done)
    assert world.scripted.jobs[-1].headers == {"api.example.com": {"Authorization": key}}
    (event,) = world.log.of_kind(Kind.CAPABILITY_CALLED)
    assert key not in repr(event.payload)
    assert [fetch["refused"] for fetch in event.payload["fetched"]] == ["", "not approved"]


async def test_a_case_that_fails_tells_no_key_of_ours(tmp_path: Path) -> None:
    headers = {"api.example.com": {"Authorization": "Bearer sk-very-secret-value"}}
    world = CapabilityWorld(tmp_path, headers=headers)
    fetched = (Fetch("GET", "https://api.example.com/", 200, 0, 9),)
    world.scripted.does["reach"] = lambda job: Ran("it was sk-very-secret-value", fetched=fetched)
    made = adder(code="// does: reach\n", hosts=("api.example.com",))
    with pytest.raises(ToolFailed, match="expected 3, got") as refused:
        await world.registry.deploy(made, OWNER)
    assert refused.value.detail == "GET https://api.example.com/: 200"
    assert "secret" not in str(refused.value)
    assert refused.value.foreign


async def test_where_cases_reached_out_to_is_written_down_with_the_version(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    world.scripted.does["reach"] = lambda job: Ran(3, fetched=(Fetch("GET", "https://api.example.com/", 200, 0, 9),))
    made = adder(code="// does: reach\n", hosts=("api.example.com",))
    await world.registry.deploy(made, OWNER)
    waiting = await world.registry.deploy(made.with_(description="Other."), PROGRAM)
    await world.registry.approve("adder", OWNER, waiting.code)
    deployed, waited = world.log.of_kind(Kind.CAPABILITY_DEPLOYED)
    (approved,) = world.log.of_kind(Kind.CAPABILITY_APPROVED)
    assert [event.payload.get("fetched", [{}])[0].get("url") for event in (deployed, waited, approved)] == [
        "https://api.example.com/",
        None,
        "https://api.example.com/",
    ]


async def test_before_a_yes_no_host_is_asked(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    refused = (Fetch("GET", "https://api.example.com/", None, 0, 0, "not approved"),)
    world.scripted.does["reach"] = lambda job: (
        Ran(1) if job.hosts else Ran(fault=Fault("exception", "x"), fetched=refused)
    )
    made = adder(code="// does: reach\n", hosts=("api.example.com",), cases=(adder().cases[0],))
    await world.registry.check(made, reaching=False)
    assert [job.hosts for job in world.scripted.jobs] == [()]
    with pytest.raises(ToolFailed, match="expected 3, got 1"):
        await world.registry.check(made, reaching=True)
    assert world.scripted.jobs[-1].hosts == ("api.example.com",)


async def test_pages_reach_every_hit(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path)
    for number in range(7):
        await world.registry.deploy(adder(f"adder_{number}", tags=("numbers",), examples=("加一加",)), OWNER)
    for q in ("", "add"):
        names: list[str] = []
        cursor = None
        while True:
            page = await world.registry.query(q, READER, limit=3, cursor=cursor)
            assert page.total == 7
            names += [hit.name for hit in page.hits]
            if (cursor := page.cursor) is None:
                break
        assert names == [f"adder_{number}" for number in range(7)]
    hit = (await world.registry.query("", READER, limit=1)).hits[0]
    assert hit.parameters == adder().parameters
    assert (hit.tags, hit.examples, hit.description) == (("numbers",), ("加一加",), "Add two numbers.")


async def test_what_comes_with_the_product_is_back_when_the_time_of_another_is_over(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path, shipped=[adder()])
    await world.registry.deploy(adder(kind="ephemeral", ttl=60, description="Mine."), OWNER)
    world.clock.advance(timedelta(seconds=60))
    assert world.registry.get("adder").version.number == 0
    assert [held.version.number for held in world.registry.all()] == [0]
    assert (await world.call("adder", a=1, b=2)).value == 3
    await world.registry.look()
    assert [tool.description for tool in world.others.tools] == ["Add two numbers."]
    again = CapabilityWorld(tmp_path, shipped=[adder()], clock=world.clock)
    await again.registry.start()
    assert (await again.call("adder", a=1, b=2)).value == 3
    assert not (world.folder / "adder").exists()


async def test_what_the_owner_deleted_does_not_come_back_with_that(tmp_path: Path) -> None:
    world = CapabilityWorld(tmp_path, shipped=[adder()])
    await world.registry.delete("adder", OWNER)
    await world.registry.deploy(adder(kind="ephemeral", ttl=60, description="Mine."), OWNER)
    world.clock.advance(timedelta(seconds=60))
    await world.registry.look()
    assert world.registry.all() == []
    assert world.others.tools == []
