"""The server for other agents within a running instance."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from datetime import datetime

from qingtuan.channels.base import Deliveries
from qingtuan.channels.entry import Asgi, EntryHealth
from qingtuan.channels.http.front import Front, Paths, Receive, Scope, Send
from qingtuan.channels.http.limits import Limits
from qingtuan.channels.http.problems import Declined, Problem
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.identity.keys import CHANGING
from qingtuan.language import Words
from qingtuan.servers.a2a.card import CARD_PATH, REST_PATH, RPC_PATH, serve_card
from qingtuan.servers.a2a.channel import CHANNEL, TaskChannel
from qingtuan.servers.a2a.ports import Ports
from qingtuan.servers.a2a.tasks import Tasks


class AgentEntry:
    """What other agents call."""

    def __init__(self, ports: Ports, limits: Limits) -> None:
        self._ports = ports
        self._front = Front(
            self._behind,
            ports.known,
            limits,
            ports.clock,
            ports.language,
            paths=Paths(frozenset({CARD_PATH}), REST_PATH),
        )
        self._tasks: Tasks | None = None
        self._deliveries: Deliveries | None = None
        self._application: Asgi | None = None
        self._unlisten: Callable[[], None] = lambda: None
        self._inbound: datetime | None = None
        self._outbound: datetime | None = None

    @property
    def name(self) -> str:
        return CHANNEL

    @property
    def routes(self) -> Mapping[str, Asgi]:
        return dict.fromkeys((RPC_PATH, CARD_PATH), self._front)

    async def start(self) -> None:
        log = self._ports.host.kit.record.log
        self._tasks = Tasks(self._ports)
        self._deliveries = Deliveries(TaskChannel(), log)
        self._deliveries.start()
        self._unlisten = log.listen(self._heard)

    def pause(self) -> None:
        """Take nothing in any more; what is being answered goes on."""
        self._front.pause()

    async def rest(self) -> None:
        await self._front.rest()

    async def stop(self) -> None:
        self._unlisten()
        await self._front.close()
        if self._tasks is not None:
            await self._tasks.close()
            self._tasks = None
        if self._deliveries is not None:
            await self._deliveries.close()

    def health(self) -> EntryHealth:
        if self._tasks is None or not installed():
            # Without a key for an agent nobody misses it.
            return EntryHealth(CHANNEL, "off", NOT_INSTALLED if self._tasks and self._ports.wanted() else None)
        return EntryHealth(
            CHANNEL,
            "connected",
            last_inbound=self._inbound,
            last_outbound=self._outbound,
        )

    async def _behind(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == CARD_PATH:
            await serve_card(self._ports.about, scope, receive, send)
            return
        if self._application is None:
            self._application = self._loaded()
        await self._application(scope, receive, send)

    def _loaded(self) -> Asgi:
        if not installed():
            raise Declined(Problem(501, "not_installed", NOT_INSTALLED))
        from qingtuan.servers.a2a.application import application  # heavy

        assert self._tasks is not None  # nobody calls what has not started
        return application(self._tasks, self._ports)

    def _heard(self, event: Event) -> None:
        if event.kind in CHANGING:
            self._front.look(self._ports.valid)
        elif event.payload.get("channel") == CHANNEL:
            if event.kind is Kind.MESSAGE_RECEIVED:
                self._inbound = event.time
            elif event.kind is Kind.MESSAGE_SENT:
                self._outbound = event.time


def installed() -> bool:
    """Whether what the protocol needs is there; nothing of it is loaded."""
    return all(importlib.util.find_spec(name) is not None for name in ("a2a", "sse_starlette"))


NOT_INSTALLED = Words(
    "这台机器没有装 A2A：pip install 'qingtuan[a2a]'，再重新启动。",
    "A2A is not installed on that machine: pip install 'qingtuan[a2a]', and start it anew.",
)
