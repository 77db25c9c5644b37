"""The way in: a folder that is free, one that is served, and one that somebody holds and does not serve."""

from __future__ import annotations

import pytest

from qingtuan.cli.door import entered
from qingtuan.cli.shell import Shell
from qingtuan.clock import ManualClock
from qingtuan.errors import HomeInUse
from qingtuan.home import Home, HomeLock
from qingtuan.settings import load
from tests.fakes.linked import done, saying


@pytest.fixture
def shell(home: Home, clock: ManualClock) -> Shell:
    environ = {"QINGTUAN_EMBEDDING__MODEL": "off", "QINGTUAN_EMBEDDED__SIZE": "off"}
    return Shell(home, "zh", clock, load(home.path, environ))


async def test_who_comes_first_is_the_instance_and_others_speak_through_it(shell: Shell) -> None:
    made: list[str] = []

    async def first() -> None:
        made.append("first")

    async with entered(shell, "qingtuan chat", serve=True, first=first) as one:
        assert one.app is not None
        async with entered(shell, "qingtuan ask", first=first) as other:
            assert other.app is None
            assert (await done(other.link, saying("/whoami"))).status == "answered"
    assert made == ["first"]
    async with entered(shell, "qingtuan ask") as later:
        assert later.app is not None


async def test_a_folder_that_is_held_and_not_served_is_waited_for_and_then_named(
    shell: Shell, home: Home, clock: ManualClock
) -> None:
    lock = HomeLock(home)
    assert lock.take("qingtuan ask")
    began = clock.monotonic()
    with pytest.raises(HomeInUse, match="qingtuan ask"):
        async with entered(shell, "qingtuan memory"):
            pass
    assert clock.monotonic() - began >= 10
    lock.release()


async def test_a_folder_that_becomes_free_is_taken(shell: Shell, home: Home, clock: ManualClock) -> None:
    lock = HomeLock(home)

    class Releasing(ManualClock):
        """Lets the folder go while somebody waits for it."""

        async def sleep(self, seconds: float) -> None:
            lock.release()
            await super().sleep(seconds)

    assert lock.take("qingtuan ask")
    waiting = Shell(home, "zh", Releasing(clock.now()), shell.read)
    async with entered(waiting, "qingtuan memory") as door:
        assert door.app is not None
