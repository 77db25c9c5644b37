"""The front: who is let in, with how much and how often; whatever comes in, one whole answer goes out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.identity.scopes import Visibility
from tests.channels.http.conftest import SAYS, Api, events_of
from tests.fakes.model_server import Reply, on_user
from tests.fakes.waiting import until

GUARDED = [("POST", "/chat"), ("GET", "/chat"), ("POST", "/v1/chat/completions"), ("GET", "/v1/models"),
           ("GET", "/health/detail"), ("GET", "/chatter"), ("DELETE", "/chat"), ("GET", "/v1/")]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), GUARDED)
@pytest.mark.parametrize(
    "given",
    [{}, {"authorization": ""}, {"authorization": "Bearer"}, {"authorization": "Bearer wrong"},
     {"authorization": "Basic {key}"}, {"authorization": "{key}"}, {"authorization": "Bearer {key}x"},
     {"x-api-key": "{key}"}],
)  # fmt: skip
async def test_without_a_key_nothing_is_there(api: Api, method: str, path: str, given: dict[str, str]) -> None:
    headers = {name: value.format(key=api.key) for name, value in given.items()}
    answer = await api.http.request(method, path, headers=headers, json={"message": "x"})
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_key"
    assert answer.headers["www-authenticate"] == "Bearer"
    assert not api.chat.events(Kind.MESSAGE_RECEIVED)


async def test_two_keys_at_once_are_none(api: Api) -> None:
    headers = [("authorization", f"Bearer {api.key}"), ("authorization", f"Bearer {api.key}")]
    assert (await api.http.get("/v1/models", headers=headers)).status_code == 401


async def test_wrong_keys_are_slowed_down_and_right_ones_pass(api: Api) -> None:
    wrong = {"authorization": "Bearer wrong"}
    statuses = [(await api.http.get("/v1/models", headers=wrong)).status_code for _ in range(22)]
    assert statuses == [401] * 20 + [429] * 2
    # What a header says of where it comes from makes no difference.
    forged = {**wrong, "x-forwarded-for": "203.0.113.9", "forwarded": "for=203.0.113.9"}
    assert (await api.http.get("/v1/models", headers=forged)).status_code == 429
    assert (await api.get("/v1/models")).status_code == 200
    api.chat.clock.advance(timedelta(seconds=61))
    assert (await api.http.get("/v1/models", headers=wrong)).status_code == 401


async def test_a_key_may_ask_so_often_in_a_minute(tmp_path: Any) -> None:
    api = await Api.open(tmp_path, CHANNELS__HTTP__A_MINUTE="3")
    try:
        answers = [await api.get("/v1/models") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert answers[-1].headers["retry-after"]
        other = api.chat.app.keys.issue("phone", "owner", Visibility.PRIVATE)
        assert (await api.get("/v1/models", key=other)).status_code == 200
        api.chat.clock.advance(timedelta(seconds=61))
        assert (await api.get("/v1/models")).status_code == 200
    finally:
        await api.close()


async def test_a_key_may_have_so_many_requests_open(tmp_path: Any) -> None:
    api = await Api.open(tmp_path, CHANNELS__HTTP__AT_ONCE="1")
    try:
        async with api.http.stream("GET", "/chat", headers=api.headers()) as answer:
            await anext(events_of(answer))
            assert (await api.get("/v1/models")).status_code == 429
        await eventually_let_in(api)
    finally:
        await api.close()


async def eventually_let_in(api: Api) -> None:
    for _ in range(200):
        if (await api.get("/v1/models")).status_code == 200:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it stays open")


async def test_revoking_a_key_ends_what_is_open_with_it(api: Api) -> None:
    api.chat.model(on_user("慢", Reply("想好了。", delay=1)), *SAYS)
    async with api.http.stream("GET", "/chat", headers=api.headers()) as attending:
        heard = events_of(attending)
        await anext(heard)
        asking = asyncio.create_task(api.post("/chat", {"message": "慢慢想"}))
        await until(lambda: api.chat.events(Kind.MODEL_REQUESTED))
        api.chat.app.keys.revoke("laptop")
        assert [one async for one in heard] == []
        assert (await asking).status_code == 401
    assert (await api.get("/v1/models")).status_code == 401


async def test_a_key_of_somebody_who_is_gone_opens_nothing(api: Api) -> None:
    hers = api.chat.app.keys.issue("hers", "qq-10002", Visibility.PRIVATE)
    assert (await api.get("/v1/models", key=hers)).status_code == 200
    people = api.chat.home.people_file
    people.write_text('[persons.li]\naccounts = ["qq:10002"]\n', "utf-8")
    assert api.chat.app.kit.people.look()
    # The account is somebody's by now under another id: she is still the same person.
    assert (await api.get("/v1/models", key=hers)).status_code == 200
    assert (await api.post("/chat", {"message": "你好"}, key=hers)).status_code == 403  # a guest


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"null", 400),
        (b'"x"', 400),
        (b"\xff\xfe{}", 400),
        (b'{"message": NaN}', 400),
        (b'{"message": "\\ud800"}', 400),
        (b'{"message": 1}', 400),
        (b'{"message": "x", "stream": "yes"}', 400),
        (b'{"message": "x", "other": 1}', 400),
        (b'{"message": "x", "session": ""}', 400),
        (b'{"message": "x", "session": "a\\nb"}', 400),
        (b'{"message": " "}', 400),
        (b'{"message": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400),
        (b'{"message": "x", "attachments": ' + b'[{"a":' * 400 + b"1" + b"}]" * 400 + b"}", 400),
        (b'{"message": ' + b"9" * 10_000 + b"}", 400),
        (json.dumps({"message": "x" * 200_001}).encode(), 400),
        (json.dumps({"message": "a\0b\x1b[31m\u202e"}).encode(), 200),
        (json.dumps({"message": "x", "attachments": [{"data": "data:,x"}] * 11}).encode(), 400),
    ],
)
@pytest.mark.parametrize("path", ["/chat", "/v1/chat/completions"])
async def test_whatever_comes_in_an_answer_goes_out(api: Api, path: str, body: bytes, status: int) -> None:
    headers = {**api.headers(), "content-type": "application/json"}
    answer = await api.http.post(path, content=body, headers=headers)
    assert answer.status_code == (status if path == "/chat" else 400)
    if answer.status_code != 200:
        error = answer.json()["error"]
        assert error["code"] == "invalid_request"
        assert error["message"]
        assert ("type" in error) is path.startswith("/v1")
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_bodies_have_a_limit_and_are_json(tmp_path: Any) -> None:
    api = await Api.open(tmp_path, CHANNELS__HTTP__BODY_MB="1")
    try:
        headers = {**api.headers(), "content-type": "application/json"}
        large = b'{"message": "' + b"x" * 1024 * 1024 + b'"}'
        assert (await api.http.post("/chat", content=large, headers=headers)).status_code == 413

        async def pieces() -> Any:
            for _ in range(20):
                yield b"x" * 100_000

        assert (await api.http.post("/chat", content=pieces(), headers=headers)).status_code == 413
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
            answer = await api.http.post("/chat", content=b"{}", headers={**headers, "content-type": kind})
            assert answer.status_code == 415
    finally:
        await api.close()


async def test_a_body_that_never_comes_is_given_up(api: Api) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", api.entries.address[1] if api.entries.address else 0)
    head = f"POST /chat HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {api.key}\r\n"
    writer.write(f"{head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{{".encode())
    await writer.drain()
    for _ in range(20):
        await asyncio.sleep(0.01)
    api.chat.clock.advance(timedelta(seconds=31))
    assert b"408" in await reader.readline()
    writer.close()


@pytest.mark.parametrize("path", ["/chat", "/v1/models", "/health", "/docs"])
async def test_no_page_of_elsewhere_may_ask(api: Api, path: str) -> None:
    preflight = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    for method in ("OPTIONS", "HEAD") if path == "/chat" else ("OPTIONS", "GET"):
        answer = await api.http.request(method, path, headers={**api.headers(), **preflight})
        assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_health_says_no_more_than_that_it_is_up(api: Api) -> None:
    assert (await api.http.get("/health")).json() == {"status": "up"}


async def test_how_each_channel_is_is_told_to_the_owners_whole_key_only(api: Api) -> None:
    detail = (await api.get("/health/detail")).json()
    assert {"name": "http", "state": "connected"}.items() <= next(
        one for one in detail["channels"] if one["name"] == "http"
    ).items()
    narrow = api.chat.app.keys.issue("narrow", "owner", Visibility.OWN)
    others = api.chat.app.keys.issue("others", "qq-10002", Visibility.PRIVATE)
    for key in (narrow, others):
        assert (await api.get("/health/detail", key=key)).status_code == 403


async def test_the_page_fetches_nothing(api: Api) -> None:
    page = await api.http.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for part in ("src=", "<script", "@import", "url(", "//"):
        assert part not in page.text.replace("http://", "").replace("https://", ""), part
    assert "`" not in page.text
    assert "<code>attachments[].data</code>" in page.text
    assert f"curl -sS {str(api.http.base_url).rstrip('/')}/chat" in page.text
    assert "POST /v1/chat/completions" in page.text


async def test_a_websocket_is_turned_away(api: Api) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", api.entries.address[1] if api.entries.address else 0)
    writer.write(
        b"GET /chat HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n"
    )
    await writer.drain()
    assert b"403" in await reader.readline()
    writer.close()


async def test_what_breaks_is_an_answer_too(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: Any, **__: Any) -> Callable[..., Any]:
        raise RuntimeError("a secret of ours")

    monkeypatch.setattr(api.chat.app.kit.people, "reader", breaks)
    answer = await api.post("/chat", {"message": "你好"})
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "broken"
    assert "secret" not in answer.text
