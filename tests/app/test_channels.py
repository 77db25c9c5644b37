"""The channels of an instance: what has no token is called by nobody, wherever the server listens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from qingtuan.app.channels import channels_of
from tests.fakes.conversation import Conversation


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize("token", ["", "  "])
async def test_without_a_token_nobody_is_let_in(tmp_path: Path, host: str, token: str) -> None:
    environ: dict[str, Any] = {
        "SERVER__HOST": host,
        "SERVER__PORT": "0",
        "CHANNELS__ONEBOT__ACCESS_TOKEN": token,
        "CHANNELS__ONEBOT__URLS": '["ws://127.0.0.1:9"]',
    }
    async with Conversation(tmp_path, **environ) as chat, channels_of(chat.app) as entries:
        assert "onebot" in entries.failed
        assert "access_token" in entries.failed["onebot"].words.en
        assert not [path for path in entries.routes if "onebot" in path]
        assert entries.address is not None
        base = f"http://127.0.0.1:{entries.address[1]}"
        upgrade = {
            "upgrade": "websocket",
            "connection": "upgrade",
            "sec-websocket-version": "13",
            "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
            "x-self-id": "10000",
            "x-client-role": "Universal",
        }
        async with httpx.AsyncClient(trust_env=False) as http:
            assert (await http.get(f"{base}/onebot/v11/ws", headers=upgrade)).status_code == 403
            assert (await http.get(f"{base}/health")).status_code == 200
        states = {one.name: one.state for one in entries.health()}
        assert (states["onebot"], states["http"]) == ("off", "connected")


async def test_a_server_that_cannot_listen_keeps_nothing_else_from_running(tmp_path: Path) -> None:
    async with Conversation(tmp_path, SERVER__HOST="192.0.2.1") as chat, channels_of(chat.app) as entries:
        assert set(entries.failed) == {"server"}
        assert entries.address is None
        (http,) = (one for one in entries.health() if one.name == "http")
        assert http.state == "off"
        assert http.words == entries.failed["server"].words
        assert await chat.app.desk.recover() == 0
