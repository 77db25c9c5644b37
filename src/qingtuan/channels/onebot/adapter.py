"""NoneBot's OneBot adapter, of which only the connections are used.

What platforms.md (3.1) measured of it is done otherwise here: events come in the order of the wire and as they are, not
by way of matchers, of guesses whom they are meant for, and of a look-up of each quote that delays all else. A
connection replaces an older one of the same account, instead of being refused until that one is found dead. Nothing is
served over HTTP, where no token is asked for.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

from nonebot.adapters.onebot.utils import get_auth_bearer
from nonebot.adapters.onebot.v11.adapter import Adapter
from nonebot.drivers import URL, Request, WebSocket, WebSocketServerSetup
from nonebot.drivers.websockets import WebSocket as ClientSocket
from nonebot.exception import WebSocketClosed
from starlette.websockets import WebSocketDisconnect
from websockets import ConnectionClosed, InvalidStatus, connect

from qingtuan.channels.onebot.backlog import Backlog
from qingtuan.channels.onebot.wire import LARGEST_FRAME, Line, Lost, NotWritten
from qingtuan.clock import Clock

PATH = "/onebot/v11/ws"
_PATHS = ("/onebot/v11/", PATH, f"{PATH}/")
_ACCOUNT = re.compile(r"[1-9][0-9]{4,19}")
_AGAIN = (1.0, 3.0, 5.0, 10.0, 30.0)
"""Seconds before another try to connect, the last one again and again."""
_HANDSHAKE_SECONDS = 10.0


class Port(Protocol):
    """Who lives at our end."""

    async def opened(self, line: Line) -> None:
        """There is a connection."""
        ...

    async def heard(self, line: Line, event: Mapping[str, Any]) -> None:
        """An event came. The next one of the same connection is given only when this returns."""
        ...

    async def closed(self, line: Line) -> None:
        """A connection is gone."""
        ...

    def refused(self, why: str) -> None:
        """A connection did not come about: `token` was wrong (`theirs` in what they sent, `ours` in what we did),
        `account` is none or `somebody`'s own, the address is `unreachable`."""
        ...

    def is_somebody(self, self_id: str) -> bool:
        """Whether a number is that of a known person: then it is none that the assistant is logged in with, whatever
        whoever has the token says."""
        ...


