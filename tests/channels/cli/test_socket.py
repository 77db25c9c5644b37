"""Speaking through `run.sock`: what goes through it, who may, and clients that behave badly."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from qingtuan.channels.cli.client import SocketLink
from qingtuan.channels.cli.link import LocalLink, Report, Result, Speaker
from qingtuan.channels.cli.server import Server
from qingtuan.channels.connected import CaughtUp
from qingtuan.channels.outcome import Done
from qingtuan.errors import Disconnected, NotAllowed, NotThere, QingtuanError
from qingtuan.events.kinds import Kind
from qingtuan.home import Home
from qingtuan.language import Words
from qingtuan.messages import Material, Origin, Outbound, Space
from qingtuan.models.chat import TakenBack, TextDelta
from qingtuan.turn.desk import Taken
from qingtuan.turn.progress import ToolRuns
from tests.fakes.linked import all_of, done, saying, texts, until
from tests.fakes.turns import GUEST, MEMBER, World, in_order, says


async def work(arguments: Mapping[str, Any]) -> AsyncGenerator[Report | Result, None]:
    if arguments.get("fail"):
        raise NotThere(Words("没有。", "None."), detail="x")
    if arguments.get("break"):
        raise RuntimeError("boom")
    yield Report("entries", 1, 2)
    yield Result({"n": arguments["n"]})


@pytest.fixture
async def local(world: World) -> AsyncIterator[LocalLink]:
    link = LocalLink(world, {"work": work})
    yield link
    await link.close()


@pytest.fixture
async def server(local: LocalLink, home: Home) -> AsyncIterator[Server]:
    server = Server(local, home)
    await server.start()
    yield server
    await server.close()


@pytest.fixture
def remote(server: Server, home: Home) -> SocketLink:
    return SocketLink(home.socket_address())


async def raw(home: Home, line: bytes) -> dict[str, Any]:
    """One line in, the first line out."""
    reader, writer = await asyncio.open_unix_connection(home.socket_address())
    writer.write(line)
    answer = await asyncio.wait_for(reader.readline(), 5)
    writer.close()
    value: dict[str, Any] = json.loads(answer)
    return value


async def test_a_turn_looks_the_same_through_the_socket(world: World, remote: SocketLink) -> None:
    world.model.script = in_order(says("你好 🐣。"))
    material = Material(Origin.FILE, "标准输入", "x" * 1_000_000)
    taken, *shown, end = await all_of(remote, saying("你好", materials=(material,)))
    assert isinstance(taken, Taken)
    assert "".join(piece.text for piece in shown if isinstance(piece, TextDelta)) == "你好 🐣。"
    assert texts(shown) == ["你好 🐣。"]
    assert isinstance(end, Done)
    assert (end.status, end.reply, end.turn, end.usage.prompt) == ("answered", "你好 🐣。", taken.turn, 100)
    (received,) = world.events(Kind.MESSAGE_RECEIVED)
    assert received.payload["materials"][0]["text"] == "x" * 1_000_000


async def test_refusals_completion_stopping_and_jobs_go_through_it(remote: SocketLink) -> None:
    with pytest.raises(NotAllowed):
        await all_of(remote, saying("你好", GUEST, Space("private", MEMBER)))
    assert [found.text for found in await remote.complete(Speaker(), "/sto")] == ["/stop"]
    assert not await remote.stop("s_none")
    assert [found async for found in remote.run("work", {"n": 7})] == [Report("entries", 1, 2), Result({"n": 7})]
    with pytest.raises(NotThere, match="None"):
        await anext(remote.run("work", {"fail": True}))
    with pytest.raises(QingtuanError, match="boom"):
        await anext(remote.run("work", {"break": True}))


async def test_the_socket_is_the_owners_alone_and_goes_with_the_server(server: Server, home: Home) -> None:
    assert stat.S_IMODE(home.socket.stat().st_mode) == 0o600
    await server.close()
    assert not home.socket.exists()
    assert not await SocketLink(home.socket_address()).reachable()
    with pytest.raises(Disconnected):
        await done(SocketLink(home.socket_address()), saying("你好"))


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"{}\n",
        b"[1]\n",
        b"null\n",
        b"\xff\xfe\n",
        b'{"say": 1}\n',
        b'{"say": {"text": "x"}}\n',
        b'{"say": {"account": "cli:local", "space": "nowhere", "text": "x", "id": "1"}}\n',
        b'{"run": {"job": "work", "arguments": 3}}\n',
        b'{"rm": {}}\n',
        b"[" * 100_000 + b"\n",
        b"x" * 1_000_000 + b"\n",
    ],
)
async def test_garbage_is_answered_and_troubles_nobody(line: bytes, home: Home, remote: SocketLink) -> None:
    answer = await raw(home, line)
    assert answer["error"]["type"] == "UsageWrong"
    assert (await done(remote, saying("你好"))).status == "answered"


async def test_a_client_that_says_nothing_or_half_a_line_and_goes(home: Home, remote: SocketLink) -> None:
    for line in (b"", b'{"say": {"text'):
        _, writer = await asyncio.open_unix_connection(home.socket_address())
        writer.write(line)
        writer.close()
    assert (await done(remote, saying("你好"))).status == "answered"


async def test_a_client_that_vanishes_in_the_middle_loses_nothing(world: World, remote: SocketLink) -> None:
    go = asyncio.Event()

    async def pause(_: object) -> None:
        await go.wait()

    world.model.pause = pause
    world.model.script = in_order(says("想好了。"))
    async with aclosing(remote.say(saying("慢慢想"))) as pieces:
        await until(pieces, TextDelta)
    await asyncio.sleep(0.05)
    go.set()
    await world.queues.idle()
    async with aclosing(remote.attend(Speaker())) as pieces:
        first, _ = await until(pieces, CaughtUp)
    assert isinstance(first, Outbound)
    assert first.text == "想好了。"
    assert world.record.outbox.waiting("cli") == []


async def test_several_clients_at_once_each_get_their_own(world: World, remote: SocketLink) -> None:
    world.model.script = lambda request: says(f"答 {request.messages[-1].text}")
    words = [f"第{number}句话说点什么" for number in range(8)]
    ended = await asyncio.gather(*(done(remote, saying(text)) for text in words))
    assert [end.reply for end in ended] == [f"答 {text}" for text in words]


async def test_a_server_that_stops_in_the_middle_is_noticed(world: World, server: Server, remote: SocketLink) -> None:
    async def pause(_: object) -> None:
        await asyncio.Event().wait()

    world.model.pause = pause
    async with aclosing(remote.say(saying("慢慢想"))) as pieces:
        await until(pieces, TextDelta)
        await server.close()
        with pytest.raises(Disconnected):
            await until(pieces, Done)


async def test_text_taken_back_and_tools_travel_too(home: Home) -> None:
    class Scripted(LocalLink):
        """A link that shows everything that can be shown."""

        def __init__(self) -> None:
            pass

        async def say(self, said: object) -> AsyncGenerator[Any, None]:
            for piece in (
                Taken("turn", "s", "t"),
                TextDelta("a"),
                TakenBack(),
                ToolRuns("look", "50 %"),
                Done("failed", error="e"),
            ):
                yield piece

    server = Server(Scripted(), home)
    await server.start()
    pieces = await all_of(SocketLink(home.socket_address()), saying("x"))
    assert pieces[1:4] == [TextDelta("a"), TakenBack(), ToolRuns("look", "50 %")]
    assert pieces[4] == Done("failed", error="e")
    await server.close()


async def test_a_folder_with_a_long_path_has_its_socket_elsewhere(local: LocalLink, tmp_path: Path) -> None:
    home = Home(tmp_path / ("很长的文件夹名" * 6))
    home.prepare()
    server = Server(local, home)
    await server.start()
    assert (await done(SocketLink(home.socket_address()), saying("你好"))).status == "answered"
    await server.close()
    assert not home.socket_address().exists()
