"""Requests to iLink: which addresses are its own, and what certainly was not sent."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from qingtuan.channels.wxclaw.wire import Broken, Http, NotReached, Silent, TooLarge, same_domain
from tests.fakes.ilink import Answer, Ilink


@pytest.mark.parametrize(
    ("url", "base", "same"),
    [
        ("https://ilinkai.weixin.qq.com", "https://ilinkai.weixin.qq.com", True),
        ("https://sz.weixin.qq.com/x", "https://ilinkai.weixin.qq.com", True),
        ("https://a.b.weixin.qq.com/x", "https://ilinkai.weixin.qq.com", True),
        ("https://weixin.qq.com.evil.example", "https://ilinkai.weixin.qq.com", False),
        ("https://evilweixin.qq.com", "https://ilinkai.weixin.qq.com", False),
        ("https://qq.com", "https://ilinkai.weixin.qq.com", False),
        ("http://ilinkai.weixin.qq.com", "https://ilinkai.weixin.qq.com", False),
        ("https://ilinkai.weixin.qq.com:8443", "https://ilinkai.weixin.qq.com", False),
        ("https://me@ilinkai.weixin.qq.com", "https://ilinkai.weixin.qq.com", False),
        ("https://ilinkai.weixin.qq.com:x", "https://ilinkai.weixin.qq.com", False),
        ("ftp://ilinkai.weixin.qq.com", "https://ilinkai.weixin.qq.com", False),
        ("https://other.com", "https://example.com", False),
        ("https://b.com", "https://a.com", False),
        ("http://127.0.0.1:81", "http://127.0.0.1:80", True),
        ("http://127.0.0.2", "http://127.0.0.1", False),
        ("http://10.0.0.2", "http://10.0.0.1", False),
        ("http://169.254.169.254", "http://127.0.0.1", False),
        ("", "https://ilinkai.weixin.qq.com", False),
    ],
)
def test_which_addresses_are_of_the_same_house(url: str, base: str, same: bool) -> None:
    assert same_domain(url, base) is same


@pytest.fixture
async def http() -> AsyncIterator[Http]:
    http = Http()
    yield http
    await http.close()


async def test_what_was_not_reached_was_not_sent(http: Http) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(NotReached):
            await http.ask("GET", f"http://127.0.0.1:{port}/secret?key=abc")


async def test_no_answer_in_time(http: Http) -> None:
    async with Ilink() as ilink:
        ilink.scripted["slow"].append(Answer(delay=0.5))
        with pytest.raises(Silent, match=r"0\.05"):
            await http.ask("GET", f"{ilink.url}/slow", timeout=0.05)


async def test_a_connection_that_breaks(http: Http) -> None:
    async def slam(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with await asyncio.start_server(slam, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Broken) as broken:
            await http.ask("GET", f"http://127.0.0.1:{port}/secret?key=abc")
    assert "abc" not in str(broken.value)


async def test_no_answer_is_read_without_end(http: Http) -> None:
    async with Ilink() as ilink:
        ilink.scripted["big"].append(Answer(raw=b"x" * 1000))
        with pytest.raises(TooLarge):
            await http.ask("GET", f"{ilink.url}/big", most=999)


async def test_no_redirect_is_followed(http: Http) -> None:
    async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(elsewhere, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert (await http.ask("GET", f"http://127.0.0.1:{port}/")).status == 302
