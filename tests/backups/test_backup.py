"""Taking a backup of a folder that is in use: whole, of one instant, or not at all."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from qingtuan import __version__
from qingtuan.backups.archive import Unpacking, read
from qingtuan.backups.backup import Plan, Taken, take
from qingtuan.backups.checking import check
from qingtuan.backups.manifest import LEFT_OUT, Manifest, Wish
from qingtuan.backups.order import Keeper, Order, order_from_json
from qingtuan.backups.shelf import kept, last_of
from qingtuan.clock import ManualClock
from qingtuan.errors import BackupUnusable, StorageFailed
from qingtuan.home import Home
from qingtuan.storage.copying import COPIED
from qingtuan.storage.git_rewriting import BESIDE, MARK
from tests.backups.conftest import ODD, PAGE, files_of, fill
from tests.fakes.old_data import contents, old_database, version_of


def plan(home: Home, clock: ManualClock, **changes: object) -> Plan:
    return replace(Plan(home, clock, home.backups / "x.tar.gz"), **changes)  # type: ignore[arg-type]


def unpacked(path: Path, target: Path) -> Manifest:
    target.mkdir()
    return read(path, Unpacking(target, lambda _: None))


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip()


def started(*command: str, **environ: str) -> subprocess.Popen[bytes]:
    """A process that goes on, with whatever it starts in a group of its own."""
    return subprocess.Popen(command, env={**os.environ, **environ}, start_new_session=True)


def left_behind(home: Home) -> list[str]:
    return [path.name for path in home.backups.iterdir() if path.name.startswith(".") and path.name != ".last.json"]


class TestWhole:
    async def test_everything_is_in_it_and_nothing_else(self, filled: Home, clock: ManualClock, tmp_path: Path) -> None:
        taken = await take(plan(filled, clock))
        manifest = unpacked(taken.path, tmp_path / "out")
        found, there = files_of(tmp_path / "out"), files_of(filled.path)
        skipped = [path for path in there if path.split("/")[0] in LEFT_OUT or path.endswith((".tmp", ".lock"))]
        assert found.keys() == there.keys() - set(skipped)
        assert {path for path in found if found[path] != there[path]} == {"state.sqlite"}
        assert contents(tmp_path / "out" / "state.sqlite") == contents(filled.database)
        assert found[f"wiki/{PAGE}"].decode() == "# 我\n\n- 手改 ^1\n"
        assert found["of the future.toml"]
        assert (manifest.made, manifest.product, manifest.events) == (clock.now(), __version__, 20)
        with sqlite3.connect(filled.database) as database:
            assert manifest.schema == database.execute("PRAGMA user_version").fetchone()[0]
            assert manifest.origin == database.execute("SELECT id FROM events").fetchone()[0]
        database.close()
        assert manifest.pages == 1 + sum(name.endswith(".md") for name in ODD)
        assert taken.manifest == manifest
        assert taken.path.stat().st_mode & 0o077 == 0
        assert left_behind(filled) == []

    async def test_the_history_is_whole_and_a_hand_edit_waits_in_it(
        self, filled: Home, clock: ManualClock, tmp_path: Path
    ) -> None:
        await take(plan(filled, clock))
        unpacked(filled.backups / "x.tar.gz", tmp_path / "out")
        wiki = tmp_path / "out" / "wiki"
        assert git(wiki, "log", "--format=%s").splitlines() == ["第 2 次", "第 1 次", "第 0 次"]
        assert git(wiki, "fsck", "--strict") == ""
        assert "手改" in git(wiki, "diff")

    async def test_the_copy_of_the_database_says_that_it_is_one(
        self, filled: Home, clock: ManualClock, tmp_path: Path
    ) -> None:
        await take(plan(filled, clock))
        unpacked(filled.backups / "x.tar.gz", tmp_path / "out")
        database = sqlite3.connect(tmp_path / "out" / "state.sqlite")
        assert database.execute("PRAGMA application_id").fetchone()[0] == COPIED
        database.close()

    async def test_what_is_not_wanted_is_left_out(self, filled: Home, clock: ManualClock, tmp_path: Path) -> None:
        (filled.path / "wechat.json").write_text('{"accounts": [{"token": "sk-test"}]}', "utf-8")
        await take(plan(filled, clock, wish=Wish(media=False, secrets=False)))
        manifest = unpacked(filled.backups / "x.tar.gz", tmp_path / "out")
        assert (manifest.with_media, manifest.with_secrets) == (False, False)
        assert b"sk-test" not in b"".join(files_of(tmp_path / "out").values())

    @pytest.mark.parametrize("secrets", [True, False])
    async def test_logins_at_servers_are_secrets(
        self, filled: Home, clock: ManualClock, tmp_path: Path, secrets: bool
    ) -> None:
        held = b"refresh-secret" * 1_000  # more than a page
        with closing(sqlite3.connect(filled.database)) as database, database:
            row = ("cloud", "x", "https://login.example", "{}", held.decode())
            database.execute("INSERT INTO grants (server, address, issuer, client, tokens) VALUES (?, ?, ?, ?, ?)", row)
        await take(plan(filled, clock, wish=Wish(secrets=secrets)))
        unpacked(filled.backups / "x.tar.gz", tmp_path / "out")
        assert (b"refresh-secret" in (tmp_path / "out" / "state.sqlite").read_bytes()) == secrets
        assert len(contents(filled.database)["grants"]) == 1

    async def test_a_folder_in_which_nothing_has_happened(self, home: Home, clock: ManualClock, tmp_path: Path) -> None:
        await take(plan(home, clock))
        manifest = unpacked(home.backups / "x.tar.gz", tmp_path / "out")
        assert (manifest.schema, manifest.events, manifest.origin) == (0, 0, "")
        assert "personas/private" in manifest.folders

    async def test_data_of_an_older_version_is_backed_up_as_it_is(
        self, home: Home, clock: ManualClock, tmp_path: Path
    ) -> None:
        old_database(home.database, 3)
        taken = await take(plan(home, clock))
        assert (taken.manifest.schema, version_of(home.database)) == (3, 3)
        unpacked(taken.path, tmp_path / "out")
        assert version_of(tmp_path / "out" / "state.sqlite") == 3

    async def test_a_backup_of_what_was_unpacked_is_the_same_again(
        self, filled: Home, clock: ManualClock, tmp_path: Path
    ) -> None:
        first = (await take(plan(filled, clock))).manifest
        unpacked(filled.backups / "x.tar.gz", tmp_path / "out")
        again = (await take(plan(Home(tmp_path / "out"), clock))).manifest
        assert {m.path: m.hash for m in again.members if m.path != "state.sqlite"} == {
            m.path: m.hash for m in first.members if m.path != "state.sqlite"
        }
        assert contents(tmp_path / "out" / "state.sqlite") == contents(filled.database)
        assert (again.origin, again.folders) == (first.origin, first.folders)


class TestLinksAndTheLike:
    async def test_no_link_is_followed_and_they_are_named(
        self, filled: Home, clock: ManualClock, tmp_path: Path
    ) -> None:
        secret = tmp_path / "outside"
        secret.mkdir()
        (secret / "secret.md").write_text("not ours", "utf-8")
        (filled.wiki / "link.md").symlink_to(secret / "secret.md")
        (filled.wiki / "shared" / "folder").symlink_to(secret)
        (filled.wiki / "dead").symlink_to("/nowhere")
        os.mkfifo(filled.wiki / "pipe")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(filled.prompts / "sock"))
            taken = await take(plan(filled, clock))
        unpacked(taken.path, tmp_path / "out")
        assert b"not ours" not in b"".join(files_of(tmp_path / "out").values())
        assert sorted(taken.passed_over) == [
            "prompts/sock",
            "wiki/dead",
            "wiki/link.md",
            "wiki/pipe",
            "wiki/shared/folder",
        ]

    async def test_a_folder_that_its_owner_put_elsewhere_is_in_it(
        self, filled: Home, clock: ManualClock, tmp_path: Path
    ) -> None:
        """The wiki may be a link into a vault, and settings one into a repository: that is where we work, too."""
        (tmp_path / "vault").mkdir()
        shutil.move(filled.wiki, tmp_path / "vault" / "wiki")
        filled.wiki.symlink_to(tmp_path / "vault" / "wiki")
        shutil.move(filled.settings_file, tmp_path / "vault")
        filled.settings_file.symlink_to(tmp_path / "vault" / "qingtuan.toml")
        taken = await take(plan(filled, clock))
        unpacked(taken.path, tmp_path / "out")
        assert (tmp_path / "out" / "wiki" / PAGE).exists()
        assert (tmp_path / "out" / "qingtuan.toml").read_text() == filled.settings_file.read_text()
        assert taken.passed_over == ()


class TestInUse:
    async def test_files_stand_still_and_fit_the_events_while_those_go_on(
        self, filled: Home, clock: ManualClock, tmp_path: Path
    ) -> None:
        """A page and its event are always both in it or neither, however often they are written meanwhile."""
        lock, going = asyncio.Lock(), True

        @asynccontextmanager
        async def quiet() -> AsyncIterator[None]:
            async with lock:
                yield

        async def write() -> int:
            number = 0
            while going:
                async with lock:
                    number += 1
                    fill(filled, clock, events=1)
                    (filled.wiki / "shared" / "count.md").write_text(str(number), "utf-8")
                await asyncio.sleep(0.01)
            return number

        writing = asyncio.create_task(write())
        for attempt in range(3):
            taken = await take(plan(filled, clock, target=filled.backups / f"{attempt}.tar.gz", quiet=quiet))
            unpacked(taken.path, tmp_path / str(attempt))
            said = (tmp_path / str(attempt) / "wiki" / "shared" / "count.md").read_text()
            assert taken.manifest.events == 20 + int(said)
        going = False
        assert await writing > 2

    async def test_a_file_that_grows_without_end(self, filled: Home, clock: ManualClock, tmp_path: Path) -> None:
        code = (
            "import sys, time\nwith open(sys.argv[1], 'ab', 0) as f:\n"
            " while True: f.write(b'x' * 1000); time.sleep(0.001)"
        )
        growing = filled.path / "growing.log"
        growing.write_bytes(b"begin")
        process = started(sys.executable, "-c", code, str(growing))
        try:
            taken = await take(plan(filled, clock))
        finally:
            process.kill()
            process.wait()
        unpacked(taken.path, tmp_path / "out")
        assert (tmp_path / "out" / "growing.log").read_bytes().startswith(b"begin")

    async def test_the_owner_packs_the_history_anew_meanwhile(
        self, filled: Home, clock: ManualClock, tmp_path: Path
    ) -> None:
        (filled.wiki / ".git" / "index.lock").unlink()
        stop = "while :; do git gc -q --prune=now; git -c gc.auto=0 commit -q --allow-empty -m x; done"
        environ = {"GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@localhost"}
        environ |= {"GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x@localhost"}
        process = started("sh", "-c", f"cd '{filled.wiki}'; {stop}", **environ)
        try:
            taken = [await take(plan(filled, clock, target=filled.backups / f"{number}.tar.gz")) for number in range(4)]
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for number, one in enumerate(taken):
            manifest = unpacked(one.path, tmp_path / str(number))
            await check(tmp_path / str(number), manifest, clock)


class TestNotWhole:
    @pytest.fixture
    def nobody(self) -> Iterator[Callable[[Path], None]]:
        """Work as a user who may not read everything; root may."""

        def become(folder: Path) -> None:
            if os.getuid() == 0:
                for path in (folder, *folder.rglob("*")):
                    os.chown(path, 65534, 65534)
                os.seteuid(65534)

        yield become
        os.seteuid(os.getuid())

    async def test_a_file_that_cannot_be_read(self, clock: ManualClock, nobody: Callable[[Path], None]) -> None:
        with tempfile.TemporaryDirectory() as name:
            home = Home(Path(name) / "home")
            home.prepare()
            locked = home.personas / "locked.md"
            locked.write_text("x", "utf-8")
            locked.chmod(0)
            nobody(Path(name))
            with pytest.raises(StorageFailed) as caught:
                await take(plan(home, clock))
            assert "personas/locked.md" in caught.value.words.zh
            assert list(home.backups.iterdir()) == []
            os.seteuid(os.getuid())

    async def test_a_damaged_database(self, filled: Home, clock: ManualClock) -> None:
        database = sqlite3.connect(filled.database)
        database.executemany("INSERT INTO parts VALUES (?, zeroblob(3000))", [(str(n),) for n in range(300)])
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        whole = filled.database.read_bytes()
        filled.database.write_bytes(whole[:-300_000] + b"\xff" * 300_000)
        with pytest.raises(StorageFailed):
            await take(plan(filled, clock))
        assert list(filled.backups.iterdir()) == []

    async def test_a_damaged_history(self, filled: Home, clock: ManualClock) -> None:
        for pack in filled.wiki.glob(".git/objects/pack/*.pack"):
            pack.chmod(0o600)
            pack.write_bytes(pack.read_bytes()[:-40] + bytes(40))
        with pytest.raises(StorageFailed) as caught:
            await take(plan(filled, clock))
        assert "wiki" in caught.value.words.zh
        assert list(filled.backups.iterdir()) == []

    async def test_a_file_that_never_comes_to_rest(self, filled: Home, clock: ManualClock) -> None:
        """Media are read where they stand, and twice."""
        restless, seen = filled.media / "restless", []
        restless.write_text("0", "utf-8")

        def tell(stage: str, done: int, total: int) -> None:
            if done < total:
                seen.append(stage)
                restless.write_text(str(len(seen)), "utf-8")

        with pytest.raises(StorageFailed, match="restless"):
            await take(plan(filled, clock, tell=tell))
        assert "checking" not in seen
        assert [path.name for path in filled.backups.iterdir()] == []

    async def test_what_an_erasure_left_half_done(self, filled: Home, clock: ManualClock, tmp_path: Path) -> None:
        """A history made anew and not yet agreed to is nothing; if it was agreed to, the old one must go."""
        shutil.copytree(filled.wiki / ".git", filled.wiki / BESIDE)
        unpacked((await take(plan(filled, clock))).path, tmp_path / "out")
        assert not (tmp_path / "out" / "wiki" / BESIDE).exists()
        (filled.wiki / BESIDE / MARK).write_text("evt_1", "utf-8")
        with pytest.raises(StorageFailed, match="erasure"):
            await take(plan(filled, clock, target=filled.backups / "y.tar.gz"))

    async def test_something_of_that_name_is_there(self, filled: Home, clock: ManualClock) -> None:
        (filled.backups / "x.tar.gz").write_text("mine", "utf-8")
        with pytest.raises(StorageFailed):
            await take(plan(filled, clock))
        assert (filled.backups / "x.tar.gz").read_text() == "mine"
        assert left_behind(filled) == []


def backing_up(home: Home, preparation: str = "") -> subprocess.Popen[str]:
    """A process that takes a backup."""
    code = (
        "import asyncio, os, resource, signal, sys; from pathlib import Path; from qingtuan.home import Home\n"
        "from qingtuan.clock import SystemClock; from qingtuan.errors import QingtuanError\n"
        "from qingtuan.backups import archive, backup, checking, snapshot, working\n"
        f"{preparation}\n"
        "home = Home(Path(sys.argv[1]))\n"
        "try: asyncio.run(backup.take(backup.Plan(home, SystemClock(), home.backups / 'x.tar.gz')))\n"
        "except QingtuanError as error: sys.exit(error.words.en)\n"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", code, home.path], stderr=subprocess.PIPE, text=True, env=environ)


class TestTrouble:
    @pytest.mark.parametrize("room", [1_000, 100_000, 250_000])
    def test_a_disk_that_takes_no_more(self, filled: Home, room: int) -> None:
        process = backing_up(filled, f"resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))")
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 1
        assert said.strip()
        assert "Traceback" not in said
        assert list(filled.backups.iterdir()) == []

    def test_too_little_room_is_seen_before_anything_is_written(self, filled: Home) -> None:
        tight = "import shutil; shutil.disk_usage = lambda path: type('Usage', (), {'free': 10**7})"
        process = backing_up(filled, tight)
        assert "needs" in process.communicate(timeout=60)[1]
        assert list(filled.backups.iterdir()) == []

    @pytest.mark.parametrize(
        "instant",
        [
            "backup.put_aside",
            "backup.add_database",
            "archive.write",
            "backup.check",
            "backup._publish",
            "backup.remember",
        ],
    )
    async def test_killed_at_any_step_the_next_one_cleans_up(
        self, filled: Home, clock: ManualClock, instant: str
    ) -> None:
        process = backing_up(filled, f"{instant} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)")
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        assert (filled.backups / "x.tar.gz").exists() == (instant == "backup.remember")
        await take(plan(filled, clock, target=filled.backups / "y.tar.gz"))
        names = {found.name for found in filled.backups.iterdir()} - {"x.tar.gz"}
        assert names == {"y.tar.gz", ".last.json"}

    @pytest.mark.parametrize("stage", ["packing", "checking"])
    async def test_given_up_nothing_is_left(self, filled: Home, clock: ManualClock, stage: str) -> None:
        begun, loop = asyncio.Event(), asyncio.get_running_loop()

        def tell(now: str, done: int, total: int) -> None:
            if now == stage:
                loop.call_soon_threadsafe(begun.set)

        taking = asyncio.create_task(take(plan(filled, clock, tell=tell)))
        await asyncio.wait_for(begun.wait(), 30)
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        assert list(filled.backups.iterdir()) == []


class TestKeeping:
    async def made(self, keeper: Keeper, clock: ManualClock, **changes: object) -> list[Path]:
        clock.advance(timedelta(days=1))
        order = replace(Order(keeper.home.backups), **changes)  # type: ignore[arg-type]
        return (await keeper.carry_out(order))[1]

    async def test_the_newest_stay_and_only_ours_go(self, filled: Home, clock: ManualClock, tmp_path: Path) -> None:
        keeper, shelf = Keeper(filled, clock), tmp_path / "shelf"
        shelf.mkdir()
        damaged, other = shelf / "qingtuan-20200101T000000Z.tar.gz", shelf / "qingtuan-of-mine.tar.gz"
        for path in (damaged, other):
            path.write_text("x", "utf-8")
        (shelf / "qingtuan-20200102T000000Z.tar.gz").symlink_to(damaged)
        for _ in range(3):
            assert await self.made(keeper, clock, folder=shelf) == []
        gone = await self.made(keeper, clock, folder=shelf, keep=2)
        assert [path.name for path in gone] == ["qingtuan-20261130T020000Z.tar.gz", "qingtuan-20261201T020000Z.tar.gz"]
        assert {path.name for path in shelf.iterdir()} == {
            damaged.name,
            other.name,
            "qingtuan-20200102T000000Z.tar.gz",
            "qingtuan-20261202T020000Z.tar.gz",
            "qingtuan-20261203T020000Z.tar.gz",
        }

    async def test_those_of_another_data_folder_and_kind_stay(
        self, filled: Home, clock: ManualClock, tmp_path: Path
    ) -> None:
        other = Home(tmp_path / "other")
        other.prepare()
        fill(other, clock, events=1)
        shelf = tmp_path / "shelf"
        shelf.mkdir()
        for home in (filled, other, filled):
            await self.made(Keeper(home, clock), clock, folder=shelf)
        await self.made(Keeper(filled, clock), clock, folder=shelf, kind="daily")
        assert len(await self.made(Keeper(filled, clock), clock, folder=shelf, keep=1)) == 2
        assert len(await self.made(Keeper(other, clock), clock, folder=shelf, keep=1)) == 1
        assert len(kept(shelf)) == 3
        assert len(kept(shelf, "daily")) == 1

    async def test_what_failed_deletes_nothing(self, filled: Home, clock: ManualClock) -> None:
        await self.made(Keeper(filled, clock), clock)
        for pack in filled.wiki.glob(".git/objects/pack/*.pack"):
            pack.unlink()
        with pytest.raises(StorageFailed):
            await self.made(Keeper(filled, clock), clock, keep=1)
        assert len(kept(filled.backups)) == 1

    async def test_the_last_one_is_known(self, filled: Home, clock: ManualClock) -> None:
        assert last_of(filled.backups) is None
        await self.made(Keeper(filled, clock), clock)
        last = last_of(filled.backups)
        assert last is not None
        assert (last.path, last.made) == (kept(filled.backups)[0], clock.now())
        assert last.size == last.path.stat().st_size
        for text in ("", "[]", "{}", json.dumps({"path": 1})):
            (filled.backups / ".last.json").write_text(text, "utf-8")
            assert last_of(filled.backups) is None

    async def test_two_at_once_wait_for_each_other(self, filled: Home, clock: ManualClock) -> None:
        keeper = Keeper(filled, clock)
        both = await asyncio.gather(*(keeper.carry_out(Order(filled.backups)) for _ in range(2)))
        assert len({taken.path for taken, _ in both}) == 2

    def test_an_order_goes_to_another_process(self, home: Home) -> None:
        order = Order(home.backups, "a.tar.gz", wish=Wish(media=False), keep=3)
        assert order_from_json(json.loads(json.dumps(order.as_json()))) == order
        assert order_from_json({**order.as_json(), "name": "../../a"}).name == "a"


async def test_what_does_not_fit_its_manifest_is_found_out(filled: Home, clock: ManualClock, tmp_path: Path) -> None:
    taken: Taken = await take(plan(filled, clock))
    manifest = unpacked(taken.path, tmp_path / "out")
    await check(tmp_path / "out", manifest, clock)
    with pytest.raises(BackupUnusable):
        await check(tmp_path / "out", replace(manifest, events=21), clock)
