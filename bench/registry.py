"""Self-made capabilities through the registry: what it costs to deploy one, to call one, and to look among many.

The sandbox's processes are counted along with our own; what runs beside the registry in an instance is not.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.capabilities import many_tools, requests
from bench.generated_capabilities import of_all_kinds
from bench.instance import Instance, Model, cpu, instance, mean, quantile, scripted_model
from bench.table import Row
from qingtuan.capabilities.definition import Definition, read
from qingtuan.capabilities.ledger import By
from qingtuan.capabilities.values import Asking
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.identity.accounts import LOCAL, OWNER
from qingtuan.messages import Space

_DEPLOYED, _CALLS, _QUERIES = 20, 40, 100
_BY = By(sure=True)
_OWNERS = Place(person=OWNER)
_CODE = "export default ({ text }: { text: string }) => text.toUpperCase();\n"


def rows() -> list[Row]:
    with scripted_model() as model, tempfile.TemporaryDirectory() as name:
        found = asyncio.run(_work(Path(name), model))
        for count in (100, 1_000):
            found += asyncio.run(_among(Path(name) / str(count), model, count))
    return found


def _definition(number: int, description: str, parameters: object) -> Definition:
    return read(
        {
            "name": f"made_{number}",
            "description": description,
            "parameters": parameters,
            "code": _CODE,
            "cases": [{"arguments": {"text": "a"}, "expected": "A"}],
        }
    )


async def _work(folder: Path, model: Model) -> list[Row]:
    """Deployments with a case each, as the owner makes them, and calls."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    async with instance(folder / "work", model) as one:
        capabilities = one.app.capabilities
        asking = Asking(one.app.kit.people.reader(LOCAL, Space("private", LOCAL)))
        await capabilities.deploy(_definition(0, "Warm up.", schema), _BY)
        began = cpu()
        for number in range(1, _DEPLOYED + 1):
            await capabilities.deploy(_definition(number, f"Make a text large, number {number}.", schema), _BY)
        deployed = (cpu() - began) / _DEPLOYED
        began, ours = cpu(), time.process_time()
        for number in range(_CALLS):
            await capabilities.run(f"made_{number % _DEPLOYED}", {"text": "hello"}, asking)
        called, alone = (cpu() - began) / _CALLS, (time.process_time() - ours) / _CALLS
    return [
        Row("a deployment with one case, CPU with git and the sandbox", 1000 * deployed, "ms"),
        Row("a call through the registry, CPU with the sandbox", 1000 * called, "ms"),
        Row("a call through the registry, CPU of our own process", 1000 * alone, "ms"),
    ]


async def _among(home: Path, model: Model, count: int) -> list[Row]:
    """Queries among so many, written down as if they had been deployed one by one, without a sandbox and git."""
    async with instance(home, model) as one:
        log = one.app.kit.record.log
        with log.transaction():
            for number, tool in enumerate(many_tools(count)):
                made = _definition(number, tool.description, tool.parameters)
                payload = {"name": made.name, "version": 1, "hash": made.hash, "definition": made.json}
                log.append(Kind.CAPABILITY_DEPLOYED, _OWNERS, {**payload, "how": "command", "waits": False, "note": ""})
        began = time.process_time()
        one.app.capabilities.offer()
        offered = time.process_time() - began
        await one.app.catalog.settle()
        took = await _queries(one, [asked.text for asked in requests(of_all_kinds(many_tools(100)))][:_QUERIES])
    return [
        Row(f"a query among {count:,} self-made capabilities, p95 CPU", 1000 * quantile(took, 0.95), "ms"),
        Row(f"a query among {count:,} self-made capabilities, mean CPU", 1000 * mean(took), "ms"),
        Row(f"offering {count:,} self-made capabilities, CPU", offered, "s"),
    ]


async def _queries(one: Instance, texts: Sequence[str]) -> list[float]:
    reader = one.app.kit.people.reader(LOCAL, Space("private", LOCAL))
    took = []
    await one.app.capabilities.query("warm up", reader, 8)  # brings the embedding model in
    for text in texts:
        began = time.process_time()
        page = await one.app.capabilities.query(text, reader, 8)
        took.append(time.process_time() - began)
        assert page.total
    return took
