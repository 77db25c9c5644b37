"""What programs that come by MCP may read, leave and ask, put together from the parts of an instance."""

from __future__ import annotations

from qingtuan.app.memory import Remembering
from qingtuan.confirmations.inquiry import Asks
from qingtuan.servers.mcp.ports import Ports
from qingtuan.servers.mcp.service import Service
from qingtuan.turn.kit import Kit


def mcp_service_of(kit: Kit, parts: Remembering, asks: Asks) -> Service:
    """The service, for all ways by which they come."""
    return Service(
        Ports(
            kit=kit,
            memory=parts.memory,
            notes=parts.notes,
            recollection=parts.recollection,
            asks=asks,
        )
    )
