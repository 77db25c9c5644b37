"""Ways out of the fence, each with a server that means it."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import subprocess
import threading
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.errors import FetchFailed
from qingtuan.net.fetcher import Limits, SafeFetcher
from tests.fakes.raw_http import RawHttp, raw_http

SMALL = Limits(size=10_000, seconds=5.0)
QUICK = Limits(size=10_000, seconds=0.3)


@pytest.fixture
async def server() -> AsyncIterator[RawHttp]:
    async with raw_http() as running:
        yield running


@pytest.fixture
def fetcher(server: RawHttp) -> SafeFetcher:
    return SafeFetcher(trusted=frozenset({("127.0.0.1", server.port)}))


class Names:
    """A name service with answers of our own."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append((host, port))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def refused(fetcher: SafeFetcher, url: str, limits: Limits = SMALL) -> FetchFailed:
    with pytest.raises(FetchFailed) as caught:
        await fetcher.get(url, limits)
    return caught.value


async def test_what_is_there_comes_with_its_name_and_kind(server: RawHttp, fetcher: SafeFetcher) -> None:
    headers = {
        "Content-Type": "Text/HTML; charset=GBK",
        "Content-Disposition": "attachment; filename*=UTF-8''%E5%9B%BE.html",
    }
    found = await fetcher.get(server.body("/a/b.png", b"hello", headers=headers), SMALL)
    assert (found.data, found.media_type, found.charset, found.name) == (b"hello", "text/html", "gbk", "图.html")
    plain = await fetcher.get(server.body("/a/%E5%9B%BE.png?x=1/2".partition("?")[0], b"x"), SMALL)
    assert plain.name == "图.png"


