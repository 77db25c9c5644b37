"""One connection to a server: a task that owns the SDK's client, and what can be asked of it from others.

The SDK builds on scopes that must be left by the task that entered them. So everything that is entered lives in one
task, from the start of the server to its end; calls run in the tasks of their callers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from qingtuan.clock import Clock
from qingtuan.errors import ToolFailed
from qingtuan.mcp_client import failures
from qingtuan.mcp_client.asking import People
from qingtuan.mcp_client.calling import MAX_ROUNDS, Calling, Calls
from qingtuan.mcp_client.config import Command, ServerConfig
from qingtuan.mcp_client.definition import SENTENCE, Raw, without_secrets
from qingtuan.mcp_client.failures import Broken, Garbled, Reason, TimedOut
from qingtuan.mcp_client.grants import Held
from qingtuan.mcp_client.journal import Journal
from qingtuan.mcp_client.listing import MAX_CHARS, MAX_TOOLS
from qingtuan.mcp_client.resources import Page
from qingtuan.mcp_client.sieve import Sieve, SievedRead, SievedWrite
from qingtuan.mcp_client.troubles import Troubles
from qingtuan.tools.patience import LONGEST, Allowance
from qingtuan.tools.plain import covered, line
from qingtuan.tools.tool import ToolContext

if TYPE_CHECKING:
    import anyio
    import mcp_types
    from mcp import Client
    from mcp.client._transport import TransportStreams

_LOGGERS = ("mcp", "client", "httpx2", "httpcore2")
MAX_PAGES = 50
"""Pages of a list."""
_MAX_SERVER = 100
_LEAVE = 3.0
"""Seconds for an end in peace; a stdio server alone may take two."""

Progress = Callable[[float, float | None, str | None], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Listed:
    """The tools of a server as they came."""

    raws: list[Raw]
    more: int
    """How many were not read."""


@dataclass(frozen=True, slots=True)
class Told:
    """Who is told what happens to a connection."""

    changed: Callable[[], None]
    """The server says that its tools are others."""
    ended: Callable[[Connection], None]
    """A connection that was open is over, whoever ended it."""
    people: People | None = None
    """Whom the server may ask while it works on a call."""
    grants: Held | None = None
    """What logins let us in by."""


class Connection:
    """Made for one start of a server, and of no use after its end."""

    def __init__(
        self, config: ServerConfig, clock: Clock, journal: Journal, told: Told, *, legacy: bool = False
    ) -> None:
        """`legacy` speaks the older protocol without asking whether the server knows the newer one."""
        self._config = config
        self._journal = journal
        self._sieve = Sieve(clock, journal, told.changed)
        self._told = told
        self._troubles = Troubles()
        self._calls = Calls(config, told.people, clock)
        self.legacy = legacy
        self._ready = asyncio.Event()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._scope: anyio.CancelScope | None = None
        self._client: Client | None = None
        self.server = ""
        """The server's own name and version, bounded and harmless."""

    @property
    def alive(self) -> bool:
        """Whether calls can be tried."""
        return self._ready.is_set() and self._task is not None and not self._task.done() and not self._closing.is_set()

    async def open(self) -> None:
        """Start the server and agree on a protocol.

        Raises:
            Broken: it could not be started, or not in time; nothing of it is left.
        """
        await asyncio.to_thread(load_sdk)
        self._task = asyncio.create_task(self._live(), name=f"mcp {self._config.name}")
        ready = asyncio.ensure_future(self._ready.wait())
        try:
            await asyncio.wait(
                [self._task, ready], timeout=self._config.start_timeout, return_when=asyncio.FIRST_COMPLETED
            )
        except BaseException:
            await self.close()
            raise
        finally:
            ready.cancel()
        if not self._ready.is_set():
            late = not self._task.done()
            await self.close()
            why = failures.late(self._config, self._journal.last) if late else self.why_ended()
            raise Broken(why.words, sent=False, last=why.last)
        self._task.add_done_callback(lambda _: self._told.ended(self))
        if self._task.done():
            why = self.why_ended()
            raise Broken(why.words, sent=False, last=why.last)

    async def close(self) -> None:
        """End it: in peace, by force if that takes too long. Never raises."""
        self._closing.set()
        if self._task is None:
            return
        if not self._ready.is_set() and self._scope is not None:
            self._scope.cancel()  # whatever it waits for at its start will not come
        await asyncio.wait([self._task], timeout=_LEAVE)
        if not self._task.done() and self._scope is not None:
            self._scope.cancel()
            await asyncio.wait([self._task], timeout=_LEAVE)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_LEAVE)
        if self._task.done() and not self._task.cancelled():
            self._task.exception()  # read, so that nobody complains about it later

    # Living

    async def _live(self) -> None:
        import anyio
        from mcp import Client
        from mcp_types import Implementation
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        with anyio.CancelScope() as self._scope:
            client = Client(
                _Sieved(self._transport(), self._sieve),
                mode="legacy" if self.legacy else "auto",
                client_info=Implementation(name="qingtuan", version=version("qingtuan")),
                read_timeout_seconds=self._config.start_timeout,
                elicitation_callback=self._calls.asked if self._calls.can_ask else None,
                cache=None,
            )
            async with client, anyio.create_task_group() as group:
                self._client = client
                info = client.server_info
                named = covered(f"{info.name} {info.version}", self._config.secrets) if info else ""
                self.server = line(named, _MAX_SERVER)
                if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    group.start_soon(self._listen, client)
                if isinstance(self._config.way, Command):
                    group.start_soon(self._watch)
                self._ready.set()
                await self._closing.wait()
                group.cancel_scope.cancel()

    def _transport(self) -> AbstractAsyncContextManager[TransportStreams]:
        way = self._config.way
        if isinstance(way, Command):
            from qingtuan.mcp_client.stdio import stdio_transport

            return stdio_transport(way, self._journal)
        from qingtuan.mcp_client.http import entrance_of, http_transport

        # An answer may be silent for as long as a person thinks; how long a call may take is counted by itself.
        patience = LONGEST if self._calls.can_ask else 0.0
        silence = self._config.timeout + self._config.start_timeout + patience
        return http_transport(way, self._troubles, silence, entrance_of(self._config, way, self._told.grants))

    async def _watch(self) -> None:
        """The end of a program ends the connection: the SDK says so only to whoever asks something."""
        await self._sieve.ended.wait()
        self._closing.set()

    async def _listen(self, client: Client) -> None:
        """Keep asking to be told of changes, as the newer protocol wants it; the sieve hears of them."""
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        tools = client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return
        with suppress(MCPError, ListenNotSupportedError, SubscriptionLost, TimeoutError):
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    pass

    @property
    def ended_early(self) -> bool:
        """Whether the server ended by itself before it had agreed on a protocol."""
        return self._sieve.ended.is_set() and not self._ready.is_set()

    def why_ended(self) -> Reason:
        """Why it is over."""
        task, config, last = self._task, self._config, self._journal.last
        error = task.exception() if task is not None and task.done() and not task.cancelled() else None
        if self._ready.is_set():
            return failures.why_ended(error, config, last)
        return failures.why_not_started(error, config, self._troubles, last)

    # Asking

    async def tools(self) -> Listed:
        """All tools of the server, page by page, within bounds; none of one that knows no tools.

        Raises:
            Broken, TimedOut, Garbled, ToolFailed: they could not be listed.
        """
        try:
            return await self._tools()
        except ToolFailed:
            if self._client is not None and self._client.server_capabilities.tools is None:
                return Listed([], 0)
            raise

    async def _tools(self) -> Listed:
        from mcp_types import PaginatedRequestParams

        raws: list[Raw] = []
        cursors: set[str | None] = set()
        cursor, chars, wanted = None, 0, self._config.start_timeout
        while cursor not in cursors and len(cursors) < MAX_PAGES and chars < MAX_CHARS:
            cursors.add(cursor)
            asking = self._session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            page: mcp_types.ListToolsResult = await self._asked(asking, wanted)
            listed = [_raw(tool, self._config.secrets) for tool in page.tools]
            chars += sum(len(str(raw)) for raw in listed)
            raws += listed
            cursor = page.next_cursor
            if cursor is None:
                break
        return Listed(raws[:MAX_TOOLS], max(0, len(raws) - MAX_TOOLS))

    async def call(
        self, name: str, arguments: dict[str, Any], seconds: float, context: ToolContext, progress: Progress
    ) -> mcp_types.CallToolResult:
        """Call a tool. Being cancelled, or running out of time, tells the server to stop. While the person of `context`
        is asked something, no time passes.

        Raises:
            ToolFailed: the server refused, by its own words.
            Broken: the connection is over, or was not there.
            TimedOut: no answer within `seconds`.
            Garbled: there was an answer, and it cannot be read.
        """
        from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

        def request(again: dict[str, Any]) -> CallToolRequest:
            return CallToolRequest(params=CallToolRequestParams(name=name, arguments=arguments, **again))

        with self._calls.begun(context, seconds) as calling:
            return await self._in_rounds(request, CallToolResult, calling, progress)  # type: ignore[no-any-return]

    async def read(
        self, uri: str, seconds: float, context: ToolContext, progress: Progress
    ) -> mcp_types.ReadResourceResult:
        """Read a resource. Raises as `call`."""
        from mcp_types import ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult

        def request(again: dict[str, Any]) -> ReadResourceRequest:
            return ReadResourceRequest(params=ReadResourceRequestParams(uri=uri, **again))

        with self._calls.begun(context, seconds) as calling:
            return await self._in_rounds(request, ReadResourceResult, calling, progress)  # type: ignore[no-any-return]

    async def resources(self, cursor: str | None, seconds: float) -> Page:
        """A page of what can be read. Raises as `call`."""
        from mcp_types import PaginatedRequestParams

        params = PaginatedRequestParams(cursor=cursor)
        found = await self._asked(self._session.list_resources(params=params), seconds)
        if cursor is not None:
            return Page(found.resources, next=found.next_cursor)
        try:
            templates = await self._asked(self._session.list_resource_templates(), seconds)
        except ToolFailed:  # many servers have none, and say that they do not know the question
            return Page(found.resources, next=found.next_cursor)
        return Page(found.resources, templates.resource_templates, found.next_cursor)

    @property
    def has_resources(self) -> bool:
        """Whether the server says that there is something to be read."""
        return self._client is not None and self._client.server_capabilities.resources is not None

    async def _in_rounds(
        self, request: Callable[[dict[str, Any]], Any], kind: type[Any], calling: Calling, progress: Progress
    ) -> Any:
        """The answer to a request that is made again with what the server asks for meanwhile (2026-07-28)."""
        from mcp_types import InputRequiredResult
        from pydantic import TypeAdapter

        either: Any = kind | InputRequiredResult
        kinds: TypeAdapter[Any] = TypeAdapter(either)
        again: dict[str, Any] = {}
        for rounds in range(MAX_ROUNDS):
            result = await self._answered(request(again), kinds, calling, progress)
            if isinstance(result, kind):
                return result
            answers = await calling.answers(result, rounds)
            again = {"input_responses": answers, "request_state": result.request_state}
        raise ToolFailed(failures.ASKS_TOO_MUCH)

    async def _answered(self, request: Any, kinds: Any, calling: Calling, progress: Progress) -> Any:
        """The answer to a call, within its time. What has to be dealt with at an address first is, and then the call is
        made once more."""
        for last in (False, True):
            # Its own time is no matter of the SDK's, which would go on with it while a person thinks.
            asking = self._session.send_request(
                request, kinds, request_read_timeout_seconds=2 * LONGEST, progress_callback=progress
            )
            try:
                return await self._asked(asking, calling.allowance)
            except _AddressFirst as error:
                if last or not await calling.visited(error.data):
                    raise ToolFailed(failures.ADDRESS_FIRST) from None
        raise AssertionError("unreachable")

    @property
    def _session(self) -> Any:
        if self._client is None or not self.alive:
            raise Broken(failures.OVER, sent=False)
        return self._client.session

    async def _asked(self, asking: Awaitable[Any], seconds: float | Allowance) -> Any:
        from mcp import MCPError
        from mcp_types import URL_ELICITATION_REQUIRED
        from pydantic import ValidationError

        allowance = Allowance(seconds) if isinstance(seconds, (int, float)) else seconds
        try:
            return await _within(asking, allowance)
        except TimeoutError:
            raise TimedOut from None
        except ValidationError as error:
            raise Garbled(failures.GARBLED, detail=str(error.error_count())) from None
        except MCPError as error:
            if error.code == URL_ELICITATION_REQUIRED and self._troubles.of(error.data) is None:
                raise _AddressFirst(error.data) from None
            over = self._sieve.ended.is_set() or not self.alive
            raise failures.of_answer(error, self._config, self._troubles, over=over) from None


