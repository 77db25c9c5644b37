from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from qingtuan.capabilities.working_set import working_set
from qingtuan.identity.scopes import Reader, Role
from qingtuan.identity.trust import Risk
from qingtuan.messages import Space
from qingtuan.tools.registry import Registry
from qingtuan.tools.tool import EVERYONE, OWNER_ONLY, Tool, ToolContext, ToolResult, wire_name

OWNER = Reader("owner", Role.OWNER, Space("private", "cli:local"))
GUEST = Reader("qq-3", Role.GUEST, Space("private", "qq:3"))


async def nothing(context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
    return ToolResult("")


TOOL = Tool(name="", description="", parameters={}, risk=Risk.READ, run=nothing, roles=OWNER_ONLY)
CORE = [replace(TOOL, name=name, roles=EVERYONE) for name in ("remember", "capability_search")]
PAGED = [replace(TOOL, name=f"server__tool_{n}", core=False) for n in range(8)]
REGISTRY = Registry([PAGED[0], *CORE, *PAGED[1:]])
NAMES = [tool.name for tool in (*CORE, *PAGED)]
histories = st.lists(st.sampled_from([*NAMES, "gone__away"]), max_size=40)


def names(history: list[str], limit: int, reader: Reader = OWNER, registry: Registry = REGISTRY) -> list[str]:
    return [tool.name for tool in working_set(history, registry, reader, limit)]


def model(history: list[str], limit: int) -> list[str]:
    """The same by the words of the specification, without a thought for cost."""
    paged = [name for name in history if name.startswith("server__")]
    staying: list[str] = []
    for name in reversed(paged):
        if name not in staying and len(staying) < limit:
            staying.append(name)
    return ["remember", "capability_search", *sorted(staying, key=paged.index)]


@given(histories, st.integers(0, 9))
def test_core_tools_then_those_that_were_brought_in_by_first_appearance(history: list[str], limit: int) -> None:
    assert names(history, limit) == model(history, limit)
    assert names(list(history), limit) == names(history, limit)


@given(histories, histories)
def test_while_nothing_leaves_what_follows_only_adds_at_the_end(history: list[str], more: list[str]) -> None:
    before, after = names(history, 8), names([*history, *more], 8)
    assert after[: len(before)] == before


def test_what_was_mentioned_again_stays_and_the_rest_leaves() -> None:
    assert names(["server__tool_0", "server__tool_1", "server__tool_0", "server__tool_2"], 2) == [
        "remember", "capability_search", "server__tool_0", "server__tool_2",
    ]  # fmt: skip


def test_nobody_is_shown_what_they_may_not_call() -> None:
    assert names(["server__tool_0"], 8, GUEST) == ["remember", "capability_search"]


def test_names_of_other_scripts_come_back_from_the_wire() -> None:
    registry = Registry([replace(PAGED[0], name="图书馆 server__查座位")])
    assert names([wire_name("图书馆 server__查座位")], 8, registry=registry) == ["图书馆 server__查座位"]


def test_of_ten_thousand_only_the_named_ones_are_looked_at() -> None:
    many = Registry([*CORE, *(replace(PAGED[0], name=f"server__tool_{n}") for n in range(10_000))])
    assert names(["server__tool_9999"], 24, registry=many) == ["remember", "capability_search", "server__tool_9999"]
