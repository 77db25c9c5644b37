"""Servers behind an address that refuse, break, lie or pour: each in one clear sentence, and only its own loss."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from qingtuan.errors import OutcomeUnknown, ToolFailed
from tests.fakes.raw_server import Asked, Cut, Hold, RawServer, Script, http
from tests.mcp_client.bench import Bench, hostile

TOOLS = [
    {"name": "act", "inputSchema": {"type": "object"}},
    {"name": "read", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
]
WELCOME = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "remote", "version": "1"},
}
DONE = {"content": [{"type": "text", "text": "done"}]}


def result(asked: Asked, value: Any) -> Script:
    body = json.dumps({"jsonrpc": "2.0", "id": asked.json["id"], "result": value}).encode()
    return [http(body, mcp_session_id="s1")]


class Remote:
    """A server of the older protocol over HTTP, that answers calls as it is told."""

    def __init__(self, call: Callable[[Asked], Script]) -> None:
        self.call = call
        self.calls = 0
        self.server = RawServer(judge=self.judge)

    def judge(self, asked: Asked) -> Script:
        if asked.method != "POST":
            return [http(b"", status=405)]
        match asked.json.get("method"):
            case "initialize":
                return result(asked, WELCOME)
            case "tools/list":
                return result(asked, {"tools": TOOLS})
            case "tools/call":
                self.calls += 1
                return self.call(asked)
            case str(method) if method.startswith("notifications/"):
                return [http(b"", status=202)]
            case _:
                error = {"code": -32601, "message": "Method not found"}
                return [http(json.dumps({"jsonrpc": "2.0", "id": asked.json["id"], "error": error}).encode())]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ([http(b"who are you", status=401)], "headers"),
        ([http(b"", status=403)], "HTTP 403"),
        ([http(b"oops", status=500)], "HTTP 500"),
        ([http(b"gone", status=404)], "/mcp 结尾"),
        ([http(b"<html>Welcome</html>", content_type="text/html")], "网页"),
        ([http(b"{")], "读不了"),
        ([http(b"[1, 2]")], "读不了"),
        ([http(b'{"jsonrpc":"2.0","id":99,"result":{}}')], "startTimeout"),
        ([http(gzip.compress(b"{}"), content_encoding="gzip")], "压缩"),
        ([http(b"", status=302, location="http://127.0.0.1:9/elsewhere")], "not followed"),
        ([Cut()], "断"),
        ([Hold()], "startTimeout"),
    ],
)
async def test_an_address_where_no_server_is_says_what_to_mend(bench: Bench, script: Script, words: str) -> None:
    async with RawServer(judge=lambda _: script) as server:
        await bench.begin({"bad": {"url": server.url, "startTimeout": 2}, "good": hostile("Plain")})
        await bench.listed("good")
        await bench.until(lambda: bool(bench.error("bad")))
        assert words in bench.error("bad")
        assert (await bench.call("good__echo")).text == "called echo"
        await bench.servers.close()


async def test_nothing_listens_there(bench: Bench) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/mcp?api_key=abcdef123456"
    await bench.begin({"a": {"url": url}, "b": {"url": "http://no-such-host.invalid/mcp"}})
    await bench.until(lambda: bool(bench.error("a")) and bool(bench.error("b")))
    assert "没有在听" in bench.error("a")
    assert "找不到这个主机" in bench.error("b")
    assert "abcdef123456" not in repr(bench.servers.status())
    assert bench.status("a").shown.endswith("/mcp?…")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["initialize", "tools/call"])
async def test_nobody_is_sent_on_to_another_place_with_our_key(bench: Bench, status: int, method: str) -> None:
    async with RawServer(judge=lambda asked: result(asked, DONE)) as other:
        away = [http(b"", status=status, location=other.url)]
        remote = Remote(lambda _: away)
        server = remote.server
        if method == "initialize":
            server = RawServer(judge=lambda _: away)
        async with server:
            headers = {"Authorization": "Bearer s3cr3t-token-value"}
            await bench.begin({"a": {"url": server.url, "headers": headers, "startTimeout": 5, "timeout": 5}})
            if method == "initialize":
                await bench.until(lambda: bool(bench.error("a")))
            else:
                await bench.listed("a")
                assert (await bench.run("a__act")).status in ("failed", "unknown")
            await bench.servers.close()
        assert other.asked == []


async def test_a_server_that_speaks_no_tls(bench: Bench) -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(http(b"no TLS here", status=400))
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with server:
        await bench.begin({"a": {"url": f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"}})
        await bench.until(lambda: bool(bench.error("a")))
        assert "加密连接" in bench.error("a")


async def test_headers_are_sent_and_never_shown(bench: Bench) -> None:
    remote = Remote(lambda asked: result(asked, DONE))
    async with remote.server as server:
        headers = {"Authorization": "Bearer ${env:TOKEN}", "X-Team": "library"}
        await bench.begin({"a": {"url": server.url, "headers": headers}}, {"TOKEN": "s3cr3t-token-value"})
        await bench.listed("a")
        assert (await bench.call("a__act")).text == "done"
        sent = {asked.headers["authorization"] for asked in server.asked}
        assert sent == {"Bearer s3cr3t-token-value"}
        assert all(asked.headers["x-team"] == "library" for asked in server.asked)
        shown = repr([bench.servers.status(), bench.offered, [dict(event.payload) for event in bench.log.replay()]])
        assert "s3cr3t" not in shown
        await bench.servers.close()


def cut_then_done(remote: list[Remote]) -> Callable[[Asked], Script]:
    return lambda asked: [Cut()] if remote[0].calls == 1 else result(asked, DONE)


async def test_a_break_in_a_call_is_unknown_for_an_act_and_tried_again_for_a_read(bench: Bench) -> None:
    remotes: list[Remote] = []
    remote = Remote(cut_then_done(remotes))
    remotes.append(remote)
    async with remote.server as server:
        await bench.begin({"a": {"url": server.url, "trusted": True}})
        await bench.listed("a")
        assert (await bench.call("a__read")).text == "done"
        assert remote.calls == 2
        remote.calls = 0
        with pytest.raises(OutcomeUnknown):
            await bench.call("a__act")
        assert remote.calls == 1
        assert (await bench.call("a__act")).text == "done"
        await bench.servers.close()


async def test_a_session_that_ran_out_is_begun_anew_also_for_an_act(bench: Bench) -> None:
    remotes: list[Remote] = []

    def call(asked: Asked) -> Script:
        return [http(b"", status=404)] if remotes[0].calls == 1 else result(asked, DONE)

    remote = Remote(call)
    remotes.append(remote)
    async with remote.server as server:
        await bench.begin({"a": {"url": server.url}})
        await bench.listed("a")
        assert (await bench.call("a__act")).text == "done"
        assert remote.calls == 2
        await bench.servers.close()


@pytest.mark.parametrize(
    ("script", "error", "words"),
    [
        ([http(b"no", status=401)], ToolFailed, "HTTP 401"),
        ([http(b"oops", status=503)], OutcomeUnknown, "HTTP 503"),
        ([http(b"x" * 5_000_000)], OutcomeUnknown, "cannot be read"),
        ([http(b"data: " + b"x" * 5_000_000 + b"\n\n", content_type="text/event-stream")], OutcomeUnknown, "over"),
        ([http(b": nothing\n\n", content_type="text/event-stream")], OutcomeUnknown, "over"),
        ([http(b"<p>", content_type="text/html")], ToolFailed, "web page"),
    ],
)
async def test_an_act_that_is_refused_did_not_happen_and_one_that_broke_may_have(
    bench: Bench, script: Script, error: type[Exception], words: str
) -> None:
    remote = Remote(lambda _: script)
    async with remote.server as server:
        await bench.begin({"a": {"url": server.url}})
        await bench.listed("a")
        with pytest.raises(error, match=words):
            await bench.call("a__act")
        assert remote.calls == 1
        await bench.servers.close()
