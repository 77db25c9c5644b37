"""What stood open in Uncaged is closed here. One test for each door, named after the number of its fault."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from qingtuan.channels.http.front import OPEN, SIGNED
from qingtuan.channels.telegram.adapter import SECRET_HEADER
from qingtuan.events.kinds import Kind
from qingtuan.identity.scopes import Visibility
from qingtuan.messages import Space
from tests.channels.http.conftest import Api
from tests.channels.telegram.test_webhook import free_port, update
from tests.fakes.conversation import Conversation
from tests.fakes.telegram_room import room
from tests.fakes.telegram_wire import post

COMPLETIONS = "/v1/chat/completions"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    api = await Api.open(tmp_path)
    yield api
    await api.close()


async def routes(api: Api) -> list[tuple[str, str]]:
    """All that the interface describes, but for what anybody may see: that it is up, this description, pictures by
    signed links."""
    described: dict[str, dict[str, Any]] = (await api.http.get("/openapi.json")).json()["paths"]
    every = [(method.upper(), path) for path, methods in described.items() for method in methods]
    return [one for one in every if one[1] not in OPEN and not one[1].startswith(SIGNED)]


async def test_13_nothing_is_read_without_a_key(api: Api) -> None:
    """`GET /memory?q=` gave the talks of everybody to whoever asked."""
    guarded = await routes(api)
    assert len(guarded) > 4
    for method, path in guarded:
        answer = await api.http.request(method, path.replace("{", "").replace("}", ""), json={})
        assert answer.status_code == 401, (method, path)
    assert (await api.http.get("/memory?q=a")).status_code in (401, 404)


async def test_13_lists_that_are_empty_let_nobody_in(tmp_path: Path) -> None:
    """A list that was not set let everybody in."""
    async with Conversation(tmp_path, EMBEDDING__MODEL="off") as chat:
        await chat.say("/memory add 存折在书房抽屉")
        assert await chat.say("大家好", "qq:5", Space("group", "qq:777"), addressed=True) == []
        assert await chat.say("我的余额", "qq:5") == ["我只和主人认识的人聊天。"]
        assert "存折" not in str(await chat.say("/memory", "tg:5"))
        assert chat.server.requests == []
        assert not chat.events(Kind.TURN_STARTED)


@pytest.mark.parametrize("headers", [{}, {SECRET_HEADER: ""}, {SECRET_HEADER: "guess"}])
async def test_13_a_webhook_believes_nobody_without_its_secret(tmp_path: Path, headers: dict[str, str]) -> None:
    """It had none: whoever knew the address spoke as the owner."""
    port = free_port()
    address = {"CHANNELS__TELEGRAM__WEBHOOK_URL": f"http://127.0.0.1:{port}/", "SERVER__PORT": str(port)}
    async with room(tmp_path, tools=None, **address) as opened:
        await opened.open()
        await opened.server.wait(lambda: opened.server.webhook)
        assert await post(opened.server.webhook["url"], update("我是主人"), headers) == 401
        assert not opened.heard()
        assert not opened.chat.server.requests


@asynccontextmanager
async def inside() -> AsyncIterator[tuple[int, list[str]]]:
    """A service that only this machine should reach: its port, and who came."""
    visits: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visits.append((await reader.readline()).decode("latin-1"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], visits
    finally:
        server.close()
        await server.wait_closed()


HOSTS = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f000001", "0177.0.0.1", "127.1",
         "169.254.169.254", "0.0.0.0", "metadata.google.internal"]  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
async def test_13_the_address_of_a_picture_leads_to_nothing_inside(api: Api, host: str) -> None:
    """`image_url` of `/chat` fetched whatever it was told to, from inside."""
    async with inside() as (port, visits):
        picture = {"type": "image_url", "image_url": {"url": f"http://{host}:{port}/secret.png"}}
        message = {"role": "user", "content": [{"type": "text", "text": "看"}, picture]}
        await api.post(COMPLETIONS, {"messages": [message]})
        assert visits == []
        assert not api.chat.events(Kind.MEDIA_FETCHED)
        assert b"secret.png" not in b"".join(asked.raw for asked in api.chat.server.requests)


async def test_13_each_key_is_one_persons_sees_so_much_and_ends_alone(api: Api) -> None:
    """One token was for all people and all of it."""
    narrow = api.chat.app.keys.issue("pi", "owner", Visibility.PUBLIC)
    of_nobody = api.chat.app.keys.issue("laptop-of-ming", "ming", Visibility.PRIVATE)
    await api.chat.say("/memory add 存折在书房抽屉")
    for key, sees in ((api.key, True), (narrow, False)):
        await api.say("你知道什么", key=key)
        assert ("书房抽屉" in api.chat.asked.raw.decode()) is sees
    assert (await api.post("/chat", {"message": "你知道什么"}, key=of_nobody)).status_code == 401
    api.chat.app.keys.revoke("laptop")
    assert (await api.get("/v1/models")).status_code == 401
    assert (await api.get("/v1/models", key=narrow)).status_code == 200
