"""Edits are seen by themselves, once they are whole, and the watch ends without a trace."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Set
from pathlib import Path

import pytest

from qingtuan.clock import SystemClock
from qingtuan.errors import StorageFailed
from qingtuan.language import Words
from qingtuan.memory.wiki.commits import BY_HAND
from qingtuan.memory.wiki.watch import Watch
from tests.fakes.wiki_world import OTHER, PAGE, TEXT, WikiWorld

HAND = BY_HAND.name


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what must come; how long it takes is no matter of these tests."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 (what is waited for is on the disk)
            await asyncio.sleep(0.02)


@pytest.fixture(params=[False, True], ids=["told", "polling"])
def polling(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


async def test_edits_new_folders_moves_and_deletions_become_commits(world: WikiWorld, polling: bool) -> None:
    await world.write(PAGE, TEXT)
    watch = Watch(world.folder, world.store.notice, world.clock, polling=polling)
    watch.start()
    await until(lambda: world.store.ledger.known(PAGE) is not None)
    world.edit(PAGE, "mine\n")
    await until(lambda: world.authors()[1:] == [HAND])
    deep = "users/qq-7/notes/new/deeper.md"
    world.edit(deep, "new folder and page in one go\n")
    await until(lambda: world.store.ledger.known(deep) is not None)
    (world.folder / "users/qq-7").rename(world.folder / "users/qq-8")
    await until(lambda: "users/qq-8/notes/new/deeper.md" in world.store.ledger.all_known())
    await until(lambda: deep not in world.store.ledger.all_known())
    (world.folder / PAGE).unlink()
    await until(lambda: world.store.ledger.known(PAGE) is None)
    await watch.stop()
    assert set(world.authors()[1:]) == {HAND}
    assert world.is_clean()
    world.edit(OTHER, "after the end\n")
    await asyncio.sleep(0.5)
    assert world.store.ledger.known(OTHER) is None


async def test_our_own_writes_and_editors_leftovers_are_no_edits(world: WikiWorld) -> None:
    watch = Watch(world.folder, world.store.notice, world.clock)
    watch.start()
    await asyncio.sleep(0.2)
    for number in range(5):
        await world.add_line(PAGE, f"- {number}", turn="turn_1")
        world.edit("users/owner/preferences/.library.md.swp", str(number))
        await asyncio.sleep(0.1)
    await world.store.commit_turn("turn_1")
    world.edit("shared/last.md", "x\n")
    await until(lambda: world.store.ledger.known("shared/last.md") is not None)
    await watch.stop()
    assert world.authors() == ["小青团", HAND]


async def test_a_file_that_is_still_being_written_is_waited_for(tmp_path: Path) -> None:
    seen: list[tuple[frozenset[str], int]] = []
    target = tmp_path / PAGE

    async def changed(paths: Set[str]) -> None:
        seen.append((frozenset(paths), target.stat().st_size if target.exists() else 0))

    watch = Watch(tmp_path, changed, SystemClock())
    watch.start()
    await until(lambda: bool(seen))
    await asyncio.sleep(0.2)
    target.parent.mkdir(parents=True)
    with target.open("wb", buffering=0) as file:
        for _ in range(6):
            file.write(b"line\n")
            await asyncio.sleep(0.15)
    await until(lambda: any(PAGE in paths for paths, _ in seen))
    await watch.stop()
    assert [size for paths, size in seen if PAGE in paths][-1] == 30


async def test_one_of_the_folders_is_replaced_and_the_watch_goes_on(world: WikiWorld) -> None:
    await world.write(PAGE, TEXT)
    watch = Watch(world.folder, world.store.notice, world.clock)
    watch.start()
    await asyncio.sleep(0.2)
    (world.folder / "users").rename(world.folder / "away")
    await until(lambda: world.store.ledger.known(PAGE) is None)
    (world.folder / "users").rmdir()
    (world.folder / "away").rename(world.folder / "users")
    await until(lambda: world.store.ledger.known(PAGE) is not None)
    world.edit(PAGE, "mine\n")
    await until(lambda: world.git("show", f"HEAD:{PAGE}") == "mine\n")
    await watch.stop()


async def test_what_cannot_be_passed_on_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qingtuan.memory.wiki.watch._AGAIN", 100)
    calls: list[frozenset[str]] = []

    async def changed(paths: Set[str]) -> None:
        calls.append(frozenset(paths))
        if len(calls) < 3:
            raise StorageFailed(Words("锁着", "locked"))

    watch = Watch(tmp_path, changed, SystemClock())
    watch.start()
    await until(lambda: watch.trouble is not None)
    await until(lambda: len(calls) == 3)
    await until(lambda: watch.trouble is None)
    await watch.stop()
    assert calls[0] <= calls[1] <= calls[2]


async def test_where_the_system_cannot_tell_it_looks_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import watchfiles

    real = watchfiles.awatch
    tried: list[bool] = []

    def refusing(*paths: Path, force_polling: bool, **rest: object) -> object:
        tried.append(force_polling)
        if not force_polling:
            raise OSError(28, "inotify watch limit reached")
        return real(*paths, force_polling=True, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(watchfiles, "awatch", refusing)
    seen: set[str] = set()

    async def changed(paths: Set[str]) -> None:
        seen.update(paths)

    watch = Watch(tmp_path, changed, SystemClock())
    watch.start()
    await until(lambda: tried == [False, True])
    await asyncio.sleep(0.2)
    (tmp_path / "shared" / "a.md").write_text("x")
    await until(lambda: "shared/a.md" in seen)
    await watch.stop()


async def test_stopping_leaves_no_thread_and_may_be_done_twice(tmp_path: Path) -> None:
    async def changed(_: Set[str]) -> None:
        return None

    for _ in range(2):
        watch = Watch(tmp_path, changed, SystemClock())
        watch.start()
        await asyncio.sleep(0.1)
        await watch.stop()
        await watch.stop()
    assert not [thread for thread in threading.enumerate() if "watch" in thread.name.lower()]


def test_an_interpreter_that_ends_meanwhile_says_nothing(tmp_path: Path) -> None:
    script = (
        "import asyncio, pathlib, sys\n"
        "from qingtuan.clock import SystemClock\n"
        "from qingtuan.memory.wiki.watch import Watch\n"
        "async def main():\n"
        "    async def changed(paths): pass\n"
        "    Watch(pathlib.Path(sys.argv[1]), changed, SystemClock()).start()\n"
        "    await asyncio.sleep(0.3)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
