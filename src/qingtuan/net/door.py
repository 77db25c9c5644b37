"""One request to one address: looked up once, checked, and sent to the very number that was checked.

Names are resolved once for each request; every number must be public; the connection goes to one of these very numbers,
with the name for TLS and `Host`. Neither cookies nor credentials of this machine nor proxies: a proxy would resolve
the name itself.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING

from qingtuan.errors import FetchFailed
from qingtuan.language import Words
from qingtuan.net.addresses import Address, NotSent, Place, is_near, is_public, parsed
from qingtuan.net.answers import BROKEN, Reply

if TYPE_CHECKING:
    import httpx2

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""The numbers of a host, in the order in which to try them. Raises `OSError`."""


@dataclass(frozen=True, slots=True)
class Asking:
    """One request."""

    method: str
    address: Address
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


class Door:
    """Sends requests to where they may go."""

    def __init__(
        self,
        resolve: Resolve | None,
        trusted: frozenset[Place],
        named: frozenset[Place],
        tls: ssl.SSLContext | None,
    ) -> None:
        """`trusted` may stand for any number; `named` for any that may be the owner's own."""
        self.resolve = resolve or _System()
        self.trusted = trusted
        self.named = named
        self.tls = tls

    def address(self, text: str, *, any_port: bool = False) -> Address:
        """The address that a text is. Raises `NotSent`: it is none that may be asked for."""
        return parsed(text, self.trusted | self.named, any_port=any_port)

    async def open(self, asking: Asking, idle: float) -> Reply:
        """Send a request; gives the answer, its body unread. `idle`: seconds for the connection, and between pieces.

        Raises:
            NotSent: the host is not known, not public, or out of reach.
            FetchFailed: it broke off, or what came is no answer.
        """
        import httpx2  # heavy

        method = asking.method.upper()
        if method not in METHODS:
            raise NotSent(_METHOD)
        numbers = (await self._numbers(asking.address))[:_TRIES]
        if self.tls is None:
            self.tls = await asyncio.to_thread(usual_tls)
        transport = httpx2.AsyncHTTPTransport(verify=self.tls, trust_env=False, http2=False)
        try:
            for number in numbers:
                try:
                    response = await transport.handle_async_request(_request(asking, method, number, idle))
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    if number == numbers[-1]:
                        raise NotSent(_UNREACHABLE, detail=repr(error), again=True) from None
                    continue
                if response.status_code < 200:
                    raise FetchFailed(BROKEN, detail=f"HTTP {response.status_code}")
                return Reply(response, asking.address, transport.aclose, bodiless=method == "HEAD")
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            await transport.aclose()
            raise FetchFailed(BROKEN, detail=repr(error), again=True) from None
        except BaseException:
            await transport.aclose()
            raise
        raise NotSent(_UNREACHABLE, again=True)

    async def _numbers(self, address: Address) -> list[str]:
        try:
            numbers = await self.resolve(address.host, address.port)
        except (OSError, UnicodeError) as error:
            raise NotSent(_UNKNOWN_HOST, detail=repr(error), again=True) from None
        if not numbers:
            raise NotSent(_UNKNOWN_HOST, again=True)
        may_be = is_near if address.place in self.named else is_public
        if address.place not in self.trusted and not all(map(may_be, numbers)):
            # One that is not public is enough: the next answer might hold it alone.
            raise NotSent(_NOT_PUBLIC)
        return numbers


def sendable(headers: Mapping[str, str]) -> dict[str, str]:
    """Those of a caller's headers that go along: what could change where a request goes, or how its answer is to be
    read, is ours; what is no header is dropped."""
    return {
        name: value
        for name, value in headers.items()
        if name.lower() not in _OURS and _TOKEN.fullmatch(name) and _VALUE.fullmatch(value)
    }


@cache
def usual_tls() -> ssl.SSLContext:
    """What connections trust that are told nothing else: one for the process, since reading it takes long enough to
    hold up a loop."""
    import httpx2

    return httpx2.create_ssl_context(trust_env=False)


class _System:
    """The system's resolver, in threads of its own: a name server that keeps us waiting holds up fetching and nothing
    else, however many names it has."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    async def __call__(self, host: str, port: int) -> list[str]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_RESOLVING, "names")
        asking = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, asking)
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _request(asking: Asking, method: str, number: str, idle: float) -> httpx2.Request:
    import httpx2

    address = asking.address
    host = f"[{number}]" if ":" in number else number
    usual = {"user-agent": "Qingtuan", "accept": "*/*"}
    own = {name.lower(): value for name, value in sendable(asking.headers).items()}
    return httpx2.Request(
        method,
        f"{address.scheme}://{host}:{address.port}{address.target}",
        headers={
            **usual,
            **own,
            "Host": address.authority,
            "Accept-Encoding": "identity",
            "Connection": "close",
        },
        content=asking.body,
        extensions={
            "sni_hostname": address.host,
            "timeout": {"connect": min(idle, _CONNECT), "read": idle, "write": idle, "pool": idle},
        },
    )


METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_RESOLVING = 4
"""Names that are looked up at the same time."""
_CONNECT = 8.0
"""Seconds for one number of a host: where one kind of number leads nowhere, another may."""
_TRIES = 3
"""Numbers of a host that are tried."""
_OURS = frozenset({
    "host", "connection", "accept-encoding", "transfer-encoding", "content-length", "cookie", "cookie2", "upgrade",
    "te", "trailer", "expect", "keep-alive", "proxy-authorization", "proxy-connection", "via",
})  # fmt: skip
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\x20-\x7e]{0,16384}")

_UNREACHABLE = Words("连不上那个地址。", "That address cannot be reached.")
_UNKNOWN_HOST = Words("找不到那个地址的主机。", "The host of that address is not known.")
_NOT_PUBLIC = Words("这个地址不在公网上，不能打开。", "That address is not in the public network and cannot be opened.")
_METHOD = Words("这种请求方法不能用。", "That method of a request cannot be used.")
