"""The way in: updates by polling or by webhook, in order, each let go of only once it is stored.

The server keeps the place: what is not confirmed by the next request comes again, after a restart, too. The inbox
knows messages by their ids, so that what comes again is heard once.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qingtuan.channels.intake import Intake
from qingtuan.channels.telegram.api import POLL_SECONDS, UPDATES, Answer, Api
from qingtuan.channels.telegram.buttons import Buttons
from qingtuan.channels.telegram.ids import Ref
from qingtuan.channels.telegram.inbound import BotMembership, Left, Me, Moved, Press, Reading
from qingtuan.channels.telegram.moves import Moves
from qingtuan.clock import Clock
from qingtuan.errors import StorageFailed
from qingtuan.language import Language, Words
from qingtuan.messages import Inbound, Space

_REMEMBERED = 2000
"""Updates that are known to have been taken, so that one that comes again is not even looked at."""
_PAUSES = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds between two tries, the more the longer nothing works."""
_STALE_SECONDS = 6 * 24 * 3600.0
"""After a week without updates Telegram numbers anew (Bot API, Update): a place from before would skip what comes."""


@dataclass(slots=True)
class State:
    """How the connection to the server is, for whoever asks."""

    me: Me | None = None
    connected: bool = False
    """Whether updates come."""
    reachable: bool = False
    """Whether the server answers, so that messages can be sent."""
    words: Words | None = None
    """What is wrong."""
    changed: Callable[[], None] = lambda: None
    """Called when the server can be reached again."""

    def up(self) -> None:
        """The server has answered as it should."""
        was, self.reachable = self.reachable, True
        self.connected, self.words = True, None
        if not was:
            self.changed()

    def down(self, words: Words, *, reachable: bool = False) -> None:
        """It has not."""
        self.connected, self.reachable, self.words = False, reachable, words


class Taking:
    """Takes updates, one after the other."""

    def __init__(self, intake: Intake, buttons: Buttons, moves: Moves, state: State, api: Api) -> None:
        self._intake = intake
        self._buttons = buttons
        self._moves = moves
        self._state = state
        self._api = api
        self._taken: OrderedDict[int, None] = OrderedDict()
        self._one_by_one = asyncio.Lock()
        self.memberships: Callable[[BotMembership | Left], None] = lambda _: None
        self.language: Callable[[], Language] = lambda: "zh"
        self.topics: dict[Space, int | None] = {}
        """By chat the topic in which somebody last wrote."""
        self._answering: set[asyncio.Task[Answer]] = set()

    async def take(self, update: Any) -> bool:
        """Store what an update brings; False if it could not be stored and has to come again."""
        if self._state.me is None:
            return False
        if (number := number_of(update)) is None:
            return True
        async with self._one_by_one:
            if number in self._taken:
                return True
            try:
                await self._store(update, self._state.me)
            except StorageFailed:
                return False
            except Exception as error:  # noqa: BLE001 (the edge of a channel)
                # Given in once more it would break again, and all that stands behind it would never be heard.
                said = {"message": "an update of telegram could not be taken", "exception": error}
                asyncio.get_running_loop().call_exception_handler(said)
            self._taken[number] = None
            while len(self._taken) > _REMEMBERED:
                self._taken.popitem(last=False)
            return True

    async def close(self) -> None:
        """Finish what was begun."""
        if self._answering:
            await asyncio.wait(self._answering)

    async def _store(self, update: Mapping[str, Any], me: Me) -> None:
        match Reading(me, self._moves.origins).read(update):
            case Inbound() as inbound:
                self._note_topic(inbound)
                await self._intake.take(inbound)
            case Press() as press:
                await self._press(press)
            case Moved(old, new):
                self._moves.learn(old, new)
            case BotMembership() | Left() as change:
                self.memberships(change)

    def _note_topic(self, inbound: Inbound) -> None:
        topic = ref.topic if (ref := Ref.parse(inbound.message_id)) else None
        if topic is not None or inbound.space in self.topics:
            self.topics[inbound.space] = topic

    async def _press(self, press: Press) -> None:
        judged = self._buttons.judge(press)
        if isinstance(judged, Inbound):
            await self._intake.take(judged)
        text = judged.say(self.language()) if isinstance(judged, Words) else None
        answering = asyncio.create_task(self._api.call("answerCallbackQuery", callback_query_id=press.query, text=text))
        self._answering.add(answering)
        answering.add_done_callback(self._answering.discard)


