"""A channel that does not work: told through another one, once, and once when it is back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qingtuan.channels.entry import EntryHealth
from qingtuan.channels.watchdog import Watchdog
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.language import Words
from qingtuan.messages import Inbound, Space
from tests.fakes.clocks import StillClock
from tests.fakes.turns import GROUP, OWNER_QQ, World

UP = EntryHealth("onebot", "connected")
DOWN = replace(UP, state="disconnected", words=Words("把 NapCat 打开。", "Start NapCat."))
TELEGRAM = EntryHealth("telegram", "connected")


class Guarded:
    """A world with channels whose health a test says."""

    def __init__(self, world: World, clock: StillClock) -> None:
        self.world, self.clock = world, clock
        self.health = [UP, TELEGRAM]
        self.dog = self.next_process()

    def next_process(self) -> Watchdog:
        return Watchdog(self.world.kit, lambda: self.health)

    async def pass_by(self, seconds: float, health: EntryHealth | None = None) -> None:
        if health is not None:
            self.health = [health, TELEGRAM]
            self.dog.look()
        await self.clock.move(seconds)
        self.dog.look()

    def told(self) -> list[tuple[str, str]]:
        """Channel and text of what was said to people."""
        return [(one.event.payload["channel"], one.text) for one in self.world.sent()]

    async def owner_writes(self, channel: str, account: str) -> None:
        space = Space("private", account)
        said = Inbound(channel, account, space, f"m{channel}", "/whoami", self.clock.now())
        await self.world.desk.receive(said)


@pytest.fixture
async def guarded(world: World, clock: StillClock) -> Guarded:
    return Guarded(world, clock)


async def test_the_owner_is_told_once_and_once_when_it_is_back(guarded: Guarded) -> None:
    await guarded.pass_by(200, DOWN)
    assert guarded.told() == []
    await guarded.pass_by(120)
    await guarded.pass_by(600)
    assert guarded.told() == [("cli", "QQ 有 5 分钟没连上了。把 NapCat 打开。")]
    await guarded.pass_by(1, UP)
    await guarded.pass_by(600)
    assert guarded.told()[1:] == [("cli", "QQ 又连上了。")]
    await guarded.pass_by(400, DOWN)
    assert len(guarded.told()) == 3


async def test_a_short_break_is_not_worth_a_word(guarded: Guarded) -> None:
    for _ in range(5):
        await guarded.pass_by(200, DOWN)
        await guarded.pass_by(5, UP)
    assert guarded.told() == []


async def test_it_goes_by_a_channel_that_works_where_the_owner_wrote_last(guarded: Guarded) -> None:
    guarded.world.people.take([replace(guarded.world.people.owner, accounts=(OWNER_QQ, "tg:1", "cli:local"))])
    await guarded.owner_writes("telegram", "tg:1")
    await guarded.owner_writes("onebot", OWNER_QQ)
    before = len(guarded.told())
    await guarded.pass_by(301, DOWN)
    await guarded.pass_by(1, UP)
    assert [channel for channel, _ in guarded.told()[before:]] == ["telegram", "telegram"]


async def test_what_is_known_stays_known_over_a_restart(guarded: Guarded) -> None:
    await guarded.pass_by(301, DOWN)
    guarded.dog = guarded.next_process()
    await guarded.pass_by(301)
    assert len(guarded.told()) == 1
    guarded.dog = guarded.next_process()
    await guarded.pass_by(1, UP)
    assert [text for _, text in guarded.told()][1:] == ["QQ 又连上了。"]


async def test_what_the_owner_was_told_of_already_is_not_told_again(guarded: Guarded) -> None:
    await guarded.pass_by(10**5, replace(DOWN, limit=None))
    await guarded.pass_by(10**5, EntryHealth("onebot", "off"))
    assert guarded.told() == []


async def test_a_channel_that_could_not_start_is_told_of(guarded: Guarded) -> None:
    await guarded.pass_by(301, EntryHealth("onebot", "off", Words("没有口令。", "There is no token.")))
    assert "没有口令" in guarded.told()[0][1]


async def test_a_chat_that_is_paused_is_told_of_through_another_channel(guarded: Guarded) -> None:
    guarded.clock.held = True
    guarded.dog.start()
    await guarded.clock.move(0)
    log = guarded.world.log
    log.append(Kind.DELIVERY_PAUSED, Place(None, GROUP), {"channel": "onebot", "seconds": 300})
    log.append(Kind.DELIVERY_PAUSED, Place(None, GROUP), {"channel": "onebot", "seconds": 600})
    assert [channel for channel, _ in guarded.told()] == ["cli"]
    assert "qq:777" in guarded.told()[0][1]
    log.append(Kind.DELIVERY_RESUMED, Place(None, GROUP), {"channel": "onebot"})
    log.append(Kind.DELIVERY_PAUSED, Place(), {"channel": "onebot", "seconds": 300})
    assert len(guarded.told()) == 2
    await guarded.dog.close()
