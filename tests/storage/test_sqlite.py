from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from qingtuan.errors import Bug, StorageFailed
from qingtuan.storage.sqlite import Database

_EVENT = (
    "INSERT INTO events (id, time, kind, person, origin, cause, payload) "
    "VALUES (:id, 1, :kind, :person, 'system', :cause, :payload)"
)


def _event(
    database: Database, name: str, kind: str = "turn.started", person: str | None = None, cause: str | None = None
) -> None:
    values = {"id": name, "kind": kind, "person": person, "cause": cause, "payload": '{"text":"我不吃香菜"}'}
    with database.transaction():
        database.execute(_EVENT, values)


def _count(database: Database) -> int:
    row = database.row("SELECT count(*) AS n FROM events")
    assert row is not None
    return int(row["n"])


class TestOpening:
    def test_it_is_in_wal_mode_with_foreign_keys_and_recursive_triggers(self, database: Database) -> None:
        found = {name: database.rows(f"PRAGMA {name}")[0][0] for name in ("journal_mode", "foreign_keys")}
        assert found == {"journal_mode": "wal", "foreign_keys": 1}
        assert database.rows("PRAGMA recursive_triggers")[0][0] == 1

    def test_a_second_opening_migrates_nothing_and_keeps_everything(self, tmp_path: Path) -> None:
        first = Database(tmp_path / "state.sqlite")
        _event(first, "evt_1")
        first.close()
        second = Database(tmp_path / "state.sqlite")
        assert _count(second) == 1
        second.close()

    def test_a_newer_version_is_refused_in_words_and_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "state.sqlite"
        Database(path).close()
        raw = sqlite3.connect(path)
        raw.execute("PRAGMA user_version = 9000")
        raw.close()
        with pytest.raises(StorageFailed) as caught:
            Database(path)
        assert "9000" in caught.value.words.zh
        assert "upgrade" in caught.value.words.en
        raw = sqlite3.connect(path)
        assert raw.execute("PRAGMA user_version").fetchone()[0] == 9000
        raw.close()

    def test_a_file_that_is_no_database_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "state.sqlite"
        path.write_bytes(b"not a database, but long enough to look at " * 100)
        with pytest.raises(StorageFailed):
            Database(path)
        assert path.read_bytes().startswith(b"not a database")

    def test_a_missing_folder_is_an_error_in_words(self, tmp_path: Path) -> None:
        with pytest.raises(StorageFailed):
            Database(tmp_path / "missing" / "state.sqlite")


class TestMigrations:
    @pytest.fixture
    def package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
        folder = tmp_path / "own_migrations"
        folder.mkdir()
        (folder / "__init__.py").touch()
        (folder / "0001_one.sql").write_text("CREATE TABLE one (x INTEGER) STRICT;")
        monkeypatch.syspath_prepend(str(tmp_path))
        yield folder
        sys.modules.pop("own_migrations", None)

    def test_they_run_in_order_and_once(self, package: Path, tmp_path: Path) -> None:
        path = tmp_path / "own.sqlite"
        Database(path, migrations="own_migrations").close()
        (package / "0002_two.sql").write_text("INSERT INTO one VALUES (2);")
        for _ in range(2):
            database = Database(path, migrations="own_migrations")
            assert [row["x"] for row in database.rows("SELECT x FROM one")] == [2]
            database.close()

    def test_one_that_fails_leaves_the_file_as_it_was(self, package: Path, tmp_path: Path) -> None:
        path = tmp_path / "own.sqlite"
        Database(path, migrations="own_migrations").close()
        (package / "0002_two.sql").write_text("INSERT INTO one VALUES (2);\nCREATE TABLE one (y INTEGER) STRICT;")
        with pytest.raises(StorageFailed):
            Database(path, migrations="own_migrations")
        raw = sqlite3.connect(path)
        assert raw.execute("PRAGMA user_version").fetchone()[0] == 1
        assert raw.execute("SELECT count(*) FROM one").fetchone()[0] == 0
        raw.close()


