"""Markdown as the chat apps are given it: a small tree, and the styled stretches that it is laid out in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StyleKind = Literal["heading", "quote", "bold", "italic", "strike", "link", "code", "pre", "table"]


@dataclass(frozen=True, slots=True)
class Style:
    """How a stretch of text is shown."""

    kind: StyleKind
    value: str = ""
    """Of a link the address, of code blocks the language, of headings the level, of tables what each piece of it
    begins with."""


@dataclass(frozen=True, slots=True)
class Run:
    """Text that looks the same throughout; the outermost style comes first."""

    text: str
    styles: tuple[Style, ...] = ()

    def has(self, *kinds: StyleKind) -> bool:
        """Whether one of its styles is of these kinds."""
        return any(style.kind in kinds for style in self.styles)

    def link(self) -> str | None:
        """Where it leads, if it is a link."""
        return next((style.value for style in self.styles if style.kind == "link"), None)


Runs = tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines of text, as they were written."""

    runs: Runs
    apart: bool = True
    """Whether a blank line stands before it. So with all that follow."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A line that names what follows."""

    level: int
    runs: Runs
    apart: bool = True


@dataclass(frozen=True, slots=True)
class Code:
    """A block of code."""

    language: str
    text: str
    apart: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """A line across."""

    apart: bool = True


@dataclass(frozen=True, slots=True)
class Quote:
    """What somebody else said."""

    children: tuple[Node, ...]
    apart: bool = True


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a list."""

    marker: str
    """Its number with what stands behind it (`3.`); empty without numbers."""
    children: tuple[Node, ...]
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    entries: tuple[Item, ...]
    apart: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; `head` has as many as each row."""

    head: tuple[Runs, ...]
    rows: tuple[tuple[Runs, ...], ...]
    apart: bool = True


Node = Paragraph | Heading | Code | Rule | Quote | Items | Table

BlockKind = Literal["text", "heading", "code", "list", "table", "quote", "rule"]


@dataclass(frozen=True, slots=True)
class Block:
    """A node at the top of the tree, laid out for a platform."""

    kind: BlockKind
    runs: Runs
    apart: bool = True


def joined(runs: Runs) -> str:
    """The text of runs alone."""
    return "".join(run.text for run in runs)
