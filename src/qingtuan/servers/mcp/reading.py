"""What a program may read: entries, past talk and pages, through the privacy filter, with the sight of its key."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from qingtuan.errors import NotThere, UsageWrong
from qingtuan.identity.privacy import sight
from qingtuan.identity.scopes import Reader
from qingtuan.language import Words
from qingtuan.messages import Origin
from qingtuan.servers.mcp.call import Call
from qingtuan.servers.mcp.ports import Answer, Ports

_ADDRESS = "qingtuan://wiki/"
_A_PAGE = 100
"""Pages of the wiki on one page of their list."""
_SHOWN = ("text", "scope", "path", "title", "current", "since", "until")
_LONGEST_TEXT = 200_000
"""Characters of one answer."""
_LONGEST_CURSOR = 2000
MARKDOWN = "text/markdown"


@dataclass(frozen=True, slots=True)
class Listed:
    """A page in a list."""

    uri: str
    name: str
    """Its path."""
    title: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The tools and the pages."""

    ports: Ports

    async def memory_search(self, call: Call, arguments: Mapping[str, Any]) -> Answer:
        found = await self._of_chat("memory_search", call, arguments)
        entries = [_entry(one, call.reader) for one in found.data or ()]
        return Answer(found.text, {"entries": entries})

    async def memory_recall(self, call: Call, arguments: Mapping[str, Any]) -> Answer:
        recollection = self.ports.recollection
        found = await recollection.recall(
            call.reader,
            arguments.get("query", ""),
            arguments.get("hours", 0),
            arguments.get("contact", ""),
            arguments.get("limit", 10),
        )
        lines = [
            {"time": line.time.isoformat(), "from": line.account, "text": line.text, "foreign": line.material}
            for line in found.lines
        ]
        return Answer(recollection.told(found, call.now, call.language), {"lines": lines})

    async def wiki_read(self, call: Call, arguments: Mapping[str, Any]) -> Answer:
        found = await self._of_chat("wiki_read", call, arguments)
        foreign = found.origin is not None and found.origin.foreign
        text = _bounded(found.text)
        return Answer(text, {"path": arguments["path"], "text": text, "foreign": foreign})

    async def _of_chat(self, name: str, call: Call, arguments: Mapping[str, Any]) -> Any:
        tool = self.ports.kit.registry.get(name, call.reader)
        return await tool.run(call.context(), dict(arguments))

    # Pages as resources

    def pages(self, reader: Reader, cursor: str | None) -> tuple[list[Listed], str | None]:
        """Pages that may be shown whole, by path, and what to ask for the next of them with.

        Raises:
            UsageWrong: the cursor is none of ours.
        """
        after = _after(cursor) if cursor is not None else ""
        found = self.ports.notes.pages(sight(reader), after, _A_PAGE + 1)
        listed = [Listed(address(one.path), one.path, one.title) for one in found[:_A_PAGE]]
        return listed, _cursor(listed[-1].name) if len(found) > _A_PAGE else None

    async def page(self, call: Call, uri: str) -> Answer:
        """The page at an address.

        Raises:
            NotThere: there is none, or not for this reader, who cannot tell the difference.
        """
        if not uri.startswith(_ADDRESS):
            raise NotThere(_NO_PAGE)
        return await self.wiki_read(call, {"path": unquote(uri.removeprefix(_ADDRESS), errors="replace")})


def address(path: str) -> str:
    """A page as a resource."""
    return _ADDRESS + quote(path)


def _entry(facts: Mapping[str, Any], reader: Reader) -> dict[str, Any]:
    kept = {name: facts[name] for name in _SHOWN if facts.get(name) is not None}
    origin = facts.get("origin")
    foreign = bool(origin and Origin(origin).foreign) or facts["scope"] not in (f"user:{reader.person}", "shared")
    return kept | {"foreign": foreign}


def _bounded(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def _cursor(path: str) -> str:
    return base64.urlsafe_b64encode(path.encode("utf-8", "surrogateescape")).decode()


def _after(cursor: str) -> str:
    try:
        if len(cursor) > _LONGEST_CURSOR:
            raise ValueError
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode("utf-8", "surrogateescape")
    except (ValueError, binascii.Error) as error:
        raise UsageWrong(_NO_CURSOR) from error


_NO_PAGE = Words("没有这个页面。", "There is no such page.")
_NO_CURSOR = Words("cursor 不是从这里来的。", "That cursor does not come from here.")
