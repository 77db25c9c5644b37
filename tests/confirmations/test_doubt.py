"""Whether an act may have been done already: by what became of the same call before."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from qingtuan.confirmations.doubt import in_doubt
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.identity.trust import Risk
from qingtuan.messages import Space
from qingtuan.tools.tool import Tool, ToolContext, ToolResult

SPACE = Space("private", "cli:local")
SCHEMA = {"type": "object", "properties": {"seat": {"type": "string"}, "row": {"type": "integer"}}}


async def nothing(context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
    return ToolResult("")


BOOK = Tool(name="book", description="", parameters=SCHEMA, risk=Risk.ACT, run=nothing)
_numbers = count(1)


def ran(log: Log, status: str, arguments: str = '{"seat":"A1"}', *, session: str = "s", name: str = "book") -> None:
    number = next(_numbers)
    place = Place(session, SPACE, f"turn_{number}", "owner")
    log.append(Kind.TOOL_STARTED, place, {"call": f"c{number}", "name": name, "arguments": arguments})
    log.append(Kind.TOOL_FINISHED, place, {"call": f"c{number}", "name": name, "status": status})


def doubt(log: Log, tool: Tool = BOOK, session: str = "s", **arguments: Any) -> bool:
    return in_doubt(log, session, tool, arguments or {"seat": "A1"})


def test_nothing_before_is_no_doubt(log: Log) -> None:
    assert not doubt(log)


@pytest.mark.parametrize("status", ["ok", "failed", "refused", "waiting"])
def test_a_known_outcome_is_none(log: Log, status: str) -> None:
    ran(log, status)
    assert not doubt(log)


def test_an_unknown_one_is_one_for_the_very_same_call_in_the_session(log: Log) -> None:
    ran(log, "unknown", '{"row": 2, "seat": "A1"}')
    assert doubt(log, seat="A1", row=2), "however the JSON was written"
    assert not doubt(log, seat="A1")
    assert not doubt(log, seat="A2", row=2)
    assert not doubt(log, session="other", seat="A1", row=2)
    assert not doubt(log, Tool(name="other", description="", parameters=SCHEMA, risk=Risk.ACT, run=nothing))


def test_the_last_outcome_counts(log: Log) -> None:
    ran(log, "unknown")
    ran(log, "refused")
    ran(log, "waiting")
    ran(log, "ok", '{"seat":"B1"}')
    assert doubt(log)
    ran(log, "failed")
    assert not doubt(log)
    ran(log, "unknown")
    assert doubt(log)


def test_a_tool_with_a_name_of_its_own_on_the_wire_is_known_by_both(log: Log) -> None:
    named = Tool(name="图书馆.约座", description="", parameters=SCHEMA, risk=Risk.ACT, run=nothing)
    ran(log, "unknown", name=named.spec.name)
    assert doubt(log, named)


def test_arguments_that_the_tool_does_not_take_any_more_are_not_the_same(log: Log) -> None:
    ran(log, "unknown", '{"seat": 3}')
    ran(log, "unknown", "cut o")
    assert not doubt(log)
