"""Carrying erasures out: the record first, at once; then pages and their history, indexes, files; then the proof.

From the event on nobody is shown any more what goes. What is left to do stands in the plan that the event names,
so that a start goes on with it; the plan is the last to go, and `erasure.finished` says that all is done.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from qingtuan.clock import Clock
from qingtuan.errors import QingtuanError, StorageFailed
from qingtuan.events.erasing import unfinished
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.identity.redaction import mask
from qingtuan.identity.scopes import Scope
from qingtuan.indexes.indexes import Index
from qingtuan.language import Words
from qingtuan.memory.episodes import Episodes
from qingtuan.memory.erasing.plan import Plan
from qingtuan.memory.erasing.words import Needles, finder
from qingtuan.memory.library import Library
from qingtuan.memory.likeness import fold
from qingtuan.memory.wiki.renewing import Renewal
from qingtuan.storage.files import write_atomic

Tell = Callable[[str, int], None]
"""Told what is being done, and how much of it is."""

_TRIES, _PAUSE = 50, 0.2
"""How often, and with how many seconds between, the log of the database is tried to be emptied."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where else something may lie."""

    media: Path
    lines: tuple[Path, ...]
    """Files, and folders of files, of which single lines may repeat something."""
    backups: Path
    remote: Callable[[], str | None] = lambda: None
    """The address of the copy of the wiki that the settings name."""
    still: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    """Keeps that copy from being pulled or pushed for as long as a block lasts."""
    leave: Callable[[Sequence[str], Sequence[str]], None] = lambda *_: None
    """Takes persons out of the list of people: by their ids, and by all that names nobody else."""

    def files(self) -> Iterator[Path]:
        """Every file of which lines are looked at."""
        for path in self.lines:
            found = sorted(path.rglob("*")) if path.is_dir() else [path]
            yield from (one for one in found if one.is_file() and not one.is_symlink())


@dataclass(frozen=True, slots=True)
class Beyond:
    """What no erasure reaches."""

    remotes: tuple[str, ...]
    """Where else the history of the wiki may lie: the copy that the settings name, and what the owner's git knows."""
    backups: tuple[str, ...]
    """Names of files."""


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure leaves for the owner to know."""

    event: Event
    left_out: tuple[str, ...]
    """What of the owner's own git work in the wiki could not be taken over."""


async def _nothing_runs() -> None:
    """There is nothing to end."""


def nothing(_: str, __: int) -> None:
    """Tell nobody."""


