"""For whoever copies the folder: nothing half done in it, and nothing written meanwhile."""

from __future__ import annotations

import asyncio

from qingtuan.memory.wiki.commits import ASSISTANT, BY_HAND
from tests.fakes.wiki_world import OTHER, PAGE, TEXT, WikiWorld


async def test_what_was_written_is_committed_and_what_comes_waits(world: WikiWorld) -> None:
    await world.write(PAGE, TEXT, turn="turn_1")
    world.edit("shared/hand.md", "# 手改\n")
    async with world.store.quiet():
        assert sorted(set(world.authors())) == sorted([ASSISTANT.name, BY_HAND.name])
        assert world.is_clean()
        writing = asyncio.create_task(world.write(OTHER, "# 预约\n", turn="turn_1"))
        packing = asyncio.create_task(world.repository.gc())
        await asyncio.sleep(0.05)
        assert world.on_disk(OTHER) is None
        assert not packing.done()
    await writing
    await packing
    assert world.on_disk(OTHER) == "# 预约\n"
    assert await world.store.commit_turn("turn_1") is not None


async def test_a_git_that_refuses_is_no_obstacle(world: WikiWorld) -> None:
    await world.write(PAGE, TEXT, turn="turn_1")
    (world.folder / ".git" / "index.lock").touch()
    async with world.store.quiet():
        assert [write.path for write in world.store.ledger.open()] == [PAGE]
    (world.folder / ".git" / "index.lock").unlink()
    assert await world.store.commit_turn("turn_1") is not None
