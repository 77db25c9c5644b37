"""A platform that takes what a test lets it take, and what carries messages to it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from qingtuan.channels.base import Deliveries, Delivery, Part, Waits
from qingtuan.channels.pace import UNPACED, Pace
from qingtuan.clock import ManualClock
from qingtuan.events.log import Place
from qingtuan.events.outbox import Draft
from qingtuan.messages import Outbound, Space
from tests.fakes.clocks import StillClock
from tests.fakes.turns import World

ONE, OTHER = Space("private", "qq:1"), Space("private", "qq:2")


@dataclass
class Platform:
    """A channel that takes what a test lets it take. A text goes out in as many parts as it has lines."""

    name: str = "onebot"
    took: list[str] = field(default_factory=list)
    quoted: list[str | None] = field(default_factory=list)
    closed: dict[Space, Waits] = field(default_factory=dict)
    held: dict[Space, asyncio.Event] = field(default_factory=dict)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    """Parts that it holds, by their text."""
    answers: dict[str, list[Delivery]] = field(default_factory=dict)
    """What it says to a part, one answer after the other; after these it takes the part."""
    pace: Pace = UNPACED
    clock: ManualClock | None = None
    times: list[float] = field(default_factory=list)

    def waits(self, message: Outbound) -> Waits | None:
        return self.closed.get(message.space)

    def parts(self, message: Outbound) -> list[Part]:
        if message.text == "画不出":
            raise ValueError("no such picture")
        return [Part(line) for line in message.text.splitlines()]

    async def send(self, message: Outbound, part: Part) -> Delivery:
        if message.space in self.held:
            await self.held[message.space].wait()
        if part.text in self.gates:
            await self.gates[part.text].wait()
        if part.text == "坏":
            raise ConnectionResetError("gone")
        answers = self.answers.get(part.text, [])
        answer = answers.pop(0) if answers else Delivery("sent", f"p{len(self.took) + 1}")
        if answer.state != "later":
            self.took.append(part.text)
            self.quoted.append(message.reply_to)
            self.times.append(self.clock.monotonic() if self.clock else 0.0)
        return answer


REFUSED, UNKNOWN, LATER = Delivery("refused", detail="blocked"), Delivery("unknown", detail="1200"), Delivery("later")


@dataclass
class Post:
    """A platform, and what carries messages to it."""

    world: World
    platform: Platform
    deliveries: Deliveries
    clock: StillClock

    def put(self, text: str, space: Space = ONE, channel: str = "onebot") -> None:
        self.world.record.outbox.put(Draft(channel, text, "notice"), Place("s_1", space, None, "owner"))

    async def settled(self, *spaces: Space) -> None:
        for space in spaces or (ONE,):
            async with asyncio.timeout(5):
                await self.deliveries.settled(space)

    async def killed(self, platform: Platform | None = None) -> Post:
        """The next process, after this one died without a word."""
        unlisten = self.deliveries._unlisten
        unlisten()
        for chat in list(self.deliveries._chats.values()):
            if chat.worker is not None:
                chat.worker.cancel()
                await asyncio.wait([chat.worker])
        self.deliveries._unlisten = lambda: None
        self.world.record.outbox.settle()
        platform = platform or Platform()
        post = Post(self.world, platform, Deliveries(platform, self.world.log), self.clock)
        post.deliveries.start()
        return post

    def states(self) -> dict[str, str]:
        rows = self.world.database.rows(
            "SELECT json_extract(e.payload, '$.text') AS text, o.state"
            " FROM outbox AS o JOIN events AS e ON e.id = o.event"
        )
        return {row["text"]: row["state"] for row in rows}
