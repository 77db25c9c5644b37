"""A look at one server from outside: start it, list its tools, end it. Nothing is pinned, cached or offered."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from qingtuan.clock import Clock
from qingtuan.errors import ToolFailed
from qingtuan.language import Words
from qingtuan.mcp_client.config import ServerConfig
from qingtuan.mcp_client.connection import Told, connected
from qingtuan.mcp_client.definition import Definition
from qingtuan.mcp_client.failures import Broken, Garbled, TimedOut, reason_of
from qingtuan.mcp_client.grants import Lent
from qingtuan.mcp_client.journal import Journal
from qingtuan.mcp_client.listing import Listing, listing_of
from qingtuan.mcp_client.offer import Offer, offer_of
from qingtuan.mcp_client.pins import Pin, Pinned


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen."""

    config: ServerConfig
    offer: Offer = Offer()  # noqa: RUF009 (frozen)
    server: str = ""
    """Its own name and version."""
    error: Words | None = None
    """Why nothing could be seen."""


async def look(
    config: ServerConfig, pinned: Pinned | None, clock: Clock, logs: Path, grants: Lent | None = None
) -> Look:
    """Look at a server. One whose command or address is not the approved one is not started. `grants`: what lets us in
    where the owner logged in."""
    offer = offer_of(config, None, pinned)
    if offer.moved:
        return Look(config, offer)
    journal = Journal(logs / f"mcp-{config.name}.log", clock, config.secrets)
    try:
        connection = await connected(config, clock, journal, Told(lambda: None, lambda _: None, grants=grants))
        try:
            async with asyncio.timeout(config.start_timeout):
                listed = await connection.tools()
            resources = connection.has_resources
        finally:
            await connection.close()
    except (Broken, TimedOut, Garbled, ToolFailed) as error:
        return Look(config, error=reason_of(error).whole)
    except TimeoutError:
        return Look(config, error=TimedOut().words)
    found = await asyncio.to_thread(listing_of, listed.raws, connection.server, listed.more, prefix=config.prefix)
    listing = replace(found, resources=resources)
    return Look(config, offer_of(config, listing, pinned or _as_seen(config, listing)), listing.server)


def _as_seen(config: ServerConfig, listing: Listing) -> Pinned:
    """A server that was never used is, for a look, as it is now."""
    return Pinned(config.identity, config.shown, {tool.name: _pin(tool) for tool in listing.tools})


def _pin(tool: Definition) -> Pin:
    return Pin(tool.hash, tool.description, "")
