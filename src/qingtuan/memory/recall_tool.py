"""The tool over past talk."""

from __future__ import annotations

from typing import Annotated

from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.memory.recollection import Recollection
from qingtuan.messages import Origin
from qingtuan.tools.tool import EVERYONE, ToolContext, ToolResult, tool

_MOST = 50


class RecollectionTools:
    """What was said, as opposed to what is believed: the two are never mixed."""

    def __init__(self, recollection: Recollection) -> None:
        self._recollection = recollection

    @tool(
        risk=Risk.READ,
        returns="own",
        roles=EVERYONE,
        about=Words("找以前聊过的话", "find what was talked about"),
        examples=("最近有谁来找过你", "昨天我们聊了什么"),
    )
    async def memory_recall(
        self,
        context: ToolContext,
        query: str = "",
        hours: Annotated[int, "how far back; 0 for ever"] = 0,
        contact: Annotated[str, "only talk with this account or person"] = "",
        limit: int = 10,
    ) -> ToolResult:
        """Past talk of all sessions, newest of every contact first. For any question about recent activity."""
        most = max(1, min(limit, _MOST))
        found = await self._recollection.recall(context.reader, query, max(0, hours), contact, most)
        text = self._recollection.told(found, context.now, context.language)
        return ToolResult(text, origin=Origin.FORWARD if found.foreign else None)
