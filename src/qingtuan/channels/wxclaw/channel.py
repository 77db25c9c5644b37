"""WeChat as a way out: one bubble after the other, within the window that the platform leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from qingtuan.channels.base import Delivery, Part, Waits
from qingtuan.channels.pace import Pace, Rate
from qingtuan.channels.wxclaw.ilink import (
    ActionFailed,
    HTTPStatusError,
    NetworkError,
    UploadMediaType,
)
from qingtuan.channels.wxclaw.inbound import CHANNEL
from qingtuan.channels.wxclaw.media import item_of, shown_as
from qingtuan.channels.wxclaw.polling import Polling
from qingtuan.channels.wxclaw.store import Chat, Store
from qingtuan.channels.wxclaw.window import Standing, judge
from qingtuan.channels.wxclaw.wire import NotReached
from qingtuan.clock import Clock
from qingtuan.errors import QingtuanError
from qingtuan.messages import Attachment, Outbound
from qingtuan.storage.files import content_hash

_UPLOADED_AS = {"image": UploadMediaType.IMAGE, "video": UploadMediaType.VIDEO, "file": UploadMediaType.FILE}
_WAITS = "waiting for the user: WeChat takes no more until they write"
_NO_LOGIN = "not logged in"
_UPLOADS = 5
"""How often a file is tried to be uploaded; what comes behind it in the chat waits for that."""
_PACE = Pace(private=(Rate(1, 0.5),), bubbles=(0.5, 1.5))


@dataclass(frozen=True, slots=True)
class Bubble(Part):
    """A part that knows its place in its message: by that it has the same id whenever it is sent."""

    number: int = 0
    more: bool = False
    """Whether others of the message follow it."""


class WeChat:
    """Sends to people who have written before."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        bots: Mapping[str, Polling],
        render: Callable[[Outbound], Sequence[Part]],
        read: Callable[[str], bytes],
        hint: str,
    ) -> None:
        """`bots`: by account, those that there are at a moment. `render`: the parts of a message as WeChat shows them.
        `read`: the bytes of the file with a hash, or `NotThere`. `hint`: how to get the rest of a message."""
        self._store = store
        self._clock = clock
        self._bots = bots
        self._render = render
        self._read = read
        self._hint = hint
        self._uploads: dict[str, int] = {}
        """Tries of files that could not be uploaded yet, by the id of their bubble."""

    @property
    def name(self) -> str:
        return CHANNEL

    @property
    def pace(self) -> Pace:
        return _PACE

    def waits(self, message: Outbound) -> Waits | None:
        """It waits for the person where they have not written lately enough, or the platform is known to take no more
        until they do again."""
        if (way := self._way(message)) is None:
            return Waits.LOGIN if not any(bot.usable for bot in self._bots.values()) else Waits.USER_FIRST
        return None if way[1].standing.admits(message.kind, self._clock.now()) else Waits.USER_FIRST

    def parts(self, message: Outbound) -> list[Part]:
        parts = self._render(message)
        return [
            Bubble(part.text, part.attachment, part.plain, number, number + 1 < len(parts))
            for number, part in enumerate(parts)
        ]

    async def send(self, message: Outbound, part: Part) -> Delivery:
        if (way := self._way(message)) is None:
            return Delivery("later", detail=_NO_LOGIN)
        polling, chat = way
        if not chat.standing.admits(message.kind, self._clock.now()):
            return Delivery("later", detail=_WAITS)
        if part.attachment is None:
            return await self._hand_over(self._words(message, part, chat), _client_id(message, part), polling, chat)
        try:
            item = await self._file(part.attachment, polling, chat.user)
        except (ActionFailed, NetworkError, QingtuanError) as error:
            return self._not_uploaded(error, _client_id(message, part), polling, chat)
        self._uploads.pop(_client_id(message, part), None)
        return await self._hand_over(item, _client_id(message, part), polling, chat)

    def _way(self, message: Outbound) -> tuple[Polling, Chat] | None:
        """The bot that the person wrote to last, of those that work."""
        platform, _, user = message.space.id.partition(":")
        if message.space.is_group or platform != "wx":
            return None
        for chat in self._store.chats(user):
            if (polling := self._bots.get(chat.account)) is not None and polling.usable:
                return polling, chat
        return None

    def _words(self, message: Outbound, part: Part, chat: Chat) -> Mapping[str, Any]:
        """A text. The last one that goes for now, of a message that goes on, says how to get the rest."""
        is_last = not chat.standing.counted().admits(message.kind, self._clock.now())
        hint = f"\n\n{self._hint}" if is_last and isinstance(part, Bubble) and part.more else ""
        return {"type": 1, "text_item": {"text": part.text + hint}}

    async def _file(self, attachment: Attachment, polling: Polling, user: str) -> Mapping[str, Any]:
        data = await asyncio.to_thread(self._read, attachment.hash)
        return item_of(attachment, await polling.bot.upload(data, _UPLOADED_AS[shown_as(attachment)], user))

    def _not_uploaded(self, error: Exception, client_id: str, polling: Polling, chat: Chat) -> Delivery:
        """Nothing was said to anybody yet: what can be tried again may, a few times."""
        if isinstance(error, HTTPStatusError) and error.status_code in (401, 403):
            polling.end("refused")
            return Delivery("later", detail=_NO_LOGIN)
        if isinstance(error, ActionFailed):
            answer = {"ret": error.ret, "errcode": error.errcode, "errmsg": error.errmsg}
            return self._judged(answer, polling, chat, counted=False)
        self._uploads[client_id] = self._uploads.get(client_id, 0) + 1
        for_good = not isinstance(error, NetworkError) or "client error" in _named(error)
        if for_good or self._uploads[client_id] >= _UPLOADS:
            del self._uploads[client_id]
            return Delivery("refused", detail=f"the file could not be uploaded: {_named(error)}")
        return Delivery("later", detail=f"the file could not be uploaded yet: {_named(error)}")

    async def _hand_over(self, item: Mapping[str, Any], client_id: str, polling: Polling, chat: Chat) -> Delivery:
        chat = self._store.chat(chat.account, chat.user) or chat  # they may have written meanwhile
        # Counted before: whether it arrives or not, it may have been.
        self._store.keep(replace(chat, standing=chat.standing.counted()))
        try:
            answer = await polling.bot.deliver(chat.user, item, client_id=client_id, context_token=chat.token)
        except HTTPStatusError as error:
            if error.status_code in (401, 403):
                polling.end("refused")
                return self._back(chat, Delivery("later", detail=_NO_LOGIN))
            if error.status_code == 429:
                return self._back(chat, Delivery("later", detail="HTTP 429"))
            return Delivery("refused" if error.status_code < 500 else "unknown", detail=f"HTTP {error.status_code}")
        except NetworkError as error:
            if isinstance(error.__cause__, NotReached):
                return self._back(chat, Delivery("later", detail="no connection"))
            return Delivery("unknown", detail=_named(error))
        return self._judged(answer, polling, chat)

    def _judged(self, answer: Mapping[str, Any], polling: Polling, chat: Chat, *, counted: bool = True) -> Delivery:
        verdict = judge(answer, chat.standing, self._clock.now())
        said = (
            f"ret={answer.get('ret')} errcode={answer.get('errcode')} {str(answer.get('errmsg') or '')[:100]}".strip()
        )
        match verdict.kind:
            case "sent":
                number = answer.get("message_id")
                return Delivery("sent", str(number) if isinstance(number, (int, str)) and number else None)
            case "expired":
                polling.end("expired")
                return self._back(chat, Delivery("later", detail=_NO_LOGIN), counted=counted)
            case "closed":
                return self._back(chat, Delivery("later", detail=f"{_WAITS} ({said})"), "closed", counted=counted)
            case "throttled":
                later = Delivery("later", detail=said, after=verdict.after)
                return self._back(chat, later, "throttled", counted=counted)
            case "refused":
                return Delivery("refused", detail=said)

    def _back(
        self, chat: Chat, delivery: Delivery, why: Literal["closed", "throttled"] | None = None, *, counted: bool = True
    ) -> Delivery:
        """It was not taken, and counts for nothing; unless they wrote meanwhile, with which all began anew."""
        now = self._store.chat(chat.account, chat.user)
        if now is not None and now.standing.last_inbound == chat.standing.last_inbound:
            standing = Standing(
                now.standing.last_inbound,
                max(0, now.standing.sent - counted),
                now.standing.closed or why == "closed",
                now.standing.throttled + (why == "throttled"),
            )
            self._store.keep(replace(now, standing=standing))
        return delivery


def _client_id(message: Outbound, part: Part) -> str:
    """Ours, and the same for the same part of the same message: the server can know it again."""
    number = part.number if isinstance(part, Bubble) else int(content_hash(repr(part).encode())[:8], 16)
    return f"qingtuan-{message.id}-{number}"


def _named(error: Exception) -> str:
    if isinstance(error, QingtuanError):
        return error.words.en
    return str(error.args[-1])[:200] if error.args else type(error).__name__
