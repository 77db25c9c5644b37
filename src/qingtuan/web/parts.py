"""A long text in parts, each of which fits into a request whole. Pure."""

from __future__ import annotations

MOST = 6_800
"""Characters of a part, with the mark that each of its lines will carry (`tools.shown`) counted."""
_MARK = 2


def parts(text: str, most: int = MOST) -> tuple[str, ...]:
    """The parts of a text; put together again they are the text. They end with a paragraph, a line or a sentence, as
    far as there is one in their last third."""
    found: list[str] = []
    rest = text
    while rest:
        size = _fitting(rest, most)
        if size < len(rest):
            size = _good_end(rest, size)
        found.append(rest[:size])
        rest = rest[size:]
    return tuple(found) or ("",)


def _fitting(text: str, most: int) -> int:
    """How many characters of a text fit."""
    size, cost = 0, _MARK
    for letter in text[:most]:
        cost += 1 + (_MARK if letter == "\n" else 0)
        if cost > most:
            break
        size += 1
    return max(1, size)


def _good_end(text: str, size: int) -> int:
    least = size * 2 // 3
    for end in ("\n\n", "\n", "。", ". ", "！", "？", " "):
        if (place := text.rfind(end, least, size)) > 0:
            return place + len(end)
    return size
