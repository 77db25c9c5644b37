"""How chats and messages of Telegram are named in messages of ours."""

from __future__ import annotations

import re
from dataclasses import dataclass

_REF = re.compile(r"(?P<message>\d+)(?:#(?P<topic>\d+))?(?:@(?P<chat>-\d+))?(?:!.*)?")


@dataclass(frozen=True, slots=True)
class Ref:
    """One message. Its name holds all that is needed to answer it: `16`, in topic 4 of a forum `16#4`, and in a chat
    that has become another `16@-100123`, since a supergroup counts its messages anew."""

    message: int
    topic: int | None = None
    chat: int | None = None
    """Only where it is another one than the space says."""

    def __str__(self) -> str:
        topic = "" if self.topic is None else f"#{self.topic}"
        return f"{self.message}{topic}" + ("" if self.chat is None else f"@{self.chat}")

    @classmethod
    def parse(cls, text: str) -> Ref | None:
        """The reference that `str()` wrote, with or without the mark of an occasion behind it (`16!press 7`, a button
        that was pressed under it); None for anything else."""
        if (found := _REF.fullmatch(text)) is None:
            return None
        topic, chat = found["topic"], found["chat"]
        return cls(int(found["message"]), int(topic) if topic else None, int(chat) if chat else None)


def chat_id(space_id: str) -> int:
    """The number of a chat in Telegram. Raises `ValueError` for a space of another platform."""
    platform, _, number = space_id.partition(":")
    if platform != "tg":
        raise ValueError(f"not a chat of Telegram: {space_id!r}")
    return int(number)


def units(text: str) -> int:
    """The length of a text as Telegram counts it: in UTF-16 units."""
    return len(text) + sum(1 for character in text if ord(character) > 0xFFFF)


def cut(text: str, offset: int, length: int) -> str:
    """A stretch of a text by offset and length in UTF-16 units, as entities give it; what lies outside is nothing."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    piece = encoded[max(0, offset) * 2 : max(0, offset + length) * 2]
    return piece.decode("utf-16-le", "replace")
