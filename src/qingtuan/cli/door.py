"""The way to a running instance: this process becomes it, or speaks through the one that owns the data folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qingtuan.channels.cli.client import SocketLink
from qingtuan.channels.cli.link import Link
from qingtuan.cli.shell import Shell
from qingtuan.errors import StorageFailed
from qingtuan.home import HomeLock

if TYPE_CHECKING:
    from qingtuan.app import App
    from qingtuan.channels.cli.server import Server
    from qingtuan.cli.restarting import Requests

_WAIT_SECONDS = 10.0
"""How long a folder that somebody holds without a socket is waited for (contracts.md, Data folder)."""
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Door:
    """An instance to speak with."""

    link: Link
    app: App | None
    """The instance, if it runs in this process."""
    server: Server | None = None
    """What others speak through, if they speak through this process."""


async def _nothing() -> None:
    """No preparations."""


@asynccontextmanager
async def entered(
    shell: Shell, command: str, *, serve: bool = False, first: Callable[[], Awaitable[None]] = _nothing
) -> AsyncIterator[Door]:
    """An instance, for as long as the block lasts.

    `command` is what others are told who holds the folder. With `serve` the instance stays: others may speak through
    this process, and hand edits are noticed. `first` is done before an instance is made here, not when one runs.

    Raises:
        HomeInUse: another process holds the folder, and cannot be spoken to.
        SettingsWrong, StorageFailed: as `App.open`.
    """
    shell.home.prepare()
    lock = HomeLock(shell.home)
    remote = await _remote(shell, command, lock)
    lock.release()
    if remote is not None:
        yield Door(remote, None)
        return
    await first()
    async with opened(shell, command, serve=serve) as door:
        yield door


@asynccontextmanager
async def opened(
    shell: Shell, command: str, *, serve: bool, claim: HomeLock | None = None, requests: Requests | None = None
) -> AsyncIterator[Door]:
    """An instance in this process. `claim` is one on the folder that this process has already; `requests` is where the
    instance can be asked to make room for another state of the data folder. Raises as `entered`."""
    # A command that speaks through another process does without all of this.
    from qingtuan.app import App
    from qingtuan.app.collecting import set_aside
    from qingtuan.channels.cli.link import LocalLink
    from qingtuan.channels.cli.server import Server
    from qingtuan.cli.jobs import jobs_of

    app = await App.open(shell.home, shell.settings, clock=shell.clock, claim=claim or command, watch=serve)
    app.desk.inquiring.alone = not serve  # whoever asks once hears nothing more
    try:
        if app.upgraded is not None:
            shell.note(shell.say(app.upgraded.words))
        jobs = jobs_of(app) if requests is None else {**jobs_of(app), "restore": requests.run}
        link = LocalLink(app, jobs)
        server = Server(link, shell.home)
        try:
            if serve:
                await server.start()
                set_aside()
            yield Door(link, app, server if serve else None)
        finally:
            await server.close()
            await link.close()
    finally:
        await app.close()


@dataclass(frozen=True, slots=True)
class Claim:
    """A data folder that this process holds, or another one can be asked about."""

    lock: HomeLock
    link: SocketLink | None
    """A line to the instance that runs; None if there is none, and this process holds the folder."""


@asynccontextmanager
async def claimed(shell: Shell, command: str) -> AsyncIterator[Claim]:
    """The data folder, held for as long as the block lasts, or a line to the instance that holds it. For work on the
    files themselves, which must do even where no instance can start.

    Raises:
        HomeInUse: another process holds the folder, and cannot be spoken to.
        StorageFailed: the folder cannot be used.
    """
    lock = HomeLock(shell.home)
    try:
        yield Claim(lock, await _remote(shell, command, lock))
    finally:
        lock.release()


async def _remote(shell: Shell, command: str, lock: HomeLock) -> SocketLink | None:
    """A line to the instance that runs already; None if the folder was free, and `lock` holds it now."""
    deadline = shell.clock.monotonic() + _WAIT_SECONDS
    while not lock.take(command):
        link = _line(shell)
        if link is not None and await link.reachable():
            return link
        if shell.clock.monotonic() >= deadline:
            await lock.acquire(command, shell.clock, wait=0)  # says who holds it
            break
        await shell.clock.sleep(_POLL_SECONDS)
    return None


async def running_link(shell: Shell) -> SocketLink | None:
    """A line to the instance that runs; None if none does that can be spoken to. Nothing is waited for or changed."""
    if not shell.home.socket.exists():
        return None
    link = _line(shell)
    return link if link is not None and await link.reachable() else None


def _line(shell: Shell) -> SocketLink | None:
    try:
        return SocketLink(shell.home.socket_address())
    except StorageFailed:
        return None  # nobody can listen there
