"""Getting what a message left with QQ, as soon as it is stored: addresses run out after about two hours."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qingtuan.channels import labels
from qingtuan.channels.onebot.forwards import DEEPEST, Opened, said, speaker
from qingtuan.channels.onebot.lines import Accounts
from qingtuan.channels.onebot.segments import read_segments
from qingtuan.channels.onebot.wire import ActionFailed, WireError
from qingtuan.errors import FetchFailed
from qingtuan.language import Words
from qingtuan.media.remote import LARGEST, Blob
from qingtuan.messages import Material, Origin, Remote
from qingtuan.net.fetcher import Limits, SafeFetcher

_SECONDS = 60.0
_MOST_OPENED = 8
"""Forwards inside one that are opened by their ids."""
_OF_A_PROGRAM = re.compile(r"[\w{}-]{1,100}(?:\.\w{1,8})?", re.ASCII)
"""A name such as QQ itself gives to a picture or a voice."""

_GONE = Words("这个已经取不到了，请再发一次。", "That can no longer be fetched; please send it again.")
_AWAY = Words("QQ 现在没连上，取不到。", "QQ is not connected at the moment, so it cannot be fetched.")
_TOO_LARGE = Words("太大了，取不下来。", "It is too large to be fetched.")


@dataclass(frozen=True, slots=True)
class Fetching:
    """Fetches what the messages of QQ brought along."""

    accounts: Accounts
    fetcher: SafeFetcher

    async def fetch(self, remote: Remote) -> Blob | Material:
        """As `media.remote.Fetcher` has it."""
        try:
            known = json.loads(remote.reference)
        except ValueError:
            known = None
        if not isinstance(known, dict):
            raise FetchFailed(_GONE)
        if remote.size is not None and remote.size > LARGEST:
            raise FetchFailed(_TOO_LARGE)
        found = {key: value for key, value in known.items() if isinstance(value, str)}
        match remote.kind:
            case "forward":
                return await self._forward(found)
            case "quote":
                return await self._quote(found)
            case "audio":
                return await self._voice(remote, found)
        return await self._bytes(remote, found)

    # Bytes

    async def _bytes(self, remote: Remote, found: Mapping[str, str]) -> Blob:
        """By the address that came along; by a new one if that is over; else by way of NapCat, which has the file.

        NapCat looks for a name among all that it ever received. What the sender called a file may be the name of one of
        somebody else's, or a path: then it is asked for by its id alone."""
        failed: FetchFailed | None = None
        if url := found.get("url"):
            try:
                return await self._get(remote, url)
            except FetchFailed as error:
                failed = error
        try:
            if url := await self._renewed(remote, found):
                return await self._get(remote, url)
        except FetchFailed as error:
            failed = error
        if not (name := found.get("file_id") or _named(remote, found)):
            raise failed or FetchFailed(_GONE)
        given = await self._call(found, "get_file", file_id=name, file=name)
        if (data := _decoded(given)) is not None:
            return Blob(data, remote.name or str(given.get("file_name", "")))
        raise failed or FetchFailed(_GONE)

    async def _renewed(self, remote: Remote, found: Mapping[str, str]) -> str:
        """A fresh address; empty if there is none."""
        if remote.kind == "image":
            if not (name := _named(remote, found)):
                return ""
            given = await self._asked(found, "get_image", file=name)
        elif remote.kind == "file" and (number := found.get("file_id")):
            group = found.get("group")
            more = {"group_id": group} if group else {"user_id": found.get("user", "")}
            given = await self._asked(
                found, "get_group_file_url" if group else "get_private_file_url", file_id=number, **more
            )
        else:
            return ""
        url = given.get("url")
        return url if isinstance(url, str) and url.startswith(("http://", "https://")) else ""

    async def _voice(self, remote: Remote, found: Mapping[str, str]) -> Blob:
        """In a form that others can play: what QQ keeps is not."""
        if file := _named(remote, found):
            given = await self._asked(found, "get_record", file=file, out_format="wav")
            if (data := _decoded(given)) is not None:
                return Blob(data, f"{file.rpartition('.')[0] or file}.wav", "audio/wav")
        return await self._bytes(remote, found)

    async def _get(self, remote: Remote, url: str) -> Blob:
        fetched = await self.fetcher.get(url, Limits(size=LARGEST, seconds=_SECONDS))
        return Blob(fetched.data, remote.name or fetched.name, fetched.media_type)

    # Text

    async def _forward(self, found: Mapping[str, str]) -> Material:
        opened = Opened()
        given = await self._call(found, "get_forward_msg", message_id=found.get("id", ""))
        opened.add(given.get("messages"))
        for _ in range(_MOST_OPENED):
            if (inside := opened.open_next()) is None:
                break
            depth, number = inside
            if depth <= DEEPEST:
                given = await self._asked(found, "get_forward_msg", message_id=number)
                opened.lines.append(
                    f"{labels.MERGED} {number[-6:]}：" + ("" if given.get("messages") else "（打不开）")
                )
                opened.add(given.get("messages"), depth)
        if not opened.lines:
            raise FetchFailed(_GONE)
        return Material(Origin.FORWARD, labels.MERGED, opened.text)

    async def _quote(self, found: Mapping[str, str]) -> Material:
        number = found.get("id", "")
        if not number.removeprefix("-").isdecimal():
            raise FetchFailed(_GONE)
        given = await self._call(found, "get_msg", message_id=int(number))
        if not _is_of_this_chat(given, found):
            # An id is a number that anybody can write, and those of all chats are alike.
            raise FetchFailed(_GONE)
        return Material(Origin.FORWARD, labels.quoted(speaker(given)), said(read_segments(given.get("message"))))

    # Asking NapCat

    async def _call(self, found: Mapping[str, str], action: str, **given: Any) -> Mapping[str, Any]:
        account = self.accounts.by_id.get(found.get("self", ""))
        if account is None or account.line is None:
            raise FetchFailed(_AWAY, again=True)
        try:
            answer = await account.line.call(action, **given)
        except ActionFailed as error:
            raise FetchFailed(_GONE, detail=str(error), again=error.undecided) from error
        except WireError as error:
            raise FetchFailed(_AWAY, detail=str(error), again=True) from error
        return answer.data if isinstance(answer.data, Mapping) else {}

    async def _asked(self, found: Mapping[str, str], action: str, **given: Any) -> Mapping[str, Any]:
        """What an action gives; nothing where NapCat says no."""
        try:
            return await self._call(found, action, **given)
        except FetchFailed as error:
            if error.again:
                raise
            return {}


def _named(remote: Remote, found: Mapping[str, str]) -> str:
    """The name by which NapCat may be asked for a thing; empty where only its sender named it so."""
    name = found.get("file", "")
    return name if remote.kind in ("image", "audio") and _OF_A_PROGRAM.fullmatch(name) else ""


def _is_of_this_chat(message: Mapping[str, Any], found: Mapping[str, str]) -> bool:
    """Whether a message was said in the chat of the one that quotes it."""
    where = {name: str(message.get(name) or "") for name in ("group_id", "user_id", "target_id")}
    if group := found.get("group"):
        return message.get("message_type") == "group" and where["group_id"] == group
    mine, theirs = found.get("self", ""), found.get("user", "")
    if message.get("message_type") != "private" or where["group_id"] or not theirs:
        return False
    return where["user_id"] == theirs or (where["user_id"], where["target_id"]) == (mine, theirs)


def _decoded(given: Mapping[str, Any]) -> bytes | None:
    text = given.get("base64")
    if not isinstance(text, str) or not text:
        return None
    if len(text) > LARGEST * 4 // 3 + 4:
        raise FetchFailed(_TOO_LARGE)
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
