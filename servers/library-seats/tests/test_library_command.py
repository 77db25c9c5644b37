"""The command itself: standard streams, signals, exit codes, and what is left when it is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from library_world import COMMAND, SEAT, WISH, Library, Reader, environment, reading
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters

pytestmark = pytest.mark.asyncio(loop_scope="module")


@asynccontextmanager
async def process(*arguments: str, more: dict[str, str] | None = None) -> AsyncIterator[str]:
    """The first line that the command prints; ended by SIGTERM, and it must have ended well."""
    running = await asyncio.create_subprocess_exec(
        COMMAND, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(more)
    )
    try:
        yield await first_line(running)
    finally:
        running.terminate()
        out, err = await running.communicate()
    assert (running.returncode, out) == (0, b""), err.decode()


async def first_line(running: Process) -> str:
    assert running.stdout is not None
    return (await running.stdout.readline()).decode().strip()


def over_stdio(world: Library, *, pid: Path | None = None, log: Path | None = None) -> StdioServerParameters:
    """The command as a client starts it; tells its process id in a file."""
    note = f"echo $$ > {pid}; " if pid else ""
    errors = f" 2> {log}" if log else ""
    return StdioServerParameters(
        command="sh", args=["-c", f"{note}exec {COMMAND}{errors}"], env=environment(world.environment)
    )


async def test_over_standard_streams(open_library: Library, tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with Client(over_stdio(open_library, log=log)) as client:
        reader = Reader(client)
        assert (await reader.values("reserve_seat", **WISH))["reservation_id"] == "R0001"
        assert len(reader.steps) == 3
        assert "已经约了" in await reader.refusal("reserve_seat", **WISH)
    assert log.read_text() == ""
    assert len(await open_library.books()) == 1


async def test_standard_output_carries_nothing_but_the_protocol_and_a_signal_ends_it(open_library: Library) -> None:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_areas", "arguments": {}}},
    ]
    running = await asyncio.create_subprocess_exec(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(open_library.environment)
    )
    assert running.stdin is not None
    running.stdin.write(b"this is no protocol\n" + b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    said: list[dict[str, Any]] = []
    while not said or said[-1].get("id") != 2:
        said.append(json.loads(await first_line(running)))
    assert said[-1]["result"]["structuredContent"]["opens"] == "08:00"
    # Standard input stays open: it ends although it still waits for a line.
    running.terminate()
    out, _ = await running.communicate()
    assert (running.returncode, out) == (0, b"")


async def test_over_http(open_library: Library) -> None:
    async with process("--http", "0", more=open_library.environment) as address:
        assert address.endswith("/mcp")
        async with Client(address) as one, Client(address) as other:
            results = await asyncio.gather(*(Reader(client).call("reserve_seat", **WISH) for client in (one, other)))
        assert sorted(bool(result.is_error) for result in results) == [False, True]
        assert len(await open_library.books(every=True)) == 1
        async with httpx2.AsyncClient(verify=False) as web:
            hello = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            assert (await web.post(address, json=hello, headers={"Host": "evil.example"})).status_code == 421
            assert (await web.post(address, json=hello, headers={"Origin": "http://evil.example"})).status_code == 403


async def test_killed_in_the_middle_of_a_booking_it_has_booked_once(open_library: Library, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    await open_library.arm("hang-after", "reserve")
    async with Client(over_stdio(open_library, pid=pid)) as client:
        booking = asyncio.create_task(Reader(client).call("reserve_seat", **WISH))
        while not await open_library.books():  # noqa: ASYNC110  # the library tells nobody
            await asyncio.sleep(0.01)
        os.kill(int(pid.read_text()), signal.SIGKILL)
        with pytest.raises(MCPError):
            await booking
    async with reading(open_library.settings) as reader:
        [own] = (await reader.values("list_reservations"))["reservations"]
        assert own["seat_id"] == SEAT
        assert "已经约了" in await reader.refusal("reserve_seat", **WISH)
    assert len(await open_library.books(every=True)) == 1


async def test_the_demo_library_outlives_a_kill(tmp_path: Path) -> None:
    arguments = ("demo-site", "--port", "0", "--now", "2026-11-30T10:00", "--data", str(tmp_path / "books.sqlite"))
    site = await asyncio.create_subprocess_exec(COMMAND, *arguments, stdout=subprocess.PIPE)
    address = await first_line(site)
    async with reading(Library(address).settings) as reader:
        await reader.values("reserve_seat", **WISH)
    site.kill()
    await site.communicate()
    async with process(*arguments) as address, reading(Library(address).settings) as reader:
        [own] = (await reader.values("list_reservations"))["reservations"]
        assert own["seat_id"] == SEAT


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--version"], 0, "qingtuan-library-seats "),
        (["--help"], 0, "LIBRARY_PASSWORD"),
        (["demo-site", "--help"], 0, "--fail-rate"),
        (["dance"], 2, "invalid choice"),
        (["--http", "70000"], 2, "端口是 0 到 65535"),
        (["demo-site", "--fail-rate", "2"], 2, "0 到 1 之间"),
        (["demo-site", "--now", "noon"], 2, "2026-12-01T09:00"),
        (["demo-site", "--account", "me"], 2, "用户名:密码"),
        (["demo-site", "--port", "0", "--data", "/no/such/folder/x"], 1, "--data 指的文件不能用"),
        (["demo-site", "--port", "0", "--host", "192.0.2.1"], 1, "打不开"),
    ],
)
async def test_what_the_command_says_and_how_it_ends(
    arguments: list[str], code: int, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    from qingtuan_library_seats.cli import main

    try:
        ended: object = await asyncio.to_thread(main, arguments)
    except SystemExit as error:
        ended = error.code
    assert ended == code
    out, err = capfd.readouterr()
    assert words in (err if code else out)


async def test_a_port_in_use_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    from qingtuan_library_seats.cli import main

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert await asyncio.to_thread(main, ["demo-site", "--port", port]) == 1
    assert "已经有程序在用" in capfd.readouterr().err
