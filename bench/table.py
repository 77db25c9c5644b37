"""A figure beside its target, and the table of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure. What it measures is said by `name`; the target is that of the project."""

    name: str
    figure: float
    unit: str = ""
    target: float | None = None
    """None: measured only."""
    better: Literal["lower", "higher"] = "lower"
    peers: str = ""
    """What others reach, as text."""

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without one."""
        if self.target is None:
            return None
        return self.figure <= self.target if self.better == "lower" else self.figure >= self.target


class Skipped(Exception):
    """Raised by `rows` where something that is needed is not there; the message says what."""


HEAD = ("what", "ours", "target", "", "last time", "peers")


def table(rows: Sequence[Row], before: Mapping[str, float]) -> str:
    """The rows as text, each with its figure of the last run, if there is one in `before`."""
    return _aligned([HEAD, *(_cells(row, before.get(row.name)) for row in rows)])


def _cells(row: Row, last: float | None) -> tuple[str, ...]:
    sign = "≤" if row.better == "lower" else "≥"
    target = "" if row.target is None else f"{sign} {number(row.target)}"
    mark = {True: "met", False: "MISSED", None: ""}[row.met]
    return (row.name, f"{number(row.figure)} {row.unit}".strip(), target, mark, _change(row.figure, last), row.peers)


def _change(figure: float, last: float | None) -> str:
    if last is None:
        return ""
    return f"{number(last)} ({(figure - last) / last:+.0%})" if last else number(last)


def number(figure: float) -> str:
    """A figure with as many digits as mean something."""
    if figure == int(figure) or abs(figure) >= 1000:
        return f"{figure:,.0f}"
    return f"{figure:.3g}"


def _aligned(lines: Iterable[Sequence[str]]) -> str:
    lines = list(lines)
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
