"""A whole instance with its Telegram channel on a fake of Telegram: people chat there, a scripted model answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from qingtuan.app.channels import channels_of
from qingtuan.channels.entry import Entries, EntryHealth
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.messages import Space
from tests.fakes.conversation import Conversation
from tests.fakes.telegram_server import GROUP, TOKEN, TelegramServer

PRIVATE = Space("private", "tg:5")
HIKE = Space("group", f"tg:{GROUP}")


class Room:
    """Both ends of it."""

    def __init__(self, folder: Path, server: TelegramServer, **environ: str) -> None:
        settings = {
            "OWNER__ACCOUNTS": json.dumps(["tg:5"]),
            "ACCESS__GROUPS": json.dumps([HIKE.id]),
            "CHANNELS__TELEGRAM__TOKEN": TOKEN,
            "CHANNELS__TELEGRAM__API_SERVER": server.url,
            "CHANNELS__TELEGRAM__STREAM": "false",
            "SERVER__PORT": "0",
        }
        self.server = server
        self.chat = Conversation(folder, tools=None, **{**settings, **environ})
        self._running = AsyncExitStack()
        self.entries: Entries | None = None

    async def open(self) -> None:
        """Open the channel, as `serve` does."""
        self.entries = await self._running.enter_async_context(channels_of(self.chat.app))

    async def close(self) -> None:
        await self._running.aclose()

    async def restart(self) -> None:
        """End the process and start another one on the same data."""
        await self.close()
        await self.chat.restart()
        await self.open()

    async def die(self) -> None:
        """As `restart`, but for a process that could say nothing more to the platform."""
        self.server.faults["getUpdates"].clear()
        await self.restart()

    def health(self) -> EntryHealth:
        assert self.entries is not None
        (health,) = (one for one in self.entries.health() if one.name == "telegram")
        return health

    def events(self, *kinds: Kind) -> list[Event]:
        return self.chat.events(*kinds)

    def heard(self) -> list[Any]:
        """What was taken in: text, and whether it was addressed to us as far as that stands."""
        return [event.payload for event in self.events(Kind.MESSAGE_RECEIVED)]

    async def ask(self, text: str, **more: Any) -> list[str]:
        """Say something and wait for one more message of the bot's in that chat; all of them."""
        to = more.get("to", 5)
        before = len(self.server.chats[to].by_bot())
        await self.server.say(text, **more)
        await self.server.replies(before + 1, to)
        return self.server.texts(to)

    def pass_time(self, seconds: float) -> None:
        self.chat.clock.advance(timedelta(seconds=seconds))


@asynccontextmanager
async def room(folder: Path, **environ: str) -> AsyncIterator[Room]:
    """A room in which nobody has said anything; the channel is not open yet."""
    server = await TelegramServer().start()
    made = Room(folder, server, **environ)
    try:
        async with made.chat:
            try:
                yield made
            finally:
                await made.close()
    finally:
        await server.close()
