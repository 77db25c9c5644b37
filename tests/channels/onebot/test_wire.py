"""One connection: each answer to whoever asked, and nobody left waiting."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

import pytest

from qingtuan.channels.onebot.wire import ActionFailed, Answer, Line, Lost, NotWritten


@dataclass
class Socket:
    """A socket that takes what is written."""

    closed: bool = False
    written: list[dict[str, object]] = field(default_factory=list)
    fault: Exception | None = None

    async def write(self, text: str) -> None:
        if self.fault is not None:
            raise self.fault
        self.written.append(json.loads(text))

    async def close(self, code: int, reason: str) -> None:
        self.closed = True


async def written(socket: Socket, number: int = 1) -> None:
    while len(socket.written) < number:  # noqa: ASYNC110 (a socket tells nobody)
        await asyncio.sleep(0)


async def test_answers_reach_whoever_asked_in_whatever_order_they_come() -> None:
    socket = Socket()
    line = Line("10001", socket)
    calls = [asyncio.create_task(line.call("get_msg", message_id=number)) for number in range(3)]
    await written(socket, 3)
    for asked in reversed(socket.written):
        params = asked["params"]
        assert line.read(json.dumps({"status": "ok", "retcode": 0, "data": params, "echo": asked["echo"]})) is None
    assert [await call for call in calls] == [Answer({"message_id": number}) for number in range(3)]


async def test_an_answer_comes_once() -> None:
    socket = Socket()
    line = Line("10001", socket)
    call = asyncio.create_task(line.call("get_status"))
    await written(socket)
    frame = json.dumps({"status": "ok", "retcode": 0, "data": 1, "echo": socket.written[0]["echo"]})
    line.read(frame)
    line.read(frame.replace("1,", "2,"))
    assert await call == Answer(1)
    assert line.read(frame) is None


async def test_echoes_of_another_connection_answer_nothing() -> None:
    first, second = Socket(), Socket()
    calls = [asyncio.create_task(Line("1", socket).call("a", 0.05)) for socket in (first, second)]
    await written(first)
    await written(second)
    assert first.written[0]["echo"] != second.written[0]["echo"]
    assert [type(one) for one in await asyncio.gather(*calls, return_exceptions=True)] == [Lost, Lost]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"status": "failed", "retcode": 1200, "message": "Timeout: NTEvent"}, (1200, True)),
        ({"status": "failed", "retcode": 1200, "message": "", "wording": "消息不存在"}, (1200, False)),
        ({"status": "failed", "retcode": "x"}, (-1, False)),
        ({"status": "ok", "retcode": 100}, (100, False)),
        ({}, (-1, False)),
    ],
)
async def test_refusals_are_told_apart(answer: dict[str, object], error: tuple[int, bool]) -> None:
    socket = Socket()
    line = Line("10001", socket)
    call = asyncio.create_task(line.call("send_msg"))
    await written(socket)
    line.read(json.dumps({**answer, "echo": socket.written[0]["echo"]}))
    with pytest.raises(ActionFailed) as failed:
        await call
    assert (failed.value.retcode, failed.value.undecided) == error


async def test_whoever_waits_hears_that_the_connection_is_gone() -> None:
    socket = Socket()
    line = Line("10001", socket)
    call = asyncio.create_task(line.call("send_msg"))
    await written(socket)
    await line.close()
    with pytest.raises(Lost):
        await call
    with pytest.raises(NotWritten):
        await line.call("send_msg")
    assert len(socket.written) == 1


@pytest.mark.parametrize("fault", [NotWritten("gone"), Lost("broke")])
async def test_a_write_that_fails_says_whether_something_may_have_left(fault: Exception) -> None:
    with pytest.raises(type(fault)):
        await Line("10001", Socket(fault=fault)).call("send_msg")


async def test_what_is_no_event_is_nothing() -> None:
    line = Line("10001", Socket())
    deep = '{"post_type": "message", "message": ' + "[" * 100 + "]" * 100 + "}"
    for frame in ("", "[]", "1", "{", b"\xff", "[" * 100_000, deep, '{"echo": []}', '{"echo": null}'):
        assert line.read(frame) is None
    assert line.read('{"post_type": "message"}') == {"post_type": "message"}
