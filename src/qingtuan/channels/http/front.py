"""The front of the HTTP channel: who calls, how much, how often. Everything behind it has a key and a body within
bounds, and whatever goes wrong behind it becomes an answer."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, MutableMapping, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from qingtuan.channels.entry import Asgi
from qingtuan.channels.http import problems
from qingtuan.channels.http.bodies import parsed
from qingtuan.channels.http.limits import Limits, Window
from qingtuan.channels.http.problems import Declined, Problem
from qingtuan.clock import Clock
from qingtuan.identity.keys import Key
from qingtuan.language import Language
from qingtuan.messages import Space

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

CALLER, BODY, RAW = "qingtuan.caller", "qingtuan.body", "qingtuan.raw"
"""Where the front puts what it found, for what is behind it: a `Caller`, the JSON of the body, and its bytes."""
LASTS = "qingtuan.lasts"
"""Where the front puts what is called without arguments by whoever finds that an answer has no end of its own: it is
ended when nobody is let in any more."""
OPEN = frozenset({"/health", "/openapi.json", "/docs"})
"""What of the HTTP channel needs no key."""
_KINDS = frozenset({"application/json", "application/a2a+json"})
"""Types of bodies that are JSON."""
ENDLESS = frozenset({("GET", "/chat"), ("GET", "/mcp")})
"""What is answered for as long as the caller wants, whatever is in it."""
SIGNED = "/image/"
"""Below this, the address itself is the key."""

_LOG = logging.getLogger("qingtuan.http")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls."""

    key: Key

    @property
    def account(self) -> str:
        return self.key.account

    @property
    def space(self) -> Space:
        """The one chat that they have."""
        return Space("private", self.key.account)


@dataclass(frozen=True, slots=True)
class Paths:
    """What is other for some paths."""

    open: Set[str] = OPEN
    """What needs no key."""
    without_body: str | None = None
    """Below this, a POST need bring nothing."""

    def bodiless(self, path: str) -> bool:
        """Whether what comes there need have no body."""
        return self.without_body is not None and path.startswith(self.without_body)


USUAL = Paths()


