"""One server: started when it is needed, listed, called, started again after its death, and never trusted further
than its pins."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from qingtuan.clock import Clock
from qingtuan.errors import NotThere, OutcomeUnknown, ServerDown, ToolFailed, ToolTimedOut
from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.mcp_client import listing as lists
from qingtuan.mcp_client.asking import People
from qingtuan.mcp_client.config import ServerConfig
from qingtuan.mcp_client.connection import Connection, Progress, Told, connected
from qingtuan.mcp_client.definition import Definition
from qingtuan.mcp_client.failures import OVER, Broken, Garbled, Reason, TimedOut, reason_of
from qingtuan.mcp_client.journal import Journal
from qingtuan.mcp_client.listing import Listing
from qingtuan.mcp_client.logins import Logins
from qingtuan.mcp_client.offer import MAX_AT_ONCE, WITHHELD, Offer, offer_of, risk_of, tool_of
from qingtuan.mcp_client.pins import Change, Pins
from qingtuan.mcp_client.resources import READING, address_of, listed
from qingtuan.mcp_client.results import contents_of, result_of
from qingtuan.mcp_client.status import ServerStatus, State
from qingtuan.media.store import MediaStore
from qingtuan.tools.plain import covered, line
from qingtuan.tools.tool import Tool, ToolContext, ToolResult

CONCURRENT = 8
"""Calls of one server at the same time."""
_MAX_DELAY = 300.0
_MUTE = 2
"""So many calls running out of time one after the other end the connection: whatever hangs is started anew."""
_SETTLE = 0.5
"""Seconds after a server said that its tools changed: it may say so for each of them."""
_GAP = 10.0
"""Seconds between two readings of a list because its server says so: each may cost seconds of work, and a hostile one
never stops saying it."""
_MAX_PROGRESS = 120

Changed = Callable[[str, Sequence[Tool]], None]
"""Told a server's name and all tools that it offers now."""


class Down(ToolFailed):
    """It cannot be started, or failed just before; nothing was done."""

    def __init__(self, told: Words, whole: Words, detail: str = "") -> None:
        super().__init__(whole, detail=detail)
        self.told = told
        """The same without what the server itself wrote: for a model."""


class NotSeen(NotThere):
    """An approval of something that the owner was not shown."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all servers share."""

    clock: Clock
    pins: Pins
    cache: Path
    """Folder of the cached lists."""
    media: MediaStore
    """Where files that they send are kept."""
    logs: Path
    changed: Changed
    people: People | None = None
    """Whom servers may ask something; None for nobody."""
    logins: Logins | None = None
    """How the owner logs in at servers; None where nobody can."""
    let_in: Callable[[str, Words | None], None] = lambda *_: None
    """Told what became of a login that somebody waits for in a chat: the server's name, and why it failed."""


