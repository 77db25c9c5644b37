"""WeChat within a running instance: its logins come and go with the file that `qingtuan login wechat` writes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qingtuan.channels.base import Deliveries
from qingtuan.channels.entry import Asgi, EntryHealth, Surroundings
from qingtuan.channels.intake import Intake
from qingtuan.channels.wxclaw.accounts import Login, all_logins, login_file, read_logins
from qingtuan.channels.wxclaw.hearing import Hearing
from qingtuan.channels.wxclaw.inbound import CHANNEL
from qingtuan.channels.wxclaw.media import fetch
from qingtuan.channels.wxclaw.store import Store
from qingtuan.channels.wxclaw.wire import Http
from qingtuan.errors import SettingsWrong, StorageFailed
from qingtuan.language import Words
from qingtuan.media.remote import Blob
from qingtuan.messages import Outbound, Remote, Space
from qingtuan.settings.wechat import WeChat as Settings
from qingtuan.turn.troubles import tell_owner

if TYPE_CHECKING:
    from qingtuan.channels.wxclaw.channel import WeChat
    from qingtuan.channels.wxclaw.ilink import Ilink
    from qingtuan.channels.wxclaw.polling import Ground, Polling, Why
    from qingtuan.channels.wxclaw.typing_sign import TypingSign

_LOOK_SECONDS = 2.0
"""How often the file is looked at: who has just scanned waits for no longer."""


class WeChatEntry:
    """All WeChat bots of an instance."""

    def __init__(self, settings: Settings, around: Surroundings) -> None:
        self._settings = settings
        self._around = around
        self._store = Store(around.log.database)
        self._http = Http(settings.proxy)
        self._bots: dict[str, Polling] = {}
        self._works: _Works | None = None
        """None until the first login: nothing of NoneBot is loaded for who has none."""
        self._watching: asyncio.Task[None] | None = None
        self._seen: object = None
        self._wrong: Words | None = None

    @property
    def name(self) -> str:
        return CHANNEL

    @property
    def routes(self) -> Mapping[str, Asgi]:
        return {}

    async def start(self) -> None:
        """Begin with the logins that there are. Raises `SettingsWrong`."""
        self._seen = _stamp(login_file(self._around.folder))
        await self._follow(all_logins(self._settings, read_logins(login_file(self._around.folder))))
        self._watching = asyncio.create_task(self._watch(), name="wxclaw logins")

    async def stop(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        await asyncio.gather(*(polling.stop() for polling in self._bots.values()))
        if self._works is not None:
            await self._works.close()
        await self._http.close()

    def health(self) -> EntryHealth:
        bots = list(self._bots.values())
        if not bots:
            return EntryHealth(self.name, "off", self._wrong)
        states = [polling.state for polling in bots]
        troubles = [words for polling in bots if (words := _trouble(polling)) is not None]
        if self._wrong is not None:
            troubles.append(self._wrong)
        works = self._works
        return EntryHealth(
            self.name,
            "connected"
            if any(state.kind == "connected" for state in states)
            else "starting"
            if any(state.kind == "starting" for state in states)
            else "disconnected",
            Words.joined(troubles),
            ", ".join(polling.login.account for polling in bots),
            works.intake.last if works else None,
            works.deliveries.last if works else None,
            # Of a login that has ended the owner is told at once.
            None if all(state.kind in ("connected", "ended") for state in states) else 300.0,
            works.deliveries.held() if works else (),
        )

    async def fetch(self, remote: Remote) -> Blob:
        """Get what a message left with WeChat. Raises `FetchFailed`."""
        return await fetch(self._http, remote, self._settings.cdn_url, self._settings.base_url)

    async def typing(self, space: Space, *, on: bool) -> None:
        """Show in a chat that something is being written, or that no longer."""
        user = space.id.partition(":")[2]
        if self._works is None:
            return
        for chat in self._store.chats(user):
            if (polling := self._bots.get(chat.account)) is not None and polling.usable:
                await self._works.typing.show(polling, chat, on=on)
                return

    def spares(self, space: Space) -> bool:
        """Whether a line beside the reply may be sent: the platform takes about ten messages."""
        waiting = Outbound("", space, "", "notice")
        return self._works is not None and self._works.channel.waits(waiting) is None

    # Logins

    async def _watch(self) -> None:
        path = login_file(self._around.folder)
        while True:
            await self._around.clock.sleep(_LOOK_SECONDS)
            if (stamp := _stamp(path)) == self._seen:
                continue
            self._seen = stamp
            try:
                logins = all_logins(self._settings, read_logins(path))
            except SettingsWrong as error:
                self._wrong = error.words  # what runs goes on
            else:
                self._wrong = None
                await self._follow(logins)

    async def _follow(self, logins: Sequence[Login]) -> None:
        """Let the bots be those of these logins."""
        wanted = {login.account: login for login in logins}
        for account, polling in list(self._bots.items()):
            if wanted.get(account) != polling.login:
                await polling.stop()
                del self._bots[account]
        for account, login in wanted.items():
            if account not in self._bots:
                if login.mark not in self._store.ended_logins():
                    self._tell(account, None)  # whatever was told of an earlier login
                self._works = self._works or await self._build()
                self._bots[account] = self._works.polling(login, self._settings.base_url)
                self._bots[account].start()
        if self._works is not None:
            self._works.deliveries.wake_all()  # what waited for a login

    async def _build(self) -> _Works:
        from qingtuan.channels.wxclaw.channel import WeChat
        from qingtuan.channels.wxclaw.ilink import ilink_of
        from qingtuan.channels.wxclaw.polling import Ground
        from qingtuan.channels.wxclaw.typing_sign import TypingSign

        around, store = self._around, self._store
        ilink = await ilink_of(self._http, self._settings.cdn_url)
        channel = WeChat(
            store, around.clock, self._bots, around.render, around.read, _GOES_ON.say(around.kit.texts.language)
        )
        deliveries = Deliveries(channel, around.log)
        deliveries.start()
        intake = Intake(CHANNEL, around.desk, around.clock)
        hearing = Hearing(around, store, intake, deliveries.wake)
        ground = Ground(store, around.clock, hearing.hear, self._ended)
        return _Works(ilink, channel, deliveries, intake, hearing, ground, TypingSign(around.clock))

    def _ended(self, login: Login, why: Why) -> None:
        """A login counts no more: the owner is told once of each, also if it is tried again at the next start."""
        with suppress(StorageFailed):
            known = login.mark in self._store.ended_logins()
            self._store.ended(login.account, login.mark)
            if not known:
                self._tell(login.account, _ENDED[why].filled(account=login.account))

    def _tell(self, account: str, words: Words | None) -> None:
        """Tell the owner, elsewhere than here, what is wrong with a login; None: nothing any more."""
        tell_owner(self._around.kit, f"wxclaw login {account}", words, but={CHANNEL})


@dataclass(frozen=True, slots=True)
class _Works:
    """What there is once there is a login."""

    ilink: Ilink
    channel: WeChat
    deliveries: Deliveries
    intake: Intake
    hearing: Hearing
    ground: Ground
    typing: TypingSign

    def polling(self, login: Login, base_url: str) -> Polling:
        from qingtuan.channels.wxclaw.polling import Polling

        return Polling(login, self.ilink.bot(login, base_url), self.ground)

    async def close(self) -> None:
        await self.intake.close()
        await self.deliveries.close()


def _stamp(path: Path) -> object:
    """What tells one state of the file from another."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _trouble(polling: Polling) -> Words | None:
    state, account = polling.state, polling.login.account
    if state.kind == "ended" and state.why is not None:
        return _ENDED[state.why].filled(account=account)
    if state.kind == "disconnected":
        return _AWAY.filled(account=account, why=state.detail)
    return None


