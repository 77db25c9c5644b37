"""The wiki's pages as bytes: writes with their events and commits, and what people change by hand."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

import pytest

from qingtuan.clock import SystemClock
from qingtuan.errors import Bug, LimitReached, NotThere, PageChanged, PageUnreadable, StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.identity.scopes import SHARED, Scope
from qingtuan.memory.wiki.commits import BY_HAND
from qingtuan.memory.wiki.disk import MAX_BYTES, Disk, Snapshot, Stamp, read_in
from qingtuan.memory.wiki.ledger import project
from qingtuan.memory.wiki.listing import Listing
from qingtuan.memory.wiki.store import Change
from qingtuan.messages import Origin
from qingtuan.storage.files import content_hash
from tests.fakes.wiki_world import OTHER, PAGE, TEXT, WikiWorld

OWNER = Scope.of_person("owner")
OURS, HAND = "小青团", BY_HAND.name


class TestWriting:
    async def test_a_turn_is_one_commit_that_says_what_for_whom_and_why(self, world: WikiWorld) -> None:
        cause = world.message("以后优先坐二楼", turn="turn_1")
        first = await world.write(PAGE, TEXT, turn="turn_1", cause=cause)
        second = await world.write(OTHER, "# 预约\n", turn="turn_1", cause=cause)
        assert world.on_disk(PAGE) == TEXT
        assert world.authors() == []
        commit = await world.store.commit_turn("turn_1")
        [entry] = await world.history.of_page(PAGE)
        assert (entry.commit, entry.author, entry.by_hand) == (commit, OURS, False)
        assert (entry.events, entry.people) == ((cause,), ("owner",))
        assert entry.subject == f"记住：{PAGE} (+1)"
        assert "Turn: turn_1" in world.git("log", "-1", "--format=%B")
        [committed] = world.events(Kind.WIKI_COMMITTED)
        assert committed.payload["commit"] == commit
        assert committed.payload["pages"] == [PAGE, OTHER]
        assert [write["event"] for write in committed.payload["writes"]] == [first.event, second.event]
        assert committed.place.turn == "turn_1"
        assert world.is_clean()
        assert world.ledger_matches_replay()
        assert await world.store.commit_turn("turn_1") is None

    async def test_the_intent_stands_before_the_file_with_hashes_and_bytes(self, world: WikiWorld) -> None:
        written = await world.write(PAGE, TEXT, turn="turn_1")
        [intent] = world.events(Kind.PAGE_INTENDED)
        after = content_hash(TEXT.encode())
        assert intent.id == written.event
        assert intent.payload["pages"] == [{"path": PAGE, "before": None, "after": after}]
        assert world.log.part(after) == TEXT.encode()
        await world.write(PAGE, None, turn="turn_1")
        assert world.events(Kind.PAGE_INTENDED)[1].payload["pages"] == [{"path": PAGE, "before": after, "after": None}]

    async def test_outside_a_turn_the_commit_is_made_at_once(self, world: WikiWorld) -> None:
        await world.write(PAGE, TEXT)
        assert world.authors() == [OURS]
        assert world.store.ledger.open() == []

    async def test_the_same_bytes_are_no_write(self, world: WikiWorld) -> None:
        await world.write(PAGE, TEXT)
        change = Change(PAGE, content_hash(TEXT.encode()), TEXT.encode())
        assert await world.store.write([change], Place(), cause=None, message="again") is None
        assert len(world.events(Kind.PAGE_INTENDED)) == 1
        assert world.authors() == [OURS]

    async def test_a_page_that_changed_since_it_was_read_is_not_written(self, world: WikiWorld) -> None:
        await world.write(PAGE, TEXT)
        world.edit(PAGE, "mine\n")
        for expected in (content_hash(TEXT.encode()), None, "0" * 64):
            with pytest.raises(PageChanged):
                await world.store.write([Change(PAGE, expected, b"ours")], Place(), cause=None, message="")
        with pytest.raises(PageChanged):
            await world.store.write([Change(OTHER, "0" * 64, b"ours")], Place(), cause=None, message="")
        assert world.on_disk(PAGE) == "mine\n"
        assert len(world.events(Kind.PAGE_INTENDED)) == 1

    async def test_several_pages_change_together_or_not_at_all(self, world: WikiWorld) -> None:
        await world.write(PAGE, TEXT)
        here = content_hash(TEXT.encode())
        moved = [Change(OTHER, None, TEXT.encode()), Change(PAGE, here, None)]
        written = await world.store.write(moved, Place(), cause=None, message="搬家")
        assert written is not None
        assert (world.on_disk(PAGE), world.on_disk(OTHER)) == (None, TEXT)
        again = [Change(PAGE, None, b"new"), Change(OTHER, "0" * 64, b"stale")]
        with pytest.raises(PageChanged):
            await world.store.write(again, Place(), cause=None, message="")
        assert (world.on_disk(PAGE), world.on_disk(OTHER)) == (None, TEXT)
        assert world.is_clean()

    async def test_one_page_that_cannot_be_placed_takes_the_others_back(
        self, world: WikiWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await world.write(OTHER, "old\n")
        real = world.store._disk.place

        def place(path: str, data: bytes | None, expected: str | None) -> None:
            if path == OTHER:
                world.edit(OTHER, "mine\n")  # a person saves while the first page is being placed
            real(path, data, expected)

        monkeypatch.setattr(world.store._disk, "place", place)
        changes = [Change(PAGE, None, b"new"), Change(OTHER, content_hash(b"old\n"), b"ours\n")]
        with pytest.raises(PageChanged):
            await world.store.write(changes, Place(turn="turn_1"), cause=None, message="")
        monkeypatch.undo()
        assert (world.on_disk(PAGE), world.on_disk(OTHER)) == (None, "mine\n")
        assert await world.store.commit_turn("turn_1") is None
        assert [edit.path for edit in await world.store.notice()] == [OTHER]
        assert world.authors() == [OURS, HAND]
        assert world.ledger_matches_replay()
        assert world.is_clean()

    async def test_a_disk_that_refuses_leaves_everything_as_it_was(
        self, world: WikiWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await world.write(PAGE, TEXT)
        monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(StorageFailed):
            await world.write(PAGE, "new\n")
        monkeypatch.undo()
        assert world.on_disk(PAGE) == TEXT
        assert await world.store.notice([PAGE]) == []
        assert world.store.ledger.open() == []

    async def test_walls_and_limits(self, world: WikiWorld) -> None:
        for path in ("../outside.md", "users/owner/secrets/a.md", "README.md", "users/owner/notes/a.txt"):
            with pytest.raises(NotThere):
                world.store.read(path)
            with pytest.raises(NotThere):
                await world.store.write([Change(path, None, b"x")], Place(), cause=None, message="")
        with pytest.raises(LimitReached):
            await world.store.write([Change(PAGE, None, b"x" * (MAX_BYTES + 1))], Place(), cause=None, message="")
        assert world.events(Kind.PAGE_INTENDED) == []

    async def test_a_page_named_twice_is_our_mistake(self, world: WikiWorld) -> None:
        changes = [Change(PAGE, None, b"one"), Change(PAGE, None, b"two")]
        with pytest.raises(Bug):
            await world.store.write(changes, Place(), cause=None, message="")

    async def test_a_process_that_only_reads_notices_nothing(self, tmp_path: Path) -> None:
        first = WikiWorld(tmp_path)
        await first.store.recover()
        await first.write(PAGE, TEXT)
        first.edit(OTHER, "mine\n")
        reader = Listing(Disk(first.folder), SystemClock(), None)
        reader.scan()
        assert reader.paths(OWNER) == [PAGE, OTHER]
        assert first.events(Kind.PAGE_EDITED) == []
        first.close()

    async def test_nothing_is_written_or_noticed_before_the_recovery(self, tmp_path: Path) -> None:
        world = WikiWorld(tmp_path)
        with pytest.raises(Bug):
            await world.store.write([Change(PAGE, None, b"x")], Place(), cause=None, message="")
        with pytest.raises(Bug):
            await world.store.notice([PAGE])
        world.close()

    async def test_writers_at_once_read_again_and_lose_nothing(self, world: WikiWorld) -> None:
        async def add(number: int) -> None:
            while True:
                try:
                    await world.add_line(PAGE, f"- {number}", turn=f"turn_{number % 4}")
                    return
                except PageChanged:
                    await asyncio.sleep(0)

        await asyncio.gather(*(add(number) for number in range(16)))
        await asyncio.gather(*(world.store.commit_turn(f"turn_{number}") for number in range(4)))
        page = world.on_disk(PAGE)
        assert page is not None
        assert sorted(page.splitlines()) == sorted(f"- {number}" for number in range(16))
        assert world.git("show", f"HEAD:{PAGE}") == page
        assert world.is_clean()
        assert world.ledger_matches_replay()


class TestTurns:
    async def test_each_commit_holds_the_work_of_one_turn(self, world: WikiWorld) -> None:
        await world.write(PAGE, "a\n", turn="turn_1")
        await world.write(OTHER, "b\n", turn="turn_2")
        await world.add_line(PAGE, "c", turn="turn_2")
        assert world.authors() == [OURS]  # the other turn's page had to be in history first
        await world.add_line(OTHER, "d", turn="turn_2")
        await world.store.commit_turn("turn_2")
        await world.store.commit_turn("turn_1")
        logs = world.git("log", "--reverse", "--format=%(trailers:key=Turn,valueonly)", "--name-only").split()
        assert logs == ["turn_1", PAGE, "turn_2", PAGE, OTHER]
        assert world.git("show", f"HEAD:{PAGE}") == "a\nc\n"
        assert world.is_clean()

    async def test_a_lock_that_stays_delays_commits_and_loses_nothing(self, world: WikiWorld) -> None:
        world.store.repository._command._clock = _Hurried()
        lock = world.folder / ".git" / "index.lock"
        await world.write(PAGE, "a\n", turn="turn_0")
        await world.store.commit_turn("turn_0")
        lock.touch()
        for number, text in ((1, "b"), (2, "c"), (1, "d")):
            await world.add_line(PAGE, text, turn=f"turn_{number}")
        with pytest.raises(StorageFailed):
            await world.store.commit_turn("turn_1")
        await world.write(OTHER, "outside a turn\n")
        assert len(world.store.ledger.open()) == 4
        lock.unlink()
        await world.store.commit_turn("turn_2")
        assert world.store.ledger.open() == []
        contents = [
            world.git("show", f"{commit}:{PAGE}") for commit in world.git("rev-list", "--reverse", "HEAD").split()
        ]
        assert contents[-1] == "a\nb\nc\nd\n"
        assert contents == sorted(contents, key=len)
        assert world.is_clean()
        assert world.ledger_matches_replay()

    async def test_a_commit_that_was_cancelled_is_not_made_twice(self, world: WikiWorld) -> None:
        await world.write(PAGE, TEXT, turn="turn_1")
        task = asyncio.create_task(world.store.commit_turn("turn_1"))
        await asyncio.sleep(0.004)
        task.cancel()
        with suppress(asyncio.CancelledError):  # unless it was done by then
            await task
        await world.store.commit_turn("turn_2")
        assert world.store.ledger.open() == []
        assert world.authors() == [OURS]
        assert world.is_clean()


class _Hurried(SystemClock):
    """A clock on which waiting for a lock is over soon."""

    def monotonic(self) -> float:
        return super().monotonic() * 60


class TestHandEdits:
    async def test_a_changed_page_becomes_the_owners_commit_and_an_event(self, world: WikiWorld) -> None:
        await world.write(PAGE, TEXT)
        world.edit(PAGE, TEXT + "- 手写一条\n")
        [edit] = await world.store.notice([PAGE])
        assert (edit.path, edit.before) == (PAGE, content_hash(TEXT.encode()))
        [event] = world.events(Kind.PAGE_EDITED)
        assert event.origin == Origin.OWNER
        assert event.payload["pages"] == [{"path": PAGE, "before": edit.before, "after": edit.after}]
        assert event.payload["commit"] == world.git("rev-parse", "HEAD").strip()
        assert world.authors() == [OURS, HAND]
        assert await world.store.notice([PAGE]) == []
        assert world.is_clean()
        assert world.ledger_matches_replay()

    async def test_new_deleted_and_moved_pages_are_noticed(self, world: WikiWorld) -> None:
        await world.write(PAGE, TEXT)
        await world.write(OTHER, "other\n")
        target = world.folder / "users/owner/notes/搬.md"
        target.parent.mkdir()
        (world.folder / PAGE).rename(target)
        (world.folder / OTHER).unlink()
        world.edit("shared/new.md", "new\n")
        edits = {edit.path: (edit.before is None, edit.data is None) for edit in await world.store.scan()}
        moved = "users/owner/notes/搬.md"
        assert edits == {
            PAGE: (False, True),
            OTHER: (False, True),
            "shared/new.md": (True, False),
            moved: (True, False),
        }
        [event] = world.events(Kind.PAGE_EDITED)
        assert event.payload["renamed"] == [{"from": PAGE, "to": moved}]
        assert world.store.paths(OWNER) == [moved]
        assert world.store.paths(SHARED) == ["shared/new.md"]
        assert len(await world.history.of_page(moved)) == 2
        assert world.is_clean()

    async def test_a_folder_that_came_or_went_stands_for_its_pages(self, world: WikiWorld) -> None:
        await world.write(PAGE, TEXT)
        (world.folder / "users/owner").rename(world.folder / "users/qq-1")
        edits = await world.store.notice(["users/owner", "users/qq-1", "users/nobody", "users/qq-1/image.png", ".git"])
        assert {edit.path for edit in edits} == {PAGE, "users/qq-1/preferences/library.md"}
        assert world.store.problems() == []

    async def test_reading_is_enough_to_notice(self, world: WikiWorld) -> None:
        await world.write(PAGE, TEXT)
        world.edit(PAGE, "mine\n")
        snapshot = world.store.read(PAGE)
        assert snapshot is not None
        assert snapshot.data == b"mine\n"
        assert [edit.path for edit in await world.store.notice()] == [PAGE]
        assert await world.store.notice() == []

    async def test_a_write_on_top_of_one_leaves_each_in_its_own_commit(self, world: WikiWorld) -> None:
        await world.write(PAGE, "a\n", turn="turn_1")
        world.edit(PAGE, "a\nmine\n")
        await world.add_line(PAGE, "b", turn="turn_1")
        await world.store.commit_turn("turn_1")
        assert world.authors() == [OURS, HAND, OURS]
        blame = [(line.text, line.entry.by_hand) for line in await world.history.blame(PAGE)]
        assert blame == [("a", False), ("mine", True), ("b", False)]
        assert world.is_clean()

    async def test_what_the_owner_committed_alone_needs_no_second_commit(self, world: WikiWorld) -> None:
        await world.write(PAGE, TEXT)
        world.edit(PAGE, "mine\n")
        world.git("commit", "-qam", "mine")
        head = world.git("rev-parse", "HEAD").strip()
        await world.store.scan()
        assert world.git("rev-parse", "HEAD").strip() == head
        assert world.events(Kind.PAGE_EDITED)[0].payload["commit"] == head
        [newest, _] = await world.history.of_page(PAGE)
        assert newest.by_hand

    async def test_files_of_editors_and_tools_are_nobodys_pages(self, world: WikiWorld) -> None:
        for name in (".library.md.swp", "library.md~", "x.tmp", ".#library.md", "#library.md#", "picture.png"):
            world.edit(f"users/owner/preferences/{name}", "x")
        for name in (
            ".obsidian/app.md",
            ".trash/a.md",
            "users/owner/.obsidian/a.md",
            "users/.git/notes/a.md",
            "README.md",
        ):
            world.edit(name, "x")
        assert await world.store.scan() == []
        assert world.store.problems() == []
        # Written beside and moved into place, as editors save.
        (world.folder / "users/owner/preferences/x.tmp").rename(world.folder / PAGE)
        assert [edit.path for edit in await world.store.scan()] == [PAGE]

    async def test_while_git_is_locked_they_wait_and_writes_do_not_bury_them(self, world: WikiWorld) -> None:
        world.store.repository._command._clock = _Hurried()
        await world.write(PAGE, "a\n")
        lock = world.folder / ".git" / "index.lock"
        lock.touch()
        world.edit(PAGE, "mine\n")
        with pytest.raises(StorageFailed):
            await world.store.notice([PAGE])
        with pytest.raises(StorageFailed):
            await world.add_line(PAGE, "b")
        assert world.on_disk(PAGE) == "mine\n"
        lock.unlink()
        assert [edit.path for edit in await world.store.notice()] == [PAGE]
        await world.add_line(PAGE, "b")
        assert world.authors() == [OURS, HAND, OURS]


class TestProblems:
    @pytest.fixture
    async def odd(self, world: WikiWorld) -> WikiWorld:
        await world.write(PAGE, TEXT)
        await world.write(OTHER, "fine\n")
        return world

    async def test_they_are_named_left_alone_and_take_nothing_else_down(self, odd: WikiWorld, tmp_path: Path) -> None:
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "a.md").write_text("secret")
        odd.edit(PAGE, b"binary \0\n")
        odd.edit("users/owner/notes/latin.md", "é".encode("latin-1"))
        odd.edit("users/owner/notes/fine.md", "fine\n")
        odd.edit("users/owner/diary/a.md", "unknown folder\n")
        (odd.folder / "users/owner/notes/link.md").symlink_to(tmp_path / "outside" / "a.md")
        (odd.folder / "users/owner/records").symlink_to(tmp_path / "outside", target_is_directory=True)
        with (odd.folder / "users/owner/notes/long.md").open("wb") as file:
            file.truncate(MAX_BYTES + 1)
        assert [edit.path for edit in await odd.store.scan()] == ["users/owner/notes/fine.md"]
        problems = {problem.path: problem.words for problem in odd.store.problems()}
        assert set(problems) == {
            PAGE,
            "users/owner/diary/a.md",
            "users/owner/notes/latin.md",
            "users/owner/notes/link.md",
            "users/owner/notes/long.md",
            "users/owner/records",
        }
        assert "10 MB" in problems["users/owner/notes/long.md"].zh
        assert odd.store.paths(OWNER) == ["users/owner/notes/fine.md", OTHER]
        for path in (PAGE, "users/owner/notes/link.md", "users/owner/records/a.md"):
            with pytest.raises(PageUnreadable):
                odd.store.read(path)
            with pytest.raises(PageUnreadable):
                await odd.store.write([Change(path, None, b"x")], Place(), cause=None, message="")
        assert (odd.folder / PAGE).read_bytes() == b"binary \0\n"
        assert (tmp_path / "outside" / "a.md").read_text() == "secret"

    async def test_a_page_that_can_be_read_again_is_a_hand_edit(self, odd: WikiWorld) -> None:
        odd.edit(PAGE, b"\0")
        assert await odd.store.scan() == []
        odd.edit(PAGE, "mended\n")
        assert [edit.path for edit in await odd.store.notice([PAGE])] == [PAGE]
        assert odd.store.problems() == []

    async def test_a_wiki_whose_folder_is_gone_is_not_taken_for_empty(self, odd: WikiWorld) -> None:
        odd.folder.rename(odd.root / "elsewhere")
        with pytest.raises(StorageFailed):
            await odd.store.scan()
        (odd.root / "elsewhere").rename(odd.folder)
        assert await odd.store.scan() == []


class TestListing:
    async def test_a_second_start_reads_only_what_changed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = WikiWorld(tmp_path)
        await first.store.recover()
        old = time.time() - 3600
        for number in range(30):
            path = f"users/owner/notes/{number}.md"
            first.edit(path, f"{number}\n")
            os.utime(first.folder / path, (old, old))
        await first.store.scan()
        first.close()
        # Change times cannot be set; what stands in the cache is what a later look would have found.
        _pretend_looked_later(tmp_path / "wiki.json", first.folder)

        read: list[str] = []

        def spying(folder: int, name: str, path: str) -> tuple[Snapshot, Stamp] | None:
            read.append(path)
            return read_in(folder, name, path)

        monkeypatch.setattr("qingtuan.memory.wiki.listing.read_in", spying)
        second = WikiWorld(tmp_path)
        second.edit("users/owner/notes/7.md", "seven\n")
        await second.store.recover()
        assert set(read) == {"users/owner/notes/7.md"}
        assert len(second.store.paths(OWNER)) == 30
        assert [event.payload["pages"][0]["path"] for event in second.events(Kind.PAGE_EDITED)][1:] == [
            "users/owner/notes/7.md"
        ]
        second.close()

    @pytest.mark.parametrize(
        "damage", [b"", b"{", b"[]", b'{"version": 1, "pages": {"users/a": [1]}}', b'{"version": 9}']
    )
    async def test_a_damaged_cache_is_no_cache(self, tmp_path: Path, damage: bytes) -> None:
        first = WikiWorld(tmp_path)
        await first.store.recover()
        await first.write(PAGE, TEXT)
        first.close()
        (tmp_path / "wiki.json").write_bytes(damage)
        second = WikiWorld(tmp_path)
        await second.store.recover()
        assert second.store.paths(OWNER) == [PAGE]
        assert second.events(Kind.PAGE_EDITED) == []
        second.close()

    async def test_pages_are_listed_by_scope(self, world: WikiWorld) -> None:
        group = Scope.of_group("qq:777")
        for path in (PAGE, "shared/aliases.md", f"{group.folder}/rules/a.md", "users/owner2/profile.md"):
            await world.write(path, "x\n")
        assert world.store.paths(OWNER) == [PAGE]
        assert world.store.paths(group) == [f"{group.folder}/rules/a.md"]
        assert world.store.paths(Scope.of_person("owner2")) == ["users/owner2/profile.md"]
        assert world.store.paths(Scope.of_person("nobody")) == []


def _pretend_looked_later(cache: Path, folder: Path) -> None:
    pages = {}
    for path in sorted(folder.rglob("users/**/*.md")):
        status = path.stat()
        times = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
        pages[str(path.relative_to(folder))] = [*times, content_hash(path.read_bytes())]
    cache.write_text(json.dumps({"version": 1, "pages": pages}))


async def test_the_projection_survives_a_forgotten_person(world: WikiWorld) -> None:
    await world.write(PAGE, TEXT)
    world.log.append(Kind.PERSON_FORGOTTEN, Place(person="owner"))
    with world.database.transaction():
        world.database.execute(
            "UPDATE events SET payload = '{\"forgotten\":true}' WHERE person = 'owner' AND kind <> 'person.forgotten'"
        )
    with world.database.transaction():
        world.database.execute("DELETE FROM wiki_writes")
        world.database.execute("DELETE FROM wiki_pages")
    for event in world.log.replay():
        project(world.database, event)
    assert world.store.ledger.all_known() == {}
    with pytest.raises(sqlite3.IntegrityError):
        world.database.execute("DELETE FROM events")
