"""The Telegram of others: what is told where it does not begin to listen."""

from __future__ import annotations

from pathlib import Path

import pytest

from peers import telegram
from peers.checks import Skipped
from peers.node import Node


def node_of(folder: Path, script: str) -> Node:
    """A Node that does what a script says."""
    binary = folder / "node"
    binary.write_text(script, "utf-8")
    binary.chmod(0o755)
    return Node(binary, folder / "node_modules")


async def test_a_server_that_does_not_begin_is_skipped(tmp_path: Path) -> None:
    node = node_of(tmp_path, "#!/bin/sh\necho cannot find module\nexit 1\n")
    with pytest.raises(Skipped, match="does not begin"):
        await telegram._tried(node)


async def test_one_that_answers_nothing_fails_each_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telegram, "_PATIENCE", 2.0)
    # The port is nobody's: what is asked there is refused.
    checks = await telegram._tried(node_of(tmp_path, "#!/bin/sh\necho 1\nread -r line\n"))
    assert [check.state for check in checks] == ["failed"] * 3
