"""A Markdown text taken apart into what may be a statement and what is prose. Pure.

The rules of where blocks begin and end are those of our own pages (`wiki.blocks`): what looks like a bullet inside a
fence, a quote or a comment is none.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qingtuan.memory.wiki.blocks import Heading, Item, scan, width
from qingtuan.memory.wiki.bullets import read_own
from qingtuan.memory.wiki.yaml_text import load_yaml

_FENCE = "---"
_DEEPEST = 6
"""Levels of lists that are taken apart; what is below stays with its bullet."""


@dataclass(frozen=True, slots=True)
class Bullet:
    """One item of a list, with the items that it holds."""

    text: str
    """Its own text on one line, as `plain_text` gives it."""
    marked: str
    """The same with its emphasis and links."""
    line: int
    """From 1."""
    raw: str
    """All its lines as they stand, nested ones included."""
    above: str
    """The comment right before it."""
    below: tuple[Bullet, ...] = ()
    plain: bool = True
    """Whether all that is nested in it are items: then its children say everything."""


@dataclass(frozen=True, slots=True)
class Part:
    """What stands below one heading, up to the next."""

    headings: tuple[str, ...]
    """The texts of the headings above, from the first level on."""
    level: int
    """Of its own heading; 0 for what stands before the first."""
    heading: str
    """The line or lines of the heading itself."""
    pieces: tuple[Bullet | str, ...]
    """Bullets, and between them prose."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A text taken apart."""

    front: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    """Of the front matter, else the first heading of the first level."""
    parts: tuple[Part, ...] = ()
    broken: bool = False
    """Whether its front matter cannot be read."""


def outline(text: str) -> Outline:
    """The parts of a text, in order. Nothing of it is lost: a piece is a bullet with its lines, or prose."""
    lines = text.split("\n")
    front, body, broken = _front_matter(lines)
    blocks = scan(lines, body)
    items = deque(blocks.items)
    parts: list[Part] = []
    above: list[tuple[int, str]] = []
    for heading, start, end in _spans(blocks.headings, body, len(lines)):
        inside: list[Item] = []
        while items and items[0].start < end:
            inside.append(items.popleft())
        if heading is not None:
            text_of = heading.text if heading.text is not None else lines[heading.line].strip()
            above = [*(pair for pair in above if pair[0] < heading.level), (heading.level, plain_text(text_of))]
        names = tuple(name for _, name in above)
        own = "\n".join(lines[heading.line : start]) if heading else ""
        parts.append(Part(names, heading.level if heading else 0, own, _pieces(lines, inside, start, end)))
    title = str(front.get("title") or "").strip() or next((p.headings[-1] for p in parts if p.level == 1), "")
    return Outline(front, title, tuple(parts), broken)


def _pieces(lines: Sequence[str], items: Sequence[Item], start: int, end: int) -> tuple[Bullet | str, ...]:
    """The bullets and the prose of the lines from `start` to before `end`."""
    pieces: list[Bullet | str] = []
    for item in items:
        before, comment = _comment_at_end("\n".join(lines[start : item.start]))
        if before.strip():
            pieces.append(before.strip("\n"))
        pieces.append(_bullet(lines[item.start : item.end], item.start, comment))
        start = item.end
    if (rest := "\n".join(lines[start:end])).strip():
        pieces.append(rest.strip("\n"))
    return tuple(pieces)


def _front_matter(lines: Sequence[str]) -> tuple[Mapping[str, Any], int, bool]:
    """The front matter, the line behind it, and whether it is there and cannot be read."""
    if not lines or lines[0].rstrip() != _FENCE:
        return {}, 0, False
    end = next((index for index in range(1, len(lines)) if lines[index].rstrip() in (_FENCE, "...")), None)
    if end is None:
        return {}, 0, False  # a line, and no front matter
    try:
        front = load_yaml("\n".join(lines[1:end]))
    except ValueError:
        return {}, end + 1, True
    if isinstance(front, dict) or front is None:
        return front or {}, end + 1, False
    return {}, 0, False  # a rule at the top of a text


