"""The sandbox with Deno: no permissions, one fresh process a call, limits from outside (docs/decisions/0008)."""

from __future__ import annotations

import asyncio
import json
import signal
import tempfile
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from qingtuan.capabilities.sandbox.base import Fault, Job, Limits, Ran, Wall
from qingtuan.capabilities.sandbox.engine import LONGEST, Engine, find_bubblewrap, find_program
from qingtuan.capabilities.sandbox.keeper import IDLE, WARM, Keeper, Process
from qingtuan.capabilities.sandbox.outside import Outside
from qingtuan.capabilities.sandbox.protocol import (
    LONGEST_LINE,
    Asked,
    Done,
    Printed,
    answer_line,
    job_line,
    longest_result,
)
from qingtuan.capabilities.sandbox.scanning import faults_of
from qingtuan.capabilities.sandbox.walls import MISSING, walls_of
from qingtuan.capabilities.sandbox.worker import Flooded, Worker
from qingtuan.clock import SystemClock
from qingtuan.errors import StorageFailed
from qingtuan.net.fetcher import SafeFetcher

AT_ONCE = 4
"""Calls that run at the same time; more wait."""
_AT_ONCE = 6
"""Requests of one call at the same time: each holds its answer until the code has read it."""
_READY = 30.0
"""Seconds that a worker may take to start, on the busiest machine."""
_PRINTED = 8 * 1024
"""Characters of the console that are kept."""


class Deno:
    """A `base.Sandbox`. Making one starts and looks for nothing."""

    def __init__(
        self, folder: Path | None = None, fetcher: SafeFetcher | None = None, *, warm: int = WARM, idle: float = IDLE
    ) -> None:
        """`folder` holds what the engine writes while it runs; without it, a temporary one does. `warm` workers stand
        ready while there are calls, and are let go after `idle` seconds without one."""
        self._folder = folder
        self._kept = (warm, idle)
        self.fetcher = fetcher or SafeFetcher()
        self._room = asyncio.Semaphore(AT_ONCE)
        self._starting = asyncio.Lock()
        self._engine: Engine | None = None
        self._keeper: Keeper | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False

    async def run(self, job: Job) -> Ran:
        try:
            line = job_line("run", job.code, job.arguments, job.limits.output)
        except (TypeError, ValueError, RecursionError):
            return Ran(fault=Fault("exception", "The arguments are no JSON."))
        return await self._call(line, job)

    async def check(self, code: str) -> tuple[Fault, ...]:
        seen = faults_of(code)
        fault = (await self._call(job_line("check", code, {}), Job(code, {}))).fault
        if fault is None or (fault.kind == "compile" and seen and fault.message.startswith(_SEEN)):
            return seen
        return (fault, *seen)

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

    async def _started(self) -> Keeper | None:
        async with self._starting:
            if self._keeper is None and not self._closed:
                engine = await asyncio.to_thread(self._found)  # tries bubblewrap
                if engine is None or self._closed:
                    return None
                folder = self._folder
                if folder is None:
                    self._temporary = tempfile.TemporaryDirectory(prefix="qingtuan-sandbox-")
                    folder = Path(self._temporary.name)
                warm, idle = self._kept
                self._keeper = Keeper(engine, folder, warm=warm, idle=idle)
            return self._keeper

    async def _call(self, line: bytes, job: Job) -> Ran:
        if len(line) > LONGEST_LINE:
            return Ran(fault=Fault("output", f"Code and arguments are over {LONGEST_LINE} bytes."))
        async with self._room:
            keeper = await self._started()
            if keeper is None:
                return Ran(fault=_CLOSED if self._closed else Fault("missing", MISSING.en))
            try:
                process = await keeper.take()
            except StorageFailed as error:
                return Ran(fault=Fault("unavailable", error.words.en))
            call = _Call(keeper, process, job, self.fetcher)
            try:
                return await call.answered(line)
            finally:
                call.end()


