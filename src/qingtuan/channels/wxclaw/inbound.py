"""What WeChat delivers, read: each message becomes an `Inbound`, or the reason why it is none. Pure.

Read from the raw JSON, one message at a time: the adapter's own reading drops quotes that are only an id, voice that
was turned into text and the second way to write a picture's key, and one odd field would lose it a whole batch.
Everything in it is the word of somebody else.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from qingtuan.channels import labels
from qingtuan.channels.foreign import text_of
from qingtuan.identity.accounts import is_account
from qingtuan.messages import Inbound, Material, Origin, Remote, Space
from qingtuan.storage.files import content_hash

CHANNEL = "wxclaw"
_USER_MESSAGE = 1
_TEXT, _IMAGE, _VOICE, _FILE, _VIDEO = 1, 2, 3, 4, 5
_LONGEST_TOKEN = 16_384
_ITEMS = 50
"""Items of one message that are looked at."""
_ID = re.compile(r"[0-9A-Za-z_@.:+/=-]{1,128}")
_LATEST = 253402300799000
"""Milliseconds at the end of the year 9999."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a person."""

    inbound: Inbound
    user: str
    """As iLink names the person: `…@im.wechat`."""
    context_token: str
    """What goes along with whatever is sent to them; a secret."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A message that is not answered, and why."""

    reason: Literal["own", "group", "nobody", "empty"]
    """`own`: the assistant's own; `nobody`: no usable sender; `empty`: nothing in it that can be read."""
    space: Space | None = None
    message_id: str = ""
    user: str = ""
    context_token: str = ""


def read(message: Any, now: datetime) -> Said | Unread:
    """Read one message of `getupdates`. `now` is taken as its time where it has none that can be."""
    if not isinstance(message, Mapping):
        return Unread("nobody")
    if message.get("message_type") not in (_USER_MESSAGE, None):
        return Unread("own")
    user = text_of(message.get("from_user_id"))
    account = f"wx:{user}"
    if not user or not is_account(account):
        return Unread("nobody")
    space, name, token = Space("private", account), _name_of(message), _token(message.get("context_token"))
    if message.get("group_id"):
        return Unread("group", space, name, user)
    items = [item for item in _list(message.get("item_list"))[:_ITEMS] if isinstance(item, Mapping)]
    texts = [text for item in items if (text := _words_of(item))]
    remotes = tuple(remote for item in items if (remote := _remote_of(item)) is not None)
    if not texts and not remotes:
        return Unread("empty", space, name, user, token)
    references = [reference for item in items if isinstance(reference := item.get("ref_msg"), Mapping)]
    inbound = Inbound(
        channel=CHANNEL,
        account=account,
        space=space,
        message_id=name,
        text="\n".join(texts),
        time=_time_of(message, now),
        quotes=next((quoted for reference in references if (quoted := _quoted_id(reference))), None),
        materials=tuple(material for reference in references for material in _quoted(reference)),
        remotes=remotes,
        gathers=True,
    )
    return Said(inbound, user, token)


def _name_of(message: Mapping[str, Any]) -> str:
    """By what the message is known again: the server's id, else the sender's, else what it says. Never by chance: the
    server gives a message more than once (openclaw-weixin 239)."""
    for key in ("message_id", "client_id"):
        if name := _id(message.get(key)):
            return name
    told = [message.get(key) for key in ("from_user_id", "create_time_ms", "item_list")]
    return f"h-{content_hash(json.dumps(told, sort_keys=True, default=str).encode())[:32]}"


def _id(value: Any) -> str:
    """A number (uint64, exact) or a text that can be an id; empty for anything else, and for 0, which means none."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return str(value)[:40]
    text = text_of(value)
    return text if text != "0" and _ID.fullmatch(text) else ""


def _time_of(message: Mapping[str, Any], now: datetime) -> datetime:
    at = message.get("create_time_ms")
    if isinstance(at, int) and not isinstance(at, bool) and 0 < at < _LATEST:
        return min(datetime.fromtimestamp(at / 1000, UTC), now)
    return now


def _words_of(item: Mapping[str, Any]) -> str:
    if item.get("type") != _TEXT or not isinstance(said := item.get("text_item"), Mapping):
        return ""
    return text_of(said.get("text")).strip()


def _remote_of(item: Mapping[str, Any]) -> Remote | None:
    """What an item left on the CDN; None for a text and for kinds that nobody knows."""
    match item.get("type"):
        case 2 if isinstance(image := item.get("image_item"), Mapping):
            size = _whole(image.get("hd_size")) or _whole(image.get("mid_size"))
            # A picture's own field goes first, as in Tencent's program.
            return _remote("image", image, key=_hex_key(image.get("aeskey")), size=size)
        case 3 if isinstance(voice := item.get("voice_item"), Mapping):
            return _remote("audio", voice, transcript=text_of(voice.get("text")))
        case 4 if isinstance(file := item.get("file_item"), Mapping):
            return _remote("file", file, name=text_of(file.get("file_name"))[:255], size=_whole(file.get("len")))
        case 5 if isinstance(video := item.get("video_item"), Mapping):
            return _remote("video", video, size=_whole(video.get("video_size")))
    return None


def _remote(
    kind: Literal["image", "audio", "video", "file"],
    item: Mapping[str, Any],
    *,
    key: bytes | None = None,
    name: str = "",
    size: int | None = None,
    transcript: str = "",
) -> Remote | None:
    media = item.get("media")
    media = media if isinstance(media, Mapping) else {}
    param, url = text_of(media.get("encrypt_query_param")), text_of(media.get("full_url"))
    if not (param or url or transcript):
        return None
    key = key or key_of(media.get("aes_key"))
    reference = {"param": param, "url": url, "key": key.hex() if key else ""}
    return Remote(kind, json.dumps(reference), name, size, transcript)


def key_of(value: Any) -> bytes | None:
    """The key of a file: base64 of 16 bytes, or of 32 hex digits. None where there is none that can be used."""
    try:
        raw = base64.b64decode(text_of(value), validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if len(raw) == _KEY_BYTES else _hex_key(raw.decode("ascii", "replace"))


_KEY_BYTES = 16


def _hex_key(value: Any) -> bytes | None:
    text = text_of(value)
    return bytes.fromhex(text) if re.fullmatch(r"[0-9a-fA-F]{32}", text) else None


def _quoted_id(reference: Mapping[str, Any]) -> str:
    """The id of the message that is quoted: newer programs send nothing else of it."""
    item = reference.get("message_item")
    inner = item.get("msg_id") if isinstance(item, Mapping) else None
    return _id(reference.get("svr_id")) or _id(inner)


def _quoted(reference: Mapping[str, Any]) -> Iterator[Material]:
    """What a quote brings along of what it quotes."""
    item, title = reference.get("message_item"), text_of(reference.get("title"))[:100]
    text = _words_of(item) if isinstance(item, Mapping) else ""
    if text:
        yield Material(Origin.FORWARD, labels.quoted(title), text)
    part = reference.get("partial_text")
    if isinstance(part, Mapping) and (start := text_of(part.get("start"))):
        yield Material(Origin.FORWARD, labels.PART_OF_QUOTE, f"{start[:200]}……{text_of(part.get('end'))[:200]}")


def _whole(value: Any) -> int | None:
    """A size, which comes as a number or as its digits."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _token(value: Any) -> str:
    """What is given back as it came: empty for what no file or request can hold."""
    text = text_of(value)
    return text if len(text) <= _LONGEST_TOKEN and text.isprintable() else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
