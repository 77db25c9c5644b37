"""What a program wants remembered: material, until its person says yes.

Whatever becomes of it, the program is told the same. That something is known already, was said no to or falls under a
rule would tell it of what it may not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qingtuan.errors import NotAllowed
from qingtuan.events.log import Place
from qingtuan.identity.keys import Writes
from qingtuan.identity.privacy import may_write
from qingtuan.identity.scopes import Scope
from qingtuan.language import Words
from qingtuan.memory.acts import MAY_NOT_WRITE, By, Wish
from qingtuan.memory.keeping import Statement, claimed
from qingtuan.memory.wishes import candidate_of
from qingtuan.messages import Origin
from qingtuan.servers.mcp.call import Call
from qingtuan.servers.mcp.ports import Answer, Ports


@dataclass(frozen=True, slots=True)
class Remembering:
    """The tool."""

    ports: Ports

    async def remember(self, call: Call, arguments: Mapping[str, Any]) -> Answer:
        memory, by = self.ports.memory, _by(call)
        scope = Scope.of_person(call.reader.person)
        if not may_write(call.reader, scope):
            raise NotAllowed(MAY_NOT_WRITE)
        wish = Wish(
            content=arguments["content"],
            topic=arguments.get("topic", ""),
            subject=arguments.get("subject", ""),
            predicate=arguments.get("predicate", ""),
            value=arguments.get("value", ""),
            kind=arguments.get("kind", "fact"),
            how="inferred",
        )
        candidate = candidate_of(wish, by)
        direct = call.program.grant.writes is Writes.DIRECT
        if memory.withheld(Statement(claimed(candidate), "", explicit=False), scope, by) is None:
            if direct:
                await memory.keep(candidate, scope, by)
                await self.ports.kit.memory.commit(call.turn)
            else:
                reason = _FROM_PROGRAM.filled(name=call.program.name)
                memory.propose(candidate, scope, by, reason)
        if direct:
            return Answer(_NOTED.say(call.language), {"outcome": "noted"})
        return Answer(_HANDED_OVER.say(call.language), {"outcome": "handed_over"})


def _by(call: Call) -> By:
    """On whose behalf: the person's, in words that are not theirs."""
    return By(
        reader=call.reader,
        place=Place(None, call.program.space, call.turn, call.reader.person),
        cause=call.event.id,
        words="",
        said_at=call.now,
        language=call.language,
        origin=Origin.AGENT,
        via="mcp",
    )


_FROM_PROGRAM = Words("程序 {name} 要记的", "the program {name} wants it remembered")
_HANDED_OVER = Words("交上去了；记不记由本人定。", "Handed over; whether it is remembered is up to its person.")
_NOTED = Words("收下了。", "Taken.")
