"""The streamable HTTP transport: the SDK's own, over a client that bounds answers and tells failures apart.

The SDK ends the whole connection when one request cannot be sent, and says nothing of the status of one that was
refused. So what goes wrong with a request becomes the answer to that request, and is remembered here in our words.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2

from qingtuan.language import Words
from qingtuan.mcp_client.config import Endpoint, ServerConfig
from qingtuan.mcp_client.grants import Held
from qingtuan.mcp_client.process import MAX_MESSAGE
from qingtuan.mcp_client.troubles import TROUBLE, Trouble, Troubles
from qingtuan.net.fetcher import SafeFetcher
from qingtuan.tools.plain import line, secrets_of

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

_CONNECT = 15.0
_MAX_REFUSAL = 64 * 1024
"""Bytes that are read of an answer that refuses."""
_SESSION = "mcp-session-id"


@dataclass(frozen=True, slots=True)
class Entrance:
    """How requests to a server are let in."""

    name: str
    """Of the server, in what is said of it."""
    keyed: bool
    """Whether the owner gave it a key: then a login is not what it wants."""
    auth: httpx2.Auth | None = None
    """None where the owner has not logged in: then only what stands in the headers lets us in."""
    transport: httpx2.AsyncBaseTransport | None = None


def entrance_of(config: ServerConfig, endpoint: Endpoint, grants: Held | None) -> Entrance:
    """How requests to this server are let in: by the owner's login, if there was one."""
    keyed = bool(secrets_of(endpoint.headers.items()))
    if grants is None or grants.of(config) is None:
        return Entrance(config.name, keyed)
    from qingtuan.mcp_client.sign_in import Routed, SignIn

    transport = Routed(endpoint, httpx2.AsyncHTTPTransport(), SafeFetcher())
    return Entrance(config.name, keyed, SignIn(config, endpoint, grants), transport)


@asynccontextmanager
async def http_transport(
    endpoint: Endpoint, troubles: Troubles, read_timeout: float, entrance: Entrance
) -> AsyncGenerator[TransportStreams, None]:
    """Speak with the server behind an address. `read_timeout`: seconds of silence within one answer."""
    from mcp.client.streamable_http import streamable_http_client

    timeout = httpx2.Timeout(_CONNECT, read=read_timeout)
    # Nothing packed is asked for: 4 KB can unpack to gigabytes.
    headers = {**endpoint.headers, "Accept-Encoding": "identity"}
    async with (
        _Client(troubles, entrance, headers=headers, timeout=timeout) as client,
        streamable_http_client(endpoint.url, http_client=client, max_sse_event_size=MAX_MESSAGE) as streams,
    ):
        yield streams


