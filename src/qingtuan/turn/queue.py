"""One turn at a time in a session, in order of arrival; sessions do not wait for each other (channels.md, Order)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from qingtuan.errors import Stopped
from qingtuan.language import Words

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One turn, ready to run."""

    run: Callable[[], Awaitable[None]]
    """Handles its own errors. Being cancelled is how it is stopped; `SessionQueues.stopped` then says by whom."""
    person: str = ""
    """Whose it is: others do not stop it."""
    dropped: Callable[[], None] = lambda: None
    """Called instead of `run` if it is stopped before it has begun."""


class SessionQueues:
    """Runs the jobs of each session one after the other."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Job]] = {}
        self._workers: dict[str, asyncio.Task[None]] = {}
        self._running: dict[str, Job] = {}
        """Jobs that have begun and can still be stopped."""
        self._at_work: dict[str, tuple[Job, asyncio.Future[None]]] = {}
        """Jobs that have begun and not ended, with what tells that they have."""
        self._stopped: set[str] = set()
        self._held: dict[asyncio.Task[None], tuple[str, Job]] = {}
        """Jobs whose time has not come, in the order in which they arrived."""
        self._awaited: set[asyncio.Future[Any]] = set()
        """Results of work that somebody waits for."""
        self._closed = False

    def put(self, session: str, job: Job, *, first: bool = False) -> None:
        """Queue a job. With `first` it goes before all that wait: a yes never waits behind what came after it.

        After `close` it is let go: the next start takes it up.
        """
        if self._closed:
            return
        queue = self._waiting.setdefault(session, deque())
        if first:
            queue.appendleft(job)
        else:
            queue.append(job)
        if session not in self._workers:
            self._workers[session] = asyncio.create_task(self._work(session), name=f"session {session}")

    def hold(self, session: str, job: Job, until: Callable[[], Awaitable[None]]) -> None:
        """Queue a job when `until` is over. Nobody else in the session has to wait for that."""
        if not self._closed:
            task = asyncio.create_task(self._release(session, job, until), name=f"cool-down in {session}")
            self._held[task] = session, job
            task.add_done_callback(lambda done: self._held.pop(done, None))

    async def _release(self, session: str, job: Job, until: Callable[[], Awaitable[None]]) -> None:
        await until()
        self.put(session, job)

    async def in_order(self, session: str, work: Callable[[], Awaitable[_T]], person: str = "") -> _T:
        """Do some work when what is queued in a session before it is done, beside no turn of it. What came of it.

        Raises:
            Stopped: somebody stopped it.
            CancelledError: the process ends.
        """
        result: asyncio.Future[_T] = asyncio.get_running_loop().create_future()

        async def run() -> None:
            try:
                found = await work()
            except asyncio.CancelledError:
                if self.stopped(session):
                    _fail(result, Stopped(_STOPPED))
                else:
                    result.cancel()
                raise
            except Exception as error:  # noqa: BLE001 (raised where it is waited for)
                _fail(result, error)
            else:
                if not result.done():
                    result.set_result(found)

        self.put(session, Job(run, person, lambda: _fail(result, Stopped(_STOPPED))))
        if self._closed:
            result.cancel()
        self._awaited.add(result)
        try:
            return await result
        finally:
            self._awaited.discard(result)

    async def _work(self, session: str) -> None:
        queue = self._waiting[session]
        try:
            while queue:
                await self._run(session, queue.popleft())
        finally:
            self._waiting.pop(session, None)
            self._workers.pop(session, None)

    async def _run(self, session: str, job: Job) -> None:
        self._running[session] = job
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._at_work[session] = job, ended
        try:
            await job.run()
        except asyncio.CancelledError:
            if session not in self._stopped:
                raise
            take_back_cancel()
        except Exception as error:  # noqa: BLE001 (the edge of a turn: the session's other turns go on)
            context = {"message": f"a turn of {session} broke at its edge", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
        finally:
            self._running.pop(session, None)
            self._stopped.discard(session)
            self._at_work.pop(session, None)
            ended.cancel()

    def busy(self, session: str) -> bool:
        """Whether a turn of the session runs or waits."""
        return session in self._workers or any(held == session for held, _ in self._held.values())

    def length(self, session: str) -> int:
        """How many turns of the session wait, the running one not counted."""
        return len(self._waiting.get(session, ())) + sum(held == session for held, _ in self._held.values())

    def stop(self, session: str, person: str | None = None) -> bool:
        """Stop the running turn of a session, or else one that is held back; the ones behind it go on.

        With `person`, only a turn of theirs. False if there was none to stop.
        """
        running = self._running.get(session)
        if running is not None and person in (None, running.person):
            self._running.pop(session)
            self._stopped.add(session)
            return self._workers[session].cancel()
        for task, (held, job) in self._held.items():
            if held == session and person in (None, job.person):
                del self._held[task]
                task.cancel()
                job.dropped()
                return True
        return False

    @property
    def at_rest(self) -> bool:
        """Whether no turn runs or is about to; there may be some whose cool-down goes on."""
        return not self._workers

    def serves(self, persons: Collection[str]) -> bool:
        """Whether a turn of one of these persons runs or waits, in any session."""
        return any(job.person in persons for job in self._jobs())

    async def dismiss(self, persons: Collection[str]) -> None:
        """Stop all turns of these persons, in every session, and wait until none of them runs."""
        for queue in list(self._waiting.values()):
            for job in [job for job in queue if job.person in persons]:
                queue.remove(job)
                job.dropped()
        for task, (_, job) in list(self._held.items()):
            if job.person in persons:
                del self._held[task]
                task.cancel()
                job.dropped()
        at_work = {session: ended for session, (job, ended) in self._at_work.items() if job.person in persons}
        for session in at_work.keys() & self._running.keys():
            self.stop(session)
        if at_work:
            await asyncio.wait(at_work.values())

    def _jobs(self) -> Iterator[Job]:
        for queue in self._waiting.values():
            yield from queue
        yield from (job for _, job in self._held.values())
        yield from (job for job, _ in self._at_work.values())

    def stopped(self, session: str) -> bool:
        """Whether the running turn of a session was stopped by `stop`, and not by the end of the process."""
        return session in self._stopped

    def settle(self, session: str) -> None:
        """The running turn has done what could be stopped: `stop` comes too late from now on."""
        self._running.pop(session, None)

    async def idle(self, session: str | None = None) -> None:
        """Wait until a session, or all of them, have nothing left to do."""
        while tasks := self._tasks(session):
            await asyncio.wait(tasks)

    def _tasks(self, session: str | None) -> list[asyncio.Task[None]]:
        workers = [worker for name, worker in self._workers.items() if session in (None, name)]
        return [*workers, *(task for task, (name, _) in self._held.items() if session in (None, name))]

    def let_go(self) -> None:
        """The process is about to end: whoever waits for a result gets none."""
        for result in self._awaited:
            result.cancel()

    async def finish(self) -> None:
        """Begin nothing more, and wait until what runs has come to its end. What waits is let go: the next start takes
        it up."""
        self._closed = True
        for queue in self._waiting.values():
            queue.clear()
        for task in list(self._held):
            task.cancel()
        while workers := list(self._workers.values()):
            await asyncio.wait(workers)

    async def close(self) -> None:
        """Drop what waits and cancel what runs; both are taken up again at the next start."""
        self._closed = True
        for queue in self._waiting.values():
            queue.clear()
        self.let_go()
        tasks = self._tasks(None)
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)


def _fail(result: asyncio.Future[_T], error: Exception) -> None:
    if not result.done():
        result.set_exception(error)


def take_back_cancel() -> None:
    """Go on after a `CancelledError` that was a stop: what still runs in this task counts as not cancelled."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()


_STOPPED = Words("停下了，没有做完。", "Stopped before the end.")
