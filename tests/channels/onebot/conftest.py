"""An instance with its QQ channel on a real server, and a NapCat without QQ behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import pytest

from qingtuan.app.channels import entries_of
from qingtuan.channels.base import Waits
from qingtuan.channels.http.server import Server
from qingtuan.channels.onebot.entry import OneBotEntry
from qingtuan.events.kinds import Kind
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import on_user
from tests.fakes.napcat import Delivered, NapCat
from tests.fakes.waiting import until

TOKEN = "a-long-and-random-token"
OWNER, FRIEND, GROUP = 10000, 20002, 30003
SETTINGS = {
    "OWNER__ACCOUNTS": f'["qq:{OWNER}"]',
    "ACCESS__MEMBERS": f'["qq:{FRIEND}"]',
    "ACCESS__GROUPS": f'["qq:{GROUP}"]',
    "CHANNELS__ONEBOT__ACCESS_TOKEN": TOKEN,
    "LIMITS__MEMBER__PRIVATE_COOLDOWN": "0",
    "LIMITS__MEMBER__GROUP_COOLDOWN": "0",
}


_INTERVALS = count(30_000)


class QQ:
    """The instance, its channel, and one account."""

    def __init__(self, chat: Conversation) -> None:
        self.chat = chat
        self.napcat = self.another(10001)
        self.entry: OneBotEntry
        self._server: Server

    def another(self, self_id: int, **how: bool) -> NapCat:
        """One more account."""
        return NapCat(self_id, now=lambda: self.chat.clock.now().timestamp(), **how)

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._server.port}/onebot/v11/ws"

    async def open(self) -> None:
        """Begin to serve, as `serve` does."""
        self.entry = next(entry for entry in entries_of(self.chat.app) if isinstance(entry, OneBotEntry))
        entry = self.entry
        self._server = Server("127.0.0.1", 0, entry.routes)
        await entry.start()
        await self._server.start()

    async def close(self) -> None:
        await self.entry.stop()
        await self._server.stop()

    async def restart(self) -> None:
        """End the process and start another one on the same folder."""
        await self.close()
        await self.chat.restart()
        await self.open()

    async def connect(self, napcat: NapCat | None = None, *, again: float | None = None) -> None:
        """Let a NapCat connect, and wait until nothing is left to be caught up with."""
        napcat = napcat or self.napcat
        await napcat.connect(self.url, TOKEN, again=again)
        await self.settled(napcat)

    async def settled(self, *napcats: NapCat) -> None:
        """Wait until all that these (else the one there is) told was dealt with, and what was answered is gone or
        waits."""
        for napcat in napcats or (self.napcat,):
            await self._heard(napcat)
        await self.settled_without_connection()

    async def settled_without_connection(self) -> None:
        """Wait until all that was told was dealt with, and what was answered is gone or waits."""
        await self.entry.intake.settled()
        settling = asyncio.create_task(self.chat.settled())
        await self.passing(settling.done)  # a burst takes its time
        settling.result()
        assert self.entry.deliveries is not None
        deliveries = self.entry.deliveries
        outbox = "SELECT 1 FROM outbox WHERE state = 'sending'"
        database = self.chat.app.kit.record.log.database
        await self.passing(
            lambda: not any(held.why is Waits.SOON for held in deliveries.held()) and not database.row(outbox)
        )

    async def sent(self, number: int = 1, napcat: NapCat | None = None) -> list[Delivered]:
        """The next messages that arrive in QQ, while time passes."""
        napcat = napcat or self.napcat
        await self.passing(lambda: napcat.untaken >= number)
        return await napcat.sent(number)

    async def passing(self, true: Callable[[], bool], step: float = 0.1) -> None:
        """Let time pass until something is so, `step` seconds at once."""
        await until(true, self.chat.clock, step)

    async def _heard(self, napcat: NapCat) -> None:
        """Wait until all that a NapCat told is heard: what it tells last comes last."""
        interval = next(_INTERVALS)
        await napcat.beat(interval=interval)
        accounts = self.entry.accounts.by_id
        name = str(napcat.self_id)
        await self.until(lambda: name in accounts and accounts[name].interval == interval / 1000)
        await self.entry.caught_up(name)

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something is so that nobody tells of."""
        await until(true)

    def asked(self) -> list[str]:
        """What people said that was taken."""
        return [event.payload["text"] for event in self.chat.events(Kind.MESSAGE_RECEIVED)]

    def ignored(self) -> list[str]:
        """Why messages were not."""
        return [event.payload["reason"] for event in self.chat.events(Kind.MESSAGE_IGNORED)]


@asynccontextmanager
async def qq_over(folder: Path, **settings: str) -> AsyncIterator[QQ]:
    """An instance with other settings."""
    async with Conversation(folder, tools=None, **{**SETTINGS, **settings}) as chat:
        chat.model(on_user("", "好的。"))
        qq = QQ(chat)
        await qq.open()
        try:
            async with qq.napcat:
                yield qq
        finally:
            await qq.close()


@pytest.fixture
async def qq(tmp_path: Path) -> AsyncIterator[QQ]:
    async with qq_over(tmp_path) as qq:
        yield qq
