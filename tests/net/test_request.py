"""Requests of any method: every status is an answer, every hop is looked at, and nothing follows to another origin."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import threading
import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from qingtuan.errors import FetchFailed
from qingtuan.net.addresses import NotSent
from qingtuan.net.door import usual_tls
from qingtuan.net.fetcher import Limits, SafeFetcher
from tests.fakes.raw_http import RawHttp, raw_http

SMALL = Limits(size=10_000, seconds=5.0)


@pytest.fixture
async def server() -> AsyncIterator[RawHttp]:
    async with raw_http() as running:
        yield running


@pytest.fixture
async def other() -> AsyncIterator[RawHttp]:
    async with raw_http() as running:
        yield running


@pytest.fixture
def fetcher(server: RawHttp, other: RawHttp) -> SafeFetcher:
    return SafeFetcher(trusted=frozenset({("127.0.0.1", server.port), ("127.0.0.1", other.port)}))


async def test_any_status_is_an_answer(server: RawHttp, fetcher: SafeFetcher) -> None:
    for status in (200, 201, 304, 400, 401, 404, 429, 500, 503):
        url = server.body(
            f"/{status}", b'{"a": 1}' if status != 304 else b"", status, {"X-Why": "so", "Set-Cookie": "a=b"}
        )
        answer = await fetcher.request("GET", url, limits=SMALL)
        assert (answer.status, answer.url, answer.headers["x-why"]) == (status, url, "so")
        assert "set-cookie" not in answer.headers


async def test_a_body_goes_with_its_headers(server: RawHttp, fetcher: SafeFetcher) -> None:
    headers = {"Content-Type": "application/json", "Authorization": "Bearer key", "Cookie": "a=b", "Host": "evil",
               "Content-Length": "1", "Transfer-Encoding": "chunked", "Expect": "100-continue",
               "X-Bad": "1\r\nX-Evil: 2", "X Bad": "1", "Connection": "keep-alive"}  # fmt: skip
    answer = await fetcher.request("post", server.body("/p", b"got"), headers=headers, body=b"[1]", limits=SMALL)
    assert answer.data == b"got"
    assert server.bodies == [b"[1]"]
    lines = {line.partition(":")[0].lower() for line in server.asked[0].splitlines()[1:] if line}
    assert lines == {
        "host", "user-agent", "accept", "accept-encoding", "connection", "content-type", "authorization",
        "content-length",
    }  # fmt: skip
    assert f"Host: 127.0.0.1:{server.port}" in server.asked[0]


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "GET / HTTP/1.1\r\nX: ", "", "FETCH"])
async def test_other_methods_are_refused(server: RawHttp, fetcher: SafeFetcher, method: str) -> None:
    with pytest.raises(NotSent):
        await fetcher.request(method, server.body("/p", b"x"), limits=SMALL)
    assert server.asked == []


@pytest.mark.parametrize(
    ("method", "status", "then"),
    [("POST", 301, "GET"), ("POST", 302, "GET"), ("POST", 303, "GET"), ("PUT", 303, "GET"), ("HEAD", 303, "HEAD"),
     ("PUT", 302, "PUT"), ("DELETE", 301, "DELETE"), ("POST", 307, "POST"), ("PATCH", 308, "PATCH")],
)  # fmt: skip
async def test_redirects_are_followed_as_browsers_do(
    server: RawHttp, fetcher: SafeFetcher, method: str, status: int, then: str
) -> None:
    server.body("/end", b"")
    headers = {"Content-Type": "text/plain", "X-Own": "1"}
    await fetcher.request(
        method,
        server.moved("/m", "/end", status),
        headers=headers,
        body=b"" if method == "HEAD" else b"body",
        limits=SMALL,
    )
    assert server.asked[1].startswith(f"{then} /end ")
    kept = then not in ("GET", "HEAD")
    assert server.bodies[1] == (b"body" if kept else b"")
    assert ("content-type:" in server.asked[1].lower()) is (kept or method == "HEAD")
    assert "x-own: 1" in server.asked[1].lower()


@pytest.mark.parametrize(("method", "status"), [("POST", 307), ("POST", 308), ("PUT", 302), ("DELETE", 301)])
async def test_no_act_and_no_body_goes_to_another_origin(
    server: RawHttp, other: RawHttp, fetcher: SafeFetcher, method: str, status: int
) -> None:
    url = server.moved("/m", other.body("/end", b""), status)
    with pytest.raises(FetchFailed) as caught:
        await fetcher.request(method, url, body=b"secret", limits=SMALL)
    assert not isinstance(caught.value, NotSent)
    assert other.asked == []


async def test_what_left_an_origin_does_not_come_back_with_keys(
    server: RawHttp, other: RawHttp, fetcher: SafeFetcher
) -> None:
    """The other side may not choose what our key opens at the first."""
    server.body("/all-my-data", b"data")
    server.moved("/m", other.moved("/back", server.url("/all-my-data")), 303)
    key = {"Authorization": "Bearer key"}
    assert (await fetcher.request("POST", server.url("/m"), headers=key, body=b"x", limits=SMALL)).data == b"data"
    assert "Bearer key" in server.asked[0]
    assert "Bearer key" not in other.asked[0] + server.asked[1]


async def test_without_redirects_a_redirect_is_the_answer(server: RawHttp, fetcher: SafeFetcher) -> None:
    url = server.moved("/m", "http://127.0.0.1:1/")
    answer = await fetcher.request("GET", url, limits=Limits(redirects=0))
    assert (answer.status, answer.headers["location"]) == (302, "http://127.0.0.1:1/")


async def test_every_hop_must_be_allowed(server: RawHttp, other: RawHttp, fetcher: SafeFetcher) -> None:
    asked: list[str] = []

    def allow(address: object) -> bool:
        asked.append(str(address))
        return str(server.port) in str(address)

    url = server.moved("/m", other.body("/end", b"x"))
    with pytest.raises(FetchFailed):
        await fetcher.request("GET", url, allow=allow, limits=SMALL)
    assert asked == [url, other.url("/end")]
    assert other.asked == []
    with pytest.raises(NotSent):
        await fetcher.request("GET", other.url("/end"), allow=allow, limits=SMALL)
    assert other.asked == []


async def test_who_allows_answers_for_the_port() -> None:
    async def numbers(host: str, port: int) -> list[str]:
        raise OSError(f"{host}:{port}")

    fetcher = SafeFetcher(resolve=numbers)
    with pytest.raises(NotSent) as caught:
        await fetcher.request("GET", "https://api.example.com:9200/", allow=lambda _: True)
    assert "api.example.com:9200" in caught.value.detail
    with pytest.raises(NotSent) as caught:
        await fetcher.request("GET", "https://api.example.com:9200/")
    assert caught.value.detail == ""
    for odd in ("http://127.0.0.1:9200/", "http://localhost:9200/", "https://api.example.com:0/"):
        with pytest.raises(NotSent):
            await fetcher.request("GET", odd, allow=lambda _: True)


class Home:
    """A fetcher that may reach one address of the settings, and what names stand for."""

    def __init__(self, named: str, **numbers: list[str]) -> None:
        async def resolve(host: str, port: int) -> list[str]:
            return numbers.get(host.partition(".")[0], [host])

        self.fetcher = SafeFetcher(resolve=resolve).allow_private_of(named)


async def test_an_address_of_the_settings_may_be_in_the_own_network(server: RawHttp) -> None:
    server.body("/mcp", b"here")
    server.body("/.well-known/oauth", b"there")
    home = Home(server.url("/mcp?key=1"))
    assert (await home.fetcher.get(server.url("/mcp"), SMALL)).data == b"here"
    assert (await home.fetcher.request("GET", server.url("/.well-known/oauth"))).data == b"there"
    nas = Home(server.url("/", "NAS"), nas=["127.0.0.1"])
    assert (await nas.fetcher.get(server.url("/mcp", "nas"), SMALL)).data == b"here"


async def test_its_neighbours_are_as_closed_as_ever(server: RawHttp, other: RawHttp) -> None:
    home = Home(server.url("/"), evil=["127.0.0.1"])
    server.moved("/near", other.url("/secret"))
    server.moved("/named", f"http://evil.example.com:{server.port}/")
    for url in (
        other.url("/secret"),
        server.url("/near"),
        server.url("/named"),
        server.url("/", "localhost"),
        "http://127.0.0.1/",
        "http://192.168.1.1/",
        f"http://evil.example.com:{server.port}/",
        "http://evil.example.com:8080/",
    ):
        with pytest.raises(FetchFailed):
            await home.fetcher.get(url, SMALL)
    assert other.asked == []
    assert server.paths == ["/near", "/named"]
    plain = SafeFetcher()
    plain.allow_private_of(server.url("/"))
    with pytest.raises(NotSent):
        await plain.get(server.url("/"), SMALL)


async def test_a_stranger_does_not_lead_to_it(server: RawHttp, other: RawHttp) -> None:
    home = SafeFetcher(trusted=frozenset({("127.0.0.1", other.port)})).allow_private_of(server.url("/"))
    other.moved("/in", server.body("/admin", b"x"))
    with pytest.raises(FetchFailed):
        await home.get(other.url("/in"), SMALL)
    assert server.asked == []


@pytest.mark.parametrize("number", ["169.254.169.254", "100.100.100.200", "fd00:ec2::254", "0.0.0.0", "224.0.0.1",
                                    "fe80::1", "::ffff:169.254.169.254", "168.63.129.16", "2002:7f00:1::"])  # fmt: skip
async def test_what_hands_out_keys_is_nobodys_own_server(number: str) -> None:
    home = Home("http://mcp.example.com/", mcp=[number])
    with pytest.raises(NotSent):
        await home.fetcher.get("http://mcp.example.com/", SMALL)


@pytest.mark.parametrize("named", ["", "ftp://a/", "http://", "not an address", "http://[::1/", "http://a:99999/"])
def test_what_names_nothing_opens_nothing(named: str) -> None:
    assert SafeFetcher().allow_private_of(named).door.named == frozenset()


async def test_an_answer_that_is_not_http_is_none(server: RawHttp, fetcher: SafeFetcher) -> None:
    for number, answer in enumerate((
        b"<html>HTTP/0.9</html>",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw",
        b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n",
        b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nx",
        b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 X\r\nContent-Length: 5\r\nTransfer-Encoding: chunked, identity\r\n\r\nabcde",
        b"HTTP/1.1 2000 X\r\n\r\n",
    )):  # fmt: skip
        server.answers[f"/{number}"] = [answer]
        with pytest.raises(FetchFailed) as caught:
            await fetcher.request("POST", server.url(f"/{number}"), body=b"x", limits=SMALL)
        assert not isinstance(caught.value, NotSent), answer


async def test_many_headers_are_cut_short(server: RawHttp, fetcher: SafeFetcher) -> None:
    lines = b"".join(b"X-%d: %s\r\n" % (number, b"v" * 300) for number in range(200))
    server.answers["/h"] = [b"HTTP/1.1 200 X\r\nContent-Length: 0\r\n" + lines + b"\r\n"]
    assert len((await fetcher.request("GET", server.url("/h"), limits=SMALL)).headers) == 100


async def test_a_host_is_asked_again_only_if_nothing_was_sent(server: RawHttp, fetcher: SafeFetcher) -> None:
    async def two(host: str, port: int) -> list[str]:
        return ["127.0.0.9", "127.0.0.1"]

    server.answers["/x"] = [b""]
    twice = SafeFetcher(resolve=two, trusted=frozenset({("a.example.com", server.port)}))
    with pytest.raises(FetchFailed) as caught:
        await twice.request("POST", server.url("/x", "a.example.com"), body=b"pay", limits=SMALL)
    assert not isinstance(caught.value, NotSent)
    assert server.bodies == [b"pay"]
    with pytest.raises(NotSent):
        await SafeFetcher(trusted=frozenset({("127.0.0.1", 1)})).request("POST", "http://127.0.0.1:1/", body=b"pay")


async def test_a_head_tells_of_a_body_that_does_not_come(server: RawHttp, fetcher: SafeFetcher) -> None:
    server.answers["/large"] = [b"HTTP/1.1 200 X\r\nContent-Length: 99999999\r\n\r\n"]
    answer = await fetcher.request("HEAD", server.url("/large"), limits=SMALL)
    assert (answer.data, answer.headers["content-length"]) == (b"", "99999999")


async def test_all_of_it_has_one_limit_of_time(server: RawHttp, fetcher: SafeFetcher) -> None:
    for number in range(5):
        server.answers[f"/{number}"] = [0.15, f"HTTP/1.1 302 X\r\nLocation: /{number + 1}\r\n\r\n".encode()]
    with pytest.raises(FetchFailed):
        async with asyncio.timeout(5):
            await fetcher.request("GET", server.url("/0"), limits=Limits(seconds=0.3))
    assert len(server.asked) < 5


RAW = zlib.compressobj(wbits=-zlib.MAX_WBITS)
PACKED = {
    "gzip": gzip.compress(b"y" * 5000),
    "members": gzip.compress(b"y" * 2000) + gzip.compress(b"") + gzip.compress(b"y" * 3000) + b"\x00" * 9,
    "deflate": zlib.compress(b"y" * 5000),
    "raw deflate": RAW.compress(b"y" * 5000) + RAW.flush(),
}


@pytest.mark.parametrize("kind", PACKED)
async def test_packed_bodies_are_unpacked_whole_or_not_at_all(server: RawHttp, fetcher: SafeFetcher, kind: str) -> None:
    packed = PACKED[kind]
    headers = {"Content-Encoding": "deflate" if "deflate" in kind else "gzip"}
    url = server.body("/whole", packed, headers=headers)
    assert (await fetcher.request("GET", url)).data == b"y" * 5000
    head = f"HTTP/1.1 200 X\r\nContent-Encoding: {headers['Content-Encoding']}\r\nTransfer-Encoding: chunked\r\n\r\n"
    drops = b"".join(b"1\r\n" + bytes([byte]) + b"\r\n" for byte in packed)
    server.answers["/drops"] = [head.encode() + drops + b"0\r\n\r\n"]
    assert (await fetcher.request("GET", server.url("/drops"))).data == b"y" * 5000
    assert (await fetcher.request("GET", server.body("/empty", b"", headers=headers))).data == b""
    for length in (1, len(packed) // 2 if kind != "members" else 10, len(packed.rstrip(b"\x00")) - 12):
        with pytest.raises(FetchFailed):
            await fetcher.request("GET", server.body("/half", packed[:length], headers=headers))
    with pytest.raises(FetchFailed):
        await fetcher.request("GET", url, limits=Limits(size=4999))


async def test_members_without_end_are_refused(server: RawHttp, fetcher: SafeFetcher) -> None:
    url = server.body("/m", gzip.compress(b"") * 5000, headers={"Content-Encoding": "gzip"})
    with pytest.raises(FetchFailed):
        await fetcher.request("GET", url)


async def test_what_tls_trusts_is_read_once_and_beside_the_loop(
    server: RawHttp, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    making = httpx2.create_ssl_context

    def counted(**options: Any) -> ssl.SSLContext:
        threads.append(threading.current_thread())
        return making(**options)

    monkeypatch.setattr(httpx2, "create_ssl_context", counted)
    usual_tls.cache_clear()
    url = server.body("/x", b"x")
    for _ in range(2):
        fetcher = SafeFetcher(trusted=frozenset({("127.0.0.1", server.port)}))
        await fetcher.get(url)
        await fetcher.allow_private_of(url).get(url)
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()