class _Call:
    """One job in one worker."""

    def __init__(self, keeper: Keeper, process: Process, job: Job, fetcher: SafeFetcher) -> None:
        self._keeper = keeper
        self._process = process
        self._limits = _bounded(job.limits)
        self._worker = Worker(process, longest_result(self._limits.output))
        self._clock = SystemClock()
        self._deadline = 0.0
        self._outside = Outside(fetcher, job, self._left)
        self._printed: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def answered(self, line: bytes) -> Ran:
        """Hand the job over, and see what comes of it."""
        await self._worker.open()
        try:
            async with asyncio.timeout(_READY):
                if not await self._worker.ready():
                    return Ran(fault=Fault("unavailable", "The sandbox did not start."))
        except TimeoutError:
            return Ran(fault=Fault("unavailable", "The sandbox did not start in time."))
        self._deadline = self._clock.monotonic() + self._limits.seconds
        self._keeper.watch(self._process, self._limits.seconds, self._limits.memory_mb * 1024 * 1024)
        self._beside(self._worker.tell(line))
        try:
            done = await self._listened()
        except Flooded:
            return self._ran(fault=Fault("output", "The code wrote too much."))
        finally:
            await self._alone()
        if done is None:
            return self._ran(fault=await self._ended())
        if done.fault is not None:
            return self._ran(fault=done.fault)
        size = len(json.dumps(done.value, ensure_ascii=False, separators=(",", ":")).encode())
        if size > self._limits.output:
            most = self._limits.output
            return self._ran(fault=Fault("output", f"The result is {size} bytes of JSON; at most {most} are taken."))
        return self._ran(value=done.value)

    def end(self) -> None:
        """Whatever happened, nothing of it runs on."""
        self._keeper.end(self._process)
        self._worker.close()

    async def _listened(self) -> Done | None:
        left = _PRINTED
        async for message in self._worker.messages():
            if self._process.broke:
                return None  # what it still said before is not acted upon
            match message:
                case Done():
                    self._process.kill()
                    return message
                case Printed(text) if left > 0:
                    self._printed.append(text[:left])
                    left -= len(text) + 1
                case Asked() if len(self._tasks) < _AT_ONCE:
                    self._beside(self._fetch(message))
                case Asked():
                    await self._fetch(message)  # whoever asks without end waits
                case _:
                    pass
        return None

    async def _fetch(self, asked: Asked) -> None:
        await self._worker.tell(answer_line(asked.id, await self._outside.answer(asked)))

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _alone(self) -> None:
        """End what goes on beside; a request that is under way is noted as such."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    async def _ended(self) -> Fault:
        """Why it ended without an answer."""
        status = await asyncio.wrap_future(self._keeper.end(self._process))
        match self._process.broke:
            case "time":
                return Fault("time", f"It took longer than {self._limits.seconds:g} seconds.")
            case "memory":
                return _TOO_MUCH
            case "disk":
                return Fault("output", "The code wrote too much.")
        if status in _OUT_OF_MEMORY:
            return _TOO_MUCH
        return Fault("crash", "The code ended its process without an answer.")

    def _ran(self, *, value: Any = None, fault: Fault | None = None) -> Ran:
        seconds = self._limits.seconds - self._left()
        return Ran(value, fault, seconds, tuple(self._outside.fetched), "\n".join(self._printed))

    def _left(self) -> float:
        """Seconds."""
        return self._deadline - self._clock.monotonic()


def _bounded(limits: Limits) -> Limits:
    return replace(limits, seconds=min(limits.seconds, LONGEST))


_SEEN = ("Imports are not", "There is no default")
"""What the engine stops at, and what was found before it, all of it."""
_CLOSED = Fault("unavailable", "The sandbox is closed.")
_TOO_MUCH = Fault("memory", "It took too much memory.")
_ABORTS = (signal.SIGABRT, signal.SIGTRAP, signal.SIGILL)
_OUT_OF_MEMORY = frozenset([*(-number for number in _ABORTS), *(128 + number for number in _ABORTS)])
"""How the engine ends when its own memory is full; behind a shell or bubblewrap, as a status."""
