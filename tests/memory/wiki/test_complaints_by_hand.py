"""Each complaint that people have of other memories in files, as the smallest input that would show it here."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.clock import SystemClock
from qingtuan.errors import RemoteRefused, StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.identity.privacy import sight
from qingtuan.identity.scopes import Scope
from qingtuan.memory.wiki import listing
from qingtuan.memory.wiki.disk import Snapshot, Stamp, read_in
from qingtuan.memory.wiki.watch import Watch
from qingtuan.storage.files import content_hash
from tests.fakes.remote_world import RemoteWorld, run_git
from tests.fakes.wiki_world import PAGE, TEXT, WikiWorld
from tests.memory.syncing_world import Instance
from tests.memory.wiki.test_watch import until
from tests.memory.world import World

OWNER = Scope.of_person("owner")
PROFILE = "users/owner/profile.md"
LIBRARY = "users/owner/preferences/图书馆.md"
REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    await world.start()
    yield world
    world.close()


async def test_a_write_that_was_planned_on_an_older_page_overwrites_nothing(memory: World) -> None:
    """An agent replaced a file of 8,167 bytes, edited meanwhile, by its own 333."""
    await memory.add("住在二楼")
    long = "".join(f"第 {number} 行手写的话，不能丢。\n" for number in range(200))
    memory.wiki.edit(PROFILE, memory.page(PROFILE).replace("# 基本情况\n", f"# 基本情况\n\n{long}"))
    await memory.add("怕吵")  # nobody has noticed the edit
    assert long in memory.page(PROFILE)
    assert set(memory.current()) == {"#1 住在二楼", "#2 怕吵"}
    await memory.memory.edited([PROFILE])
    assert len(memory.wiki.authors()) == 3


async def test_a_remote_with_another_root_is_neither_overwritten_nor_followed(tmp_path: Path) -> None:
    """A synchronisation pushed by force and wiped 79 files."""
    remote = RemoteWorld(tmp_path / "there")
    remote.take()
    theirs = remote.commit({f"users/owner/notes/{number}.md": f"# {number}\n" for number in range(79)})
    (tmp_path / "here").mkdir()
    here = await Instance.at(tmp_path / "here", remote.bare)
    await here.add("住在二楼")
    ours = here.wiki.git("rev-parse", "HEAD")
    here.wiki.edit(PROFILE, here.page(PROFILE) + "\n手写的，还没有入库。\n")
    for work in (here.push, here.pull):
        with pytest.raises(RemoteRefused) as caught:
            await work()
        assert "no common history" in caught.value.words.en
        assert "没有共同的历史" in caught.value.words.zh
    assert remote.head() == theirs
    assert "手写的，还没有入库。" in here.page(PROFILE)
    assert run_git(here.wiki.folder, "merge-base", "--all", "HEAD", ours.strip()).strip() == ours.strip()
    here.close()


async def test_front_matter_that_is_no_yaml_is_left_and_named(memory: World) -> None:
    """A second front matter was put above it, or all of it was lost."""
    text = '---\ndescription: a: "b"c\ntags: [x]\n---\n# 图书馆\n\n## 当前\n- 坐二楼 ^7\n'
    memory.wiki.edit(LIBRARY, text)
    await memory.memory.edited([LIBRARY])
    done = await memory.say("坐三楼", kind="preference", topic="图书馆")
    assert memory.page(LIBRARY) == text
    assert done.outcome == "review"
    assert LIBRARY in memory.library.unreadable(OWNER)
    await memory.add("怕吵")
    assert memory.current() == ["#1 怕吵"]


async def test_names_that_fold_to_one_are_two_pages_and_two_spellings_are_one(memory: World) -> None:
    """`notes.txt` and `notes_txt` overwrote each other; `Site Roadmap` and `site-roadmap` became two."""
    for number, topic in enumerate(("notes.txt", "notes_txt", "Notes.TXT")):
        await memory.say(f"第{number}个偏好", kind="preference", topic=topic)
    for number, topic in enumerate(("Site Roadmap", "site-roadmap", "SITE  ROADMAP")):
        await memory.say(f"第{number}件事", kind="event", topic=topic)
    names = {path.name for path in (memory.wiki.folder / "users/owner/preferences").iterdir()}
    assert len(names) == 2
    assert len({name.casefold() for name in names}) == 2
    assert len(list((memory.wiki.folder / "users/owner/records").iterdir())) == 1
    assert len(memory.current()) == 6


async def test_a_file_written_beside_and_moved_into_place_while_it_is_watched(memory: World) -> None:
    """The watch met the editor's temporary file, and the database broke on the second of the two."""
    watch = Watch(memory.wiki.folder, memory.memory.edited, SystemClock())
    watch.start()
    await asyncio.sleep(0.2)
    folder = memory.wiki.folder / "users/owner/notes"
    folder.mkdir(parents=True)
    for number in range(20):
        for name in (f"x{number}.tmp", f".#x{number}.md", f"x{number}.md~"):
            (folder / name).write_text(f"# 第{number}篇\n")
        (folder / f"x{number}.tmp").rename(folder / f"x{number}.md")
    await until(lambda: len(memory.library.notes(OWNER)) == 20)
    await until(lambda: memory.wiki.git("ls-files").count("\n") == 20)
    await watch.stop()
    assert watch.trouble is None
    assert memory.library.store.problems() == []
    assert memory.index.verify(memory.library.entries()) == []


async def test_a_page_that_was_moved_and_not_changed_is_found_where_it_went(memory: World) -> None:
    """It was gone from the index, since its content was known already."""
    await memory.say("坐二楼安静区", kind="preference", topic="图书馆")
    (memory.wiki.folder / "users/owner/records").mkdir()
    memory.wiki.git("mv", LIBRARY, "users/owner/records/图书馆.md")
    await memory.memory.edited(["users"])
    [found] = await memory.library.search(sight(memory.reader()), "安静区", 5)
    assert found.path == "users/owner/records/图书馆.md"


