"""Seeing at once what people change in the wiki with their own editors."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Awaitable, Callable, Iterable, Set
from pathlib import Path

from qingtuan.clock import Clock
from qingtuan.errors import StorageFailed
from qingtuan.memory.wiki.walls import TOPS, is_folder_name, is_page_name

_QUIET = 0.3
"""Seconds for which a file must not have changed to count as whole."""

_LOOKS = 4
"""How often that is looked at before the others are passed on; what still changes waits for its next change."""

_STEP, _LONGEST = 100, 500
"""Milliseconds for which changes are gathered: until none is new for one step, and never longer. Together with the
looks that is below the 2 s in which an edit is to be found."""

_POLL = 1000
"""Milliseconds between two looks where the system cannot tell of changes."""

_AGAIN = 5000
"""Milliseconds until what could not be passed on is tried again."""

Changed = Callable[[Set[str]], Awaitable[object]]
"""Takes the paths that changed: of pages, or of folders with all below them. `WikiStore.notice` is one."""


class Watch:
    """Watches the folders of pages and calls `changed`, one call at a time, until stopped."""

    def __init__(self, folder: Path, changed: Changed, clock: Clock, *, polling: bool = False) -> None:
        """`polling` looks once a second instead of being told; used by itself where telling does not work."""
        self.trouble: StorageFailed | None = None
        """Why the last changes could not be passed on; they will be tried again."""
        self._folder = folder
        self._changed = changed
        self._clock = clock
        self._polling = polling
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to watch, in the running event loop. Everything is looked at once, for what came before."""
        self._stop.clear()
        self._task = asyncio.create_task(self._run(), name="wiki watch")

    async def stop(self) -> None:
        """End watching. A running call of `changed` is waited for; what ended the watch before is raised."""
        self._stop.set()
        task, self._task = self._task, None
        if task is not None:
            await task

    async def _run(self) -> None:
        while not self._stop.is_set():
            for top in TOPS:
                (self._folder / top).mkdir(parents=True, exist_ok=True)
            try:
                await self._watch()
            except OSError:
                # The system has no more watches to give, or does not tell on this file system.
                if self._polling:
                    raise
                self._polling = True

    async def _watch(self) -> None:
        """Until stopped, or until one of the watched folders itself was replaced."""
        from watchfiles import awatch  # a compiled extension that only running services need

        root = self._folder.resolve()
        tops = [root / top for top in TOPS]
        identity = _identities(tops)
        waiting: set[str] = set(TOPS)
        watching = awatch(
            *tops,
            watch_filter=None,
            debounce=_LONGEST,
            step=_STEP,
            stop_event=self._stop,
            rust_timeout=_AGAIN,
            yield_on_timeout=True,
            force_polling=self._polling,
            poll_delay_ms=_POLL,
            ignore_permission_denied=True,
        )
        # A task begins when this one waits for the first time: the watch stands then, so nothing falls in between.
        first_look = asyncio.create_task(self._pass_on(waiting))
        try:
            async for changes in watching:
                await first_look
                waiting.update(_interesting((Path(path) for _, path in changes), root))
                restless = await self._restless(waiting)
                waiting -= restless
                await self._pass_on(waiting)
                waiting |= restless
                if _identities(tops) != identity:
                    return
        finally:
            await first_look

    async def _restless(self, paths: Set[str]) -> set[str]:
        """Those of `paths` that somebody is still writing to."""
        restless = set(paths)
        before = _stamps(self._folder, restless)
        for _ in range(_LOOKS):
            if not restless:
                break
            await self._clock.sleep(_QUIET)
            now = _stamps(self._folder, restless)
            restless = {path for path in restless if now[path] != before[path]}
            before = now
        return restless

    async def _pass_on(self, waiting: set[str]) -> None:
        if not waiting:
            return
        try:
            await self._changed(frozenset(waiting))
        except StorageFailed as error:
            self.trouble = error
        else:
            self.trouble = None
            waiting.clear()


def _stamps(folder: Path, paths: Iterable[str]) -> dict[str, tuple[int, int, int] | None]:
    """What changes with every write to a file; None for folders and what is gone."""
    stamps: dict[str, tuple[int, int, int] | None] = {}
    for path in paths:
        try:
            status = (folder / path).lstat()
        except OSError:
            stamps[path] = None
        else:
            whole = stat.S_ISDIR(status.st_mode)
            stamps[path] = None if whole else (status.st_ino, status.st_size, status.st_mtime_ns)
    return stamps


def _identities(folders: Iterable[Path]) -> list[tuple[int, int]]:
    return [(status.st_dev, status.st_ino) for folder in folders if folder.is_dir() for status in [folder.stat()]]


def _interesting(paths: Iterable[Path], root: Path) -> Iterable[str]:
    """Those that are pages, or folders that hold or held some, relative to the wiki with `/`."""
    for path in paths:
        *folders, name = path.relative_to(root).parts
        if all(map(is_folder_name, folders)) and (is_page_name(name) or (is_folder_name(name) and not path.is_file())):
            yield "/".join((*folders, name))
