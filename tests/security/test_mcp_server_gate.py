"""Who gets to the MCP server at all: keys, sessions, hosts, pages, sizes, numbers; and what ends with a key."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp.shared.exceptions import MCPError

from qingtuan.events.kinds import Kind
from qingtuan.identity.keys import PROGRAMS
from qingtuan.identity.scopes import Visibility
from qingtuan.servers.mcp.guard import Guard
from qingtuan.servers.mcp.rooms import MOST_SESSIONS
from tests.fakes.waiting import until
from tests.servers.mcp.program import ALL, Programs, connected

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}


class Raw:
    """A client that sends what it likes."""

    def __init__(self, programs: Programs) -> None:
        self.http = httpx.AsyncClient(trust_env=False, timeout=20)
        self.url = programs.url

    async def post(self, key: str | None, body: Any, **headers: str) -> httpx.Response:
        own = {"authorization": f"Bearer {key}"} if key else {}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {**HEADERS, **own, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return await self.http.post(self.url, content=content, headers=sent)

    async def session(self, key: str) -> str:
        answer = await self.post(key, HELLO)
        assert answer.status_code == 200, answer.text
        return answer.headers["mcp-session-id"]


@pytest.fixture
async def programs(tmp_path: Path) -> AsyncIterator[Programs]:
    async with Programs(tmp_path) as programs:
        yield programs


@pytest.fixture
async def raw(programs: Programs) -> AsyncIterator[Raw]:
    raw = Raw(programs)
    yield raw
    await raw.http.aclose()


async def test_without_a_valid_key_there_is_nothing(programs: Programs, raw: Raw) -> None:
    key = programs.key("good")
    for wrong in (None, "", "qt_wrong", key[:-1], f"{key} {key}", "x" * 10_000):
        answer = await raw.post(wrong, HELLO)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert answer.json()["jsonrpc"] == "2.0"
    agent = programs.chat.app.keys.issue("peer", "a2a-peer", Visibility.PUBLIC, "a2a")
    assert PROGRAMS != "a2a"
    assert (await raw.post(agent, HELLO)).status_code == 401
    assert programs.chat.events(Kind.PROGRAM_CALLED) == []


async def test_a_session_opens_with_its_own_key_alone(programs: Programs, raw: Raw) -> None:
    mine, other = programs.key("mine", grant=ALL), programs.key("other")
    session = await raw.session(mine)
    assert (await raw.post(mine, LIST, mcp_session_id=session)).status_code == 200
    answers = [await raw.post(other, LIST, mcp_session_id=one) for one in (session, "0" * 32, "../x")]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.text for answer in answers}) == 1  # nobody learns which ids there are
    gone = await raw.http.delete(
        raw.url, headers={"authorization": f"Bearer {other}", "mcp-session-id": session, **HEADERS}
    )
    assert gone.status_code == 404
    assert (await raw.post(mine, LIST, mcp_session_id=session)).status_code == 200


async def test_pages_and_other_names_get_nothing(programs: Programs, raw: Raw) -> None:
    key = programs.key("good")
    for origin in (
        "https://evil.example.com",
        "null",
        "http://localhost.evil.example.com",
        "http://127.0.0.1.nip.io",
        "http://localhost@evil.example.com",
        "http://192.168.1.5",
        "file://",
        "http://localhost:x",
    ):
        assert (await raw.post(key, HELLO, origin=origin)).status_code == 403, origin
    for host in ("evil.example.com", "evil.example.com:8080", "localhost.evil.example.com", "a@localhost", ""):
        assert (await raw.post(key, HELLO, host=host)).status_code in (400, 421), host
    assert (await raw.post(key, HELLO, origin="http://localhost:6274")).status_code == 200
    assert (await raw.post(key, HELLO, host="localhost:1")).status_code == 200


def test_names_of_the_settings_are_taken() -> None:
    guard = Guard(frozenset({"bot.example.com"}))
    guard.check([(b"host", b"BOT.example.com:443"), (b"origin", b"https://bot.example.com")])
    guard.check([(b"host", b"[::1]:8080")])


async def test_bodies_have_bounds(programs: Programs, raw: Raw) -> None:
    key = programs.key("good")
    deep = b"[" * 200 + b"]" * 200
    for body, status in (
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"\xff\xfe", 400),
        (deep, 400),
        (b'{"a": NaN}', 400),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * (49 * 1024 * 1024) + b'"}', 413),
    ):
        answer = await raw.post(key, body)
        assert answer.status_code == status, body[:40]
    assert (await raw.post(key, HELLO, content_type="text/plain")).status_code == 415
    nothing = await raw.http.get(raw.url.replace("/mcp", "/mcp/more"), headers={"authorization": f"Bearer {key}"})
    assert nothing.status_code == 404


async def test_a_flood_is_slowed_down_and_costs_others_nothing(programs: Programs, raw: Raw) -> None:
    mad, calm = programs.key("mad"), programs.key("calm")
    statuses = [(await raw.post(mad, LIST)).status_code for _ in range(130)]
    assert statuses[-1] == 429
    assert (await raw.post(calm, HELLO)).status_code == 200


async def test_sessions_make_way_for_new_ones(programs: Programs, raw: Raw) -> None:
    key = programs.key("restless")
    sessions = [await raw.session(key) for _ in range(3 * MOST_SESSIONS)]
    states = [(await raw.post(key, LIST, mcp_session_id=session)).status_code for session in sessions]
    assert states == [404] * 2 * MOST_SESSIONS + [200] * MOST_SESSIONS


async def test_notices_and_questions_are_rationed(programs: Programs) -> None:
    async with connected(programs.url, programs.key("chatty")) as client:
        sent = [await client.call_tool("notify_owner", {"text": f"n{number}"}) for number in range(8)]
    assert [answer.is_error for answer in sent] == [False] * 6 + [True] * 2


async def test_a_revoked_key_ends_what_is_open(programs: Programs, raw: Raw) -> None:
    key = programs.key("doomed", grant=ALL)
    session = await raw.session(key)
    headers = {**HEADERS, "authorization": f"Bearer {key}", "mcp-session-id": session}
    async with raw.http.stream("GET", raw.url, headers=headers) as stream:
        assert stream.status_code == 200
        programs.chat.app.keys.revoke("doomed")
        await asyncio.wait_for(stream.aread(), 10)
    assert (await raw.post(key, LIST, mcp_session_id=session)).status_code == 401
    # Issued anew, the name opens none of the old sessions.
    again = programs.key("doomed", grant=ALL)
    assert (await raw.post(again, LIST, mcp_session_id=session)).status_code == 404


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_question_ends_with_its_key(programs: Programs, mode: str) -> None:
    await programs.chat.say("/memory")

    async def ask() -> None:
        async with connected(programs.url, programs.key("doomed"), mode=mode) as client:
            await client.call_tool("ask_owner", {"question": "周几？"})

    asking = asyncio.ensure_future(ask())
    await until(lambda: programs.chat.events(Kind.INQUIRY_ASKED))
    programs.chat.app.keys.revoke("doomed")
    await until(lambda: programs.chat.events(Kind.INQUIRY_CLOSED))
    with pytest.raises((MCPError, ExceptionGroup)):
        await asyncio.wait_for(asking, 10)
    await programs.ended()


async def test_a_line_that_breaks_closes_the_question(programs: Programs, raw: Raw) -> None:
    await programs.chat.say("/memory")
    key = programs.key("gone")
    session = await raw.session(key)
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call"}
    call["params"] = {"name": "ask_owner", "arguments": {"question": "周几？"}}
    asking = asyncio.ensure_future(raw.post(key, call, mcp_session_id=session))
    await until(lambda: programs.chat.events(Kind.INQUIRY_ASKED))
    asking.cancel()
    await until(lambda: programs.chat.events(Kind.INQUIRY_CLOSED))
    await programs.ended()
