"""Share cards, JSON or XML: their title, a line about them, and the address that they lead to. Nothing else of them is
read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

from qingtuan.channels.foreign import one_line
from qingtuan.channels.onebot.segments import Segment

_LARGEST = 100_000
"""Characters of a card that is looked at."""
_DEEPEST = 12
_LINE = 200
_ADDRESS = 2000
_TITLES = ("title", "prompt", "tag")
_ABOUT = ("desc", "summary", "content")
_ADDRESSES = ("jumpUrl", "qqdocurl", "jump_url", "url", "source_url")
_XML = {"title": r"<title[^>]*>(.*?)</title>", "about": r"<summary[^>]*>(.*?)</summary>"}


def card_text(segment: Segment) -> str:
    """What a card says, as lines; empty where it says nothing that can be read."""
    data = segment.text("data", "content")[:_LARGEST]
    if segment.kind == "xml":
        return _lines(*_of_xml(data))
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    return _lines(*_of_json(found)) if isinstance(found, dict) else ""


def shared_text(segment: Segment) -> str:
    """What a link or a piece of music says that was shared as a segment of its own."""
    return _lines(segment.text("title"), segment.text("content", "desc", "singer"), segment.text("url", "jumpUrl"))


def _of_json(card: Mapping[str, Any]) -> tuple[str, str, str]:
    title = about = address = ""
    # What the card is about stands in `meta`; outside there are names of programs.
    meta = card.get("meta")
    for name, value in _texts(meta if isinstance(meta, dict) else card):
        if not title and name in _TITLES:
            title = value
        elif not about and name in _ABOUT and value != title:
            about = value
        elif not address and name in _ADDRESSES:
            address = value
    prompt = card.get("prompt")
    return title or (prompt if isinstance(prompt, str) else ""), about, address


def _texts(value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Names and texts of an object and of those in it, in their order."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, str) and inner.strip():
                yield name, inner
            elif isinstance(inner, (dict, list)):
                yield from _texts(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, depth + 1)


def _of_xml(card: str) -> tuple[str, str, str]:
    """By its words, not by an XML parser: what others write may be made to break one."""
    found = {name: re.search(pattern, card, re.DOTALL) for name, pattern in _XML.items()}
    brief = re.search(r'\bbrief="([^"]*)"', card)
    address = re.search(r'\burl="([^"]*)"', card)
    title = found["title"] or brief
    about = found["about"]
    return tuple(unescape(match[1]) if match else "" for match in (title, about, address))  # type: ignore[return-value]


def _lines(title: str, about: str, address: str) -> str:
    flat = [one_line(text, _LINE) for text in (title, about)]
    address = address.strip()
    known = re.fullmatch(r"(?:https?|mqqapi|weixin|m)://\S+|[\w.\-]+\.[a-z]{2,}/\S*", address)
    return "\n".join(line for line in (*flat, address[:_ADDRESS] if known else "") if line)
