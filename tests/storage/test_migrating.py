"""Older data: a copy before anything changes, forward by real scripts, and back when one fails."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from qingtuan.clock import ManualClock
from qingtuan.errors import StorageFailed
from qingtuan.storage.copying import COPIED, Held, look_over, put_back
from qingtuan.storage.migrating import KEPT, PACKAGE, Copies, newest, scripts_of
from qingtuan.storage.sqlite import Database
from tests.fakes.old_data import EVENTS, contents, old_database, version_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.sqlite"


@pytest.fixture
def copies(tmp_path: Path, clock: ManualClock) -> Copies:
    return Copies(tmp_path / "backups", clock)


def made(copies: Copies) -> list[str]:
    return sorted(entry.name for entry in copies.folder.iterdir()) if copies.folder.exists() else []


class TestRealVersions:
    @pytest.mark.parametrize("version", range(1, newest()))
    def test_each_older_one_is_copied_and_brought_up_to_date(self, path: Path, copies: Copies, version: int) -> None:
        old_database(path, version)
        before = contents(path)
        database = Database(path, copies=copies)
        upgraded = database.upgraded
        assert upgraded is not None
        assert (upgraded.before, upgraded.after) == (version, newest())
        assert database.rows("SELECT count(*) FROM events")[0][0] == EVENTS
        database.close()
        assert made(copies) == [f"upgrade-{version:04}-20261129T020000Z.sqlite"]
        assert version_of(upgraded.copy) == version
        assert contents(upgraded.copy) == before
        assert upgraded.copy.stat().st_mode & 0o077 == 0

    def test_a_new_one_and_one_of_this_version_are_not_copied(self, path: Path, copies: Copies) -> None:
        for _ in range(2):
            database = Database(path, copies=copies)
            assert database.upgraded is None
            database.close()
        assert made(copies) == []

    def test_what_stands_in_the_write_ahead_log_is_in_the_copy(self, path: Path, copies: Copies) -> None:
        old_database(path, 3)
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("INSERT INTO parts VALUES ('late', x'00')")
            database = Database(path, copies=copies)
        database.close()
        (copy,) = copies.folder.iterdir()
        assert ("late", b"\0") in contents(copy)["parts"]

    def test_only_the_newest_copies_stay_and_nothing_else_goes(
        self, tmp_path: Path, copies: Copies, clock: ManualClock
    ) -> None:
        copies.folder.mkdir()
        others = [
            "upgrade-notes.sqlite",
            "qingtuan-20200101T000000Z.tar.gz",
            "upgrade-0001-20200101T000000Z.sqlite.bak",
        ]
        for name in others:
            (copies.folder / name).touch()
        for number in range(KEPT + 2):
            old_database(tmp_path / f"{number}.sqlite", 1 + number % 2)
            Database(tmp_path / f"{number}.sqlite", copies=copies).close()
            clock.advance(timedelta(days=1))
        kept = [name for name in made(copies) if name not in others]
        assert len(made(copies)) == len(others) + KEPT
        assert sorted(name.split("-")[2] for name in kept) == [f"202612{day:02}T020000Z.sqlite" for day in (1, 2, 3)]

    def test_two_within_a_second_have_two_names(self, tmp_path: Path, copies: Copies) -> None:
        for number in range(2):
            old_database(tmp_path / f"{number}.sqlite", 4)
            Database(tmp_path / f"{number}.sqlite", copies=copies).close()
        assert made(copies) == ["upgrade-0004-20261129T020000Z-2.sqlite", "upgrade-0004-20261129T020000Z.sqlite"]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Makes a package of the real migrations and some more."""
    name = "later_migrations"
    folder = tmp_path / "later" / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    for script in scripts_of(PACKAGE):
        (folder / f"{script.number:04}_real.sql").write_text(script.text, "utf-8")
    monkeypatch.syspath_prepend(str(folder.parent))

    def make(*scripts: str) -> str:
        for number, script in enumerate(scripts, newest() + 1):
            (folder / f"{number:04}_later.sql").write_text(script, "utf-8")
        return name

    yield make
    sys.modules.pop(name, None)


