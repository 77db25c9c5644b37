"""Looking at many pages at once: only what has changed is read, and nothing that has changed is missed."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from qingtuan.clock import ManualClock
from qingtuan.identity.scopes import Scope
from qingtuan.memory.wiki import disk
from qingtuan.memory.wiki.disk import Snapshot, Stamp
from qingtuan.storage.files import content_hash
from tests.fakes.wiki_world import OTHER, PAGE, TEXT, WikiWorld

MINE = Scope.of_person("owner")
CHANGED = TEXT.replace("二楼", "三楼")


@pytest.fixture
async def old(tmp_path: Path) -> AsyncIterator[WikiWorld]:
    """A wiki in whose eyes every file is so old that a change to it leaves other times."""
    world = WikiWorld(tmp_path, ManualClock(datetime(2100, 1, 1, tzinfo=UTC)))
    await world.store.recover()
    for path in (PAGE, OTHER):
        await world.write(path, TEXT)
    yield world
    world.close()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pages that are read, one after the other."""
    found: list[str] = []
    real = disk.read_in

    def read_in(folder: int, name: str, path: str) -> tuple[Snapshot, Stamp] | None:
        found.append(path)
        return real(folder, name, path)

    monkeypatch.setattr(disk, "read_in", read_in)
    return found


def hashes(world: WikiWorld) -> dict[str, str]:
    return world.store.hashes_of(MINE)


async def test_what_has_not_changed_is_not_read(old: WikiWorld, reads: list[str]) -> None:
    reads.clear()
    old.store.glance([PAGE, OTHER])
    assert reads == []
    assert hashes(old) == dict.fromkeys((PAGE, OTHER), content_hash(TEXT.encode()))
    assert await old.store.notice() == []


async def test_a_change_that_keeps_size_and_time_is_seen(old: WikiWorld, reads: list[str]) -> None:
    before = (old.folder / PAGE).stat()
    old.edit(PAGE, CHANGED)
    os.utime(old.folder / PAGE, ns=(before.st_atime_ns, before.st_mtime_ns))
    reads.clear()
    old.store.glance([PAGE, OTHER])
    assert reads == [PAGE]
    assert hashes(old)[PAGE] == content_hash(CHANGED.encode())
    assert [edit.path for edit in await old.store.notice()] == [PAGE]


async def test_pages_that_come_and_go_are_seen(old: WikiWorld) -> None:
    new = "users/owner/rules/new.md"
    (old.folder / OTHER).unlink()
    old.edit(new, TEXT)
    old.store.glance([PAGE, OTHER, new, "users/owner/nowhere/else.md", "users/nobody/profile.md"])
    assert set(hashes(old)) == {PAGE, new}
    assert {edit.path for edit in await old.store.notice()} == {OTHER, new}


async def test_a_page_that_became_a_link_is_left_alone_and_not_taken_for_deleted(old: WikiWorld) -> None:
    (old.folder / PAGE).unlink()
    (old.folder / PAGE).symlink_to(old.folder / OTHER)
    old.store.glance([PAGE, OTHER])
    assert set(hashes(old)) == {OTHER}
    assert [problem.path for problem in old.store.problems()] == [PAGE]
    assert await old.store.notice() == []


async def test_a_page_that_was_written_a_moment_ago_is_read_again(world: WikiWorld, reads: list[str]) -> None:
    await world.write(PAGE, TEXT)
    reads.clear()
    world.store.glance([PAGE])
    assert reads == [PAGE]


async def test_what_nobody_knows_of_is_noticed_though_it_did_not_change(old: WikiWorld) -> None:
    new = "users/owner/rules/new.md"
    old.edit(new, TEXT)
    old.store._listing.scan()
    old.store.glance([new])
    assert [edit.path for edit in await old.store.notice()] == [new]


async def test_whoever_keeps_what_pages_say_can_tell_that_one_has_changed(old: WikiWorld) -> None:
    before = old.store.revision
    old.store.glance([PAGE, OTHER])
    old.store.read(PAGE)
    assert old.store.revision == before
    old.edit(PAGE, CHANGED)
    old.store.glance([PAGE])
    assert (changed := old.store.revision) != before
    (old.folder / OTHER).unlink()
    old.store.read(OTHER)
    assert (gone := old.store.revision) != changed
    old.edit("users/owner/rules/new.md", TEXT)
    old.store._listing.scan()
    assert old.store.revision != gone
