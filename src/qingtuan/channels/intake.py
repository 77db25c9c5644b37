"""The way in that all chat apps share: a message is acknowledged once it is stored, and then dealt with in its turn.

Adapters give each message to a task of its own and know nothing of what they gave before (platforms.md, 0). Here the
order within a chat is kept, chats do not wait for each other, and a command that takes long keeps nobody from being
heard.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from qingtuan.clock import Clock
from qingtuan.errors import StorageFailed
from qingtuan.language import Words
from qingtuan.messages import Inbound, Space
from qingtuan.turn.desk import Desk, Stored, Taken


@dataclass(slots=True)
class _Chat:
    """What goes on in one chat."""

    storing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Whoever comes first has it first."""
    arriving: set[asyncio.Task[Taken | None]] = field(default_factory=set)
    """What is about to be stored."""
    waiting: deque[Stored] = field(default_factory=deque)
    """Stored, and not yet dealt with."""
    worker: asyncio.Task[None] | None = None


class Intake:
    """Takes the messages of one channel in. What was stored and not dealt with is taken up at the next start."""

    def __init__(self, name: str, desk: Desk, clock: Clock) -> None:
        """`name`: of the channel, as messages name it."""
        self._name = name
        self._desk = desk
        self._clock = clock
        self.last: datetime | None = None
        """When a message came last."""
        self._chats: dict[Space, _Chat] = {}
        self._closed = False

    async def take(self, inbound: Inbound) -> Taken | None:
        """Take a message in, at the moment at which it arrives; within a chat they count in the order of these calls.
        Returns as soon as it may be acknowledged: with None it is stored and being dealt with, else it was known, or
        is ignored (and an event says why). Whoever calls may be cancelled; the message is stored all the same.

        Raises:
            StorageFailed: it could not be stored, or the channel is closed: it must not be acknowledged.
        """

        self.last = self._clock.now()

        async def store(chat: _Chat) -> Taken | None:
            stored = await self._store(inbound)
            if isinstance(stored, Taken):
                return stored
            self._put(inbound.space, chat, stored)
            return None

        return await self._in_order(inbound.space, store)

    async def recalled(self, space: Space, message_id: str) -> None:
        """Whoever sent a message took it back: as far as it is not answered, it is not.

        Raises:
            StorageFailed: as `take`.
        """

        async def recall(_: _Chat) -> None:
            self._desk.recalled(self._name, space, message_id)

        await self._in_order(space, recall)

    async def settled(self) -> None:
        """Wait until all that came was dealt with; turns are only queued by then."""
        while going := [task for chat in self._chats.values() for task in (*chat.arriving, chat.worker) if task]:
            await asyncio.wait(going)

    async def close(self) -> None:
        """Take nothing in any more. What is being stored is stored; what is being dealt with is finished, since a
        command half done is done neither way, and the rest is left to the next start."""
        self._closed = True
        self._desk.let_go()
        for chat in self._chats.values():
            chat.waiting.clear()
        await self.settled()

    async def _in_order(self, space: Space, work: Callable[[_Chat], Awaitable[Taken | None]]) -> Taken | None:
        """Do something about a chat when what came before it is stored."""
        if self._closed:
            raise StorageFailed(_CLOSED)
        chat = self._chats.setdefault(space, _Chat())

        async def run() -> Taken | None:
            async with chat.storing:
                return await work(chat)

        def ended(task: asyncio.Task[Taken | None]) -> None:
            chat.arriving.discard(task)
            self._tidy(space, chat)
            if not task.cancelled():
                task.exception()  # raised to whoever still waits; nobody else has to hear of it

        arriving = asyncio.create_task(run(), name=f"{self._name} {space} in")
        chat.arriving.add(arriving)
        arriving.add_done_callback(ended)
        return await asyncio.shield(arriving)

    async def _store(self, inbound: Inbound) -> Stored | Taken:
        try:
            return await self._desk.store(inbound)
        except StorageFailed:
            raise
        except Exception as error:  # noqa: BLE001 (the edge of a channel)
            return self._desk.broken(inbound, error)

    def _put(self, space: Space, chat: _Chat, stored: Stored) -> None:
        if self._closed:
            return
        chat.waiting.append(stored)
        if chat.worker is None:
            chat.worker = asyncio.create_task(self._work(space, chat), name=f"{self._name} {space}")

    async def _work(self, space: Space, chat: _Chat) -> None:
        later = False
        try:
            while chat.waiting:
                await self._set_off(chat.waiting.popleft(), later=later)
                later = True
        finally:
            chat.worker = None
            self._tidy(space, chat)

    async def _set_off(self, stored: Stored, *, later: bool) -> None:
        try:
            await self._desk.set_off(stored, later=later)
        except Exception as error:  # noqa: BLE001 (the edge of a channel: the chat's other messages go on)
            said = {"message": f"a message of {self._name} could not be dealt with", "exception": error}
            asyncio.get_running_loop().call_exception_handler(said)

    def _tidy(self, space: Space, chat: _Chat) -> None:
        if not chat.arriving and chat.worker is None:
            self._chats.pop(space, None)


_CLOSED = Words("正在结束，先不收新消息。", "It is ending, and takes in nothing new.")
