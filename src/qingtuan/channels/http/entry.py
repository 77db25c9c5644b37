"""The HTTP channel within a running instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from qingtuan.channels.entry import Asgi, EntryHealth
from qingtuan.channels.http.application import application
from qingtuan.channels.http.capabilities import ROOT
from qingtuan.channels.http.front import Front
from qingtuan.channels.http.limits import Limits
from qingtuan.channels.http.ports import Ports
from qingtuan.channels.http.talk import CHANNEL, Talk
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.identity.keys import CHANGING

PATHS = ("/chat", "/v1/", "/health", "/image/", "/openapi.json", "/docs", ROOT)


class HttpEntry:
    """What programs call."""

    def __init__(self, ports: Ports, limits: Limits) -> None:
        self._ports = ports
        self._talk = Talk(ports.host)
        self._front = Front(application(self._talk, ports), ports.known, limits, ports.clock, ports.language)
        self._running = False
        self._unlisten: Callable[[], None] = lambda: None
        self._inbound: datetime | None = None
        self._outbound: datetime | None = None

    @property
    def name(self) -> str:
        return CHANNEL

    @property
    def routes(self) -> Mapping[str, Asgi]:
        return dict.fromkeys(PATHS, self._front)

    async def start(self) -> None:
        self._unlisten = self._ports.host.kit.record.log.listen(self._heard)
        self._running = True

    def pause(self) -> None:
        """Take nothing in any more; what is being answered goes on."""
        self._front.pause()

    async def rest(self) -> None:
        await self._front.rest()

    async def stop(self) -> None:
        self._running = False
        self._unlisten()
        await self._front.close()
        await self._talk.close()

    def health(self) -> EntryHealth:
        return EntryHealth(
            CHANNEL,
            "connected" if self._running else "off",
            last_inbound=self._inbound,
            last_outbound=self._outbound,
        )

    def _heard(self, event: Event) -> None:
        if event.kind in CHANGING:
            self._front.look(self._ports.valid)
        elif event.payload.get("channel") == CHANNEL:
            if event.kind is Kind.MESSAGE_RECEIVED:
                self._inbound = event.time
            elif event.kind is Kind.MESSAGE_SENT:
                self._outbound = event.time
