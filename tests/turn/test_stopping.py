"""`/stop` while a reply is being delivered: what is on its way stands, the rest of it is not sent."""

from __future__ import annotations

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.messages import Space
from tests.fakes.turns import GROUP, GUEST, MEMBER, OWNER_QQ, World, in_order, says


async def reply(world: World, account: str = OWNER_QQ, space: Space | None = None) -> Event:
    """A reply that stands in the outbox."""
    await world.receive("你好", account, space)
    await world.queues.idle()
    return world.sent()[-1].event


def states(world: World) -> list[str]:
    rows = world.database.rows("SELECT state FROM outbox ORDER BY event")
    return [row["state"] for row in rows]


async def test_a_reply_in_the_middle_goes_no_further(world: World) -> None:
    sent, box = await reply(world), world.record.outbox
    box.started(sent, 0, 3)
    box.finished(sent, Kind.DELIVERY_SENT, platform_id="p1")
    box.started(sent, 1, 3)
    await world.receive("/stop", OWNER_QQ)
    assert str(world.sent()[-1]) == "已停下。"
    box.finished(sent, Kind.DELIVERY_SENT, platform_id="p2")
    assert states(world) == ["sent", "waiting"]
    assert [one.payload["text"] for one in box.waiting("onebot")] == ["已停下。"]


async def test_a_reply_between_two_parts_goes_no_further(world: World) -> None:
    sent, box = await reply(world), world.record.outbox
    box.started(sent, 0, 3)
    box.finished(sent, Kind.DELIVERY_UNKNOWN)
    await world.receive("/stop", OWNER_QQ)
    assert states(world) == ["unknown", "waiting"]


async def test_a_reply_whose_last_part_is_on_its_way_cannot_be_stopped(world: World) -> None:
    sent = await reply(world)
    world.record.outbox.started(sent, 0, 1)
    await world.receive("/stop", OWNER_QQ)
    assert str(world.sent()[-1]) == "现在没有在做的事。"


async def test_only_the_newest_reply_is_stopped(world: World) -> None:
    world.model.script = in_order(says("一"), says("二"))
    await reply(world)
    await reply(world)
    await world.receive("/stop", OWNER_QQ)
    assert [one.payload["text"] for one in world.record.outbox.waiting("onebot")] == ["一", "已停下。"]


async def test_in_a_group_nobody_stops_what_another_is_told(world: World) -> None:
    await reply(world, GUEST, space=GROUP)
    await world.receive("/stop", MEMBER, GROUP)
    assert str(world.sent()[-1]) == "现在没有在做的事。"
    await world.receive("/stop", GUEST, GROUP)
    assert str(world.sent()[-1]) == "已停下。"
    assert next(one.payload["text"] for one in world.record.outbox.waiting("onebot")) == "现在没有在做的事。"
