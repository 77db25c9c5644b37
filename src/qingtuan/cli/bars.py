"""Long work: a bar on a terminal, plain lines elsewhere. Always on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from qingtuan.clock import Clock

Tell = Callable[[str, int, int | None], None]
"""Told what is going on, how much of it is done, and of how much (None: nobody knows)."""

_LINE_SECONDS = 5.0
"""Between two plain lines about the same thing."""


@contextmanager
def bar(clock: Clock, *, size: bool = False) -> Iterator[Tell]:
    """Show progress while the block runs; with `size` the numbers are bytes. May be told from any thread."""
    if sys.stderr.isatty():
        with _drawn(size=size) as tell:
            yield tell
    else:
        yield _Lines(clock, size=size).tell


@contextmanager
def _drawn(*, size: bool) -> Iterator[Tell]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    amount = DownloadColumn() if size else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda what, done, total: progress.update(task, description=what, completed=done, total=total)


class _Lines:
    def __init__(self, clock: Clock, *, size: bool) -> None:
        self._clock = clock
        self._size = size
        self._what: str | None = None
        self._said_at = 0.0

    def tell(self, what: str, done: int, total: int | None) -> None:
        now = self._clock.monotonic()
        if what != self._what or done == total or now - self._said_at >= _LINE_SECONDS:
            self._what, self._said_at = what, now
            amount = self._amount(done) + (f"/{self._amount(total)}" if total is not None else "")
            print(f"{what} {amount}", file=sys.stderr, flush=True)

    def _amount(self, number: int) -> str:
        return f"{number / 1e6:.0f} MB" if self._size else str(number)
