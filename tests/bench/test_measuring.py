"""Measuring part by part: what is missing is named, and what breaks breaks alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from bench import __main__ as bench
from bench.instance import Asked, beliefs, quantile, sentence
from bench.measuring import FOLDER, FULL_ONLY, Measured, measure, modules
from bench.table import Row, Skipped
from bench.turns import kept


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Makes a module of this `rows`, and gives its name."""

    def make(**contents: object) -> str:
        module = ModuleType("bench.pretended")
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, "bench.pretended", module)
        return "pretended"

    return make


def test_every_part_is_found_by_its_name() -> None:
    assert {"turns", "sessions", "starting", "recalled", "many_beliefs", "kills"} <= set(modules(None))
    assert "__main__" not in modules(None)
    assert modules("many") == ["many_beliefs", "many_pages"]
    assert (FOLDER / "turns.py").is_file()


def test_a_part_is_told_whether_a_quick_look_is_enough(part: Callable[..., str]) -> None:
    name = part(rows=lambda short: [Row("short" if short else "long", 1)], LEFT_OUT=("the long one",))
    assert measure(name, short=True) == Measured([Row("short", 1)], ["left out of a short run: the long one"])
    assert measure(name, short=False) == Measured([Row("long", 1)])


@pytest.mark.parametrize("name", sorted(FULL_ONLY))
def test_what_takes_long_is_named_in_a_short_run(name: str) -> None:
    assert name in modules(None)
    assert measure(name, short=True) == Measured([], [f"left out of a short run: {name}"])


def test_what_measures_nothing_is_no_part(part: Callable[..., str]) -> None:
    assert measure(part(), short=True) is None


def test_what_cannot_be_measured_is_named(part: Callable[..., str]) -> None:
    def rows() -> list[Row]:
        raise Skipped("no data")

    assert measure(part(rows=rows), short=False) == Measured([], ["SKIPPED pretended: no data"])


def test_what_breaks_breaks_alone(part: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    def rows() -> list[Row]:
        raise ValueError("no answer")

    found = measure(part(rows=rows), short=False)
    assert found == Measured([], ["FAILED pretended: ValueError('no answer')"], failed=True)
    assert "no answer" in capsys.readouterr().err


def test_each_figure_is_compared_with_its_own_last_one(
    tmp_path: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "RESULTS", tmp_path)
    bench.store([Row("a", 1), Row("b", 2)], "short")
    stored = bench.store([Row("a", 3)], "full")
    assert bench.last_figures("short") == {"a": 1, "b": 2}
    assert bench.last_figures("full") == {"a": 3}
    assert json.loads(stored.read_text("utf-8"))["rows"][0]["name"] == "a"


def test_the_prefix_of_a_request_is_counted_in_bytes_of_tools_and_messages() -> None:
    def asked(*said: str) -> Asked:
        return Asked(b"", {"tools": [{"name": "remember"}], "messages": [{"role": "user", "content": s} for s in said]})

    whole, longer, other = asked("你好", "再见"), asked("你好", "再见", "在吗"), asked("在吗")
    assert kept([whole, whole]) == [1.0]
    assert 0.9 < kept([whole, longer])[0] < 1.0
    assert 0.2 < kept([whole, other])[0] < 0.7
    assert kept([whole]) == []


def test_what_is_said_never_repeats_itself() -> None:
    assert len({sentence(number) for number in range(1000)}) == 1000
    assert len(set(beliefs())) == 30


def test_quantiles() -> None:
    assert quantile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert quantile([1.0], 0.95) == 1.0
    assert quantile(list(map(float, range(100))), 0.95) == 95.0