class Erasures:
    """All erasures of one data folder, one at a time."""

    def __init__(
        self, log: Log, library: Library, index: Index, episodes: Episodes, clock: Clock, places: Places
    ) -> None:
        """`index`: of what is believed."""
        self._log = log
        self._library = library
        self._index = index
        self._episodes = episodes
        self._clock = clock
        self._places = places
        self._lock = asyncio.Lock()
        self._interrupt: Callable[[], Awaitable[None]] = _nothing_runs
        self._elsewhere: Callable[[], Awaitable[None]] = _nothing_runs

    def interrupt_before(self, interrupt: Callable[[], Awaitable[None]]) -> None:
        """Have this called before each erasure: it ends what reads along in the background, which would write down
        again what it has read."""
        self._interrupt = interrupt

    def finish_with(self, elsewhere: Callable[[], Awaitable[None]]) -> None:
        """Have this called in each erasure, after the record: it takes what went out of what another part keeps."""
        self._elsewhere = elsewhere

    async def carry_out(self, begin: Callable[[], Event], tell: Tell = nothing) -> Erased:
        """Erase what `begin` says: it is called once, when everything is at rest, and clears the record.

        Raises:
            StorageFailed: the disk or git refuses. If the record was cleared by then, the rest is done at the next
                start, or by `go_on`.
        """
        async with self._lock, self._places.still():
            await self._interrupt()
            begun: list[Event] = []

            def renewal() -> Renewal:
                begun.append(begin())
                with suppress(QingtuanError):  # raised when it is tried again, after all else
                    self._leave_people(self._plan(begun[0]) or Plan())
                tell("history", 0)
                return self._renewal(begun[0])

            left_out = await self._library.store.renew(renewal, lambda done: tell("history", done))
            await self._finish(begun[0], tell)
        return Erased(begun[0], left_out)

    # After a crash

    def begun(self) -> list[Renewal]:
        """What the store has to know of erasures that a crash cut off, before it looks at its pages."""
        return [self._renewal(event) for event in unfinished(self._log)]

    async def go_on(self, tell: Tell = nothing) -> int:
        """Finish what was begun and cut off. How many erasures that were.

        Raises:
            StorageFailed: the disk or git refuses: again at the next start.
        """
        async with self._lock, self._places.still():
            found = unfinished(self._log)
            for event in found:
                renewal = partial(self._renewal, event)
                await self._library.store.renew(renewal, lambda done: tell("history", done))
                await self._finish(event, tell)
        return len(found)

    async def beyond(self) -> Beyond:
        """What no erasure reaches, as it is now."""
        remotes = await self._library.store.repository.remotes()
        named = [f"{name} ({mask(address).text})" for name, address in sorted(remotes.items())]
        if (synced := self._places.remote()) is not None:
            named.insert(0, mask(synced).text)
        folder = self._places.backups
        backups = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        return Beyond(tuple(named), tuple(name for name in backups if not name.startswith(".")))

    # What is done

    def _plan(self, event: Event) -> Plan | None:
        """What is left to do; None if only the last step is."""
        try:
            return Plan.from_bytes(self._log.part(event.payload["plan"]))
        except KeyError:
            return None

    def _renewal(self, event: Event) -> Renewal:
        plan = self._plan(event) or Plan()
        return Renewal(event.id, plan.rules, plan.paths)

    async def _finish(self, event: Event, tell: Tell) -> None:
        plan = self._plan(event)
        if plan is not None:
            tell("indexes", 0)
            await self._leave_indexes(plan)
            tell("files", 0)
            self._leave_files(plan)
            self._leave_people(plan)
            await self._elsewhere()
            with self._log.transaction(durable=True):
                self._log.database.execute("DELETE FROM parts WHERE hash = ?", (event.payload["plan"],))
        tell("database", 0)
        await self._compact()
        self._log.append(Kind.ERASURE_FINISHED, Place(), {}, cause=event.id)

    async def _leave_indexes(self, plan: Plan) -> None:
        store, rules = self._library.store, plan.rules
        self._library.follow(path for path in store.hashes() if rules.touches(path))
        self._library.settle()
        store.save()
        for folder in plan.gone:
            await asyncio.to_thread(self._index.drop, str(_scope_of(folder)))
        for folder in {*plan.entries, *plan.nameless} - set(plan.gone):
            await asyncio.to_thread(self._index.scrub, str(_scope_of(folder)))
        await self._episodes.forget_in(plan.talk)

    def _leave_people(self, plan: Plan) -> None:
        """At once: whoever writes again by now is somebody new."""
        if plan.people:
            self._places.leave(plan.people, plan.names)

    def _leave_files(self, plan: Plan) -> None:
        for name in plan.media:
            (self._places.media / name).unlink(missing_ok=True)
        if plan.logged:
            found_in = finder(Needles.of(plan.logged).within)
            for path in self._places.files():
                _cut(path, found_in)

    async def _compact(self) -> None:
        for _ in range(_TRIES):
            if self._log.database.compact():
                return
            await self._clock.sleep(_PAUSE)
        raise StorageFailed(
            Words(
                "还有程序在读数据库，抹掉的内容可能还在它的日志文件里。关掉别的 qingtuan 再启动一次就好。",
                "Another program keeps reading the database, so bytes of what was erased may still lie in its log "
                "file. End other qingtuan commands and start again.",
            )
        )


def _cut(path: Path, found_in: Callable[[str], Iterator[str]]) -> None:
    """Take the lines out of a file that hold what was erased."""
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if not any(found_in(fold(line.decode("utf-8", "replace"))))]
    if len(kept) < len(lines):
        write_atomic(path, b"".join(kept))


def _scope_of(folder: str) -> Scope:
    scope = Scope.of_path(f"{folder}/page.md")
    if scope is None:
        raise ValueError(os.fspath(folder))
    return scope
