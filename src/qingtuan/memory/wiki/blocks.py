"""Where the blocks of a Markdown page begin and end: as much of CommonMark as keeps an edit out of harm's way.

What looks like a bullet or a heading inside a code fence, an HTML comment, a nested list or a quote is none; the
rules below follow CommonMark 0.31 for these, and for lazy continuation lines and setext headings. Inline markup,
tables and other HTML are text here: they are never taken apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

_BULLET = re.compile(r"[-+*](?=[ \t]|$)")
_ORDERED = re.compile(r"(\d{1,9})[.)](?=[ \t]|$)")
_HEADING = re.compile(r"(#{1,6})(?=[ \t]|$)")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_RAW_HTML = re.compile(r"<(?:pre|script|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
_RAW_HTML_END = re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
_DATA = re.compile(r"<!--[ \t]*qingtuan[ \t]*")
_COMMENTS = ("data", "-->")
_CONFLICT = re.compile(r"(?:<{7}|>{7})(?: |$)")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading outside of lists and code. `line` is its first line; only `#` headings have a `text`."""

    line: int
    level: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Item:
    """A top-level bullet: its own text is `start` to before `own`, with what is nested in it to before `end`."""

    start: int
    own: int
    end: int
    prefix: int
    """How many characters of the first line stand before the text."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """What a scan found. All positions are indexes into the lines."""

    headings: tuple[Heading, ...]
    items: tuple[Item, ...]
    data: tuple[tuple[int, int], ...]
    """First and last line of each data comment; the last is -1 if the comment never ends."""
    open_at: int | None
    """Where a fence or comment begins that never ends: nothing may be written below."""
    swallowed: bool
    """Whether the data comment stands inside something else that was left open."""
    conflict: bool
    """Whether git left its marks of a conflict."""


class _Paragraph(Enum):
    """Which paragraph the next plain line would continue."""

    NONE = auto()
    TOP = auto()
    OWN = auto()
    """The first one of an item."""
    INNER = auto()
    """A later one of an item."""


@dataclass(slots=True)
class _Open:
    """The item being read."""

    start: int
    offset: int
    prefix: int
    own: int
    end: int
    bullet: bool


@dataclass(slots=True)
class _Raw:
    """A block whose lines are not looked at: a fence (of `mark`), a comment or raw HTML."""

    start: int
    container: int
    """Less indentation than this ends the item that holds it, and so the block; 0 at the top."""
    mark: str
    holds_data: bool = False


@dataclass(slots=True)
class _Found:
    headings: list[Heading] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    data: list[tuple[int, int]] = field(default_factory=list)
    swallowed: bool = False
    conflict: bool = False


def scan(lines: Sequence[str], first: int = 0) -> Blocks:
    """The blocks of `lines` from index `first` on (what precedes is front matter)."""
    return _Scanner(lines).run(first)


def width(text: str) -> int:
    """Columns of the white space that `text` begins with; a tab goes to the next multiple of four."""
    columns = 0
    for character in text:
        if character == " ":
            columns += 1
        elif character == "\t":
            columns += 4 - columns % 4
        else:
            break
    return columns


def heading_text(line: str) -> str:
    """The text of a `#` heading without its marks."""
    text = line.strip(" \t").lstrip("#").strip(" \t")
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else text


class _Scanner:
    """One pass over the lines, one line at a time, knowing what is open."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._found = _Found()
        self._item: _Open | None = None
        self._raw: _Raw | None = None
        self._paragraph = _Paragraph.NONE
        self._paragraph_start = 0

    def run(self, first: int) -> Blocks:
        for index in range(first, len(self._lines)):
            self._line(index)
        self._close_item()
        found, raw = self._found, self._raw
        if raw and raw.mark == "data":
            found.data.append((raw.start, -1))
        return Blocks(
            headings=tuple(found.headings),
            items=tuple(found.items),
            data=tuple(found.data),
            open_at=raw.start if raw and not raw.container else None,
            swallowed=found.swallowed or bool(raw and raw.holds_data),
            conflict=found.conflict,
        )

    def _line(self, index: int) -> None:
        text = self._lines[index]
        stripped = text.strip(" \t")
        indent = width(text)
        if self._raw and self._still_raw(self._raw, index, stripped, indent):
            return
        self._found.conflict |= bool(_CONFLICT.match(text))
        if not stripped:
            self._paragraph = _Paragraph.NONE
        elif indent <= 3 and _DATA.fullmatch(stripped):
            self._close_item()
            self._raw = _Raw(index, 0, "data")
            self._paragraph = _Paragraph.NONE
        elif self._item and (indent >= self._item.offset or self._lazy(stripped)):
            self._inside(self._item, index, stripped, indent)
        else:
            self._close_item()
            self._top(index, stripped, indent)

    def _still_raw(self, raw: _Raw, index: int, stripped: str, indent: int) -> bool:
        """Whether the line belongs to the open raw block, which it may end."""
        if stripped and indent < raw.container:
            self._raw = None
            return False
        if self._item and stripped:
            self._item.end = index + 1
        if raw.mark in _COMMENTS:
            self._found.conflict |= bool(_CONFLICT.match(stripped))
        if _DATA.fullmatch(stripped):
            raw.holds_data = True
            self._found.swallowed |= raw.mark in _COMMENTS
        if self._ends(raw, stripped):
            if raw.mark == "data":
                self._found.data.append((raw.start, index))
            self._raw = None
        return True

    @staticmethod
    def _ends(raw: _Raw, stripped: str) -> bool:
        if raw.mark in _COMMENTS:
            return "-->" in stripped
        if raw.mark == "html":
            return bool(_RAW_HTML_END.search(stripped))
        return len(stripped) >= len(raw.mark) and set(stripped) == {raw.mark[0]}

    def _lazy(self, stripped: str) -> bool:
        """Whether an item's paragraph goes on with this line although it is not indented."""
        return self._paragraph in (_Paragraph.OWN, _Paragraph.INNER) and not _interrupts(stripped)

    def _inside(self, item: _Open, index: int, stripped: str, indent: int) -> None:
        """A line of the open item."""
        item.end = index + 1
        if not _interrupts(stripped) and not _ORDERED.match(stripped):
            if self._paragraph is _Paragraph.OWN:
                item.own = index + 1
            else:
                self._paragraph = _Paragraph.INNER
            return
        self._paragraph = _Paragraph.NONE
        rest, container = stripped, item.offset
        while mark := _BULLET.match(rest) or _ORDERED.match(rest):
            container = max(container, indent) + mark.end()
            rest = rest[mark.end() :].strip(" \t")
            self._paragraph = _Paragraph.INNER if rest else _Paragraph.NONE
        self._open_raw(index, rest, container)

    def _top(self, index: int, stripped: str, indent: int) -> None:
        """A line outside of any item."""
        if indent >= 4:
            return  # it continues a paragraph, or is indented code
        if self._paragraph is _Paragraph.TOP and set(stripped) in ({"="}, {"-"}):
            level = 1 if stripped[0] == "=" else 2
            self._found.headings.append(Heading(self._paragraph_start, level, None))
            self._paragraph = _Paragraph.NONE
        elif mark := _HEADING.match(stripped):
            self._found.headings.append(Heading(index, len(mark[1]), heading_text(stripped)))
            self._paragraph = _Paragraph.NONE
        elif _thematic(stripped) or self._open_raw(index, stripped, 0) or stripped.startswith(("<!--", ">", "|")):
            self._paragraph = _Paragraph.NONE
        elif mark := _BULLET.match(stripped) or _ORDERED.match(stripped):
            self._open_item(index, mark, indent)
        elif self._paragraph is not _Paragraph.TOP:
            self._paragraph, self._paragraph_start = _Paragraph.TOP, index

    def _open_item(self, index: int, mark: re.Match[str], indent: int) -> None:
        text = self._lines[index]
        stripped = mark.string
        after = stripped[mark.end() :]
        rest = after.lstrip(" \t")
        start = indent + mark.end()
        padding = width(" " * start + after) - start
        offset = start + (padding if rest and padding <= 4 else 1)
        prefix = text.index(stripped) + len(stripped) - len(rest)
        raw = self._open_raw(index, rest, offset)
        bullet = bool(_BULLET.match(stripped)) and not raw  # a list item that is a code block says nothing
        self._item = _Open(index, offset, prefix, index + 1, index + 1, bullet)
        plain = rest and not raw and not _HEADING.match(rest)
        self._paragraph = _Paragraph.OWN if plain else _Paragraph.NONE

    def _open_raw(self, index: int, text: str, container: int) -> bool:
        """Whether `text` begins a fence, comment or raw HTML that goes on below."""
        if fence := _FENCE.match(text):
            self._raw = _Raw(index, container, fence[1] or fence[2])
        elif text.startswith("<!--") and "-->" not in text:
            self._raw = _Raw(index, container, "-->")
        elif _RAW_HTML.match(text) and not _RAW_HTML_END.search(text):
            self._raw = _Raw(index, container, "html")
        else:
            return False
        return True

    def _close_item(self) -> None:
        item = self._item
        if item and item.bullet:
            self._found.items.append(Item(item.start, item.own, item.end, item.prefix))
        self._item = None


def _thematic(stripped: str) -> bool:
    marks = stripped.replace(" ", "").replace("\t", "")
    return len(marks) >= 3 and marks[0] in "-*_" and set(marks) == {marks[0]}


def _interrupts(stripped: str) -> bool:
    """Whether a line begins a block of its own even right below a paragraph."""
    ordered = _ORDERED.match(stripped)
    return bool(
        (ordered and ordered[1] == "1")
        or _BULLET.match(stripped)
        or _HEADING.match(stripped)
        or _FENCE.match(stripped)
        or _RAW_HTML.match(stripped)
        or _thematic(stripped)
        or stripped.startswith((">", "<!--"))
    )
