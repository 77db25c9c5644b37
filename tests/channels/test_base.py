"""Deliveries: the outbox is the queue; order within a chat, chats side by side, and every outcome written down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from qingtuan.channels.base import Deliveries, Delivery, Part, Waits
from qingtuan.channels.pace import UNPACED, Pace
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.events.outbox import Draft
from qingtuan.messages import Outbound, Space
from tests.fakes.turns import World

ONE, OTHER = Space("private", "qq:1"), Space("private", "qq:2")


@dataclass
class Platform:
    """A channel that takes what a test lets it take."""

    name: str = "onebot"
    took: list[str] = field(default_factory=list)
    closed: set[Space] = field(default_factory=set)
    held: dict[Space, asyncio.Event] = field(default_factory=dict)

    pace: Pace = UNPACED

    def waits(self, message: Outbound) -> Waits | None:
        return Waits.NOT_CONNECTED if message.space in self.closed else None

    def parts(self, message: Outbound) -> list[Part]:
        return [Part(message.text)]

    async def send(self, message: Outbound, part: Part) -> Delivery:
        if message.space in self.held:
            await self.held[message.space].wait()
        if message.text == "坏":
            raise ConnectionResetError("gone")
        self.took.append(message.text)
        return Delivery("refused", detail="blocked") if message.text == "拒" else Delivery("sent", f"p{len(self.took)}")


@dataclass
class Post:
    """A platform, and what carries messages to it."""

    world: World
    platform: Platform
    deliveries: Deliveries

    def put(self, text: str, space: Space = ONE, channel: str = "onebot") -> None:
        self.world.record.outbox.put(Draft(channel, text, "notice"), Place("s_1", space, None, "owner"))

    def states(self) -> dict[str, str]:
        rows = self.world.database.rows(
            "SELECT json_extract(e.payload, '$.text') AS text, o.state"
            " FROM outbox AS o JOIN events AS e ON e.id = o.event"
        )
        return {row["text"]: row["state"] for row in rows}


@pytest.fixture
async def post(world: World) -> AsyncIterator[Post]:
    platform = Platform()
    post = Post(world, platform, Deliveries(platform, world.log))
    yield post
    await post.deliveries.close()


async def test_messages_go_out_in_order_with_what_became_of_each(post: Post) -> None:
    for text in ("一", "拒", "坏", "二"):
        post.put(text)
    post.put("别的渠道的", channel="cli")
    await post.deliveries.settled(ONE)
    assert post.platform.took == ["一", "拒", "二"]
    assert post.states() == {"一": "sent", "拒": "refused", "坏": "unknown", "二": "sent", "别的渠道的": "waiting"}
    (unknown,) = post.world.events(Kind.DELIVERY_UNKNOWN)
    assert "gone" in unknown.payload["detail"]
    (sent, *_) = post.world.events(Kind.DELIVERY_SENT)
    assert sent.payload["platform_id"] == "p1"


async def test_a_slow_chat_does_not_hold_up_another(post: Post) -> None:
    post.platform.held[ONE] = asyncio.Event()
    post.put("慢")
    post.put("快", OTHER)
    await post.deliveries.settled(OTHER)
    assert post.platform.took == ["快"]
    post.platform.held[ONE].set()
    await post.deliveries.settled(ONE)
    assert post.platform.took == ["快", "慢"]


async def test_what_cannot_be_handed_over_waits_and_goes_when_it_can(post: Post) -> None:
    post.platform.closed = {ONE}
    post.put("等着")
    await post.deliveries.settled(ONE)
    assert post.states() == {"等着": "waiting"}
    post.platform.closed = set()
    post.deliveries.wake(ONE)
    await post.deliveries.settled(ONE)
    assert post.platform.took == ["等着"]


async def test_a_process_that_dies_while_it_sends_repeats_nothing_and_goes_on_with_the_rest(post: Post) -> None:
    post.platform.held[ONE] = asyncio.Event()
    post.put("在路上")
    post.put("还没走")
    await asyncio.sleep(0.01)
    await post.deliveries.close()
    post.world.record.outbox.settle()
    assert post.states() == {"在路上": "unknown", "还没走": "waiting"}
    platform = Platform()
    next_one = Deliveries(platform, post.world.log)
    next_one.start()
    await next_one.settled(ONE)
    await next_one.close()
    assert platform.took == ["还没走"]
