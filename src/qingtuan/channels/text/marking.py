"""Turns styled stretches into markup: each sign that opens is closed in the same stretch, inner ones first. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from qingtuan.channels.text.model import Run, Style

Signs = Callable[[Style], tuple[str, str]]
"""What opens and what closes a style."""


def marked(runs: Iterable[Run], signs: Signs, text: Callable[[Run], str]) -> str:
    """The runs with the signs of their styles. A style that goes on from one run to the next stays open."""
    pieces: list[str] = []
    open_styles: list[Style] = []
    for run in runs:
        same = _same(open_styles, run.styles)
        while len(open_styles) > same:
            pieces.append(signs(open_styles.pop())[1])
        for style in run.styles[same:]:
            pieces.append(signs(style)[0])
            open_styles.append(style)
        pieces.append(text(run))
    while open_styles:
        pieces.append(signs(open_styles.pop())[1])
    return "".join(pieces)


def _same(open_styles: list[Style], wanted: tuple[Style, ...]) -> int:
    count = 0
    while count < min(len(open_styles), len(wanted)) and open_styles[count] == wanted[count]:
        count += 1
    return count
