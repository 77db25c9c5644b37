"""The sign and the line while a turn works: until the reply, never behind it, and in nobody's way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from qingtuan.channels.presence import WORKING, Presence, Signs
from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.clocks import StillClock
from tests.fakes.turns import MEMBER, OWNER_QQ, World

HERE, THERE = Space("private", OWNER_QQ), Space("private", MEMBER)


@dataclass
class Lamp:
    """A channel that shows signs."""

    name: str = "onebot"
    shown: list[tuple[Space, bool]] = field(default_factory=list)
    room: bool = True
    fault: Exception | None = None
    held: asyncio.Event | None = None

    async def typing(self, space: Space, *, on: bool) -> None:
        self.shown.append((space, on))
        if self.held is not None and on:
            await self.held.wait()
        if self.fault is not None:
            raise self.fault

    def spares(self, space: Space) -> bool:
        return self.room


@dataclass
class Scene:
    """A world whose model thinks until it is let go, and the sign that shows it."""

    world: World
    lamp: Lamp
    presence: Presence
    clock: StillClock
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    let: asyncio.Event = field(default_factory=asyncio.Event)

    async def think(self, account: str = OWNER_QQ) -> None:
        self.reached.clear()
        await self.world.desk.receive(self.world.inbound("想想", account))
        await self.reached.wait()
        await asyncio.sleep(0)

    async def answer(self) -> None:
        self.let.set()
        await self.world.queues.idle()
        await asyncio.sleep(0.01)

    def texts(self) -> list[str]:
        return [sent.text for sent in self.world.sent()]

    def waiting(self) -> list[str]:
        return [message.payload["text"] for message in self.world.record.outbox.waiting("onebot")]


@pytest.fixture
async def scene(world: World, clock: StillClock) -> AsyncIterator[Scene]:
    clock.held = True
    lamp = Lamp()
    scene = Scene(world, lamp, Presence(lamp, world.kit), clock)

    async def pause(_: object) -> None:
        scene.reached.set()
        await scene.let.wait()

    world.model.pause = pause
    scene.presence.start()
    yield scene
    scene.let.set()
    await scene.presence.close()


def test_a_lamp_is_what_shows_signs() -> None:
    assert isinstance(Lamp(), Signs)


async def test_the_sign_is_renewed_every_four_seconds_until_the_reply(scene: Scene) -> None:
    await scene.think()
    assert scene.lamp.shown == [(HERE, True)]
    for _ in range(2):
        await scene.clock.move(4)
    assert scene.lamp.shown == [(HERE, True)] * 3
    await scene.answer()
    assert scene.lamp.shown[3:] == [(HERE, False)]
    await scene.clock.move(60)
    assert len(scene.lamp.shown) == 4


async def test_a_turn_of_another_channel_shows_nothing_here(scene: Scene) -> None:
    await scene.think("cli:local")
    assert scene.lamp.shown == []


async def test_work_over_twenty_seconds_says_so_once(scene: Scene) -> None:
    await scene.think()
    for _ in range(4):
        await scene.clock.move(4)
    assert scene.texts() == []
    for _ in range(10):
        await scene.clock.move(4)
    assert scene.texts() == [WORKING.zh]
    (line,) = scene.world.events(Kind.MESSAGE_SENT)
    assert (line.payload["kind"], line.payload["by"]) == ("notice", "code")
    await scene.answer()
    assert scene.texts() == [WORKING.zh, "好的。"]


async def test_a_line_that_has_not_gone_out_is_withdrawn_for_the_reply(scene: Scene) -> None:
    await scene.think()
    for _ in range(6):
        await scene.clock.move(4)
    assert scene.waiting() == [WORKING.zh]
    await scene.answer()
    assert scene.waiting() == ["好的。"]


async def test_a_channel_without_room_for_it_is_not_given_the_line(scene: Scene) -> None:
    scene.lamp.room = False
    await scene.think()
    for _ in range(6):
        await scene.clock.move(4)
    assert scene.texts() == []
    scene.lamp.room = True
    await scene.clock.move(4)
    assert scene.texts() == [WORKING.zh]


@pytest.mark.parametrize("fault", [ConnectionResetError(), ValueError("no such chat")])
async def test_a_sign_that_cannot_be_shown_is_in_nobodys_way(scene: Scene, fault: Exception) -> None:
    scene.lamp.fault = fault
    await scene.think()
    await scene.clock.move(4)
    assert len(scene.lamp.shown) == 2
    await scene.answer()
    assert scene.texts() == ["好的。"]


async def test_a_sign_that_hangs_does_not_keep_the_reply(scene: Scene) -> None:
    scene.lamp.held = asyncio.Event()
    await scene.think()
    await scene.answer()
    assert scene.texts() == ["好的。"]
    assert scene.lamp.shown == [(HERE, True), (HERE, False)]


async def test_a_turn_that_is_stopped_shows_nothing_any_more(scene: Scene) -> None:
    await scene.think()
    await scene.world.receive("/stop", OWNER_QQ)
    await scene.world.queues.idle()
    await asyncio.sleep(0.01)
    assert scene.lamp.shown == [(HERE, True), (HERE, False)]


async def test_chats_are_shown_side_by_side(scene: Scene) -> None:
    await scene.think()
    await scene.think(MEMBER)
    assert scene.lamp.shown == [(HERE, True), (THERE, True)]


async def test_a_turn_that_an_earlier_process_began_is_shown(scene: Scene) -> None:
    await scene.think()
    await scene.presence.close()
    lamp = Lamp()
    again = Presence(lamp, scene.world.kit)
    again.start()
    await asyncio.sleep(0.01)
    assert lamp.shown == [(HERE, True)]
    await again.close()
