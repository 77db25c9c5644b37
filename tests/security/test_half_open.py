"""Lines on which nobody says anything, or only a little, or takes nothing: others are answered all the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from qingtuan.channels.http import patience as module
from qingtuan.channels.http.patience import Patience
from qingtuan.channels.http.server import Server
from tests.channels.onebot.conftest import OWNER, QQ, qq  # noqa: F401 (a fixture)

SHORT = Patience(asking=0.05, taking=0.05)
LARGE = b"x" * (16 * 1024 * 1024)


async def _app(scope: Any, receive: Any, send: Any) -> None:
    if scope["path"] == "/waits":
        await asyncio.sleep(0.4)
    body = LARGE if scope["path"] == "/large" else b"ok"
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serving(patience: Patience) -> AsyncIterator[Server]:
    server = Server("127.0.0.1", 0, {"/": _app}, patience)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LOOK_SECONDS", 0.02)


async def _is_hung_up(reader: asyncio.StreamReader) -> bytes:
    """What came until the other end hung up; it fails if it never does."""
    found = b""
    async with asyncio.timeout(20):
        try:
            while piece := await reader.read(65536):
                found += piece
        except ConnectionError:
            pass
    return found


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ",
    ],
)
async def test_who_never_ends_a_request_is_cut_off(said: bytes) -> None:
    async with serving(SHORT) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(said)
        await _is_hung_up(reader)
        writer.close()


@pytest.mark.parametrize(
    ("whole", "more"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / H"),
        # It was answered without its body, and the rest of that never comes.
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", b"abc"),
    ],
)
async def test_who_was_answered_and_never_ends_what_comes_next_is_cut_off(whole: bytes, more: bytes) -> None:
    async with serving(SHORT) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(whole)
        assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
        writer.write(more)
        await _is_hung_up(reader)
        writer.close()


async def test_one_letter_after_the_other_is_no_request() -> None:
    async with serving(SHORT) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)

        async def trickle() -> None:
            for letter in b"GET / HTTP/1.1\r\nX: " + b"y" * 10_000:
                writer.write(bytes([letter]))
                await asyncio.sleep(0.01)

        slow = asyncio.create_task(trickle())
        await _is_hung_up(reader)
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
        writer.close()


async def test_who_takes_nothing_of_the_answer_is_cut_off() -> None:
    async with serving(SHORT) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        state = server._server.server_state  # type: ignore[union-attr]
        async with asyncio.timeout(20):
            while not state.total_requests and not state.connections:  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(0.01)
            while state.connections:  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(0.01)
        assert len(await _is_hung_up(reader)) < len(LARGE)
        writer.close()


async def test_what_takes_long_to_answer_and_what_is_asked_next_is_answered() -> None:
    async with serving(SHORT) as server, httpx.AsyncClient(trust_env=False) as http:
        for path in ("/waits", "/waits", "/large"):
            answer = await http.get(f"http://127.0.0.1:{server.port}{path}")
            assert answer.status_code == 200
            await asyncio.sleep(0.2)  # the line lies idle in between, by uvicorn's own clock


async def test_in_a_crowd_who_says_nothing_makes_room() -> None:
    async with serving(Patience(asking=1000, taking=1000, crowd=20)) as server:
        silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(40)]
        state = server._server.server_state  # type: ignore[union-attr]
        async with asyncio.timeout(20):
            while len(state.connections) > 20:  # noqa: ASYNC110 (nobody tells)
                await asyncio.sleep(0.01)
        async with httpx.AsyncClient(trust_env=False) as http:
            assert (await http.get(f"http://127.0.0.1:{server.port}/")).status_code == 200
        for _, writer in silent:
            writer.close()


async def test_qq_stays_connected_while_it_says_nothing(qq: QQ) -> None:  # noqa: F811 (a fixture)
    qq._server._patience.asking = 0.05
    await qq.connect()
    await asyncio.sleep(0.3)
    assert qq.entry.health().state == "connected"
    await qq.napcat.says(OWNER, "在吗")
    assert (await qq.sent())[0].text == "好的。"
