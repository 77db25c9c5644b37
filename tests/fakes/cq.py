"""Messages as OneBot writes them: segments, and the same as CQ codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

Json = dict[str, Any]
Segments = list[Json]

_CODE = re.compile(r"\[CQ:(\w+)((?:,[^\]]*)?)\]")


def text(words: str) -> Json:
    return {"type": "text", "data": {"text": words}}


def at(number: int | str) -> Json:
    return {"type": "at", "data": {"qq": str(number)}}


def reply(number: int | str) -> Json:
    return {"type": "reply", "data": {"id": str(number)}}


def image(file: str, url: str, **more: Any) -> Json:
    return {"type": "image", "data": {"summary": "", "file": file, "sub_type": 0, "url": url, "file_size": "9"} | more}


def segments_of(message: Any) -> Segments:
    """A message as it was sent; one that is a text is read for CQ codes, as NapCat reads it."""
    if isinstance(message, Mapping):
        return [dict(message)]
    if not isinstance(message, str):
        return list(message)
    found: Segments = []
    end = 0
    for code in _CODE.finditer(message):
        found += [text(_plain(message[end : code.start()]))] if message[end : code.start()] else []
        fields = dict(one.split("=", 1) for one in code[2].strip(",").split(",") if "=" in one)
        found.append({"type": code[1], "data": {name: _plain(value) for name, value in fields.items()}})
        end = code.end()
    return [*found, text(_plain(message[end:]))] if message[end:] else found


def _plain(escaped: str) -> str:
    return escaped.replace("&#44;", ",").replace("&#91;", "[").replace("&#93;", "]").replace("&amp;", "&")


def _escaped(words: str) -> str:
    return words.replace("&", "&amp;").replace("[", "&#91;").replace("]", "&#93;")


def codes(segments: Iterable[Json]) -> str:
    """Segments as CQ codes."""
    written = []
    for one in segments:
        if one["type"] == "text":
            written.append(_escaped(one["data"]["text"]))
        else:
            fields = "".join(
                f",{name}={_escaped(str(value)).replace(',', '&#44;')}" for name, value in one["data"].items()
            )
            written.append(f"[CQ:{one['type']}{fields}]")
    return "".join(written)