class Wired(Adapter):
    """The adapter as the channel uses it."""

    _port: Port
    _clock: Clock
    _token: str
    _proxy: str | None = None

    def attach(self, port: Port, clock: Clock, token: str, proxy: str | None) -> None:
        """Say whom connections belong to. Before anything is served."""
        self._port, self._clock, self._token, self._proxy = port, clock, token, proxy

    def _setup(self) -> None:
        for path in _PATHS:
            self.setup_websocket_server(WebSocketServerSetup(URL(path), f"{self.get_name()} {path}", self._handle_ws))
        self.on_ready(self._start_forward)
        self.driver.on_shutdown(self._stop)

    async def _start_forward(self) -> None:
        for url in self.onebot_config.onebot_ws_urls:
            task = asyncio.create_task(self.call_out(str(url)), name="onebot forward")
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def _stop(self) -> None:
        going = list(self.tasks)
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)

    # Called by NapCat

    async def _handle_ws(self, websocket: WebSocket) -> None:
        headers = websocket.request.headers
        given = get_auth_bearer(headers.get("authorization")) or ""
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode()):
            self._port.refused("token theirs")
            await websocket.close(1008)
            return
        self_id = headers.get("x-self-id") or ""
        if not _ACCOUNT.fullmatch(self_id):
            self._port.refused("account")
            await websocket.close(1008)
            return
        if self._port.is_somebody(self_id):
            self._port.refused("somebody")
            await websocket.close(1008)
            return
        await websocket.accept()
        await self._talk(Line(self_id, _Served(websocket)), websocket)

    # Calling NapCat

    async def call_out(self, url: str) -> None:
        """Connect to a NapCat, and again after each end."""
        tries = 0
        while True:
            talked = False
            try:
                talked = await self._called(url)
            except Exception as error:  # noqa: BLE001 (the edge of a channel: it is tried again, whatever it was)
                said_no = isinstance(error, InvalidStatus) and error.response.status_code in (401, 403)
                self._port.refused("token ours" if said_no else "unreachable")
            tries = 0 if talked else min(tries + 1, len(_AGAIN) - 1)
            await self._clock.sleep(_AGAIN[tries])

    async def _called(self, url: str) -> bool:
        """Connect and stay until the connection ends; whether there was an account at the other end."""
        request = Request("GET", url, headers={"Authorization": f"Bearer {self._token}"}, timeout=_HANDSHAKE_SECONDS)
        async with self.websocket(request) as websocket:
            async with asyncio.timeout(_HANDSHAKE_SECONDS):
                first = await self._first(websocket)
            if first is None:
                return False
            self_id, frame = first
            if self._port.is_somebody(self_id):
                self._port.refused("somebody")
                return False
            await self._talk(Line(self_id, _Called(websocket)), websocket, frame)
        return True

    async def _first(self, websocket: WebSocket) -> tuple[str, str | bytes] | None:
        """Whose connection it is, by the first event, and that event; None if it says no."""
        nobody = Line("", _Called(websocket))
        with suppress(WebSocketClosed):
            while True:
                frame = await websocket.receive()
                event = nobody.read(frame)
                if event is not None and _ACCOUNT.fullmatch(self_id := str(event.get("self_id"))):
                    return self_id, frame
                if event is None and b"1403" in (frame.encode() if isinstance(frame, str) else frame):
                    self._port.refused("token ours")
                    return None
        return None

    @asynccontextmanager
    async def websocket(self, setup: Request) -> AsyncGenerator[WebSocket, None]:
        """As NoneBot opens one, but with room for pictures and files (it takes 1 MiB), and with no proxy unless one was
        set: NapCat is a neighbour."""
        async with connect(
            str(setup.url),
            additional_headers=dict(setup.headers),
            open_timeout=_HANDSHAKE_SECONDS,
            close_timeout=2,
            max_size=LARGEST_FRAME,
            proxy=self._proxy,
        ) as opened:
            yield ClientSocket(request=setup, websocket=opened)

    # Both

    async def _talk(self, line: Line, websocket: WebSocket, first: str | bytes | None = None) -> None:
        """Hand on what comes until the connection ends. Answers are taken as they come, events one after the other, and
        no more of them are read than can be dealt with."""
        events = Backlog(lambda: line.expecting)
        line.asked = events.changed
        await self._port.opened(line)
        handing = asyncio.create_task(self._hand_on(line, events), name=f"onebot {line.self_id}")
        try:
            frame = first
            with suppress(WebSocketClosed, WebSocketDisconnect, ConnectionClosed):
                while line.open:
                    frame = await websocket.receive() if frame is None else frame
                    if (event := line.read(frame)) is not None:
                        events.put(event, len(frame))
                        await events.room()
                    frame = None
        finally:
            line.lose()
            await events.empty()
            handing.cancel()
            await self._port.closed(line)
            await line.close()

    async def _hand_on(self, line: Line, events: Backlog) -> None:
        while True:
            event, size = await events.take()
            try:
                await self._port.heard(line, event)
            except Exception as error:  # noqa: BLE001 (the edge of a channel: the next event may do better)
                said = {"message": "an event of onebot could not be taken", "exception": error}
                asyncio.get_running_loop().call_exception_handler(said)
            finally:
                events.done(size)


class _Served:
    """A connection that NapCat opened."""

    def __init__(self, websocket: Any) -> None:
        self._websocket = websocket

    @property
    def closed(self) -> bool:
        return bool(self._websocket.closed)

    async def write(self, text: str) -> None:
        try:
            await self._websocket.send_text(text)
        except Exception as error:
            # The server raises before it writes, and not after.
            raise NotWritten("the connection is gone") from error

    async def close(self, code: int, reason: str) -> None:
        await self._websocket.close(code, reason)


class _Called:
    """A connection that we opened."""

    def __init__(self, websocket: Any) -> None:
        self._websocket = websocket

    @property
    def closed(self) -> bool:
        return bool(self._websocket.websocket.state.name != "OPEN")

    async def write(self, text: str) -> None:
        if self.closed:
            raise NotWritten("the connection is gone")
        try:
            await self._websocket.send_text(text)
        except Exception as error:
            raise Lost("the connection broke while it was written to") from error

    async def close(self, code: int, reason: str) -> None:
        await self._websocket.close(code, reason)
