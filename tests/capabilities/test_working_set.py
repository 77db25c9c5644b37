"""Which tools a request carries, as a function of what its history names."""

from __future__ import annotations

import random
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
History = list[list[str]]
histories = st.lists(st.lists(st.sampled_from([*NAMES, "gone__away"]), max_size=6), max_size=20)


def names(history: History, limit: int, reader: Reader = OWNER, registry: Registry = REGISTRY) -> list[str]:
    return [tool.name for tool in working_set(history, registry, reader, limit)]


def model(history: History, limit: int) -> list[str]:
    """The same by the words of the specification, without a thought for cost."""
    mentions = [[name for name in mentioned if name.startswith("server__")] for mentioned in history]
    staying: list[str] = []
    for mentioned in reversed(mentions):
        for name in mentioned:
            if name not in staying and len(staying) < limit:
                staying.append(name)
    first = [name for mentioned in mentions for name in mentioned]
    return ["remember", "capability_search", *sorted(staying, key=first.index)]


@given(histories, st.integers(0, 9))
def test_core_tools_then_those_that_were_brought_in_by_first_appearance(history: History, limit: int) -> None:
    assert names(history, limit) == model(history, limit)
    assert names(list(history), limit) == names(history, limit)
    assert len(names(history, limit)) <= len(CORE) + limit


@given(histories, histories)
def test_while_nothing_leaves_what_follows_only_adds_at_the_end(history: History, more: History) -> None:
    before, after = names(history, 8), names([*history, *more], 8)
    assert after[: len(before)] == before


@given(histories, histories, st.integers(0, 9))
def test_what_stays_keeps_its_order_whatever_leaves(history: History, more: History, limit: int) -> None:
    before, after = names(history, limit), names([*history, *more], limit)
    assert [name for name in before if name in after] == [name for name in after if name in before]


@given(histories, st.integers(0, 20), st.integers(0, 9))
def test_what_is_compressed_takes_along_just_what_nothing_else_names(history: History, cut: int, limit: int) -> None:
    rest = history[cut:]
    assert names(rest, limit) == model(rest, limit)
    still = {name for mentioned in rest for name in mentioned} | {"remember", "capability_search"}
    assert set(names(rest, 8)) == set(names(history, 8)) & still


@given(histories, st.randoms(use_true_random=False), st.integers(0, 9))
def test_the_order_of_the_registry_has_no_part_in_it(history: History, chance: random.Random, limit: int) -> None:
    shuffled = [*PAGED]
    chance.shuffle(shuffled)
    registry = Registry([*shuffled[:4], *CORE, *shuffled[4:]])
    assert names(history, limit, registry=registry) == names(history, limit)


@given(histories, st.sets(st.integers(0, 7)), st.integers(0, 9))
def test_what_vanished_takes_no_place_and_comes_back_to_its_own(history: History, gone: set[int], limit: int) -> None:
    missing = [PAGED[number] for number in gone]
    left = Registry([*CORE, *(tool for tool in PAGED if tool not in missing)])
    absent = {tool.name for tool in missing}
    known = [[name for name in mentioned if name not in absent] for mentioned in history]
    assert names(history, limit, registry=left) == model(known, limit)
    assert names(history, limit, registry=left.adding(missing)) == model(history, limit)


def test_what_was_mentioned_again_stays_and_the_rest_leaves() -> None:
    assert names([["server__tool_0"], ["server__tool_1"], ["server__tool_0"], ["server__tool_2"]], 2) == [
        "remember", "capability_search", "server__tool_0", "server__tool_2",
    ]  # fmt: skip


def test_of_the_hits_of_one_search_the_worst_leaves_first() -> None:
    assert names([["server__tool_3", "server__tool_1", "server__tool_2"], ["server__tool_0"]], 2) == [
        "remember", "capability_search", "server__tool_3", "server__tool_0",
    ]  # fmt: skip


def test_nobody_is_shown_what_they_may_not_call() -> None:
    assert names([["server__tool_0"]], 8, GUEST) == ["remember", "capability_search"]


def test_names_of_other_scripts_come_back_from_the_wire() -> None:
    registry = Registry([replace(PAGED[0], name="图书馆 server__查座位")])
    assert names([[wire_name("图书馆 server__查座位")]], 8, registry=registry) == ["图书馆 server__查座位"]


def test_of_ten_thousand_only_the_named_ones_are_looked_at() -> None:
    many = Registry([*CORE, *(replace(PAGED[0], name=f"server__tool_{n}") for n in range(10_000))])
    assert names([["server__tool_9999"]], 24, registry=many) == ["remember", "capability_search", "server__tool_9999"]
