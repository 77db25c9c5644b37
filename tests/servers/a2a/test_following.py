"""Following a task, ending it, and what becomes of it when the owner has to agree."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from a2a.types import CancelTaskRequest, SendMessageRequest, SubscribeToTaskRequest, TaskState

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from qingtuan.servers.a2a import handler
from qingtuan.servers.a2a.entry import AgentEntry
from tests.fakes.agents import Asked, answer_of, message
from tests.fakes.booking import SEAT, Bookings
from tests.fakes.conversation import OWNER
from tests.fakes.model_server import Reply, call, on_result, on_user, when

WORKING = TaskState.TASK_STATE_WORKING
BOOKING = {"date": "2026-12-01", "start": "09:00", "end": "12:00", "seat": SEAT}


async def begun(asked: Asked) -> str:
    """The id of a task that is being worked on, and not done before it is told to."""
    request = SendMessageRequest(message=message("慢慢想"))
    request.configuration.return_immediately = True
    [piece] = [one async for one in (await asked.client(streaming=False)).send_message(request)]
    return piece.task.id


async def test_a_task_can_be_followed_by_several(asked: Asked) -> None:
    asked.chat.model(on_user("慢", Reply("想好了。", delay=0.3)), when(lambda _: True, "[]"))
    task = await begun(asked)
    client = await asked.client()

    async def follow() -> list[str]:
        pieces = client.subscribe(SubscribeToTaskRequest(id=task))
        return [piece.WhichOneof("payload") or "" async for piece in pieces]

    found = await asyncio.gather(*(follow() for _ in range(3)))
    for kinds in found:
        assert kinds[0] == "task"
        assert kinds[-2:] == ["artifact_update", "status_update"]


async def test_a_task_is_canceled(asked: Asked) -> None:
    asked.chat.model(on_user("慢", Reply("想好了。", delay=2)), when(lambda _: True, "[]"))
    task = await begun(asked)
    client = await asked.client()
    canceled = await client.cancel_task(CancelTaskRequest(id=task))
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    await asked.chat.settled()
    assert [event.payload["outcome"] for event in asked.chat.events(Kind.TURN_FINISHED)] == ["stopped"]
    found = await asked.rpc("GetTask", {"id": task})
    assert found["result"]["status"]["state"] == "TASK_STATE_CANCELED"


async def test_a_task_is_canceled_without_a_body(asked: Asked) -> None:
    asked.chat.model(on_user("慢", Reply("想好了。", delay=2)), when(lambda _: True, "[]"))
    task = await begun(asked)
    answer = await asked.http.post(f"{asked.base}/a2a/rest/tasks/{task}:cancel", headers=asked.headers())
    assert (answer.status_code, answer.json()["status"]["state"]) == (200, "TASK_STATE_CANCELED")
    none = await asked.http.post(f"{asked.base}/a2a", headers=asked.headers())
    assert none.status_code == 415


async def test_a_task_that_waits_its_turn_is_canceled(asked: Asked) -> None:
    asked.chat.model(on_user("慢", Reply("想好了。", delay=0.2)), when(lambda _: True, "[]"))
    await begun(asked)
    second = SendMessageRequest(message=message("慢慢想第二件"))
    second.configuration.return_immediately = True
    client = await asked.client(streaming=False)
    [piece] = [one async for one in client.send_message(second)]
    canceled = await client.cancel_task(CancelTaskRequest(id=piece.task.id))
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    await asked.chat.later(seconds=20)
    assert (await asked.rpc("GetTask", {"id": piece.task.id}))["result"]["status"]["state"] == "TASK_STATE_CANCELED"
    assert not any("第二件" in request.raw.decode() for request in asked.chat.server.requests)


@pytest.fixture
async def booking(tmp_path: Path) -> AsyncIterator[Asked]:
    asked = await Asked.open(tmp_path, {"bookings": Bookings(tmp_path / "made.jsonl")})
    asked.chat.model(
        on_user("座位", call("book_seat", **BOOKING)),
        on_result("预约成功", "约好了。"),
        on_result("没有", "没约成。"),
        when(lambda one: bool(one.tools), "已经去问了。"),
        when(lambda one: True, "[]"),
    )
    yield asked
    await asked.close()


async def test_what_needs_the_owner_waits_and_goes_on_after_the_yes(booking: Asked, tmp_path: Path) -> None:
    bookings = Bookings(tmp_path / "made.jsonl")
    task = await booking.ask("帮我约座位")
    assert task.status.state == TaskState.TASK_STATE_AUTH_REQUIRED
    assert SEAT not in task.status.message.parts[0].text  # what the owner is asked is for the owner
    assert bookings.made == []
    client = await booking.client()
    following = asyncio.ensure_future(_states(client.subscribe(SubscribeToTaskRequest(id=task.id))))
    await asyncio.sleep(0.2)
    await answered(booking, "确认")
    assert (await following)[-1] == TaskState.TASK_STATE_COMPLETED
    assert len(bookings.made) == 1
    found = await booking.ask_again(task.id)
    assert answer_of(found) == "约好了。"


async def test_a_no_of_the_owner_rejects_it(booking: Asked, tmp_path: Path) -> None:
    task = await booking.ask("帮我约座位")
    await answered(booking, "取消")
    found = await booking.ask_again(task.id)
    assert found.status.state == TaskState.TASK_STATE_REJECTED
    assert Bookings(tmp_path / "made.jsonl").made == []


async def test_a_canceled_task_asks_the_owner_no_more(booking: Asked, tmp_path: Path) -> None:
    task = await booking.ask("帮我约座位")
    code = booking.chat.app.kit.book.open()[0].code
    await (await booking.client()).cancel_task(CancelTaskRequest(id=task.id))
    assert booking.chat.app.kit.book.open() == []
    await booking.chat.say(f"确认 {code}", OWNER)
    assert Bookings(tmp_path / "made.jsonl").made == []


async def answered(booking: Asked, word: str) -> None:
    """The owner answers the question that is open, by its code."""
    [question] = booking.chat.app.kit.book.open()
    await booking.chat.say(f"{word} {question.code}", OWNER)


async def _states(pieces: object) -> list[int]:
    return [
        piece.status_update.status.state
        async for piece in pieces  # type: ignore[attr-defined]
        if piece.HasField("status_update")
    ]


async def test_all_who_follow_are_told_the_same_in_the_same_order(booking: Asked) -> None:
    task = await booking.ask("帮我约座位")
    client = await booking.client()
    followers = [asyncio.ensure_future(_states(client.subscribe(SubscribeToTaskRequest(id=task.id)))) for _ in range(4)]
    await asyncio.sleep(0.2)
    followers[0].cancel()  # one that leaves changes nothing for the others
    await answered(booking, "确认")
    found = [await follower for follower in followers[1:]]
    assert found[0] == found[1] == found[2]
    assert found[0][-1] == TaskState.TASK_STATE_COMPLETED
    assert WORKING in found[0]


@pytest.mark.parametrize("rest", [True, False])
async def test_a_stop_ends_who_follows_at_once(booking: Asked, rest: bool) -> None:
    task = await booking.ask("帮我约座位")
    body = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": task.id}}
    if rest:
        request = booking.http.stream(
            "POST", f"{booking.base}/a2a/rest/tasks/{task.id}:subscribe", headers=booking.headers()
        )
    else:
        request = booking.http.stream("POST", f"{booking.base}/a2a", json=body, headers=booking.headers())
    async with request as answer:
        lines = answer.aiter_lines()
        assert task.id in await anext(lines)
        booking.entries.pause()
        await asyncio.wait_for(booking.entries.rest(), 5)
        assert not any("COMPLETED" in line for line in [line async for line in lines])


async def test_what_is_answered_with_an_end_is_answered_at_a_stop(asked: Asked) -> None:
    asked.chat.model(on_user("慢", Reply("想好了。", delay=0.5)), when(lambda _: True, "[]"))
    begun = asyncio.Event()
    asked.chat.app.kit.record.log.listen(lambda event: begun.set() if event.kind is Kind.TURN_STARTED else None)
    asking = asyncio.ensure_future(asked.ask("慢慢想"))
    await begun.wait()
    asked.entries.pause()
    await asyncio.wait_for(asked.entries.rest(), 20)
    assert answer_of(await asking) == "想好了。"


async def test_a_stream_that_lasted_long_ends_and_leaves_its_reader_alone(
    booking: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "_STREAM_PATIENCE", 0.05)
    task = await booking.ask("帮我约座位")
    [entry] = [one for one in booking.entries._entries if isinstance(one, AgentEntry)]
    assert entry._tasks is not None
    [known] = [one for one in entry._tasks._book.of(Space("private", "a2a:doudou")) if one.id == task.id]
    seen = 0
    async for _ in handler.Handler(entry._tasks, entry._ports)._updates(known, None):
        seen += 1
        await asyncio.sleep(0.2)  # longer than the stream lasts
    assert seen == 1
