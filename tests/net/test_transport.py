"""Clients of other libraries go through the same door: checked, pinned, bounded, streaming."""

from __future__ import annotations

import gzip
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest

from qingtuan.errors import FetchFailed
from qingtuan.net.answers import Limits
from qingtuan.net.fetcher import SafeFetcher
from qingtuan.net.transport import SafeTransport
from qingtuan.net.transport2 import SafeTransport2
from tests.fakes.raw_http import RawHttp, raw_http

KINDS = {"httpx": (httpx, SafeTransport), "httpx2": (httpx2, SafeTransport2)}


@pytest.fixture(params=KINDS)
def library(request: pytest.FixtureRequest) -> Any:
    return KINDS[request.param][0]


@pytest.fixture
async def server() -> AsyncIterator[RawHttp]:
    async with raw_http() as running:
        yield running


@pytest.fixture
def fetcher(server: RawHttp) -> SafeFetcher:
    return SafeFetcher(trusted=frozenset({("127.0.0.1", server.port)}))


def client(library: Any, fetcher: SafeFetcher, limits: Limits = Limits(), **options: Any) -> Any:  # noqa: B008
    transport = KINDS[library.__name__][1](fetcher, limits)
    return library.AsyncClient(transport=transport, trust_env=False, **options)


async def test_requests_and_answers_pass(library: Any, server: RawHttp, fetcher: SafeFetcher) -> None:
    url = server.body("/p?q=图", b'{"a": 1}', 201, {"Content-Type": "application/json", "Set-Cookie": "id=1"})
    server.answers["/p"] = server.answers.pop("/p?q=图")
    async with client(library, fetcher, cookies={"own": "1"}) as opened:
        answer = await opened.post(url, json={"b": 2}, headers={"Authorization": "Bearer key", "X-Own": "1"})
        assert (answer.status_code, answer.json(), dict(opened.cookies)) == (201, {"a": 1}, {"own": "1"})
        assert "set-cookie" not in answer.headers
        assert (await opened.get(server.url("/none"))).status_code == 404
    head = server.asked[0]
    assert head.startswith("POST /p?q=%E5%9B%BE HTTP/1.1")
    assert "Bearer key" in head
    assert "cookie" not in head.lower()
    assert server.bodies[0] in (b'{"b":2}', b'{"b": 2}')


async def test_streams_come_as_they_are_sent(library: Any, server: RawHttp, fetcher: SafeFetcher) -> None:
    head = b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\n"
    server.answers["/s"] = [head, b"data: 1\n\n", 0.1, b"data: 2\n\n"]
    async with client(library, fetcher) as opened, opened.stream("GET", server.url("/s")) as answer:
        assert [line async for line in answer.aiter_lines() if line] == ["data: 1", "data: 2"]


async def test_a_stream_that_falls_silent_or_does_not_end_is_left(
    library: Any, server: RawHttp, fetcher: SafeFetcher
) -> None:
    drops: list[bytes | float] = [b"x", 0.05] * 100
    server.answers["/silent"] = [b"HTTP/1.1 200 X\r\n\r\nfirst", 30.0]
    server.answers["/endless"] = [b"HTTP/1.1 200 X\r\n\r\n"]
    server.answers["/drops"] = [b"HTTP/1.1 200 X\r\n\r\n", *drops]
    server.endless["/endless"] = b"x" * 1000
    for path, limits, error in (
        ("/silent", Limits(idle=0.2, seconds=20), library.ReadTimeout),
        ("/drops", Limits(idle=5, seconds=0.3), library.ReadTimeout),
        ("/endless", Limits(size=50_000), library.ReadError),
    ):
        async with client(library, fetcher, limits) as opened:
            with pytest.raises(error) as caught:
                await opened.get(server.url(path))
            assert isinstance(caught.value.__cause__, FetchFailed)