def _spans(headings: Sequence[Heading], body: int, count: int) -> Iterator[tuple[Heading | None, int, int]]:
    """Each heading with the first line behind it and the line of the next one; first what stands before all."""
    starts = [*(heading.line for heading in headings), count]
    yield None, body, starts[0]
    for heading, end in zip(headings, starts[1:], strict=True):
        # a heading that is underlined takes two lines
        yield heading, heading.line + (1 if heading.text is not None else 2), end


def _bullet(lines: Sequence[str], at: int, above: str, depth: int = 1) -> Bullet:
    """The bullet that these lines are; `at` is the index of the first."""
    item = scan(lines).items[0]
    own = read_own(lines[: item.own], item.prefix)
    nested = list(lines[item.own :])
    below: list[Bullet] = []
    plain = True
    if depth < _DEEPEST and any(line.strip() for line in nested):
        margin = min(width(line) for line in nested if line.strip())
        inner = [_outdented(line, margin) for line in nested]
        found = scan(inner)
        first = 0
        for child in found.items:
            plain &= not "".join(inner[first : child.start]).strip()
            below.append(_bullet(inner[child.start : child.end], at + item.own + child.start, "", depth + 1))
            first = child.end
        plain &= not "".join(inner[first:]).strip() and found.open_at is None
    elif any(line.strip() for line in nested):
        plain = False
    return Bullet(plain_text(own.text), own.text, at + 1, "\n".join(lines).rstrip(), above, tuple(below), plain)


def _outdented(line: str, columns: int) -> str:
    bare = line.lstrip(" \t")
    return " " * max(0, width(line) - columns) + bare


def _comment_at_end(text: str) -> tuple[str, str]:
    """What stands before a comment at the end of a text, and the comment; the whole text if there is none."""
    head = text.rstrip()
    at = head.rfind("<!--") if head.endswith("-->") else -1
    return (head[:at], head[at + 4 : -3].strip()) if at >= 0 else (text, "")


_LONGEST = 4000
"""Characters of a line beyond which it is no statement, whatever stands in it."""
_HIDDEN = re.compile(r"%%.*?%%|<!--.*?-->", re.DOTALL)
_EMBED = re.compile(r"!\[\[[^\]\n]*\]\]|!\[[^\]\n]*\]\([^)\n]*\)")
_WIKILINK = re.compile(r"\[\[([^\]|\n]+)(?:\|([^\]\n]+))?\]\]")
_LINK = re.compile(r"\[([^\]\n]+)\]\((?!<?https?://|<?www\.)[^)\n]*\)")
_STRONG = re.compile(r"(\*\*|==|~~)(?=\S)(.+?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![\w*])([*_])(?=\S)([^*_\n]+)(?<=\S)\1(?![\w*])")
_BLOCK_ID = re.compile(r"\s+\^[A-Za-z0-9-]+\s*$")
_TAGS_AT_END = re.compile(r"(?:\s+#[^\s#.,;:!?，。；：！？]*[^\W\d][^\s#.,;:!?，。；：！？]*)+\s*$")


def plain_text(text: str) -> str:
    """A line without what only a viewer needs: emphasis, links within a vault, embeds, comments, block ids and the
    tags at its end. The words stay."""
    if len(text) > _LONGEST:
        return text
    text = _EMBED.sub("", _HIDDEN.sub("", text))
    text = _WIKILINK.sub(lambda link: link[2] or link[1].rpartition("/")[2].partition("#")[0] or link[1], text)
    text = _LINK.sub(lambda link: link[1], text)
    for _ in range(3):
        text = _STRONG.sub(lambda strong: strong[2], text)
    text = _EMPHASIS.sub(lambda soft: soft[2], text)
    return _TAGS_AT_END.sub("", _BLOCK_ID.sub("", text)).strip()
