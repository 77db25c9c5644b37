"""What tools cost that nobody needs: the size of requests in an instance with 10 and with 10,000 capabilities."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from bench.generated_capabilities import generated_tools
from bench.instance import Asked, Model, instance
from bench.table import Row
from tests.fakes.model_server import model_process

_FEW, _MANY, _SHORT = 10, 10_000, 1_000
_HELLO = "你好"
_SEARCH = "帮我查一下明天去上海的航班"


def rows(*, short: bool) -> list[Row]:
    many = _SHORT if short else _MANY
    hello_few, search_few = _sizes(_FEW)
    hello_many, search_many = _sizes(many)
    span = f"{_FEW} → {many:,} capabilities"
    return [
        Row(f"request bytes, {span}: hello", hello_many / hello_few, "", 1.05, peers="grow, or lists of names"),
        Row(f"request bytes, {span}: after a search", search_many / search_few),
        Row(f"request after a search, {many:,} capabilities", search_many, "B"),
    ]


def _sizes(count: int) -> tuple[int, int]:
    """Bytes of system messages and tools: for a greeting, and in the request that follows a search."""
    rules: list[dict[str, object]] = [
        {"tools": False, "text": "[]"},
        {"result": "", "text": "找到了，要订哪一班？"},
        {"user": _SEARCH, "call": {"name": "capability_search", "arguments": {"query": _SEARCH}}},
        {"text": "你好。"},
    ]
    with tempfile.TemporaryDirectory() as name, model_process(Path(name), rules) as base_url:
        asked = asyncio.run(_talk(Path(name), Model(base_url, Path(name)), count))
        return asked[0].frame, asked[-1].frame


async def _talk(folder: Path, model: Model, count: int) -> list[Asked]:
    async with instance(folder / "home", model) as one:
        one.app.catalog.put("bench", generated_tools(count))
        await one.say(_HELLO)
        await one.say(_SEARCH)
        return model.turns()
