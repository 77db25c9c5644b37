"""Deliveries: the outbox is the queue; order within a chat, chats side by side, and every outcome written down."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from qingtuan.channels.base import Delivery, Waits
from qingtuan.events.inbox import Inbox
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.events.outbox import Draft
from qingtuan.messages import Origin, Outbound, Space
from tests.fakes.post import LATER, ONE, OTHER, REFUSED, UNKNOWN, Post
from tests.fakes.turns import GROUP, OWNER_QQ, World


async def test_messages_go_out_in_order_with_what_became_of_each(post: Post) -> None:
    post.platform.answers = {"拒": [REFUSED]}
    for text in ("一", "拒", "坏", "画不出", "二"):
        post.put(text)
    post.put("别的渠道的", channel="cli")
    await post.deliveries.settled(ONE)
    assert post.platform.took == ["一", "拒", "二"]
    assert post.states() == {
        "一": "sent",
        "拒": "refused",
        "坏": "unknown",
        "画不出": "refused",
        "二": "sent",
        "别的渠道的": "waiting",
    }
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
    post.platform.closed = {ONE: Waits.NOT_CONNECTED}
    post.put("等着")
    await post.deliveries.settled(ONE)
    assert post.states() == {"等着": "waiting"}
    post.platform.closed = {}
    post.deliveries.wake(ONE)
    await post.deliveries.settled(ONE)
    assert post.platform.took == ["等着"]


async def test_a_process_that_dies_while_it_sends_repeats_nothing_and_goes_on_with_the_rest(post: Post) -> None:
    post.platform.held[ONE] = asyncio.Event()
    post.put("在路上")
    post.put("还没走")
    await asyncio.sleep(0.01)
    again = await post.killed()
    assert post.states() == {"在路上": "unknown", "还没走": "waiting"}
    await again.settled()
    await again.deliveries.close()
    assert again.platform.took == ["还没走"]


async def test_at_an_end_in_peace_what_is_on_its_way_may_arrive(post: Post) -> None:
    post.platform.held[ONE] = asyncio.Event()
    post.put("在路上\n后一段")
    await asyncio.sleep(0.01)
    post.platform.held[ONE].set()
    await post.deliveries.close()
    assert post.platform.took == ["在路上"]
    assert post.states() == {"在路上\n后一段": "waiting"}


# Parts


async def test_a_message_of_several_parts_is_found_by_the_id_of_any_of_them(post: Post) -> None:
    post.put("头\n中\n尾")
    await post.settled()
    (message,) = post.world.events(Kind.MESSAGE_SENT)
    found = [post.world.record.outbox.of_platform(ONE, name) for name in ("p1", "p2", "p3", "p4")]
    assert found == [message.id, message.id, message.id, None]
    assert post.world.record.outbox.of_platform(OTHER, "p1") is None
    assert post.states() == {"头\n中\n尾": "sent"}
    assert [event.kind for event in post.world.log.caused_by(message.id)] == [
        Kind.DELIVERY_STARTED,
        Kind.DELIVERY_PART,
        Kind.DELIVERY_STARTED,
        Kind.DELIVERY_PART,
        Kind.DELIVERY_STARTED,
        Kind.DELIVERY_SENT,
    ]


@pytest.mark.parametrize(
    ("answers", "took", "whole"),
    [
        ({"中": [UNKNOWN]}, ["头", "中", "尾"], "unknown"),
        ({"中": [REFUSED]}, ["头", "中", "尾"], "refused"),
        ({"尾": [REFUSED]}, ["头", "中", "尾"], "refused"),
        ({"头": [UNKNOWN], "中": [REFUSED]}, ["头", "中", "尾"], "unknown"),
        ({"头": [REFUSED]}, ["头"], "refused"),
        ({"中": [LATER, LATER]}, ["头", "中", "尾"], "sent"),
    ],
)
async def test_what_becomes_of_the_whole_follows_from_its_parts(
    post: Post, answers: dict[str, list[Delivery]], took: list[str], whole: str
) -> None:
    post.platform.answers = answers
    post.put("头\n中\n尾")
    post.put("后面的")
    await post.settled()
    assert post.platform.took == [*took, "后面的"]
    assert post.states() == {"头\n中\n尾": whole, "后面的": "sent"}


async def test_a_part_in_flight_at_a_kill_is_unknown_and_those_behind_it_go_out(post: Post) -> None:
    post.platform.gates["中"] = asyncio.Event()
    post.put("头\n中\n尾")
    await asyncio.sleep(0.01)
    assert post.platform.took == ["头"]
    again = await post.killed()
    await again.settled()
    await again.deliveries.close()
    assert again.platform.took == ["尾"]
    assert again.platform.quoted == [None]
    assert post.states() == {"头\n中\n尾": "unknown"}
    parts = post.world.database.rows("SELECT part, state FROM outbox_parts ORDER BY part")
    assert [tuple(row) for row in parts] == [(0, "sent"), (1, "unknown"), (2, "sent")]


async def test_a_rest_that_would_be_split_otherwise_now_is_not_guessed_at(post: Post) -> None:
    (message,) = [post.world.record.outbox.put(Draft("onebot", "头\n尾"), Place("s_1", OTHER, None, "owner"))]
    post.platform.closed = {OTHER: Waits.MUTED}
    post.world.record.outbox.started(message, 0, 3)
    again = await post.killed()
    await again.settled(OTHER)
    await again.deliveries.close()
    assert again.platform.took == []
    assert post.states() == {"头\n尾": "unknown"}


async def test_nothing_comes_between_the_parts_of_a_message(post: Post) -> None:
    """It waits in the middle, and so does what is behind it; before its beginning nothing has to wait for it."""
    waiting = ["先不发"]

    def waits(message: Outbound) -> Waits | None:
        return Waits.USER_FIRST if message.text in waiting else None

    post.platform.waits = waits  # type: ignore[method-assign]
    post.platform.gates["头"] = asyncio.Event()
    for text in ("先不发", "头\n中", "后面的"):
        post.put(text)
    await asyncio.sleep(0.01)
    waiting.append("头\n中")
    post.platform.gates["头"].set()
    await post.settled()
    assert post.platform.took == ["头"]
    waiting.remove("头\n中")
    post.deliveries.wake(ONE)
    await post.settled()
    assert post.platform.took == ["头", "中", "后面的"]


# What it answers


async def answered(world: World, space: Space, account: str, *, more: bool, channel: str = "onebot") -> str | None:
    """What a reply quotes, if it quotes."""
    said = world.inbound("问", account, space, message_id="m1")
    first = Inbox(world.log).receive(said, session="s_1", person="owner", origin=Origin.OWNER)
    assert first is not None
    if more:
        Inbox(world.log).receive(
            world.inbound("再问", account, space), session="s_1", person="owner", origin=Origin.OWNER
        )
    reply = world.record.outbox.put(Draft(channel, "答"), Place("s_1", space, None, "owner"), cause=first.id)
    return world.record.outbox.outbound(reply).reply_to


async def test_a_reply_quotes_in_a_group_and_where_others_came_between(world: World) -> None:
    assert await answered(world, GROUP, OWNER_QQ, more=False) == "m1"
    assert await answered(world, Space("private", OWNER_QQ), OWNER_QQ, more=True) == "m1"


async def test_a_reply_in_private_quotes_nothing_where_it_is_plain(world: World) -> None:
    assert await answered(world, Space("private", OWNER_QQ), OWNER_QQ, more=False) is None


async def test_a_reply_quotes_nothing_of_another_channel(world: World) -> None:
    assert await answered(world, GROUP, OWNER_QQ, more=False, channel="telegram") is None


async def test_only_the_first_part_quotes(post: Post) -> None:
    said = post.world.inbound("问", OWNER_QQ, GROUP, message_id="m1")
    first = Inbox(post.world.log).receive(said, session="s_1", person="owner", origin=Origin.OWNER)
    assert first is not None
    post.world.record.outbox.put(Draft("onebot", "头\n尾"), Place("s_1", GROUP, None, "owner"), cause=first.id)
    await post.settled(GROUP)
    assert post.platform.quoted == ["m1", None]


# Later


async def test_what_was_certainly_not_taken_is_tried_again_after_a_back_off(post: Post) -> None:
    """platforms.md 5.32: not written, unknown and refused are three."""
    post.platform.answers = {"一": [LATER, LATER, LATER]}
    begun = post.clock.monotonic()
    post.put("一")
    post.put("二")
    await post.settled()
    assert post.platform.took == ["一", "二"]
    assert post.clock.monotonic() - begun >= 2 + 4 + 8


async def test_the_time_that_a_platform_names_is_obeyed_even_when_woken_or_restarted(post: Post) -> None:
    """platforms.md 5.27: 429 with retry_after 7."""
    post.platform.answers = {"一": [Delivery("later", after=7)]}
    post.clock.held = True
    post.put("一")
    await asyncio.sleep(0.01)
    post.deliveries.wake(ONE)
    await asyncio.sleep(0.01)
    assert post.platform.took == []
    again = await post.killed()
    await asyncio.sleep(0.01)
    assert again.platform.took == []
    again.clock.advance(timedelta(seconds=7))
    again.clock.held = False
    await again.killed()
    await asyncio.sleep(0.01)
    assert post.states() == {"一": "sent"}


async def test_a_back_off_of_ours_ends_when_the_channel_is_back(post: Post) -> None:
    post.platform.answers = {"一": [LATER]}
    post.clock.held = True
    post.put("一")
    await asyncio.sleep(0.01)
    assert post.platform.took == []
    assert [(held.messages, held.why) for held in post.deliveries.held()] == [(1, Waits.LATER)]
    post.deliveries.wake_all()
    await asyncio.sleep(0.01)
    assert post.platform.took == ["一"]


# Stopping


async def test_the_rest_of_a_message_can_be_withdrawn_while_it_is_sent(post: Post) -> None:
    post.platform.held[ONE] = asyncio.Event()
    post.put("头\n中\n尾")
    post.put("另一条")
    await asyncio.sleep(0.01)
    assert post.world.record.outbox.withdraw(lambda message: "头" in message.payload["text"], "stopped") == 1
    post.platform.held[ONE].set()
    await post.settled()
    assert post.platform.took == ["头", "另一条"]
    assert post.states() == {"头\n中\n尾": "sent", "另一条": "sent"}
    row = post.world.database.row("SELECT why FROM outbox WHERE why IS NOT NULL")
    assert row is not None
    assert row["why"] == "stopped"
