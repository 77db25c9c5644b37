"""What programs read and leave here, by the SDK's own client in both eras of the protocol."""

from __future__ import annotations

import pytest
from mcp.shared.exceptions import MCPError

from qingtuan.events.kinds import Kind
from qingtuan.identity.keys import Grant, Writes
from qingtuan.identity.scopes import Visibility
from qingtuan.messages import Origin, Space
from tests.fakes.conversation import OWNER
from tests.servers.mcp.conftest import Connect
from tests.servers.mcp.program import ALL, Programs, everything, text_of

HOME = Space("private", OWNER)
TOOLS = ["memory_search", "memory_recall", "wiki_read", "remember", "notify_owner", "ask_owner"]


async def test_a_program_reads_what_its_key_may_see(programs: Programs, connect: Connect) -> None:
    chat = programs.chat
    await chat.say("/memory add 我不吃香菜")
    async with connect(programs.key("wide", grant=ALL)) as client:
        assert client.server_info is not None
        assert client.server_info.name == "qingtuan"
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == TOOLS
        assert [tool.name for tool in listed if tool.annotations and tool.annotations.read_only_hint] == TOOLS[:3]
        found = await client.call_tool("memory_search", {"query": "香菜"})
        assert "不吃香菜" in text_of(found)
        assert found.structured_content is not None
        (entry,) = found.structured_content["entries"]
        assert entry["foreign"] is False
        page = await client.call_tool("wiki_read", {"path": entry["path"]})
        assert "不吃香菜" in text_of(page)
        talked = await client.call_tool("memory_recall", {"hours": 24})
        assert talked.structured_content is not None
        assert any("香菜" in line["text"] for line in talked.structured_content["lines"])


async def test_a_key_of_which_nothing_was_said_reads_what_is_public(programs: Programs, connect: Connect) -> None:
    await programs.chat.say("/memory add 我不吃香菜")
    async with connect(programs.key("narrow")) as client:
        for tool, given in (
            ("memory_search", {"query": "香菜"}),
            ("memory_recall", {}),
            ("memory_recall", {"query": "香菜"}),
        ):
            assert "香菜" not in everything(await client.call_tool(tool, given))


async def test_pages_are_resources(programs: Programs, connect: Connect) -> None:
    for topic in ("茶", "书"):
        await programs.chat.say(f"/memory add {topic}：喜欢老的")
    async with connect(programs.key("wide", grant=ALL)) as client:
        listed = await client.list_resources()
        assert listed.next_cursor is None
        assert listed.resources
        assert all(one.uri.startswith("qingtuan://wiki/users/owner/") for one in listed.resources)
        (content,) = (await client.read_resource(listed.resources[0].uri)).contents
        assert "喜欢老的" in content.model_dump()["text"]
        for wrong in ("qingtuan://wiki/users/owner/none.md", "file:///etc/passwd", "qingtuan://wiki/../state.sqlite"):
            with pytest.raises(MCPError):
                await client.read_resource(wrong)
        with pytest.raises(MCPError):
            await client.list_resources(cursor="not ours")
    async with connect(programs.key("narrow")) as client:
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError):
            await client.read_resource(listed.resources[0].uri)


async def test_many_pages_are_listed_a_hundred_at_a_time(programs: Programs, connect: Connect) -> None:
    notes = programs.chat.home.wiki / "shared" / "notes"
    notes.mkdir(parents=True)
    for number in range(250):
        (notes / f"n{number:03}.md").write_text(f"# 第 {number} 页\n\n内容\n", "utf-8")
    await programs.chat.app.remembering.memory.edited(["shared"])
    async with connect(programs.key("narrow")) as client:
        seen: list[str] = []
        cursor, pages = None, 0
        while pages == 0 or cursor is not None:
            listed = await client.list_resources(cursor=cursor)
            seen += [one.name for one in listed.resources]
            cursor, pages = listed.next_cursor, pages + 1
    assert pages == 3
    assert seen == [f"shared/notes/n{number:03}.md" for number in range(250)]


async def test_what_a_program_wants_remembered_waits(programs: Programs, connect: Connect) -> None:
    chat = programs.chat
    async with connect(programs.key("editor")) as client:
        said = await client.call_tool("remember", {"content": "我写代码用四个空格缩进", "topic": "写代码"})
        assert said.structured_content == {"outcome": "handed_over"}
    assert chat.pages() == []
    (proposed,) = chat.events(Kind.BELIEF_PROPOSED)
    assert proposed.origin is Origin.AGENT
    (listed,) = await chat.say("/review")
    assert "四个空格" in listed
    assert "editor" in listed
    await chat.say("/review accept 1")
    assert any("四个空格" in chat.page(path) for path in chat.pages())


