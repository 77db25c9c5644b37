"""A patient, suspicious browser without a window: cookies, redirects, retries, and limits on what a site may do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urljoin

import httpx2

from qingtuan_library_seats import __version__
from qingtuan_library_seats.errors import PageUnreadable, SiteUnavailable

PAGE_BYTES = 2_000_000
REDIRECTS = 5


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a site, in seconds, and how often to try a page."""

    answer: float = 10.0
    """For one answer."""
    reading: float = 20.0
    """For one page with all its tries."""
    pause: float = 0.2
    """Before the second try; doubled with each further one, up to `longest`."""
    longest: float = 2.0
    tries: int = 6


@dataclass(frozen=True, slots=True)
class Answer:
    """A page as it came, after redirects."""

    address: str
    html: str


class Lost(Exception):
    """A form was sent and no answer came back: what it asks for may have been done.

    `slow` is true where the site only took too long, and may still be about to do it.
    """

    def __init__(self, *, slow: bool) -> None:
        super().__init__("no answer to a form")
        self.slow = slow


class _NoAnswer(Exception):
    """One request brought nothing that can be used."""

    def __init__(self, detail: str, *, slow: bool = False) -> None:
        super().__init__(detail)
        self.detail, self.slow = detail, slow


@dataclass(frozen=True, slots=True)
class _Response:
    address: str
    leads_to: str | None
    html: str


class Web:
    """One reader's visit to one site. It never leaves the site: addresses of other origins are refused."""

    def __init__(self, base: str, patience: Patience) -> None:
        self._base = base + "/"
        self._patience = patience
        # Proxies of the environment are for the wide world; a compressed page could be endless once unpacked; and
        # where there is no TLS (other origins are refused), the certificates of the world need not be read.
        self._client = httpx2.AsyncClient(
            timeout=patience.answer,
            trust_env=False,
            verify=base.startswith("https:"),
            headers={"User-Agent": f"qingtuan-library-seats/{__version__}", "Accept-Encoding": "identity"},
        )

    async def close(self) -> None:
        """Hang up."""
        await self._client.aclose()

    async def pause(self, before: int) -> None:
        """Wait before try number `before`, counted from 0: not at all before the first, then longer and longer."""
        if before:
            await asyncio.sleep(min(self._patience.pause * 2 ** (before - 1), self._patience.longest))

    async def read(self, path: str, query: Mapping[str, str] | None = None) -> Answer:
        """Look at a page, again and again if need be.

        Raises:
            SiteUnavailable: if it does not come.
        """
        address = urljoin(self._base, path)
        give_up = asyncio.get_running_loop().time() + self._patience.reading
        detail = ""
        for number in range(self._patience.tries):
            await self.pause(number)
            try:
                response = await self._request("GET", address, query=query)
                return await self._follow(response)
            except _NoAnswer as error:
                detail = error.detail
            if asyncio.get_running_loop().time() > give_up:
                break
        raise SiteUnavailable(detail)

    async def send(self, address: str, fields: Mapping[str, str]) -> Answer:
        """Send a form, once, and look at the page that it leads to.

        Raises:
            Lost: if no answer came, or not the page that it leads to.
            PageUnreadable: if the form would go to another site; it was not sent.
        """
        self._stay(address)
        try:
            response = await self._request("POST", address, fields=fields)
        except _NoAnswer as error:
            raise Lost(slow=error.slow) from error
        except PageUnreadable as error:
            raise Lost(slow=False) from error
        if response.leads_to is None:
            return Answer(response.address, response.html)
        try:
            return await self.read(response.leads_to)
        except SiteUnavailable as error:
            raise Lost(slow=False) from error

    async def _follow(self, response: _Response) -> Answer:
        for _ in range(REDIRECTS):
            if response.leads_to is None:
                return Answer(response.address, response.html)
            response = await self._request("GET", response.leads_to)
        raise PageUnreadable("跳转太多次")

    async def _request(
        self,
        method: str,
        address: str,
        *,
        query: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> _Response:
        self._stay(address)
        try:
            async with (
                asyncio.timeout(self._patience.answer),
                self._client.stream(method, address, params=query, data=fields) as response,
            ):
                if response.status_code >= 500 or response.status_code == 429:
                    raise _NoAnswer(f"网站回了错误 {response.status_code}")
                body = await _body(response)
        except (TimeoutError, httpx2.TimeoutException) as error:
            raise _NoAnswer("等不到回音", slow=True) from error
        except httpx2.ConnectError as error:
            raise _NoAnswer("连不上") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise _NoAnswer("连接中断") from error
        here = str(response.url)
        return _Response(here, _leads_to(here, response), body.decode("utf-8", "replace"))

    def _stay(self, address: str) -> None:
        try:
            there, home = httpx2.URL(address), httpx2.URL(self._base)
        except httpx2.InvalidURL as error:
            raise PageUnreadable("网址不对") from error
        if (there.scheme, there.host, there.port) != (home.scheme, home.host, home.port):
            raise PageUnreadable(f"它指向别的网站 {there.host}")


def _leads_to(here: str, response: httpx2.Response) -> str | None:
    try:
        return urljoin(here, response.headers["location"]) if response.has_redirect_location else None
    except ValueError as error:
        raise PageUnreadable("网址不对") from error


async def _body(response: httpx2.Response) -> bytes:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise PageUnreadable("网页是压缩的")
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > PAGE_BYTES:
            raise PageUnreadable("网页太大")
    return bytes(body)
