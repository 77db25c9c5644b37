"""What every channel has in common: sending, part by part and one at a time per chat, with what became of each part
written down, no faster than the platform takes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, Protocol

from qingtuan.channels.pace import Breaker, Pace, Pacer
from qingtuan.errors import StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.events.outbox import Outbox, Queued
from qingtuan.language import Words
from qingtuan.messages import Attachment, Outbound, Space


@dataclass(frozen=True, slots=True)
class Part:
    """What goes to the platform in one piece: a stretch of the message as the platform shows it, or one file."""

    text: str = ""
    attachment: Attachment | None = None
    plain: str = ""
    """The same stretch without markup, for a platform that may refuse the markup; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What the platform said about one part."""

    state: Literal["sent", "refused", "unknown", "later"]
    """`later`: it was certainly not taken, and may be sent again (429, no connection before anything was written, a
    window that is closed). `unknown` is never sent again by itself."""
    platform_id: str | None = None
    """The platform's id of the message, if it gave one."""
    detail: str = ""
    """Why not, for the owner."""
    after: float | None = None
    """With `later`: seconds after which to try again, if the platform says; None leaves it to the back-off, which ends
    when the chat is woken."""


class Waits(StrEnum):
    """Why a message cannot be handed over at this moment."""

    NOT_CONNECTED = "not_connected"
    LOGIN = "login"
    """Somebody has to log in again."""
    MUTED = "muted"
    """The assistant may not speak in that group."""
    USER_FIRST = "user_first"
    """The platform takes nothing until the person has written again (WeChat: 24 hours, and about ten messages)."""
    NOBODY = "nobody"
    """No program attends that chat."""
    PAUSED = "paused"
    """Several outcomes in a row were unknown: a while of rest."""
    LATER = "later"
    """The platform did not take it, and it is tried again."""
    SOON = "soon"
    """Its turn comes within moments."""


WAITS: Mapping[Waits, Words] = {
    Waits.NOT_CONNECTED: Words("没连上", "not connected"),
    Waits.LOGIN: Words("要重新登录", "somebody must log in again"),
    Waits.MUTED: Words("被禁言", "muted there"),
    Waits.USER_FIRST: Words("等对方先说话", "waiting for the person to write"),
    Waits.NOBODY: Words("没有人在看", "nobody attends"),
    Waits.PAUSED: Words("连着几次不知道送到没有，先歇一会儿", "paused after several unknown outcomes"),
    Waits.LATER: Words("平台没收，过一会儿再发", "not taken, tried again later"),
    Waits.SOON: Words("马上发", "about to be sent"),
}


class Channel(Protocol):
    """A way out to people."""

    @property
    def name(self) -> str:
        """As messages name it: `cli`, `telegram` …"""
        ...

    @property
    def pace(self) -> Pace:
        """How fast its platform takes messages."""
        ...

    def waits(self, message: Outbound) -> Waits | None:
        """Why it cannot be handed over now; None if it can. What waits does not hold up what comes behind it;
        `Deliveries.wake` says that things have changed."""
        ...

    def parts(self, message: Outbound) -> Sequence[Part]:
        """The pieces of a message in their order, rendered and split for the platform. Pure: the same message has the
        same parts after a restart."""
        ...

    async def send(self, message: Outbound, part: Part) -> Delivery:
        """Hand one part to the platform. The platform's word decides, not that nothing was raised. `message.reply_to`
        is set for the first part alone, and only where it is to quote."""
        ...


_OUTCOMES = {
    "sent": Kind.DELIVERY_SENT,
    "refused": Kind.DELIVERY_REFUSED,
    "unknown": Kind.DELIVERY_UNKNOWN,
}
_FIRST_SECONDS = 2.0
_LONGEST_SECONDS = 300.0
"""How long the back-off is at first, and at most; it doubles between."""
_SHORTEST_SECONDS = 0.001
"""The least rest: what arithmetic leaves of a pause may be less than any clock measures."""
_GRACE_SECONDS = 5.0
"""How long what is on its way may take at the end of the process; then its outcome is unknown."""


@dataclass(frozen=True, slots=True)
class Held:
    """What waits in one chat, and why the first of it does."""

    space: Space
    messages: int
    since: datetime
    why: Waits


@dataclass(slots=True)
class _Chat:
    """The sending to one chat."""

    worker: asyncio.Task[None] | None = None
    nap: asyncio.Task[None] | None = None
    """A rest that is not yet over."""
    woken: bool = False
    """Whether the back-off counts no more for the next try."""
    obeys: float = 0.0
    """The platform wants nothing before; of a monotonic clock."""
    rendered: tuple[str, Outbound, Sequence[Part]] | None = None
    """The parts of the message that is being sent."""