async def test_a_key_may_write_at_once_or_not_at_all(programs: Programs, connect: Connect) -> None:
    chat = programs.chat
    direct = programs.key("direct", grant=Grant(Visibility.PUBLIC, Writes.DIRECT))
    async with connect(direct) as client:
        said = await client.call_tool("remember", {"content": "我用深色主题"})
        assert said.structured_content == {"outcome": "noted"}
        # What it wrote is its person's own: it may not read it.
        assert "深色" not in everything(await client.call_tool("memory_search", {"query": "主题"}))
    (path,) = chat.pages()
    assert "深色主题" in chat.page(path)
    assert "记住" in chat.commits()[0]
    async with connect(programs.key("none", grant=Grant(Visibility.PUBLIC, Writes.NONE))) as client:
        assert "remember" not in [tool.name for tool in (await client.list_tools()).tools]
        assert (await client.call_tool("remember", {"content": "我用浅色主题"})).is_error
    assert chat.events(Kind.BELIEF_PROPOSED) == []


async def test_the_owner_is_told_in_their_chat(programs: Programs, connect: Connect) -> None:
    chat = programs.chat
    await chat.say("/memory")
    async with connect(programs.key("builder")) as client:
        said = await client.call_tool("notify_owner", {"text": "构建好了\n全部通过"})
        assert said.structured_content == {"outcome": "queued"}
    (told,) = chat.deliver(HOME)
    assert "builder" in told.splitlines()[0]
    assert "```\n构建好了\n全部通过\n```" in told


async def test_keys_of_others_reach_the_owner_by_none_of_it(programs: Programs, connect: Connect) -> None:
    async with connect(programs.key("theirs", "qq-10002", ALL)) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS[:4]
        for tool, given in (("notify_owner", {"text": "hi"}), ("ask_owner", {"question": "hi?"})):
            assert (await client.call_tool(tool, given)).is_error
        await client.call_tool("remember", {"content": "我喜欢蓝色"})
    (path,) = programs.chat.pages()
    assert path.startswith("users/qq-10002/")
    async with connect(programs.key("guests", "qq-10009", ALL)) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS[:3]
        assert (await client.call_tool("remember", {"content": "我喜欢红色"})).is_error


async def test_the_record_says_who_read_what(programs: Programs, connect: Connect) -> None:
    chat = programs.chat
    await chat.say("/memory add 我不吃香菜")
    secret = "sk-" + "0123456789abcdef" * 2
    async with connect(programs.key("wide", grant=ALL)) as client:
        await client.call_tool("memory_search", {"query": "香菜"})
        await client.call_tool("memory_search", {"query": f"香菜 {secret}"})
        await client.call_tool("memory_search", {"wrong": "x" * 5000})
    called, answered = chat.events(Kind.PROGRAM_CALLED), chat.events(Kind.PROGRAM_ANSWERED)
    assert [event.payload["key"] for event in called] == ["wide"] * 3
    assert [event.payload["tool"] for event in called] == ["memory_search"] * 3
    assert called[0].payload["arguments"] == {"query": "香菜"}
    assert secret not in str(called)
    assert len(str(called[2].payload)) < 1000
    assert [event.cause for event in answered] == [event.id for event in called]
    assert [event.payload["status"] for event in answered] == ["ok", "ok", "failed"]
    assert answered[0].payload["count"] == 1
    assert called[0].place.space == Space("private", "http:wide")


async def test_wrong_arguments_and_tools_are_told_what_is_wanted(programs: Programs, connect: Connect) -> None:
    async with connect(programs.key("narrow")) as client:
        for tool, given in (
            ("memory_search", {}),
            ("memory_search", {"query": "x", "limit": 10_000}),
            ("memory_search", {"query": "x" * 501}),
            ("wiki_read", {"path": 5}),
            ("ask_owner", {"question": "x", "choices": list("abcdefghi")}),
            ("ask_owner", {"question": "  "}),
            ("notify_owner", {"text": "\n \n"}),
            ("nothing", {}),
        ):
            answer = await client.call_tool(tool, given)
            assert answer.is_error, tool
            assert text_of(answer)
