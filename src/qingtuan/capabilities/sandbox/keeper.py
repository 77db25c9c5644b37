"""Processes of the sandbox: started, kept warm, watched and ended by one thread of their own.

A thread, since limits must hold while the event loop is busy, and since what is told to end with its parent
(bubblewrap) ends with the thread that started it.
"""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import threading
from asyncio import wrap_future
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from qingtuan.capabilities.sandbox.engine import NOT_THERE, Engine
from qingtuan.capabilities.sandbox.guard import Guard
from qingtuan.capabilities.sandbox.resident import EVERY, MOST_STORED, resident, stored
from qingtuan.clock import SystemClock
from qingtuan.errors import StorageFailed
from qingtuan.language import Words

WARM = 2
"""Workers that stand ready while the sandbox is in use: they take 35 MB each."""
IDLE = 60.0
"""Seconds without a call after which they are let go."""


@dataclass(slots=True)
class Process:
    """A worker as the system has it. It takes one job and is ended."""

    popen: subprocess.Popen[bytes]
    cache: Path
    deadline: float | None = None
    """By the machine's clock; None: not watched."""
    memory: int = 0
    """Bytes that it may hold."""
    most: int = 0
    """Bytes that it was seen to hold."""
    broke: Literal["", "time", "memory", "disk"] = ""
    """The limit for which it was ended."""

    def kill(self) -> None:
        """End it and all that it started, at once. Its number stays taken until it is waited for."""
        if self.popen.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.popen.pid, signal.SIGKILL)

    def close(self) -> None:
        """Let go of its pipes."""
        for pipe in (self.popen.stdin, self.popen.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


@dataclass(slots=True)
class _State:
    warm: list[Process] = field(default_factory=list)
    busy: list[Process] = field(default_factory=list)
    used: float = 0.0
    """When there was a call last."""


class Keeper:
    """Starts nothing before it is first asked."""

    def __init__(self, engine: Engine, folder: Path, *, warm: int = WARM, idle: float = IDLE) -> None:
        """`folder` holds what the engine writes while it runs."""
        self._engine = engine
        self._folder = folder
        self._warm = warm
        self._idle = idle
        self._clock = SystemClock()
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._state = _State()
        self._guard = Guard()
        self._made = 0
        self._closed = False
        self._clearing = threading.Lock()

    async def take(self) -> Process:
        """A fresh worker, warm if there is one.

        Raises:
            StorageFailed: it cannot be started.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="sandbox", daemon=True)
            self._thread.start()
        taken: Future[Process] = Future()
        self._put(lambda: self._give(taken))
        waiting = wrap_future(taken)
        try:
            return await waiting
        except BaseException:
            # Whoever asked is gone; the process may still come.
            taken.add_done_callback(self._unwanted)
            raise

    def watch(self, process: Process, seconds: float, memory: int) -> None:
        """From now on, end it when it is over these limits."""
        process.memory = memory
        process.deadline = self._clock.monotonic() + seconds
        self._tasks.put(_nothing)

    def end(self, process: Process) -> Future[int]:
        """End it now; what is left of it is cleared away behind. Gives how it ended (`Popen.returncode`)."""
        process.kill()
        ended: Future[int] = Future()
        self._put(lambda: self._finish(process, ended))
        return ended

    def close(self) -> None:
        """End everything, and wait until it is gone."""
        if self._thread is not None:
            self._tasks.put(None)
            self._thread.join()

    @property
    def running(self) -> int:
        """Workers that there are, warm ones included."""
        return len(self._state.warm) + len(self._state.busy)

    def _put(self, task: Callable[[], None]) -> None:
        self._tasks.put(task)
        if self._closed:
            self._drain()

    def _drain(self) -> None:
        """Do what was asked for while it closed, and after: the thread reads no more."""
        with suppress(queue.Empty):
            while True:
                if (task := self._tasks.get_nowait()) is not None:
                    task()

    def _unwanted(self, taken: Future[Process]) -> None:
        if not taken.cancelled() and taken.exception() is None:
            self.end(taken.result())
            taken.result().close()

    def _run(self) -> None:
        self._sweep()
        while True:
            try:
                task = self._tasks.get(timeout=self._patience())
            except queue.Empty:
                task = _nothing
            if task is None:
                break
            task()
            self._look()
        self._closed = True
        for process in [*self._state.warm, *self._state.busy]:
            process.kill()
            self._clear(process)
        self._drain()
        self._guard.close()

    def _patience(self) -> float | None:
        """Seconds until the next look."""
        if any(process.deadline is not None for process in self._state.busy):
            return EVERY
        return self._idle if self._state.warm else None

    def _look(self) -> None:
        now = self._clock.monotonic()
        for process in self._state.busy:
            if process.deadline is None or process.broke:
                continue
            process.most = max(process.most, held := resident(process.popen.pid))
            if held > process.memory:
                process.broke = "memory"
            elif stored(process.cache) > MOST_STORED:
                process.broke = "disk"
            elif now > process.deadline:
                process.broke = "time"
            if process.broke:
                process.kill()
        if self._state.busy:
            self._state.used = now
        elif self._state.warm and now - self._state.used >= self._idle:
            for process in list(self._state.warm):
                process.kill()
                self._clear(process)
            self._guard.close()

    def _give(self, taken: Future[Process]) -> None:
        if not taken.set_running_or_notify_cancel():
            return
        if self._closed:
            taken.set_exception(StorageFailed(_CANNOT_START, detail="closed"))
            return
        self._state.used = self._clock.monotonic()
        try:
            process = next((one for one in self._state.warm if one.popen.poll() is None), None) or self._start()
        except OSError as error:
            taken.set_exception(StorageFailed(_CANNOT_START, detail=repr(error)))
            return
        if process in self._state.warm:
            self._state.warm.remove(process)
        self._state.busy.append(process)
        taken.set_result(process)
        self._tasks.put(self._refill)

    def _refill(self) -> None:
        """Keep some warm; those that ended by themselves are replaced."""
        for process in [one for one in self._state.warm if one.popen.poll() is not None]:
            self._clear(process)
        if len(self._state.warm) < self._warm and not self._closed:
            with suppress(OSError):
                self._state.warm.append(self._start())
                self._tasks.put(self._refill)

    def _start(self) -> Process:
        self._made += 1
        cache = self._folder / f"{os.getpid()}-{self._made}"
        shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir(mode=0o700, parents=True)
        for name in NOT_THERE:
            (cache / name).touch()
        try:
            popen = subprocess.Popen(
                self._engine.command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env=self._engine.environment(cache),
                cwd="/",
                start_new_session=True,
            )
        except BaseException:
            shutil.rmtree(cache, ignore_errors=True)
            raise
        process = Process(popen, cache)
        try:
            self._guard.add(popen.pid)
        except OSError:
            self._state.warm.append(process)
            self._clear(process)
            raise
        return process

    def _sweep(self) -> None:
        """Remove what workers of a process that was killed have left."""
        with suppress(OSError):
            for cache in self._folder.iterdir():
                owner = cache.name.partition("-")[0]
                if owner.isdecimal() and not _lives(int(owner)):
                    shutil.rmtree(cache, ignore_errors=True)

    def _finish(self, process: Process, ended: Future[int]) -> None:
        status = self._clear(process)
        with suppress(InvalidStateError):  # nobody waits any more
            ended.set_result(status)

    def _clear(self, process: Process) -> int:
        """Wait for one that is ended, and remove what it left."""
        process.kill()
        status = process.popen.wait()
        with self._clearing:  # two threads may, while it closes
            for several in (self._state.warm, self._state.busy):
                if process in several:
                    if several is self._state.warm:
                        process.close()
                    self._guard.remove(process.popen.pid)
                    shutil.rmtree(process.cache, ignore_errors=True)
                    several.remove(process)
        return status


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _nothing() -> None:
    pass


_CANNOT_START = Words("沙箱启动不了。", "The sandbox cannot be started.")
