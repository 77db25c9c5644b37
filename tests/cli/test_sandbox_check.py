"""The doctor says whether code runs in the sandbox, and which walls stand."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from qingtuan.capabilities.sandbox.engine import find_program
from tests.cli.conftest import CommandLine


def row(line: CommandLine) -> dict[str, Any]:
    return next(one for one in line("doctor", "--json").json if one["name"] == "sandbox")


def test_the_walls_are_named(qingtuan: CommandLine) -> None:
    if find_program() is None:
        pytest.skip("the engine of the sandbox is not installed (the extra `sandbox`)")
    found = row(qingtuan)
    assert found["state"] == "ok"
    assert [(fact["wall"], fact["stands"]) for fact in found["facts"]][:2] == [("engine", True), ("limits", True)]
    assert "Deno" in found["found"]
    assert "bubblewrap" in found["found"]


def test_a_missing_engine_is_named_with_what_to_do(qingtuan: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "deno", None)
    found = row(qingtuan)
    assert found["state"] == "note"
    assert "pip install 'qingtuan[sandbox]'" in found["mend"]
