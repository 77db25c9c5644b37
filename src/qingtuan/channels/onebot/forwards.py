"""Merged forwards and quotes as text: who said what, each speaker by id, within a budget.

A forward can hold forwards, and anybody can make one: depth, messages and characters are counted over all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from qingtuan.channels import labels
from qingtuan.channels.foreign import one_line
from qingtuan.channels.onebot.cards import card_text, shared_text
from qingtuan.channels.onebot.faces import face
from qingtuan.channels.onebot.segments import Segment, read_segments

DEEPEST = 3
"""Forwards in one another (NapCat opens no more)."""
MOST_MESSAGES = 100
MOST_CHARS = 20_000
_MOST_OF_ONE = 4000
_LEFT_OUT = "（后面还有，没有打开）"
_MERGED = labels.sign(labels.MERGED)
_SIGNS = {
    "image": labels.IMAGE,
    "record": labels.VOICE,
    "video": labels.VIDEO,
    "mface": labels.STICKER,
    "location": labels.PLACE,
    "contact": labels.CONTACT,
    "markdown": labels.MARKDOWN,
}


@dataclass(slots=True)
class Opened:
    """A forward as it is gone through. What is not inside yet is named by `open_next` and put in by `add`."""

    lines: list[str] = field(default_factory=list)
    pending: list[tuple[int, int, str]] = field(default_factory=list)
    """Forwards inside that came as ids alone: the line that stands for each, its depth, its id."""
    _messages: int = 0
    _chars: int = 0

    @property
    def full(self) -> bool:
        """Whether the budget is used."""
        return self._messages >= MOST_MESSAGES or self._chars >= MOST_CHARS

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join([*self.lines, *([_LEFT_OUT] if self.full else [])])

    def add(self, messages: Any, depth: int = 1) -> None:
        """The messages of a forward, at a depth from 1."""
        for message in messages if isinstance(messages, list) else []:
            if self.full:
                return
            if isinstance(message, Mapping):
                self._message(message, depth)

    def open_next(self) -> tuple[int, str] | None:
        """Depth and id of the next forward inside that is still to be opened; what is put in stands at the end."""
        if self.full or not self.pending:
            return None
        line, depth, number = self.pending.pop(0)
        self.lines[line] = self.lines[line].replace(_MERGED, labels.sign(labels.MERGED, f"{number[-6:]}，见下"))
        return depth, number

    def _message(self, message: Mapping[str, Any], depth: int) -> None:
        data = message.get("data")
        inner = data if message.get("type") == "node" and isinstance(data, Mapping) else message
        segments = read_segments(inner.get("message") or inner.get("content"))
        margin = "  " * (depth - 1)
        words = said(segments)[:_MOST_OF_ONE]
        self._messages += 1
        line = f"{margin}{speaker(inner)}: {words}"[: MOST_CHARS - self._chars]
        self._chars += len(line)
        self.lines += line.splitlines() or [line]
        for segment in segments:
            if segment.kind == "forward":
                self._inside(segment, depth + 1)

    def _inside(self, segment: Segment, depth: int) -> None:
        content, number = segment.data.get("content"), segment.text("id")
        if depth > DEEPEST:
            self.lines.append("  " * (depth - 1) + "（套得太深，没有打开）")
        elif isinstance(content, list) and content:
            self.add(content, depth)
        elif number:
            self.pending.append((len(self.lines) - 1, depth, number[:200]))


def speaker(message: Mapping[str, Any]) -> str:
    """Who said it: the id, and the name for display."""
    sender = message.get("sender")
    found: Mapping[str, Any] = sender if isinstance(sender, Mapping) else message
    number = str(found.get("user_id") or message.get("user_id") or "")[:20]
    names = (found.get("card"), found.get("nickname"), found.get("name"))
    name = next((one_line(one, 30) for one in names if isinstance(one, str) and one.strip()), "")
    account = f"qq:{number}" if number.isdecimal() and number != "0" else "不知是谁"
    return f"{account}（{name}）" if name else account


def said(segments: list[Segment]) -> str:
    """A message of somebody else in words, with a sign for what is none."""
    return "".join(map(_in_words, segments)).strip() or "（没有文字）"


def _in_words(segment: Segment) -> str:
    match segment.kind:
        case "text":
            return segment.text("text")
        case "at":
            return "@全体成员 " if segment.text("qq") == "all" else f"@{segment.text('qq')[:20]} "
        case "face":
            return face(segment.text("id"))
        case "reply":
            return ""
        case "forward":
            return _MERGED
        case "file":
            return labels.sign(labels.FILE, segment.text("name", "file")[:100])
        case "json" | "xml":
            return labels.sign(labels.CARD, " ".join(card_text(segment).split()))
        case "share" | "music":
            return labels.sign(labels.SHARED, " ".join(shared_text(segment).split()))
    return labels.sign(_SIGNS.get(segment.kind, labels.UNKNOWN))
