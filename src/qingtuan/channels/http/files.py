"""Files that callers send along: data URLs, kept in the media store."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from qingtuan.channels.http.problems import Declined, Problem, malformed
from qingtuan.errors import LimitReached, NotAllowed, QingtuanError
from qingtuan.language import Words
from qingtuan.media.remote import Blob
from qingtuan.messages import Attachment, Material, Remote

MOST = 10
"""Files of one message."""
LONGEST_URL = 4096
_DATA = re.compile(r"data:[^,]{0,200},", re.IGNORECASE)

Keep = Callable[[bytes, str], Attachment]
"""Keeps a file of one caller, by its bytes and its name. Raises `QingtuanError` if it is not taken."""


def kept(text: str, name: str, keep: Keep) -> Attachment:
    """The file that a data URL holds, kept.

    Raises:
        Declined: it is no data URL, or the file is not taken.
    """
    try:
        return keep(_bytes_of(text), name)
    except NotAllowed as error:
        raise Declined(Problem(403, "refused", error.words)) from error
    except LimitReached as error:
        raise Declined(Problem(429, "limit_reached", error.words, {"retry-after": "3600"})) from error
    except QingtuanError as error:
        raise malformed(error.words) from error


def linked(url: str) -> Remote:
    """A picture that lies at an address: fetched once the message is stored.

    Raises:
        Declined: that is no web address.
    """
    if len(url) > LONGEST_URL or not re.match(r"https?://[^\s]+$", url, re.IGNORECASE):
        raise malformed(_NO_URL)
    return Remote("image", json.dumps({"url": url}))


def _bytes_of(text: str) -> bytes:
    head = _DATA.match(text)
    if head is None:
        raise malformed(_NO_URL)
    data = text[head.end() :]
    if not head[0].lower().endswith(";base64,"):
        return unquote_to_bytes(data)
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise malformed(_NO_URL) from error


_NO_URL = Words(
    "附件要写成 data: 网址（data:image/png;base64,…）。",
    "A file is given as a data URL (data:image/png;base64,…).",
)


class Web:
    """Fetches what messages name by its address."""

    async def fetch(self, remote: Remote) -> Blob | Material:
        """Get it, from the public network only. Raises `FetchFailed`."""
        from qingtuan.net.fetcher import SafeFetcher  # heavy

        url = str(json.loads(remote.reference)["url"])
        found = await SafeFetcher().get(url)
        return Blob(found.data, remote.name, found.media_type)
