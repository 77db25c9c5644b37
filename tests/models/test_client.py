"""One attempt over one connection: kept, let go, and never told a secret."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

from qingtuan.clock import SystemClock
from qingtuan.errors import ModelRefused, SettingsWrong
from qingtuan.models.chat import ChatMessage, Params, Request, TextDelta
from qingtuan.models.client import Client, Endpoint, Timeouts
from qingtuan.models.failures import Interrupted
from qingtuan.models.profiles import GENERIC
from tests.fakes.model_session import CallIds, ModelSession, Record
from tests.fakes.raw_server import STREAM_HEAD, Cut, Hold, Pause, RawServer, chunked, delta, events, http, says

KEY = "sk-secret-0123456789"
REQUEST = Request((ChatMessage("user", "你好"),), (), Params("test-model"))


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    async with RawServer() as server:
        yield server


def client_of(server: RawServer, timeouts: Timeouts | None = None, key: str = KEY) -> Client:
    return Client(Endpoint(server.url, key), lambda _: GENERIC, CallIds(), SystemClock(), timeouts or Timeouts())


async def test_what_is_sent(server: RawServer) -> None:
    client = client_of(server)
    session = ModelSession(client)
    server.play(says("你好"))
    await session.say("你好")
    asked = server.asked[0]
    assert (asked.method, asked.target) == ("POST", "/v1/chat/completions")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["content-type"] == "application/json"
    assert asked.body == session.record.wires[0].body()
    await client.close()


async def test_no_key_no_header(server: RawServer) -> None:
    client = client_of(server, key="")
    server.play(says("你好"))
    await ModelSession(client).say("你好")
    assert "authorization" not in server.asked[0].headers
    await client.close()


async def test_a_connection_is_used_again(server: RawServer) -> None:
    client = client_of(server)
    session = ModelSession(client)
    server.play(says("一"), says("二", size=3), [http(b'{"choices":[{"message":{"content":"c"}}]}')], says("四"))
    for _ in range(4):
        await session.say("你好")
    assert {asked.connection for asked in server.asked} == {1}
    await client.close()


async def test_a_body_that_does_not_end_behind_done_holds_up_nothing(server: RawServer) -> None:
    client = client_of(server)
    session = ModelSession(client)
    server.play([STREAM_HEAD + chunked(events(delta(content="你好"), delta("stop"))), Hold()], says("好"))
    assert (await session.say("你好")).text == "你好"
    assert (await session.say("你好")).text == "好"
    await client.close()


async def test_a_break_behind_the_finish_costs_only_the_count(server: RawServer) -> None:
    client = client_of(server)
    server.play([STREAM_HEAD + chunked(events(delta(content="你好"), delta("stop"), done=False)), Cut()])
    answer = await ModelSession(client).say("你好")
    assert (answer.text, answer.usage.estimated) == ("你好", True)
    await client.close()


async def test_cancelling_hangs_up(server: RawServer) -> None:
    client = client_of(server)
    server.play([STREAM_HEAD + chunked(events(delta(content="你"), done=False)), Hold()])
    begun = asyncio.Event()

    async def listen() -> None:
        async for event in client.stream(REQUEST, Record()):
            assert event == TextDelta("你")
            begun.set()

    task = asyncio.create_task(listen())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.hung_up.wait()
    await client.close()


async def test_leaving_the_stream_hangs_up(server: RawServer) -> None:
    client = client_of(server)
    server.play([STREAM_HEAD + chunked(events(delta(content="你"), done=False)), Hold()])
    stream = client.send(client.encode(REQUEST), "test-model", Record())
    assert await anext(stream) == TextDelta("你")
    await stream.aclose()  # type: ignore[attr-defined]
    await server.hung_up.wait()
    await client.close()


async def test_comments_are_signs_of_life_but_not_for_ever(server: RawServer) -> None:
    alive = [step for _ in range(30) for step in (Pause(0.02), chunked(b": keep-alive\n\n"))]
    timeouts = Timeouts(between_chunks=0.5)
    client = client_of(server, timeouts)
    server.play([STREAM_HEAD, *alive, chunked(events(delta(content="你好"))), b"0\r\n\r\n"])
    assert (await ModelSession(client).say("你好")).text == "你好"
    await client.close()
    client = client_of(server, Timeouts(whole=0.1))
    server.play([STREAM_HEAD, *alive])
    with pytest.raises(Interrupted, match=r"not finished within 0\.1 s"):
        await ModelSession(client).say("你好")
    await client.close()


async def test_loopback_never_goes_through_a_proxy(server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    client = client_of(server)
    server.play(says("你好"))
    assert (await ModelSession(client).say("你好")).text == "你好"
    await client.close()


async def test_others_go_through_the_proxy_that_is_set(server: RawServer) -> None:
    proxy = server.url.removesuffix("/v1")
    endpoint = Endpoint("http://models.example/v1", KEY, proxy=proxy)
    client = Client(endpoint, lambda _: GENERIC, CallIds(), SystemClock())
    server.play(says("你好"))
    assert (await ModelSession(client).say("你好")).text == "你好"
    assert server.asked[0].target == "http://models.example/v1/chat/completions"
    assert "127.0.0.1" not in repr(endpoint)
    await client.close()


async def test_a_proxy_that_cannot_be_used() -> None:
    endpoint = Endpoint("http://models.example/v1", KEY, proxy="gopher://secret@127.0.0.1")
    client = Client(endpoint, lambda _: GENERIC, CallIds(), SystemClock())
    with pytest.raises(ModelRefused) as caught:
        await ModelSession(client).say("你好")
    assert "secret" not in str(caught.value)


async def test_nobody_listens() -> None:
    client = Client(Endpoint("http://127.0.0.1:9/v1"), lambda _: GENERIC, CallIds(), SystemClock())
    with pytest.raises(Interrupted):
        await ModelSession(client).say("你好")
    await client.close()


async def test_the_key_is_in_no_log_and_no_repr(server: RawServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client = client_of(server)
    server.play(says("你好"))
    await ModelSession(client).say("你好")
    assert caplog.records
    assert KEY not in caplog.text
    assert KEY not in repr(Endpoint(server.url, KEY))
    await client.close()


@pytest.mark.parametrize("key", ["sk-密钥", "sk-1\nX: y", " sk-1", "sk-1\t"])
def test_a_key_that_cannot_be_one_is_not_quoted(key: str) -> None:
    with pytest.raises(SettingsWrong) as caught:
        Endpoint("https://api.example.com", key)
    assert key.strip() not in str(caught.value)


@pytest.mark.parametrize("url", ["api.example.com/v1", "ftp://example.com", "http://", ""])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(SettingsWrong):
        Endpoint(url)


@pytest.mark.parametrize(
    ("base", "url", "loopback"),
    [
        ("https://api.deepseek.com", "https://api.deepseek.com/chat/completions", False),
        ("https://api.example.com/v1/", "https://api.example.com/v1/chat/completions", False),
        ("http://[::1]:1/v1/chat/completions", "http://[::1]:1/v1/chat/completions", True),
        ("http://localhost:11434/v1", "http://localhost:11434/v1/chat/completions", True),
        ("http://192.168.1.2/v1", "http://192.168.1.2/v1/chat/completions", False),
    ],
)
def test_addresses(base: str, url: str, loopback: bool) -> None:
    endpoint = Endpoint(base)
    assert (endpoint.url, endpoint.loopback) == (url, loopback)
