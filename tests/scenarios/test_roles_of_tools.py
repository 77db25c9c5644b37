"""identity.md: whoever may not use a tool neither finds nor calls it, wherever it comes from, and cannot tell it from
one that does not exist."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from qingtuan.capabilities.sandbox.engine import find_program
from qingtuan.events.kinds import Kind
from qingtuan.identity.scopes import Role
from qingtuan.identity.trust import Risk
from qingtuan.messages import Space
from qingtuan.tools.tool import EVERYONE, MEMBERS, OWNER_ONLY, Tool
from tests.fakes.a2a_agent import Colleague
from tests.fakes.capability_world import OWNER, adder
from tests.fakes.conversation import Conversation
from tests.fakes.library import configure
from tests.fakes.model_server import Asked, Reply, ToolCall, on_result, on_user, without_tools
from tests.fakes.turns import tool_of

GROUP = Space("group", "qq:777")
PEOPLE = {Role.OWNER: "qq:10001", Role.MEMBER: "qq:10002", Role.GUEST: "qq:10009"}
SERVER = """
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("garden")
for name in ("water_level", "dew_point"):
    about = f"Tell the {name} of the garden."
    server.add_tool(lambda: "done", name=name, description=about, annotations=ToolAnnotations(read_only_hint=True))
server.run()
"""


@dataclass(frozen=True)
class Row:
    """A tool, who may use it, and with which arguments."""

    kind: str
    name: str
    roles: frozenset[Role]
    arguments: Mapping[str, Any]


TABLE = (
    Row("built in", "tide_table", EVERYONE, {}),
    Row("built in", "harbour_log", MEMBERS, {}),
    Row("built in", "vault_list", OWNER_ONLY, {}),
    Row("built in, granted", "ferry_times", MEMBERS, {}),
    Row("shipped", "sha256_hash", EVERYONE, {"text": "a"}),
    Row("self-made", "adder", OWNER_ONLY, {"a": 1, "b": 2}),
    Row("self-made, granted", "adder_granted", MEMBERS, {"a": 1, "b": 2}),
    Row("MCP", "garden__water_level", OWNER_ONLY, {}),
    Row("MCP, granted", "garden__dew_point", MEMBERS, {}),
    Row("agent", "ask_doudou", OWNER_ONLY, {"message": "你好"}),
    Row("agent, granted", "ask_maomao", MEMBERS, {"message": "你好"}),
    Row("makes tools", "capability_create", OWNER_ONLY, {"name": "x"}),
    Row("does not exist", "ghost_tool", frozenset(), {}),
)


def built_in() -> list[Tool]:
    async def run(*_: object) -> str:
        return "好"

    given = (
        ("tide_table", EVERYONE),
        ("harbour_log", MEMBERS),
        ("vault_list", OWNER_ONLY),
        ("ferry_times", OWNER_ONLY),
    )
    return [tool_of(name, run, risk=Risk.READ, core=False, roles=roles) for name, roles in given]


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    program = tmp_path / "garden.py"
    program.write_text(SERVER, "utf-8")
    granted = [row.name for row in TABLE if "granted" in row.kind]
    async with Colleague() as colleague:
        known = {name: {"url": colleague.url, "about": "订教室"} for name in ("doudou", "maomao")}
        chat = Conversation(
            tmp_path,
            tools={"harbour": built_in},
            OWNER__ACCOUNTS=f'["{PEOPLE[Role.OWNER]}"]',
            ACCESS__MEMBERS=f'["{PEOPLE[Role.MEMBER]}"]',
            ACCESS__GROUPS='["qq:777"]',
            ACCESS__TOOLS=json.dumps(dict.fromkeys(granted, "member")),
            AGENTS__KNOWN=json.dumps(known),
            EMBEDDING__MODEL="off",
        )
        configure(chat.home, garden={"command": sys.executable, "args": [str(program)]})
        async with chat:
            for name in ("adder", "adder_granted"):
                await chat.app.capabilities.deploy(adder(name, code=ADDS), OWNER)
            await chat.app.servers.tried(60)
            yield chat


ADDS = "export default (input) => input.a + input.b"


def wanted(asked: Asked) -> Row:
    """What the person asked for last."""
    return next(row for row in TABLE if asked.text_of("user") == f"用 {row.name} 办")


def searches(asked: Asked) -> Reply:
    return Reply(calls=(ToolCall("capability_search", {"query": wanted(asked).name, "limit": 20}),))


def calls_it(asked: Asked) -> Reply:
    """Found or not."""
    return Reply(calls=(ToolCall(wanted(asked).name, wanted(asked).arguments),))


@pytest.mark.skipif(find_program() is None, reason="the engine of the sandbox is not installed")
@pytest.mark.parametrize("role", list(Role))
async def test_whatever_kind_it_is_only_who_may_use_it_finds_and_calls_it(chat: Conversation, role: Role) -> None:
    chat.model(
        without_tools("[]"),
        on_user("用 ", searches),
        on_result("可以直接调用", calls_it),
        on_result("没有找到能做", calls_it),
        on_result("", "好。"),
    )
    allowed = {}
    for row in TABLE:
        before = chat.events(Kind.TOOL_FINISHED)
        await chat.say(f"用 {row.name} 办", PEOPLE[role], GROUP)
        await chat.say("取消", PEOPLE[Role.OWNER], GROUP)
        searched, called = chat.events(Kind.TOOL_FINISHED)[len(before) :][:2]
        found = row.name in searched.payload["data"]["found"]
        unknown = called.payload["status"] == "refused" and f'没有 "{row.name}" 这个工具' in called.payload["shown"]
        assert found is not unknown, row
        allowed[row.name] = found
    assert allowed == {row.name: role in row.roles for row in TABLE}
