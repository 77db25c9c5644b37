"""Where the SDK is not installed, a sentence says so; nothing else is missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.a2a_client import agent
from qingtuan.servers.a2a import entry
from tests.fakes.a2a_agent import Colleague
from tests.fakes.agents import Asked
from tests.fakes.asking import Asking


async def test_who_asks_is_told(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "installed", lambda: False)
    said = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "在吗"}]}
    answer = await asked.rpc("SendMessage", {"message": said})
    assert "qingtuan[a2a]" in answer["error"]["message"]
    [health] = [one for one in asked.entries.health() if one.name == "a2a"]
    assert health.state == "off"
    assert health.words is not None
    asked.chat.app.keys.revoke("doudou")
    [health] = [one for one in asked.entries.health() if one.name == "a2a"]
    assert not health.broken


async def test_the_owner_is_told_where_nobody_can_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "installed", lambda: False)
    async with Colleague() as colleague:
        chat = Asking(tmp_path, colleague.url)
        async with chat:
            assert "qingtuan[a2a]" in await chat.ask("周三谁有空")
