"""Deliveries: the outbox is the queue; order within a chat, chats side by side, and every outcome written down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from qingtuan.channels.base import Deliveries, Delivery, Part, Waits
from qingtuan.channels.pace import UNPACED, Pace, Rate
from qingtuan.clock import ManualClock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.events.outbox import Draft
from qingtuan.messages import Origin, Outbound, Space
from tests.fakes.clocks import StillClock
from tests.fakes.turns import GROUP, OWNER_QQ, World

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


@pytest.fixture
async def post(world: World, clock: StillClock) -> AsyncIterator[Post]:
    platform = Platform()
    post = Post(world, platform, Deliveries(platform, world.log), clock)
    yield post
    await post.deliveries.close()


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
    first = world.desk._inbox.receive(said, session="s_1", person="owner", origin=Origin.OWNER)
    assert first is not None
    if more:
        world.desk._inbox.receive(
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
    first = post.world.desk._inbox.receive(said, session="s_1", person="owner", origin=Origin.OWNER)
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


# Reports of others


async def test_http_200_with_a_refusal_inside_is_no_delivery(post: Post) -> None:
    """platforms.md 5.6."""
    post.platform.answers = {"提醒": [Delivery("refused", detail="ret=-2")]}
    post.put("提醒")
    await post.settled()
    assert post.states() == {"提醒": "refused"}
    row = post.world.database.row("SELECT why FROM outbox")
    assert row is not None
    assert row["why"] == "ret=-2"


async def test_a_slow_first_send_does_not_let_the_next_overtake_it(post: Post) -> None:
    """platforms.md 5.10."""
    post.platform.held[ONE] = asyncio.Event()
    for text in "一二三":
        post.put(text)
    await asyncio.sleep(0.01)
    post.platform.held[ONE].set()
    await post.settled()
    assert post.platform.took == ["一", "二", "三"]


async def test_a_time_out_of_the_platform_is_sent_once(post: Post) -> None:
    """platforms.md 5.14: 1200, though delivered."""
    post.platform.answers = {"一": [UNKNOWN]}
    post.put("一")
    await post.settled()
    again = await post.killed()
    await again.settled()
    await again.deliveries.close()
    assert (post.platform.took, again.platform.took) == (["一"], [])


async def test_three_unknown_outcomes_give_a_chat_a_rest_and_others_go_on(post: Post) -> None:
    """platforms.md 5.15: five times 1200 for one group."""
    texts = ["一", "二", "三", "四", "五"]
    post.platform.answers = {text: [UNKNOWN] for text in texts}
    post.clock.held = True
    for text in texts:
        post.put(text, GROUP)
    await asyncio.sleep(0.01)
    assert post.platform.took == ["一", "二", "三"]
    (paused,) = post.world.events(Kind.DELIVERY_PAUSED)
    assert paused.place.space == GROUP
    assert [(held.space, held.why) for held in post.deliveries.held()] == [(GROUP, Waits.PAUSED)]
    post.put("别处")
    await asyncio.sleep(0.01)
    assert post.platform.took[3:] == ["别处"]

    # A restart hurries nothing.
    post = await post.killed(Platform(answers={"四": [UNKNOWN]}))
    await asyncio.sleep(0.01)
    assert post.platform.took == []
    # After the rest one is tried, and fails; then for longer; then it goes again.
    post.clock.advance(timedelta(seconds=301))
    post = await post.killed(post.platform)
    await asyncio.sleep(0.01)
    assert post.platform.took == ["四"]
    assert [event.payload["seconds"] for event in post.world.events(Kind.DELIVERY_PAUSED)] == [300, 600]
    post.clock.advance(timedelta(seconds=601))
    post = await post.killed(post.platform)
    await asyncio.sleep(0.01)
    assert post.platform.took == ["四", "五"]
    assert len(post.world.events(Kind.DELIVERY_RESUMED)) == 1
    await post.deliveries.close()


async def test_unknown_outcomes_in_many_chats_give_the_channel_a_rest(post: Post) -> None:
    post.clock.held = True
    for number in range(12):
        post.platform.answers[f"{number}"] = [UNKNOWN]
        post.put(f"{number}", Space("private", f"qq:{number}"))
        await asyncio.sleep(0.01)
    assert len(post.platform.took) == 8
    assert [event.place.space for event in post.world.events(Kind.DELIVERY_PAUSED)] == [None]


async def test_nothing_is_sent_to_a_muted_group_until_that_is_over(post: Post) -> None:
    """platforms.md 5.16."""
    post.platform.closed = {GROUP: Waits.MUTED}
    post.put("答案", GROUP)
    await post.settled(GROUP)
    assert post.platform.took == []
    assert [held.why for held in post.deliveries.held()] == [Waits.MUTED]
    post.platform.closed = {}
    post.deliveries.wake(GROUP)
    await post.settled(GROUP)
    assert post.platform.took == ["答案"]


# Pace


@pytest.fixture
async def paced(world: World, clock: StillClock) -> AsyncIterator[Post]:
    pace = Pace(private=(Rate(1, 1.0),), group=(Rate(1, 1.0), Rate(3, 60.0)), every=(Rate(2, 5.0),), bubbles=(0.5, 3.0))
    platform = Platform(pace=pace, clock=world.clock)
    post = Post(world, platform, Deliveries(platform, world.log), clock)
    yield post
    await post.deliveries.close()


async def test_no_rate_is_ever_exceeded(paced: Post) -> None:
    for number in range(4):
        for space in (ONE, OTHER, GROUP):
            paced.put(f"{space.id} {number}", space)
    await paced.settled(ONE, OTHER, GROUP)
    took = list(zip(paced.platform.times, paced.platform.took, strict=True))
    assert len(took) == 12
    for count, seconds, words in ((1, 1.0, "qq:1 "), (3, 60.0, "qq:777 "), (2, 5.0, "")):
        times = [time for time, text in took if text.startswith(words)]
        assert all(later - time >= seconds for time, later in zip(times, times[count:], strict=False))


async def test_bubbles_come_as_people_write(world: World, clock: StillClock) -> None:
    platform = Platform(pace=Pace(bubbles=(0.5, 1.5)), clock=clock)
    post = Post(world, platform, Deliveries(platform, world.log), clock)
    post.put("短\n" + "中" * 50 + "\n" + "很长" * 90)
    post.put("另一条")
    await post.settled()
    first, second, third, other = platform.times
    assert second - first == pytest.approx(1.0)
    assert third - second == pytest.approx(1.5)
    assert other == third
    await post.deliveries.close()


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
