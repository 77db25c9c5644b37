"""The segments that a message consists of: read from either spelling, an array or CQ codes, and written as an array.

Text leaves in text segments only. Of those nothing is read as a code, whatever stands in them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_SEGMENTS = 500
"""Of one message; what comes behind is left out."""

_CODE = re.compile(r"\[CQ:([A-Za-z0-9_\-]+)((?:,[^\[\],]*)*)\]")


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of a message."""

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def text(self, *names: str) -> str:
        """The first of these fields that is there, as text; numbers are written out."""
        for name in names:
            value = self.data.get(name)
            if isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != "":
                return str(value)
        return ""


def read_segments(message: Any) -> list[Segment]:
    """The segments of a message as an event or an answer holds it. What is no segment is left out."""
    if isinstance(message, str):
        return _from_codes(message)
    if isinstance(message, Mapping):
        message = [message]
    if not isinstance(message, list):
        return []
    found = []
    for one in message[:MOST_SEGMENTS]:
        kind, data = (one.get("type"), one.get("data")) if isinstance(one, Mapping) else (None, None)
        if isinstance(kind, str) and kind:
            found.append(Segment(kind, data if isinstance(data, Mapping) else {}))
    return found


def _from_codes(text: str) -> list[Segment]:
    found: list[Segment] = []
    end = 0
    for code in _CODE.finditer(text):
        if before := text[end : code.start()]:
            found.append(Segment("text", {"text": unescaped(before)}))
        fields = (field.partition("=") for field in code[2].split(",")[1:])
        found.append(Segment(code[1], {name.strip(): unescaped(value) for name, _, value in fields if name.strip()}))
        end = code.end()
        if len(found) >= MOST_SEGMENTS:
            return found
    if rest := text[end:]:
        found.append(Segment("text", {"text": unescaped(rest)}))
    return found


def unescaped(text: str) -> str:
    """The text that stands escaped in a message of CQ codes."""
    text = text.replace("&#44;", ",").replace("&#91;", "[").replace("&#93;", "]")
    return text.replace("&amp;", "&")


# To write


def text_segment(text: str) -> dict[str, Any]:
    """Words, whatever stands in them."""
    return {"type": "text", "data": {"text": text}}


def reply_segment(message_id: str) -> dict[str, Any]:
    """The quote of a message."""
    return {"type": "reply", "data": {"id": message_id}}


def at_segment(user_id: str) -> dict[str, Any]:
    """A mention."""
    return {"type": "at", "data": {"qq": user_id}}


def image_segment(file: str) -> dict[str, Any]:
    """A picture: `base64://…`, or the path of a file that was uploaded."""
    return {"type": "image", "data": {"file": file}}
