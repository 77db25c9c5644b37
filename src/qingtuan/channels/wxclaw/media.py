"""Pictures, voice and files on the CDN: fetched and decrypted, encrypted and put there."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from qingtuan.channels.wxclaw.wire import Broken, Http, NotReached, Silent, TooLarge, same_domain
from qingtuan.errors import FetchFailed
from qingtuan.language import Words
from qingtuan.media.remote import LARGEST, Blob
from qingtuan.messages import Attachment, Remote

_SECONDS = 60.0
_BLOCK = 16
_GONE_STATUS = frozenset({400, 403, 404, 410})


async def fetch(http: Http, remote: Remote, cdn_url: str, base_url: str) -> Blob:
    """Get what a message left on the CDN. It reads from the hosts of the settings and those beside them alone.

    Raises:
        FetchFailed: it is gone, too large, out of reach, or its key does not fit. The reason holds no address or key.
    """
    reference = _reference(remote.reference)
    if remote.size is not None and remote.size > LARGEST + _BLOCK:
        raise FetchFailed(_LARGE)
    url = _address(reference, cdn_url, base_url)
    try:
        got = await http.ask("GET", url, timeout=_SECONDS, most=LARGEST + _BLOCK)
    except TooLarge as error:
        raise FetchFailed(_LARGE) from error
    except (NotReached, Silent, Broken) as error:
        raise FetchFailed(_AWAY, detail=str(error), again=True) from error
    if got.status != 200:
        gone = got.status in _GONE_STATUS
        raise FetchFailed(_GONE if gone else _AWAY, detail=f"HTTP {got.status}", again=not gone)
    if not (key := reference["key"]):
        return Blob(got.body, remote.name)
    return Blob(await asyncio.to_thread(_decrypted, got.body, bytes.fromhex(key)), remote.name)


def item_of(attachment: Attachment, uploaded: Any) -> Mapping[str, Any]:
    """The item of a message that shows a file that was uploaded (an `UploadResult` of the adapter)."""
    media = {
        "encrypt_query_param": uploaded.download_encrypted_query_param,
        "aes_key": uploaded.aes_key_b64,
        "encrypt_type": 1,
    }
    match shown_as(attachment):
        case "image":
            return {"type": 2, "image_item": {"media": media, "mid_size": uploaded.file_size_ciphertext}}
        case "video":
            return {"type": 5, "video_item": {"media": media, "video_size": uploaded.file_size_ciphertext}}
        case _:
            file = {"media": media, "file_name": attachment.name, "md5": uploaded.file_md5}
            return {"type": 4, "file_item": {**file, "len": str(uploaded.file_size)}}


def shown_as(attachment: Attachment) -> str:
    """How WeChat shows a file: `image`, `video`, or `file` for all else, voice included, which no bot can send."""
    if attachment.kind == "image":
        return "image"
    return "video" if attachment.media_type == "video/mp4" else "file"


def _reference(text: str) -> dict[str, str]:
    try:
        plain = json.loads(text)
        found = {name: plain.get(name, "") for name in ("param", "url", "key")}
    except (ValueError, AttributeError) as error:
        raise FetchFailed(_GONE) from error
    if not all(isinstance(value, str) for value in found.values()) or not re.fullmatch(
        r"([0-9a-f]{32})?", found["key"]
    ):
        raise FetchFailed(_GONE)
    return found


def _address(reference: Mapping[str, str], cdn_url: str, base_url: str) -> str:
    if (url := reference["url"]) and (same_domain(url, cdn_url) or same_domain(url, base_url)):
        return url
    if reference["param"]:
        return f"{cdn_url}/download?encrypted_query_param={quote(reference['param'], safe='')}"
    raise FetchFailed(_NOWHERE if url else _GONE)


def _decrypted(data: bytes, key: bytes) -> bytes:
    from nonebot.adapters.wxclaw.cdn import aes_ecb_decrypt

    try:
        return aes_ecb_decrypt(data, key)
    except ValueError:
        # Its words could quote what it was given.
        raise FetchFailed(_WRONG_KEY) from None


_LARGE = Words("文件太大，没有取。", "The file is too large and was not fetched.")
_AWAY = Words(
    "从微信取文件没取到，过会儿再发一次试试。", "The file could not be fetched from WeChat; try sending it again."
)
_GONE = Words("微信那边已经没有这个文件了，请再发一次。", "WeChat no longer has this file; please send it again.")
_NOWHERE = Words("这个文件不在微信的服务器上，没有取。", "This file is not on WeChat's servers and was not fetched.")
_WRONG_KEY = Words("文件解不开，请再发一次。", "The file cannot be decrypted; please send it again.")
