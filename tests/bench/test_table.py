"""The table of figures and targets."""

from __future__ import annotations

from bench.table import Row, number, table


def test_a_target_is_met_from_its_better_side() -> None:
    assert Row("a", 5, target=5).met is True
    assert Row("a", 6, target=5).met is False
    assert Row("a", 6, target=5, better="higher").met is True
    assert Row("a", 6).met is None


def test_the_table_lines_up_and_compares_with_the_last_run() -> None:
    rows = [Row("bytes of hello", 5800, "B", 6000, peers="nanobot 29,848"), Row("prefix kept", 0.5, "", 0.9, "higher")]
    lines = table(rows, {"prefix kept": 0.4}).splitlines()
    assert lines[1].split("  ")[0] == "bytes of hello"
    assert [line.index(word) for line, word in zip(lines, ("target", "≤ 6,000", "≥ 0.9"), strict=True)] == [25] * 3
    assert "met" in lines[1]
    assert "MISSED" in lines[2]
    assert "0.4 (+25%)" in lines[2]


def test_numbers() -> None:
    assert [number(figure) for figure in (12345.6, 3.0, 0.0123, 99.95)] == ["12,346", "3", "0.0123", "100"]
