"""What can be said of a module without compiling it: what it imports, and whether it has a default export. Pure.

This is for whoever wrote the module, so that one answer holds all there is to mend; it keeps nothing out. Where a
regular expression cannot be told from a division it may miss an import, which then fails inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from qingtuan.capabilities.sandbox.base import Fault
from qingtuan.capabilities.sandbox.runtime import SHAPE


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int

    @property
    def is_string(self) -> bool:
        return self.text[0] in "'\""


def faults_of(code: str) -> tuple[Fault, ...]:
    """Imports, each with its place, and a default export that is missing."""
    if len(code) > _LONGEST_CODE:
        return ()
    tokens = list(_tokens(code))
    imports = (
        Fault("compile", f"Imports are not available: {_shown(tokens, at)}.", *_place(code, token.start))
        for at, token in enumerate(tokens)
        if (token.text == "import" and _imports(tokens, at)) or (token.text == "from" and _exports_from(tokens, at))
    )
    found = list(islice(imports, _MOST))
    if not _has_default(tokens):
        found.append(Fault("compile", f"There is no default export. Write: {SHAPE}"))
    return tuple(found)


def _imports(tokens: list[_Token], at: int) -> bool:
    """Whether `import` here is the statement or the call, and no property and no `import.meta`."""
    before, after = _text(tokens, at - 1), _text(tokens, at + 1)
    if before in (".", "?."):
        return False
    if after == "(":
        return _text(tokens, at + 2) != ")" and before != "function"
    return after in ("{", "*") or after[:1] in ("'", '"') or (_WORD.fullmatch(after) is not None)


def _exports_from(tokens: list[_Token], at: int) -> bool:
    """Whether `from` here ends `export { … } from "…"` or `export * from "…"`."""
    if not (at + 1 < len(tokens) and tokens[at + 1].is_string):
        return False
    for token in reversed(tokens[max(0, at - _LOOK_BACK) : at]):
        if token.text in ("export", "import"):
            return token.text == "export"
        if token.text in (";", "(", "="):
            return False
    return False


def _has_default(tokens: list[_Token]) -> bool:
    return any(token.text == "default" and _text(tokens, at - 1) in ("export", "as") for at, token in enumerate(tokens))


def _shown(tokens: list[_Token], at: int) -> str:
    """What is imported, as written: the next text, if one comes soon."""
    for token in tokens[at + 1 : at + _LOOK_BACK]:
        if token.is_string:
            return token.text[:_LONGEST]
        if token.text == ";":
            break
    return "import"


def _text(tokens: list[_Token], at: int) -> str:
    return tokens[at].text if 0 <= at < len(tokens) else ""


def _place(code: str, start: int) -> tuple[int, int]:
    return code.count("\n", 0, start) + 1, start - code.rfind("\n", 0, start)


def _tokens(code: str) -> Iterator[_Token]:
    """Words, texts and signs, without comments, templates' words and regular expressions."""
    at, before, open_braces = 0, "", list[str]()
    no_pattern_before = 0
    while at < len(code):
        if _SLASH.match(code, at) and at >= no_pattern_before and _begins_expression(before):
            if found := _REGEX.match(code, at):
                at, before = found.end(), "x"
                continue
            no_pattern_before = (code.find("\n", at) + 1) or len(code)
        found = _TOKEN.match(code, at)
        if found is None:
            at += 1
            continue
        text, at = found[0], found.end()
        if found.lastgroup == "skipped":
            continue
        if text == "}" and open_braces and open_braces.pop() == "`":
            text = "`"  # the end of a value in a template
        if text == "`":
            chunk = _TEMPLATE.match(code, at)
            at = chunk.end() if chunk else len(code)
            if chunk and chunk[0].endswith("${"):
                open_braces.append("`")
                before = "{"
            else:
                before = "x"
            continue
        if text == "{":
            open_braces.append(text)
        yield _Token(text, found.start())
        before = text


def _begins_expression(before: str) -> bool:
    """Whether a slash after this begins a regular expression, and is no division."""
    return before in _BEFORE_REGEX or not (_WORD.fullmatch(before) or before[:1] in ")]}'\"" or before[:1].isdigit())


_LONGEST_CODE = 64 * 1024
"""Characters; more of them take their time, and what is hostile may be as long as it likes."""
_MOST = 20
"""Imports that are named."""
_LOOK_BACK = 200
"""Words between `export` and its `from`."""
_LONGEST = 80
_WORD = re.compile(r"[\w$]+")
_TOKEN = re.compile(
    r"""(?P<skipped>\s+|//[^\n]*|/\*.*?(?:\*/|\Z))"""
    r"""|(?P<string>"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?)"""  # one without end ends with its line
    r"""|(?P<word>[\w$]+)|(?P<sign>\?\.|=>|.)""",
    re.DOTALL,
)
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*+(?:`|\$\{)", re.DOTALL)
_SLASH = re.compile(r"/(?![/*])")
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*+\])++/[a-z]*")
_BEFORE_REGEX = frozenset(
    {
        "",
        "return",
        "typeof",
        "case",
        "in",
        "of",
        "delete",
        "void",
        "instanceof",
        "new",
        "throw",
        "await",
        "yield",
        "else",
    }
)
