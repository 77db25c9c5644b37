"""All servers of the file, side by side: what one of them does or suffers costs its own tools and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass

from qingtuan.errors import NotThere, SettingsWrong, ToolFailed
from qingtuan.language import Words
from qingtuan.mcp_client.config import Configured, ServerConfig
from qingtuan.mcp_client.logins import Begun, Logins
from qingtuan.mcp_client.pins import Change
from qingtuan.mcp_client.server import Server, Surroundings
from qingtuan.mcp_client.status import ServerStatus


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What reading the file again changed, by the names of servers."""

    added: tuple[str, ...] = ()
    """They were not there, or were switched off."""
    altered: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """They are not there any more, or switched off."""


class Servers:
    """Made from what `mcp.json` says. Tools that are known from the cache are offered at once, without a start."""

    def __init__(self, read: Callable[[], Configured], around: Surroundings) -> None:
        """`read` gives what the file says now. `around.changed` is called with the tools of each server, first from
        here."""
        self._read = read
        self._configured = read()
        self._around = around
        self._servers = {config.name: Server(config, around) for config in self._configured.servers}
        self._background: set[asyncio.Task[None]] = set()
        self._untried: dict[Server, asyncio.Event] = {}
        """Servers whose tools are not known and that were not yet tried; each is set when it was."""
        self._reloading = asyncio.Lock()

    @property
    def faults(self) -> tuple[SettingsWrong, ...]:
        """What is wrong in the file."""
        return self._configured.faults

    @property
    def edited(self) -> bool:
        """Whether the file says something else by now than when it was read."""
        return _said(self._read()) != _said(self._configured)

    async def start(self) -> None:
        """Begin to look at the servers whose tools are not known. Returns at once."""
        self._begin(self._servers.values())

    async def reload(self) -> Reloaded:
        """Read the file again. Servers that it no longer has as they are, end; what is new in it begins; all others go
        on undisturbed. Logins at those that were taken out are forgotten. Returns when the new ones have begun, not
        when they are up.

        Raises:
            SettingsWrong: the file as a whole cannot be read; nothing is changed.
            StorageFailed: a login could not be forgotten; all else is done.
        """
        async with self._reloading:
            found = self._read()
            if found.faults and not found.servers and not found.off:
                raise found.faults[0]
            wanted = {config.name: config for config in found.servers}
            ending = {name: one for name, one in self._servers.items() if wanted.get(name) != one.config}
            await asyncio.gather(*(server.close() for server in ending.values()))
            before, earlier, self._configured = self._servers, self._configured, found
            self._servers = {
                name: before[name] if name in before and name not in ending else Server(config, self._around)
                for name, config in wanted.items()
            }
            removed = tuple(name for name in ending if name not in wanted)
            for name in removed:
                self._around.changed(name, ())
            self._begin(server for name, server in self._servers.items() if server is not before.get(name))
            await self._forget_logins(earlier)
        altered = tuple(name for name in ending if name in wanted)
        return Reloaded(tuple(name for name in wanted if name not in before), altered, removed)

    async def _forget_logins(self, earlier: Configured) -> None:
        """Forget the logins at servers that the file has no more; one that is only switched off is still in it."""
        found, logins = self._configured, self._around.logins
        kept = {*(config.name for config in found.servers), *found.off}
        # Beside a slip in the file nobody knows what was taken out, and where all servers are off by the settings
        # the file was not even read.
        if logins is not None and not found.faults and (kept or earlier.servers or earlier.off):
            await logins.keep_only(kept)

    def _begin(self, servers: Iterable[Server]) -> None:
        for server in servers:
            if not server.listed and not server.waits_for_approval:
                self._untried[server] = asyncio.Event()
                self._spawn(self._discover(server))

    async def tried(self, patience: float) -> None:
        """Wait, for `patience` seconds at most, until each server whose tools are not known has been tried once."""
        waiting = [asyncio.ensure_future(event.wait()) for event in self._untried.values()]
        if waiting:
            try:
                await asyncio.wait(waiting, timeout=patience)
            finally:
                for task in waiting:
                    task.cancel()

    async def close(self) -> None:
        """End everything, within seconds, whatever the servers do."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        if self._around.logins is not None:
            await self._around.logins.close()
        await asyncio.gather(*(server.close() for server in self._servers.values()))

    def status(self) -> tuple[ServerStatus, ...]:
        """All servers, also those that are switched off."""
        on = [server.status() for server in self._servers.values()]
        return (*on, *(ServerStatus(name=name, kind=None, state="off") for name in self._configured.off))

    async def approve(self, name: str, seen: str, *, cause: str | None = None) -> tuple[Change, ...]:
        """Take what waits of the server, on the owner's word; the result says what was new or other. `seen` is the code
        of what the owner was shown (`ServerStatus.code`), `cause` the event of the message that says so.

        Raises:
            NotThere: there is no such server, or nothing of it waits.
            NotSeen: it is not what the owner was shown.
        """
        server = self._server(name)
        approved = server.approve(seen, cause)
        if not server.listed:
            self._spawn(self._discover(server))
        return approved

    async def restart(self, name: str) -> None:
        """End the server and start it anew, at once.

        Raises:
            NotThere: there is no such server.
            ToolFailed: it cannot be started.
        """
        await self._server(name).restart()

    async def refresh(self, name: str) -> None:
        """Read the server's tools again, starting it if need be.

        Raises:
            NotThere: there is no such server.
            ToolFailed: it cannot be started or does not list its tools.
        """
        await self._server(name).refresh()

    # Logins

    def config(self, name: str) -> ServerConfig:
        """What the file says of a server. Raises `NotThere`."""
        return self._server(name).config

    async def log_in(self, name: str) -> Begun:
        """Begin a login at a server: what the owner has to open.

        Raises:
            NotThere: there is no such server.
            ToolFailed: one does not log in there, or it cannot be done.
        """
        return await self._logins.begin(self.config(name))

    def came_back(self, name: str, pasted: str) -> None:
        """Hand over the address that the login led back to.

        Raises:
            NotThere: no login waits there.
            UsageWrong: it does not belong to it.
        """
        self._logins.give(name, pasted)

    async def logged_in(self, name: str) -> None:
        """Wait for the end of a login, and use it at once.

        Raises:
            NotThere: no login waits there.
            ToolFailed: it came to nothing.
        """
        await self._logins.done(name)
        await self._server(name).restart()

    def tell_when_logged_in(self, name: str) -> None:
        """Have the end of a login told (`Surroundings.let_in`), whenever that comes."""
        self._spawn(self._told_when_logged_in(name))

    async def _told_when_logged_in(self, name: str) -> None:
        try:
            await self.logged_in(name)
        except NotThere:
            return
        except ToolFailed as error:
            self._around.let_in(name, error.words)
        else:
            self._around.let_in(name, None)

    @property
    def _logins(self) -> Logins:
        if self._around.logins is None:
            raise NotThere(_NO_LOGINS)
        return self._around.logins

    def _server(self, name: str) -> Server:
        if name in self._servers:
            return self._servers[name]
        if name in self._configured.off:
            raise NotThere(Words(f"{name} 在 mcp.json 里关掉了。", f"{name} is switched off in mcp.json."))
        names = ", ".join(self._servers) or "–"
        raise NotThere(Words(f"没有叫这个的服务器。有：{names}", f"There is no such server. There are: {names}"))

    async def _discover(self, server: Server) -> None:
        """Start a server in the background until its tools are known, ever more slowly."""
        while not server.listed and not server.waits_for_approval and not server.closed:
            if wait := server.next_try:
                await self._around.clock.sleep(wait)
            try:
                with suppress(ToolFailed):
                    await server.ready()
            finally:
                # Whatever became of it: nobody may go on waiting for a server that nobody tries any more.
                if (event := self._untried.pop(server, None)) is not None:
                    event.set()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


_NO_LOGINS = Words("这里不能登录。", "One cannot log in here.")


def _said(configured: Configured) -> tuple[tuple[ServerConfig, ...], tuple[str, ...], list[Words]]:
    """What makes one reading of the file another than the one before: errors have no equality of their own."""
    return configured.servers, configured.off, [fault.words for fault in configured.faults]