class TestTransactions:
    def test_all_or_nothing(self, database: Database) -> None:
        def fail() -> None:
            with database.transaction():
                database.execute("INSERT INTO parts (hash, body) VALUES ('a', x'00')")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert database.row("SELECT * FROM parts") is None

    def test_a_nested_one_joins_the_outer_one(self, database: Database) -> None:
        def nest(fail: bool) -> None:
            with database.transaction():
                with database.transaction():
                    database.execute("INSERT INTO parts (hash, body) VALUES ('a', x'00')")
                if fail:
                    raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            nest(fail=True)
        assert database.row("SELECT * FROM parts") is None
        nest(fail=False)
        assert database.row("SELECT * FROM parts") is not None

    def test_what_must_reach_the_disk_joins_none_that_does_not(self, database: Database) -> None:
        with database.transaction(durable=True), database.transaction(durable=True), database.transaction():
            database.execute("INSERT INTO parts (hash, body) VALUES ('a', x'00')")
        with pytest.raises(Bug), database.transaction(), database.transaction(durable=True):
            pass
        with database.transaction(durable=True):
            database.execute("INSERT INTO parts (hash, body) VALUES ('b', x'00')")
        assert len(database.rows("SELECT * FROM parts")) == 2

    def test_a_damaged_file_is_refused_in_reads_and_writes(self, tmp_path: Path) -> None:
        path = tmp_path / "state.sqlite"
        database = Database(path)
        with database.transaction():
            for number in range(2000):
                database.execute("INSERT INTO parts (hash, body) VALUES (?, ?)", (str(number), bytes(200)))
        database.close()
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2] + b"\xff" * (len(whole) - len(whole) // 2))
        database = Database(path)
        with pytest.raises(StorageFailed):
            database.rows("SELECT * FROM parts")
        with pytest.raises(StorageFailed):
            database.row("SELECT max(body) FROM parts")
        with pytest.raises(StorageFailed), database.transaction():
            database.execute("DELETE FROM parts")
        database.close()

    def test_a_durable_one_reaches_the_disk_and_the_rest_is_normal_again(self, database: Database) -> None:
        with database.transaction(durable=True):
            assert database.rows("PRAGMA synchronous")[0][0] == 2
        assert database.rows("PRAGMA synchronous")[0][0] == 1
        with pytest.raises(ZeroDivisionError), database.transaction(durable=True):
            raise ZeroDivisionError
        assert database.rows("PRAGMA synchronous")[0][0] == 1

    def test_a_full_disk_is_an_error_in_words_and_changes_nothing(self, database: Database) -> None:
        _event(database, "evt_1")
        pages = database.rows("PRAGMA page_count")[0][0]
        database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StorageFailed) as caught, database.transaction(durable=True):
            database.execute("INSERT INTO parts (hash, body) VALUES ('a', zeroblob(10000000))")
        assert "磁盘" in caught.value.words.zh
        database.execute("PRAGMA max_page_count = 1000000")
        assert _count(database) == 1
        _event(database, "evt_2")
        assert _count(database) == 2

    def test_a_lock_that_another_process_keeps_is_an_error_in_words(self, database: Database) -> None:
        database.execute("PRAGMA busy_timeout = 0")
        other = sqlite3.connect(database.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageFailed), database.transaction():
            database.execute("INSERT INTO parts (hash, body) VALUES ('a', x'00')")
        other.execute("ROLLBACK")
        other.close()
        with database.transaction():
            database.execute("INSERT INTO parts (hash, body) VALUES ('a', x'00')")


class TestEventsAreForGood:
    @pytest.mark.parametrize(
        "sql",
        [
            "DELETE FROM events",
            "UPDATE events SET payload = '{}'",
            "UPDATE events SET person = 'somebody'",
            "UPDATE events SET payload = '{\"forgotten\":true}'",
            "INSERT OR REPLACE INTO events (id, time, kind, origin, payload) VALUES ('evt_1', 2, 'x', 'system', '{}')",
            "REPLACE INTO events (seq, id, time, kind, origin, payload) VALUES (1, 'evt_9', 2, 'x', 'system', '{}')",
            "UPDATE OR REPLACE events SET id = 'evt_1' WHERE id = 'evt_2'",
        ],
    )
    def test_nothing_changes_or_deletes_one(self, database: Database, sql: str) -> None:
        _event(database, "evt_1", person="qq-1")
        _event(database, "evt_2", person="qq-2")
        before = [tuple(row) for row in database.rows("SELECT * FROM events ORDER BY seq")]
        with pytest.raises(sqlite3.IntegrityError), database.transaction():
            database.execute(sql)
        assert [tuple(row) for row in database.rows("SELECT * FROM events ORDER BY seq")] == before

    def test_a_cause_must_exist(self, database: Database) -> None:
        with pytest.raises(sqlite3.IntegrityError):
            _event(database, "evt_1", cause="evt_0")

    def test_a_forgotten_person_leaves_tombstones_and_nobody_else_does(self, database: Database) -> None:
        _event(database, "evt_1", person="qq-1")
        _event(database, "evt_2", person="qq-2")
        _event(database, "evt_3", kind="person.forgotten", person="qq-1")
        erase = "UPDATE events SET payload = '{\"forgotten\":true}' WHERE id = ?"
        with database.transaction():
            database.execute(erase, ("evt_1",))
        for name in ("evt_2", "evt_3"):
            with pytest.raises(sqlite3.IntegrityError), database.transaction():
                database.execute(erase, (name,))
        payloads = {row["id"]: row["payload"] for row in database.rows("SELECT id, payload FROM events")}
        assert payloads["evt_1"] == '{"forgotten":true}'
        assert "香菜" in payloads["evt_2"]

    @pytest.mark.parametrize("change", ["person = 'qq-9'", "time = 2", "id = 'evt_9'", "origin = 'owner'", "seq = 99"])
    def test_a_tombstone_changes_nothing_but_the_payload(self, database: Database, change: str) -> None:
        _event(database, "evt_1", person="qq-1")
        _event(database, "evt_2", kind="person.forgotten", person="qq-1")
        with pytest.raises(sqlite3.IntegrityError), database.transaction():
            database.execute(f"UPDATE events SET payload = '{{\"forgotten\":true}}', {change} WHERE id = 'evt_1'")
