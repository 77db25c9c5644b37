"""Lays the tree out as styled stretches: lists, tables, quotes and lines as a platform can show them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Literal

from qingtuan.channels.text.letters import columns
from qingtuan.channels.text.model import (
    Block,
    BlockKind,
    Code,
    Heading,
    Items,
    Node,
    Paragraph,
    Quote,
    Rule,
    Run,
    Runs,
    Style,
    Table,
    joined,
)

DEEPEST_INDENT = 4
"""Levels of lists that are still moved in; what lies deeper stands below them."""

_LINE_END = re.compile(r"\n(?=(\n)?)")


@dataclass(frozen=True, slots=True)
class Look:
    """What a platform can show."""

    bullet: str = "• "
    rule: str = "———"
    quotes: Literal["style", "sign"] = "sign"
    """Whether a quote is a style of its own, or lines with a sign before them."""
    headings: Literal["style", "bold"] = "bold"
    widest: int = 48
    """Columns of a table that is still shown as one; a wider one becomes a list."""
    table: Callable[[Table], Runs] | None = None
    """Shows a table in another way; None lines its columns up."""


def lay_out(nodes: Iterable[Node], look: Look) -> tuple[Block, ...]:
    """The blocks of a text, without those that show nothing."""
    blocks = [_block(node, look) for node in nodes]
    return tuple(block for block in blocks if joined(block.runs).strip())


def _block(node: Node, look: Look) -> Block:
    return Block(_KINDS[type(node)], _runs(node, look, 0), node.apart)


_KINDS: dict[type, BlockKind] = {
    Paragraph: "text",
    Heading: "heading",
    Code: "code",
    Rule: "rule",
    Quote: "quote",
    Items: "list",
    Table: "table",
}


def _runs(node: Node, look: Look, depth: int) -> Runs:
    match node:
        case Paragraph():
            return node.runs
        case Heading():
            styled = depth == 0 and look.headings == "style" and "\n" not in joined(node.runs)
            style = Style("heading", str(node.level)) if styled else Style("bold")
            return tuple(_under(style, run) for run in node.runs)
        case Code():
            return (Run(node.text, (Style("pre", node.language),)),)
        case Rule():
            return (Run(look.rule),)
        case Quote():
            return _quote(node, look, depth)
        case Items():
            return _items(node, look, depth)
        case Table():
            return (look.table or _lined_up(look.widest))(node)


def _under(style: Style, run: Run) -> Run:
    return run if style in run.styles else Run(run.text, (style, *run.styles))


def _stacked(nodes: Iterable[Node], look: Look, depth: int) -> Runs:
    """Nodes below one another."""
    runs: list[Run] = []
    for node in nodes:
        if inner := _runs(node, look, depth):
            runs += [Run("\n\n" if node.apart else "\n"), *inner] if runs else inner
    return tuple(runs)


def _quote(node: Quote, look: Look, depth: int) -> Runs:
    inner = _stacked(node.children, look, depth + 1)
    if look.quotes == "sign":
        return _before_lines(inner, "> ", "> ")
    # A quote in a quote is no style of its own anywhere.
    return tuple(_under(Style("quote"), run) for run in inner)


def _items(node: Items, look: Look, depth: int) -> Runs:
    runs: list[Run] = []
    for item in node.entries:
        marker = f"{item.marker} " if item.marker else look.bullet
        inner = _stacked(item.children, look, depth + 1)
        pad = " " * len(marker) if depth < DEEPEST_INDENT else ""
        if runs:
            runs.append(Run("\n\n" if item.apart else "\n"))
        runs += _before_lines(inner or (Run(""),), marker, pad)
    return tuple(runs)


def _before_lines(runs: Runs, first: str, others: str) -> Runs:
    """The runs with something before each of their lines; code stands as it is, or it could not be copied."""
    shown = [Run(first)]
    for run, after in pairwise((*runs, Run(""))):
        if run.has("pre", "table"):
            shown.append(run)
            continue
        text = _LINE_END.sub(lambda end: f"\n{others.rstrip() if end[1] else others}", run.text)
        if after.has("pre", "table"):
            text = text.removesuffix(others)
        shown.append(replace(run, text=text))
    return tuple(shown)


# Tables


def _lined_up(widest: int) -> Callable[[Table], Runs]:
    def show(table: Table) -> Runs:
        cells = [[cell_text(cell) for cell in row] for row in (table.head, *table.rows)]
        widths = [0] * len(table.head)
        for row in cells:
            for at, cell in enumerate(row):
                widths[at] = max(widths[at], columns(cell))
            if sum(widths) + 2 * len(widths) > widest:
                return rows_listed(table)
        lines = [
            "  ".join(cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in cells
        ]
        if any(cells[0]):
            lines.insert(1, "-" * (sum(widths) + 2 * len(widths) - 2))
        return (Run("\n".join(lines), (Style("pre"),)),)

    return show


def rows_listed(table: Table) -> Runs:
    """A table that is too wide to be shown as one: each row a paragraph, each cell named by the head of its column."""
    wide = any(letter > "\u2e80" for letter in joined(tuple(chain.from_iterable(table.head))))
    colon = "：" if wide else ": "
    rows = [_row_listed(table.head, row, colon) for row in table.rows]
    if not rows:
        rows = [_row_listed((), table.head, colon)]
    return tuple(chain.from_iterable((*((Run("\n"),) if at else ()), *row) for at, row in enumerate(rows)))


def _row_listed(head: tuple[Runs, ...], row: tuple[Runs, ...], colon: str) -> Runs:
    runs: list[Run] = []
    for at, cell in enumerate(row):
        if not joined(cell).strip():
            continue
        runs.append(Run("\n  " if runs else "• "))
        name = head[at] if at < len(head) else ()
        runs += (*name, Run(colon), *cell) if joined(name).strip() else cell
    return tuple(runs)


def cell_text(cell: Runs) -> str:
    """A cell as text alone, on one line."""
    return " ".join("".join(linked(run) for run in cell).split())


def linked(run: Run) -> str:
    """The text of a run, with the address behind it where it leads somewhere."""
    address = run.link()
    return run.text if address is None else f"{run.text} ({address})"
