"""The way out: parts of a message as calls of the Bot API, and what the server's answers mean."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from qingtuan.channels.base import Delivery, Part, Waits
from qingtuan.channels.pace import Pace, Rate
from qingtuan.channels.telegram.api import Answer, Api
from qingtuan.channels.telegram.ids import Ref, units
from qingtuan.channels.telegram.moves import Moves
from qingtuan.errors import NotThere
from qingtuan.messages import Attachment, Outbound, Space

CAPTION = 1024
"""UTF-16 units of the words under a picture or a file."""
_PHOTO_BYTES = 10 * 1024 * 1024
_UPLOAD_BYTES = 50 * 1024 * 1024
_PHOTO_TYPES = frozenset({"image/png", "image/jpeg", "image/webp"})
_PACE = Pace(private=(Rate(1, 1.0),), group=(Rate(1, 1.0), Rate(20, 60.0)), every=(Rate(30, 1.0),), bubbles=(0.5, 1.5))
"""What the platform takes (platforms.md, 4)."""
_NO_PREVIEW = {"is_disabled": True}
_LATER_SECONDS = 60.0
"""After which to try again where the server does not know the bot: its token is wrong, or was changed."""

Params = dict[str, Any]


class Shown(Protocol):
    """Messages that show answers while they are written."""

    async def take(self, message: Outbound) -> Ref | None:
        """The message that shows the beginnings of this one, to be made the first part of it."""
        ...

    def became(self, message: Outbound) -> None:
        """It was made that."""
        ...

    async def remove(self, message: Outbound) -> None:
        """It is no part of what is sent."""
        ...


@dataclass(frozen=True, slots=True)
class Ways:
    """What the channel asks of others."""

    render: Callable[[Outbound], Sequence[Part]]
    buttons: Callable[[Outbound], Mapping[str, Any] | None]
    topic: Callable[[Outbound], int | None]
    """The topic of a forum that a message belongs to."""
    read: Callable[[str], bytes]
    """The bytes of a file of the media store, by its hash. Raises `NotThere`."""
    ready: Callable[[], bool]
    """Whether the server can be asked for anything now."""
    refused: Callable[[Space, Answer], None]
    """Told of each message that the server did not take."""


class TelegramChannel:
    """Sends messages of the outbox."""

    def __init__(self, api: Api, moves: Moves, ways: Ways, shown: Shown | None = None) -> None:
        self._api = api
        self._moves = moves
        self._ways = ways
        self._shown = shown

    @property
    def name(self) -> str:
        return "telegram"

    @property
    def pace(self) -> Pace:
        return _PACE

    def waits(self, message: Outbound) -> Waits | None:  # noqa: ARG002 (any chat, or none)
        return None if self._ways.ready() else Waits.NOT_CONNECTED

    def parts(self, message: Outbound) -> Sequence[Part]:
        """The text as HTML with the same in plain, then the files; a single picture or file has a short text under
        it."""
        parts = list(self._ways.render(message))
        if len(parts) == 2 and parts[0].attachment is None and parts[1].attachment is not None:
            text, file = parts
            if message.kind != "question" and units(text.plain or text.text) <= CAPTION:
                return [Part(text.text, file.attachment, text.plain)]
        return parts

    async def send(self, message: Outbound, part: Part) -> Delivery:
        """Hand one part over."""
        parts = self.parts(message)
        marks = {"reply_markup": self._ways.buttons(message) if part == parts[-1] else None}
        if part == parts[0] and self._shown is not None and (there := await self._shown.take(message)) is not None:
            if part.attachment is None:
                return await self._in_place(message, part, there, marks)
            await self._shown.remove(message)
        return await self._anew(message, part, marks)

    async def _in_place(self, message: Outbound, part: Part, there: Ref, marks: Params) -> Delivery:
        """Make what was shown while it was written the first part of the message."""
        where: Params = {"message_id": there.message, **marks}
        said = await self._said(message.space, "editMessageText", {**where, **_text(part)}, _plain(part))
        if said.says("message is not modified"):
            said = Answer("done")
        gone = said.says("message to edit not found") or said.says("message can't be edited")
        if self._shown is not None and (said.done or gone):
            self._shown.became(message)
        if gone:
            return await self._anew(message, part, marks)
        return self._delivery(message.space, said, there)

    async def _anew(self, message: Outbound, part: Part, marks: Params) -> Delivery:
        where: Params = {"message_thread_id": self._ways.topic(message), **marks}
        answered = Ref.parse(message.reply_to) if message.reply_to else None
        if answered is not None and self._moves.stands(answered, message.space):
            where["reply_parameters"] = {"message_id": answered.message, "allow_sending_without_reply": True}
        if part.attachment is None:
            said = await self._said(message.space, "sendMessage", {**where, **_text(part)}, _plain(part))
        else:
            try:
                method, file = await self._file(part.attachment)
            except NotThere as error:
                return Delivery("refused", detail=error.words.en)
            if method is None:
                return Delivery("refused", detail="the file is larger than Telegram takes")
            plain = _plain(part, caption=True)
            said = await self._said(message.space, method, {**where, **file, **_caption(part)}, plain)
        return self._delivery(message.space, said, None)

    async def _file(self, attached: Attachment) -> tuple[str | None, Params]:
        """How a file is sent: a picture as a picture where Telegram takes it as one."""
        if attached.size > _UPLOAD_BYTES:
            return None, {}
        content = await asyncio.to_thread(self._ways.read, attached.hash)
        name = "".join(sign if sign.isprintable() and sign not in '"\\/' else "_" for sign in attached.name) or "file"
        if attached.media_type in _PHOTO_TYPES and attached.size <= _PHOTO_BYTES:
            return "sendPhoto", {"photo": (name, content)}
        return "sendDocument", {"document": (name, content)}

    async def _said(self, space: Space, method: str, given: Params, plain: Params) -> Answer:
        """Call, and once more where the server's reason says how: without markup, in the chat that it has become, out
        of a topic that is gone, without a quote of what is gone, as a file. It has done nothing before."""
        given = {"chat_id": self._moves.chat(space), **given}
        said = await self._api.call(method, **given)
        for _ in range(3):
            if said.moved_to is not None and said.moved_to != given["chat_id"]:
                self._moves.learn(int(given["chat_id"]), said.moved_to)
                # What stood in the old chat cannot be pointed to from the new one.
                given |= {"chat_id": said.moved_to, "reply_parameters": None, "message_thread_id": None}
            elif said.says("can't parse entities") and "parse_mode" in given:
                given = {**given, **plain}
                del given["parse_mode"]
            elif said.says("message thread not found") and given.get("message_thread_id") is not None:
                given["message_thread_id"] = None
            elif said.says("message to be replied not found") and given.get("reply_parameters") is not None:
                given["reply_parameters"] = None
            elif method == "sendPhoto" and said.state == "refused" and said.code == 400 and "photo" in given:
                method, given = "sendDocument", {**given, "document": given["photo"], "photo": None}
            else:
                break
            said = await self._api.call(method, **given)
        return said

    def _delivery(self, space: Space, said: Answer, there: Ref | None) -> Delivery:
        if said.done:
            return Delivery("sent", str(there or self._moves.ref(space, said.result)))
        detail = f"{said.code} {said.description}".strip()
        if said.state == "unanswered":
            return Delivery("unknown", detail=detail)
        if said.state == "unreached":
            return Delivery("later", detail=detail)
        if said.code == 429:
            return Delivery("later", detail=detail, after=said.retry_after)
        self._ways.refused(space, said)
        if said.code in (401, 404):
            return Delivery("later", detail=detail, after=_LATER_SECONDS)
        return Delivery("refused", detail=detail)


def _text(part: Part) -> Params:
    """A text as parameters: as HTML if there is any."""
    if not part.plain:
        return {"text": part.text, "link_preview_options": _NO_PREVIEW}
    return {"text": part.text, "parse_mode": "HTML", "link_preview_options": _NO_PREVIEW}


def _caption(part: Part) -> Params:
    if not part.text:
        return {}
    return {"caption": part.text, "parse_mode": "HTML"} if part.plain else {"caption": part.text}


def _plain(part: Part, *, caption: bool = False) -> Params:
    return {"caption" if caption else "text": part.plain or part.text}
