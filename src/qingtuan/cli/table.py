"""Plain tables: columns that line up, wide characters counted as wide, readable by people and by `awk`."""

from __future__ import annotations

from collections.abc import Sequence

_GAP = "  "


def table(rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset()) -> str:
    """Rows as lines; the columns of `right` stand to the right."""
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    lines = []
    for row in rows:
        cells = []
        for column, (text, width) in enumerate(zip(row, widths, strict=True)):
            blank = " " * (width - _width(text))
            cells.append(blank + text if column in right else text + blank)
        lines.append(_GAP.join(cells).rstrip())
    return "\n".join(lines)


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
