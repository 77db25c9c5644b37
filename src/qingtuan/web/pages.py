"""Fetches what an address gives, and reads it: a web page, a document, plain text."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from dataclasses import dataclass

from qingtuan.clock import Clock
from qingtuan.errors import ToolFailed
from qingtuan.language import Words
from qingtuan.media.kinds import nature_of
from qingtuan.media.reading.documents import READABLE
from qingtuan.media.reading.process import Children, Job
from qingtuan.media.reading.reader import can_read
from qingtuan.media.reading.told import SAID, Broken, Read
from qingtuan.net.answers import Fetched, Limits
from qingtuan.net.fetcher import SafeFetcher


@dataclass(frozen=True, slots=True)
class Page:
    """What was read at an address. All of it is foreign."""

    url: str
    """Where it came from in the end."""
    text: str
    cut: bool
    """Whether there is more than `text` holds."""
    title: str = ""
    published: str = ""
    canonical: str = ""
    """The address that the page calls its own, if it is another one."""
    description: str = ""
    scripted: bool = False
    """Whether scripts would show more."""


class Pages:
    """Reads addresses, and remembers each for a while: a long page is asked for in parts."""

    def __init__(self, fetcher: SafeFetcher, children: Children, clock: Clock) -> None:
        self._fetcher = fetcher
        self._children = children
        self._clock = clock
        self._kept: OrderedDict[tuple[str, str], tuple[float, Page]] = OrderedDict()

    async def read(self, url: str, person: str) -> Page:
        """What an address gives, for one person.

        Raises:
            FetchFailed: it may not be asked for, or there is nothing.
            ToolFailed: what is there cannot be read.
        """
        key = (person, url)
        now = self._clock.monotonic()
        if (kept := self._kept.get(key)) is not None and now - kept[0] < _KEPT_SECONDS:
            return kept[1]
        page = await self._read(await self._fetcher.get(url, _LIMITS, _HEADERS))
        self._kept[key] = (now, page)
        self._kept.move_to_end(key)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return page

    async def _read(self, found: Fetched) -> Page:
        try:
            read = await self._children.read(*_job(found))
        except Broken as error:
            raise ToolFailed(SAID[error.why] if error.why != "empty" else _EMPTY) from None
        about = read.about
        return Page(
            url=found.url,
            text=read.text,
            cut=read.cut,
            title=about.get("title", "") or (found.name if not _is_page(found) else ""),
            published=about.get("published", ""),
            canonical=about.get("canonical", ""),
            description=about.get("description", "") if _is_thin(read) else "",
            scripted="scripted" in about,
        )


def _job(found: Fetched) -> tuple[Job, bytes]:
    """How to read what came. Raises `ToolFailed`."""
    known = {"url": found.url, "charset": found.charset}
    nature = nature_of(found.data)
    document = nature.media_type != "text/plain" and nature.media_type.endswith(READABLE)
    if not document and _is_page(found):
        return _PAGE, json.dumps(known).encode() + b"\n" + found.data
    if nature.media_type == "text/plain" or found.media_type.startswith(_TEXTS):
        return _PAGE, json.dumps({**known, "plain": True}).encode() + b"\n" + found.data
    if nature.kind == "image":
        raise ToolFailed(_PICTURE)
    if not document:
        raise ToolFailed(_KIND)
    if not can_read(nature.media_type):
        raise ToolFailed(_NOT_INSTALLED)
    return Job("document", nature.media_type, _CHARS), found.data


def _is_page(found: Fetched) -> bool:
    if found.media_type in ("text/html", "application/xhtml+xml"):
        return True
    return found.media_type in ("", "text/plain", "application/octet-stream") and bool(_HTML.match(found.data[:1000]))


def _is_thin(read: Read) -> bool:
    return len(read.text) < _THIN


_CHARS = 200_000
"""Characters that are read at one address, at most."""
_PAGE = Job("page", "text/html", _CHARS, seconds=40)
_LIMITS = Limits(size=8 * 1024 * 1024, seconds=30.0)
_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.8",
    "Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8",
}
_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+)?html[\s>]", re.IGNORECASE)
_TEXTS = ("text/", "application/json", "application/xml", "application/rss+xml", "application/atom+xml")
_KEPT = 8
_KEPT_SECONDS = 600.0
_THIN = 200
"""Characters below which what the page says of itself is worth more than its text."""

_EMPTY = Words("那一页里没有文字。", "There is no text on that page.")
_PICTURE = Words(
    "那里是一张图片，这样只能读文字；把图发过来就能看。",
    "That is a picture, and only text is read this way; it can be looked at when it is sent here.",
)
_KIND = Words("那里的文件这样读不了：能读网页、PDF、Word、Excel 和文本。", "Files of that kind are not read this way.")
_NOT_INSTALLED = Words(
    "那里是 PDF 或 Excel，现在读不了：主人可以安装 documents。",
    "That is a PDF or Excel file, which cannot be read now; the owner can install the extra documents.",
)
