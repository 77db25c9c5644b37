"""What went wrong with Sigil, and with the tools that Uncaged made by it, cannot happen here. One test for each fault,
named after its number."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qingtuan.capabilities.catalog import Catalog
from qingtuan.capabilities.definition import Case, DefinitionRefused
from qingtuan.capabilities.sandbox.base import Job, Limits
from qingtuan.capabilities.sandbox.deno import Deno
from qingtuan.capabilities.sandbox.engine import find_program
from qingtuan.capabilities.sandbox.runtime import SHAPE
from qingtuan.capabilities.search import CapabilitySearch
from qingtuan.clock import SystemClock
from qingtuan.errors import NotAllowed, NotThere, ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.indexes.indexes import Indexes
from tests.fakes.capability_world import MEMBER, OWNER, PROGRAM, READER, CapabilityWorld, adder
from tests.fakes.conversation import Conversation
from tests.fakes.embedder import CountingEmbedder
from tests.fakes.model_server import Reply, ToolCall, call, on_result, on_user, without_tools

with_engine = pytest.mark.skipif(find_program() is None, reason="the engine of the sandbox is not installed")
WORDS = "export default async function (input: { a: number; b: number }) { return input.a + input.b; }"


@pytest.fixture
def world(tmp_path: Path) -> CapabilityWorld:
    return CapabilityWorld(tmp_path, resident=4)


@pytest.fixture
async def engine() -> AsyncIterator[Deno]:
    deno = Deno()
    yield deno
    await deno.close()


async def deployed(world: CapabilityWorld, count: int, **changes: Any) -> None:
    for number in range(count):
        await world.registry.deploy(adder(f"adder_{number}", **changes), OWNER)


async def test_1_no_more_are_resident_than_is_said_after_calls_either_and_the_number_is_counted(
    world: CapabilityWorld,
) -> None:
    """Calls brought in as many as there were, and the status clamped what it said."""
    await deployed(world, 7)
    assert world.registry.status().resident == 4
    for number in range(7):
        await world.call(f"adder_{number}", a=1, b=2)
        assert world.registry.status().resident == 4
    status = world.registry.status()
    assert (status.stored, status.most_resident, status.cold_starts, status.evictions) == (7, 4, 7, 10)


async def test_2_what_was_for_a_while_ends_with_it(world: CapabilityWorld) -> None:
    """An ephemeral one could be called long after its time."""
    await world.registry.deploy(adder(kind="ephemeral", ttl=60), OWNER)
    assert (await world.call("adder", a=1, b=2)).value == 3
    world.clock.advance(timedelta(seconds=61))
    with pytest.raises((NotThere, ToolFailed)):
        await world.call("adder", a=1, b=2)
    assert (await world.registry.query("", READER)).total == 0


async def test_3_schema_description_and_tags_arrive_whole_wherever_it_is_looked_at(world: CapabilityWorld) -> None:
    """Inspecting gave none of them, and what the search had found was overwritten with nothing."""
    made = adder(tags=("sum",), examples=("一加二是多少",))
    await world.registry.deploy(made, OWNER)
    card = world.registry.card("adder").held.definition
    (hit,) = (await world.registry.query("add", READER)).hits
    for seen in (card, hit):
        assert seen.parameters == made.parameters
        assert (seen.description, tuple(seen.tags)) == (made.description, made.tags)
    (tool,) = world.others.tools
    assert tool.spec.parameters["required"] == ["a", "b"]
    assert tool.spec.parameters["properties"] == made.parameters["properties"]


@pytest.mark.parametrize("words", ["", "add"])
async def test_4_pages_reach_every_hit_and_say_how_many_there_are(world: CapabilityWorld, words: str) -> None:
    """Of nine hits the first three could be seen; the second page was empty."""
    await deployed(world, 9)
    seen: list[str] = []
    cursor: str | None = "0"
    while cursor is not None:
        page = await world.registry.query(words, READER, limit=3, cursor=cursor)
        assert page.total == 9
        seen += [hit.name for hit in page.hits]
        cursor = page.cursor
    assert sorted(seen) == [f"adder_{number}" for number in range(9)]


HOSTILE = ["x;process", "a/b", "__proto__", "constructor", "toString", "`${1}`", 'q"]', "换行\n", "*/", "</script>"]


@with_engine
async def test_5_names_of_parameters_are_data_and_never_code(tmp_path: Path, engine: Deno) -> None:
    """They went into generated code as they were."""
    world = CapabilityWorld(tmp_path, sandbox=engine)
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in HOSTILE}, "required": HOSTILE}
    code = "export default (input) => Object.entries(input).map(([name, value]) => [name, value])"
    await world.registry.deploy(adder(parameters=schema, code=code, cases=()), OWNER)
    given = {name: f"值 {number}" for number, name in enumerate(HOSTILE)}
    assert sorted((await world.call("adder", **given)).value) == sorted([name, value] for name, value in given.items())


@pytest.mark.parametrize("name", ["a/b", "../x", "A", "a-b", "", "a" * 60, "é", "a\nb"])
async def test_5_a_name_that_cannot_be_called_cannot_be_deployed(world: CapabilityWorld, name: str) -> None:
    """`a/b` could be deployed, and never called."""
    with pytest.raises(DefinitionRefused) as refused:
        await world.registry.deploy(adder(name), OWNER)
    assert "name" in [fault.field for fault in refused.value.faults]
    assert world.registry.all() == []


async def test_6_nothing_is_overwritten_versions_owner_and_counters_stay(world: CapabilityWorld) -> None:
    """Whoever deployed a name again replaced it, with its counters, without a word."""
    await world.registry.deploy(adder(), OWNER)
    await world.call("adder", a=1, b=2)
    for by in (PROGRAM, MEMBER):
        assert (await world.registry.deploy(adder(description=f"Theirs {by.how}."), by)).waits
        assert (await world.call("adder", a=1, b=2)).version == 1
        with pytest.raises(NotAllowed):
            await world.registry.delete("adder", MEMBER)
    await world.registry.deploy(adder(description="Mine."), OWNER)
    assert world.registry.get("adder").owner == "owner"
    assert world.registry.get("adder").definition.description == "Mine."
    assert world.registry.uses()["adder"].calls == 3
    assert "Add two numbers." in [world.registry.definition(one).description for one in world.registry.history("adder")]


@with_engine
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"code": WORDS.replace("input.b;", "input.b")[:-1]}, "code"),
        ({"code": WORDS, "cases": (Case({"a": 1, "b": 2}, 4),)}, "cases[0]"),
        ({"code": "export default () => { throw new Error('no') }"}, "cases[0]"),
        ({"code": "import fs from 'node:fs'; export default () => fs.readdirSync('/')"}, "code"),
    ],
)
async def test_7_what_does_not_compile_or_pass_its_cases_is_not_there(
    tmp_path: Path, engine: Deno, changes: dict[str, Any], field: str
) -> None:
    """Anything was deployed, and failed with whoever called it."""
    world = CapabilityWorld(tmp_path, sandbox=engine)
    with pytest.raises(DefinitionRefused) as refused:
        await world.registry.deploy(adder(**changes), OWNER)
    assert field in [fault.field for fault in refused.value.faults]
    assert world.registry.all() == []


@with_engine
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("export default () => { for (;;) {} }", "time"),
        ("export default async () => (await fetch('http://127.0.0.1:1/')).status", "exception"),
        ("export default async () => (await fetch('https://example.com/')).status", "exception"),
        ("export default () => Deno.env.toObject()", "exception"),
    ],
)
async def test_7_no_call_has_all_the_time_the_network_or_our_secrets(
    engine: Deno, code: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There was no limit of time, the network was open, and secrets stood in the code."""
    monkeypatch.setenv("PLANTED_SECRET", "hunter2")
    ran = await engine.run(Job(code, {}, limits=Limits(seconds=1.0)))
    assert ran.fault is not None
    assert ran.fault.kind == kind
    assert "hunter2" not in repr(ran)


