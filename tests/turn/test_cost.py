"""What a turn costs does not grow with what has happened before: no statement goes through a whole table."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from qingtuan.identity.access import MEMBER_LIMITS, AccessRules
from qingtuan.identity.scopes import Role
from qingtuan.identity.trust import Risk
from qingtuan.tools.tool import ToolContext
from tests.fakes.turns import GROUP, GUEST, MEMBER, OWNER_QQ, World, calls, in_order, says, tool_of
from tests.turn.conftest import Opener

# A scan of an index is fine where the index holds only what is open; `SCAN t` alone is the whole table.
_TABLES = "events|inbox|outbox|parts|overheard|media_files|e|i|o|p|f"
WHOLE = re.compile(rf"SCAN (?:{_TABLES})\b(?! USING (?:COVERING )?INDEX \w+_open)")


def plans(world: World, statements: set[str]) -> dict[str, list[str]]:
    """The query plan of each statement."""
    return {
        statement: [row["detail"] for row in world.database.rows(f"EXPLAIN QUERY PLAN {statement}")]
        for statement in statements
    }


async def test_no_statement_of_a_conversation_reads_a_whole_table(open_world: Opener) -> None:
    async def book(context: ToolContext, values: dict[str, Any]) -> str:
        return "约好了"

    limits = {Role.MEMBER: MEMBER_LIMITS, Role.GUEST: MEMBER_LIMITS}
    rules = AccessRules(groups=frozenset({"qq:777"}), trial=3, limits=limits)
    world = open_world(tools=(tool_of("book", book, risk=Risk.ACT),), rules=rules)
    statements: set[str] = set()
    world.database._connection.set_trace_callback(statements.add)
    for account, space in ((OWNER_QQ, None), (MEMBER, None), (GUEST, None), (OWNER_QQ, GROUP), (GUEST, GROUP)):
        await world.say("你好", account, space)
    world.model.script = in_order(calls(("book", {})), says("好的。"))
    (question,) = await world.say("约座位")
    await world.say("确认", quotes=f"p_{question.event.id}")
    world.model.script = in_order(calls(("book", {})), says("好的。"))
    await world.say("再约")
    world.clock.advance(timedelta(minutes=31))
    await world.say("好")
    await world.say("今天好热", MEMBER, GROUP, addressed=False)
    await world.say("总结上面", MEMBER, GROUP)
    await world.say("/clear")
    await world.desk.recover()
    world.database._connection.set_trace_callback(None)
    asked = {one for one in statements if one.startswith(("SELECT", "UPDATE", "WITH", "DELETE"))}
    assert len(asked) > 50
    found = plans(world, asked)
    assert {one: plan for one, plan in found.items() if any(WHOLE.search(step) for step in plan)} == {}


async def test_a_turn_runs_as_many_statements_late_as_early(open_world: Opener) -> None:
    world = open_world()
    counts = []
    for number in range(90):
        statements: list[str] = []
        world.database._connection.set_trace_callback(statements.append)
        await world.receive(f"第 {number} 句", MEMBER if number % 2 else OWNER_QQ)
        await world.queues.idle()
        counts.append(len(statements))
    world.database._connection.set_trace_callback(None)
    # Of each person separately: their counters differ.
    for own in (counts[0::2], counts[1::2]):
        assert max(own[20:]) <= max(own[5:20])
    assert max(counts[5:]) < 70


async def test_requests_stop_growing(open_world: Opener) -> None:
    world = open_world()
    sizes = []
    for number in range(250):
        await world.receive(f"第 {number} 句，平时那么长的一句话。")
        await world.queues.idle()
        sizes.append(len(world.model.wires[-1].body()))
    assert max(sizes[-80:]) <= 1.3 * max(sizes[40:60])
