"""A person gets files that they may see where they are, and no others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.events.outbox import outbound
from qingtuan.identity.trust import Risk
from qingtuan.media.remote import Blob
from qingtuan.messages import Attachment, Space
from qingtuan.tools.registry import Provider
from qingtuan.tools.tool import EVERYONE, ToolContext, ToolResult, tool
from tests.fakes.conversation import OWNER, Conversation, remembers
from tests.fakes.model_server import Asked, Reply, call, on_result, on_user, when
from tests.fakes.platform import Platform, left

MEMBER, OTHER = "tg:8", "tg:9"
GROUP, OTHER_GROUP = Space("group", "tg:-100"), Space("group", "tg:-200")
SETTINGS: dict[str, Any] = {"ACCESS__MEMBERS": '["tg:8","tg:9"]', "ACCESS__GROUPS": '["tg:-100","tg:-200"]'}


@tool(risk=Risk.READ, returns="foreign", roles=EVERYONE)
async def fetch_plan(context: ToolContext) -> ToolResult:
    """Bring the plan."""
    del context
    return ToolResult("here", attachments=(Attachment("file", "plan.pdf", "application/pdf", "ab" * 32, 9),))


PROVIDERS: dict[str, Provider] = {"plan": lambda: [fetch_plan]}


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with Conversation(tmp_path, tools=PROVIDERS, **SETTINGS) as chat:
        for channel in ("tg", "cli"):
            chat.app.media.collector.register(
                channel, Platform({"a": Blob("说明".encode(), "说明.txt"), "b": Blob(b"other", "b.txt")})
            )
        yield chat


async def send(chat: Conversation, source: str, by: str = OWNER, space: Space | None = None, caption: str = "") -> Any:
    """Have the model send a file; the attachments of the reply, and what became of the call."""
    arguments = {"source": source, **({"caption": caption} if caption else {})}
    chat.model(
        when(lambda asked: asked.last["role"] == "user", call("send_file", **arguments)), when(any_, Reply("给你。"))
    )
    await chat.say("发给我", by=by, space=space)
    finished = [e.payload for e in chat.events(Kind.TOOL_FINISHED) if e.payload["name"] == "send_file"][-1]
    reply = outbound(chat.events(Kind.MESSAGE_SENT)[-1])
    return [attached.name for attached in reply.attachments], finished["status"], reply.text


def any_(asked: Asked) -> bool:
    return True


async def bring(chat: Conversation, by: str = OWNER, space: Space | None = None, what: str = "a") -> Attachment:
    chat.model(when(any_, Reply("收到。")))
    await chat.say("存着", by=by, space=space, remotes=(left(what),))
    return Attachment(**chat.events(Kind.MEDIA_FETCHED)[-1].payload["attachments"][0])


async def test_a_file_is_found_by_its_name_and_by_its_label(chat: Conversation) -> None:
    kept = await bring(chat)
    for source in ("说明.txt", f"file:{kept.hash[:12]}", kept.hash, f" file:{kept.hash[:8].upper()} "):
        assert await send(chat, source) == (["说明.txt"], "ok", "给你。")


@pytest.mark.parametrize(
    "source",
    ["", "nothing.txt", "file:00000000", "file:", "%", "../state.sqlite", "state.sqlite", "/etc/passwd", ".env"],
)
async def test_nothing_else_is_a_file(chat: Conversation, source: str) -> None:
    await bring(chat)
    names, status, _ = await send(chat, source)
    assert (names, status) == ([], "failed")


async def test_a_caption_goes_along_once(chat: Conversation) -> None:
    await bring(chat)
    assert (await send(chat, "说明.txt", caption="借书证\n说明"))[2] == "给你。\n借书证 说明"
    assert (await send(chat, "说明.txt", caption="给你"))[2] == "给你。"


async def test_files_of_others_do_not_exist(chat: Conversation) -> None:
    kept = await bring(chat, by=OTHER)
    for by in (MEMBER,):
        for source in ("说明.txt", kept.hash):
            assert (await send(chat, source, by=by))[:2] == ([], "failed")
            assert (await send(chat, source, by=by, space=GROUP))[:2] == ([], "failed")
    assert (await send(chat, "说明.txt", by=OTHER))[:2] == (["说明.txt"], "ok")
    assert (await send(chat, "说明.txt"))[:2] == (["说明.txt"], "ok")


async def test_in_a_group_only_what_came_there(chat: Conversation) -> None:
    await bring(chat, by=MEMBER)
    assert (await send(chat, "说明.txt", by=MEMBER, space=GROUP))[:2] == ([], "failed")
    await bring(chat, by=OTHER, space=GROUP, what="b")
    assert (await send(chat, "b.txt", by=MEMBER, space=GROUP))[:2] == (["b.txt"], "ok")
    assert (await send(chat, "b.txt", by=MEMBER, space=OTHER_GROUP))[:2] == ([], "failed")


async def test_what_a_tool_was_not_to_show_a_group_stays_out_of_it(chat: Conversation) -> None:
    (chat.home.media / ("ab" * 32)).write_bytes(b"%PDF-1.7x")
    chat.model(on_user("方案", call("fetch_plan")), on_result("", Reply("好。")))
    await chat.say("方案", space=GROUP)
    assert outbound(chat.events(Kind.MESSAGE_SENT)[-1]).attachments == ()
    assert (await send(chat, "plan.pdf", space=GROUP))[:2] == ([], "failed")
    assert (await send(chat, "plan.pdf"))[0] == ["plan.pdf"]


async def test_a_page_goes_as_a_file_through_the_filter(chat: Conversation) -> None:
    chat.model(on_user("记住", remembers(content="我不吃香菜", value="二楼")), on_result("", Reply("好。")))
    await chat.say("记住我喜欢二楼")
    path = next(page for page in chat.pages() if "users/owner" in page and "图书馆" in chat.page(page))
    names, status, _ = await send(chat, path)
    assert status == "ok"
    kept = outbound(chat.events(Kind.MESSAGE_SENT)[-1]).attachments[0]
    assert names[0].endswith(".md")
    assert "香菜" in chat.app.media.store.read(kept.hash).decode()
    for by, space in ((MEMBER, None), (OWNER, GROUP), (MEMBER, GROUP)):
        assert (await send(chat, path, by=by, space=space))[:2] == ([], "failed")


async def test_a_copy_of_a_page_goes_when_something_is_erased(chat: Conversation) -> None:
    chat.model(on_user("记住", remembers(content="我不吃香菜")), on_result("", Reply("好。")))
    await chat.say("记住我不吃香菜")
    path = next(page for page in chat.pages() if "users/owner" in page and "图书馆" in chat.page(page))
    await send(chat, path)
    copy = outbound(chat.events(Kind.MESSAGE_SENT)[-1]).attachments[0]
    kept = await bring(chat)
    await send(chat, "说明.txt")
    chat.model(when(any_, Reply("好。")))
    await chat.say("/memory purge 1 确认")
    assert chat.events(Kind.BELIEF_PURGED)
    assert not chat.app.media.store.holds(copy.hash)
    assert chat.app.media.store.holds(kept.hash)


async def test_a_file_whose_time_is_over_is_said_to_be_gone(chat: Conversation) -> None:
    kept = await bring(chat)
    chat.clock.advance(timedelta(days=1))
    chat.app.media.store.path(kept.hash).unlink()
    assert (await send(chat, "说明.txt"))[:2] == ([], "failed")
    assert "删掉" in chat.events(Kind.TOOL_FINISHED)[-1].payload["shown"]


async def test_the_table_of_files_is_what_the_events_make_of_it(chat: Conversation) -> None:
    from qingtuan.media.files import project

    await bring(chat)
    await bring(chat, by=MEMBER, what="b")
    database = chat.app.kit.record.log.database
    before = [tuple(row) for row in database.rows("SELECT * FROM media_files ORDER BY event")]
    assert len(before) == 2
    with database.transaction():
        database.execute("DELETE FROM media_files")
        for event in chat.app.kit.record.log.replay():
            project(database, event)
    assert [tuple(row) for row in database.rows("SELECT * FROM media_files ORDER BY event")] == before
