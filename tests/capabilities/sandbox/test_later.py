"""A sandbox that waits until it is needed."""

from __future__ import annotations

from qingtuan.capabilities.sandbox.base import Fault, Job, Ran
from qingtuan.capabilities.sandbox.later import Later
from tests.fakes.capability_world import ScriptedSandbox


class Closing(ScriptedSandbox):
    """Says what it was asked after its end."""

    closed = False

    async def run(self, job: Job) -> Ran:
        return Ran(fault=Fault("missing", "closed")) if self.closed else await super().run(job)

    async def close(self) -> None:
        self.closed = True


async def test_it_is_made_once_and_only_when_something_runs() -> None:
    made: list[ScriptedSandbox] = []

    def make() -> ScriptedSandbox:
        made.append(ScriptedSandbox())
        return made[-1]

    later = Later(make)
    assert made == []
    assert (await later.run(Job("// does: echo", {"a": 1}))).value == {"a": 1}
    assert await later.check("syntax error") != ()
    assert later.walls() == ()
    assert len(made) == 1


async def test_one_that_was_never_used_is_not_made_to_be_closed() -> None:
    later = Later(Closing)
    await later.close()
    fault = (await later.run(Job("// does: echo", {}))).fault
    assert fault is not None
    assert fault.message == "closed"


async def test_closing_reaches_the_one_that_was_made() -> None:
    later = Later(Closing)
    assert (await later.run(Job("// does: echo", {}))).fault is None
    await later.close()
    assert (await later.run(Job("// does: echo", {}))).fault is not None
