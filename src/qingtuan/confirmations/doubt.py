"""Whether an act may have been done already, because its last outcome is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qingtuan.errors import ArgumentsRefused
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log
from qingtuan.tools.schema import check_arguments
from qingtuan.tools.strict_json import canonical
from qingtuan.tools.tool import Tool, wire_name


def in_doubt(log: Log, session: str, tool: Tool, arguments: Mapping[str, Any]) -> bool:
    """Whether the last call of this tool with these very arguments that ran in the session was cut off, timed out
    or lost from sight. One that came to an end since, well or not, takes the doubt away."""
    finished = log.where(
        # The plus keeps SQLite from the index by kind, which would lead through everybody's calls.
        "session = ? AND +kind = ? AND json_extract(payload, '$.name') IN (?, ?)"
        " AND json_extract(payload, '$.status') IN ('ok', 'failed', 'unknown')",
        (session, Kind.TOOL_FINISHED, tool.name, wire_name(tool.name)),
    )
    wanted = canonical(arguments)
    for event in reversed(finished):
        if _arguments(log, event.place.turn, event.payload["call"], tool) == wanted:
            return bool(event.payload["status"] == "unknown")
    return False


def _arguments(log: Log, turn: str | None, call: str, tool: Tool) -> str | None:
    """The arguments of a call that ran, in their one spelling; None if the tool takes no such ones any more."""
    started = log.where(
        "turn = ? AND kind = ? AND json_extract(payload, '$.call') = ?", (turn, Kind.TOOL_STARTED, call)
    )
    try:
        return canonical(check_arguments(started[-1].payload["arguments"], tool.parameters)) if started else None
    except ArgumentsRefused:
        return None
