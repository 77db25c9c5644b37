"""Code in the sandbox: how long a call takes, and what a thousand of them leave behind."""

from __future__ import annotations

import asyncio
import os
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.instance import quantile
from bench.starting import resident
from bench.table import Row, Skipped
from qingtuan.capabilities.sandbox.base import Job
from qingtuan.capabilities.sandbox.deno import AT_ONCE, Deno
from qingtuan.capabilities.sandbox.engine import find_program

_CODE = """
interface Reading { hour: number; degrees: number }

export default async function (input: { city: string; readings: Reading[] }) {
  const degrees = input.readings.map((one) => one.degrees);
  const bytes = new TextEncoder().encode(JSON.stringify(input));
  return {
    city: input.city,
    warmest: Math.max(...degrees),
    mean: degrees.reduce((sum, one) => sum + one, 0) / degrees.length,
    version: new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex(),
  };
}
"""
_JOB = Job(_CODE, {"city": "北京", "readings": [{"hour": hour, "degrees": hour % 7} for hour in range(24)]})
_SETTLE = 0.25
"""Seconds in which workers for the next calls become warm."""


@dataclass(frozen=True, slots=True)
class _Held:
    """What this process holds."""

    processes: int
    handles: int
    memory: float
    """MiB."""
    files: int

    @classmethod
    def now(cls, folder: Path) -> _Held:
        children = [
            child for thread in Path("/proc/self/task").iterdir() for child in (thread / "children").read_text().split()
        ]
        handles = len(list(Path("/proc/self/fd").iterdir()))
        return cls(len(children), handles, resident(os.getpid()), sum(1 for _ in folder.rglob("*")))


def rows(*, short: bool) -> list[Row]:
    if find_program() is None:
        raise Skipped("the engine of the sandbox is not installed (the extra `sandbox`)")
    if not Path("/proc/self/task").is_dir():
        raise Skipped("processes are counted in /proc")
    with tempfile.TemporaryDirectory() as name:
        single = asyncio.run(_single(Path(name), 10 if short else 60))
        return [*single, *asyncio.run(_many(Path(name), 100 if short else 1_000))]


async def _single(folder: Path, count: int) -> list[Row]:
    """Calls one after the other."""
    cold, cpu = [], []
    for _ in range(count):
        sandbox = Deno(folder, warm=0)
        await asyncio.to_thread(sandbox.walls)
        began, used = time.monotonic(), _cpu()
        await _called(sandbox)
        cold.append(1000 * (time.monotonic() - began))
        await sandbox.close()
        cpu.append(1000 * (_cpu() - used))
    sandbox = Deno(folder)
    await _called(sandbox)
    warm = []
    for _ in range(count):
        await asyncio.sleep(_SETTLE)
        began = time.monotonic()
        await _called(sandbox)
        warm.append(1000 * (time.monotonic() - began))
    await sandbox.close()
    return [
        *_spread("sandbox: cold call", cold),
        *_spread("sandbox: CPU of a call, its process from start to end", cpu),
        *_spread("sandbox: warm call", warm),
    ]


async def _many(folder: Path, count: int) -> list[Row]:
    """Calls that come faster than they can be done."""
    took: list[float] = []

    async def call(sandbox: Deno) -> None:
        async with room:
            began = time.monotonic()
            await _called(sandbox)
            took.append(1000 * (time.monotonic() - began))

    room = asyncio.Semaphore(AT_ONCE)
    sandbox = Deno(folder)
    await asyncio.gather(*(call(sandbox) for _ in range(20)))  # what is loaded once is loaded
    await sandbox.close()
    before = _Held.now(folder)
    took.clear()
    sandbox = Deno(folder)
    began, used = time.monotonic(), _cpu()
    await asyncio.gather(*(call(sandbox) for _ in range(count)))
    seconds = time.monotonic() - began
    await sandbox.close()
    cpu = 1000 * (_cpu() - used) / count
    after = _Held.now(folder)
    name = f"sandbox, {count:,} calls, {AT_ONCE} at a time"
    return [
        Row(f"{name}: calls a second", count / seconds, "/s", better="higher"),
        *_spread(f"{name}: a call", took),
        Row(f"{name}: CPU of one", cpu, "ms"),
        Row(f"{name}: processes left", after.processes - before.processes, target=0),
        Row(f"{name}: open files left", after.handles - before.handles, target=0),
        Row(f"{name}: files left", after.files - before.files, target=0),
        Row(f"{name}: RSS grown by", after.memory - before.memory, "MiB", 5),
    ]


async def _called(sandbox: Deno) -> None:
    ran = await sandbox.run(_JOB)
    if ran.fault is not None:
        raise AssertionError(ran.fault)


def _spread(name: str, values: list[float]) -> list[Row]:
    return [Row(f"{name}, p50", quantile(values, 0.5), "ms"), Row(f"{name}, p95", quantile(values, 0.95), "ms")]


def _cpu() -> float:
    """Seconds of this process and of all that it waited for."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )
