"""Backing up and restoring a data folder that is in use: 1,000 pages and 20,000 events, and 100,000 pages.

Also what others notice meanwhile: how long no page can be written, and how long nothing else gets its turn.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bench.instance import Instance, Model, cpu, instance, paraphrases, scripted_model
from bench.many_beliefs import write_pages
from bench.table import Row
from qingtuan.backups.backup import Plan, Taken, take
from qingtuan.backups.restoring import staged
from qingtuan.clock import SystemClock
from qingtuan.events.kinds import Kind
from qingtuan.home import Home

LEFT_OUT = ("backup, 100,000 pages",)
_EVENTS = 20_000
_MANY = 100_000
_SOMEBODY = ("-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "gc.auto=0")
_TICK = 0.001
_T = TypeVar("_T")


def rows(*, short: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as name, scripted_model() as model:
        found = asyncio.run(_usual(Path(name), model))
        return found if short else [*found, *asyncio.run(_many(Path(name)))]


@dataclass(frozen=True, slots=True)
class _Cost:
    cpu: float
    seconds: float
    stall: float
    """Seconds for which nothing else in the process got its turn, at the longest."""


async def _usual(folder: Path, model: Model) -> list[Row]:
    home = Home(folder / "usual" / "home")
    home.prepare()
    write_pages(home.wiki)
    async with instance(home.path, model, EMBEDDING__MODEL="off") as one:
        _write_events(one)
        size = sum(path.stat().st_size for path in home.path.rglob("*") if path.is_file())
        taken, cost, still = await _backed_up(one, folder / "usual.tar.gz")
    there = Home(folder / "restored")
    there.backups.mkdir(parents=True)
    began, started = cpu(), time.monotonic()
    async with staged(taken.path, there, SystemClock(), lambda *_: None):
        restored = cpu() - began, time.monotonic() - started
    what = "1,000 pages, 20,000 events"
    return [
        Row(f"data folder, {what}", size / 1e6, "MB"),
        Row(f"backup, {what}: the archive", taken.size / 1e6, "MB"),
        Row(f"backup, {what}: CPU, checking included", cost.cpu, "s", 5),
        Row(f"backup, {what}: until it is done", cost.seconds, "s"),
        Row(f"backup, {what}: no page can be written for", still, "s", 1),
        Row(f"backup, {what}: nothing else gets its turn for, at most", cost.stall, "s", 0.1),
        Row(f"restore, {what}: CPU until all is checked", restored[0], "s", 5),
        Row(f"restore, {what}: until all is checked", restored[1], "s"),
    ]


async def _many(folder: Path) -> list[Row]:
    """So many that an instance would take minutes to read them for the first time; a backup does not need one."""
    home = _with_many_pages(folder)
    still: list[float] = []

    @asynccontextmanager
    async def quiet() -> AsyncIterator[None]:
        began = time.monotonic()
        yield
        still.append(time.monotonic() - began)

    _, cost = await _measured(take(Plan(home, SystemClock(), folder / "many.tar.gz", quiet=quiet)))
    what = "100,000 pages"
    return [
        Row(f"backup, {what}: CPU, checking included", cost.cpu, "s"),
        Row(f"backup, {what}: until it is done", cost.seconds, "s"),
        Row(f"backup, {what}: no page can be written for", max(still), "s"),
        Row(f"backup, {what}: nothing else gets its turn for, at most", cost.stall, "s"),
    ]


def _with_many_pages(folder: Path) -> Home:
    home = Home(folder / "many" / "home")
    home.prepare()
    for number in range(_MANY):
        page = home.wiki / "users" / "owner" / "notes" / f"{number // 1000:02}" / f"{number:06}.md"
        if number % 1000 == 0:
            page.parent.mkdir(parents=True)
        page.write_text(f"# 第 {number} 页\n\n- 一句话 {number} ^1\n", "utf-8")
    for command in (("init", "-q"), ("add", "."), (*_SOMEBODY, "commit", "-q", "-m", "x"), ("gc", "-q")):
        subprocess.run(["git", *command], cwd=home.wiki, check=True)
    return home


def _write_events(one: Instance) -> None:
    """What some 4,000 messages leave: their events, and the parts of the requests that they became."""
    chance, log, place = random.Random(1), one.app.kit.record.log, one.place()
    lines = [line for pair in paraphrases() for line in pair]
    with log.transaction():
        for number in range(_EVENTS):
            said = "，".join(chance.sample(lines, 3)) + f"（{number}）"
            parts = log.keep_parts([f"{said}{'，'.join(chance.sample(lines, 8))}".encode()]) if number % 5 == 2 else []
            log.append(Kind.MODEL_REQUESTED, place, {"text": said, "parts": parts})


async def _backed_up(one: Instance, target: Path) -> tuple[Taken, _Cost, float]:
    """A backup of an instance that is open; what it cost, and how long its pages stood still."""
    app = one.app
    await app.remembering.store.settle()
    still: list[float] = []

    @asynccontextmanager
    async def quiet() -> AsyncIterator[None]:
        async with app.remembering.store.quiet():
            began = time.monotonic()
            yield
            still.append(time.monotonic() - began)

    taken, cost = await _measured(take(Plan(app.home, app.clock, target, quiet=quiet)))
    return taken, cost, max(still)


async def _measured(work: Awaitable[_T]) -> tuple[_T, _Cost]:
    stalls = [0.0]

    async def watch() -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(_TICK)
            stalls.append(time.monotonic() - began - _TICK)

    watching = asyncio.create_task(watch())
    began, started = cpu(), time.monotonic()
    found = await work
    cost = _Cost(cpu() - began, time.monotonic() - started, max(stalls))
    watching.cancel()
    return found, cost
