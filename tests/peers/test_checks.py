"""How suites are told and what they come to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from peers import __main__ as peers
from peers import onebot
from peers.checks import Check, Skipped, summed, told
from peers.node import Node

PASSED = Check("calls a tool", "passed", count=3)
FAILED = Check("ends", "failed", "no end")
WITHOUT = [Check("sign-in", "left out", "not part of it"), Check("sign-out", "left out", "not part of it")]


def test_every_check_is_told_and_counted() -> None:
    assert told("suite", [PASSED, FAILED, *WITHOUT]).splitlines() == [
        "== suite",
        "✓ calls a tool  3 passed",
        "✗ ends          failed: no end",
        "– left out, not part of it: sign-in, sign-out",
        "suite: 3 passed, 1 failed, 2 left out",
    ]
    assert summed([]) == "0 passed, 0 failed, 0 left out"


@pytest.fixture
def suites(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Check] | Skipped]:
    """What the only suites find, by name; nothing is fetched."""
    found: dict[str, list[Check] | Skipped] = {}

    def run(name: str) -> Iterator[tuple[str, list[Check]]]:
        checks = found[name]
        if isinstance(checks, Skipped):
            raise checks
        yield name, checks

    monkeypatch.setattr(peers, "SUITES", {name: lambda name=name: run(name) for name in ("one", "two")})
    monkeypatch.setattr("sys.argv", ["peers"])
    return found


def test_a_failure_makes_the_status(
    suites: dict[str, list[Check] | Skipped], capsys: pytest.CaptureFixture[str]
) -> None:
    suites.update(one=[PASSED], two=[PASSED, *WITHOUT])
    assert peers.main() == 0
    suites["two"] = [FAILED]
    assert peers.main() == 1
    assert "3 passed, 1 failed" in capsys.readouterr().out


def test_a_suite_that_cannot_run_is_named_and_no_failure(
    suites: dict[str, list[Check] | Skipped], capsys: pytest.CaptureFixture[str]
) -> None:
    suites.update(one=Skipped("it does not listen"), two=[PASSED])
    assert peers.main() == 0
    assert "SKIPPED one: it does not listen" in capsys.readouterr().out


def test_what_cannot_be_had_is_named_for_each_suite(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def installed() -> Node:
        raise Skipped("Node cannot be had")

    def fetched(*_: object) -> Path:
        raise Skipped("aiocqhttp cannot be had")

    monkeypatch.setattr(peers, "installed", installed)
    monkeypatch.setattr(onebot, "installed", fetched)
    monkeypatch.setattr("sys.argv", ["peers"])
    assert peers.main() == 0
    assert capsys.readouterr().out.splitlines()[:5] == [
        "SKIPPED a2a: Node cannot be had",
        "SKIPPED conformance: Node cannot be had",
        "SKIPPED everything: Node cannot be had",
        "SKIPPED mcp-server: Node cannot be had",
        "SKIPPED onebot: aiocqhttp cannot be had",
    ]
