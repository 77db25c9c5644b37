"""The log: one way to write, projections in the same transaction, parts kept once, and a replay that is complete."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from datetime import UTC

import pytest

from qingtuan.clock import ManualClock
from qingtuan.errors import StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.home import Home
from qingtuan.ids import Ids
from qingtuan.messages import Origin, Space
from qingtuan.storage.files import content_hash
from qingtuan.storage.sqlite import Database

PLACE = Place("s_1", Space("group", "qq:777"), "turn_1", "owner")


def _count_turns(database: Database, event: Event) -> None:
    """A projection for these tests: how many events each turn has."""
    database.execute("CREATE TABLE IF NOT EXISTS turns (turn TEXT PRIMARY KEY, n INTEGER NOT NULL)")
    database.execute("INSERT INTO turns VALUES (?, 1) ON CONFLICT (turn) DO UPDATE SET n = n + 1", (event.place.turn,))


def _refuse(database: Database, event: Event) -> None:
    database.execute("INSERT INTO parts (hash, body) VALUES ('from the projection', x'00')")
    raise ZeroDivisionError


def _events(log: Log) -> list[Event]:
    return list(log.replay())


class TestAppending:
    def test_what_is_written_is_what_is_read(self, log: Log, clock: ManualClock) -> None:
        cause = log.append(Kind.TURN_STARTED, PLACE)
        payload = {"text": "座位 🪑", "list": [1, None, {"a": True}], "": ""}
        written = log.append(Kind.TOOL_FINISHED, PLACE, payload, origin=Origin.WEB, cause=cause.id)
        read = log.get(written.id)
        assert read == written
        assert read is not None
        assert (read.time, read.time.tzinfo, read.seq) == (clock.now(), UTC, 2)
        assert (read.place, read.payload, read.origin, read.cause) == (PLACE, payload, Origin.WEB, cause.id)
        assert log.get("evt_unknown") is None

    def test_nothing_of_the_place_need_be_known(self, log: Log) -> None:
        event = log.append(Kind.PAGE_EDITED, Place())
        assert log.get(event.id) == event

    def test_ids_sort_as_the_events_were_written_though_the_clock_stands(self, log: Log) -> None:
        ids = [log.append(Kind.TURN_STARTED, PLACE).id for _ in range(50)]
        assert ids == sorted(ids)
        assert len(set(ids)) == 50

    def test_a_cause_that_is_no_event_is_refused(self, log: Log) -> None:
        with pytest.raises(sqlite3.IntegrityError):
            log.append(Kind.TURN_STARTED, PLACE, cause="evt_0")
        assert _events(log) == []

    def test_a_full_disk_leaves_nothing_of_the_event(self, log: Log) -> None:
        pages = log.database.rows("PRAGMA page_count")[0][0]
        log.database.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StorageFailed):
            log.append(Kind.MESSAGE_RECEIVED, PLACE, {"text": "长" * 100_000})
        assert _events(log) == []


class TestProjections:
    @pytest.fixture
    def projecting(self, database: Database, clock: ManualClock) -> Log:
        return Log(database, clock, Ids(clock), [_count_turns])

    def test_they_are_brought_up_to_date_with_each_event(self, projecting: Log) -> None:
        for _ in range(3):
            projecting.append(Kind.TURN_STARTED, PLACE)
        row = projecting.database.row("SELECT n FROM turns WHERE turn = 'turn_1'")
        assert row is not None
        assert row["n"] == 3

    def test_one_that_fails_takes_the_event_with_it(self, database: Database, clock: ManualClock) -> None:
        log = Log(database, clock, Ids(clock), [_refuse])
        with pytest.raises(ZeroDivisionError):
            log.append(Kind.TURN_STARTED, PLACE)
        assert _events(log) == []
        assert database.row("SELECT * FROM parts") is None

    def test_several_events_and_their_parts_land_together_or_not_at_all(self, projecting: Log) -> None:
        def append_two(fail: bool) -> None:
            with projecting.transaction(durable=True):
                projecting.keep_parts([b"one"])
                projecting.append(Kind.TURN_STARTED, PLACE)
                projecting.append(Kind.TURN_FINISHED, PLACE)
                if fail:
                    raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            append_two(fail=True)
        assert _events(projecting) == []
        with pytest.raises(KeyError):
            projecting.part(content_hash(b"one"))
        append_two(fail=False)
        assert [event.kind for event in _events(projecting)] == [Kind.TURN_STARTED, Kind.TURN_FINISHED]

    def test_a_replay_builds_the_same_table_again(self, projecting: Log) -> None:
        for number in range(25):
            projecting.append(Kind.TURN_STARTED, Place(turn=f"turn_{number % 4}"))

        def table() -> list[tuple[object, ...]]:
            return [tuple(row) for row in projecting.database.rows("SELECT * FROM turns ORDER BY turn")]

        before = table()
        with projecting.transaction():
            projecting.database.execute("DROP TABLE turns")
            for event in projecting.replay():
                _count_turns(projecting.database, event)
        assert table() == before


class TestParts:
    def test_each_is_kept_once_and_named_in_order(self, log: Log) -> None:
        bodies = [b"system", b"tools", b"system", b""]
        names = log.keep_parts(bodies)
        assert names == [content_hash(body) for body in bodies]
        assert [log.part(name) for name in names] == bodies
        assert log.keep_parts([b"tools"]) == [names[1]]
        row = log.database.row("SELECT count(*) AS n FROM parts")
        assert row is not None
        assert row["n"] == 3

    def test_an_unknown_one_is_a_key_error(self, log: Log) -> None:
        with pytest.raises(KeyError):
            log.part("0" * 64)


class TestReading:
    def test_by_turn_by_session_by_kind_and_by_cause(self, log: Log) -> None:
        first = log.append(Kind.TURN_STARTED, PLACE)
        second = log.append(Kind.TOOL_STARTED, Place("s_2", turn="turn_1"), cause=first.id)
        third = log.append(Kind.TURN_FINISHED, PLACE, cause=first.id)
        fourth = log.append(Kind.TURN_STARTED, Place("s_1", turn="turn_2"))
        assert log.of_turn("turn_1") == [first, second, third]
        assert log.of_session("s_1") == [first, third, fourth]
        assert log.of_session("s_1", after=first.seq) == [third, fourth]
        assert log.of_session("s_1", kinds=[Kind.TURN_STARTED]) == [first, fourth]
        assert log.of_session("s_1", kinds=[]) == []
        assert log.of_kind(Kind.TURN_STARTED, Kind.TOOL_STARTED) == [first, second, fourth]
        assert log.of_kind(Kind.TURN_STARTED, after=first.seq, limit=1) == [fourth]
        assert log.caused_by(first.id) == [second, third]

    def test_an_event_that_was_read_before_is_read_as_the_tombstone_that_it_became(self, log: Log) -> None:
        said = log.append(Kind.MESSAGE_RECEIVED, PLACE, {"text": "我的秘密"})
        assert log.of_session("s_1") == log.of_turn("turn_1") == [said]
        forgotten = log.append(Kind.PERSON_FORGOTTEN, Place(person="owner"))
        log.database.execute("UPDATE events SET payload = '{\"forgotten\":true}' WHERE id = ?", (said.id,))
        assert [event.payload for event in log.of_session("s_1")] == [{"forgotten": True}]
        assert [event.payload for event in log.of_turn("turn_1")] == [{"forgotten": True}]
        assert log.of_kind(Kind.PERSON_FORGOTTEN) == [forgotten]

    def test_what_was_read_before_it_was_rolled_back_is_never_read_again(self, log: Log) -> None:
        first = log.append(Kind.TURN_STARTED, PLACE)
        with suppress(ZeroDivisionError), log.transaction():
            gone = log.append(Kind.TURN_FINISHED, PLACE, {"outcome": "replied"})
            assert log.of_session("s_1") == log.of_turn("turn_1") == [first, gone]
            raise ZeroDivisionError
        assert log.of_session("s_1") == [first]
        second = log.append(Kind.TURN_FINISHED, PLACE, {"outcome": "replied"})
        assert second.seq == gone.seq
        assert log.of_session("s_1") == log.of_turn("turn_1") == [first, second]

    def test_a_replay_gives_every_event_in_order_also_beyond_one_page(self, log: Log) -> None:
        with log.transaction():
            written = [log.append(Kind.TURN_STARTED, PLACE, {"n": number}) for number in range(2_345)]
        assert _events(log) == written

    def test_a_new_process_reads_what_the_old_one_wrote(self, log: Log, home: Home, clock: ManualClock) -> None:
        written = log.append(Kind.TURN_STARTED, PLACE)
        again = Database(home.database)
        assert _events(Log(again, clock, Ids(clock))) == [written]
        again.close()


class TestListening:
    def test_listeners_hear_each_event_until_they_leave(self, log: Log) -> None:
        heard: list[Event] = []
        leave = log.listen(heard.append)
        first = log.append(Kind.TURN_STARTED, PLACE)
        leave()
        log.append(Kind.TURN_FINISHED, PLACE)
        assert heard == [first]

    def test_they_hear_only_of_what_stands(self, log: Log) -> None:
        heard: list[Event] = []
        log.listen(heard.append)

        def append_and_fail() -> None:
            with log.transaction():
                log.append(Kind.TURN_STARTED, PLACE)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            append_and_fail()
        assert heard == []
        with log.transaction():
            stands = log.append(Kind.TURN_STARTED, PLACE)
            assert heard == []
        assert heard == [stands]

    def test_what_a_listener_writes_is_told_in_the_order_of_the_log(self, log: Log) -> None:
        heard: list[Event] = []

        def answers(event: Event) -> None:
            if event.kind is Kind.TURN_STARTED:
                log.append(Kind.TURN_FINISHED, PLACE)

        log.listen(answers)
        log.listen(heard.append)
        with log.transaction():
            log.append(Kind.TURN_STARTED, PLACE)
            log.append(Kind.TURN_FAILED, PLACE)
        assert [event.seq for event in heard] == [1, 2, 3]

    def test_one_that_breaks_takes_no_event_from_the_others(self, log: Log) -> None:
        heard: list[Event] = []

        def breaks(event: Event) -> None:
            if event.kind is Kind.TURN_STARTED:
                raise ZeroDivisionError

        log.listen(heard.append)
        log.listen(breaks)
        with pytest.raises(ZeroDivisionError):
            log.append(Kind.TURN_STARTED, PLACE)
        log.append(Kind.TURN_FINISHED, PLACE)
        assert [event.kind for event in heard] == [Kind.TURN_STARTED, Kind.TURN_FINISHED]


def test_halves_of_characters_are_replaced(log: Log) -> None:
    event = log.append(Kind.TURN_FAILED, PLACE, {"detail": "坏 \ud83d 字", "\udc00": ["\ud83d"]})
    assert event.payload == {"detail": "坏 ? 字", "?": ["?"]}
    assert log.get(event.id) == event


def test_every_kind_has_its_name_and_a_sentence() -> None:
    assert len({str(kind) for kind in Kind}) == len(list(Kind))
    for kind in Kind:
        group, _, name = str(kind).partition(".")
        assert group.isidentifier()
        assert name.isidentifier()
        assert kind.sentence.zh.endswith("。")
        assert kind.sentence.en.endswith(".")
