"""Kills a process that works on a wiki, or on capabilities, at every step it takes.

Run as a script (`python -m tests.fakes.wiki_crash ACT TEMPLATE TARGET STRIDE`), because a test process has threads and
must not fork: copies TEMPLATE to TARGET/0001, TARGET/0002 …, and in a child of each copy does ACT, which is killed
by SIGKILL right before its first, second … step (with STRIDE 3: before the first, fourth …). A step is whatever
changes something: a file opened for writing, a name made, changed or removed, a process started (git), an SQL
statement that is no query. Ends with the first copy whose child came through.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from qingtuan.storage.sqlite import Database
from tests.fakes.wiki_world import OTHER, PAGE, WikiWorld

LINE, NEW, LATER = "- 提交预约前必须二次确认 ^3", "# 预约\n\n## 当前\n- 只约上午 ^4\n", "- 周末不去 ^5"

_CHANGES = frozenset({"os.rename", "os.remove", "os.link", "os.mkdir", "subprocess.Popen"})

_MOST = 1000
"""Steps after which something must be wrong."""


class Killer:
    """Counts steps once armed, and ends the process at the chosen one."""

    def __init__(self, step: int) -> None:
        self._left = step
        self._armed = False

    def arm(self, database: Database) -> None:
        database._connection.set_trace_callback(self._hear_sql)
        self._armed = True

    def listen(self) -> None:
        """Hear of every step from now on."""
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Audit events; of openings those that may change something."""
        if event in _CHANGES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            self._step()

    def _hear_sql(self, statement: str) -> None:
        if not statement.startswith(("SELECT", "PRAGMA")):
            self._step()

    def _step(self) -> None:
        if self._armed:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


async def write(root: Path, killer: Killer) -> None:
    """A turn that writes two pages, one of them twice, and its commit."""
    world = WikiWorld(root)
    await world.store.recover()
    cause = world.message("记住", turn="turn_1")
    killer.arm(world.database)
    await world.add_line(PAGE, LINE, turn="turn_1", cause=cause)
    await world.write(OTHER, NEW, turn="turn_1", cause=cause)
    await world.add_line(PAGE, LATER, turn="turn_1", cause=cause)
    await world.store.commit_turn("turn_1")


async def recover(root: Path, killer: Killer) -> None:
    """The start after a crash."""
    world = WikiWorld(root)
    killer.arm(world.database)
    await world.store.recover()


async def pull(root: Path, killer: Killer) -> None:
    """A pull of what another instance wrote."""
    from tests.memory.syncing_world import Instance

    instance = await Instance.at(root / "one", root / "remote.git")
    killer.arm(instance.wiki.database)
    await instance.pull()


async def deploy(root: Path, killer: Killer) -> None:
    """Another version of a capability, all three files of which change."""
    from tests.fakes.capability_world import OWNER, CapabilityWorld, second

    world = CapabilityWorld(root)
    await world.registry.start()
    killer.arm(world.database)
    await world.registry.deploy(second(), OWNER)


async def delete(root: Path, killer: Killer) -> None:
    """The end of a capability."""
    from tests.fakes.capability_world import OWNER, CapabilityWorld

    world = CapabilityWorld(root)
    await world.registry.start()
    killer.arm(world.database)
    await world.registry.delete("adder", OWNER)


ACTS: dict[str, Callable[[Path, Killer], Awaitable[None]]] = {
    "write": write,
    "recover": recover,
    "pull": pull,
    "deploy": deploy,
    "delete": delete,
}


def _child(act: str, root: Path, step: int) -> None:
    killer = Killer(step)
    killer.listen()

    async def run() -> None:
        await ACTS[act](root, killer)

    asyncio.run(run())
    os._exit(0)


def main(act: str, template: Path, target: Path, stride: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: the orphaned git is waited for, too
    for step in range(1, _MOST, stride):
        root = target / f"{step:04}"
        shutil.copytree(template, root, symlinks=True)
        child = os.fork()
        if child == 0:
            _child(act, root, step)
        _, status = os.waitpid(child, 0)
        while True:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                break
        if os.WIFEXITED(status):
            (root / "came-through").touch()
            break


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
