"""A friendly server: seats of a library. Over stdio, or over HTTP with a port as its argument."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    BlobResourceContents,
    EmbeddedResource,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import Field

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
READS = ToolAnnotations(read_only_hint=True)
server = MCPServer("seats", version="1.2")


@server.tool(annotations=READS)
async def find_seats(date: Annotated[str, Field(description="a day")], quiet: bool = False) -> dict[str, Any]:
    """Find free seats."""
    return {"seats": [{"seat_id": "A12", "quiet": quiet, "date": date}]}


@server.tool(
    meta={"qingtuan/sentence": {"zh": "要预约：{date:day}，座位 {seat_id}。", "en": "Book {seat_id} on {date:day}."}}
)
async def reserve_seat(seat_id: str, date: str) -> str:
    """Book a seat."""
    note(f"reserve {seat_id} {date}")
    return f"booked {seat_id} on {date}"


@server.tool()
async def fail(why: str) -> str:
    """Always fail."""
    raise ToolError(why)


@server.tool(annotations=READS)
async def slow(context: Context, seconds: float) -> str:
    """Take some time, and tell how far it is."""
    note("slow began")
    try:
        for step in range(4):
            await context.report_progress(step, 4, f"step {step}")
            await asyncio.sleep(seconds / 4)
    except asyncio.CancelledError:
        note("slow cancelled")
        raise
    return "slow is done"


@server.tool(annotations=READS, structured_output=False)
async def look() -> list[Any]:
    """Everything that an answer can hold."""
    return [
        TextContent(type="text", text="a picture:"),
        Image(data=PNG, format="png"),
        EmbeddedResource(
            type="resource", resource=TextResourceContents(uri="memo://note", text="a note", mime_type="text/plain")
        ),
        EmbeddedResource(
            type="resource",
            resource=BlobResourceContents(
                uri="file:///papers/plan%20a.pdf",
                blob=base64.b64encode(b"%PDF-1.7").decode(),
                mime_type="application/pdf",
            ),
        ),
        ResourceLink(
            type="resource_link", name="rules", uri="https://library.example/rules", description="house rules"
        ),
    ]


@server.tool(annotations=READS)
async def variables() -> str:
    """Show the variables of this program."""
    return "\n".join(f"{name}={value}" for name, value in os.environ.items())


@server.tool()
async def die() -> str:
    """End at once, before anything is answered."""
    note("die")
    os._exit(3)


def note(text: str) -> None:
    """Write down what was done, where a test can read it."""
    if path := os.environ.get("NOTES"):
        with Path(path).open("a") as file:
            file.write(f"{text}\n")


if __name__ == "__main__":
    note("started")
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
