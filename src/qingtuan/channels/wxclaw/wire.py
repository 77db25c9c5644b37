"""HTTP to iLink and its CDN: no redirects, no answer without end, and what certainly was not sent told apart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx2

_CONNECT_SECONDS = 10.0
_ANSWER_BYTES = 16 * 1024 * 1024
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class NotReached(Exception):
    """There was no connection: nothing was written."""


class Silent(Exception):
    """No whole answer came in time; what was asked for may have been done."""


class Broken(Exception):
    """The connection broke; what was asked for may have been done."""


class TooLarge(Exception):
    """More bytes came than were asked for."""


@dataclass(frozen=True, slots=True)
class Got:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Http:
    """Connections of this channel."""

    def __init__(self, proxy: str | None = None) -> None:
        self._proxy = proxy
        self._clients: dict[bool, httpx2.AsyncClient] = {}
        """By whether it is for this machine itself, to which no proxy leads."""

    async def ask(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        timeout: float = 15.0,  # noqa: ASYNC109 (of the request)
        most: int = _ANSWER_BYTES,
    ) -> Got:
        """Ask for something and read all of it.

        Raises:
            NotReached, Silent, Broken, TooLarge: as they say. None of them quotes the address, which can hold keys.
        """
        import httpx2

        client = self._client(url)
        try:
            async with asyncio.timeout(timeout):
                request = client.build_request(method, url, headers=headers, content=content)
                response = await client.send(request, stream=True)
                try:
                    async with aclosing(response.aiter_bytes()) as pieces:
                        body = await _whole(pieces, most)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise Silent(f"no answer within {timeout:g} s") from None
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError, httpx2.PoolTimeout) as error:
            raise NotReached(type(error).__name__) from None
        except (httpx2.UnsupportedProtocol, httpx2.InvalidURL) as error:
            raise NotReached(type(error).__name__) from None
        except httpx2.HTTPError as error:
            raise Broken(type(error).__name__) from None
        return Got(response.status_code, dict(response.headers), body)

    async def close(self) -> None:
        """Let go of all connections."""
        while self._clients:
            await self._clients.popitem()[1].aclose()

    def _client(self, url: str) -> httpx2.AsyncClient:
        here = (urlsplit(url).hostname or "") in _LOOPBACK
        if here not in self._clients:
            import httpx2

            self._clients[here] = httpx2.AsyncClient(
                proxy=None if here else self._proxy,
                trust_env=not here,
                verify=not here,
                follow_redirects=False,
                timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
            )
        return self._clients[here]


async def _whole(pieces: AsyncGenerator[bytes], most: int) -> bytes:
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > most:
            raise TooLarge(f"more than {most} bytes")
    return bytes(body)


def same_domain(url: str, base: str) -> bool:
    """Whether an address that a server names is one of its own: the same host, or one beside it (`a.weixin.qq.com` and
    `b.weixin.qq.com`), over a connection that is no less safe."""
    try:
        there, here = urlsplit(url), urlsplit(base)
        ports = there.port, here.port
    except ValueError:
        return False
    if not there.hostname or not here.hostname or there.username is not None or there.password is not None:
        return False
    if there.scheme not in ("https", here.scheme) or there.scheme not in ("http", "https"):
        return False
    if there.hostname == here.hostname:
        return here.hostname in _LOOPBACK or ports[0] in (None, 443, ports[1])
    _, _, domain = here.hostname.partition(".")
    # An address in numbers has nothing beside it, nor has a domain of one's own (`example.com`).
    if domain.count(".") < 1 or here.hostname.replace(".", "").isdigit():
        return False
    return there.hostname.endswith(f".{domain}") and ports[0] in (None, 443)
