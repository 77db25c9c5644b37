"""What floods a connection waits at the other end, in its order, and answers come through all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from qingtuan.channels.onebot import adapter
from qingtuan.channels.onebot.backlog import Backlog
from tests.channels.onebot.conftest import FRIEND, OWNER, QQ, TOKEN


def numbered(number: int) -> Mapping[str, Any]:
    return {"number": number}


async def test_reading_stops_when_there_is_enough_and_goes_on_when_there_is_room() -> None:
    backlog = Backlog(lambda: False, most=3, largest=100)
    read: list[int] = []

    async def reader() -> None:
        for number in range(10):
            read.append(number)
            backlog.put(numbered(number), 1)
            await backlog.room()

    reading = asyncio.create_task(reader())
    await asyncio.sleep(0.01)
    assert read == [0, 1, 2]
    taken = []
    for _ in range(10):
        event, size = await backlog.take()
        taken.append(event["number"])
        backlog.done(size)
        await asyncio.sleep(0)
        assert len(backlog) <= 3
    await reading
    await backlog.empty()
    assert taken == list(range(10))


async def test_large_events_count_for_more() -> None:
    backlog = Backlog(lambda: False, most=100, largest=100)
    backlog.put(numbered(1), 99)
    await asyncio.wait_for(backlog.room(), 1)
    backlog.put(numbered(2), 1)
    waiting = asyncio.create_task(backlog.room())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    backlog.done((await backlog.take())[1])
    await waiting


async def test_while_an_answer_is_waited_for_more_is_read_but_not_without_end() -> None:
    expecting = False
    backlog = Backlog(lambda: expecting, most=2, largest=1000)
    backlog.put(numbered(0), 1)
    backlog.put(numbered(1), 1)
    waiting = asyncio.create_task(backlog.room())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    expecting = True
    backlog.changed()
    await asyncio.wait_for(waiting, 1)
    for number in range(2, 16):
        backlog.put(numbered(number), 1)
    waiting = asyncio.create_task(backlog.room())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    waiting.cancel()


async def test_a_flood_is_held_back_and_nothing_of_it_is_lost(qq: QQ) -> None:
    await qq.connect()
    heard: list[Any] = []
    take, held = qq.entry._take, asyncio.Event()
    going: set[int] = set()

    async def slowly(account: Any, found: Any) -> None:
        heard.append(getattr(found, "seconds", None))
        await held.wait()
        await take(account, found)

    qq.entry._take = slowly  # type: ignore[method-assign]
    count, padding = 4000, "垫" * 8000

    async def flood() -> None:
        for number in range(count):
            going.add(number)
            await qq.napcat.event({**beat(qq), "interval": 1000 * (number + 1), "padding": padding})

    flooding = asyncio.create_task(flood())
    before = -1
    while len(going) != before:
        before = len(going)
        await asyncio.sleep(0.3)
    assert not flooding.done()
    assert len(going) < count * 3 // 4
    assert len(heard) == 1
    held.set()
    await flooding
    await qq.until(lambda: len(heard) == count)
    assert heard == [float(number + 1) for number in range(count)]


async def test_answers_come_through_a_flood(qq: QQ, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever deals with an event may be the one who waits for an answer, which stands behind all the others."""
    monkeypatch.setattr(adapter, "Backlog", lambda expecting: Backlog(expecting, most=2))
    await qq.connect()
    line = qq.entry.accounts.account(str(qq.napcat.self_id)).line
    assert line is not None
    take, asked = qq.entry._take, 0

    async def asking(account: Any, found: Any) -> None:
        nonlocal asked
        await line.call("get_status", 20)
        asked += 1
        await take(account, found)

    qq.entry._take = asking  # type: ignore[method-assign]
    for number in range(12):
        await qq.napcat.event({**beat(qq), "interval": 1000 * (number + 1)})
    await qq.until(lambda: asked == 12)


def beat(qq: QQ) -> dict[str, Any]:
    return {
        "time": 1, "self_id": qq.napcat.self_id, "post_type": "meta_event", "meta_event_type": "heartbeat",
        "status": {"online": True, "good": True},
    }  # fmt: skip


@pytest.mark.parametrize("number", [OWNER, FRIEND])
async def test_nobody_connects_with_the_number_of_a_person(qq: QQ, number: int) -> None:
    with pytest.raises(InvalidStatus):
        await qq.another(number).connect(qq.url, TOKEN)
    words = qq.entry.health().words
    assert words is not None
    assert "自己的号" in words.zh
    assert qq.entry.accounts.by_id == {}
    await qq.connect()
    assert list(qq.entry.accounts.by_id) == [str(qq.napcat.self_id)]


async def test_nobody_is_called_who_has_the_number_of_a_person(qq: QQ) -> None:
    owners = qq.another(OWNER)
    url = await owners.serve(TOKEN)
    assert qq.entry.adapter is not None
    assert not await qq.entry.adapter._called(url)
    assert qq.entry.accounts.by_id == {}
    await owners.stop_serving()
