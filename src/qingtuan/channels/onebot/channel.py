"""Sending to QQ: each part as one action, with the platform's own word on what became of it."""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from qingtuan.channels.base import Delivery, Part, Waits
from qingtuan.channels.onebot.inbound import CHANNEL, Muted, message_id, split_id
from qingtuan.channels.onebot.lines import Account, Accounts
from qingtuan.channels.onebot.segments import at_segment, image_segment, reply_segment, text_segment
from qingtuan.channels.onebot.wire import ActionFailed, Answer, Lost, NotWritten, WireError
from qingtuan.channels.pace import Pace, Rate
from qingtuan.errors import NotThere
from qingtuan.messages import Attachment, Outbound, Space

SEND_SECONDS = 40.0
"""How long a send may take at least: NapCat itself waits 10 s for QQ, and longer for what is large."""
_BYTES_A_SECOND = 128 * 1024
"""NapCat reckons with twice that."""
LARGEST_PICTURE = 20 * 1024 * 1024
"""Bytes of a picture that QQ shows as one; a larger one goes as a file."""
LARGEST_FRAME = 24 * 1024 * 1024
"""Bytes that go in one frame: as base64 they are a third more, and NapCat closes the connection over 50 MB. What is
larger goes in pieces."""
_PACE = Pace(
    private=(Rate(1, 0.5), Rate(30, 60)),
    group=(Rate(1, 1.5), Rate(20, 60)),
    every=(Rate(10, 5),),
    bubbles=(0.5, 1.5),
)
"""QQ names no limits; bursts end in a group that takes nothing for a day (platforms.md, 3.2)."""
_PIECE = 1024 * 1024
_KEPT_MS = 10 * 60 * 1000
_MUTED_SECONDS = 600.0
"""How long a group is left alone whose refusal says that the account is silenced there, and not for how long."""
_SILENCED = re.compile("禁言|muted|banned", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OneBot:
    """The channel to QQ."""

    accounts: Accounts
    render: Callable[[Outbound], Sequence[Part]]
    """A message as QQ shows it, in parts."""
    read: Callable[[str], bytes]
    """The bytes of a file that is kept, by its hash. Raises `NotThere` if they are gone."""
    answered: Callable[[Outbound], str | None]
    """The id of the message that one of ours answers."""
    asker: Callable[[Space, str], str | None]
    """The account whose message this is, by its id."""

    @property
    def name(self) -> str:
        return CHANNEL

    @property
    def pace(self) -> Pace:
        return _PACE

    def waits(self, message: Outbound) -> Waits | None:
        account = self.accounts.for_chat(message.space, self.answered(message))
        if account is None:
            logged_out = any(not one.online for one in self.accounts.by_id.values())
            return Waits.LOGIN if logged_out else Waits.NOT_CONNECTED
        if message.space.is_group and not self.accounts.may_speak(account, message.space):
            return Waits.MUTED
        return None

    def parts(self, message: Outbound) -> Sequence[Part]:
        return self.render(message)

    async def send(self, message: Outbound, part: Part) -> Delivery:
        account = self.accounts.for_chat(message.space, self.answered(message))
        if account is None:
            return Delivery("later", detail="not connected")
        if self.accounts.is_gone(account, message.space):
            return Delivery("refused", detail="the account is no longer in this group")
        try:
            return await self._send(account, message, part)
        except NotWritten as error:
            return Delivery("later", detail=str(error))
        except Lost as error:
            return Delivery("unknown", detail=str(error))
        except ActionFailed as error:
            return self._refused(account, message.space, error)

    async def typing(self, space: Space) -> None:
        """Show that something is being written, where QQ can: in private."""
        account = self.accounts.for_chat(space, None)
        if space.is_group or account is None or account.line is None:
            return
        with suppress(WireError):
            await account.line.call("set_input_status", 10.0, user_id=_number(space), event_type=1)

    async def _send(self, account: Account, message: Outbound, part: Part) -> Delivery:
        about = self._about(message)
        attached = part.attachment
        if attached is None:
            words = f" {part.text}" if about and about[-1]["type"] == "at" else part.text
            return await self._say(account, message.space, [*about, text_segment(words)])
        try:
            data = await asyncio.to_thread(self.read, attached.hash)
        except NotThere as error:
            return Delivery("refused", detail=str(error))
        file = await self._file(account, attached, data)
        if attached.kind == "image" and len(data) <= LARGEST_PICTURE:
            return await self._say(account, message.space, [*about[:1], image_segment(file)], len(data))
        return await self._upload(account, message.space, attached, file, len(data))

    def _about(self, message: Outbound) -> list[dict[str, Any]]:
        """Which message is answered, where that is to be shown; in a group also whose it is."""
        _, platform_id = split_id(message.reply_to or "")
        if not platform_id or message.reply_to is None:
            return []
        asker = self.asker(message.space, message.reply_to) if message.space.is_group else None
        number = (asker or "").removeprefix("qq:")
        return [reply_segment(platform_id), *([at_segment(number)] if number.isdecimal() else [])]

    async def _say(self, account: Account, space: Space, segments: Sequence[dict[str, Any]], size: int = 0) -> Delivery:
        action, target = ("send_group_msg", "group_id") if space.is_group else ("send_private_msg", "user_id")
        answer = await self._call(account, action, size, **{target: int(_number(space)), "message": list(segments)})
        if answer.pending:
            # QQ was asked and has not said: never sent again, and not called sent either.
            return Delivery("unknown", detail="accepted, and its outcome not told")
        found = answer.data.get("message_id") if isinstance(answer.data, dict) else None
        return Delivery("sent", message_id(account.self_id, str(found)) if found else None)

    async def _upload(self, account: Account, space: Space, attached: Attachment, file: str, size: int) -> Delivery:
        action, target = ("upload_group_file", "group_id") if space.is_group else ("upload_private_file", "user_id")
        more = {"folder": "/"} if space.is_group else {}
        given = {target: _number(space), "file": file, "name": _file_name(attached), **more}
        answer = await self._call(account, action, size, **given)
        if answer.pending:
            return Delivery("unknown", detail="accepted, and its outcome not told")
        return Delivery("sent")

    async def _file(self, account: Account, attached: Attachment, data: bytes) -> str:
        """What an action is given as a file: its bytes, or where NapCat has put them, piece by piece. Nobody sees
        anything of the pieces: whatever goes wrong with them is no message lost."""
        if len(data) <= LARGEST_FRAME:
            return f"base64://{await asyncio.to_thread(_base64, data)}"
        stream, pieces = secrets.token_hex(16), range(0, len(data), _PIECE)
        known = {
            "stream_id": stream,
            "total_chunks": len(pieces),
            "file_size": len(data),
            "expected_sha256": attached.hash,
            "filename": _file_name(attached),
            "file_retention": _KEPT_MS,
        }
        try:
            for number, begin in enumerate(pieces):
                piece = _base64(data[begin : begin + _PIECE])
                await self._call(account, "upload_file_stream", 0, chunk_data=piece, chunk_index=number, **known)
            answer = await self._call(account, "upload_file_stream", 0, stream_id=stream, is_complete=True)
        except Lost as error:
            raise NotWritten(str(error)) from error
        path = answer.data.get("file_path") if isinstance(answer.data, dict) else None
        if not isinstance(path, str) or not path:
            raise ActionFailed(-1, "the file did not arrive whole")
        return path

    async def _call(self, account: Account, action: str, size: int, **given: Any) -> Answer:
        if account.line is None:
            raise NotWritten("not connected")
        return await account.line.call(action, SEND_SECONDS + size / _BYTES_A_SECOND, **given)

    def _refused(self, account: Account, space: Space, error: ActionFailed) -> Delivery:
        if error.undecided:
            return Delivery("unknown", detail=str(error))
        if space.is_group and _SILENCED.search(error.message):
            self.accounts.silence(account.self_id, Muted(space, _MUTED_SECONDS))
            return Delivery("later", detail=str(error), after=_MUTED_SECONDS)
        return Delivery("refused", detail=str(error))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _number(space: Space) -> str:
    return space.id.removeprefix("qq:")


def _file_name(attached: Attachment) -> str:
    """A name that is one: what others wrote is in it."""
    name = re.sub(r'[\x00-\x1f/\\:*?"<>|]', "_", attached.name).strip(". ")[:100]
    return name or f"{attached.kind}-{attached.hash[:8]}"
