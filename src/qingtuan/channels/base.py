"""What every channel has in common: sending, one message at a time per chat, with what became of it written down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol

from qingtuan.errors import StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.events.outbox import Outbox, outbound
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
    """With `later`: seconds after which to try again, if the platform says; None leaves it to the back-off."""


class Channel(Protocol):
    """A way out to people."""

    @property
    def name(self) -> str:
        """As messages name it: `cli`, `telegram` …"""
        ...

    def ready(self, message: Outbound) -> bool:
        """Whether it could be handed over now. What cannot stays waiting, and does not hold up what comes behind
        it; `Deliveries.wake` says that things have changed."""
        ...

    def parts(self, message: Outbound) -> Sequence[Part]:
        """The pieces of a message in their order, rendered and split for the platform. Pure: the same message has the
        same parts after a restart."""
        ...

    async def send(self, message: Outbound, part: Part) -> Delivery:
        """Hand one part to the platform. The platform's word decides, not that nothing was raised. Only the first part
        of a message quotes what it answers."""
        ...


_OUTCOMES = {
    "later": Kind.DELIVERY_REFUSED,
    "sent": Kind.DELIVERY_SENT,
    "refused": Kind.DELIVERY_REFUSED,
    "unknown": Kind.DELIVERY_UNKNOWN,
}


class Deliveries:
    """Carries the messages of one channel from the outbox to it: in order within a chat, chats side by side.

    The outbox is the queue; nothing else is kept, so a crash loses nothing and repeats nothing.
    """

    def __init__(self, channel: Channel, log: Log) -> None:
        self._channel = channel
        self._outbox = Outbox(log)
        self._workers: dict[Space, asyncio.Task[None]] = {}
        self._unlisten: Callable[[], None] = log.listen(self._heard)

    def start(self) -> None:
        """Take up what waits since an earlier run."""
        for message in self._outbox.waiting(self._channel.name):
            self.wake(_space(message))

    def wake(self, space: Space) -> None:
        """Look again for what waits in a chat: a message was put there, or the channel became ready for it."""
        if space not in self._workers:
            self._workers[space] = asyncio.create_task(self._work(space), name=f"{self._channel.name} {space}")

    async def settled(self, space: Space) -> None:
        """Wait until nothing in a chat is being sent, and nothing waits that could be."""
        while worker := self._workers.get(space):
            await asyncio.wait([worker])

    async def close(self) -> None:
        """Stop sending. What waits stays waiting; what is on its way has an unknown outcome."""
        self._unlisten()
        self._unlisten = lambda: None
        workers = list(self._workers.values())
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    def _heard(self, event: Event) -> None:
        if event.kind is Kind.MESSAGE_SENT and event.payload["channel"] == self._channel.name:
            self.wake(_space(event))

    async def _work(self, space: Space) -> None:
        try:
            # What cannot be written down is not sent: it is tried again when the chat is woken next.
            with suppress(StorageFailed):
                while (message := self._next(space)) is not None:
                    await self._deliver(message)
        finally:
            self._workers.pop(space, None)

    def _next(self, space: Space) -> Event | None:
        waiting = self._outbox.waiting(self._channel.name, space)
        return next((message for message in waiting if self._channel.ready(outbound(message))), None)

    async def _deliver(self, message: Event) -> None:
        self._outbox.started(message)
        delivery = Delivery("sent")
        try:
            for part in self._channel.parts(outbound(message)):
                delivery = await self._channel.send(outbound(message), part)
        except Exception as error:  # noqa: BLE001 (the edge of a channel)
            delivery = Delivery("unknown", detail=repr(error))
        kind = _OUTCOMES[delivery.state]
        self._outbox.finished(message, kind, platform_id=delivery.platform_id, detail=delivery.detail)


def _space(message: Event) -> Space:
    if message.place.space is None:
        raise ValueError("a message goes to a space")
    return message.place.space
