"""QQ as `qingtuan serve` runs it: NapCat connects to us, or we to it; events in, messages out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from qingtuan.channels.base import Deliveries
from qingtuan.channels.entry import Asgi, EntryHealth, Surroundings
from qingtuan.channels.intake import Intake
from qingtuan.channels.onebot.catching import missed
from qingtuan.channels.onebot.channel import OneBot
from qingtuan.channels.onebot.fetching import Fetching
from qingtuan.channels.onebot.inbound import (
    CHANNEL,
    Beat,
    Heard,
    Joined,
    Left,
    Muted,
    Offline,
    Recalled,
    Said,
    heard,
)
from qingtuan.channels.onebot.lines import Account, Accounts
from qingtuan.channels.onebot.recent import Recent
from qingtuan.channels.onebot.wire import Line
from qingtuan.errors import SettingsWrong, StorageFailed
from qingtuan.identity.scopes import Role
from qingtuan.language import Words
from qingtuan.messages import Outbound, Space
from qingtuan.net.fetcher import SafeFetcher
from qingtuan.settings.onebot import OneBot as OneBotSettings

if TYPE_CHECKING:
    from nonebot.drivers import Driver

    from qingtuan.channels.onebot.adapter import Wired

_LOOK_SECONDS = 15.0
"""Between two looks at connections that have gone silent."""
_BEATS_MISSED = 3
_CATCHING_SECONDS = 60.0
"""How long live messages of an account may wait for those that were missed."""

_NO_TOKEN = Words(
    "QQ 没有口令（channels.onebot.access_token），没有打开：没有口令，谁都能冒充 NapCat。想一串长的随机字符，"
    "写在设置里，再填到 NapCat 的 Token 一栏。",
    "QQ has no token (channels.onebot.access_token) and stays off: without one anybody could pose as NapCat. Make up a "
    "long random string, put it into the settings, and into the Token field of NapCat.",
)
_NO_SOCKS = Words(
    "channels.onebot.proxy 写的是 socks 代理，还缺一个包：pip install python-socks；或者换成 http:// 的代理。",
    "channels.onebot.proxy is a SOCKS proxy, and a package is missing: pip install python-socks; or use an http:// "
    "one.",
)
_NOBODY = Words(
    "还没有 NapCat 连过来。在它的网络配置里加一个 WebSocket 客户端，地址是 ws://这台机器:{port}/onebot/v11/ws，"
    "Token 填同一个口令。",
    "No NapCat has connected yet. Add a WebSocket client to its network settings, with the address "
    "ws://THIS-MACHINE:{port}/onebot/v11/ws and the same token.",
)
_WRONG_TOKEN = Words(
    "有个 NapCat 想连过来，口令不对。把 channels.onebot.access_token 填到它的 Token 一栏。",
    "A NapCat tried to connect with a wrong token. Put channels.onebot.access_token into its Token field.",
)
_OUR_TOKEN = Words(
    "NapCat 不认这个口令。channels.onebot.access_token 要和它那边的 Token 一样。",
    "NapCat does not accept the token. channels.onebot.access_token has to be the Token that is set there.",
)
_SOMEBODYS = Words(
    "有个 NapCat 登录的是主人、成员或别的熟人的 QQ 号，没有让它连：小青团要用自己的号。",
    "A NapCat that is logged in with the number of the owner, a member or another known person was not let in: "
    "Qingtuan needs a number of its own.",
)
_UNREACHABLE = Words(
    "连不上 NapCat：看看它开着没有，channels.onebot.urls 写得对不对。",
    "NapCat cannot be reached: see whether it runs, and whether channels.onebot.urls is right.",
)
_GONE = Words(
    "QQ {account} 的 NapCat 断开了。它开着的话会自己连回来；没开就把它打开。",
    "NapCat of QQ {account} has disconnected. It comes back by itself if it runs; start it if it does not.",
)
_LOGGED_OUT = Words(
    "QQ {account} 掉线了{why}。用小号重新扫码：qingtuan login qq，或 NapCat 的网页。",
    "QQ {account} was logged out{why}. Scan again with the account: qingtuan login qq, or NapCat's pages.",
)


class OneBotEntry:
    """The channel, running."""

    def __init__(self, settings: OneBotSettings, around: Surroundings, fetcher: SafeFetcher, port: int) -> None:
        """`port`: of our server, for telling people."""
        self._settings = settings
        self._around = around
        self._port = port
        self._recent = Recent(around.log)
        self._membership = around.desk.membership
        self.intake = Intake(CHANNEL, around.desk, around.clock)
        self.accounts = Accounts(
            around.clock, self._recent.newest, self._recent.is_muted, since=around.clock.monotonic()
        )
        self.channel = OneBot(self.accounts, around.render, around.read, self._recent.answered, self._asker)
        self.fetching = Fetching(self.accounts, fetcher)
        self.adapter: Wired | None = None
        self.deliveries: Deliveries | None = None
        self._driver: Driver | None = None
        self._catching: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._trouble: Words | None = None

    @property
    def name(self) -> str:
        return CHANNEL

    @property
    def routes(self) -> Mapping[str, Asgi]:
        return {"/onebot/": self._answer}

    async def start(self) -> None:
        token = self._settings.access_token
        secret = token.get_secret_value().strip() if token else ""
        if not secret:
            raise SettingsWrong(_NO_TOKEN)
        if (self._settings.proxy or "").startswith("socks") and find_spec("python_socks") is None:
            raise SettingsWrong(_NO_SOCKS)
        from qingtuan.channels import nonebot  # heavy
        from qingtuan.channels.onebot.adapter import Wired

        config = {"onebot_access_token": secret, "onebot_ws_urls": list(self._settings.urls)}
        driver, adapter = nonebot.driver_of(Wired, config)
        if isinstance(adapter, Wired):
            self.adapter = adapter
            adapter.attach(self, self._around.clock, secret, self._settings.proxy)
        self.deliveries = Deliveries(self.channel, self._around.log)
        self.deliveries.start()
        self._driver = driver
        await nonebot.start(driver)
        self._spawn(self._look_after())

    async def stop(self) -> None:
        from qingtuan.channels import nonebot

        driver, self._driver = self._driver, None  # nobody comes in any more
        for task in list(self._tasks):
            task.cancel()
        await self.intake.close()
        if self.deliveries is not None:
            await self.deliveries.close()
        for account in self.accounts.by_id.values():
            if account.line is not None:
                await account.line.close(1001)
        if driver is not None:
            await nonebot.stop(driver)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def health(self) -> EntryHealth:
        accounts = list(self.accounts.by_id.values())
        logged_out = next((one for one in accounts if not one.online), None)
        gone = next((one for one in accounts if one.line is None), None)
        words: Words | None = None
        if logged_out is not None:
            why = Words(f"：{logged_out.why}", f": {logged_out.why}") if logged_out.why else Words("", "")
            words = _LOGGED_OUT.filled(account=logged_out.self_id, why=why)
        elif gone is not None:
            words = _GONE.filled(account=gone.self_id)
        elif not accounts:
            words = self._trouble or _NOBODY.filled(port=self._port)
        # One account that does not work is a trouble, whatever the others do.
        well = bool(accounts) and all(one.able for one in accounts)
        return EntryHealth(
            CHANNEL,
            "connected" if well else "disconnected" if accounts or self._trouble else "starting",
            words,
            ", ".join(f"qq:{one.self_id}" for one in accounts) or None,
            self.intake.last,
            self.deliveries.last if self.deliveries else None,
            held=self.deliveries.held() if self.deliveries else (),
        )

    async def typing(self, space: Space, *, on: bool) -> None:
        """Show in a private chat that something is being written; it goes out by itself."""
        if on:
            await self.channel.typing(space)

    def spares(self, space: Space) -> bool:
        """Whether a line beside the reply may be sent."""
        return self.channel.waits(Outbound("", space, "", "notice")) is None

    # The connections

    async def opened(self, line: Line) -> None:
        """There is a connection. An older one of the same account is over: it may be half open, and for long."""
        account = self.accounts.account(line.self_id)
        before, account.line = account.line, line
        account.online, account.why, account.interval = True, "", 0.0
        account.last = self._around.clock.monotonic()
        self._trouble = None
        if before is not None:
            self._spawn(before.close(1008, "replaced"))
        if (catching := self._catching.pop(line.self_id, None)) is not None:
            catching.cancel()
        self._catching[line.self_id] = self._spawn(self._catch_up(line))
        self._wake()

    async def heard(self, line: Line, event: Mapping[str, Any]) -> None:
        """An event came."""
        account, now = self.accounts.account(line.self_id), self._around.clock.now()
        account.last = self._around.clock.monotonic()
        found = heard(event, line.self_id, self.accounts.ours, now)
        if isinstance(found, (Said, Recalled)):
            await self.caught_up(line.self_id)
        try:
            await self._take(account, found)
        except StorageFailed:
            # It comes again with the next connection, when what was missed is asked for.
            await line.close(1011, "cannot store")

    async def closed(self, line: Line) -> None:
        """A connection is gone."""
        account = self.accounts.account(line.self_id)
        if account.line is line:
            account.line = None

    def refused(self, why: str) -> None:
        """A connection did not come about."""
        troubles = {"token theirs": _WRONG_TOKEN, "token ours": _OUR_TOKEN, "unreachable": _UNREACHABLE}
        troubles |= {"somebody": _SOMEBODYS}
        self._trouble = troubles.get(why, self._trouble)

    def is_somebody(self, self_id: str) -> bool:
        """Whether a number is the owner's, a member's or that of another known person."""
        people, account = self._around.kit.people, f"qq:{self_id}"
        person = people.find(account)
        named = any(account in known.accounts for known in people)
        return named or (person is not None and people.role(person) is not Role.GUEST)

    # What came

    async def _take(self, account: Account, found: Heard) -> None:
        match found:
            case Said():
                await self._said(account, found)
            case Recalled():
                await self.intake.recalled(found.space, found.message_id)
            case Muted():
                self._muted(account.self_id, found)
            case Left() if not found.ours:
                self._membership.left(CHANNEL, found.group, found.account)
            case Left():
                if self.accounts.left(account.self_id, found.group):
                    self._membership.removed(CHANNEL, found.group)
            case Joined():
                if self.accounts.joined(account.self_id, found.group):
                    self._membership.added(CHANNEL, found.group, found.by or None)
            case Offline():
                account.online, account.why = False, found.why
            case Beat():
                account.interval = found.seconds
                if found.online and not account.online:
                    account.online, account.why = True, ""
                    self._wake()
                account.online = found.online
            case _:
                pass

    async def _said(self, account: Account, said: Said) -> None:
        inbound = said.inbound
        if inbound.space.is_group:
            self.accounts.joined(account.self_id, inbound.space)
        if inbound.quotes is not None:
            ours = self._recent.is_ours(inbound.space, inbound.quotes)
            quoted = None if ours else self._recent.message(inbound.space, inbound.quotes)
            unknown = not ours and quoted is None and not self._recent.overheard(inbound.space, inbound.quotes)
            inbound = replace(inbound, addressed=inbound.addressed or ours)
            if quoted is not None and quoted.account == inbound.account and said.bare:
                # Whoever quotes themselves and says no more has said it before.
                inbound = replace(inbound, text=quoted.text)
            elif unknown and said.quote is not None:
                inbound = replace(inbound, remotes=(*inbound.remotes, said.quote))
            said = replace(said, inbound=inbound)
        if self.accounts.takes(said):
            await self.intake.take(inbound)

    def _muted(self, self_id: str, muted: Muted) -> None:
        self.accounts.silence(self_id, muted)
        if muted.seconds == 0:
            self._membership.unmuted(CHANNEL, muted.group)
        else:
            seconds = muted.seconds
            until = None if seconds is None else self._around.clock.now() + timedelta(seconds=seconds)
            self._membership.muted(CHANNEL, muted.group, until)
        self._wake(muted.group)

    async def _catch_up(self, line: Line) -> None:
        now = self._around.clock.now()
        chats = self._recent.chats(line.self_id, now)
        account = self.accounts.account(line.self_id)
        with suppress(StorageFailed):  # it is asked for again with the next connection
            async for found in missed(line, chats, self.accounts.ours, now):
                try:
                    if isinstance(found, Said):
                        await self._said(account, found)
                    else:
                        self._muted(*found)
                except StorageFailed:
                    raise
                except Exception as error:  # noqa: BLE001 (the edge of a channel: the others are taken)
                    said = {"message": "a message of onebot could not be taken", "exception": error}
                    asyncio.get_running_loop().call_exception_handler(said)

    async def caught_up(self, self_id: str) -> None:
        """Wait until what an account missed was taken in."""
        catching = self._catching.get(self_id)
        if catching is not None and not catching.done():
            await asyncio.wait([catching], timeout=_CATCHING_SECONDS)

    # What goes

    def _wake(self, space: Space | None = None) -> None:
        if self.deliveries is None:
            return
        if space is None:
            self.deliveries.wake_all()
        else:
            self.deliveries.wake(space)

    def _asker(self, space: Space, name: str) -> str | None:
        found = self._recent.message(space, name)
        return found.account if found else None

    # Its own work

    async def _look_after(self) -> None:
        """Hang up on who gives no sign of life, and send what may be sent again."""
        clock = self._around.clock
        while True:
            await clock.sleep(_LOOK_SECONDS)
            for account in list(self.accounts.by_id.values()):
                silent = clock.monotonic() - account.last
                if account.line is not None and account.interval and silent > account.interval * _BEATS_MISSED:
                    await account.line.close(1001, "no sign of life")
            self._wake()

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        if self._driver is None:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        await self._driver.asgi(scope, receive, send)  # type: ignore[attr-defined]

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
