"""The server: why it cannot listen, in one sentence each; and what is at addresses where nothing is."""

from __future__ import annotations

import asyncio
import errno
import socket

import httpx
import pytest

from qingtuan.channels.http import server
from qingtuan.channels.http.server import Server
from qingtuan.errors import SettingsWrong


@pytest.mark.parametrize(
    ("host", "port", "said"),
    [
        ("192.0.2.1", 0, "no address of this machine"),
        ("no.such.host.invalid", 0, "no address of this machine"),
        ("x" * 300, 0, "no address of this machine"),
        ("::1", "taken", "Another program"),
    ],
)
async def test_why_nobody_listens(host: str, port: int | str, said: str) -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        wanted = taken.getsockname()[1] if port == "taken" else int(port)
        with pytest.raises(SettingsWrong) as failed:
            await Server(host, wanted, {}).start()
    assert said in failed.value.words.en
    assert failed.value.words.zh


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_a_port_of_the_administrators(number: int) -> None:
    error = server._failed("127.0.0.1", 80, PermissionError(number, "no"))
    assert "80" in error.words.en
    assert "rights" in error.words.en


def test_any_other_reason_is_named() -> None:
    assert "Too many open files" in server._failed("127.0.0.1", 80, OSError(errno.EMFILE, "x")).words.en
    assert "port" in server._failed("127.0.0.1", 80, OverflowError("port must be 0-65535.")).words.en


async def test_where_nothing_is_the_answer_is_json() -> None:
    nothing = Server("127.0.0.1", 0, {})
    await nothing.start()
    try:
        async with httpx.AsyncClient(trust_env=False) as http:
            answer = await http.get(f"http://127.0.0.1:{nothing.port}/any")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        assert "server" not in answer.headers
    finally:
        await nothing.stop()


async def test_the_end_of_an_answer_waits_for_nothing() -> None:
    """What asks often, on a line that stays open, would wait 40 ms each time."""
    server = Server("127.0.0.1", 0, {})
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    assert server._server is not None
    (line,) = server._server.server_state.connections
    assert line.transport is not None
    assert line.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    writer.close()
    await server.stop()
