"""A program whose key reads what is public gets nothing else: by no tool, no page, no error, no count."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from qingtuan.events.kinds import Kind
from qingtuan.identity.keys import Grant, Writes
from qingtuan.identity.scopes import Visibility
from tests.security import planted
from tests.security.planted import GROUP, LI, OWNERS, PUBLIC, SHARED, SISTER_GROUP
from tests.servers.mcp.program import ALL, Programs, connected, everything

NARROW = Grant(Visibility.PUBLIC, Writes.REVIEW)
QUERIES = (
    "雀鸟",
    "雀鸟01",
    "余额 卡号",
    "家事",
    "家常",
    "主人叫什么",
    "最近聊了什么",
    "密码",
    "address phone",
    "*",
    "规矩",
    "项目",
)


@pytest.fixture
async def programs(tmp_path: Path) -> AsyncIterator[Programs]:
    async with Programs(tmp_path, planted.conversation(tmp_path, port="0")) as programs:
        await planted.plant(programs.chat)
        yield programs


async def all_that(client: Client, programs: Programs) -> str:
    """All that a program can get hold of, as text."""
    seen = [await client.list_tools(), await client.list_resources(), await client.list_resource_templates()]
    texts = [json.dumps(one.model_dump(mode="json"), ensure_ascii=False) for one in seen]

    async def call(tool: str, **given: Any) -> None:
        texts.append(everything(await client.call_tool(tool, given)))

    for query in QUERIES:
        await call("memory_search", query=query, limit=20)
        await call("memory_search", query=query, as_of="2026")
        await call("memory_recall", query=query, limit=50)
    await call("memory_recall", limit=50)
    await call("memory_recall", hours=24 * 365, limit=50)
    for contact in ("owner", "cli:local", "qq:10001", "qq:10002", "writer", str(GROUP)):
        await call("memory_recall", contact=contact)
    pages = programs.chat.pages()
    for path in (*pages, "shared/rules.md", "../state.sqlite", "users/owner/", "users/owner/../owner/a.md"):
        await call("wiki_read", path=path)
        with suppress(MCPError):
            texts.append((await client.read_resource(f"qingtuan://wiki/{path}")).model_dump_json())
    await call("remember", content="主人的卡号是多少")
    await call("ask_owner", question="你的卡号？", choices=["a"] * 99)
    await call("wiki_read", path=5)
    return "\n".join(texts)


async def test_no_mark_comes_to_light(programs: Programs) -> None:
    for mode in ("legacy", "auto"):
        async with connected(programs.url, programs.key(f"narrow-{mode}", grant=NARROW), mode=mode) as client:
            texts = await all_that(client, programs)
        assert {mark for mark in OWNERS | {LI, SISTER_GROUP} if mark in texts} == set()
        # What is for everybody was found, so the attempts did reach the memory.
        assert PUBLIC in texts
        assert SHARED in texts


async def test_a_key_of_somebody_else_is_theirs(programs: Programs) -> None:
    async with connected(programs.url, programs.key("li", "qq-10002", ALL)) as client:
        texts = await all_that(client, programs)
    assert LI in texts
    assert {mark for mark in OWNERS if mark in texts} == set()


async def test_a_wide_key_of_the_owner_sees_them(programs: Programs) -> None:
    """Without this, the silence above would prove nothing."""
    async with connected(programs.url, programs.key("wide", grant=ALL)) as client:
        texts = await all_that(client, programs)
    assert len({mark for mark in OWNERS if mark in texts}) > 10


async def test_what_is_hidden_and_what_is_not_there_are_answered_alike(programs: Programs) -> None:
    """By no text, count, outcome or error can it be told whether there is something."""
    hidden = next(path for path in programs.chat.pages() if path.startswith("users/owner/"))
    known = next(iter(programs.chat.events(Kind.BELIEF_WRITTEN))).payload["text"]
    async with connected(programs.url, programs.key("narrow", grant=NARROW)) as client:

        async def said(tool: str, **given: Any) -> str:
            return everything(await client.call_tool(tool, given))

        none = await said("wiki_read", path="users/owner/none.md")
        assert await said("wiki_read", path=hidden) == none
        errors = []
        for path in (hidden, "users/owner/none.md"):
            with pytest.raises(MCPError) as caught:
                await client.read_resource(f"qingtuan://wiki/{path}")
            errors.append((caught.value.code, caught.value.message))
        assert errors[0] == errors[1]
        # What is known already, what is new and what was said no to.
        assert await said("remember", content=known) == await said("remember", content="这件事没有人说过")
        await programs.chat.say("/review reject 1")
        assert await said("remember", content="这件事没有人说过") == await said("remember", content="那件事也没有")
        assert await said("memory_recall", contact="qq:10002") != ""
        assert (await said("memory_recall", contact="qq:10003")).replace("10003", "N") == (
            await said("memory_recall", contact="qq:19999")
        ).replace("19999", "N")