async def test_two_processes_search_while_one_writes(memory: World) -> None:
    """A lock on the file of the index kept every search out for as long as the watch ran."""
    script = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from qingtuan.clock import SystemClock\n"
        "from qingtuan.indexes.base import Query\n"
        "from qingtuan.indexes.indexes import Indexes\n"
        "index = Indexes(Path(sys.argv[1]), None, SystemClock()).open('beliefs')\n"
        "query = Query('安静区', {'user:owner': frozenset({'private'})}, 5)\n"
        "print('ready', flush=True)\n"
        "print(min(len(index.search(query)) for _ in range(200)), flush=True)\n"
    )
    await memory.say("坐二楼安静区", kind="preference", topic="图书馆")
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", script, str(memory.root / "index"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert (await process.stdout.readline()).strip() == b"ready"
    for number in range(25):
        await memory.say(f"安静区第{number}条", kind="preference", topic="图书馆")
    for process in processes:
        out, error = await process.communicate()
        assert (error, process.returncode) == (b"", 0)
        assert int(out) >= 1


async def test_two_turns_that_end_together_in_a_large_wiki_lose_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each commit hashed the whole wiki, and where two met, one was dropped without a word."""
    world = WikiWorld(tmp_path)
    for number in range(300):
        world.edit(f"users/owner/notes/{number}.md", f"# {number}\n")
    await world.store.recover()
    read: list[str] = []

    def spying(folder: int, name: str, path: str) -> tuple[Snapshot, Stamp] | None:
        read.append(path)
        return read_in(folder, name, path)

    monkeypatch.setattr("qingtuan.memory.wiki.disk.read_in", spying)
    monkeypatch.setattr(listing, "read_in", spying)
    for turn in ("turn_1", "turn_2"):
        await world.write(f"users/owner/notes/{turn}.md", "x\n", turn=turn)
        await world.add_line("users/owner/notes/7.md", turn, turn=turn)
    await asyncio.gather(*(world.store.commit_turn(turn) for turn in ("turn_1", "turn_2")))
    assert set(read) <= {"users/owner/notes/7.md", "users/owner/notes/turn_1.md", "users/owner/notes/turn_2.md"}
    assert world.store.ledger.open() == []
    turns = world.git("log", "--format=%(trailers:key=Turn,valueonly)").split()
    assert turns == ["turn_2", "turn_1"]
    assert world.git("show", "HEAD:users/owner/notes/7.md") == "# 7\nturn_1\nturn_2\n"
    assert world.is_clean()
    world.close()


async def test_a_lock_of_another_git_is_waited_for_and_never_taken_for_no_changes(tmp_path: Path) -> None:
    """`index.lock` was reported as "no changes", or as git's advice to delete it."""
    world = WikiWorld(tmp_path)
    await world.store.recover()
    lock = world.folder / ".git" / "index.lock"
    lock.touch()
    asyncio.get_running_loop().call_later(0.3, lock.unlink)
    written = await world.write(PAGE, TEXT, turn="turn_1")
    assert await world.store.commit_turn("turn_1") is not None
    # One that stays: the event and the page are safe, the owner is told which lock, and the next commit has it all.
    lock.touch()
    world.store.repository._command._clock = _Hurried()
    later = await world.add_line(PAGE, "- 又一条 ^3", turn="turn_2")
    with pytest.raises(StorageFailed, match=r"index\.lock"):
        await world.store.commit_turn("turn_2")
    assert [write.event for write in world.store.ledger.open()] == [later.event]
    assert world.log.get(written.event) is not None
    assert "又一条" in (world.on_disk(PAGE) or "")
    lock.unlink()
    await world.write("shared/notes/x.md", "x\n")
    assert world.store.ledger.open() == []
    assert "又一条" in world.git("show", f"HEAD:{PAGE}")
    world.close()


async def test_a_second_start_reads_no_page_that_has_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every start read and hashed every file, twice."""
    first = await World(tmp_path).start()
    for number in range(50):
        first.wiki.edit(f"users/owner/notes/{number}.md", f"# 第{number}篇\n")
    await first.memory.edited(["users"])
    first.close()
    _age(tmp_path / "wiki.json", first.wiki.folder)
    read: list[str] = []

    def spying(folder: int, name: str, path: str) -> tuple[Snapshot, Stamp] | None:
        read.append(path)
        return read_in(folder, name, path)

    monkeypatch.setattr("qingtuan.memory.wiki.disk.read_in", spying)
    monkeypatch.setattr(listing, "read_in", spying)
    second = await World(tmp_path).start()
    assert read == []
    assert len(second.events(Kind.PAGE_EDITED)) == 1
    assert second.index.verify(second.library.entries()) == []
    second.close()


class _Hurried(SystemClock):
    """A clock on which waiting for a lock is over soon."""

    def monotonic(self) -> float:
        return super().monotonic() * 60


def _age(cache: Path, folder: Path) -> None:
    """Let the list of pages be what a look an hour later would have found."""
    known = json.loads(cache.read_text())
    for page in sorted(folder.rglob("users/**/*.md")):
        hour_ago = time.time() - 3600
        os.utime(page, (hour_ago, hour_ago))
        status = page.stat()
        stamp = [status.st_size, status.st_mtime_ns, status.st_ctime_ns]
        known["pages"][str(page.relative_to(folder))] = [*stamp, content_hash(page.read_bytes())]
    cache.write_text(json.dumps(known))
