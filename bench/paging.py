"""What tools cost that nobody needs: the size of requests in instances with 10 to 10,000 capabilities of all kinds."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.capabilities import Kinds, many_tools, requests
from bench.generated_capabilities import of_all_kinds
from bench.instance import Asked, Model, instance, mean
from bench.table import Row
from tests.fakes.model_server import model_process

_SIZES = (10, 100, 1_000, 10_000)
_HELLO = "你好"
_SEARCHES = 40
"""What is found differs from search to search, and so do schemas: the figure is a mean."""


def rows(*, short: bool) -> list[Row]:
    counts = _SIZES[:-1] if short else _SIZES
    queries = [one.text for one in requests(of_all_kinds(many_tools(100))) if one.kind == "purpose"][:_SEARCHES]
    hello, found = zip(*(_sizes(of_all_kinds(many_tools(count)), queries) for count in counts), strict=True)
    span = f"{counts[0]} → {counts[-1]:,} capabilities"
    return [
        Row(f"request bytes, {span}: hello", hello[-1] / hello[0], "", 1.05, peers="grow, or lists of names"),
        Row(f"request bytes, {span}: after a search", found[-1] / found[0], "", 1.05),
        *(
            Row(f"request for hello, {count:,} capabilities", size, "B")
            for count, size in zip(counts, hello, strict=True)
        ),
        *(
            Row(f"request after a search, {count:,} capabilities", size, "B")
            for count, size in zip(counts, found, strict=True)
        ),
    ]


def _sizes(kinds: Kinds, queries: Sequence[str]) -> tuple[float, float]:
    """Bytes of system messages and tools: for a greeting, and in the request that follows a search."""
    rules: list[Mapping[str, object]] = [
        {"tools": False, "text": "[]"},
        {"result": "", "text": "找到了，要用哪一个？"},
        *({"user": query, "call": {"name": "capability_search", "arguments": {"query": query}}} for query in queries),
        {"text": "你好。"},
    ]
    with tempfile.TemporaryDirectory() as name, model_process(Path(name), rules) as base_url:
        hello, *found = asyncio.run(_talk(Path(name), Model(base_url, Path(name)), kinds, queries))
    return hello.frame, mean([asked.frame for asked in found])


async def _talk(folder: Path, model: Model, kinds: Kinds, queries: Sequence[str]) -> list[Asked]:
    """The request of the greeting, and the last one of each search: all in sessions of their own."""
    async with instance(folder / "home", model) as one:
        for source, tools in kinds.items():
            one.app.catalog.put(source, tools.values())
        await one.say(_HELLO)
        last = [model.turns()[-1]]
        for number, query in enumerate(queries):
            await one.say(query, session=f"search {number}")
            last.append(model.turns()[-1])
        return last
