"""Which tools of a listing are offered, and as what: by the owner's entry and by the pins. Pure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.mcp_client.config import ServerConfig
from qingtuan.mcp_client.definition import Definition, LeftOut
from qingtuan.mcp_client.listing import Listing
from qingtuan.mcp_client.pins import Change, Pinned, changes
from qingtuan.mcp_client.resources import READING
from qingtuan.storage.files import content_hash
from qingtuan.tools.strict_json import canonical
from qingtuan.tools.tool import Tool, ToolContext, ToolResult

SLACK = 5.0
"""Seconds that a call has beyond those for starting, listing and answering: what runs out there is told better than
what is cut off here."""

Call = Callable[[str, str, ToolContext, dict[str, Any]], Awaitable[ToolResult]]
"""Given the tool's name and hash, and for whom and with what it is called."""

MAX_AT_ONCE = 10
"""Changes that are shown and approved together: more than that nobody reads."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a server offers now, and what it does not."""

    tools: tuple[Definition, ...] = ()
    changes: tuple[Change, ...] = ()
    """Tools that are withheld until the owner approves them."""
    left_out: tuple[LeftOut, ...] = ()
    """Tools that cannot be used."""
    moved: bool = False
    """Whether the command or address is another one than was approved: then nothing is offered or even started."""
    code: str = ""
    """Stands for exactly what waits for the owner's word, the first `MAX_AT_ONCE` changes of it; empty if nothing does.
    A server that changes once more between the owner's look and the word makes another one of it, and cannot foresee
    which: it is made with the random id of an event."""

    def find(self, name: str, pinned: str) -> Definition | None:
        """The tool of this name, if it is offered and still the one with this hash."""
        return next((tool for tool in self.tools if tool.name == name and tool.hash == pinned), None)


def offer_of(config: ServerConfig, listing: Listing | None, pinned: Pinned | None) -> Offer:
    """What may be offered. Without a pin nothing is: a first use pins before it asks."""
    moved = pinned is not None and pinned.identity != config.identity
    if pinned is not None and moved:
        return Offer(moved=moved, code=_code(pinned, [config.identity]))
    if listing is None or pinned is None:
        return Offer()
    wanted = [tool for tool in listing.tools if config.wants(tool.name)]
    changed = changes(pinned, wanted)
    withheld = {change.tool for change in changed}
    offered = tuple(tool for tool in wanted if tool.name not in withheld)
    if listing.resources and config.wants(READING.name) and all(tool.name != READING.name for tool in listing.tools):
        offered = (*offered, READING)
    shown = {change.tool for change in changed[:MAX_AT_ONCE]}
    code = _code(pinned, [[tool.name, tool.hash] for tool in wanted if tool.name in shown]) if shown else ""
    return Offer(offered, changed, listing.left_out, code=code)


def _code(pinned: Pinned, what: object) -> str:
    return content_hash(canonical([pinned.event, what]).encode("utf-8", "surrogatepass"))[:6]


def risk_of(config: ServerConfig, tool: Definition) -> Risk:
    """What a call can do: an act, unless the owner says otherwise or trusts a server that says it only reads."""
    said = config.risk_of(tool.name)
    if said is not None:
        return said
    return Risk.READ if config.trusted and tool.read_only else Risk.ACT


@dataclass(frozen=True, slots=True)
class Calling:
    """Runs one tool. Equal for equal tools, so that an unchanged list is known as one."""

    server: str
    tool: str
    hash: str
    call: Call

    async def __call__(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        return await self.call(self.tool, self.hash, context, arguments)


def tool_of(config: ServerConfig, tool: Definition, call: Call) -> Tool:
    """A tool as the model can call it."""
    return Tool(
        name=f"{config.prefix}__{tool.name}",
        description=tool.description,
        parameters=tool.schema,
        risk=risk_of(config, tool),
        run=Calling(config.name, tool.name, tool.hash, call),
        returns=config.returns,
        core=config.core,
        foreign_words=not config.trusted,
        sends_out=not config.trusted,
        timeout=2 * config.start_timeout + config.timeout + SLACK,
        version=tool.hash,
        sentence=tool.sentence if config.trusted else None,
    )


WITHHELD = Words(
    "没有执行：这个工具和主人认可的时候不一样了。主人用 /mcp 看看，认可后才能用。",
    "Not run: this tool is not what the owner approved. It can be used once the owner has looked at it with /mcp.",
)
"""What is said to a call of a tool that changed or is gone."""