class _Client(httpx2.AsyncClient):
    """Sends the SDK's requests; whatever happens to a message comes back as an answer to it."""

    def __init__(self, troubles: Troubles, entrance: Entrance, **options: Any) -> None:
        super().__init__(auth=entrance.auth, transport=entrance.transport, **options)
        self._troubles = troubles
        self._entrance = entrance
        self._refused: Trouble | None = None
        """That we are not let in: what the server says to other messages until it lets us in tells less."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        from mcp.client.auth import OAuthFlowError

        if request.method != "POST":
            try:
                return await super().send(request, **options)
            except OAuthFlowError:
                # What comes unasked does without: the next message says why we are not let in.
                return httpx2.Response(405, request=request)
        try:
            answer = await _usable(await super().send(request, **options), self._entrance)
        except OAuthFlowError as error:
            words = getattr(error, "words", None) or _NOT_LET_IN
            answer = Trouble(words, sent=False, detail=getattr(error, "detail", "") or unquoted(error).en)
        except httpx2.HTTPError as error:
            answer = _trouble_of(error)
        except httpx2.InvalidURL:
            answer = Trouble(_BAD_ADDRESS, sent=False)
        answer = self._told(answer)
        if isinstance(answer, httpx2.Response):
            return answer
        error_data = {"code": TROUBLE, "message": "", "data": self._troubles.note(answer)}
        return httpx2.Response(502, json={"jsonrpc": "2.0", "id": None, "error": error_data}, request=request)

    def _told(self, answer: httpx2.Response | Trouble) -> httpx2.Response | Trouble:
        if isinstance(answer, Trouble):
            self._refused = answer if answer.wants_login else self._refused
            return answer
        if answer.status_code < 400:
            self._refused = None
        return self._refused or answer


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends in an error where it becomes too large or breaks off. The SDK then answers the request with an
    error, where another one would end the connection."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._inner:
                size += len(chunk)
                if size > MAX_MESSAGE:
                    raise httpx2.StreamError(f"larger than {MAX_MESSAGE} bytes")
                yield chunk
        except httpx2.HTTPError as error:
            raise httpx2.StreamError(type(error).__name__) from error

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _usable(response: httpx2.Response, entrance: Entrance) -> httpx2.Response | Trouble:
    """An answer that the SDK can read, or what is wrong with this one."""
    kind = response.headers.get("content-type", "").lower()
    if response.headers.get("content-encoding", "identity") != "identity":
        await response.aclose()
        return Trouble(_PACKED)
    if response.status_code >= 400:
        return await _refusal(response, kind, entrance)
    if response.status_code == 200 and not kind.startswith(("application/json", "text/event-stream")):
        await response.aclose()
        return Trouble(_NOT_MCP, sent=False)
    if kind.startswith("application/json"):
        response.stream = _Bounded(response.stream)
    return response


async def _refusal(response: httpx2.Response, kind: str, entrance: Entrance) -> httpx2.Response | Trouble:
    status = response.status_code
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _MAX_REFUSAL:
            break
    await response.aclose()
    if status == 404 and _SESSION in response.request.headers:
        return Trouble(_EXPIRED, sent=False, gone=True)
    if status == 401 and not entrance.keyed:
        return Trouble(_LOGIN_OR_KEY.filled(name=entrance.name), sent=False, wants_login=True)
    if status in (401, 403):
        return Trouble(_FORBIDDEN.filled(status=status), sent=False)
    if kind.startswith("application/json") and b'"jsonrpc"' in body:
        return httpx2.Response(status, headers={"content-type": kind}, content=body, request=response.request)
    if status in (404, 405, 406, 410, 415):
        return Trouble(_NO_PLACE.filled(status=status), sent=False)
    # What stands behind a 5xx may have been done, or not.
    return Trouble(_STATUS.filled(status=status), sent=status >= 500)


def _trouble_of(error: httpx2.HTTPError) -> Trouble:
    early = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
    if not isinstance(error, (*early, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError)):
        silent = isinstance(error, httpx2.TimeoutException)
        return Trouble(_SILENT if silent else _BROKEN, gone=True, detail=type(error).__name__)
    causes = list(_causes(error))
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        words = _TLS
    elif any(isinstance(cause, socket.gaierror) for cause in causes) or "resolution" in str(error):
        words = _NO_HOST
    elif isinstance(error, httpx2.ConnectTimeout):
        words = _SILENT
    elif isinstance(error, httpx2.ProxyError):
        words = _PROXY
    else:
        words = _NOT_REACHED
    return Trouble(words, sent=False, gone=True, detail=type(error).__name__)


def _causes(error: BaseException) -> list[BaseException]:
    """An error and all that led to it."""
    found: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting and len(found) < 50:
        one = waiting.pop()
        if one is None or one in found:
            continue
        found.append(one)
        waiting += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
    return found


_BAD_ADDRESS = Words("地址不对，检查 mcp.json 里的 url。", "The address is wrong; see url in mcp.json.")
_NOT_REACHED = Words(
    "连不上：那边没有在听。检查地址，或它是不是开着。",
    "It cannot be reached: nothing listens there. Check the address, and whether it runs.",
)
_NO_HOST = Words("找不到这个主机，检查 url 和网络。", "There is no such host; check url and the network.")
_TLS = Words(
    "加密连接建不起来：证书不对，或那边不是 https。",
    "There is no encrypted connection: its certificate is not valid, or it speaks no https.",
)
_SILENT = Words("那边一直没有回答。", "It does not answer.")
_PROXY = Words("代理连不上，检查 HTTPS_PROXY。", "The proxy cannot be reached; check HTTPS_PROXY.")
_BROKEN = Words("连接中途断了。", "The connection broke.")
_EXPIRED = Words("那边不认原来的会话了。", "It does not know the session any more.")
_FORBIDDEN = Words(
    "它不让进（HTTP {status}），检查 mcp.json 里 headers 的密钥。",
    "It refuses us (HTTP {status}); see the key in headers in mcp.json.",
)
_NOT_LET_IN = Words(
    "登录没有通过，主人重新登录一次再试。", "The login does not count any more; the owner may log in anew."
)


_LOGIN_OR_KEY = Words(
    "它不让进（HTTP 401）。多半要登录：主人运行 qingtuan mcp login {name}，或在私聊里发 /mcp login {name}；"
    "它要的是密钥就写进 mcp.json 的 headers。",
    "It refuses us (HTTP 401). Most likely it wants a login: the owner runs qingtuan mcp login {name}, or sends "
    "/mcp login {name} in private. If it wants a key, that goes into headers in mcp.json.",
)


def unquoted(error: BaseException) -> Words:
    """What may be said of an error in the SDK's own flow. Those about tokens and registrations quote the answer, and
    with it what lets us in: of them the status alone."""
    from mcp.client.auth import OAuthRegistrationError, OAuthTokenError

    if not isinstance(error, OAuthTokenError | OAuthRegistrationError):
        said = line(str(error), 200)
        return Words(said, said)
    found = re.match(r"(?:Token exchange failed \(|Registration failed: )(\d{3})\b", str(error))
    words = _NO_CLIENT if isinstance(error, OAuthRegistrationError) else _NO_TOKENS
    status = f"HTTP {found[1]}" if found else "?"
    return words.filled(status=status)


def needs_login(name: str) -> Words:
    """What is said where the owner has to log in."""
    return Words(
        f"要先登录 {name}：主人运行 qingtuan mcp login {name}，或在私聊里发 /mcp login {name}。",
        f"It wants a login: the owner runs qingtuan mcp login {name}, or sends /mcp login {name} in private.",
    )


_NO_TOKENS = Words("那边没有给能用的凭据（{status}）", "it gave no usable tokens ({status})")
_NO_CLIENT = Words("那边没有给我们登记（{status}）", "it did not register us ({status})")
_NO_PLACE = Words(
    "这个地址上没有 MCP（HTTP {status}），检查 url；很多服务器的地址以 /mcp 结尾。",
    "There is no MCP at this address (HTTP {status}); check url, which often ends in /mcp.",
)
_STATUS = Words("它那边出错了（HTTP {status}）。", "It failed on its side (HTTP {status}).")
_NOT_MCP = Words("回的不是 MCP（可能是网页），检查 url。", "Its answer is no MCP (perhaps a web page); check url.")
_PACKED = Words("回的是压缩过的内容，没有要，不读。", "Its answer is packed, unasked; it is not read.")
