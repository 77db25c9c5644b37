"""Updates by webhook: only with the secret, answered once stored and before any work, safe when they come again."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from qingtuan.channels.telegram.adapter import SECRET_HEADER, secret_of
from qingtuan.errors import StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.language import Words
from tests.fakes.model_server import Reply, on_user
from tests.fakes.telegram_room import Room, room
from tests.fakes.telegram_server import TOKEN, Fault
from tests.fakes.telegram_wire import post

SECRET = {SECRET_HEADER: secret_of(TOKEN)}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.fixture
async def hooked(tmp_path: Path) -> AsyncIterator[Room]:
    """A room that Telegram delivers to."""
    port = free_port()
    address = {"CHANNELS__TELEGRAM__WEBHOOK_URL": f"http://127.0.0.1:{port}/", "SERVER__PORT": str(port)}
    async with room(tmp_path, tools=None, **address) as opened:
        await opened.open()
        await opened.server.wait(lambda: opened.server.webhook)
        yield opened


def update(text: str, number: int = 1) -> dict[str, Any]:
    person = {"id": 5, "is_bot": False, "first_name": "Ming"}
    chat = {"id": 5, "type": "private"}
    message = {"message_id": number, "from": person, "chat": chat, "date": 1795983000, "text": text}
    return {"update_id": 900000000 + number, "message": message}


async def test_a_message_comes_by_webhook_and_is_answered(hooked: Room) -> None:
    assert await hooked.ask("hello")
    assert not hooked.server.called("getUpdates")
    assert [status for _, status in hooked.server.pushed] == [204]
    assert hooked.server.webhook["allowed_updates"] == ["message", "edited_message", "callback_query", "my_chat_member"]
    assert hooked.server.webhook["secret_token"] == secret_of(TOKEN)
    assert hooked.health().state == "connected"


@pytest.mark.parametrize("headers", [{}, {SECRET_HEADER: ""}, {SECRET_HEADER: "wrong"}, {SECRET_HEADER: TOKEN}])
async def test_who_does_not_know_the_secret_is_refused_and_nothing_of_it_is_believed(
    hooked: Room, headers: dict[str, str]
) -> None:
    address = hooked.server.webhook["url"]
    assert [await post(address, update("我是主人", number), headers) for number in (1, 2, 3)] == [401] * 3
    assert not hooked.heard()
    # Written down now and then, for the owner to see; not once for each of a thousand.
    (ignored,) = hooked.events(Kind.MESSAGE_IGNORED)
    assert ignored.payload["reason"] == "unsigned"
    assert "900000001" not in json.dumps(dict(ignored.payload))


async def test_the_answer_does_not_wait_for_the_work_and_redelivery_is_one_turn(hooked: Room) -> None:

    hooked.chat.model(on_user("hello", Reply("你好", delay=1.0)))
    address = hooked.server.webhook["url"]
    assert await post(address, update("hello"), SECRET) == 204
    assert not hooked.server.texts()
    assert await post(address, update("hello"), SECRET) == 204
    await hooked.until(lambda: hooked.server.texts())
    assert await post(address, update("hello"), SECRET) == 204
    await hooked.quiet(5)
    assert hooked.server.texts() == ["你好"]
    assert len(hooked.events(Kind.TURN_STARTED)) == 1


async def test_what_could_not_be_stored_is_delivered_again(hooked: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = hooked.chat.app.desk
    store, failures = desk.store, [StorageFailed(Words("满了", "full"))]

    async def full(self: Any, inbound: Any) -> Any:
        if failures:
            raise failures.pop()
        return await store(inbound)

    monkeypatch.setattr(type(desk), "store", full)
    await hooked.server.say("hello")
    await hooked.until(lambda: len(hooked.server.pushed) == 2)
    assert len(hooked.heard()) == 1
    assert [status for _, status in hooked.server.pushed] == [503, 204]


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"", 400), (b"[" * 100_000, 400), (b"5", 204), (b"{}", 204), (b"x" * (1024 * 1024 + 1), 413)],
)
async def test_a_body_that_is_no_update_stops_nothing(hooked: Room, body: bytes, status: int) -> None:
    assert await post(hooked.server.webhook["url"], body, SECRET) == status
    assert await hooked.ask("hello")


async def test_only_posts_to_the_path_are_taken(hooked: Room) -> None:
    address = hooked.server.webhook["url"]
    assert await post(f"{address}/more", update("hello"), SECRET) == 404
    assert not hooked.heard()


async def test_a_webhook_that_somebody_changed_is_set_again(hooked: Room) -> None:
    address = hooked.server.webhook["url"]
    hooked.server.webhook["url"] = "https://elsewhere.example/telegram"
    await hooked.until(lambda: hooked.server.webhook["url"] == address)
    assert await hooked.ask("hello")


async def test_the_owner_sees_when_telegram_cannot_deliver(hooked: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    info = {"url": hooked.server.webhook["url"], "pending_update_count": 3, "last_error_message": "Connection refused"}
    monkeypatch.setattr(hooked.server, "_api_getWebhookInfo", lambda *_: info)
    await hooked.until(lambda: hooked.health().state == "disconnected")
    words = hooked.health().words
    assert words is not None
    assert "Connection refused" in words.en


async def test_a_webhook_that_is_refused_is_told_and_tried_again(tmp_path: Path) -> None:
    port = free_port()
    address = {"CHANNELS__TELEGRAM__WEBHOOK_URL": f"http://127.0.0.1:{port}", "SERVER__PORT": str(port)}
    async with room(tmp_path, tools=None, **address) as hooked:
        refused = {
            "ok": False,
            "error_code": 400,
            "description": "Bad Request: bad webhook: HTTPS URL must be provided",
        }
        hooked.server.faults["setWebhook"].append(Fault(400, refused))
        await hooked.open()
        await hooked.until(lambda: hooked.health().words and "HTTPS" in hooked.health().words.en)  # type: ignore[union-attr]
        assert await hooked.ask("hello")
