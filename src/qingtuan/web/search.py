"""What a search of the web gives, whoever runs it, and what goes wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from qingtuan.errors import FetchFailed, SettingsWrong, ToolFailed
from qingtuan.language import Language, Words
from qingtuan.net.answers import Answer, Limits
from qingtuan.net.fetcher import SafeFetcher


@dataclass(frozen=True, slots=True)
class Hit:
    """One result. All of it is foreign; each text is one line, bounded."""

    title: str
    url: str
    snippet: str = ""
    published: str = ""


class Backend(Protocol):
    """Searches the web."""

    async def search(self, query: str, limit: int, language: Language) -> tuple[Hit, ...]:
        """At most `limit` results, best first.

        Raises:
            ToolFailed: not now, or nothing that could be read came of it.
            SettingsWrong: the owner must see to it.
        """
        ...


MOST = 10
"""Results of one search."""
LIMITS = Limits(size=2 * 1024 * 1024, seconds=20.0, redirects=0)


def hits_of(found: object, limit: int, published: str, fetcher: SafeFetcher) -> tuple[Hit, ...]:
    """The results in what a service answered: those that `fetcher` may open, each address once. `published`: the field
    with the date."""
    hits: dict[str, Hit] = {}
    for one in found if isinstance(found, list) else ():
        if not isinstance(one, Mapping) or not isinstance(url := one.get("url"), str):
            continue
        try:
            fetcher.allowed(url, None)
        except FetchFailed:
            continue
        title = _line(one.get("title"), _TITLE) or url[:_TITLE]
        date = _DATE.match(_line(one.get(published), 40))
        hits.setdefault(url, Hit(title, url, _line(one.get("content"), _SNIPPET), date[0] if date else ""))
        if len(hits) == limit:
            break
    return tuple(hits.values())


def json_of(answer: Answer) -> Mapping[str, Any]:
    """The object that a service answered. Raises `ToolFailed`."""
    try:
        found = json.loads(answer.data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ToolFailed(_UNREADABLE, detail=f"HTTP {answer.status}")
    return found


def unreachable(error: FetchFailed) -> ToolFailed:
    """What to say where a service did not answer."""
    return ToolFailed(_DOWN, detail=f"{error.words.en} {error.detail}")


def refused(status: int, service: str, keys: Iterable[int] = (401,), spent: Iterable[int] = ()) -> Exception:
    """What to raise for a status that is no success: for the owner, where a key or plan is at fault."""
    detail = f"{service}: HTTP {status}"
    if status in keys:
        return SettingsWrong(_KEY.filled(service=service), detail=detail)
    if status in spent:
        return SettingsWrong(_SPENT.filled(service=service), detail=detail)
    if status == 429:
        return ToolFailed(_BUSY, detail=detail)
    return ToolFailed(_FAILED, detail=detail)


def _line(value: object, most: int) -> str:
    if not isinstance(value, str):
        return ""
    line = " ".join(_ODD.sub(" ", value[: most * 4]).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


_TITLE, _SNIPPET = 150, 400
_ODD = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]|[\U000e0000-\U000e007f]")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4}")

_DOWN = Words("搜索服务现在连不上，过会儿再试。", "The search service cannot be reached now; try again later.")
_UNREADABLE = Words("搜索服务回的内容看不懂。", "What the search service answered cannot be understood.")
_BUSY = Words("搜索得太频繁了，过几分钟再试。", "That is too many searches for now; try again in some minutes.")
_FAILED = Words("搜索服务出错了，过会儿再试。", "The search service failed; try again later.")
_KEY = Words("{service} 不认 web.key 这个密钥。", "{service} does not accept the key in web.key.")
_SPENT = Words("{service} 的额度用完了。", "The quota of {service} is used up.")
