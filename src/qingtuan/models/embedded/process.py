"""The engine's process: started at first use, stopped when idle, restarted after a crash, gone with us."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qingtuan.clock import Clock
from qingtuan.models.embedded import frames

CONTEXT_TOKENS = 4096
_ERRORS_KEPT = 2000
"""Characters of the child's error output that are kept, for the log."""
_GOODBYE_SECONDS = 3.0
_ENVIRONMENT = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "PYTHONPATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class EngineDied(Exception):
    """The process ended, hung or spoke nonsense; a new one may do better."""


class EngineRefused(Exception):
    """The engine says that it cannot answer this request, or cannot be loaded."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Waiting times in seconds."""

    load: float = 180
    first: float = 240
    """To the first piece of an answer: a long prompt on a slow machine takes minutes."""
    next: float = 60
    idle: float = 300
    """After the last request the process is stopped, and its memory given back."""


@dataclass(frozen=True, slots=True)
class Done:
    """How an answer ended, in tokens; `cached` ones of the prompt were not computed again."""

    finish: str
    prompt: int
    cached: int
    completion: int


def threads_for(cores: int, load: float) -> int:
    """As many threads as cores; half of them while the machine is busy.

    The engine's threads wait for each other at every step, so that one of them without a core holds up all: measured
    on two cores beside other work, two threads are five to ten times slower than one.
    """
    return cores if load < cores else max(1, cores // 2)


def engine_command(weights: Path, threads: int | None = None) -> tuple[str, ...]:
    """The command that serves `weights`, with the threads that fit this machine now."""
    chosen = threads or threads_for(os.cpu_count() or 1, os.getloadavg()[0])
    return (
        *(sys.executable, "-P", "-m", "qingtuan.models.embedded.child"),
        *("--weights", str(weights)),
        *("--threads", str(chosen)),
        *("--context", str(CONTEXT_TOKENS)),
    )


class EngineProcess:
    """One child process that answers one request at a time; others wait for their turn."""

    def __init__(self, command: Sequence[str], clock: Clock, limits: Limits | None = None) -> None:
        self._command = tuple(command)
        self._clock = clock
        self._limits = limits or Limits()
        self._turn = asyncio.Lock()
        self._child: _Child | None = None
        self._idle: asyncio.Task[None] | None = None
        self._numbers = 0

    @property
    def running(self) -> bool:
        """Whether the process is up, with the weights in memory."""
        return self._child is not None and self._child.alive

    @property
    def pid(self) -> int | None:
        """The process's number while it is up, for those who measure it."""
        return self._child.pid if self._child is not None and self._child.alive else None

    async def start(self) -> None:
        """Load the weights now, so that the first answer does not wait for it.

        Raises:
            EngineRefused: the engine is not installed or cannot load the weights.
            EngineDied: the process ended or took too long.
        """
        async with self._turn:
            await self._ready_child()
            self._rest()

    async def chat(self, body: bytes) -> AsyncGenerator[str | Done, None]:
        """Pieces of the answer's raw text as they come, and `Done` at the end.

        Closing the iterator stops the answer at its next token.

        Raises:
            EngineRefused: this request cannot be answered.
            EngineDied: the process broke down; the next call starts a new one.
        """
        async with self._turn:
            child = await self._ready_child()
            self._numbers += 1
            number, over = self._numbers, False
            try:
                child.send({"id": number, "body": json.loads(body)})
                wait = self._limits.first
                while not over:
                    frame = await child.next(number, wait)
                    wait = self._limits.next
                    over = "delta" not in frame
                    yield _piece(frame)
            except EngineDied:
                over = True
                await child.end()
                raise
            finally:
                if not over:
                    child.send({"cancel": number})
                self._rest()

    async def stop(self) -> None:
        """End the process, if there is one, and give its memory back."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        child, self._child = self._child, None
        if child is not None:
            await child.end()

    async def _ready_child(self) -> _Child:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if self._child is None or not self._child.alive:
            await self.stop()
            self._child = await _Child.spawn(self._command)
            try:
                await self._child.ready(self._limits.load)
            except BaseException:
                await self.stop()
                raise
        return self._child

    def _rest(self) -> None:
        self._idle = asyncio.create_task(self._stop_when_idle())

    async def _stop_when_idle(self) -> None:
        await self._clock.sleep(self._limits.idle)
        self._idle = None
        await self.stop()


def _piece(frame: Mapping[str, Any]) -> str | Done:
    if "delta" in frame:
        return str(frame["delta"])
    if "done" in frame:
        return Done(**frame["done"])
    raise EngineRefused(str(frame.get("error", "no answer")))


class _Child:
    """A running process with its pipes; a task reads frames as they come, so that none is ever cut by a cancel."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._frames: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._errors = ""
        self._ended = False
        self._tasks = (asyncio.create_task(self._read_frames()), asyncio.create_task(self._read_errors()))

    @classmethod
    async def spawn(cls, command: Sequence[str]) -> _Child:
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
            )
        except OSError as error:
            raise EngineDied(f"cannot start: {error}") from error
        return cls(process)

    @property
    def alive(self) -> bool:
        return not self._ended and self._process.returncode is None

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ready(self, wait: float) -> None:
        frame = await self._take(wait)
        if "ready" not in frame:
            raise EngineRefused(str(frame.get("failed", frame)))

    def send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(frames.pack(message))

    async def next(self, number: int, wait: float) -> dict[str, Any]:
        """The next frame of request `number`; frames of one that was cancelled are passed over."""
        while True:
            frame = await self._take(wait)
            if frame.get("id") == number:
                return frame

    async def _take(self, wait: float) -> dict[str, Any]:
        try:
            async with asyncio.timeout(wait):
                frame = await self._frames.get()
        except TimeoutError:
            raise EngineDied(f"silent for {wait:g} seconds") from None
        if frame is None:
            await self.end()
            raise EngineDied(f"ended with {self._process.returncode}: {self._errors.strip()}")
        return frame

    async def _read_frames(self) -> None:
        assert self._process.stdout is not None
        with suppress(frames.FrameBroken):
            while (frame := await frames.receive(self._process.stdout)) is not None:
                self._frames.put_nowait(frame)
        self._ended = True
        self._frames.put_nowait(None)

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(4096):
            self._errors = (self._errors + data.decode(errors="replace"))[-_ERRORS_KEPT:]

    async def end(self) -> None:
        """Close its input, which ends it; kill it if that takes too long."""
        self._ended = True
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(_GOODBYE_SECONDS):
                await self._process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
