"""Parts of a message for WeChat: the Markdown that it renders (platforms.md §2), and always one bubble, for its
messages are counted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from qingtuan.channels.base import Part
from qingtuan.channels.text.cutting import Measure, pack
from qingtuan.channels.text.layout import Look, cell_text, lay_out, rows_listed
from qingtuan.channels.text.marking import marked
from qingtuan.channels.text.model import Block, Run, Runs, Style, Table
from qingtuan.channels.text.reading import LANGUAGE, tree_of
from qingtuan.messages import Outbound
from qingtuan.settings.channels import Manners

LIMIT = 2000
"""Characters of a message."""
DEEPEST_HEADING = 4
"""Levels of headings that WeChat shows."""
LONGEST_ROW = 600
"""Characters of a table row; with longer ones, or a longer head, the table is a list."""
_TICKS = re.compile(r"`+")
_MOST_TICKS = 8
"""Backticks in a row that code may hold; with more it is shown as text."""
_EAST_ASIAN = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")


def parts(message: Outbound, manners: Manners) -> list[Part]:
    """The parts of a message in their order; files stand behind the text."""
    del manners  # its messages are counted: however an answer is to look elsewhere, here it is one
    if message.kind != "reply":
        # It has no sign that says to take a text as it is; a link behind other words must not come about.
        message = replace(message, text=message.text.replace("](", "] ("))
    blocks = [_shown(block) for block in lay_out(tree_of(message), _LOOK)]
    shown = [Part(marked(runs, _signs, lambda run: run.text)) for runs in pack(blocks, _MEASURE)]
    return [*shown, *(Part(attachment=attached) for attached in message.attachments)]


def _shown(block: Block) -> Block:
    return Block(block.kind, tuple(Run(run.text, _styles(run)) for run in block.runs), block.apart)


def _styles(run: Run) -> tuple[Style, ...]:
    """The styles that WeChat shows, and that can be written around this text."""
    ticks = max((len(found) for found in _TICKS.findall(run.text)), default=0)
    if run.has("pre"):
        language = next(style.value for style in run.styles if style.kind == "pre")
        fence = "`" * max(3, ticks + 1) + (language if LANGUAGE.fullmatch(language) else "")
        return (Style("pre", fence),) if ticks <= _MOST_TICKS else ()
    unshown: set[str] = set()
    if _EAST_ASIAN.search(run.text):
        unshown.add("italic")
    if ticks or "\n" in run.text:
        unshown.add("code")
    styles = dict.fromkeys(_heading(style) for style in run.styles if style.kind not in unshown)
    return tuple(styles) if run.text.strip() else tuple(style for style in styles if style.kind == "bold")


def _heading(style: Style) -> Style:
    return Style("bold") if style.kind == "heading" and int(style.value) > DEEPEST_HEADING else style


def _signs(style: Style) -> tuple[str, str]:
    match style.kind:
        case "link":
            return "[", f"]({style.value})"
        case "pre":
            return f"{style.value}\n", f"\n{style.value.rstrip(style.value.lstrip('`'))}"
        case "table":
            return style.value, ""
        case "heading":
            return f"{'#' * int(style.value)} ", ""
        case _:
            return _SIGNS.get(style.kind, ("", ""))


_SIGNS = {"bold": ("**", "**"), "italic": ("*", "*"), "strike": ("~~", "~~"), "code": ("`", "`")}


def _around(run: Run) -> int:
    return sum(len(sign) for style in run.styles for sign in _signs(style))


def _table(table: Table) -> Runs:
    """A table in Markdown; a part that begins within it begins with its head."""
    head, *rows = (_row(row) for row in (table.head, *table.rows))
    if not rows or max(map(len, (head, *rows))) > LONGEST_ROW:
        return rows_listed(table)
    # The head stands in the sign that opens the table, so that each part of it has one.
    return (Run("\n".join(rows), (Style("table", f"{head}\n{'| --- ' * len(table.head)}|\n"),)),)


def _row(row: Iterable[Runs]) -> str:
    return "| " + " | ".join(cell_text(cell).replace("|", "\\|") for cell in row) + " |"


_LOOK = Look(bullet="- ", rule="---", headings="style", table=_table)
_MEASURE = Measure(LIMIT, len, _around)