class _AddressFirst(ToolFailed):
    """A server wants addresses to be dealt with before it does what it was asked."""

    def __init__(self, data: Any) -> None:
        super().__init__(failures.ADDRESS_FIRST)
        self.data = data


async def _within(asking: Awaitable[Any], allowance: Allowance) -> Any:
    """What comes of it before the time is used up. Raises `TimeoutError`. Whoever is cancelled cancels it, too."""
    work, over = asyncio.ensure_future(asking), asyncio.ensure_future(allowance.over())
    try:
        await asyncio.wait([work, over], return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise TimeoutError
        return work.result()
    finally:
        over.cancel()
        if not work.done():
            work.cancel()
            await asyncio.wait([work], timeout=_LEAVE)


async def connected(
    config: ServerConfig, clock: Clock, journal: Journal, told: Told, *, legacy: bool = False
) -> Connection:
    """An open connection. Some programs of the older protocol end at the first question of the newer one: they are
    started once more and spoken to in theirs.

    Raises:
        Broken: the server could not be started.
    """
    journal.forget()
    connection = Connection(config, clock, journal, told, legacy=legacy)
    try:
        await connection.open()
    except Broken:
        if legacy or not isinstance(config.way, Command) or not connection.ended_early:
            raise
        connection = Connection(config, clock, journal, told, legacy=True)
        await connection.open()
    return connection


def load_sdk() -> None:
    """Import the SDK, which takes a second and 25 MiB: beside the loop, and only when a server is started.

    It logs what servers do to it, with all they say. That is no output of ours, and what matters of it is told.
    """
    import mcp  # noqa: F401

    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.propagate = False
        logger.addHandler(logging.NullHandler())


class _Sieved:
    """A transport whose messages pass through a sieve."""

    def __init__(self, inner: AbstractAsyncContextManager[TransportStreams], sieve: Sieve) -> None:
        self._inner = inner
        self._sieve = sieve

    async def __aenter__(self) -> TransportStreams:
        read, write = await self._inner.__aenter__()
        return SievedRead(read, self._sieve), SievedWrite(write, self._sieve)

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._inner.__aexit__(*error)


def _raw(tool: mcp_types.Tool, secrets: Iterable[str]) -> Raw:
    """A tool as JSON, in the form that is hashed: what the SDK adds or leaves away does not change that."""
    annotations = tool.annotations.model_dump(mode="json", by_alias=True, exclude_none=True) if tool.annotations else {}
    given = (tool.meta or {}).get(SENTENCE)
    sentence = (
        {key: given[key] for key in ("zh", "en") if isinstance(given.get(key), str)} if isinstance(given, dict) else {}
    )
    parts = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": annotations or None,
        "execution": {"taskSupport": "required"}
        if tool.execution and tool.execution.task_support == "required"
        else None,
        "_meta": {SENTENCE: sentence} if sentence else None,
    }
    return without_secrets({key: value for key, value in parts.items() if value is not None}, secrets)
