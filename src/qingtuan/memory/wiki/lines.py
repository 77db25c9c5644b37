"""The lines of a page, each with its own line end: putting them together again gives the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

BOM = "\ufeff"
"""May stand before the first character of a file, and is no part of its text."""

_END = re.compile(r"(\r\n|\n|\r)")


@dataclass(frozen=True, slots=True)
class Line:
    """One line. `end` is what follows it in the file: `\\n`, `\\r\\n`, `\\r`, or nothing for a last line."""

    text: str
    end: str


def split_lines(text: str) -> list[Line]:
    """The lines of `text` by the three line ends of Markdown, and no other character that Unicode calls a break."""
    pieces = _END.split(text)
    lines = [Line(pieces[index], pieces[index + 1]) for index in range(0, len(pieces) - 1, 2)]
    return [*lines, Line(pieces[-1], "")] if pieces[-1] else lines


def join_lines(lines: Iterable[Line]) -> str:
    """The text that `split_lines` was given."""
    return "".join(line.text + line.end for line in lines)


def inserted(lines: Sequence[Line], at: int, new: Iterable[str | Line]) -> list[Line]:
    """`lines` with `new` before index `at`. Bare texts get the page's line end; the file ends as it ended."""
    end = lines[0].end or "\n" if lines else "\n"
    fresh = [line if isinstance(line, Line) else Line(line, end) for line in new]
    fresh = [line if line.end else replace(line, end=end) for line in fresh]
    before, after = list(lines[:at]), list(lines[at:])
    if fresh and at == 0 and lines and lines[0].text.startswith(BOM):
        fresh[0] = replace(fresh[0], text=BOM + fresh[0].text)
        after[0] = replace(after[0], text=after[0].text.removeprefix(BOM))
    if fresh and at == len(lines) and lines and not lines[-1].end:
        before[-1] = replace(before[-1], end=end)
        fresh[-1] = replace(fresh[-1], end="")
    return _parted([*before, *fresh, *after])


def removed(lines: Sequence[Line], start: int, end: int) -> list[Line]:
    """`lines` without those from `start` to before `end`. A file without a final line end stays so, if it can."""
    kept = [*lines[:start], *lines[end:]]
    if kept and kept[-1].text and end == len(lines) and start < end and not lines[-1].end:
        kept[-1] = replace(kept[-1], end="")
    return _parted(kept)


def _parted(lines: list[Line]) -> list[Line]:
    """An empty line that ends in `\\n` must not come to stand behind a `\\r`: in the file the two would be one end."""
    for index in range(1, len(lines)):
        if lines[index - 1].end == "\r" and lines[index] == Line("", "\n"):
            lines[index] = Line("", "\r")
    return lines