async def test_7_the_list_is_whole_and_a_search_in_chinese_works_with_and_without_a_model(tmp_path: Path) -> None:
    """One page of the list was all that was ever seen; English alone was understood; without the model nothing was."""
    model = CountingEmbedder()
    model.down = True
    indexes = Indexes(tmp_path / "index", model, SystemClock())
    catalog = Catalog(CapabilitySearch(indexes.open("capabilities")), most_paged=24)
    world = CapabilityWorld(tmp_path)
    await deployed(world, 3, description="Look up flights.")
    tools = [replace(tool, name=f"{tool.name}_{n}") for tool in world.others.tools for n in range(400)]
    catalog.put("self-made", tools)
    assert len(catalog.registry) == 1200
    assert len(await catalog.find("明天的航班", READER, 8)) == 8
    indexes.close()


def create(code: str, **more: Any) -> Reply:
    given = {
        "name": "sum_of_two",
        "description": "Add two numbers.",
        "schema": adder().parameters,
        "code": code,
        "cases": [{"arguments": {"a": 1, "b": 2}, "expected": 3}],
        **more,
    }
    return Reply(calls=(ToolCall("capability_create", given),))


@with_engine
async def test_10_what_failed_adds_no_tool_what_was_made_is_called_at_once_and_the_description_is_true(
    tmp_path: Path,
) -> None:
    """A failed one left a ghost behind, a good one had to be searched for, and the description asked for what the
    runtime forbids."""
    async with Conversation(tmp_path, EMBEDDING__MODEL="off") as chat:
        chat.model(
            without_tools("[]"),
            on_user("加法", call("capability_search", query="造个工具 make a tool", limit=3)),
            on_result("capability_create", create("export default () => 4")),
            on_result("应该得到", create(SHAPE.replace("…", "return input.a + input.b"))),
            on_result("还没有执行", ""),
            on_result("做好了", call("sum_of_two", a=3, b=4)),
            on_result("7", "是七。"),
        )
        await chat.say("写个做加法的工具，算三加四")
        assert SHAPE in chat.asked.raw.decode()
        assert "sum_of_two" not in chat.asked.tools
        assert await chat.say("确认") == ["是七。"]
        made, called = chat.server.requests[-2:]
        assert "sum_of_two" in made.tools
        assert called.tools == made.tools


@with_engine
async def test_17_no_code_is_deployed_before_a_person_has_seen_all_of_it_and_said_yes(tmp_path: Path) -> None:
    """What the model wrote ran at once."""
    long = SHAPE.replace("…", f"const text = '{'长' * 900}';\n  /* 藏在最后 */ return input.a + input.b")
    async with Conversation(tmp_path, ACCESS__MEMBERS='["qq:10002"]', EMBEDDING__MODEL="off") as chat:
        chat.model(without_tools("[]"), on_user("加法", create(long)), on_result("", "好。"))
        questions = await chat.say("写个做加法的工具")
        assert "藏在最后" in "".join(questions)
        assert not chat.events(Kind.CAPABILITY_DEPLOYED)
        assert await chat.say("写个做加法的工具", "qq:10002") == ["好。"]
        await chat.later(minutes=31)
        await chat.say("确认")
        assert not chat.events(Kind.CAPABILITY_DEPLOYED)
