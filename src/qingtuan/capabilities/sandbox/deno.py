"""The sandbox with Deno: no permissions, one fresh process a call, limits from outside (docs/decisions/0008)."""

from __future__ import annotations

import asyncio
import json
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from qingtuan.capabilities.sandbox.base import Fault, Fetch, Job, Limits, Ran, Wall
from qingtuan.capabilities.sandbox.engine import LONGEST, Engine, find_bubblewrap, find_program
from qingtuan.capabilities.sandbox.keeper import Keeper, Process
from qingtuan.capabilities.sandbox.protocol import LONGEST_LINE, Asked, Done, Printed, answer_line, job_line
from qingtuan.capabilities.sandbox.walls import MISSING, walls_of
from qingtuan.capabilities.sandbox.worker import Flooded, Worker
from qingtuan.clock import SystemClock
from qingtuan.errors import StorageFailed

AT_ONCE = 4
"""Calls that run at the same time; more wait."""
_READY = 30.0
"""Seconds that a worker may take to start, on the busiest machine."""
_PRINTED = 8 * 1024
"""Characters of the console that are kept."""


class Deno:
    """A `base.Sandbox`. Making one starts and looks for nothing."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` holds what the engine writes while it runs; without it, a temporary one does."""
        self._folder = folder
        self._clock = SystemClock()
        self._room = asyncio.Semaphore(AT_ONCE)
        self._engine: Engine | None = None
        self._keeper: Keeper | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False

    async def run(self, job: Job) -> Ran:
        try:
            line = job_line("run", job.code, job.arguments)
        except (TypeError, ValueError, RecursionError):
            return Ran(fault=Fault("exception", "The arguments are no JSON."))
        return await self._call(line, job)

    async def check(self, code: str) -> tuple[Fault, ...]:
        ran = await self._call(job_line("check", code), Job(code, {}))
        return () if ran.fault is None else (ran.fault,)

    def walls(self) -> Sequence[Wall]:
        return walls_of(self._found())

    async def close(self) -> None:
        self._closed = True
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            await asyncio.to_thread(keeper.close)
        if self._temporary is not None:
            self._temporary.cleanup()

    def _found(self) -> Engine | None:
        if self._engine is None and (program := find_program()) is not None:
            self._engine = Engine(program, find_bubblewrap(program))
        return self._engine

    def _started(self) -> Keeper | None:
        if self._keeper is None and (engine := self._found()) is not None:
            if self._folder is None:
                self._temporary = tempfile.TemporaryDirectory(prefix="qingtuan-sandbox-")
            self._keeper = Keeper(engine, self._folder or Path(self._temporary.name))  # type: ignore[union-attr]
        return self._keeper

    async def _call(self, line: bytes, job: Job) -> Ran:
        if len(line) > LONGEST_LINE:
            return Ran(fault=Fault("output", f"Code and arguments are over {LONGEST_LINE} bytes."))
        async with self._room:
            keeper = None if self._closed else self._started()
            if keeper is None:
                return Ran(fault=Fault("missing", MISSING.en))
            try:
                process = await keeper.take()
            except StorageFailed as error:
                return Ran(fault=Fault("missing", error.words.en))
            call = _Call(keeper, process, job)
            began = self._clock.monotonic()
            try:
                ran = await call.answered(line)
            finally:
                await call.end()
            return replace(ran, seconds=self._clock.monotonic() - began)


class _Call:
    """One job in one worker."""

    def __init__(self, keeper: Keeper, process: Process, job: Job) -> None:
        self._keeper = keeper
        self._process = process
        self._worker = Worker(process)
        self._job = job
        self._limits = _bounded(job.limits)
        self._printed: list[str] = []
        self._fetched: list[Fetch] = []

    async def answered(self, line: bytes) -> Ran:
        """Hand the job over, and see what comes of it."""
        await self._worker.open()
        try:
            async with asyncio.timeout(_READY):
                if not await self._worker.ready():
                    return Ran(fault=Fault("crash", "The sandbox did not start."))
        except TimeoutError:
            return Ran(fault=Fault("crash", "The sandbox did not start in time."))
        self._keeper.watch(self._process, self._limits.seconds, self._limits.memory_mb * 1024 * 1024)
        giving = asyncio.ensure_future(self._worker.tell(line))
        try:
            done = await self._listened()
        except Flooded:
            return self._ran(fault=Fault("output", "The code wrote too much."))
        finally:
            giving.cancel()
        if done is None:
            return self._ran(fault=await self._ended())
        if done.fault is not None:
            return self._ran(fault=done.fault)
        size = len(json.dumps(done.value, ensure_ascii=False).encode())
        if size > self._limits.output:
            most = self._limits.output
            return self._ran(fault=Fault("output", f"The result is {size} bytes of JSON; at most {most} are taken."))
        return self._ran(value=done.value)

    async def end(self) -> None:
        """Whatever happened, nothing of it runs on."""
        self._keeper.end(self._process)
        self._worker.close()

    async def _listened(self) -> Done | None:
        left = _PRINTED
        async for message in self._worker.messages():
            match message:
                case Done():
                    self._process.kill()
                    return message
                case Printed(text) if left > 0:
                    self._printed.append(text[:left])
                    left -= len(text) + 1
                case Asked(number):
                    await self._worker.tell(answer_line(number, {"error": "there is no network here"}))
                case _:
                    pass
        return None

    async def _ended(self) -> Fault:
        """Why it ended without an answer."""
        status = await asyncio.wrap_future(self._keeper.end(self._process))
        match self._process.broke:
            case "time":
                return Fault("time", f"It took longer than {self._limits.seconds:g} seconds.")
            case "memory":
                return _TOO_MUCH
        if status in _OUT_OF_MEMORY:
            return _TOO_MUCH
        return Fault("crash", "The code ended its process without an answer.")

    def _ran(self, *, value: Any = None, fault: Fault | None = None) -> Ran:
        return Ran(value, fault, fetched=tuple(self._fetched), printed="\n".join(self._printed))


def _bounded(limits: Limits) -> Limits:
    return replace(limits, seconds=min(limits.seconds, LONGEST))


_TOO_MUCH = Fault("memory", "It took too much memory.")
_ABORTS = (signal.SIGABRT, signal.SIGTRAP, signal.SIGILL)
_OUT_OF_MEMORY = frozenset([*(-number for number in _ABORTS), *(128 + number for number in _ABORTS)])
"""How the engine ends when its own memory is full; behind a shell or bubblewrap, as a status."""
