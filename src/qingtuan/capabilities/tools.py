"""The tools by which the model reaches tools that are not in front of it."""

from __future__ import annotations

from typing import Annotated

from qingtuan.capabilities.catalog import Catalog
from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.messages import Origin
from qingtuan.tools.tool import EVERYONE, Tool, ToolContext, ToolResult, tool, wire_name

_MOST = 20
_LINE = 200
"""Characters of a description in a hit: the whole of it comes with the tool itself."""


class CapabilityTools:
    """`tools_of` gives them."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    @tool(
        risk=Risk.READ,
        returns="own",
        roles=EVERYONE,
        exempt=frozenset({"limit"}),
        about=Words("找别的工具：座位、天气、文件……", "find more tools: seats, weather, files…"),
    )
    async def capability_search(
        self,
        context: ToolContext,
        query: Annotated[str, "what it should do, in a few words"],
        limit: Annotated[int, f"1 to {_MOST}"] = 8,
    ) -> ToolResult:
        """Find more tools (seats, weather, files…) when none here does what is asked. Found ones can be called next."""
        found = await self._catalog.find(query, context.reader, min(max(limit, 1), _MOST))
        makes = any(tool.name == "capability_create" for tool in found)
        lines = [_FOUND.say(context.language), *(_line(tool) for tool in found)] if found else []
        lines += [words.say(context.language) for words in self._catalog.missing(context.reader)]
        if not found:
            lines.append(_NOTHING.say(context.language))
        if not makes and self._catalog.registry.find("capability_create", context.reader) is not None:
            lines.append(_MAKE.say(context.language))
        origin = Origin.TOOL if any(tool.foreign_words for tool in found) else None
        return ToolResult("\n".join(lines), {"found": [wire_name(tool.name) for tool in found]}, origin=origin)


def _line(found: Tool) -> str:
    description = " ".join(found.description.split())
    cut = description if len(description) <= _LINE else f"{description[: _LINE - 1]}…"
    return f"- {wire_name(found.name)}: {cut}"


_FOUND = Words("找到了，现在可以直接调用：", "Found; they can be called now:")
_MAKE = Words(
    "都不合适的话，可以自己写一个：搜「造个工具」。",
    "If none of these will do, you can write one: search for “make a tool”.",
)
_NOTHING = Words(
    "没有找到能做这件事的工具。换个说法再找一次，或者照实告诉对方做不了。",
    "No tool does that. Search once more in other words, or tell the person that it cannot be done.",
)
