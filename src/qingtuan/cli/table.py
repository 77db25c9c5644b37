"""Plain tables: columns that line up, wide characters counted as wide, readable by people and by `awk`."""

from __future__ import annotations

from collections.abc import Sequence

_GAP = "  "
_LEAST = 10
"""Cells of a column that is cut."""


def table(rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset(), fit: int | None = None) -> str:
    """Rows as lines; the columns of `right` stand to the right. With `fit`, the last column is cut so that no line is
    wider than so many cells, as long as something of it is left."""
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    lines = []
    for row in rows:
        cells = []
        for column, (text, width) in enumerate(zip(row, widths, strict=True)):
            blank = " " * (width - _width(text))
            if fit is not None and column == len(row) - 1:
                text, blank = _cut(text, fit - sum(widths[:-1]) - len(_GAP) * column), ""
            cells.append(blank + text if column in right else text + blank)
        lines.append(_GAP.join(cells).rstrip())
    return "\n".join(lines)


def _cut(text: str, room: int) -> str:
    from rich.cells import set_cell_size

    room = max(room, _LEAST)
    return text if _width(text) <= room else f"{set_cell_size(text, room - 1).rstrip()}…"


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
