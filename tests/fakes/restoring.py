"""Backups of a running conversation, and new ones that begin from them."""

from __future__ import annotations

import shutil
from pathlib import Path

from qingtuan.backups.order import Order
from qingtuan.backups.restoring import staged
from qingtuan.backups.swap import begin
from qingtuan.clock import Clock
from qingtuan.home import Home
from qingtuan.storage.copying import Held
from tests.fakes.conversation import Conversation


async def back_up(chat: Conversation, folder: Path) -> Path:
    """A backup of a conversation that goes on."""
    return (await chat.app.keeper.carry_out(Order(_made(folder))))[0].path


async def restore(archive: Path, folder: Path, clock: Clock) -> None:
    """Let a backup take the place of what is in the data folder of a conversation in `folder`, which does not run."""
    home = Home(folder / "home")
    async with staged(archive, home, clock, lambda done, total: None) as found:
        swap = begin(home, found.folder, made=found.manifest.made, now=clock.now())
        swap.place()
        swap.finish()


def copied(home: Home, target: Path) -> None:
    """The data folder as it is at this instant, as a backup would show it: for instants that no backup can be aimed
    at."""
    shutil.copytree(home.path, target, ignore=shutil.ignore_patterns("state.sqlite*", "run.*", "index", "*.lock"))
    with Held(home.database) as held:
        held.copy_to(target / "state.sqlite")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
