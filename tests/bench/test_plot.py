from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from bench.plot import HEIGHT, Panel, chart

SVG = "{http://www.w3.org/2000/svg}"


@given(st.lists(st.floats(0.001, 1e7), min_size=1, max_size=60), st.integers(2, 40))
def test_every_value_is_drawn_inside_its_panel(values: list[float], window: int) -> None:
    drawing = ElementTree.fromstring(chart([Panel("a < b", values, window), Panel("c", values, window)]))
    first, second = drawing.findall(f"{SVG}g")
    for panel in (first, second):
        dots = panel.findall(f".//{SVG}circle")
        assert len(dots) == len(values)
        assert all(0 <= float(dot.get("cy", "-1")) <= HEIGHT for dot in dots)
    assert second.get("transform") == f"translate(0 {HEIGHT})"
    assert first.findtext(f"{SVG}text") == "a < b"


def test_a_level_course_is_a_level_line() -> None:
    drawing = ElementTree.fromstring(chart([Panel("x", [5.0] * 100, 10)]))
    line = drawing.find(f".//{SVG}polyline")
    assert line is not None
    heights = {point.split(",")[1] for point in (line.get("points") or "").split()}
    assert len(heights) == 1
