"""`/mcp login`: by the owner, in private, in words that say where it leads."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from qingtuan.messages import Space
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.library import configure
from tests.fakes.mcp_servers.guarded import guarded
from tests.fakes.waiting import until


async def test_the_owner_logs_in_by_a_command(tmp_path: Path) -> None:
    with guarded() as server:
        chat = Conversation(tmp_path, EMBEDDING__MODEL="off")
        configure(chat.home, cloud={"url": server.url})
        async with chat:
            await chat.app.servers.tried(60)
            assert "/mcp login cloud" in (await chat.say("/mcp"))[0]
            (told,) = await chat.say("/mcp login cloud")
            assert "在 127.0.0.1。" in told
            address = told.splitlines()[1]
            async with httpx2.AsyncClient() as browser:
                back = (await browser.get(address, follow_redirects=False)).headers["location"]
            (wrong,) = await chat.say("/mcp login cloud http://127.0.0.1/callback?code=x&state=y")
            assert "不是这次登录" in wrong
            assert "收到了" in (await chat.say(f"/mcp login cloud {back}"))[0]
            await until(lambda: "cloud__send" in [tool.name for tool in chat.app.catalog.registry])
            await until(lambda: chat.app.kit.record.outbox.unfinished())
            assert chat.deliver(Space("private", OWNER)) == ["cloud 登录好了，可以用了。"]


@pytest.mark.parametrize("by", ["qq:10002"])
async def test_nobody_else_logs_in(tmp_path: Path, by: str) -> None:
    with guarded() as server:
        chat = Conversation(tmp_path, EMBEDDING__MODEL="off", ACCESS__MEMBERS='["qq:10002"]')
        configure(chat.home, cloud={"url": server.url})
        async with chat:
            await chat.app.servers.tried(60)
            (told,) = await chat.say("/mcp login cloud", by)
            assert "http" not in told
            assert server.registered == []
