"""The safe fetcher: gets what an address from outside points to, and reaches nothing that is not public.

Names are resolved once for each hop; every number must be public; the connection goes to one of these very numbers,
with the name for TLS and `Host`. Redirects are followed by hand, with the same check. Neither cookies nor credentials
nor proxies: a proxy would resolve the name itself.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin

from qingtuan.errors import FetchFailed
from qingtuan.language import Words
from qingtuan.net.addresses import Address, is_public, parsed

if TYPE_CHECKING:
    import httpx

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""The numbers of a host, in the order in which to try them. Raises `OSError`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much and how long."""

    size: int = 32 * 1024 * 1024
    """Bytes of the body, unpacked."""
    seconds: float = 60.0
    """For all of it: names, redirects, body."""
    redirects: int = 5
    kinds: tuple[str, ...] = ()
    """What the type that the server names must begin with, any of them (`image/`, `text/html`); empty: anything."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What an address gave. All of it is foreign."""

    data: bytes
    media_type: str
    """As the server names it, in lower case, without parameters; empty if it does not."""
    charset: str
    name: str
    """What the server, or else the address, calls the file."""
    url: str
    """Where it came from in the end."""


class SafeFetcher:
    """Fetches addresses that messages, pages and programs name."""

    def __init__(
        self,
        *,
        resolve: Resolve | None = None,
        trusted: frozenset[tuple[str, int]] = frozenset(),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`trusted` are hosts with their ports that may stand for any number, and be called by it: given by tests
        alone, whose servers are on their own machine. `resolve` and `tls` stand in for the system's."""
        self._resolve = resolve or _resolved
        self._trusted = trusted
        self._tls = tls

    async def get(self, url: str, limits: Limits = Limits(), headers: Mapping[str, str] | None = None) -> Fetched:
        """Fetch one address. `headers` go to its own host only.

        Raises:
            FetchFailed: the address or one that it leads to may not be asked for; it is out of reach, says no, is too
                large, too slow or of another kind.
        """
        first = address = parsed(url, self._trusted)
        try:
            async with asyncio.timeout(limits.seconds):
                for _ in range(limits.redirects + 1):
                    own = headers if (address.scheme, address.authority) == (first.scheme, first.authority) else None
                    async with self._asked(address, own or {}, limits) as response:
                        if (target := _redirect(response)) is None:
                            return await _read(response, address, limits)
                    address = parsed(_joined(address, target), self._trusted)
        except TimeoutError:
            raise FetchFailed(_SLOW, again=True) from None
        raise FetchFailed(_ROUNDABOUT)

    @asynccontextmanager
    async def _asked(
        self, address: Address, headers: Mapping[str, str], limits: Limits
    ) -> AsyncIterator[httpx.Response]:
        """The answer to a request for one address, its body unread."""
        import httpx  # heavy

        numbers = await self._numbers(address)
        if self._tls is None:
            self._tls = httpx.create_ssl_context(trust_env=False)
        async with httpx.AsyncHTTPTransport(verify=self._tls, trust_env=False, http2=False) as transport:
            response = None
            for number in numbers[:_TRIES]:
                try:
                    response = await transport.handle_async_request(_request(address, number, headers, limits))
                    break
                except httpx.ConnectError as error:
                    if number == numbers[:_TRIES][-1]:
                        raise FetchFailed(_UNREACHABLE, detail=repr(error), again=True) from None
                except (httpx.HTTPError, httpx.InvalidURL) as error:
                    raise FetchFailed(_BROKEN, detail=repr(error), again=True) from None
            if response is None:
                raise FetchFailed(_UNREACHABLE, again=True)
            try:
                yield response
            except httpx.HTTPError as error:
                raise FetchFailed(_BROKEN, detail=repr(error), again=True) from None
            finally:
                await response.aclose()

    async def _numbers(self, address: Address) -> list[str]:
        try:
            numbers = await self._resolve(address.host, address.port)
        except (OSError, UnicodeError) as error:
            raise FetchFailed(_UNKNOWN_HOST, detail=repr(error), again=True) from None
        if not numbers:
            raise FetchFailed(_UNKNOWN_HOST, again=True)
        if (address.host, address.port) not in self._trusted and not all(map(is_public, numbers)):
            # One that is not public is enough: the next answer might hold it alone.
            raise FetchFailed(_NOT_PUBLIC)
        return numbers


async def _resolved(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _request(address: Address, number: str, headers: Mapping[str, str], limits: Limits) -> httpx.Request:
    import httpx

    host = f"[{number}]" if ":" in number else number
    # What could change where this goes, or how its answer is to be read, is ours.
    own = {name: value for name, value in headers.items() if name.lower() not in _OURS and _VALUE.fullmatch(value)}
    return httpx.Request(
        "GET",
        f"{address.scheme}://{host}:{address.port}{address.target}",
        headers={
            "User-Agent": "Qingtuan",
            "Accept": "*/*",
            **own,
            "Host": address.authority,
            "Accept-Encoding": "identity",
            "Connection": "close",
        },
        extensions={
            "sni_hostname": address.host,
            "timeout": dict.fromkeys(("connect", "read", "write", "pool"), min(_PATIENCE, limits.seconds)),
        },
    )


def _redirect(response: httpx.Response) -> str | None:
    """Where an answer sends us, or None if it is the thing itself."""
    status = response.status_code
    if status == 200:
        return None
    if status in (301, 302, 303, 307, 308) and (target := response.headers.get("location", "").strip()):
        return str(target)
    words = _GONE if status in (404, 410) else _REFUSED
    raise FetchFailed(words, detail=f"HTTP {status}", again=status == 429 or status >= 500)


def _joined(address: Address, target: str) -> str:
    if len(target) > _LONGEST_TARGET:
        raise FetchFailed(_ROUNDABOUT)
    try:
        return urljoin(str(address), target)
    except ValueError:
        raise FetchFailed(_ROUNDABOUT) from None


async def _read(response: httpx.Response, address: Address, limits: Limits) -> Fetched:
    media_type, _, parameters = response.headers.get("content-type", "").partition(";")
    media_type = media_type.strip().lower()[:200]
    if limits.kinds and not media_type.startswith(limits.kinds):
        raise FetchFailed(_OTHER_KIND, detail=media_type)
    announced = response.headers.get("content-length", "")
    if announced.isdecimal() and len(announced) < 20 and int(announced) > limits.size:
        raise FetchFailed(_LARGE)
    unpack = _unpacker(response.headers.get("content-encoding", ""))
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += unpack(chunk, limits.size + 1 - len(body))
        if len(body) > limits.size:
            raise FetchFailed(_LARGE)
    charset = _CHARSET.search(parameters)
    return Fetched(
        bytes(body),
        media_type,
        charset[1].lower() if charset else "",
        _name(response.headers.get("content-disposition", "")) or address.name,
        str(address),
    )


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    """What unpacks the chunks of a body, never more of it than asked for. We ask for nothing packed; some pack it all
    the same."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return lambda chunk, _: chunk
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise FetchFailed(_BROKEN, detail=f"packed as {encoding[:40]!r}")
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def unpack(chunk: bytes, most: int) -> bytes:
        try:
            return unpacking.decompress(chunk, max(1, most))
        except zlib.error as error:
            raise FetchFailed(_BROKEN, detail=repr(error)) from None

    return unpack


def _name(disposition: str) -> str:
    if found := _NAME_STAR.search(disposition):
        return unquote(found[1], errors="replace")[:200]
    if found := _NAME.search(disposition):
        raw = found[1] or found[2] or ""
        try:
            return raw.encode("latin-1").decode("utf-8")[:200]  # headers are bytes; most write UTF-8 into them
        except (UnicodeEncodeError, UnicodeDecodeError):
            return raw[:200]
    return ""


_TRIES = 3
"""Numbers of a host that are tried."""
_PATIENCE = 20.0
"""Seconds for a connection, and between two pieces of an answer."""
_LONGEST_TARGET = 8192
_OURS = frozenset(
    {"host", "connection", "accept-encoding", "transfer-encoding", "content-length", "cookie", "upgrade", "te"}
)
_VALUE = re.compile(r"[\x20-\x7e]*")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._-]{1,40})")
_NAME_STAR = re.compile(r"filename\*\s*=\s*utf-8''([^;\s]{1,2000})", re.IGNORECASE)
_NAME = re.compile(r"filename\s*=\s*(?:\"([^\"]{1,500})\"|([^;\s]{1,500}))", re.IGNORECASE)

_SLOW = Words("太慢了，没等到。", "It took too long.")
_ROUNDABOUT = Words("这个地址转来转去，没有打开。", "That address leads from one to the next; it was not opened.")
_UNREACHABLE = Words("连不上那个地址。", "That address cannot be reached.")
_BROKEN = Words("那边给的内容不完整或者看不懂。", "What came from there is incomplete or cannot be understood.")
_UNKNOWN_HOST = Words("找不到那个地址的主机。", "The host of that address is not known.")
_NOT_PUBLIC = Words("这个地址不在公网上，不能打开。", "That address is not in the public network and cannot be opened.")
_GONE = Words("那里已经没有了，可能过期了。", "It is no longer there; it may have expired.")
_REFUSED = Words("那边不给。", "It was refused there.")
_OTHER_KIND = Words("那里不是这种内容。", "What is there is of another kind.")
_LARGE = Words("太大了，没有取。", "It is too large and was not fetched.")