class Front:
    """Lets in who has a key, and keeps an eye on them."""

    def __init__(
        self,
        behind: Asgi,
        known: Callable[[str], Key | None],
        limits: Limits,
        clock: Clock,
        language: Language,
        *,
        paths: Paths = USUAL,
    ) -> None:
        """`known`: the valid key that a text is, if it is one."""
        self._paths = paths
        self._behind = behind
        self._known = known
        self._limits = limits
        self._clock = clock
        self._language: Language = language
        self._asked = Window(limits.a_minute, clock)
        self._wrong = Window(limits.wrong_a_minute, clock)
        self._open: defaultdict[str, set[asyncio.Task[None]]] = defaultdict(set)
        self._endless: set[asyncio.Task[None]] = set()
        self._ending: dict[asyncio.Task[None], Problem] = {}
        self.closing = False
        """Whether nothing new is taken in."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = _Answer(send, scope["path"], self._language)
        try:
            await self._answer(scope, receive, answer)
        except Declined as declined:
            await answer.give(declined.problem)
        except Exception as error:  # noqa: BLE001 (the edge of a channel)
            _LOG.error("a request broke: %s", type(error).__name__, exc_info=error)
            await answer.give(problems.BROKE)
        finally:
            _LOG.info("%s %s %s", scope["method"][:12], _route(scope["path"]), answer.status)

    def look(self, valid: Callable[[str], bool]) -> None:
        """End all that is open with keys, by their names, that are not `valid` any more."""
        for key in list(self._open):
            if not valid(key):
                self._end(key, problems.REVOKED)

    def _end(self, key: str, problem: Problem) -> None:
        for task in self._open.get(key, ()):
            self._ending[task] = problem
            task.cancel()

    def pause(self) -> None:
        """Let nobody in any more, and end what has no end of its own."""
        self.closing = True
        for task in self._endless:
            self._halt(task)

    def _lasts(self, task: asyncio.Task[None]) -> None:
        self._endless.add(task)
        if self.closing:
            self._halt(task)

    def _halt(self, task: asyncio.Task[None]) -> None:
        self._ending[task] = problems.STOPPING
        task.cancel()

    async def rest(self) -> None:
        """Wait until everything that is open has been answered."""
        while tasks := [task for tasks in self._open.values() for task in tasks]:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """End all that is open."""
        self.closing = True
        tasks = [task for tasks in self._open.values() for task in tasks]
        for key in list(self._open):
            self._end(key, problems.CUT_OFF)
        if tasks:
            await asyncio.wait(tasks)

    async def _answer(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        path = scope["path"]
        if path in self._paths.open or path.startswith(SIGNED):
            await self._behind(scope, receive, answer.send)
            return
        caller = self._caller(scope)
        if self.closing:
            raise Declined(problems.STOPPING)
        name = caller.key.name
        if self._asked.full(name):
            raise Declined(problems.TOO_FAST)
        self._asked.count(name)
        if len(self._open[name]) >= self._limits.at_once:
            raise Declined(problems.TOO_MANY_OPEN)
        work = asyncio.create_task(self._let_in(caller, scope, receive, answer))
        self._open[name].add(work)
        scope[LASTS] = partial(self._lasts, work)
        if (scope["method"], path) in ENDLESS:
            self._lasts(work)
        try:
            await asyncio.wait([work])
            if (why := self._ending.get(work)) is not None:
                await answer.give(why)
            else:
                await work
        finally:
            # uvicorn never cancels a request, but a server that is being torn down does.
            work.cancel()
            self._open[name].discard(work)
            self._endless.discard(work)
            self._ending.pop(work, None)

    async def _let_in(self, caller: Caller, scope: Scope, receive: Receive, answer: _Answer) -> None:
        scope[CALLER] = caller
        if scope["method"] == "POST" and not (self._paths.bodiless(scope["path"]) and _is_empty(scope)):
            data = await self._read(scope, receive)
            scope[BODY], scope[RAW] = parsed(data), data
        await self._behind(scope, receive, answer.send)

    def _caller(self, scope: Scope) -> Caller:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        kind, _, text = given[0].decode("latin-1").partition(" ") if len(given) == 1 else ("", "", "")
        key = self._known(text.strip()) if kind.lower() == "bearer" else None
        if key is not None:
            return Caller(key)
        # Which address that is says the socket: what a header says of it, anybody can write.
        address = scope["client"][0] if scope.get("client") else ""
        if self._wrong.full(address):
            raise Declined(problems.TOO_MANY_WRONG)
        self._wrong.count(address)
        raise Declined(problems.NO_KEY)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        headers = dict(scope["headers"])
        media_type = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        if media_type not in _KINDS:
            raise Declined(problems.NOT_JSON)
        if (length := headers.get(b"content-length", b"")).isdigit() and int(length) > self._limits.body_bytes:
            raise Declined(problems.TOO_LARGE)
        reading = asyncio.create_task(self._whole(receive))
        late = asyncio.create_task(self._clock.sleep(self._limits.body_seconds))
        try:
            await asyncio.wait([reading, late], return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                raise Declined(problems.TOO_SLOW)
            return reading.result()
        finally:
            for task in (reading, late):
                task.cancel()

    async def _whole(self, receive: Receive) -> bytes:
        pieces, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Declined(problems.TOO_SLOW)  # nobody hears it
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > self._limits.body_bytes:
                raise Declined(problems.TOO_LARGE)
            if not message.get("more_body"):
                return b"".join(pieces)


class _Answer:
    """What goes back to the caller: whatever happens, one whole answer."""

    def __init__(self, send: Send, path: str, language: Language) -> None:
        self._send = send
        self._path = path
        self._language: Language = language
        self.status = 0
        """0 as long as nothing was answered."""
        self._ended = False

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), (b"x-content-type-options", b"nosniff")]
        elif message["type"] == "http.response.body":
            self._ended = not message.get("more_body")
        await self._send(message)

    async def give(self, problem: Problem) -> None:
        """Answer with a problem; where an answer has begun already, only end it."""
        with suppress(OSError):
            if not self.status:
                body = problem.body(self._path, self._language)
                headers = {
                    "content-type": "application/json",
                    "content-length": str(len(body)),
                    "cache-control": "no-store",
                    **problem.headers,
                }
                raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
                await self.send({"type": "http.response.start", "status": problem.status, "headers": raw})
                await self.send({"type": "http.response.body", "body": body})
            elif not self._ended:
                await self.send({"type": "http.response.body", "body": b""})


_SAID_OF_ROUTES = OPEN | {
    "/chat",
    "/v1/chat/completions",
    "/v1/models",
    "/health/detail",
    "/mcp",
    "/a2a",
    "/.well-known/agent-card.json",
}


def _is_empty(scope: Scope) -> bool:
    """Whether a request brings no body."""
    headers = dict(scope["headers"])
    return b"transfer-encoding" not in headers and headers.get(b"content-length", b"0") == b"0"


def _route(path: str) -> str:
    """An address as a log may hold it: without what opens something."""
    if path in _SAID_OF_ROUTES:
        return path
    below = next((prefix for prefix in (SIGNED, "/capabilities/") if path.startswith(prefix)), None)
    return f"{below}…" if below else "(another)"
