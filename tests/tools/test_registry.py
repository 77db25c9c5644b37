from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.errors import Bug, ToolUnknown
from qingtuan.identity.scopes import Reader, Role
from qingtuan.identity.trust import Risk
from qingtuan.messages import Space
from qingtuan.tools.registry import Registry, collect, installed
from qingtuan.tools.tool import EVERYONE, MEMBERS, OWNER_ONLY, Tool, ToolContext, ToolResult, wire_name


async def nothing(context: ToolContext, arguments: object) -> ToolResult:
    return ToolResult("")


def named(name: str, roles: frozenset[Role] = EVERYONE, risk: Risk = Risk.READ) -> Tool:
    return Tool(name=name, description=name, parameters={"type": "object"}, risk=risk, run=nothing, roles=roles)


def reader(role: Role) -> Reader:
    return Reader("owner" if role is Role.OWNER else "qq-2", role, Space("private", "qq:2"))


TOOLS = (named("remember", MEMBERS), named("memory_search"), named("wipe", OWNER_ONLY, Risk.ACT))


def test_everybody_is_shown_what_they_may_use_in_the_order_of_the_registry() -> None:
    registry = Registry(TOOLS)
    shown = {role: [tool.name for tool in registry.allowed(reader(role))] for role in Role}
    assert shown[Role.OWNER] == ["remember", "memory_search", "wipe"]
    assert shown[Role.MEMBER] == ["remember", "memory_search"]
    assert shown[Role.GUEST] == ["memory_search"]


@given(st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_the_order_is_that_of_arrival(names: list[str]) -> None:
    registry = Registry(map(named, names))
    assert [tool.name for tool in registry] == names
    assert [tool.name for tool in registry.adding([named("z")])] == [*names, "z"]
    assert len(registry) == len(names)


def test_what_one_is_not_shown_cannot_be_called_and_looks_like_nothing() -> None:
    registry = Registry(TOOLS)
    assert registry.get("wipe", reader(Role.OWNER)).name == "wipe"
    with pytest.raises(ToolUnknown) as hidden:
        registry.get("wipe", reader(Role.MEMBER))
    with pytest.raises(ToolUnknown) as missing:
        Registry(TOOLS[:2]).get("wipe", reader(Role.MEMBER))
    assert hidden.value.say("zh") == missing.value.say("zh")


def test_near_names_are_given_and_only_permitted_ones() -> None:
    registry = Registry((*TOOLS, named("memory_seal", OWNER_ONLY)))
    with pytest.raises(ToolUnknown) as unknown:
        registry.get("memory_serch", reader(Role.GUEST))
    assert "memory_search" in unknown.value.say("zh")
    assert "memory_seal" not in unknown.value.say("en")
    with pytest.raises(ToolUnknown, match="capability_search"):
        registry.get("zzzz" * 10_000 + "\ud800", reader(Role.GUEST))


def test_a_setting_opens_a_tool_to_a_role() -> None:
    registry = Registry(TOOLS, {"wipe": frozenset({Role.MEMBER})})
    assert registry.get("wipe", reader(Role.MEMBER)).name == "wipe"
    assert registry.granted("wipe") == {Role.MEMBER}
    assert registry.granted("remember") == frozenset()
    with pytest.raises(ToolUnknown):
        registry.get("wipe", reader(Role.GUEST))
    assert registry.adding([named("x")]).granted("wipe") == {Role.MEMBER}


def test_no_two_tools_share_a_name() -> None:
    with pytest.raises(Bug, match="remember"):
        Registry((*TOOLS, named("remember")))
    with pytest.raises(Bug):
        Registry([named("服务__查询"), named(wire_name("服务__查询"))])


def test_a_tool_with_an_odd_name_is_found_under_both() -> None:
    odd = named("服务__查询")
    registry = Registry([odd])
    assert registry.get(odd.spec.name, reader(Role.GUEST)) is odd
    assert registry.get("服务__查询", reader(Role.GUEST)) is odd


def test_a_broken_plug_in_costs_its_own_tools_and_nothing_else() -> None:
    def broken() -> Iterable[Tool]:
        raise ImportError("no module named soil")

    def greedy() -> Iterable[Tool]:
        return [named("mine"), named("remember")]

    collected = collect({"built in": lambda: TOOLS, "broken": broken, "greedy": greedy, "good": lambda: [named("ok")]})
    assert [tool.name for tool in collected.tools] == ["remember", "memory_search", "wipe", "ok"]
    assert [fault.say("zh") for fault in collected.faults] == [
        "插件 broken 的工具用不了：no module named soil",
        "插件 greedy 的工具用不了：remember exists already",
    ]


def test_plug_ins_come_in_by_their_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "garden.py").write_text(
        "from qingtuan.identity.trust import Risk\n"
        "from qingtuan.tools.tool import EVERYONE, ToolContext, ToolResult, tool\n"
        "@tool(risk=Risk.READ, roles=EVERYONE)\n"
        "async def soil(context: ToolContext, bed: int) -> ToolResult:\n"
        "    '''How wet the soil is.'''\n"
        "    return ToolResult('wet')\n"
        "def tools(): return [soil]\n"
    )
    info = tmp_path / "garden-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: garden\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[qingtuan.tools]\ngarden = garden:tools\nmissing = nowhere:tools\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    collected = collect(installed())
    assert "soil" in [tool.name for tool in collected.tools]
    assert any("missing" in fault.say("en") for fault in collected.faults)
