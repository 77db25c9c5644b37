"""The NapCat of our tests, with an application on aiocqhttp at the other end: what stands in for QQ there has to speak
OneBot as others hear it.

NapCat itself needs an account of QQ; no implementation without one can be had (platforms.md, 4.1).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peers.checks import Check, Skipped
from peers.node import HERE
from peers.python import installed
from tests.fakes.cq import at, image, reply, text
from tests.fakes.napcat import NapCat

_LOCK = HERE / "onebot.lock"
_APPLICATION = HERE / "onebot_app.py"
_PATIENCE = 20.0
"""Seconds for a check, and for the application to begin to listen."""
_TOKEN = "a-token-of-peers"
_USER, _GROUP = 20002, 30003


@dataclass
class Talk:
    """Our NapCat and what the application said that it heard."""

    napcat: NapCat
    lines: asyncio.Queue[dict[str, Any]] = field(default_factory=asyncio.Queue)

    async def heard(self, kind: str) -> dict[str, Any]:
        """The next thing of a kind that the application told; others before it are passed over."""
        while (line := await self.lines.get())["kind"] != kind:
            pass
        return line


Look = Callable[[Talk], Awaitable[None]]


async def it_connects_and_says_that_it_lives(talk: Talk) -> None:
    assert (await talk.heard("meta"))["type"] == "lifecycle"
    await talk.napcat.beat()
    beat = await talk.heard("meta")
    assert (beat["type"], beat["status"]) == ("heartbeat", {"online": True, "good": True}), beat


async def a_private_message_arrives(talk: Talk) -> None:
    await talk.napcat.says(_USER, "你好 [CQ:face,id=1] & 🍡")
    heard = await talk.heard("message")
    assert (heard["type"], heard["user"]) == ("private", _USER), heard
    assert heard["said"] == "你好 [CQ:face,id=1] & 🍡", heard


async def segments_of_a_group_arrive_as_they_are(talk: Talk) -> None:
    said = [reply(4711), at(talk.napcat.self_id), text(" 看图 "), image("a.png", "https://example.com/a?b=1&c=2")]
    await talk.napcat.says(_USER, said, _GROUP)
    heard = await talk.heard("message")
    assert (heard["type"], heard["group"]) == ("group", _GROUP), heard
    kinds = [kind for kind, _ in heard["segments"]]
    assert kinds == ["reply", "at", "text", "image"], heard
    assert heard["segments"][3][1]["url"] == "https://example.com/a?b=1&c=2", heard


async def a_quick_answer_is_sent(talk: Talk) -> None:
    await talk.napcat.says(_USER, "quick", _GROUP)
    (sent,) = await talk.napcat.sent()
    assert (sent.group, sent.text.strip()) == (_GROUP, "quick answer"), sent
    assert sent.has("at") == {"qq": str(_USER)}, sent


async def an_action_is_answered_with_its_echo(talk: Talk) -> None:
    """Its echo is an object, and waits for exactly that."""
    await talk.napcat.says(_USER, "send")
    result = await talk.heard("result")
    (sent,) = await talk.napcat.sent()
    assert result["data"] == {"message_id": sent.message_id}, result
    assert [one["type"] for one in sent.segments] == ["text", "face"], sent


async def an_action_gives_what_it_is_asked_for(talk: Talk) -> None:
    await talk.napcat.says(_USER, "info")
    result = await talk.heard("result")
    assert result["data"] == {"user_id": talk.napcat.self_id, "nickname": "bot"}, result


async def an_action_that_is_none_is_refused(talk: Talk) -> None:
    await talk.napcat.says(_USER, "wrong")
    assert (await talk.heard("failed"))["retcode"] == 1404


async def notices_and_requests_arrive(talk: Talk) -> None:
    recalled = await talk.napcat.says(_USER, "待会儿撤回", _GROUP)
    await talk.napcat.recall(recalled)
    notice = await talk.heard("notice")
    assert (notice["type"], notice["message"]) == ("group_recall", recalled), notice
    await talk.napcat.notice("group_ban", sub_type="ban", group_id=_GROUP, user_id=10001, operator_id=1, duration=60)
    assert (await talk.heard("notice"))["sub_type"] == "ban"
    await talk.napcat.event(
        {"post_type": "request", "request_type": "friend", "self_id": 10001, "time": 1, "user_id": 20077,
         "comment": "我是小红", "flag": "f"}
    )  # fmt: skip
    assert (await talk.heard("request"))["comment"] == "我是小红"


async def it_comes_back_after_the_connection_broke(talk: Talk) -> None:
    await talk.napcat.hang_up()
    assert (await talk.heard("meta"))["sub_type"] == "connect"
    await talk.napcat.says(_USER, "还在")
    assert (await talk.heard("message"))["said"] == "还在"


_LOOKS: tuple[Look, ...] = (
    it_connects_and_says_that_it_lives,
    a_private_message_arrives,
    segments_of_a_group_arrive_as_they_are,
    a_quick_answer_is_sent,
    an_action_is_answered_with_its_echo,
    an_action_gives_what_it_is_asked_for,
    an_action_that_is_none_is_refused,
    notices_and_requests_arrive,
    it_comes_back_after_the_connection_broke,
)


def run() -> Iterator[tuple[str, list[Check]]]:
    """What aiocqhttp hears of our NapCat, as an array and as codes.

    Raises:
        Skipped: it cannot be had here, or does not run.
    """
    python = installed(_LOCK, "aiocqhttp")
    for codes, title in ((False, "aiocqhttp, arrays"), (True, "aiocqhttp, CQ codes")):
        yield title, asyncio.run(looked_at([str(python), str(_APPLICATION)], _LOOKS, codes=codes))


async def looked_at(command: Sequence[str], looks: Sequence[Look], *, codes: bool = False) -> list[Check]:
    """What is seen with an application that `command` starts, given a port and a token."""
    async with _application(command) as (port, lines), NapCat(10001, codes=codes) as napcat:
        talk = Talk(napcat, lines)
        await napcat.connect(f"ws://127.0.0.1:{port}/ws/", _TOKEN, again=0.1)
        return [await _look(look, talk) for look in looks]


async def _look(look: Look, talk: Talk) -> Check:
    name = look.__name__.replace("_", " ")
    try:
        async with asyncio.timeout(_PATIENCE):
            await look(talk)
    except TimeoutError:
        return Check(name, "failed", f"no end within {_PATIENCE:g} s")
    except (AssertionError, ValueError, LookupError, OSError) as error:
        return Check(name, "failed", f"{type(error).__name__}: {error}"[:300])
    return Check(name, "passed")


@contextlib.asynccontextmanager
async def _application(command: Sequence[str]) -> AsyncIterator[tuple[int, asyncio.Queue[dict[str, Any]]]]:
    """The application on a free port, and what it says."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryFile() as errors:
        process = await asyncio.create_subprocess_exec(
            *command, str(port), _TOKEN, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
        )
        lines: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        reading = asyncio.create_task(_read(process, lines))
        try:
            await _listening(port, process)
            yield port, lines
        finally:
            reading.cancel()
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _read(process: asyncio.subprocess.Process, lines: asyncio.Queue[dict[str, Any]]) -> None:
    assert process.stdout is not None
    async for line in process.stdout:
        if line.startswith(b"{"):
            lines.put_nowait(json.loads(line))


async def _listening(port: int, process: asyncio.subprocess.Process) -> None:
    try:
        async with asyncio.timeout(_PATIENCE):
            while process.returncode is None:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    return
                await asyncio.sleep(0.05)
    except TimeoutError:
        pass
    raise Skipped("the application does not begin to listen")


def script(path: Path) -> list[str]:
    """The command line of an application of our own Python."""
    return [sys.executable, str(path)]