class Connection:
    """Keeps the line to the server: finds out who the bot is, and has the updates come."""

    def __init__(self, api: Api, state: State, clock: Clock) -> None:
        self._api = api
        self._state = state
        self._clock = clock
        self._failures = 0
        self._offset: int | None = None

    async def poll(self, take: Callable[[Any], Awaitable[bool]]) -> None:
        """Fetch updates for ever; each is confirmed by asking for what comes behind it."""
        await self._meet(lambda: self._api.call("deleteWebhook"))
        moved = self._clock.monotonic()
        while True:
            if self._clock.monotonic() - moved > _STALE_SECONDS:
                self._offset = None
            # After a failure the answer is wanted at once: what waits to be sent waits for it.
            said = await self._fetch(POLL_SECONDS if self._state.connected else 0)
            if not said.done or not isinstance(said.result, list):
                await self._pause(said)
                continue
            self._state.up()
            self._failures = 0
            for update in said.result:
                if not await take(update):
                    await self._pause(_NOT_STORED)
                    break
                if (number := number_of(update)) is not None:
                    self._offset, moved = number + 1, self._clock.monotonic()

    async def confirm(self) -> None:
        """Let the server know what was taken last, so that it does not come again at the next start."""
        if self._offset is not None and self._state.connected:
            await self._fetch(0, most=1)

    async def deliver(self, url: str, secret: str) -> None:
        """Have updates delivered to an address, and see to it for ever that they still are."""
        wanted = {
            "url": url,
            "secret_token": secret,
            "allowed_updates": list(UPDATES),
            "max_connections": _WEBHOOK_CONNECTIONS,
        }
        while True:
            await self._meet(lambda: self._api.call("setWebhook", **wanted))
            while (fault := await self._webhook_fault(url)) is None or isinstance(fault, Words):
                if fault is None:
                    self._state.up()
                else:
                    self._state.down(fault, reachable=True)
                await self._clock.sleep(_LOOK_SECONDS)
            await self._pause(fault)

    async def _webhook_fault(self, url: str) -> Words | Answer | None:
        """What is wrong with the delivery: a sentence for the owner, or an answer after which it is set up anew."""
        said = await self._api.call("getWebhookInfo")
        info = said.result if isinstance(said.result, Mapping) else {}
        if not said.done or info.get("url") != url:
            return said if not said.done else Answer("unanswered", description="the webhook is another one")
        waiting, error = info.get("pending_update_count") or 0, info.get("last_error_message")
        if waiting and isinstance(error, str):
            return _NOT_DELIVERED.filled(url=url, why=error[:200], count=waiting)
        return None

    async def _fetch(self, seconds: int, most: int = 100) -> Answer:
        given = {"offset": self._offset, "limit": most, "timeout": seconds, "allowed_updates": list(UPDATES)}
        return await self._api.call("getUpdates", **given)

    async def _meet(self, prepare: Callable[[], Awaitable[Answer]]) -> None:
        """Ask who the bot is, and prepare the delivery; again and again until both have worked."""
        while True:
            said = await self._api.call("getMe")
            if said.done and (me := _me(said.result)) is not None:
                self._state.me = me
                said = await prepare()
                if said.done:
                    self._failures = 0
                    self._state.up()
                    return
            await self._pause(said)

    async def _pause(self, said: Answer) -> None:
        """Wait before the next try, and say why."""
        self._state.down(_wrong(said), reachable=self._state.me is not None and said.code in (409, 429))
        seconds = _PAUSES[min(self._failures, len(_PAUSES) - 1)]
        self._failures += 1
        await self._clock.sleep(max(seconds, said.retry_after or 0.0))


def number_of(update: Any) -> int | None:
    """By what number the server counts an update."""
    number = update.get("update_id") if isinstance(update, Mapping) else None
    return number if isinstance(number, int) else None


def _me(result: Any) -> Me | None:
    if not isinstance(result, Mapping) or not isinstance(result.get("id"), int):
        return None
    name = result.get("username")
    return Me(result["id"], name if isinstance(name, str) else "", result.get("can_read_all_group_messages") is True)


def _wrong(said: Answer) -> Words:
    if said is _NOT_STORED:
        return _DISK
    if said.code in (401, 404):
        return _TOKEN
    if said.code == 409:
        return _TAKEN
    if said.state == "refused":
        return _REFUSED.filled(why=f"{said.code} {said.description}")
    return _AWAY.filled(why=said.description)


_WEBHOOK_CONNECTIONS = 10
_LOOK_SECONDS = 300.0
"""Between two looks whether the updates are still delivered."""
_NOT_STORED = Answer("unanswered", description="an update could not be stored")
_TOKEN = Words(
    "Telegram 不认这个 token：到 BotFather 那里核对，写进 .env 的 QINGTUAN_CHANNELS__TELEGRAM__TOKEN。",
    "Telegram does not know this token: compare it at BotFather, and put it into .env as"
    " QINGTUAN_CHANNELS__TELEGRAM__TOKEN.",
)
_TAKEN = Words(
    "这个机器人的消息被另一个程序取走了：停掉那一个，或者换一个机器人。",
    "Another program fetches the messages of this bot: stop it, or use another bot.",
)
_REFUSED = Words("Telegram 拒绝了（{why}）。", "Telegram refused ({why}).")
_AWAY = Words(
    "连不上 Telegram（{why}），一直在重试。网络要代理的话设 channels.telegram.proxy。",
    "Telegram is out of reach ({why}); it is tried again. Where a proxy is needed, set channels.telegram.proxy.",
)
_DISK = Words(
    "消息存不下来：看看磁盘是不是满了。Telegram 那边先留着，腾出地方就接着收。",
    "Messages cannot be stored: see whether the disk is full. Telegram keeps them until there is room again.",
)
_NOT_DELIVERED = Words(
    "Telegram 送不到 {url}（{why}），有 {count} 条在等。核对这个地址从外面能不能打开。",
    "Telegram cannot deliver to {url} ({why}); {count} updates wait. See whether the address opens from outside.",
)
