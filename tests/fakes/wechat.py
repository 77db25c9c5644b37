"""A whole instance that talks over WeChat: real data folder, model wire and iLink wire; scripted model and phone.

async with WeChatTalk(tmp_path) as wx:
    wx.chat.model(on_user("你好", "你好呀。"))
    await wx.phone.says("你好")
    assert [sent.text for sent in await wx.ilink.delivered(1)] == ["你好呀。"]
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from qingtuan.app.channels import entries_of
from qingtuan.channels.wxclaw.accounts import Login, keep_login, login_file
from qingtuan.channels.wxclaw.entry import WeChatEntry
from qingtuan.channels.wxclaw.inbound import CHANNEL
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.events.outbox import Draft, MessageKind
from qingtuan.identity.accounts import OWNER
from qingtuan.messages import Space
from tests.fakes.conversation import Conversation
from tests.fakes.ilink import USER, Bound, Ilink
from tests.fakes.waiting import until

SPACE = Space("private", f"wx:{USER}")


class WeChatTalk:
    """The instance, the server, and one phone that has scanned and is the owner's."""

    def __init__(self, folder: Path, *, ilink: Ilink | None = None, logged_in: bool = True, **environ: str) -> None:
        self.ilink = ilink or Ilink(hold=0.25)
        self._folder = folder
        self._logged_in = logged_in
        self._environ: Mapping[str, str] = environ
        self.chat: Conversation
        self.entry: WeChatEntry
        self.phone: Bound
        self._ticking: asyncio.Task[None]

    async def __aenter__(self) -> Self:
        await self.ilink.__aenter__()
        environ = {
            "OWNER__ACCOUNTS": f'["wx:{USER}"]',
            "CHANNELS__WXCLAW__BASE_URL": self.ilink.url,
            "CHANNELS__WXCLAW__CDN_URL": self.ilink.cdn,
            **self._environ,
        }
        self.chat = Conversation(self._folder, tools=None, **environ)
        if self._logged_in:
            self.phone = self.log_in()
        await self.chat.__aenter__()
        await self._enter()
        self._ticking = asyncio.create_task(self._tick())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.entry.stop()
        self._ticking.cancel()
        await self.chat.__aexit__(kind, error, trace)
        await self.ilink.__aexit__(kind, error, trace)

    async def _enter(self) -> None:
        (self.entry,) = [entry for entry in entries_of(self.chat.app) if isinstance(entry, WeChatEntry)]
        await self.entry.start()

    async def _tick(self) -> None:
        """Time goes by, twenty times as fast: nobody waits here for the pace at which people write."""
        while True:
            await asyncio.sleep(0.01)
            self.chat.clock.advance(timedelta(seconds=0.2))

    async def restart(self) -> None:
        """The process ends and another one begins."""
        await self.entry.stop()
        await self.chat.restart()
        await self._enter()

    def log_in(self, user: str = USER, bot: str | None = None) -> Bound:
        """Somebody scans, and the login is written where the entry looks for it."""
        self.chat.home.prepare()
        phone = self.ilink.bind(user, bot) if bot else self.ilink.bind(user)
        login = Login(phone.bot, phone.token, self.ilink.url, phone.user)
        keep_login(login_file(self.chat.home.path), login)
        return phone

    def put(self, text: str, kind: MessageKind = "notice", space: Space = SPACE) -> str:
        """Something is to be sent that nobody asked for: a reminder, say. Its event."""
        app = self.chat.app
        place = Place(app.kit.record.sessions.running(space, OWNER).id, space, None, OWNER)
        return app.kit.record.outbox.put(Draft(CHANNEL, text, kind), place).id

    def pass_time(self, **delta: float) -> None:
        self.chat.clock.advance(timedelta(**delta))

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so within the instance."""
        await until(condition)

    async def quiet(self) -> None:
        """Wait until what was said is stored, answered and sent, as far as it can be: two polls more came by."""
        polls = len(self.ilink.calls("getupdates"))
        await self.ilink.until(lambda: len(self.ilink.calls("getupdates")) > polls + 1)
        await self.chat.settled()

    def states(self) -> dict[str, str]:
        """Each message that was put into the outbox, with what became of it."""
        rows = self.chat.app.kit.record.log.database.rows(
            "SELECT json_extract(e.payload, '$.text') AS text, o.state"
            " FROM outbox AS o JOIN events AS e ON e.id = o.event WHERE o.channel = ? ORDER BY e.seq",
            (CHANNEL,),
        )
        return {row["text"]: row["state"] for row in rows}

    def received(self) -> list[dict[str, Any]]:
        """The payloads of the messages that were taken in."""
        return [dict(event.payload) for event in self.chat.events(Kind.MESSAGE_RECEIVED)]
