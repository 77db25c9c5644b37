"""The checks on Tencent's client tell what is wrong, and nothing stops them."""

from __future__ import annotations

from pathlib import Path

import pytest

from peers import weixin
from peers.node import Node

CLIENT = """#!/bin/sh
printf '\\n{"name": "begin", "value": 0}\\nnoise\\n{"name": "wait", "value": {"count": 0, "ret": 0}}\\n'
printf '{"name": "receive", "error": "it broke"}\\n'
"""


def node_of(folder: Path, script: str) -> Node:
    binary = folder / "node"
    binary.write_text(script, "utf-8")
    binary.chmod(0o755)
    return Node(binary, folder / "node_modules")


async def test_a_check_sees_what_is_wrong(tmp_path: Path) -> None:
    checks = {check.name: check for check in await weixin._tried(node_of(tmp_path, CLIENT))}
    assert checks["waits for the next with its cursor"].state == "passed"
    took = checks["takes a message, its id exact"]
    assert (took.state, took.why) == ("failed", "receive: it broke")
    assert [check.state for check in checks.values()].count("passed") == 1


async def test_a_client_that_does_not_run_fails_with_what_it_said(tmp_path: Path) -> None:
    checks = await weixin._tried(node_of(tmp_path, "#!/bin/sh\necho cannot find module >&2\nexit 1\n"))
    assert {check.state for check in checks} == {"failed"}
    assert "cannot find module" in checks[1].why


async def test_nobody_waits_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weixin, "_PATIENCE", 0.2)
    checks = await weixin._tried(node_of(tmp_path, "#!/bin/sh\nexec sleep 60\n"))
    assert "no end within 0.2 s" in checks[1].why


def test_what_its_host_offers_is_put_beside_it(tmp_path: Path) -> None:
    weixin._put_beside(Node(tmp_path / "node", tmp_path / "node_modules"))
    assert (tmp_path / "node_modules" / "openclaw" / "plugin-sdk" / "account-id.mjs").is_file()
