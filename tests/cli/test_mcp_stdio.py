"""`qingtuan mcp`: programs on this machine, by the SDK's own client, with and without a running instance."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from qingtuan.home import Home
from tests.cli.conftest import CommandLine
from tests.servers.mcp.program import everything, text_of

PATIENCE = 60.0


@asynccontextmanager
async def program(there: CommandLine, *arguments: str, mode: str = "auto") -> AsyncIterator[Client]:
    """A client that has started the command."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "qingtuan", "mcp", *arguments], env=dict(there.environ)
    )
    async with Client(server, mode=mode) as client:
        yield client


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_it_sees_what_is_public_without_a_running_instance(qingtuan: CommandLine, mode: str) -> None:
    assert qingtuan.process("memory", "add", "我不吃香菜").code == 0
    async with program(qingtuan, mode=mode) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["memory_search", "memory_recall", "wiki_read", "remember", "notify_owner", "ask_owner"]
        assert "香菜" not in everything(await client.call_tool("memory_search", {"query": "香菜"}))
        assert not (await client.call_tool("remember", {"content": "我用深色主题"})).is_error
        asked = await client.call_tool("ask_owner", {"question": "周几？"})
        assert asked.is_error
        assert "qingtuan serve" in text_of(asked)
        # Several at a time open one instance, and share it.
        answers = await asyncio.gather(*(client.call_tool("memory_search", {"query": "主题"}) for _ in range(5)))
        assert not any(answer.is_error for answer in answers)
    assert "深色主题" in qingtuan.process("review", "list").out


async def test_a_key_by_its_name_sees_what_it_may(qingtuan: CommandLine) -> None:
    assert qingtuan.process("memory", "add", "我不吃香菜").code == 0
    assert qingtuan.process("key", "add", "cursor", "--person", "owner", "--scope", "private").code == 0
    async with program(qingtuan, "serve", "--key", "cursor") as client:
        assert "不吃香菜" in text_of(await client.call_tool("memory_search", {"query": "香菜"}))
        listed = await client.list_resources()
        assert "不吃香菜" in (await client.read_resource(listed.resources[0].uri)).model_dump_json()
        assert qingtuan.process("key", "revoke", "cursor").code == 0
        with pytest.raises(Exception, match="cursor"):
            await client.list_resources()
    refused = qingtuan.process("mcp", "serve", "--key", "cursor")
    assert (refused.code, refused.out) == (1, "")
    assert "cursor" in refused.err


async def test_through_a_running_instance_the_owner_is_asked(qingtuan: CommandLine) -> None:
    serving = qingtuan.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        assert serving.stderr is not None
        await asyncio.to_thread(serving.stderr.readline)
        async with program(qingtuan) as client:
            asking = asyncio.ensure_future(client.call_tool("ask_owner", {"question": "周几部署？"}))
            code = await asyncio.to_thread(_code, qingtuan)
            answered = await asyncio.to_thread(qingtuan.process, "ask", f"/回答 {code} 周三")
            assert answered.code == 0
            assert (await asking).structured_content == {"outcome": "answered", "answer": "周三"}
    finally:
        serving.kill()
        serving.communicate()


async def test_killed_while_it_waits_the_question_is_closed_at_the_next_start(qingtuan: CommandLine) -> None:
    serving = qingtuan.start("serve", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert serving.stderr is not None
    await asyncio.to_thread(serving.stderr.readline)
    async with program(qingtuan) as client:
        asking = asyncio.ensure_future(client.call_tool("ask_owner", {"question": "周几部署？"}))
        code = await asyncio.to_thread(_code, qingtuan)
        os.kill(serving.pid, signal.SIGKILL)
        serving.communicate()
        with suppress(Exception):  # the client may have the loss as an error or as an answer
            assert (await asyncio.wait_for(asking, PATIENCE)).is_error
        said = await asyncio.to_thread(qingtuan.process, "ask", f"/回答 {code} 周三")
        assert "没有程序在等你回答" in said.out
    assert _states(qingtuan) == ["gone"]


def test_nothing_but_the_protocol_comes_out(qingtuan: CommandLine) -> None:
    hello = (
        '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
        '"clientInfo":{"name":"x","version":"1"}}}\n'
    )
    process = qingtuan.start("mcp", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, _ = process.communicate(f"not json\n{hello}[1,2]\n", timeout=PATIENCE)
    assert process.returncode == 0
    lines = out.strip().splitlines()
    assert lines
    assert all(line.startswith('{"jsonrpc":"2.0"') for line in lines)


def _code(qingtuan: CommandLine) -> str:
    """The code of the question, once it stands."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if rows := _rows(qingtuan, "SELECT code FROM inquiries"):
            return str(rows[0][0])
        time.sleep(0.05)
    raise AssertionError("nobody was asked")


def _states(qingtuan: CommandLine) -> list[str]:
    return [str(row[0]) for row in _rows(qingtuan, "SELECT state FROM inquiries")]


def _rows(qingtuan: CommandLine, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(f"file:{Home(qingtuan.home).database}?mode=ro", uri=True, timeout=10) as database:
        return database.execute(query).fetchall()
