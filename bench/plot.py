"""A small line chart as SVG, for figures that are a course and not a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 860, 230
"""Pixels of one panel."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 40, 34


@dataclass(frozen=True, slots=True)
class Panel:
    """One course: a value for each turn, and its mean over `window` turns as a line."""

    title: str
    values: Sequence[float]
    window: int


def chart(panels: Sequence[Panel]) -> str:
    """The panels under each other, with turns as their common axis."""
    drawn = [
        f'<g transform="translate(0 {number * HEIGHT})">{_panel(panel)}</g>' for number, panel in enumerate(panels)
    ]
    size = f'width="{WIDTH}" height="{HEIGHT * len(panels)}" viewBox="0 0 {WIDTH} {HEIGHT * len(panels)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(drawn)}</svg>\n'
    )


def _panel(panel: Panel) -> str:
    top = _round_up(max(panel.values))
    ticks = [top * part / 4 for part in range(5)]
    return "".join(
        (
            f'<text x="{_LEFT}" y="24" font-size="14" font-weight="bold" fill="#222">{escape(panel.title)}</text>',
            *(_tick(value, top) for value in ticks),
            *(_turn(turn, len(panel.values)) for turn in _steps(len(panel.values))),
            f'<g fill="#9ec5e8">{"".join(_dots(panel, top))}</g>',
            f'<polyline fill="none" stroke="#0b5394" stroke-width="2" points="{_course(panel, top)}"/>',
        )
    )


def _dots(panel: Panel, top: float) -> list[str]:
    count = len(panel.values)
    return [
        f'<circle cx="{_x(turn, count):.1f}" cy="{_y(value, top):.1f}" r="1.3"/>'
        for turn, value in enumerate(panel.values)
    ]


def _course(panel: Panel, top: float) -> str:
    half, count = panel.window // 2, len(panel.values)
    points = []
    for turn in range(half, count - half, max(1, count // 400)):
        mean = sum(panel.values[turn - half : turn + half]) / (2 * half)
        points.append(f"{_x(turn, count):.1f},{_y(mean, top):.1f}")
    return " ".join(points)


def _tick(value: float, top: float) -> str:
    y = _y(value, top)
    return (
        f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#555">{value:g}</text>'
    )


def _turn(turn: int, count: int) -> str:
    x = _x(turn, count)
    return f'<text x="{x:.1f}" y="{HEIGHT - 12}" text-anchor="middle" fill="#555">{turn}</text>'


def _steps(count: int) -> range:
    step = max(1, round(count / 10, 1 - len(str(count // 10)))) if count >= 10 else 1
    return range(0, count + 1, int(step))


def _x(turn: int, count: int) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * turn / count


def _y(value: float, top: float) -> float:
    return _TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - value / top)


def _round_up(value: float) -> float:
    """The next number of the form 1, 2, 4 or 8 times a power of ten: a quarter of it is short to write."""
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    return next(power * step for step in (1, 2, 4, 8, 10) if power * step >= value)