class TestFailing:
    BROKEN = "CREATE TABLE half (x INTEGER) STRICT;\nINSERT INTO no_such_table VALUES (1);"

    def test_the_first_script_fails(self, path: Path, copies: Copies, package: Callable[..., str]) -> None:
        old_database(path, newest())
        before = contents(path)
        with pytest.raises(StorageFailed) as caught:
            Database(path, migrations=package(self.BROKEN), copies=copies)
        (copy,) = made(copies)
        for sentence in (caught.value.words.zh, caught.value.words.en):
            assert copy in sentence
            assert "no_such_table" in sentence
        assert (version_of(path), contents(path)) == (newest(), before)

    def test_a_later_one_fails_and_all_goes_back(self, path: Path, copies: Copies, package: Callable[..., str]) -> None:
        old_database(path, 5)
        before = contents(path)
        emptied = "DELETE FROM parts;"
        with pytest.raises(StorageFailed, match="as it was before"):
            Database(path, migrations=package(emptied, self.BROKEN), copies=copies)
        assert (version_of(path), contents(path)) == (5, before)
        with closing(sqlite3.connect(path)) as database:
            assert database.execute("PRAGMA application_id").fetchone()[0] == 0
            assert database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
            assert database.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        # The version from before opens it, and once the script is mended it goes forward.
        Database(path, migrations=package(emptied, "CREATE TABLE whole (x INTEGER) STRICT;"), copies=copies).close()
        assert (version_of(path), contents(path)["whole"], contents(path)["parts"]) == (newest() + 2, [], [])

    def test_a_reader_in_another_process_keeps_nothing_from_going_back(
        self, path: Path, copies: Copies, package: Callable[..., str]
    ) -> None:
        old_database(path, newest())
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            count = reader.execute("SELECT count(*) FROM parts").fetchone()
            with pytest.raises(StorageFailed, match="as it was before"):
                Database(path, migrations=package("DELETE FROM parts;", self.BROKEN), copies=copies)
            assert reader.execute("SELECT count(*) FROM parts").fetchone() == count
            reader.execute("COMMIT")
            assert reader.execute("SELECT count(*) FROM parts").fetchone() == count

    def test_without_a_copy_nothing_is_begun(self, path: Path, copies: Copies) -> None:
        old_database(path, 2)
        before = contents(path)
        copies.folder.touch()
        with pytest.raises(StorageFailed) as caught:
            Database(path, copies=copies)
        assert "没有升级" in caught.value.words.zh
        assert (version_of(path), contents(path)) == (2, before)

    def test_a_damaged_database_is_not_migrated(self, path: Path, copies: Copies) -> None:
        old_database(path, 2, parts=400)
        whole = path.read_bytes()
        path.write_bytes(whole[:-200_000] + b"\xff" * 200_000)
        with pytest.raises(StorageFailed) as caught:
            Database(path, copies=copies)
        assert "没有升级" in caught.value.words.zh
        assert version_of(path) == 2
        assert made(copies) == []

    def test_a_newer_one_is_refused_without_a_copy(self, path: Path, copies: Copies) -> None:
        Database(path).close()
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA user_version=9000")
        with pytest.raises(StorageFailed, match="newer version"):
            Database(path, copies=copies)
        assert made(copies) == []


def opening(path: Path, copies: Copies, preparation: str = "", migrations: str = PACKAGE) -> subprocess.Popen[str]:
    """A process that opens the database and says how that went."""
    code = (
        "import sys; from pathlib import Path; from qingtuan.clock import SystemClock\n"
        "from qingtuan.storage.sqlite import Database; from qingtuan.storage.migrating import Copies\n"
        "from qingtuan.storage import migrating, copying; from qingtuan.errors import StorageFailed\n"
        f"{preparation}\n"
        "try: Database(Path(sys.argv[1]), migrations=sys.argv[3], copies=Copies(Path(sys.argv[2]), SystemClock()))\n"
        "except StorageFailed as error: sys.exit(error.words.en)\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, path, copies.folder, migrations],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def limited(path: Path, share: float) -> str:
    """Lets a process write files of at most this share of the database's size."""
    most = round(path.stat().st_size * share)
    return f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))"