class Server:
    """One server of the file."""

    def __init__(self, config: ServerConfig, around: Surroundings) -> None:
        self.config = config
        self._around = around
        self._journal = Journal(around.logs / f"mcp-{config.name}.log", around.clock, config.secrets)
        self._room = asyncio.Semaphore(CONCURRENT)
        self._connection: Connection | None = None
        self._starting: asyncio.Task[Connection] | None = None
        self._relisting: asyncio.Task[None] | None = None
        self._relisted = -math.inf
        self._ending: set[asyncio.Task[None]] = set()
        self._listing = lists.load(around.cache, config.key)
        self._offer = Offer()
        self._offered: tuple[Tool, ...] | None = None
        self._failures = 0
        self._next_try: float | None = None
        self._error: Reason | None = None
        self._legacy = False
        self._mute = 0
        self._closed = False
        self._renew()

    # What it offers

    @property
    def listed(self) -> bool:
        """Whether its tools are known, from the cache or from itself."""
        return self._listing is not None

    @property
    def closed(self) -> bool:
        """Whether it is over for good."""
        return self._closed

    @property
    def waits_for_approval(self) -> bool:
        """Whether it must not even be started."""
        return self._offer.moved

    @property
    def next_try(self) -> float:
        """Seconds until it may be started again, 0 if it may now."""
        return max(0.0, (self._next_try or 0.0) - self._around.clock.monotonic()) if self._next_try is not None else 0.0

    def _renew(self) -> None:
        """Work out what is offered, and tell it if it is something else than before."""
        pinned = self._around.pins.of(self.config.name)
        if pinned is None and self._listing is not None and (self._listing.tools or self._listing.resources):
            pinned = self._around.pins.pin(self.config, self._listing.tools)
        self._offer = offer_of(self.config, self._listing, pinned)
        tools = tuple(tool_of(self.config, tool, self.call) for tool in self._offer.tools)
        if tools != self._offered:
            self._offered = tools
            self._around.changed(self.config.name, tools)

    def status(self) -> ServerStatus:
        """How it is doing."""
        pinned = self._around.pins.of(self.config.name)
        waits = self.next_try
        return ServerStatus(
            name=self.config.name,
            kind=self.config.kind,
            state=self._state,
            shown=self.config.shown,
            tools=len(self._offer.tools),
            withheld=self._offer.changes,
            code=self._offer.code,
            left_out=self._offer.left_out,
            moved=pinned.shown if pinned is not None and self._offer.moved else "",
            error=self._error.whole if self._error is not None else None,
            next_try=self._around.clock.now() + timedelta(seconds=waits) if waits else None,
            server=self._listing.server if self._listing else "",
        )

    @property
    def _state(self) -> State:
        if self._connection is not None and self._connection.alive:
            return "up"
        if self._starting is not None:
            return "starting"
        return "idle" if self._error is None else "down"

    # Starting and ending

    async def ready(self) -> Connection:
        """The connection; the server is started if there is none. Whoever waits may go: the start goes on.

        Raises:
            ToolFailed: it cannot be started, or failed just before; nothing was done.
        """
        if self._closed:
            raise ToolFailed(_CLOSED)
        if self._offer.moved:
            raise ToolFailed(WITHHELD)
        if self._connection is not None and self._connection.alive:
            return self._connection
        if self._starting is None:
            if self.next_try:
                raise self._later()
            self._starting = asyncio.create_task(self._start(), name=f"mcp start {self.config.name}")
            self._starting.add_done_callback(self._started)
        starting = self._starting
        await asyncio.wait([starting])
        if starting.cancelled():
            raise ToolFailed(_CLOSED)
        return starting.result()

    def _started(self, task: asyncio.Task[Connection]) -> None:
        self._starting = None
        if not task.cancelled():
            task.exception()  # whoever waited was told

    async def _start(self) -> Connection:
        try:
            connection = await self._opened()
            try:
                self._take(await self._listed(connection))
            except BaseException:
                await connection.close()
                raise
        except (Broken, TimedOut, Garbled, ToolFailed) as error:
            reason = reason_of(error)
            self._failed(reason, free_first=False)
            raise Down(self._not_started(reason.words), self._not_started(reason.whole), error.detail) from None
        self._connection, self._error, self._mute = connection, None, 0
        return connection

    async def _opened(self) -> Connection:
        around = self._around
        grants = around.logins.grants if around.logins is not None else None
        told = Told(self._changed, self._lost, around.people, grants)
        connection = await connected(self.config, around.clock, self._journal, told, legacy=self._legacy)
        self._legacy = connection.legacy
        return connection

    def _lost(self, connection: Connection) -> None:
        """A connection ended: by itself, if it still is ours."""
        if connection is self._connection:
            self._connection = None
            self._failed(connection.why_ended(), free_first=True)

    def _failed(self, reason: Reason, *, free_first: bool) -> None:
        """Note a failure, and how long nothing is tried. A death after calls that went well may be an accident: the
        next start is free."""
        self._error = reason
        free = free_first and self._failures == 0
        delay = 0.0 if free else min(2.0 ** max(0, self._failures - (1 if free_first else 0)), _MAX_DELAY)
        self._failures += 1
        self._next_try = self._around.clock.monotonic() + delay

    def _not_started(self, words: Words) -> Words:
        name = self.config.name
        return Words(
            f"没有执行：服务器 {name} 用不了。{words.zh}", f"Not run: server {name} is not available. {words.en}"
        )

    def _later(self) -> Down:
        seconds, reason = max(1, round(self.next_try)), self._error or Reason(_CLOSED)
        told, whole = (
            self._not_started(Words(f"{why.zh} {seconds} 秒后才再试。", f"{why.en} It is tried again in {seconds} s."))
            for why in (reason.words, reason.whole)
        )
        return Down(told, whole)

    async def stop(self) -> None:
        """End the connection in peace, whatever state it is in; it can be started again."""
        starting, connection, relisting = self._starting, self._connection, self._relisting
        self._connection = None
        for task in (starting, relisting):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])
        if connection is not None:
            await connection.close()
        if self._ending:
            await asyncio.wait(self._ending)

    async def close(self) -> None:
        """The same, for good."""
        self._closed = True
        await self.stop()

    async def restart(self) -> None:
        """Start it anew, at once. Raises `ToolFailed`."""
        await self.stop()
        self._failures, self._next_try, self._error = 0, None, None
        await self.ready()

    # Listing

    async def _listed(self, connection: Connection) -> Listing:
        try:
            async with asyncio.timeout(self.config.start_timeout):
                listed = await connection.tools()
        except TimeoutError:
            raise TimedOut from None
        # Checking a thousand schemas takes seconds: beside the loop.
        prefix = self.config.prefix
        found = await asyncio.to_thread(lists.listing_of, listed.raws, connection.server, listed.more, prefix=prefix)
        return replace(found, resources=connection.has_resources)

    def _take(self, listing: Listing) -> None:
        if self._listing is None or _kept(listing) != _kept(self._listing):
            lists.save(self._around.cache, self.config.key, listing)
        self._listing = listing
        self._renew()

    async def refresh(self) -> None:
        """Read the list again; starts the server if need be. Raises `ToolFailed`."""
        connection = await self.ready()
        try:
            self._take(await self._listed(connection))
        except (Broken, TimedOut, Garbled) as error:
            raise ToolFailed(self._not_started(error.words)) from None

    def _changed(self) -> None:
        """The server says that its tools are others."""
        if self._relisting is None and not self._closed:
            self._relisting = asyncio.create_task(self._relist(), name=f"mcp list {self.config.name}")

    async def _relist(self) -> None:
        clock = self._around.clock
        try:
            await clock.sleep(max(_SETTLE, self._relisted + _GAP - clock.monotonic()))
        finally:
            self._relisting = None
        self._relisted = clock.monotonic()
        with suppress(ToolFailed):
            if self._connection is not None:
                await self.refresh()

    def approve(self, seen: str, cause: str | None) -> tuple[Change, ...]:
        """Pin what the owner has seen, by the code that stands for it; the result is what was new or other.

        Raises:
            NotThere: nothing waits.
            NotSeen: something else waits than what the code stands for.
        """
        name, pins = self.config.name, self._around.pins
        if not self._offer.code:
            raise NotThere(Words(f"{name} 没有要认可的。", f"Nothing of {name} waits."))
        if seen != self._offer.code:
            raise NotSeen(Words(f"{name} 现在的样子还没有看过。", f"{name} was not looked at as it is now."))
        waiting = self._offer.changes[:MAX_AT_ONCE]
        if self._offer.moved:
            pins.pin_identity(self.config, cause=cause)
        elif self._listing is not None:
            pins.approve(self.config, self._listing.tools, {change.tool for change in waiting}, cause=cause)
        self._renew()
        return waiting

    # Calling

    async def call(self, name: str, pinned: str, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        """Call the tool that was offered under this name and hash.

        Raises:
            ToolFailed: it was not done: the server said so, or the tool is no longer the same.
            ServerDown: it was not done: the server is not there.
            ToolTimedOut, OutcomeUnknown: it may have been done.
        """
        known = self._offer.find(name, pinned)
        reads = known is not None and risk_of(self.config, known) is Risk.READ
        for last in (False, True):
            try:
                connection = await self.ready()
            except Down as error:
                # Why is the owner's: it tells of the machine, and what the server wrote was not written for people.
                raise ServerDown(error.told, detail="" if error.told == error.words else error.words.en) from None
            tool = self._offer.find(name, pinned)
            if tool is None:
                raise ToolFailed(WITHHELD)
            try:
                return await self._called(connection, tool, context, arguments)
            except Broken as error:
                self._drop(connection, Reason(error.words))
                if last or (error.sent and not reads):
                    raise self._unsure(error, done=error.sent and not reads) from None
        raise AssertionError("unreachable")

    async def _called(
        self, connection: Connection, tool: Definition, context: ToolContext, arguments: dict[str, Any]
    ) -> ToolResult:
        reads = risk_of(self.config, tool) is Risk.READ

        async def progress(done: float, total: float | None, message: str | None) -> None:
            context.report(_progress(done, total, covered(message or "", self.config.secrets)))

        try:
            async with asyncio.timeout(self.config.timeout):
                await self._room.acquire()
        except TimeoutError:
            raise ToolFailed(self._not_started(_BUSY)) from None
        try:
            result = await self._result(connection, tool, context, arguments, progress)
        except TimedOut as error:
            self._mute += 1
            if self._mute >= _MUTE:
                self._drop(connection, Reason(error.words))
            raise (ToolTimedOut(error.words) if reads else self._unsure(error, done=True)) from None
        except Garbled as error:
            raise self._unsure(error, done=not reads) from None
        finally:
            self._room.release()
        self._failures, self._next_try, self._mute = 0, None, 0
        return result()

    async def _result(
        self, connection: Connection, tool: Definition, context: ToolContext, arguments: dict[str, Any], told: Progress
    ) -> Callable[[], ToolResult]:
        """What a call came to, to be taken apart once the server is let go."""
        media, language, config = self._around.media, context.language, self.config
        if tool is not READING:
            answer = await connection.call(tool.name, arguments, config.timeout, context, told)
            return lambda: result_of(answer, tool, media, language, config.secrets)
        if uri := address_of(arguments):
            read = await connection.read(uri, config.timeout, context, told)
            return lambda: contents_of(read, media, language, config.secrets)
        page = await connection.resources(arguments.get("cursor") or None, config.timeout)
        return lambda: listed(page, language, config.secrets)

    def _unsure(self, error: Broken | TimedOut | Garbled, *, done: bool) -> OutcomeUnknown | ToolFailed:
        name = self.config.name
        words = Words(f"服务器 {name}：{error.words.zh}", f"Server {name}: {error.words.en}")
        return (OutcomeUnknown if done else ToolFailed)(words, detail=error.detail)

    def _drop(self, connection: Connection, reason: Reason) -> None:
        """Give a connection up that is of no more use."""
        if connection is self._connection:
            self._connection = None
            self._failed(reason, free_first=True)
        ending = asyncio.create_task(self._end(connection, reason))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _end(self, connection: Connection, reason: Reason) -> None:
        await connection.close()
        if self._error is reason and reason.words is OVER:
            self._error = connection.why_ended()  # only the end itself tells what was behind it


def _kept(listing: Listing) -> tuple[object, ...]:
    """What of a list is worth being written anew."""
    return listing.raw, listing.server, listing.resources


def _progress(done: float, total: float | None, message: str) -> str:
    """A line about how far a call is."""
    if message:
        return line(message, _MAX_PROGRESS)
    return f"{done:g}/{total:g}" if total else f"{done:g}"


_CLOSED = Words("服务器停了。", "The server was stopped.")
_BUSY = Words("它正忙着，前面的调用还没完。", "It is busy with earlier calls.")
