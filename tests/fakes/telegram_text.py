"""What Telegram accepts as HTML, and how it counts (Bot API, Formatting options; td's MessageEntity)."""

from __future__ import annotations

import html
import re

MOST_UNITS = 4096
MOST_CAPTION = 1024

_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-zA-Z][a-zA-Z0-9-]*)(?P<rest>[^<>]*)>")
_ENTITY = re.compile(r"&(#\d+|#x[0-9a-fA-F]+|lt|gt|amp|quot);")
_NAMES = frozenset(
    {"b", "strong", "i", "em", "u", "ins", "s", "strike", "del", "span", "tg-spoiler", "a", "tg-emoji", "code", "pre"}
    | {"blockquote"}
)


class NotParsed(Exception):
    """Raised with the server's reason."""


def units(text: str) -> int:
    """Length in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def parsed(text: str) -> str:
    """The text of some HTML, as it is shown.

    Raises:
        NotParsed: it is not what Telegram takes.
    """
    shown: list[str] = []
    opened: list[str] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character == "<":
            tag = _TAG.match(text, at)
            if tag is None:
                raise NotParsed(f"Unclosed start tag at byte offset {_bytes(text, at)}")
            name = tag["name"].lower()
            if tag["end"]:
                if not opened or opened[-1] != name:
                    raise NotParsed(f"Unmatched end tag at byte offset {_bytes(text, at)}")
                opened.pop()
            elif name not in _NAMES:
                raise NotParsed(f'Unsupported start tag "{name}" at byte offset {_bytes(text, at)}')
            elif name == "span" and 'class="tg-spoiler"' not in tag["rest"]:
                raise NotParsed(f'Tag "span" must have class "tg-spoiler" at byte offset {_bytes(text, at)}')
            else:
                opened.append(name)
            at = tag.end()
        elif character == "&" and (entity := _ENTITY.match(text, at)):
            shown.append(html.unescape(entity[0]))
            at = entity.end()
        else:
            shown.append(character)
            at += 1
    if opened:
        raise NotParsed(f"Can't find end tag corresponding to start tag {opened[-1]}")
    return "".join(shown)


def _bytes(text: str, at: int) -> int:
    return len(text[:at].encode())
