"""What comes with the product: there without a yes, in nobody's way, and the owner's to switch off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.capabilities.ledger import By
from qingtuan.events.kinds import Kind
from qingtuan.identity.scopes import Reader, Role
from qingtuan.identity.trust import Risk
from qingtuan.messages import Space
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import call, on_result, on_user

OWNER_BY = By(sure=True)
GUEST = Reader("qq-10002", Role.GUEST, Space("private", "qq:10002"))


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with Conversation(tmp_path) as chat:
        yield chat


async def test_they_are_there_and_nothing_was_written_for_that(chat: Conversation) -> None:
    names = [held.name for held in chat.app.capabilities.all()]
    assert {"sha256_hash", "unit_convert", "currency_convert"} <= set(names)
    assert chat.events(Kind.CAPABILITY_DEPLOYED, Kind.CAPABILITY_STORED) == []
    assert not (chat.home.path / "capabilities" / ".git").exists()


async def test_no_request_carries_one_before_it_is_searched_for(chat: Conversation) -> None:
    chat.model(
        on_user("SHA256", call("capability_search", query="SHA256 哈希")),
        on_result("- sha256_hash", call("sha256_hash", text="hello")),
        on_result("2cf24dba", "算好了。"),
    )
    await chat.say("你好")
    assert "sha256_hash" not in chat.asked.tools
    assert await chat.say("帮我算个 hello 的 SHA256") == ["算好了。"]
    assert "sha256_hash" in chat.asked.tools


@pytest.mark.parametrize(
    ("wish", "name"),
    [
        ("算一下 hello 的 MD5", "sha256_hash"),
        ("base64 解码这一串", "text_encoding"),
        ("100 美元是多少人民币", "currency_convert"),
        ("1700000000 这个时间戳是什么时候", "timestamp_convert"),
        ("三斤是多少公斤", "unit_convert"),
        ("how much is 5 miles in kilometres", "unit_convert"),
        ("exchange rate of the euro", "currency_convert"),
        ("decode this URL", "text_encoding"),
    ],
)
async def test_both_languages_find_them(chat: Conversation, wish: str, name: str) -> None:
    owner = chat.app.kit.people.reader("cli:local", Space("private", "cli:local"))
    found = await chat.app.catalog.find(wish, owner, 3)
    assert name in [tool.name for tool in found]


async def test_who_may_use_which(chat: Conversation) -> None:
    registry = chat.app.catalog.registry
    tools = {tool.name: tool for tool in registry if tool.name in ("sha256_hash", "currency_convert")}
    assert all(tool.risk is Risk.READ for tool in tools.values())
    assert registry.find("sha256_hash", GUEST) is not None
    # What sends something out is the owner's, as everything of the kind is, and asks as such things do.
    assert registry.find("currency_convert", GUEST) is None
    assert (tools["sha256_hash"].sends_out, tools["currency_convert"].sends_out) == (False, True)


async def test_what_the_owner_decides_outlives_a_restart(chat: Conversation) -> None:
    await chat.app.capabilities.disable("unit_convert", OWNER_BY)
    await chat.app.capabilities.delete("sha256_hash", OWNER_BY)
    await chat.restart()
    names = {tool.name for tool in chat.app.catalog.registry}
    assert not {"unit_convert", "sha256_hash"} & names
    assert [held.off for held in chat.app.capabilities.all() if held.name == "unit_convert"] == [True]
    assert "sha256_hash" not in [held.name for held in chat.app.capabilities.all()]
    await chat.app.capabilities.enable("unit_convert", OWNER_BY)
    await chat.app.capabilities.enable("sha256_hash", OWNER_BY)
    assert {"unit_convert", "sha256_hash"} <= {tool.name for tool in chat.app.catalog.registry}


async def test_a_setting_switches_them_off(tmp_path: Path) -> None:
    async with Conversation(tmp_path, TOOLS__OFF='["*_convert"]') as chat:
        assert not [tool.name for tool in chat.app.catalog.registry if tool.name.endswith("_convert")]
