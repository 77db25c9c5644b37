"""Reads Markdown into the tree. Whatever a model writes is Markdown: nothing is refused, and nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from qingtuan.channels.text.letters import clean
from qingtuan.channels.text.model import (
    Code,
    Heading,
    Item,
    Items,
    Node,
    Paragraph,
    Quote,
    Rule,
    Run,
    Runs,
    Style,
    Table,
)
from qingtuan.messages import Outbound

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode

DEEPEST = 40
"""Levels of the parser. What is nested deeper would be dropped by it: such a text is taken as it stands."""
MOST_SIGNS = {"[": 6000, "|": 20_000, "": 20_000}
"""Signs that can begin a link, a cell, or anything else: so many of each, and of all. With more the time to read grows
beyond a second, and no answer has so many: such a text is taken as it stands."""
MOST_LINES = 20_000
"""The same for lines: each is looked at by every rule."""
_SIGNS = re.compile(r"[\[*_`<~]")
_CELL_END = re.compile(r"(?<!\\)\|")
LANGUAGE = re.compile(r"[\w+#.-]{1,32}", re.ASCII)
"""The name of a programming language, as it stands at a fence."""
_ADDRESS = re.compile(r"\s*(?:[a-z][a-z0-9+.-]*://|www\.|(?:[\w-]+\.)+[a-z]{2,}(?:[/:?#]|\s*$))", re.IGNORECASE)
_EMPTY = re.compile(r"[ \t>]*")
_SPANS: dict[str, Style] = {
    "strong": Style("bold"),
    "em": Style("italic"),
    "s": Style("strike"),
}


def tree_of(message: Outbound) -> tuple[Node, ...]:
    """The tree of a message. What the model says is Markdown. A question and a notice are code's words, with values of
    people and of programs in them: those are shown as they are, for a sign that vanished or a link behind other words
    would hide what somebody agrees to."""
    return read(message.text) if message.kind == "reply" else _as_it_stands(clean(message.text))


def read(text: str) -> tuple[Node, ...]:
    """The tree of a text in Markdown."""
    from markdown_it.tree import SyntaxTreeNode  # 2 MB that only answers need

    text = clean(text)
    if text.count("\n") > MOST_LINES or _has_too_many(text):
        return _as_it_stands(text)
    try:
        tokens = _parser().parse(text)
    except RecursionError:
        return _as_it_stands(text)
    if any(token.level >= DEEPEST - 1 for token in tokens):
        return _as_it_stands(text)
    return _Reading(text).nodes(SyntaxTreeNode(tokens).children)


def _has_too_many(text: str) -> bool:
    return any((text.count(sign) if sign else len(_SIGNS.findall(text))) > most for sign, most in MOST_SIGNS.items())


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # References would vanish from where they stand; a line of dashes under a line is meant as a line; and HTML is text.
    parser = MarkdownIt("js-default", {"maxNesting": DEEPEST, "html": False, "linkify": False, "typographer": False})
    return parser.disable(["reference", "lheading"])


def _as_it_stands(text: str) -> tuple[Node, ...]:
    return tuple(Paragraph((Run(part.strip("\n")),)) for part in re.split(r"\n[ \t]*\n", text) if part.strip())


class _Reading:
    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")

    def nodes(self, children: Iterable[SyntaxTreeNode]) -> tuple[Node, ...]:
        return tuple(node for child in children if (node := self._node(child)) is not None)

    def _node(self, node: SyntaxTreeNode) -> Node | None:
        apart = self._apart(node)
        match node.type:
            case "paragraph":
                return Paragraph(_inline(node), apart)
            case "heading":
                return Heading(int(node.tag[1:]), _inline(node), apart)
            case "fence" | "code_block":
                # The parser takes entities out of the name of the language: it is looked at once more.
                return _code(clean(node.info).strip(), clean(node.content).rstrip("\n"), apart)
            case "hr":
                return Rule(apart)
            case "blockquote":
                return Quote(self.nodes(node.children), apart)
            case "bullet_list" | "ordered_list":
                return Items(self._items(node), apart)
            case "table":
                return self._table(node, apart)
        return None

    def _apart(self, node: SyntaxTreeNode) -> bool:
        line = node.map[0] if node.map else 0
        return line > 0 and _EMPTY.fullmatch(self._lines[line - 1]) is not None

    def _items(self, node: SyntaxTreeNode) -> tuple[Item, ...]:
        markers = [child.info + child.markup if child.info else "" for child in node.children]
        if node.type == "ordered_list" and len(set(markers)) < len(markers):
            # `1.` before each: the numbers are for us to give.
            first = int(node.children[0].info or "1")
            markers = [f"{first + at}{child.markup}" for at, child in enumerate(node.children)]
        return tuple(
            Item(marker, self.nodes(child.children), self._apart(child) and at > 0)
            for at, (marker, child) in enumerate(zip(markers, node.children, strict=True))
        )

    def _table(self, node: SyntaxTreeNode, apart: bool) -> Node:
        rows = [row for part in node.children for row in part.children]
        columns = len(rows[0].children)
        start, end = node.map or (0, 0)
        lines = self._lines[start:end]
        if any(len(_CELL_END.split(line.strip(" \t>|"))) > columns for line in lines):
            # The parser drops cells that have no head.
            return Paragraph((Run("\n".join(line.strip() for line in lines).strip()),), apart)
        cells = [tuple(_inline(cell) for cell in row.children) for row in rows]
        return Table(cells[0], tuple(cells[1:]), apart)


def _code(named: str, text: str, apart: bool) -> Code:
    """Code with the name of its language; other words that stand at its fence belong to it."""
    if not named or LANGUAGE.fullmatch(named):
        return Code(named, text, apart)
    return Code("", f"{named}\n{text}" if text else named, apart)


def _inline(node: SyntaxTreeNode) -> Runs:
    inner = node.children[0].token if node.children else None
    return _runs(inner.children or ()) if inner else ()


def _runs(tokens: Sequence[Token]) -> Runs:
    runs: list[Run] = []
    styles: list[Style] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.type == "link_open":
            end = _end_of_link(tokens, at)
            runs += _link(str(token.attrs.get("href", "")), tokens[at + 1 : end], tuple(styles))
            at = end
        elif token.nesting == 1 and (style := _SPANS.get(token.type.removesuffix("_open"))):
            styles.append(style)
        elif token.nesting == -1 and styles:
            styles.pop()
        elif text := _text_of(token):
            extra = (Style("code"),) if token.type == "code_inline" else ()
            _add(runs, Run(text, (*styles, *extra)))
        at += 1
    return tuple(runs)


def _add(runs: list[Run], run: Run) -> None:
    if runs and runs[-1].styles == run.styles and not run.has("link"):
        run = Run(runs.pop().text + run.text, run.styles)
    runs.append(run)


def _text_of(token: Token) -> str:
    match token.type:
        case "softbreak" | "hardbreak":
            return "\n"
        case "image":
            return _with_address(_label(token.children or ()), str(token.attrs.get("src", "")))
        case _:
            return clean(token.content)


def _end_of_link(tokens: Sequence[Token], start: int) -> int:
    return next(at for at in range(start, len(tokens)) if tokens[at].type == "link_close")


def _link(address: str, inside: Sequence[Token], styles: tuple[Style, ...]) -> list[Run]:
    label = _label(inside)
    if not label.strip() or label in (address, unquote(address), address.removeprefix("mailto:")):
        return [Run(label.strip() or clean(address), styles)]
    if _ADDRESS.match(label):
        # Words that are an address and lead to another would hide where.
        return [Run(_with_address(label, clean(address)), styles)]
    pictures = [str(token.attrs.get("src", "")) for token in inside if token.type == "image"]
    shown = [Run(label, (*styles, Style("link", clean(address))))]
    return [*shown, *(Run(f" {picture}", styles) for picture in pictures if _leads(picture))]


def _label(tokens: Sequence[Token]) -> str:
    return "".join(_label(token.children or ()) if token.type == "image" else _text_of(token) for token in tokens)


def _with_address(label: str, address: str) -> str:
    if not _leads(address):
        return label
    return f"{label} ({address})" if label.strip() else address


def _leads(address: str) -> bool:
    """Whether an address leads anywhere: a picture that is written into its address is no text for a person."""
    return bool(address) and not address.lower().startswith("data:")
