"""Somebody else's Telegram (`telegram-test-api`) against our channel: people chat there, press buttons, read answers.

What it leaves out of the Bot API stands in `telegram.mjs`.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from peers.checks import Check, Skipped
from peers.node import HERE, Node
from qingtuan.app.channels import channels_of
from tests.fakes.booking import Bookings, books
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Reply, on_result, on_user

_TOKEN = "666:of-the-peer"
_PERSON = {"id": 5, "is_bot": False, "first_name": "Ming"}
_CHAT = {"id": 5, "type": "private", "first_name": "Ming"}
_PATIENCE = 30.0
_LONG = "".join(f"第{number}句话说得很慢。" for number in range(1, 25))


@dataclass
class Talk:
    """A person on that Telegram, and the instance that answers."""

    instance: Conversation
    bookings: Bookings
    web: httpx.AsyncClient
    read: list[Mapping[str, Any]]
    """What the bot has said."""

    async def say(self, text: str) -> None:
        message = {"botToken": _TOKEN, "from": _PERSON, "chat": _CHAT, "date": 1795983000, "text": text}
        (await self.web.post("/sendMessage", json=message)).raise_for_status()

    async def press(self, said: Mapping[str, Any], button: int) -> None:
        data = said["message"]["reply_markup"]["inline_keyboard"][0][button]["callback_data"]
        message = {"message_id": said["messageId"], "chat": _CHAT, "date": 1795983000, "text": "?"}
        callback = {"botToken": _TOKEN, "from": _PERSON, "message": message, "data": data}
        (await self.web.post("/sendCallback", json=callback)).raise_for_status()

    async def history(self) -> list[Mapping[str, Any]]:
        """All that the bot has said, as it reads now."""
        got = (await self.web.post("/getUpdatesHistory", json={"token": _TOKEN})).json()["result"]
        return [one for one in got if "chat_id" in one.get("message", {})]

    async def until(self, what: Callable[[list[Mapping[str, Any]]], bool]) -> list[Mapping[str, Any]]:
        """Let time pass until what the bot has said is as wanted."""
        async with asyncio.timeout(_PATIENCE):
            while not what(said := await self.history()):
                self.instance.clock.advance(timedelta(seconds=0.5))
                await asyncio.sleep(0.02)
        return said

    async def texts(self) -> list[str]:
        return [str(one["message"]["text"]) for one in await self.history()]


Look = Callable[[Talk], Awaitable[None]]


def _ends_with(text: str, said: Sequence[Mapping[str, Any]]) -> bool:
    return bool(said) and said[-1]["message"]["text"] == text


async def answers_three_messages_in_order(talk: Talk) -> None:
    for number in ("一", "二", "三"):
        await talk.say(f"数{number}")
        await talk.until(partial(_ends_with, f"是{number}"))
    assert await talk.texts() == ["是一", "是二", "是三"]


async def shows_that_it_writes_and_lets_the_answer_grow(talk: Talk) -> None:
    before = len(await talk.texts())
    await talk.say("讲")
    await talk.until(lambda said: len(said) > before and said[-1]["message"]["text"] == _LONG)
    seen = (await talk.web.get("/seen")).json()
    assert len(await talk.texts()) == before + 1
    assert seen["edits"] > 1, seen
    assert seen["typing"] > 0, seen


async def asks_with_buttons_and_takes_the_press(talk: Talk) -> None:
    await talk.say("帮我约座位")
    said = await talk.until(lambda said: "reply_markup" in said[-1]["message"])
    await talk.press(said[-1], 0)
    await talk.until(lambda said: said[-1]["message"]["text"] == "约好了。")
    assert len(talk.bookings.made) == 1


_LOOKS: tuple[Look, ...] = (
    answers_three_messages_in_order,
    shows_that_it_writes_and_lets_the_answer_grow,
    asks_with_buttons_and_takes_the_press,
)


def run(node: Node) -> Iterator[tuple[str, list[Check]]]:
    """What came of each thing that people do there.

    Raises:
        Skipped: it does not begin to listen.
    """
    yield "telegram-test-api", asyncio.run(_tried(node))


async def _tried(node: Node) -> list[Check]:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        async with _talk(node, Path(folder)) as talk:
            for look in _LOOKS:
                name = look.__name__.replace("_", " ")
                try:
                    await look(talk)
                except Exception as error:  # noqa: BLE001 (whatever it is, the check has failed)
                    found.append(Check(name, "failed", repr(error)))
                else:
                    found.append(Check(name, "passed"))
    return found


@asynccontextmanager
async def _talk(node: Node, folder: Path) -> AsyncIterator[Talk]:
    async with _listening(node) as port:
        bookings = Bookings(folder / "bookings.jsonl")
        instance = Conversation(
            folder,
            tools={"booking": bookings},
            OWNER__ACCOUNTS=json.dumps(["tg:5"]),
            EMBEDDING__MODEL="off",
            CHANNELS__TELEGRAM__TOKEN=_TOKEN,
            CHANNELS__TELEGRAM__API_SERVER=f"http://127.0.0.1:{port}",
            SERVER__PORT="0",
        )
        counted = [on_user(f"数{number}", Reply(f"是{number}")) for number in ("一", "二", "三")]
        instance.model(
            *counted,
            on_user("讲", Reply(_LONG, pause=0.05, piece=12)),
            on_user("约", books()),
            on_result("预约成功", "约好了。"),
        )
        async with instance, channels_of(instance.app), httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as web:
            yield Talk(instance, bookings, web, [])


@asynccontextmanager
async def _listening(node: Node) -> AsyncIterator[int]:
    command = [str(node.binary), str(HERE / "telegram.mjs"), str(node.modules)]
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        async with asyncio.timeout(_PATIENCE):
            line = await process.stdout.readline()
        if not line.strip().isdigit():
            raise Skipped("telegram-test-api does not begin to listen")
        yield int(line)
    finally:
        process.stdin.close()
        await process.wait()
