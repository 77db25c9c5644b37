"""A sandbox that is loaded when it is first used: an instance that has no tools of its own making does without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qingtuan.capabilities.sandbox.base import Fault, Job, Ran, Sandbox, Wall


class Later:
    """A `base.Sandbox`, made when it is needed."""

    def __init__(self, make: Callable[[], Sandbox]) -> None:
        self._make = make
        self._made: Sandbox | None = None
        self._closed = False

    async def run(self, job: Job) -> Ran:
        return await (await self._open()).run(job)

    async def check(self, code: str) -> tuple[Fault, ...]:
        return await (await self._open()).check(code)

    def walls(self) -> Sequence[Wall]:
        return self._sandbox().walls()

    async def close(self) -> None:
        self._closed = True
        if self._made is not None:
            await self._made.close()

    async def _open(self) -> Sandbox:
        sandbox = self._sandbox()
        if self._closed:
            await sandbox.close()  # it is for the sandbox to say what a call gets then
        return sandbox

    def _sandbox(self) -> Sandbox:
        if self._made is None:
            self._made = self._make()
        return self._made
