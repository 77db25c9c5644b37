"""Files go when their time is over, but for what a page, an entry, a question or a message that waits needs."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from qingtuan.app.media import Clearing
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.events.outbox import Draft
from qingtuan.identity.trust import Risk
from qingtuan.media.remote import Blob
from qingtuan.messages import Attachment, Space
from qingtuan.tools.registry import Provider
from qingtuan.tools.tool import EVERYONE, ToolContext, ToolResult, tool
from tests.fakes.conversation import OWNER, Conversation, remembers
from tests.fakes.model_server import Reply, call, on_result, on_user, when
from tests.fakes.platform import Platform, left


@tool(risk=Risk.ACT, returns="own", roles=EVERYONE)
async def publish(context: ToolContext, what: str) -> ToolResult:
    """Publish something."""
    del context
    return ToolResult(what)


PROVIDERS: dict[str, Provider] = {"publish": lambda: [publish]}


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with Conversation(tmp_path, tools=PROVIDERS) as chat:
        yield chat


async def bring(chat: Conversation, text: str, *, words: str = "存着", rules: Any = ()) -> str:
    chat.app.media.collector.register("cli", Platform({"x": Blob(text.encode(), f"{text}.txt")}))
    chat.model(*rules, when(lambda _: True, Reply("好。")))
    await chat.say(words, remotes=(left("x"),))
    return str(chat.events(Kind.MEDIA_FETCHED)[-1].payload["attachments"][0]["hash"])


def clear(chat: Conversation) -> set[str]:
    for path in chat.home.media.iterdir():
        os.utime(path, (0, 0))
    Clearing(chat.home, chat.app.media, chat.app.kit, 30).clear()
    return {path.name for path in chat.home.media.iterdir()}


async def test_what_nobody_needs_goes(chat: Conversation) -> None:
    await bring(chat, "plain")
    assert clear(chat) == set()


async def test_what_is_fresh_stays(chat: Conversation) -> None:
    kept = await bring(chat, "plain")
    moment = chat.clock.now().timestamp()
    os.utime(chat.app.media.store.path(kept), (moment, moment))
    Clearing(chat.home, chat.app.media, chat.app.kit, 30).clear()
    assert chat.app.media.store.holds(kept)


async def test_what_a_page_names_stays(chat: Conversation) -> None:
    whole, short, _ = await bring(chat, "whole"), await bring(chat, "short"), await bring(chat, "neither")
    page = chat.home.wiki / "users" / "owner" / "notes" / "a.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f"# 存着的\n\n{whole}\n图 file:{short[:12]}\n", "utf-8")
    assert clear(chat) == {whole, short}


async def test_what_an_entry_was_said_with_stays(chat: Conversation) -> None:
    rules = (on_user("记住", remembers(content="我喜欢二楼", value="二楼")), on_result("", Reply("好。")))
    kept = await bring(chat, "seat", words="记住我喜欢二楼", rules=rules)
    await chat.say("/confirm")
    assert any("二楼" in chat.page(path) for path in chat.pages())
    assert kept in clear(chat)


async def test_what_an_open_question_is_about_stays(chat: Conversation) -> None:
    rules = (on_user("发布", call("publish", what="那个文件")), on_result("", Reply("等你。")))
    kept = await bring(chat, "poster", words="发布这个", rules=rules)
    assert chat.app.kit.book.open()
    assert clear(chat) == {kept}
    await chat.say("取消")
    assert clear(chat) == set()


async def test_what_waits_to_be_sent_stays(chat: Conversation) -> None:
    kept = chat.app.media.store.put(b"to be sent", "a.txt")
    place = Place(None, Space("private", OWNER))
    chat.app.kit.record.outbox.put(
        Draft("cli", "给你", attachments=(Attachment("file", "a", "a/b", kept.hash, 3),)), place
    )
    assert clear(chat) == {kept.hash}
    chat.deliver(Space("private", OWNER))
    assert clear(chat) == set()
