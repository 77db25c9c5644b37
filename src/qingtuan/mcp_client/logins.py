"""Logins at servers that the owner is in the middle of: the address to open, and what the browser brings back.

The browser is sent back to a port of this machine. Where it runs on another one, its person hands over the address that
it could not open. What comes back counts only with the secret of this very login (`state`).
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from qingtuan.clock import Clock
from qingtuan.errors import NotThere, ToolFailed, UsageWrong
from qingtuan.language import Words
from qingtuan.mcp_client.config import Endpoint, ServerConfig
from qingtuan.mcp_client.grants import Grants
from qingtuan.net.fetcher import SafeFetcher

if TYPE_CHECKING:
    import httpx2
    from mcp.shared.auth import AuthorizationCodeResult

LASTS = 600.0
"""Seconds that a login may take."""
FIRST = 45.0
"""Seconds until the address to open must be known."""
_PATH = "/callback"
_PAGE = "<!doctype html><meta charset=utf-8><title>Qingtuan</title><p>{said}</p>"


@dataclass(frozen=True, slots=True)
class Begun:
    """A login that waits for a person."""

    address: str = field(repr=False)
    """To be opened in a browser."""
    host: str
    """Where that leads."""
    before: str = ""
    """Where the owner logged in before, if that was elsewhere."""


@dataclass(slots=True)
class _Running:
    address: asyncio.Future[str]
    back: asyncio.Future[dict[str, str]]
    task: asyncio.Task[None] | None = None
    state: str = ""

    def give(self, query: str) -> bool:
        """Take what the browser brings back, if it belongs to this login."""
        found = {name: values[0] for name, values in parse_qs(query, max_num_fields=50).items()}
        if not self.state or not hmac.compare_digest(found.get("state", "").encode(), self.state.encode()):
            return False
        if "code" not in found and "error" not in found:
            return False
        if not self.back.done():
            self.back.set_result(found)
        return True


class Logins:
    """All of them."""

    def __init__(self, grants: Grants, clock: Clock, fetcher: SafeFetcher) -> None:
        self.grants = grants
        self._clock = clock
        self.fetcher = fetcher
        self._running: dict[str, _Running] = {}

    async def begin(self, config: ServerConfig) -> Begun:
        """Begin a login at a server; one that was begun before is given up.

        Raises:
            ToolFailed: it is no server that one logs in at, or it cannot be done; the sentence is for the owner.
        """
        if not isinstance(config.way, Endpoint):
            raise ToolFailed(_NO_LOGIN)
        await self._end(config.name)
        loop = asyncio.get_running_loop()
        running = _Running(loop.create_future(), loop.create_future())
        running.task = asyncio.create_task(self._log_in(config, config.way, running), name=f"mcp login {config.name}")
        self._running[config.name] = running
        either: list[asyncio.Future[Any]] = [running.task, running.address]
        await asyncio.wait(either, timeout=FIRST, return_when=asyncio.FIRST_COMPLETED)
        if not running.address.done():
            if running.task.done() and (error := running.task.exception()) is not None:
                raise error
            done = running.task.done()
            await self._end(config.name)
            raise ToolFailed(_NOT_NEEDED if done else _SLOW)
        address, before = running.address.result(), self.grants.of(config)
        host = urlsplit(address).hostname or ""
        earlier = urlsplit(before.issuer).hostname or "" if before is not None else ""
        return Begun(address, host, earlier if earlier != host else "")

    def give(self, name: str, pasted: str) -> None:
        """Hand over the address that a browser was sent back to.

        Raises:
            NotThere: no login at this server waits.
            UsageWrong: it does not belong to it.
        """
        running = self._running.get(name)
        if running is None or running.task is None or running.task.done():
            raise NotThere(_NONE)
        text = pasted.strip()
        if len(text) > 8_000 or not running.give(urlsplit(text).query or text):
            raise UsageWrong(_NOT_IT)

    async def done(self, name: str) -> None:
        """Wait until a login has come to its end.

        Raises:
            NotThere: there is none.
            ToolFailed: it came to nothing; the sentence says why.
        """
        running = self._running.get(name)
        if running is None or running.task is None:
            raise NotThere(_NONE)
        await asyncio.wait([running.task])
        if self._running.get(name) is running:
            del self._running[name]
        if running.task.cancelled():
            raise ToolFailed(_GIVEN_UP)
        running.task.result()

    async def keep_only(self, names: Collection[str]) -> None:
        """Forget what other servers than these let us in by, and give up logins that wait there.

        Raises:
            StorageFailed: that could not be written.
        """
        for name in {*self._running, *self.grants.servers()}.difference(names):
            await self._end(name)
            self.grants.forget(name)

    async def close(self) -> None:
        """Give up whatever waits."""
        for name in list(self._running):
            await self._end(name)

    async def _end(self, name: str) -> None:
        running = self._running.pop(name, None)
        if running is not None and running.task is not None:
            running.task.cancel()
            await asyncio.wait([running.task])

    async def _log_in(self, config: ServerConfig, endpoint: Endpoint, running: _Running) -> None:
        from qingtuan.mcp_client.connection import load_sdk

        await asyncio.to_thread(load_sdk)
        import httpx2
        from mcp.client.auth import OAuthFlowError

        from qingtuan.mcp_client.http import unquoted
        from qingtuan.mcp_client.sign_in import Login, NotLetIn, Routed, SignIn

        port = config.oauth.port if config.oauth else 0
        async with _listening(running, port) as redirect:

            async def show(address: str) -> None:
                running.state = parse_qs(urlsplit(address).query).get("state", [""])[0]
                running.address.set_result(address)

            sign_in = SignIn(config, endpoint, self.grants, Login(redirect, show, lambda: self._came_back(running)))
            transport = Routed(endpoint, httpx2.AsyncHTTPTransport(), self.fetcher)
            headers = {**endpoint.headers, "Accept-Encoding": "identity"}
            client = httpx2.AsyncClient(transport=transport, auth=sign_in, headers=headers, timeout=30.0)
            try:
                await _ask(client, endpoint)
            except* NotLetIn as errors:
                error = first(errors)
                raise ToolFailed(getattr(error, "words", _STILL_NOT), detail=getattr(error, "detail", "")) from None
            except* OAuthFlowError as errors:
                said = unquoted(first(errors))
                raise ToolFailed(Words(f"没有登录成：{said.zh}", f"The login failed: {said.en}")) from None
            except* (httpx2.HTTPError, httpx2.InvalidURL) as errors:
                raise ToolFailed(_NOT_REACHED, detail=repr(first(errors))) from None
            if running.address.done() and not sign_in.let_in:
                raise ToolFailed(_STILL_NOT)

    async def _came_back(self, running: _Running) -> AuthorizationCodeResult:
        from mcp.client.auth import OAuthFlowError
        from mcp.shared.auth import AuthorizationCodeResult

        late = asyncio.ensure_future(self._clock.sleep(LASTS))
        either: list[asyncio.Future[Any]] = [running.back, late]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            late.cancel()
        if not running.back.done():
            raise OAuthFlowError("nobody logged in within ten minutes")
        found = running.back.result()
        if "code" not in found:
            raise OAuthFlowError(found["error"][:80])
        return AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found.get("iss"))


async def _asked(
    client: httpx2.AsyncClient, endpoint: Endpoint, headers: Mapping[str, str], message: Mapping[str, Any]
) -> tuple[int, str]:
    """Send one message; the status of the answer, and the name of the session if it gives one."""
    async with client.stream("POST", endpoint.url, json=message, headers=headers) as response:
        return response.status_code, response.headers.get("mcp-session-id", "")


async def _ask(client: httpx2.AsyncClient, endpoint: Endpoint) -> None:
    """Ask for the list of tools, in whatever protocol the server speaks: then it says whether it wants a login."""
    from mcp import Client, MCPError
    from mcp.client.streamable_http import streamable_http_client

    async with client:
        streams = streamable_http_client(endpoint.url, http_client=client)
        try:
            async with Client(streams, mode="auto", read_timeout_seconds=2 * LASTS, cache=None) as one:
                await one.session.list_tools()
        except* (MCPError, TimeoutError):
            pass  # what it says besides does not matter here


def first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error of a group that is none itself."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


@asynccontextmanager
async def _listening(running: _Running, port: int) -> AsyncIterator[str]:
    """Listen on this machine alone for the browser to come back; gives the address that it is to be sent to."""

    async def visited(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said, status = "?", "400 Bad Request"
        try:
            async with asyncio.timeout(10):
                first = (await reader.readuntil(b"\n")).decode("ascii", "replace").split(" ")
            parts = urlsplit(first[1]) if len(first) == 3 and first[0] == "GET" else urlsplit("")
            if parts.path == _PATH and running.give(parts.query):
                said, status = "登录的结果收到了，这一页可以关了。 This page can be closed.", "200 OK"
        except (TimeoutError, ValueError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        page = _PAGE.format(said=said).encode()
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\nConnection: close\r\n\r\n"
        )
        with suppress(OSError):
            writer.write(head.encode() + page)
            await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_server(visited, "127.0.0.1", port, limit=16_384)
    except OSError:
        raise ToolFailed(_PORT.filled(port=port)) from None
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{_PATH}"
    finally:
        server.close()


_NO_LOGIN = Words("这个服务器是本机的程序，不用登录。", "This server is a program of this machine; there is no login.")
_NOT_NEEDED = Words("它没有要登录，直接能用。", "It wants no login and can be used as it is.")
_SLOW = Words("它没有及时说在哪里登录。", "It did not say in time where to log in.")
_NONE = Words("没有在等的登录，先开始一次。", "No login waits; begin one first.")
_NOT_IT = Words(
    "这不是这次登录跳回来的地址。要整个的，里面有 code= 和 state=。",
    "That is not the address that this login led back to; it is needed whole, with code= and state=.",
)
_GIVEN_UP = Words("这次登录被新的一次代替了。", "This login was replaced by another one.")
_NOT_REACHED = Words("登录要用的地址连不上。", "An address that the login needs cannot be reached.")
_STILL_NOT = Words("登录了，它还是不让进。", "Logged in, and it still refuses us.")
_PORT = Words("本机的 {port} 端口被占了。", "Port {port} of this machine is taken.")