_GOES_ON = Words(
    "（微信一次只让发这么多，回我一句就接着发。）",
    "(WeChat lets no more through for now; answer anything, and I go on.)",
)
_ENDED: Mapping[str, Words] = {
    "expired": Words(
        "微信（{account}）的登录失效了，收不到也发不出消息。运行 qingtuan login wechat 再扫一次码，不用重启。",
        "The WeChat login ({account}) is no longer valid: nothing comes in or goes out. Run qingtuan login wechat and "
        "scan again; no restart is needed.",
    ),
    "taken": Words(
        "微信（{account}）刚被别的程序接走了，一个微信只能绑一个程序。先停掉那一个，再运行 qingtuan login wechat。",
        "WeChat ({account}) was just taken over by another program: a WeChat binds one at a time. Stop that one, then "
        "run qingtuan login wechat and scan.",
    ),
    "refused": Words(
        "微信不认这个登录（{account}）。运行 qingtuan login wechat 再扫一次码，不用重启。",
        "WeChat does not accept this login ({account}). Run qingtuan login wechat and scan; no restart is needed.",
    ),
}
_AWAY = Words(
    "连不上微信（{account}）：{why}。会一直再试；请检查网络，或设置 channels.wxclaw.proxy。",
    "WeChat ({account}) is out of reach: {why}. It is tried again; check the network, or set channels.wxclaw.proxy.",
)
