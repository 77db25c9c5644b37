"""Where things are on a page: front matter, the sections 当前 and 历史, the bullets, the data comment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from qingtuan.errors import PageUnreadable
from qingtuan.language import Language, Words
from qingtuan.memory.wiki.blocks import Blocks, Heading, Item, scan
from qingtuan.memory.wiki.bullets import CHINESE, Own, read_own
from qingtuan.memory.wiki.data_comment import CLOSING

_SECTION = re.compile(r"(?:(?P<current>当前|current)|历史|history)(?![^\W_])", re.IGNORECASE)
"""A heading that begins with one of these words; `## 当前状态` and `## Currently` are other headings."""


@dataclass(frozen=True, slots=True)
class Section:
    """当前 or 历史. Positions are indexes of lines, ends exclusive."""

    current: bool
    heading: int
    own: int
    """Where the part that entries are written to ends: at a heading below it, at the data, or at what is left open."""
    end: int
    """Where it ends for a reader: at the next heading of its level or above."""


@dataclass(frozen=True, slots=True)
class Bullet:
    """A top-level bullet. `section` is None outside of 当前 and 历史."""

    item: Item
    own: Own
    section: Section | None


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are."""

    body: int
    """First line after the front matter."""
    title: str
    language: Language
    sections: tuple[Section, ...]
    bullets: tuple[Bullet, ...]
    data: tuple[int, int] | None
    """First and last line of the data comment."""
    floor: int
    """What is left open at this line runs to the end, so nothing is written at or below it. Else the line count."""

    def section(self, *, current: bool) -> Section | None:
        """The first section of that kind."""
        return next((section for section in self.sections if section.current is current), None)


def lay_out(lines: Sequence[str], body: int) -> Layout:
    """The layout of a page whose front matter ends before line `body`.

    Raises:
        PageUnreadable: conflict markers, or data that is ambiguous.
    """
    blocks = scan(lines, body)
    data = _data(lines, blocks)
    floor = len(lines) if blocks.open_at is None else blocks.open_at
    sections = _sections(blocks.headings, len(lines), floor, data)
    return Layout(
        body=body,
        title=next((heading.text for heading in blocks.headings if heading.level == 1 and heading.text), ""),
        language=_language(lines, body, blocks, sections),
        sections=tuple(sections),
        bullets=tuple(
            Bullet(item, read_own(lines[item.start : item.own], item.prefix), _holder(item, sections))
            for item in blocks.items
        ),
        data=data,
        floor=floor,
    )


def unreadable(zh: str, en: str, detail: str = "") -> PageUnreadable:
    """The error that says why a page is left alone."""
    return PageUnreadable(
        Words(f"这一页读不了：{zh}。内容保持原样。", f"Cannot read this page: {en}. It is left as it is."),
        detail=detail,
    )


def _data(lines: Sequence[str], blocks: Blocks) -> tuple[int, int] | None:
    if blocks.conflict:
        raise unreadable("里面有 git 合并冲突的标记", "it holds git's conflict markers")
    if blocks.swallowed:
        raise unreadable(
            "数据注释前面有没关上的注释或代码块", "a comment or code block before its data was never closed"
        )
    if len(blocks.data) > 1:
        raise unreadable("有两段数据注释", "it holds two data comments")
    if not blocks.data:
        return None
    first, last = blocks.data[0]
    if last < 0 or not lines[last].strip().startswith(CLOSING):
        raise unreadable("数据注释没有单独一行的 -->", "its data comment has no --> on a line of its own")
    return first, last


def _sections(headings: Sequence[Heading], count: int, floor: int, data: tuple[int, int] | None) -> list[Section]:
    found: list[Section] = []
    for index, heading in enumerate(headings):
        name = _SECTION.match(heading.text or "") if heading.level == 2 else None
        if not name:
            continue
        below = headings[index + 1 :]
        end = next((other.line for other in below if other.level <= 2), count)
        own = below[0].line if below else count
        if data and data[0] > heading.line:
            own = min(own, data[0])
        found.append(Section(bool(name["current"]), heading.line, min(own, floor), end))
    return found


def _holder(item: Item, sections: Sequence[Section]) -> Section | None:
    return next((section for section in sections if section.heading < item.start < section.end), None)


def _language(lines: Sequence[str], body: int, blocks: Blocks, sections: Sequence[Section]) -> Language:
    """The language that a page's own headings and labels are written in: that of its sections, else of its text."""
    texts = [lines[section.heading] for section in sections]
    if not texts:
        texts = list(lines[body : blocks.data[0][0] if blocks.data else len(lines)])
    return "zh" if any(map(CHINESE.search, texts)) or not "".join(texts).strip() else "en"
