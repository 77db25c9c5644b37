"""Which program a command names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from qingtuan.mcp_client.process import found


def program(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    made = folder / name
    made.write_text("#!/bin/sh\n", "utf-8")
    made.chmod(0o755)
    return made


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of scripts of an environment that is not activated, with one server in it."""
    program(tmp_path / "bin", "seats")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    return tmp_path / "bin"


def test_a_server_that_came_with_us_is_found_without_an_activated_environment(own: Path, tmp_path: Path) -> None:
    assert found("seats", str(tmp_path / "elsewhere")) == str(own / "seats")
    assert found("seats", None) == str(own / "seats")


def test_what_the_path_has_comes_first(own: Path, tmp_path: Path) -> None:
    program(tmp_path / "elsewhere", "seats")
    assert found("seats", str(tmp_path / "elsewhere")) == "seats"


def test_a_path_and_what_is_nowhere_stay_as_they_are(own: Path) -> None:
    assert found("./seats", "") == "./seats"
    assert found("nothing", "") == "nothing"
