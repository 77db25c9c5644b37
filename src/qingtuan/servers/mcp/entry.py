"""The MCP server within a running instance: `/mcp` on the server that programs call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from qingtuan.channels.entry import Asgi, EntryHealth
from qingtuan.channels.http.front import CALLER, RAW, Caller, Front
from qingtuan.channels.http.limits import Limits
from qingtuan.channels.http.problems import NOTHING_THERE, Declined
from qingtuan.clock import Clock
from qingtuan.errors import NotAllowed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.identity.keys import CHANGING, Key
from qingtuan.language import Language, Words
from qingtuan.servers.mcp.bound import Here
from qingtuan.servers.mcp.guard import Guard
from qingtuan.servers.mcp.program import Program, holder
from qingtuan.servers.mcp.rooms import Receive, Rooms, Scope, Send
from qingtuan.servers.mcp.service import Service

NAME = "mcp"
PATH = "/mcp"


@dataclass(frozen=True, slots=True)
class Doors:
    """Who is let in, and how much of them."""

    known: Callable[[str], Key | None]
    """The valid key that a text is, if it speaks for somebody."""
    find: Callable[[str], Key | None]
    """The key of this name."""
    limits: Limits
    guard: Guard
    log: Log
    clock: Clock
    language: Language


class McpEntry:
    """What MCP clients call."""

    def __init__(self, service: Service, doors: Doors) -> None:
        self._service = service
        self._doors = doors
        self._front = Front(self._answer, doors.known, doors.limits, doors.clock, doors.language)
        self._rooms = Rooms(self._bound, doors.language, doors.limits.body_bytes)
        self._leaving: set[asyncio.Task[None]] = set()
        self._running = False
        self._unlisten: Callable[[], None] = lambda: None
        self._called: datetime | None = None
        self._answered: datetime | None = None

    @property
    def name(self) -> str:
        return NAME

    @property
    def routes(self) -> Mapping[str, Asgi]:
        return {PATH: self._front}

    async def start(self) -> None:
        self._unlisten = self._doors.log.listen(self._heard)
        self._running = True

    def pause(self) -> None:
        """Take nothing in any more. What waits for the owner is given up: they may take minutes."""
        self._front.pause()
        self._service.stop()

    async def rest(self) -> None:
        await self._front.rest()

    async def stop(self) -> None:
        self._running = False
        self._unlisten()
        self._service.stop()
        await self._front.close()
        await asyncio.gather(*self._leaving)
        await self._rooms.close()

    def health(self) -> EntryHealth:
        return EntryHealth(
            NAME,
            "connected" if self._running else "off",
            last_inbound=self._called,
            last_outbound=self._answered,
        )

    def _bound(self, key: str) -> Here:
        return Here(self._service, lambda: self._program(key))

    def _program(self, key: str) -> Program:
        found = self._doors.find(key)
        if found is None or not found.valid:
            raise NotAllowed(_NO_KEY)
        return holder(found, "http")

    def _valid(self, key: str) -> bool:
        found = self._doors.find(key)
        return found is not None and found.valid

    def _heard(self, event: Event) -> None:
        if event.kind in CHANGING:
            self._front.look(self._valid)
            leaving = asyncio.ensure_future(self._rooms.leave(self._valid))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
        elif event.kind is Kind.PROGRAM_CALLED and event.payload.get("via") == "http":
            self._called = event.time
        elif event.kind is Kind.PROGRAM_ANSWERED:
            self._answered = event.time

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request with a key and a body within bounds."""
        self._doors.guard.check(scope["headers"])
        if scope["path"] != PATH:
            raise Declined(NOTHING_THERE)
        caller: Caller = scope[CALLER]
        body = scope.get(RAW)
        again = receive if body is None else _again(body, receive)
        await self._rooms.serve(caller.key.name, scope, again, send)


def _again(body: bytes, receive: Receive) -> Receive:
    """The body that was read already, for who has to read it again."""
    read = False

    async def give() -> MutableMapping[str, Any]:
        nonlocal read
        if read:
            message: MutableMapping[str, Any] = await receive()
            return message
        read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give


_NO_KEY = Words("这把密钥收回了。", "This key was revoked.")
