"""The checks on the reference server tell what is wrong, and nothing stops them."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from peers import everything
from peers.checks import Check
from peers.client import Client, Person, client

SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("poor")

@server.tool()
def echo(message: str) -> str:
    return "something else"

@server.tool(name="get-sum")
def get_sum(a: float, b: float) -> float:
    return a + b

server.run()
"""


async def endless(_: Client) -> None:
    await asyncio.Event().wait()


async def test_a_check_sees_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a server that does little of what the reference server does, and one thing wrong."""
    script = tmp_path / "poor.py"
    script.write_text(SERVER, "utf-8")
    looks = (
        everything.calls_with_numbers,
        everything.tells_a_failure_in_the_words_of_the_server,
        everything.calls_a_tool,
        everything.lists_its_tools,
        everything.keeps_a_picture,
    )
    async with client({"command": sys.executable, "args": [str(script)]}, tmp_path, Person()) as one:
        seen = [await everything._look(look, one) for look in looks]
        monkeypatch.setattr(everything, "_PATIENCE", 0.01)
        late = await everything._look(endless, one)
    assert [check.state for check in seen] == ["passed", "passed", "failed", "failed", "failed"]
    assert "something else" in seen[2].why
    assert "get-tiny-image" in seen[3].why
    assert late == Check("endless", "failed", "no end within 0.01 s")


async def test_a_server_that_does_not_start_is_one_failure(tmp_path: Path) -> None:
    (check,) = await everything._looked_at({"command": str(tmp_path / "nothing")}, (everything.calls_a_tool,))
    assert (check.name, check.state) == ("connects", "failed")
    assert "no command" in check.why