async def test_what_may_not_be_asked_for_is_out_of_reach(library: Any, server: RawHttp) -> None:
    async def near(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "10.0.0.1"]

    server.body("/x", b"secret")
    async with client(library, SafeFetcher(resolve=near)) as opened:
        for url in (
            server.url("/x"),
            "http://example.com/",
            "http://[::1]/",
            "http://169.254.169.254/",
            "https://a.b.local/",
        ):
            with pytest.raises(library.ConnectError) as caught:
                await opened.get(url)
            assert isinstance(caught.value.__cause__, FetchFailed)
    assert server.asked == []


async def test_a_client_that_follows_is_looked_at_again(library: Any, server: RawHttp, fetcher: SafeFetcher) -> None:
    async with raw_http() as inner, client(library, fetcher, follow_redirects=True) as opened:
        inner.body("/secret", b"secret")
        server.moved("/in", inner.url("/secret"))
        with pytest.raises(library.ConnectError):
            await opened.get(server.url("/in"))
        server.body("/end", b"end")
        assert (await opened.get(server.moved("/m", "/end"))).text == "end"
        assert inner.asked == []


async def test_each_request_is_resolved_anew_and_goes_to_what_was_found(library: Any, server: RawHttp) -> None:
    answers = [["127.0.0.1"], ["127.0.0.1"], ["10.0.0.1"]]

    async def rebinding(host: str, port: int) -> list[str]:
        return answers.pop(0)

    named = SafeFetcher(resolve=rebinding).allow_private_of(f"http://mcp.example.com:{server.port}/")
    server.body("/x", b"here")
    async with client(library, named) as opened:
        for _ in range(2):
            assert (await opened.get(server.url("/x", "mcp.example.com"))).text == "here"
    assert all(f"Host: mcp.example.com:{server.port}" in head for head in server.asked)
    assert answers == [["10.0.0.1"]]


async def test_bombs_and_what_breaks_off(library: Any, server: RawHttp, fetcher: SafeFetcher) -> None:
    small = server.body("/small", gzip.compress(b"y" * 500), headers={"Content-Encoding": "gzip"})
    bomb = server.body("/bomb", gzip.compress(b"\x00" * 20_000_000), headers={"Content-Encoding": "gzip"})
    server.answers["/short"] = [b"HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\nshort"]
    server.answers["/none"] = [b""]
    async with client(library, fetcher, Limits(size=100_000)) as opened:
        assert (await opened.get(small)).content == b"y" * 500
        for url in (bomb, server.url("/short"), server.url("/none")):
            with pytest.raises(library.ReadError):
                await opened.get(url)


async def test_nothing_of_the_environment_is_used(
    library: Any, server: RawHttp, fetcher: SafeFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw_http() as proxy:
        for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url(""))
        async with client(library, fetcher) as opened:
            await opened.get(server.body("/x", b"x"))
        assert proxy.asked == []


async def test_tls_is_held_to_the_name(library: Any, tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    making = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=a.example.com"
    names = ("-addext", "subjectAltName=DNS:a.example.com", "-keyout", str(key), "-out", str(certificate))
    subprocess.run([*making.split(), *names], check=True, capture_output=True)  # noqa: ASYNC221
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(certificate, key)

    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with raw_http(own) as server:
        server.body("/x", b"safe")
        both = frozenset({("a.example.com", server.port), ("b.example.com", server.port)})
        trusting = SafeFetcher(resolve=here, trusted=both, tls=ssl.create_default_context(cafile=str(certificate)))
        async with client(library, trusting) as opened:
            assert (await opened.get(server.url("/x", "a.example.com", "https"))).text == "safe"
            with pytest.raises(library.ConnectError):
                await opened.get(server.url("/x", "b.example.com", "https"))


async def test_what_is_too_large_to_be_sent_was_not_sent(
    library: Any, server: RawHttp, fetcher: SafeFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qingtuan.net.streaming._LARGEST_REQUEST", 1000)
    async with client(library, fetcher) as opened:
        with pytest.raises(library.ConnectError):
            await opened.post(server.url("/"), content=b"x" * 1001)
    assert server.asked == []