class Deliveries:
    """Carries the messages of one channel from the outbox to it: in order within a chat, chats side by side.

    The outbox is the queue. What else is kept only slows down, so a crash loses nothing and repeats nothing.
    """

    def __init__(self, channel: Channel, log: Log) -> None:
        self._channel = channel
        self._log = log
        self._clock = log.clock
        self._outbox = Outbox(log)
        self._pacer = Pacer(channel.pace)
        self._breaker = Breaker()
        self._chats: dict[Space, _Chat] = {}
        self._closed = False
        self.last: datetime | None = None
        """When the platform took something last."""
        self._unlisten: Callable[[], None] = log.listen(self._heard)

    def start(self) -> None:
        """Take up what waits since an earlier run."""
        self._remember_pauses()
        for message in self._outbox.waiting(self._channel.name):
            self._run(_space(message))

    def wake(self, space: Space) -> None:
        """Look again for what waits in a chat: the channel became ready for it. A back-off ends by that, but no time
        that the platform has set."""
        chat = self._run(space)
        chat.woken = True
        if chat.nap is not None:
            chat.nap.cancel()

    def wake_all(self) -> None:
        """The same for every chat in which something waits: the connection is back."""
        for space in {_space(message) for message in self._outbox.waiting(self._channel.name)}:
            self.wake(space)

    async def settled(self, space: Space) -> None:
        """Wait until nothing in a chat is being sent, and nothing waits that could be."""
        while (chat := self._chats.get(space)) is not None and chat.worker is not None:
            await asyncio.wait([chat.worker])

    def held(self) -> list[Held]:
        """What waits, chat by chat, with the reason."""
        found: dict[Space, Held] = {}
        for message in self._outbox.waiting(self._channel.name):
            space = _space(message)
            if (one := found.get(space)) is not None:
                found[space] = replace(one, messages=one.messages + 1)
            else:
                found[space] = Held(space, 1, message.time, self._why(space, message))
        return list(found.values())

    async def close(self) -> None:
        """Stop sending. What waits stays waiting; what is on its way has a moment to arrive, and an unknown outcome if
        it does not."""
        self._unlisten()
        self._unlisten = lambda: None
        self._closed = True
        for chat in self._chats.values():
            if chat.nap is not None:
                chat.nap.cancel()
        if workers := [chat.worker for chat in self._chats.values() if chat.worker is not None]:
            grace = asyncio.create_task(self._clock.sleep(_GRACE_SECONDS))
            arriving = asyncio.create_task(asyncio.wait(workers))
            await asyncio.wait([grace, arriving], return_when=asyncio.FIRST_COMPLETED)
            for task in (grace, arriving, *workers):
                task.cancel()
            await asyncio.gather(grace, arriving, *workers, return_exceptions=True)

    def _heard(self, event: Event) -> None:
        if event.kind is Kind.MESSAGE_SENT and event.payload["channel"] == self._channel.name:
            self._run(_space(event))

    def _run(self, space: Space) -> _Chat:
        chat = self._chats.setdefault(space, _Chat())
        if chat.worker is None and not self._closed:
            chat.worker = asyncio.create_task(self._work(space, chat), name=f"{self._channel.name} {space}")
        return chat

    async def _work(self, space: Space, chat: _Chat) -> None:
        try:
            # What cannot be written down is not sent: it is tried again when the chat is woken next.
            with suppress(StorageFailed):
                while not self._closed and (queued := self._next(space, chat)) is not None:
                    await self._step(queued, space, chat)
        finally:
            chat.worker = None
            if chat.obeys <= self._clock.monotonic():
                self._chats.pop(space, None)

    def _next(self, space: Space, chat: _Chat) -> Queued | None:
        for queued in self._outbox.queue(self._channel.name, space):
            message = queued.message
            if chat.rendered is None or chat.rendered[0] != message.id:
                outbound = self._outbox.outbound(message)
                if self._channel.waits(outbound) is None:
                    chat.rendered = message.id, outbound, self._parts(outbound)
                    return queued
            elif self._channel.waits(chat.rendered[1]) is None:
                return queued
            if queued.part:
                return None  # nothing comes between the parts of a message
        return None

    def _parts(self, message: Outbound) -> Sequence[Part]:
        try:
            return self._channel.parts(message)
        except Exception as error:  # noqa: BLE001 (the edge of a channel)
            self._channel_broke(error)
            return ()

    async def _step(self, queued: Queued, space: Space, chat: _Chat) -> None:
        """Wait as long as the next part has to, or send it."""
        if chat.rendered is None:
            return
        _, message, parts = chat.rendered
        if not self._fits(queued, parts):
            return
        part = parts[queued.part]
        if (seconds := self._pause(queued, space, chat, len(part.text))) > 0:
            await self._rest(chat, seconds)
            return
        chat.woken = False
        self._outbox.started(queued.message, queued.part, len(parts))
        self._pacer.sent(space, self._clock.monotonic())
        try:
            delivery = await self._channel.send(replace(message, reply_to=None) if queued.part else message, part)
        except Exception as error:  # noqa: BLE001 (the edge of a channel)
            delivery = Delivery("unknown", detail=repr(error))
        self._ended(queued, delivery, space, chat)

    def _fits(self, queued: Queued, parts: Sequence[Part]) -> bool:
        """Whether there is a part to send; else the message gets its end."""
        if not parts:
            self._outbox.end(queued.message, Kind.DELIVERY_REFUSED, "it has no part that could be sent")
        elif queued.part and queued.of != len(parts):
            why = f"it was begun as {queued.of} parts and now has {len(parts)}"
            self._outbox.end(queued.message, Kind.DELIVERY_UNKNOWN, why)
        else:
            return True
        return False

    def _pause(self, queued: Queued, space: Space, chat: _Chat, length: int) -> float:
        now = self._clock.monotonic()
        seconds = max(
            self._pacer.pause(space, now, follows=queued.part > 0, length=length),
            self._breaker.pause(space, now),
            chat.obeys - now,
        )
        if queued.due is not None and not chat.woken:
            seconds = max(seconds, (queued.due - self._clock.now()).total_seconds())
        return seconds

    async def _rest(self, chat: _Chat, seconds: float) -> None:
        chat.nap = asyncio.create_task(self._clock.sleep(max(seconds, _SHORTEST_SECONDS)))
        try:
            await asyncio.wait([chat.nap])
        finally:
            chat.nap.cancel()
            chat.nap = None

    def _ended(self, queued: Queued, delivery: Delivery, space: Space, chat: _Chat) -> None:
        message, detail = queued.message, delivery.detail
        if delivery.state == "later":
            after = delivery.after
            if after is None:
                after = min(_LONGEST_SECONDS, _FIRST_SECONDS * 2 ** min(queued.tries, 10))
            else:
                chat.obeys = self._clock.monotonic() + after
            self._outbox.later(message, after, detail)
            return
        if delivery.state == "sent":
            self.last = self._clock.now()
        self._outbox.finished(message, _OUTCOMES[delivery.state], platform_id=delivery.platform_id, detail=detail)
        if delivery.state == "unknown":
            for paused, seconds in self._breaker.unknown(space, self._clock.monotonic()):
                self._note(Kind.DELIVERY_PAUSED, paused, {"seconds": seconds})
        else:
            for resumed in self._breaker.known(space):
                self._note(Kind.DELIVERY_RESUMED, resumed, {})

    def _note(self, kind: Kind, space: Space | None, payload: Mapping[str, float]) -> None:
        self._log.append(kind, Place(None, space), {"channel": self._channel.name, **payload})

    def _remember_pauses(self) -> None:
        """What an earlier process paused is not hurried by a restart."""
        now = self._clock.now()
        since = round((now - timedelta(days=1)).timestamp() * 1000)
        noted = self._log.where(
            "kind IN (?, ?) AND time > ? AND json_extract(payload, '$.channel') = ?",
            (Kind.DELIVERY_PAUSED, Kind.DELIVERY_RESUMED, since, self._channel.name),
        )
        last = {event.place.space: event for event in noted if not event.forgotten}
        for space, event in last.items():
            if event.kind is Kind.DELIVERY_PAUSED:
                left = event.payload["seconds"] - (now - event.time).total_seconds()
                self._breaker.restore(space, max(0.0, left), self._clock.monotonic())

    def _why(self, space: Space, message: Event) -> Waits:
        if (why := self._channel.waits(self._outbox.outbound(message))) is not None:
            return why
        if self._breaker.pause(space, self._clock.monotonic()) > 0:
            return Waits.PAUSED
        queue = self._outbox.queue(self._channel.name, space)
        return Waits.LATER if queue and queue[0].tries else Waits.SOON

    def _channel_broke(self, error: Exception) -> None:
        said = {"message": f"{self._channel.name} could not render a message", "exception": error}
        asyncio.get_running_loop().call_exception_handler(said)


def _space(message: Event) -> Space:
    if message.place.space is None:
        raise ValueError("a message goes to a space")
    return message.place.space
