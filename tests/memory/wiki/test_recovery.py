"""A crash at any step is never taken for a hand edit, and loses neither what was intended nor what a person did."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.memory.wiki.commits import BY_HAND
from qingtuan.memory.wiki.store import Change
from qingtuan.storage.files import content_hash
from tests.fakes.wiki_crash import LATER, LINE, NEW
from tests.fakes.wiki_world import OTHER, PAGE, TEXT, WikiWorld

REPOSITORY = Path(__file__).parents[3]
OURS, HAND = "小青团", BY_HAND.name
MINE = "- 手写的一条\n"

_OFFSETS = {"beside": 0, "same place": 1, "rewritten": 2, "deleted": 3}
"""Together the four kinds of edit meet every step."""


def crash_at_steps(act: str, template: Path, target: Path, *, stride: int = 1) -> list[Path]:
    """The wikis left by processes that were killed at their first, second … step."""
    command = [sys.executable, "-m", "tests.fakes.wiki_crash", act, str(template), str(target), str(stride)]
    subprocess.run(command, cwd=REPOSITORY, check=True, timeout=300)
    left = sorted(target.iterdir())
    assert (left[-1] / "came-through").exists()
    return left


@asynccontextmanager
async def next_process(root: Path) -> AsyncIterator[WikiWorld]:
    world = WikiWorld(root)
    try:
        yield world
    finally:
        world.close()


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A wiki with one page, and a turn on it that was killed at each of its steps."""
    folder = tmp_path_factory.mktemp("crashed")

    async def begin() -> None:
        async with next_process(folder / "template") as world:
            await world.store.recover()
            await world.write(PAGE, TEXT)

    (folder / "template").mkdir()
    asyncio.run(begin())
    return crash_at_steps("write", folder / "template", folder / "left")


async def test_it_is_never_taken_for_a_hand_edit_and_what_was_intended_is_done(
    crashed: list[Path], tmp_path: Path
) -> None:
    assert len(crashed) > 30
    results = set()
    for left in crashed:
        root = tmp_path / left.name
        shutil.copytree(left, root)
        async with next_process(root) as world:
            assert await world.store.recover() == [], left.name
            intended = [event.payload["pages"][0] for event in world.events(Kind.PAGE_INTENDED)]
            for page in intended:
                wanted = [later["after"] for later in intended if later["path"] == page["path"]][-1]
                assert content_hash((world.on_disk(page["path"]) or "").encode()) == wanted, left.name
                assert world.store.ledger.known(page["path"]) == wanted
                assert world.git("show", f"HEAD:{page['path']}") == world.on_disk(page["path"])
            assert world.events(Kind.PAGE_EDITED) == [], left.name
            assert set(world.authors()) == {OURS}
            assert world.store.ledger.open() == []
            assert world.git("status", "--porcelain") == ""
            assert world.ledger_matches_replay()
            assert not list(world.folder.rglob("*.tmp"))
            results.add((world.on_disk(PAGE), world.on_disk(OTHER)))
    # Before and after each of the three writes: all four states were met, and no other.
    first = f"{TEXT}{LINE}\n"
    assert results == {(TEXT, None), (first, None), (first, NEW), (f"{first}{LATER}\n", NEW)}


@pytest.mark.parametrize("where", _OFFSETS)
async def test_neither_side_is_lost_when_a_person_edits_before_the_next_start(
    crashed: list[Path], tmp_path: Path, where: str
) -> None:
    for left in crashed[_OFFSETS[where] :: 4]:
        root = tmp_path / left.name
        shutil.copytree(left, root)
        async with next_process(root) as world:
            before = world.on_disk(PAGE) or ""
            saved = {
                "beside": before.replace("## 当前\n", f"## 当前\n{MINE}"),
                "same place": before + MINE,
                "rewritten": MINE,
                "deleted": None,
            }[where]
            if saved is None:
                (world.folder / PAGE).unlink()
            else:
                world.edit(PAGE, saved)
            overtaken = await world.store.recover()
            # What the person saved stands, byte for byte, as the owner's last commit on that page.
            assert world.on_disk(PAGE) == saved, left.name
            edited = [page["path"] for event in world.events(Kind.PAGE_EDITED) for page in event.payload["pages"]]
            assert edited == [PAGE], left.name
            assert world.git("log", "-1", "--format=%an", "--", PAGE).strip() == HAND
            # What was intended stands in the page, or is handed back with its bytes.
            handed_back = {write.event for write in overtaken}
            for intent in world.events(Kind.PAGE_INTENDED)[1:]:
                [page] = intent.payload["pages"]
                line = {0: LINE, 1: LATER}.get([PAGE].count(page["path"]) - 1)
                if page["path"] == OTHER:
                    assert world.on_disk(OTHER) == NEW
                elif intent.id in handed_back:
                    assert line is not None
                    assert world.log.part(page["after"]).startswith(TEXT.encode())
                elif where in ("beside", "same place"):
                    assert LINE in (saved or "")
                if where in ("beside", "same place") and LATER in before:
                    assert not handed_back, left.name
                    assert OURS in world.git("log", "-2", "--format=%an", "--", PAGE)
            assert world.is_clean(), left.name
            assert world.ledger_matches_replay()
            assert await world.store.scan() == []
            # Giving up, or having applied anew, ends it.
            for write in overtaken:
                world.store.give_up(write.event, Place(), reason="applied anew")
            assert world.store.overtaken() == []
            assert world.on_disk(PAGE) == saved


