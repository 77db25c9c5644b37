"""What was made here is in a backup of the data folder, whole, and works where that is restored."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.backups.order import Order
from qingtuan.backups.restoring import staged
from qingtuan.capabilities.sandbox.engine import find_program
from qingtuan.capabilities.values import Asking
from qingtuan.home import Home
from tests.fakes.capability_world import OWNER, PROGRAM, READER, adder
from tests.fakes.conversation import Conversation

pytestmark = pytest.mark.skipif(find_program() is None, reason="the engine of the sandbox is not installed")


async def test_versions_and_what_waits_come_back(tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    chat = Conversation(tmp_path / "one", EMBEDDING__MODEL="off")
    async with chat:
        made = chat.app.capabilities
        await made.deploy(adder(), OWNER)
        await made.deploy(adder(description="Waits."), PROGRAM)
        taken, _ = await chat.app.keeper.carry_out(Order(shelf))
    other = Conversation(tmp_path / "other", EMBEDDING__MODEL="off")
    other.home.prepare()
    async with staged(taken.path, other.home, other.clock, lambda *_: None) as ready:
        ready.folder.rename(tmp_path / "restored")
        restored = Conversation(tmp_path / "again", EMBEDDING__MODEL="off")
        restored.home = Home(tmp_path / "restored")
        async with restored:
            made = restored.app.capabilities
            assert (await made.run("adder", {"a": 1, "b": 2}, Asking(READER))).value == 3
            assert [waiting.definition.description for waiting in made.waiting()] == ["Waits."]
            assert made.troubles == {}
        (tmp_path / "restored").rename(ready.folder)
