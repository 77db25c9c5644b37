"""A sandbox that several tests share, each with an event loop of its own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from qingtuan.capabilities.sandbox.base import Fault, Job, Limits, Ran
from qingtuan.capabilities.sandbox.deno import Deno
from qingtuan.capabilities.sandbox.engine import find_program
from qingtuan.net.fetcher import SafeFetcher
from tests.fakes.service import Service

USUAL = Limits()
SHORT = Limits(seconds=0.25)


class Trial:
    """Code that is run, and what came of it."""

    def __init__(self, sandbox: Deno) -> None:
        self.sandbox = sandbox

    async def ran(self, code: str, limits: Limits = USUAL, service: Service | None = None, **arguments: Any) -> Ran:
        """Run it; with a service it may ask that one's host."""
        self.sandbox.fetcher = service.fetcher if service else SafeFetcher()
        hosts = (service.host,) if service else ()
        return await self.sandbox.run(Job(code, arguments, hosts, limits=limits))

    async def value(self, code: str, service: Service | None = None, **arguments: Any) -> Any:
        """What it gives, which must go well."""
        found = await self.ran(code, USUAL, service, **arguments)
        assert found.fault is None, found
        return found.value

    async def fault(self, code: str, limits: Limits = USUAL) -> Fault:
        """What goes wrong with it, which something must."""
        found = await self.ran(code, limits)
        assert found.fault is not None, found
        assert found.value is None
        return found.fault

    async def works(self) -> None:
        """The next ordinary call is an ordinary call."""
        assert await self.value("export default ({ a }) => ({ sum: a + 1 });", a=2) == {"sum": 3}


@contextmanager
def trial() -> Iterator[Trial]:
    """A sandbox while the block lasts; where there is no engine, the test is skipped."""
    if find_program() is None:
        pytest.skip("the engine of the sandbox is not installed (the extra `sandbox`)")
    with tempfile.TemporaryDirectory() as folder:
        made = Trial(Deno(Path(folder)))
        try:
            yield made
        finally:
            asyncio.run(made.sandbox.close())
