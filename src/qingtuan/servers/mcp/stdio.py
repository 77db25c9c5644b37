"""The protocol on the standard streams, for a client that starts us itself (Claude Code, Cursor)."""

from __future__ import annotations

from qingtuan.language import Language
from qingtuan.servers.mcp.bound import Bound
from qingtuan.servers.mcp.protocol import server_of


async def speak(bound: Bound, language: Language) -> None:
    """Speak it until the client closes its end. Meanwhile nothing else gets onto standard output."""
    from mcp.server.stdio import stdio_server

    server = server_of(bound, language)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
