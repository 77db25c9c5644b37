"""The sessions of programs over HTTP. Each key has a room of its own: what belongs to another key is not in it, so that
an id of a session there opens nothing, and what a key has open ends with its room."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from qingtuan.channels.entry import Asgi
from qingtuan.language import Language
from qingtuan.servers.mcp.bound import Bound
from qingtuan.servers.mcp.protocol import GONE, server_of

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

Scope = MutableMapping[str, Any]
Receive = Callable[[], Any]
Send = Callable[[MutableMapping[str, Any]], Any]

MOST_SESSIONS = 8
"""Of one key. One more takes the place of the one that has been quiet for longest."""
IDLE_SECONDS = 30 * 60
"""After which a session that nothing is asked in ends."""
_SPARE = 8
"""Sessions that may be about to end."""
_SESSION = b"mcp-session-id"


class Rooms:
    """All of them, by the names of their keys."""

    def __init__(self, bound: Callable[[str], Bound], language: Language, body_bytes: int) -> None:
        """`bound`: the service for whoever comes with the key of this name."""
        self._bound = bound
        self._language: Language = language
        self._body_bytes = body_bytes
        self._rooms: dict[str, Room] = {}

    async def serve(self, key: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that came with a key."""
        room = self._rooms.get(key)
        if room is None:
            room = self._rooms[key] = Room(self._bound(key), self._language, self._body_bytes)
        await room.serve(scope, receive, send)

    @property
    def sessions(self) -> int:
        """How many are open."""
        return sum(len(room.sessions) for room in self._rooms.values())

    async def leave(self, valid: Callable[[str], bool]) -> None:
        """Close the rooms of keys that are not `valid` any more."""
        await asyncio.gather(*(self._rooms.pop(key).close() for key in list(self._rooms) if not valid(key)))

    async def close(self) -> None:
        """Close all."""
        await self.leave(lambda _: False)


class Room:
    """The sessions of one key, made with its first request."""

    def __init__(self, bound: Bound, language: Language, body_bytes: int) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        self._manager: StreamableHTTPSessionManager = StreamableHTTPSessionManager(
            server_of(bound, language),
            session_idle_timeout=IDLE_SECONDS,
            max_sessions=MOST_SESSIONS + _SPARE,
            max_request_body_size=body_bytes,
        )
        self.sessions: OrderedDict[str, int] = OrderedDict()
        """Ids of sessions with how many requests are open in each, the one used last at the end."""
        self._open = asyncio.Event()
        self._closing = asyncio.Event()
        self._running = asyncio.create_task(self._run(), name="mcp room")

    async def _run(self) -> None:
        # Entered and left in one task, as its task group wants it.
        async with self._manager.run():
            self._open.set()
            await self._closing.wait()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._open.wait()
        gone = scope[GONE] = asyncio.Event()
        given = dict(scope["headers"]).get(_SESSION, b"").decode("latin-1")
        # The stream on which a session listens lies open for as long as it lasts: that is no work.
        busy = int(scope["method"] != "GET")
        if given in self.sessions:
            self._use(given, busy)
        opened = _Opened(send)
        try:
            await self._manager.handle_request(scope, receive, opened)
        finally:
            gone.set()
            if given in self.sessions:
                self._use(given, -busy)
            if given and (opened.status == 404 or scope["method"] == "DELETE"):
                self.sessions.pop(given, None)
        if not given and opened.session and opened.status < 400:
            self.sessions[opened.session] = 0
            await self._make_room()

    def _use(self, session: str, more: int) -> None:
        self.sessions[session] += more
        self.sessions.move_to_end(session)

    async def _make_room(self) -> None:
        """End the sessions beyond the most that have been quiet for longest: clients that are started anew open another
        one each time, and hardly any ends its own."""
        quiet = [session for session, busy in self.sessions.items() if not busy]
        for session in quiet[: max(0, len(self.sessions) - MOST_SESSIONS)]:
            self.sessions.pop(session, None)
            await self._end(session)

    async def _end(self, session: str) -> None:
        """End a session as its client would."""
        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "DELETE",
            "path": "/mcp",
            "raw_path": b"/mcp",
            "query_string": b"",
            "headers": [(_SESSION, session.encode("latin-1"))],
        }
        handle: Asgi = self._manager.handle_request
        await handle(scope, _empty, _unheard)

    async def close(self) -> None:
        """End all that is open."""
        self._closing.set()
        await asyncio.gather(self._running, return_exceptions=True)
        self.sessions.clear()


class _Opened:
    """Passes an answer on, and notes its status and the session that it names."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.session = ""

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.session = dict(message.get("headers", ())).get(_SESSION, b"").decode("latin-1")
        await self._send(message)


async def _empty() -> MutableMapping[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_: MutableMapping[str, Any]) -> None:
    """Nobody waits for it."""
