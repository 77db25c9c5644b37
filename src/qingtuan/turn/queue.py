"""One turn at a time in a session, in order of arrival; sessions do not wait for each other (channels.md, Order)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

Job = Callable[[], Awaitable[None]]
"""One turn, ready to run. It handles its own errors; being cancelled is how it is stopped."""


class SessionQueues:
    """Runs the jobs of each session one after the other."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Job]] = {}
        self._workers: dict[str, asyncio.Task[None]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._stopped: set[str] = set()

    def put(self, session: str, job: Job, *, first: bool = False) -> None:
        """Queue a job. With `first` it goes before all that wait: a yes never waits behind what came after it."""
        queue = self._waiting.setdefault(session, deque())
        if first:
            queue.appendleft(job)
        else:
            queue.append(job)
        if session not in self._workers:
            self._workers[session] = asyncio.create_task(self._work(session), name=f"session {session}")

    async def _work(self, session: str) -> None:
        queue = self._waiting[session]
        try:
            while queue:
                task: asyncio.Task[None] = asyncio.ensure_future(_run(queue.popleft()))
                self._running[session] = task
                self._stopped.discard(session)
                # A stopped turn must not take the session's other turns with it.
                await asyncio.wait([task])
                if not task.cancelled() and (error := task.exception()) is not None:
                    raise error
        finally:
            self._running.pop(session, None)
            self._stopped.discard(session)
            self._workers.pop(session, None)
            if queue:
                self.put(session, queue.popleft(), first=True)
            else:
                self._waiting.pop(session, None)

    def busy(self, session: str) -> bool:
        """Whether a turn of the session runs or waits."""
        return session in self._workers

    def length(self, session: str) -> int:
        """How many turns of the session wait, the running one not counted."""
        return len(self._waiting.get(session, ()))

    def stop(self, session: str) -> bool:
        """Stop the running turn of a session; the ones behind it go on. False if none runs."""
        task = self._running.get(session)
        if task is None or task.done():
            return False
        self._stopped.add(session)
        return task.cancel()

    def stopped(self, session: str) -> bool:
        """Whether the running turn of a session was stopped by `stop`, and not by the end of the process."""
        return session in self._stopped

    async def idle(self, session: str | None = None) -> None:
        """Wait until a session, or all of them, have nothing left to do."""
        while workers := [w for name, w in self._workers.items() if session in (None, name)]:
            await asyncio.wait(workers)

    async def close(self) -> None:
        """Drop what waits and cancel what runs; both are taken up again at the next start."""
        for queue in self._waiting.values():
            queue.clear()
        for task in list(self._running.values()):
            task.cancel()
        workers = list(self._workers.values())
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*workers, return_exceptions=True)


async def _run(job: Job) -> None:
    await job()