async def test_nothing_of_ours_goes_along(server: RawHttp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with raw_http() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy.url(""))
        (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password secret\n")
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        fetcher = SafeFetcher(trusted=frozenset({("127.0.0.1", server.port)}))
        server.body("/first", b"x", headers={"Set-Cookie": "id=1"})
        await fetcher.get(server.url("/first"), SMALL)
        await fetcher.get(server.url("/first"), SMALL, {"Host": "evil", "Cookie": "a=b", "X-Own": "1\r\nX-Evil: 2"})
        assert proxy.asked == []
    for head in server.asked:
        lines = {line.partition(":")[0].lower() for line in head.splitlines()[1:] if line}
        assert lines == {"host", "user-agent", "accept", "accept-encoding", "connection"}
        assert f"Host: 127.0.0.1:{server.port}" in head


async def test_without_leave_this_machine_is_out_of_reach(server: RawHttp) -> None:
    server.body("/secret", b"secret")
    for host in ("127.0.0.1", "localhost", "0x7f000001", "127.1", "[::1]", "[::ffff:7f00:1]"):
        await refused(SafeFetcher(), server.url("/secret", host))
    assert server.asked == []


@pytest.mark.parametrize(
    "numbers", [["127.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::ffff:127.0.0.1"], ["169.254.169.254"], []]
)
async def test_a_name_that_stands_for_something_near_is_refused(server: RawHttp, numbers: list[str]) -> None:
    names = Names(numbers)
    await refused(SafeFetcher(resolve=names), "http://harmless.example.com:8080/")
    assert len(names.asked) == 1
    assert server.asked == []


async def test_a_name_that_changes_its_number_is_asked_for_it_once(server: RawHttp) -> None:
    """DNS rebinding: the number that was checked is the number that is called."""
    names = Names(["127.0.0.1"], ["10.0.0.1"])
    fetcher = SafeFetcher(resolve=names, trusted=frozenset({("pinned.example.com", server.port)}))
    server.body("/x", b"here")
    found = await fetcher.get(server.url("/x", "pinned.example.com"), SMALL)
    assert (found.data, names.asked) == (b"here", [("pinned.example.com", server.port)])
    assert f"Host: pinned.example.com:{server.port}" in server.asked[0]


async def test_each_hop_is_looked_at_anew(server: RawHttp) -> None:
    names = Names(["127.0.0.1"], ["127.0.0.1"])
    fetcher = SafeFetcher(resolve=names, trusted=frozenset({("pinned.example.com", server.port)}))
    server.moved("/x", "http://other.example.com:8080/y")
    await refused(fetcher, server.url("/x", "pinned.example.com"))
    assert [host for host, _ in names.asked] == ["pinned.example.com", "other.example.com"]
    assert server.paths == ["/x"]


@pytest.mark.parametrize(
    "target",
    [
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://127.0.0.1:6379/_FLUSHALL",
        "data:text/plain,x",
        "//127.0.0.1:1/",
        "http://127.0.0.1:1/",
        "http://localhost/",
        "http://[::1]/",
        "http://0/",
        "http://user:pass@example.com/",
        "http://169.254.169.254/latest/meta-data/",
        "http://a\\b.example.com/",
        "http://example.com:25/",
        "http://[bad/",
        "x" * 9000,
    ],
)
async def test_where_it_leads_is_held_to_the_same(server: RawHttp, fetcher: SafeFetcher, target: str) -> None:
    await refused(fetcher, server.moved("/m", target))


async def test_redirects_end(server: RawHttp, fetcher: SafeFetcher) -> None:
    server.body("/end", b"end")
    assert (await fetcher.get(server.moved("/near", "end"), SMALL)).data == b"end"
    await refused(fetcher, server.moved("/round", "/round"))
    assert server.paths.count("/round") == 6


async def test_keys_do_not_follow_to_another_host(server: RawHttp) -> None:
    async with raw_http() as other:
        both = frozenset({("127.0.0.1", server.port), ("127.0.0.1", other.port)})
        server.moved("/m", other.body("/end", b"end"))
        await SafeFetcher(trusted=both).get(server.url("/m"), SMALL, {"Authorization": "Bearer key"})
        assert "Bearer key" in server.asked[0]
        assert "Authorization" not in other.asked[0]


async def test_no_body_is_larger_than_asked_for(server: RawHttp, fetcher: SafeFetcher) -> None:
    assert len((await fetcher.get(server.body("/fits", b"x" * 10_000), SMALL)).data) == 10_000
    await refused(fetcher, server.body("/announced", b"x" * 10_001))
    server.answers["/endless"] = [b"HTTP/1.1 200 X\r\n\r\n"]
    server.answers["/chunked"] = [b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n"]
    server.endless = {"/endless": b"x" * 5000, "/chunked": b"1000\r\n" + b"x" * 4096 + b"\r\n"}
    for path in server.endless:
        await refused(fetcher, server.url(path))


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_bomb_goes_off_outside(server: RawHttp, fetcher: SafeFetcher, encoding: str) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    small = server.body("/small", pack(b"y" * 5000), headers={"Content-Encoding": encoding})
    assert (await fetcher.get(small, SMALL)).data == b"y" * 5000
    bomb = server.body("/bomb", pack(b"\x00" * 50_000_000), headers={"Content-Encoding": encoding})
    await refused(fetcher, bomb, Limits(size=100_000, seconds=5.0))


async def test_what_is_packed_otherwise_or_badly_is_refused(server: RawHttp, fetcher: SafeFetcher) -> None:
    for number, encoding in enumerate(("br", "gzip, gzip", "zstd", "gzip")):
        await refused(fetcher, server.body(f"/{number}", b"not packed", headers={"Content-Encoding": encoding}))


async def test_slow_servers_are_left(server: RawHttp, fetcher: SafeFetcher) -> None:
    drops: list[bytes | float] = [piece for byte in b"HTTP/1.1 200 X\r\nA: b" * 9 for piece in (bytes([byte]), 0.02)]
    server.answers["/loris"] = drops
    server.answers["/silent"] = [30.0]
    server.answers["/body"] = [b"HTTP/1.1 200 X\r\nContent-Length: 999\r\n\r\n", *drops]
    server.answers["/hundreds"] = [b"HTTP/1.1 103 X\r\n\r\n"]
    server.endless["/hundreds"] = b"HTTP/1.1 103 X\r\n\r\n"
    for path in ("/loris", "/silent", "/body", "/hundreds"):
        assert (await refused(fetcher, server.url(path), QUICK)).again


async def test_slow_names_are_left() -> None:
    async def never(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    await refused(SafeFetcher(resolve=never), "https://example.com/", QUICK)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"not http at all\r\n\r\n",
        b"HTTP/1.1 200 X\r\nA: " + b"x" * 300_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 X\r\n" + b"A: b\r\n" * 50_000 + b"\r\n",
        b"HTTP/1.1 200 X\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 X\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 X\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"HTTP/1.1 200 X\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 204 X\r\n\r\n",
        b"HTTP/1.1 302 X\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 403 X\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n",
    ],
)
async def test_broken_answers_are_failures_in_words(server: RawHttp, fetcher: SafeFetcher, answer: bytes) -> None:
    server.answers["/b"] = [answer]
    error = await refused(fetcher, server.url("/b"))
    assert error.words.zh
    assert error.words.en


async def test_only_the_kind_that_was_asked_for(server: RawHttp, fetcher: SafeFetcher) -> None:
    page = server.body("/p", b"<p>", headers={"Content-Type": "text/html"})
    assert (await fetcher.get(page, Limits(kinds=("image/", "text/html")))).data == b"<p>"
    await refused(fetcher, page, Limits(kinds=("image/",)))
    await refused(fetcher, server.body("/n", b"x"), Limits(kinds=("image/",)))


async def test_the_certificate_is_that_of_the_name(tmp_path: Path) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    making = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=good.example.com"
    )
    names = ("-addext", "subjectAltName=DNS:good.example.com", "-keyout", str(key), "-out", str(certificate))
    subprocess.run([*making.split(), *names], check=True, capture_output=True)  # noqa: ASYNC221
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(certificate, key)
    async with raw_http(own) as server:
        server.body("/x", b"safe")
        both = frozenset({("good.example.com", server.port), ("bad.example.com", server.port)})
        names_ = Names(["127.0.0.1"])
        trusting = SafeFetcher(resolve=names_, trusted=both, tls=ssl.create_default_context(cafile=str(certificate)))
        found = await trusting.get(server.url("/x", "good.example.com", "https"), SMALL)
        assert found.data == b"safe"
        await refused(trusting, server.url("/x", "bad.example.com", "https"))
        await refused(SafeFetcher(resolve=names_, trusted=both), server.url("/x", "good.example.com", "https"))
    assert server.paths == ["/x"]


async def test_name_servers_that_keep_us_waiting_hold_up_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    answering = threading.Event()

    def slow(host: str, port: int, **_: object) -> list[object]:
        answering.wait(20)
        raise OSError(host)

    monkeypatch.setattr("socket.getaddrinfo", slow)
    fetcher = SafeFetcher()
    asked = [asyncio.create_task(refused(fetcher, f"https://{n}.example.com/", QUICK)) for n in range(40)]
    try:
        assert await asyncio.wait_for(asyncio.to_thread(lambda: "done"), 5) == "done"
        assert all(error.again for error in await asyncio.gather(*asked))
        assert await asyncio.wait_for(asyncio.to_thread(lambda: "done"), 5) == "done"
    finally:
        answering.set()


async def test_a_host_none_of_whose_numbers_answers_may_later(server: RawHttp) -> None:
    names = Names(["127.0.0.1", "127.0.0.2"])
    unused = SafeFetcher(resolve=names, trusted=frozenset({("a.example.com", 1)}))
    assert (await refused(unused, "http://a.example.com:1/")).again
