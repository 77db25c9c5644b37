"""Telegram as `serve` runs it: the bot, the way in, the way out, and how it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Literal

from qingtuan.channels.base import Deliveries
from qingtuan.channels.entry import Asgi, EntryHealth, Surroundings
from qingtuan.channels.intake import Intake
from qingtuan.channels.nonebot import driver_of
from qingtuan.channels.telegram.adapter import SECRET_HEADER, TelegramAdapter, config_of, hide_token
from qingtuan.channels.telegram.api import Answer
from qingtuan.channels.telegram.buttons import Buttons
from qingtuan.channels.telegram.channel import TelegramChannel, Ways
from qingtuan.channels.telegram.contents import DOWNLOAD_BYTES, reference
from qingtuan.channels.telegram.ids import Ref
from qingtuan.channels.telegram.inbound import CHANNEL, BotMembership, Left
from qingtuan.channels.telegram.moves import Moves
from qingtuan.channels.telegram.receiving import Connection, State, Taking
from qingtuan.channels.telegram.streaming import Streams
from qingtuan.channels.telegram.topics import topic_of
from qingtuan.channels.telegram.webhook import bounded
from qingtuan.errors import FetchFailed, StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Place
from qingtuan.language import Words
from qingtuan.media.remote import Blob
from qingtuan.messages import Inbound, Remote, Space
from qingtuan.settings.telegram import Telegram

_STRANGE_SECONDS = 60.0
"""Between two notes that somebody calls the webhook without the secret."""
_END_SECONDS = 3.0
_BROKEN_SECONDS = 30.0


class TelegramEntry:
    """One bot."""

    def __init__(self, settings: Telegram, around: Surroundings) -> None:
        token = settings.token.get_secret_value() if settings.token else ""
        self._settings = settings
        self._around = around
        self._driver, adapter = driver_of(TelegramAdapter, config_of(token, settings.api_server, settings.proxy))
        assert isinstance(adapter, TelegramAdapter)
        hide_token(token)
        log = around.log
        self._api = adapter
        self._state = State()
        self._moves = Moves(log)
        self._buttons = Buttons(around.kit)
        self._intake = Intake(CHANNEL, around.desk, around.clock)
        self._taking = Taking(self._intake, self._buttons, self._moves, self._state, adapter)
        self._taking.language = lambda: around.kit.texts.language
        self._taking.memberships = self._member
        self._connection = Connection(adapter, self._state, around.clock)
        ways = Ways(
            render=around.render,
            buttons=self._buttons.under,
            topic=partial(topic_of, log),
            read=around.read,
            ready=lambda: self._state.reachable,
            refused=self._refused,
        )
        self._streams = Streams(adapter, self._moves, log, around.kit.stage, around.clock)
        self._channel = TelegramChannel(adapter, self._moves, ways, self._streams)
        self._deliveries: Deliveries | None = None
        self._running: asyncio.Task[None] | None = None
        self._unlisten: Callable[[], None] = lambda: None
        self._tidying: set[asyncio.Task[Answer]] = set()
        self._closed_to: dict[Space, Words] = {}
        """Chats that the bot cannot write to, and why."""
        self._strange_at: float | None = None
        adapter.take = self._taking.take
        adapter.strange = self._strange

    @property
    def name(self) -> str:
        return CHANNEL

    @property
    def routes(self) -> Mapping[str, Asgi]:
        """The webhook, where one is set."""
        if self._settings.webhook_url is None:
            return {}
        asgi: Asgi = self._driver.asgi  # type: ignore[attr-defined]
        return {"/telegram": bounded(asgi, SECRET_HEADER, self._api.secret)}

    async def start(self) -> None:
        log = self._around.log
        self._deliveries = Deliveries(self._channel, log)
        self._deliveries.start()
        self._state.changed = self._deliveries.wake_all
        self._unlisten = log.listen(self._heard)
        self._streams.start(shows=self._settings.stream)
        self._running = asyncio.create_task(self._run(), name="telegram in")

    async def stop(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        await self._intake.close()
        with suppress(TimeoutError):  # what was not confirmed comes again, and is known then
            async with asyncio.timeout(_END_SECONDS):
                await self._taking.close()
                await self._connection.confirm()
        self._unlisten()
        for task in self._tidying:
            task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await self._streams.close()
        if self._deliveries is not None:
            await self._deliveries.close()

    def health(self) -> EntryHealth:
        found = self._state
        state: Literal["starting", "connected", "disconnected"] = "connected" if found.connected else "disconnected"
        if not found.connected and found.words is None:
            state = "starting"
        words = found.words or self._note()
        account = f"@{found.me.username}" if found.me and found.me.username else None
        held = self._deliveries.held() if self._deliveries else ()
        last = self._intake.last, self._deliveries.last if self._deliveries else None
        return EntryHealth(CHANNEL, state, words, account, *last, held=held)

    async def typing(self, space: Space, *, on: bool) -> None:
        """Show that something is being written, where somebody last wrote (`presence.Signs`); it goes out by itself."""
        if on and self._state.reachable:
            topic = self._taking.topics.get(space)
            where = {"chat_id": self._moves.chat(space), "message_thread_id": topic}
            await self._api.call("sendChatAction", action="typing", **where)

    def spares(self, space: Space) -> bool:
        """Whether a line that it takes long says anything new: not where the answer is read while it grows."""
        return self._state.reachable and not self._streams.shows(space)

    async def fetch(self, remote: Remote) -> Blob:
        """What a message left with Telegram (`media.remote.Fetcher`)."""
        file_id = reference(remote)
        if file_id is None:
            raise FetchFailed(_GONE)
        if remote.size is not None and remote.size > DOWNLOAD_BYTES:
            raise FetchFailed(_TOO_LARGE)
        said = await self._api.call("getFile", file_id=file_id)
        if not said.done:
            raise FetchFailed(
                _TOO_LARGE if said.says("too big") else _GONE, detail=said.description, again=_again(said)
            )
        path = said.result.get("file_path") if isinstance(said.result, Mapping) else None
        if not isinstance(path, str) or path.startswith("/") or ".." in path:
            # A server of one's own in local mode names a file on its disk.
            raise FetchFailed(_GONE, detail="the server gave no path to download from")
        content = await self._api.download(path, DOWNLOAD_BYTES)
        if isinstance(content, Answer):
            words = _TOO_LARGE if content.code == 413 else _GONE
            raise FetchFailed(words, detail=content.description, again=_again(content))
        return Blob(content, remote.name or path.rpartition("/")[2])

    async def _run(self) -> None:
        """Have updates come, whatever happens: what breaks is written down, and tried again."""
        while True:
            try:
                if self._settings.webhook_url is None:
                    await self._connection.poll(self._taking.take)
                else:
                    await self._connection.deliver(f"{self._settings.webhook_url}/telegram", self._api.secret)
            except Exception as error:  # noqa: BLE001 (the edge of a channel)
                self._state.down(_BROKEN)
                with suppress(StorageFailed):
                    self._around.log.append(Kind.CHORE_FAILED, Place(), {"detail": repr(error)})
                await self._around.clock.sleep(_BROKEN_SECONDS)

    def _note(self) -> Words | None:
        """What the owner should know of a bot that works."""
        notes = list(self._closed_to.values())[-1:]
        if self._state.connected and self._state.me is not None and not self._state.me.reads_groups:
            notes.append(_PRIVACY)
        return Words.joined(notes)

    def _heard(self, event: Event) -> None:
        if (closed := self._buttons.closed(event)) is not None and (ref := Ref.parse(closed[1])) is not None:
            chat = ref.chat or self._moves.chat(closed[0])
            removing = self._api.call("editMessageReplyMarkup", chat_id=chat, message_id=ref.message)
            task = asyncio.create_task(removing)
            self._tidying.add(task)
            task.add_done_callback(self._tidying.discard)

    def _member(self, membership: BotMembership | Left) -> None:
        desk = self._around.desk.membership
        if isinstance(membership, Left):
            desk.left(CHANNEL, membership.group, membership.account)
            return
        if membership.chat < 0:
            group = _space_of(membership.chat, self._moves)
            if membership.state == "out":
                desk.removed(CHANNEL, group)
            elif membership.by:
                desk.added(CHANNEL, group, membership.by)
        for space in list(self._closed_to):
            if membership.state == "in" and self._moves.chat(space) == membership.chat:
                del self._closed_to[space]
        if membership.state == "out":
            space = _space_of(membership.chat, self._moves)
            self._closed_to[space] = _BLOCKED if membership.chat > 0 else _REMOVED

    def _refused(self, space: Space, said: Answer) -> None:
        if said.code == 403:
            self._closed_to[space] = _REMOVED if space.is_group else _BLOCKED

    async def _strange(self) -> None:
        """Somebody calls the webhook who does not know the secret: written down now and then, and nothing of it
        believed."""
        now = self._around.clock.monotonic()
        if self._strange_at is not None and now - self._strange_at < _STRANGE_SECONDS:
            return
        self._strange_at = now
        moment = self._around.clock.now()
        nobody = Space("private", "tg:unsigned")
        await self._around.desk.receive(
            Inbound(CHANNEL, "tg:unsigned", nobody, f"unsigned {moment.isoformat()}", "", moment, signed=False)
        )


def _space_of(chat: int, moves: Moves) -> Space:
    origin = moves.origins.get(chat, chat)
    return Space("private" if chat > 0 else "group", f"tg:{origin}")


def _again(said: Answer) -> bool:
    return said.state != "refused" or said.code == 429


_BROKEN = Words(
    "Telegram 这边出错了，半分钟后再试；详情在 qingtuan events 的 chore.failed 里。",
    "Something broke on the way to Telegram; it is tried again. See chore.failed in qingtuan events.",
)
_GONE = Words("Telegram 没有把这个文件给我。", "Telegram did not give me this file.")
_TOO_LARGE = Words(
    "这个文件太大了：Telegram 只让机器人取 20 MB 以内的。",
    "This file is too large: Telegram lets bots have no more than 20 MB.",
)
_BLOCKED = Words(
    "有人拉黑了机器人，发给他的消息送不出去。", "Somebody has blocked the bot: messages to them are refused."
)
_REMOVED = Words(
    "机器人不在一个群里了，发到那里的消息送不出去。", "The bot is no longer in a group: messages there are refused."
)
_PRIVACY = Words(
    "隐私模式开着，群里只收到 @ 它、回复它的和命令。要它旁听，在 BotFather 里用 /setprivacy 关掉，"
    "再把它移出群、重新拉进来。",
    "privacy mode is on, so in groups it gets only mentions, replies and commands. To let it read along, turn it off at"
    " BotFather with /setprivacy, then remove it from the group and add it again.",
)
