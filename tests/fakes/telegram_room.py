"""A whole instance with its Telegram channel on a fake of Telegram: people chat there, a scripted model answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from qingtuan.app.channels import channels_of
from qingtuan.channels.entry import Entries, EntryHealth
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Place
from qingtuan.events.outbox import Draft
from qingtuan.messages import Space
from qingtuan.tools.registry import Provider
from tests.fakes.conversation import Conversation
from tests.fakes.telegram_server import GROUP, TOKEN, TelegramServer
from tests.fakes.waiting import until

PRIVATE = Space("private", "tg:5")
HIKE = Space("group", f"tg:{GROUP}")
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c626001000000ffff03000006000557bfabd40000000049454e44ae426082"
)
"""A picture of one dot."""


class Room:
    """Both ends of it."""

    def __init__(
        self, folder: Path, server: TelegramServer, *, tools: Mapping[str, Provider] | None = None, **environ: str
    ) -> None:
        settings = {
            "OWNER__ACCOUNTS": json.dumps(["tg:5"]),
            "ACCESS__GROUPS": json.dumps([HIKE.id]),
            "CHANNELS__TELEGRAM__TOKEN": TOKEN,
            "CHANNELS__TELEGRAM__API_SERVER": server.url,
            "CHANNELS__TELEGRAM__STREAM": "false",
            "SERVER__PORT": "0",
        }
        self.server = server
        self.chat = Conversation(folder, tools=tools, **{**settings, **environ})
        self._running = AsyncExitStack()
        self.entries: Entries | None = None

    async def open(self) -> None:
        """Open the channel, as `serve` does."""
        self.entries = await self._running.enter_async_context(channels_of(self.chat.app))

    async def close(self) -> None:
        """Close it. Time goes by meanwhile: what is on its way is not waited for until it comes."""
        closing = asyncio.ensure_future(self._running.aclose())
        await self.until(closing.done)
        await closing

    def previews(self) -> int:
        """How many messages stand that show an answer while it is written."""
        return len(self.chat.app.kit.record.log.database.rows("SELECT * FROM previews"))

    async def restart(self) -> None:
        """End the process and start another one on the same data."""
        await self.close()
        await self.chat.restart()
        await self.open()

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
        await self.until(lambda: len(self.server.chats[to].by_bot()) > before)
        return self.server.texts(to)

    async def until(self, what: Callable[[], Any]) -> Any:
        """Let time pass until something is so, and give it: on the instance's clock, half a second in ten milliseconds
        of ours."""
        return await until(what, self.chat.clock, 0.25)

    async def quiet(self, seconds: float = 10.0) -> None:
        """Let time pass in which whatever is to come comes."""
        for _ in range(int(seconds * 2)):
            self.pass_time(0.5)
            await asyncio.sleep(0.01)

    def pass_time(self, seconds: float) -> None:
        self.chat.clock.advance(timedelta(seconds=seconds))

    def put(self, text: str, space: Space = PRIVATE, **fields: Any) -> Event:
        """Put a message into the outbox."""
        draft = Draft("telegram", text, **{"kind": "reply", **fields})
        return self.chat.app.kit.record.outbox.put(draft, Place("s_1", space, None, "owner"))

    def state(self, message: Event) -> str:
        """What became of a message of the outbox."""
        row = self.chat.app.kit.record.log.database.row("SELECT state FROM outbox WHERE event = ?", (message.id,))
        assert row is not None
        return str(row["state"])

    async def sent(self, text: str, space: Space = PRIVATE, **fields: Any) -> str:
        """Send a message and give what became of it."""
        message = self.put(text, space, **fields)
        await self.until(lambda: self.state(message) in ("sent", "refused", "unknown"))
        return self.state(message)


@asynccontextmanager
async def room(folder: Path, *, tools: Mapping[str, Provider] | None = None, **environ: str) -> AsyncIterator[Room]:
    """A room in which nobody has said anything; the channel is not open yet."""
    server = await TelegramServer().start()
    made = Room(folder, server, tools=tools, **environ)
    try:
        async with made.chat:
            try:
                yield made
            finally:
                await made.close()
    finally:
        await server.close()