class TestRealTrouble:
    @pytest.mark.parametrize("share", [0.2, 0.9])
    def test_a_disk_that_takes_no_more_leaves_the_old_data(self, path: Path, copies: Copies, share: float) -> None:
        old_database(path, 4, parts=200)
        before = contents(path)
        process = opening(path, copies, limited(path, share))
        assert "nothing was upgraded" in process.communicate(timeout=60)[1]
        assert process.returncode == 1
        assert (version_of(path), contents(path), made(copies)) == (4, before, [])

    @pytest.mark.parametrize("share", [1.1, 2.5])
    def test_a_disk_that_fills_up_while_it_migrates(
        self, path: Path, copies: Copies, package: Callable[..., str], share: float
    ) -> None:
        old_database(path, newest(), parts=200)
        before = contents(path)
        filling = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)\n"
        filling += "INSERT INTO parts SELECT 'new' || i, zeroblob(1024) FROM n;"
        name = package("CREATE TABLE small (x INTEGER) STRICT;", filling)
        process = opening(path, copies, limited(path, share), name)
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 1
        assert made(copies)[0] in said
        assert len(made(copies)) == 1
        if "as it was before" in said:
            assert (version_of(path), contents(path)) == (newest(), before)
        else:
            # Not even the way back had room. Nothing is lost, and with room it goes on.
            assert "try again" in said
            assert version_of(path) == newest() + 1
            assert {**contents(path), "small": []} == {**before, "small": []}
            Database(path, migrations=name, copies=copies).close()
            assert version_of(path) == newest() + 2

    def test_a_full_disk_is_seen_before_anything_is_written(self, path: Path, copies: Copies) -> None:
        old_database(path, 4)
        tight = "import shutil; shutil.disk_usage = lambda path: type('Usage', (), {'free': 1000})"
        process = opening(path, copies, tight)
        assert "Make room" in process.communicate(timeout=60)[1]
        assert (version_of(path), made(copies)) == (4, [])

    @pytest.mark.parametrize(
        "instant", ["migrating.look_over", "copying._to_disk", "migrating.Held.__exit__", "migrating._tidy"]
    )
    def test_killed_at_any_step_the_next_start_goes_on(self, path: Path, copies: Copies, instant: str) -> None:
        old_database(path, 4)
        events = contents(path)["events"]
        killing = f"import os\n{instant} = lambda *_: os.kill(os.getpid(), {int(signal.SIGKILL)})"
        process = opening(path, copies, killing)
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        assert version_of(path) in (4, newest())
        Database(path, copies=copies).close()
        assert (version_of(path), contents(path)["events"]) == (newest(), events)
        assert [name for name in made(copies) if not name.startswith("upgrade-")] == []
        assert {version_of(copies.folder / name) for name in made(copies)} == {4}

    def test_killed_within_a_script_nothing_of_it_stands(
        self, path: Path, copies: Copies, package: Callable[..., str]
    ) -> None:
        old_database(path, newest() - 1)
        name = package("CREATE TABLE small (x INTEGER) STRICT;", "INSERT INTO small VALUES (1); DELETE FROM parts;")
        killing = (
            "import os, sqlite3\nclass Killed(sqlite3.Connection):\n"
            "    def executescript(self, text):\n"
            "        if 'DELETE FROM parts' in text:\n"
            "            super().executescript(text.rpartition('PRAGMA')[0])\n"
            f"            os.kill(os.getpid(), {int(signal.SIGKILL)})\n"
            "        return super().executescript(text)\n"
            "connect = sqlite3.connect\n"
            "sqlite3.connect = lambda *a, **k: connect(*a, factory=Killed, **k)"
        )
        process = opening(path, copies, killing, name)
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        assert version_of(path) == newest() + 1
        assert len(contents(path)["parts"]) == 40
        Database(path, migrations=name, copies=copies).close()
        assert (version_of(path), contents(path)["small"], contents(path)["parts"]) == (newest() + 2, [(1,)], [])


class TestCopies:
    def test_a_copy_is_of_one_instant_and_says_that_it_is_one(self, path: Path, tmp_path: Path) -> None:
        database = Database(path)
        with database.transaction():
            database.execute("INSERT INTO parts VALUES ('a', x'00')")
        with Held(path) as held:
            with database.transaction():
                database.execute("INSERT INTO parts VALUES ('b', x'00')")
            held.copy_to(tmp_path / "copy")
        database.close()
        assert [row[0] for row in contents(tmp_path / "copy")["parts"]] == ["a"]
        assert look_over(tmp_path / "copy").rows["parts"] == 1
        assert not (tmp_path / "copy-wal").exists()
        with closing(sqlite3.connect(tmp_path / "copy")) as copy:
            assert copy.execute("PRAGMA application_id").fetchone()[0] == COPIED

    def test_nothing_is_put_over_what_is_there(self, path: Path, tmp_path: Path) -> None:
        Database(path).close()
        (tmp_path / "copy").write_text("mine")
        with Held(path) as held, pytest.raises(StorageFailed):
            held.copy_to(tmp_path / "copy")
        assert (tmp_path / "copy").read_text() == "mine"

    @pytest.mark.parametrize("damage", ["cut", "rows", "garbage", "missing"])
    def test_a_damaged_copy_is_found_out(self, path: Path, tmp_path: Path, damage: str) -> None:
        old_database(path, newest(), parts=300)
        copy = tmp_path / "copy"
        with Held(path) as held:
            held.copy_to(copy)
            expected = held.census()
        if damage == "rows":
            with closing(sqlite3.connect(copy)) as changed, changed:
                changed.execute("DELETE FROM parts WHERE hash LIKE '%7'")
        elif damage == "missing":
            copy.unlink()
        else:
            whole = copy.read_bytes()
            copy.write_bytes(whole[:-50_000] + (b"\xff" * 50_000 if damage == "garbage" else b""))
        with pytest.raises(StorageFailed):
            look_over(copy, expected)

    def test_what_is_put_back_is_what_was_there(self, path: Path, tmp_path: Path) -> None:
        old_database(path, 3)
        before = contents(path)
        with Held(path) as held:
            held.copy_to(tmp_path / "copy")
        database = Database(path)
        put_back(tmp_path / "copy", database._connection)
        database.close()
        assert (version_of(path), contents(path)) == (3, before)


def test_the_versions_have_no_gaps() -> None:
    assert [one.number for one in scripts_of(PACKAGE)] == list(range(1, newest() + 1))