async def test_a_crash_during_the_recovery_is_recovered_from(tmp_path: Path) -> None:
    template = tmp_path / "template"
    template.mkdir()
    async with next_process(template) as world:
        await world.store.recover()
        await world.write(PAGE, TEXT)
        await _crash_before_the_file(world, PAGE, f"{TEXT}{LINE}\n")
        await _crash_before_the_file(world, OTHER, NEW)
        world.edit("shared/mine.md", MINE)
    for left in crash_at_steps("recover", template, tmp_path / "left", stride=4):
        async with next_process(left) as world:
            assert await world.store.recover() == []
            assert (world.on_disk(PAGE), world.on_disk(OTHER)) == (f"{TEXT}{LINE}\n", NEW)
            edited = [page["path"] for event in world.events(Kind.PAGE_EDITED) for page in event.payload["pages"]]
            assert edited == ["shared/mine.md"], left.name
            assert world.is_clean(), left.name
            assert world.ledger_matches_replay()


async def _crash_before_the_file(world: WikiWorld, path: str, text: str) -> None:
    """Intend a write as a process does that dies before it touches the file."""
    before = world.on_disk(path)
    pages = [
        {
            "path": path,
            "before": None if before is None else content_hash(before.encode()),
            "after": content_hash(text.encode()),
        }
    ]
    with world.log.transaction():
        world.log.keep_parts([text.encode()])
        world.log.append(Kind.PAGE_INTENDED, Place(turn="turn_1"), {"pages": pages, "message": "记住"})


class TestOvertaken:
    @pytest.fixture
    async def root(self, tmp_path: Path) -> Path:
        """A write that did not reach its page, which a person has rewritten since."""
        async with next_process(tmp_path) as world:
            await world.store.recover()
            await world.write(PAGE, TEXT)
            await _crash_before_the_file(world, PAGE, f"{TEXT}{LINE}\n")
            world.edit(PAGE, MINE)
        return tmp_path

    async def test_it_is_handed_back_at_every_start_until_it_is_settled(self, root: Path) -> None:
        for _ in range(2):
            async with next_process(root) as world:
                [write] = await world.store.recover()
                assert (write.path, write.turn, write.state) == (PAGE, "turn_1", "overtaken")
                assert write.after is not None
                assert world.log.part(write.after) == f"{TEXT}{LINE}\n".encode()
                assert world.authors() == [OURS, HAND]
        async with next_process(root) as world:
            [write] = await world.store.recover()
            await world.add_line(PAGE, LINE, turn="turn_2")
            world.store.give_up(write.event, Place(), reason="applied anew")
            await world.store.commit_turn("turn_2")
            assert world.on_disk(PAGE) == f"{MINE}{LINE}\n"
            assert world.authors() == [OURS, HAND, OURS]
        async with next_process(root) as world:
            assert await world.store.recover() == []
            assert world.on_disk(PAGE) == f"{MINE}{LINE}\n"
            assert world.ledger_matches_replay()

    async def test_later_turns_do_not_commit_it(self, root: Path) -> None:
        async with next_process(root) as world:
            await world.store.recover()
            await world.add_line(PAGE, "- x", turn="turn_2")
            await world.store.commit_turn("turn_2")
            assert world.git("show", f"HEAD:{PAGE}") == f"{MINE}- x\n"
            assert world.is_clean()


async def test_a_git_that_refuses_at_the_start_only_delays_commits(tmp_path: Path) -> None:
    async with next_process(tmp_path) as world:
        await world.store.recover()
        await world.write(PAGE, TEXT)
        await _crash_before_the_file(world, PAGE, f"{TEXT}{LINE}\n")
        world.edit(OTHER, MINE)
    lock = tmp_path / "wiki" / ".git" / "index.lock"
    lock.touch()
    async with next_process(tmp_path) as world:
        assert await world.store.recover() == []
        assert world.on_disk(PAGE) == f"{TEXT}{LINE}\n"
        assert len(world.store.ledger.open()) == 1
        lock.unlink()
        await world.store.settle()
        assert sorted(world.authors()) == sorted([OURS, OURS, HAND])
        assert world.is_clean()
        assert world.ledger_matches_replay()


async def test_a_page_that_was_made_deleted_or_moved_in_the_crashed_turn(tmp_path: Path) -> None:
    async with next_process(tmp_path) as world:
        await world.store.recover()
        await world.write(PAGE, TEXT)
        snapshot = world.store.read(PAGE)
        assert snapshot is not None
        await world.store.write(
            [Change(PAGE, snapshot.hash, None), Change(OTHER, None, TEXT.encode())],
            Place(turn="turn_1"),
            cause=None,
            message="搬家",
        )
        (world.folder / OTHER).rename(world.folder / PAGE)  # as if neither file had been touched yet
    async with next_process(tmp_path) as world:
        assert await world.store.recover() == []
        assert (world.on_disk(PAGE), world.on_disk(OTHER)) == (None, TEXT)
        assert world.authors() == [OURS, OURS]
        assert world.is_clean()


async def test_bytes_that_were_erased_on_purpose_are_not_waited_for(tmp_path: Path) -> None:
    async with next_process(tmp_path) as world:
        await world.store.recover()
        await _crash_before_the_file(world, PAGE, TEXT)
        with world.database.transaction():
            world.database.execute("DELETE FROM parts")
    async with next_process(tmp_path) as world:
        assert await world.store.recover() == []
        assert world.on_disk(PAGE) is None
        assert world.store.ledger.open() == []
        assert world.events(Kind.PAGE_EDITED) == []
