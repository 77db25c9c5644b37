"""`python -m peers.conformance_client ADDRESS`: what the conformance suite runs as the client.

Does what any host does: takes the list and calls each tool, with arguments that fit, through our client. The suite's
server sees the rest. Two scenarios want more, and say so in their tools or in the environment.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from peers.client import LOGIN, Client, Person, client, log_in
from qingtuan.errors import QingtuanError
from qingtuan.tools.tool import ToolResult

_DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""What the suite takes for the address of a document that describes a client."""
_LOGINS = 2
"""Times that the owner logs in once more for one call."""

Calls = Iterator[tuple[str, dict[str, Any]]]

_OF_TYPE: Mapping[str, Any] = {"string": "text", "number": 1, "integer": 1, "boolean": True, "array": [], "object": {}}


def sample(schema: Mapping[str, Any]) -> Any:
    """A value that fits a simple schema; None where it says too little."""
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("type") == "object":
        properties = schema.get("properties") or {}
        found = {name: sample(part) for name, part in properties.items() if isinstance(part, Mapping)}
        return {name: value for name, value in found.items() if value is not None}
    return _OF_TYPE.get(schema.get("type", ""))


def calls(tools: Mapping[str, Mapping[str, Any]], context: Mapping[str, Any]) -> Calls:
    """The calls to make of tools with these parameters: those that the suite names in its context, else one of each.

    `json_schema_echo` is sent what the client made of the schema of `json_schema_2020_12_tool`.
    """
    if "toolCalls" in context:
        yield from ((call["name"], call["arguments"]) for call in context["toolCalls"])
        return
    for name, parameters in tools.items():
        if name == "json_schema_echo":
            yield name, {"schema": tools["json_schema_2020_12_tool"]}
        else:
            yield name, sample(parameters)


def entry(url: str, context: Mapping[str, Any], scenario: str) -> dict[str, Any]:
    """What the owner writes into `mcp.json`: the address, and the registration that the suite says was made by hand."""
    if "client_id" in context:
        secret = {"client_secret": context["client_secret"]} if "client_secret" in context else {}
        return {"url": url, "oauth": {"client_id": context["client_id"], **secret}}
    if scenario == "auth/basic-cimd":
        return {"url": url, "oauth": {"client_id": _DOCUMENT}}
    return {"url": url}


async def talk(url: str, context: Mapping[str, Any]) -> None:
    """Connect, list, call. A refusal is told on standard error and ends nothing."""
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    with tempfile.TemporaryDirectory() as folder:
        async with client(entry(url, context, scenario), Path(folder), Person()) as one:
            for name, arguments in calls({name: tool.parameters for name, tool in one.tools.items()}, context):
                await _call(one, name, arguments)


async def _call(one: Client, name: str, arguments: Mapping[str, Any]) -> None:
    if name not in one.tools:
        print(f"{name}: not offered", file=sys.stderr)
        return
    try:
        result = await _let_in(one, name, arguments)
    except QingtuanError as error:
        print(f"{name}: {error.words.en}", file=sys.stderr)
    else:
        print(f"{name}: {result.text[:200]}", file=sys.stderr)


async def _let_in(one: Client, name: str, arguments: Mapping[str, Any]) -> ToolResult:
    """Call a tool; where the owner has to log in once more, they do, a few times."""
    for _ in range(_LOGINS):
        try:
            return await one.call(name, arguments)
        except QingtuanError as error:
            if LOGIN not in error.words.en:
                raise
            await log_in(one.servers)
    return await one.call(name, arguments)


def main() -> int:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    try:
        asyncio.run(talk(sys.argv[1], context))
    except QingtuanError as error:
        print(f"no connection: {error.words.en}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
