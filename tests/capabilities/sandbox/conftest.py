"""A sandbox that is closed again; without its engine the tests here are skipped, and named."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.capabilities.sandbox.deno import Deno
from qingtuan.capabilities.sandbox.engine import find_program


@pytest.fixture
async def sandbox(tmp_path: Path) -> AsyncIterator[Deno]:
    if find_program() is None:
        pytest.skip("the engine of the sandbox is not installed (the extra `sandbox`)")
    made = Deno(tmp_path / "sandbox")
    yield made
    await made.close()
