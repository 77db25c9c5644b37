"""A server is what it was at first, until the owner approves something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.errors import NotThere, ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.mcp_client.pins import Change, Pins, project
from tests.mcp_client.bench import Bench, hostile


async def test_what_changes_is_withheld_until_it_is_approved(bench: Bench, state: Path) -> None:
    entries = {"a": hostile("RugPull", trusted=True, env={"STATE": str(state)})}
    await bench.begin(entries)
    await bench.listed("a")
    assert bench.tools("a") == ["echo", "read"]
    old = bench.tool("a__echo")

    await bench.begin(entries)
    assert bench.tools("a") == ["echo", "read"]  # from the cache, nothing is started yet
    assert bench.status("a").state == "idle"
    with pytest.raises(ToolFailed, match="not what the owner approved"):
        await bench.call("a__echo")  # the start shows the new description
    assert bench.tools("a") == ["read"]
    assert (await bench.call("a__read")).text == "called read"
    changed, new = bench.status("a").withheld
    assert (changed.tool, changed.kind, changed.before, changed.schema) == ("echo", "changed", "A tool.", False)
    assert "owner's keys" in changed.after
    assert (new.tool, new.kind) == ("extra", "new")

    await bench.begin(entries)  # it stays so in another process, without a start
    assert bench.tools("a") == ["read"]
    approved = await bench.servers.approve("a", bench.status("a").code, cause=None)
    assert [change.tool for change in approved] == ["echo", "extra"]
    assert bench.tools("a") == ["echo", "read", "extra"]
    assert bench.tool("a__echo").version != old.version
    with pytest.raises(ToolFailed):
        await old.run(bench.context(), {})  # a yes to the old one is no yes to the new one
    assert (await bench.call("a__echo")).text == "called echo"


async def test_a_change_in_the_middle_is_withheld_and_the_rest_goes_on(bench: Bench) -> None:
    await bench.begin({"a": hostile("RugPullLater", trusted=True)})
    await bench.listed("a")
    echo = bench.tool("a__echo")
    assert (await bench.call("a__read")).text == "done"
    await bench.until(lambda: bench.tools("a") == ["read"])
    assert bench.status("a").withheld == (Change("echo", "changed", before="A tool.", after="Changed."),)
    with pytest.raises(ToolFailed, match="approved"):
        await echo.run(bench.context(), {})
    assert (await bench.call("a__read")).text == "done"


async def test_another_command_is_not_even_started(bench: Bench, state: Path) -> None:
    await bench.begin({"a": hostile("Plain")})
    await bench.listed("a")
    await bench.begin({"a": hostile("RugPull", env={"STATE": str(state)})})
    status = bench.status("a")
    assert (status.tools, status.state) == (0, "idle")
    assert status.moved.endswith("hostile.py Plain")
    assert status.shown.endswith("hostile.py RugPull")
    assert bench.offered["a"] == ()
    with pytest.raises(ToolFailed):
        await bench.servers.restart("a")
    assert state.stat().st_size == 0  # noqa: ASYNC240
    assert await bench.servers.approve("a", bench.status("a").code) == ()
    await bench.listed("a")
    assert bench.tools("a") == ["echo", "read"]  # they are what they were


async def test_a_key_may_change_without_an_approval(bench: Bench) -> None:
    await bench.begin({"a": hostile("Plain", env={"API_KEY": "one"})})
    await bench.listed("a")
    await bench.begin({"a": hostile("Plain", env={"API_KEY": "two"}, timeout=5)})
    await bench.listed("a")
    assert bench.tools("a") == ["echo", "read"]


async def test_a_pin_is_an_event_and_the_table_can_be_made_anew(bench: Bench) -> None:
    await bench.begin({"a": hostile("Plain")})
    await bench.listed("a")
    pins = Pins(bench.log)
    before = pins.of("a")
    assert before is not None
    assert before.tools.keys() == {"echo", "read"}
    (event,) = bench.log.of_kind(Kind.SERVER_PINNED)
    assert event.payload["approved"] is False
    bench.database.execute("DELETE FROM pinned_servers")
    assert pins.of("a") is None
    for event in bench.log.replay():
        project(bench.database, event)
    assert pins.of("a") == before


async def test_a_cache_that_is_gone_or_broken_costs_a_start(bench: Bench) -> None:
    entries = {"a": hostile("Plain")}
    await bench.begin(entries)
    await bench.listed("a")
    (cached,) = (bench.home.index / "mcp").iterdir()
    for damage in (
        cached.unlink,
        lambda: cached.write_text('{"version": 1, "tools": [5]}'),
        lambda: cached.write_text(""),
    ):
        damage()
        await bench.begin(entries)
        await bench.listed("a")
        assert bench.status("a").state == "up"


async def test_what_cannot_be_approved(bench: Bench) -> None:
    await bench.begin({"a": hostile("Plain"), "b": {**hostile("Plain"), "disabled": True}})
    await bench.listed("a")
    for name in ("a", "b", "nobody"):
        with pytest.raises(NotThere):
            await bench.servers.approve(name, "")
    assert bench.status("b").state == "off"


async def test_patterns_choose_tools_and_say_what_they_risk(bench: Bench) -> None:
    risks = {"r*": "critical", "read": "write"}
    await bench.begin(
        {
            "a": hostile("Plain", include=["e*", "read"], exclude=["echo"], risks=risks, prefix="other", core=True),
            "b": hostile("Plain", trusted=True, returns="own", timeout=7),
        }
    )
    await bench.listed("a", "b")
    (read,) = bench.offered["a"]
    assert (read.name, read.risk, read.core, read.returns) == ("other__read", "write", True, "foreign")
    assert (read.foreign_words, read.sends_out) == (True, True)
    echo = bench.tool("b__echo")
    assert (echo.risk, echo.core, echo.returns, echo.foreign_words, echo.sends_out) == (
        "act",
        False,
        "own",
        False,
        False,
    )


async def test_an_unchanged_list_is_told_once(bench: Bench) -> None:
    entries = {"a": hostile("Plain")}
    await bench.begin(entries)
    await bench.listed("a")
    bench.told.clear()
    await bench.begin(entries)
    await bench.servers.refresh("a")
    await bench.servers.restart("a")
    assert bench.told == ["a"]
