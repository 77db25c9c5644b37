"""capabilities.md: a server with 300 tools costs nothing until one of them is needed; then it is found and called."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.fakes.conversation import Conversation
from tests.fakes.library import configure
from tests.fakes.model_server import call, on_result, on_user, without_tools

SERVER = """
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("many")
for number in range(300):
    name = "water_plants" if number == 222 else f"gadget_{number}"
    about = "Water the plants on the balcony." if number == 222 else f"Switch gadget number {number}."
    server.add_tool(lambda: "done", name=name, description=about, annotations=ToolAnnotations(read_only_hint=True))
server.run()
"""


async def test_three_hundred_tools_cost_nothing_until_one_is_needed(tmp_path: Path) -> None:
    program = tmp_path / "many.py"
    program.write_text(SERVER, "utf-8")
    chat = Conversation(tmp_path)
    chat.model(
        on_user("浇", call("capability_search", query="给阳台的植物浇水", limit=5)),
        on_result("可以直接调用", call("many__water_plants")),
        on_result("done", "浇好了。"),
    )
    async with chat:
        await chat.say("你好")
        alone = len(chat.asked.raw)
    configure(chat.home, many={"command": sys.executable, "args": [str(program)], "trusted": True, "returns": "own"})
    async with chat:
        await chat.app.servers.tried(60)
        assert len(chat.app.catalog.registry) > 300
        await chat.say("你好", session="another")
        assert len(chat.asked.raw) == alone
        assert await chat.say("帮我给阳台的花浇浇水") == ["浇好了。"]
        first, found, _ = chat.server.requests[-3:]
        assert "many__water_plants" in found.tools
        assert len(found.tools) == len(first.tools) + 5


async def test_what_was_found_leaves_with_the_talk_that_brought_it_and_comes_back_when_it_is_needed(
    tmp_path: Path,
) -> None:
    program = tmp_path / "many.py"
    program.write_text(SERVER, "utf-8")
    chat = Conversation(
        tmp_path,
        EMBEDDING__MODEL="off",
        MEMORY__MAX_STORED="6",
        MEMORY__KEEP_RECENT="2",
        MEMORY__BATCH="4",
        MEMORY__MIN_SOURCE="2",
    )
    configure(chat.home, many={"command": sys.executable, "args": [str(program)], "trusted": True, "returns": "own"})
    chat.model(
        without_tools("- 用户聊了浇花和闲话\n- 没有要办的事"),
        on_user("浇", call("capability_search", query="water plants", limit=1)),
        on_result("可以直接调用", "找到了。"),
    )
    async with chat:
        await chat.say("帮我浇花")
        await chat.say("先聊点别的")
        assert "many__water_plants" in shown(chat)
        for number in range(4):
            await chat.say(f"闲聊第 {number} 句")
            await chat.done()
        await chat.say("再聊一句")
        without = shown(chat)
        assert "many__water_plants" not in without
        assert "many__water_plants" in [tool.name for tool in chat.app.catalog.registry]
        await chat.say("再帮我浇花")
        assert shown(chat) == [*without, "many__water_plants"]
        await chat.restart()
        await chat.say("还在吗")
        assert shown(chat) == [*without, "many__water_plants"]


def shown(chat: Conversation) -> list[str]:
    """The tools of the last request that was not made beside the talk."""
    return next(asked.tools for asked in reversed(chat.server.requests) if asked.tools)
