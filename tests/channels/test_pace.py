"""How fast a channel sends, and when it rests; with what others reported of it (platforms.md, 5)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from qingtuan.channels.base import Deliveries, Delivery, Waits
from qingtuan.channels.pace import Pace, Rate
from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.clocks import StillClock
from tests.fakes.post import ONE, OTHER, UNKNOWN, Platform, Post
from tests.fakes.turns import GROUP, World


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
