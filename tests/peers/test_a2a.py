"""The A2A of others: what is told of the suite that is in no registry."""

from __future__ import annotations

import pytest

from peers import a2a


async def test_without_its_folder_it_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A2A_TCK", raising=False)
    [check] = await a2a._tck()
    assert (check.state, "A2A_TCK" in check.why) == ("left out", True)


def test_its_last_line_is_counted() -> None:
    out = "FAILED tests/x.py::test_a - no\n== 1 failed, 83 passed, 12 skipped in 9.1s =="
    found = [(check.name, check.state, check.count) for check in a2a._counted(out)]
    assert found == [("tests/x.py::test_a", "failed", 1), ("passed", "passed", 83), ("skipped", "left out", 12)]


def test_one_that_breaks_fails() -> None:
    assert [check.state for check in a2a._counted("No module named tck")] == ["failed"]
