"""Things that go wrong at a real library's site, made to happen: at random, or once and exactly where a test wants it.

A fault stands around the pages: before a page is handled nothing has been done yet, after it whatever the page does is
done and only the answer is lost.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

Page = Literal["login", "captcha", "areas", "seats", "confirm", "reserve", "reservations", "cancel", "check-in"]
Kind = Literal["drop-before", "drop-after", "error-before", "error-after", "hang-before", "hang-after"]

PAGES: tuple[Page, ...] = (
    "login", "captcha", "areas", "seats", "confirm", "reserve", "reservations", "cancel", "check-in"
)  # fmt: skip
KINDS: tuple[Kind, ...] = ("drop-before", "drop-after", "error-before", "error-after", "hang-before", "hang-after")
_AT_RANDOM: tuple[Kind, ...] = ("error-before", "drop-before", "drop-after")


@dataclass(slots=True)
class Armed:
    """A fault that waits for its page. `page` None means any; `times` counts down."""

    kind: Kind
    page: Page | None
    times: int = 1


@dataclass(slots=True)
class Afterwards:
    """Something to be done once, right after the next answer of this page."""

    page: Page
    act: Callable[[], None]


class Faults:
    """What is to go wrong next."""

    def __init__(self, *, rate: float = 0.0, seed: int | None = None) -> None:
        """`rate` is the share of requests, 0 to 1, that fail; the same `seed` fails the same ones."""
        self._rate = rate
        self._random = random.Random(seed)  # noqa: S311  # a game of chance, not a secret
        self._armed: list[Armed] = []
        self._afterwards: list[Afterwards] = []

    def arm(self, fault: Armed | Afterwards) -> None:
        """Let this happen at the next fitting request."""
        if isinstance(fault, Armed):
            self._armed.append(fault)
        else:
            self._afterwards.append(fault)

    @property
    def armed(self) -> int:
        """How many pages are still to fail."""
        return sum(fault.times for fault in self._armed)

    def clear(self) -> None:
        """Nothing waits any more; the random ones go on."""
        self._armed.clear()
        self._afterwards.clear()

    def next(self, page: Page) -> Kind | None:
        """What goes wrong with this request, if anything."""
        for fault in self._armed:
            if fault.page in (None, page):
                fault.times -= 1
                if fault.times <= 0:
                    self._armed.remove(fault)
                return fault.kind
        if self._random.random() < self._rate:
            return self._random.choice(_AT_RANDOM)
        return None

    def after(self, page: Page) -> None:
        """This page has been answered."""
        due = [one for one in self._afterwards if one.page == page]
        for one in due:
            self._afterwards.remove(one)
            one.act()


class Connections:
    """The open connections by the client's address, so that one can be cut in the middle."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], asyncio.Transport] = {}

    def protocol(self, *arguments: Any, **named: Any) -> asyncio.Protocol:
        """What uvicorn calls for each connection."""
        return _Counted(self._open, *arguments, **named)

    def cut(self, client: tuple[str, int]) -> None:
        """Close it without a word."""
        transport = self._open.get(client)
        if transport is not None:
            transport.abort()


class _Counted(H11Protocol):
    """uvicorn's protocol, which also tells of its connection."""

    def __init__(self, opened: dict[tuple[str, int], asyncio.Transport], *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._opened = opened

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self.client is not None:
            self._opened[self.client] = transport

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.client is not None:
            self._opened.pop(self.client, None)


def page_of(method: str, path: str) -> Page | None:
    """Which page a request asks for; None for what never fails: the style sheet and the way in for tests."""
    parts = path.strip("/").split("/")
    if parts[0] == "reserve":
        return "reserve" if method == "POST" else "confirm"
    name = parts[2] if len(parts) == 3 and parts[0] == "reservations" else parts[0]
    return next((page for page in PAGES if page == name), None)


class FaultyApp:
    """The site with its faults around it. `slow` seconds pass before each page."""

    def __init__(self, app: ASGIApp, faults: Faults, connections: Connections, *, slow: float) -> None:
        self._app, self._faults, self._connections, self._slow = app, faults, connections, slow

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        page = page_of(scope["method"], scope["path"]) if scope["type"] == "http" else None
        if page is None:
            await self._app(scope, receive, send)
            return
        if self._slow:
            await asyncio.sleep(self._slow)
        kind = self._faults.next(page)
        if kind is None:
            await self._app(scope, receive, send)
        else:
            await self._fail(kind, scope, receive, send)
        self._faults.after(page)

    async def _fail(self, kind: Kind, scope: Scope, receive: Receive, send: Send) -> None:
        if kind.endswith("after"):
            await self._app(scope, receive, _swallow)
        if kind.startswith("error"):
            await _answer_500(send)
            return
        if kind.startswith("drop"):
            self._connections.cut(scope["client"])
        await _client_gone(receive)


async def _swallow(_message: Message) -> None:
    """Send nothing."""


async def _answer_500(send: Send) -> None:
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 500, "headers": headers})
    await send({"type": "http.response.body", "body": "<h1>500</h1><p>服务器出错了，请稍后再试。</p>".encode()})


async def _client_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
