"""What may become a tombstone, what must not whatever is tried, and what projections make of it."""

from __future__ import annotations

import json
import sqlite3

import pytest

from qingtuan.app import PROJECTIONS
from qingtuan.clock import ManualClock
from qingtuan.events.erasing import erase, unfinished
from qingtuan.events.inbox import Inbox
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.events.outbox import Draft, Outbox
from qingtuan.events.sessions import Sessions
from qingtuan.ids import Ids
from qingtuan.messages import Inbound, Origin, Space
from qingtuan.storage.sqlite import Database
from tests.fakes.replaying import replayed, tables

TOMB = '{"forgotten":true}'
CHAT, GROUP = Space("private", "qq:1"), Space("group", "qq:777")
LI, WANG = Place("s_1", CHAT, "turn_1", "qq-1"), Place("s_2", GROUP, "turn_2", "qq-2")


@pytest.fixture
def events(log: Log) -> list[Event]:
    """Two of one person, one of another, one of nobody."""
    return [
        log.append(Kind.MESSAGE_RECEIVED, LI, {"text": "我的秘密"}),
        log.append(Kind.MODEL_ANSWERED, LI, {"text": "好"}),
        log.append(Kind.MESSAGE_RECEIVED, WANG, {"text": "别人的"}),
        log.append(Kind.CHORE_FAILED, Place(), {"detail": "x"}),
    ]


def bury(log: Log, *ids: str, change: str = "") -> None:
    with log.transaction():
        log.database.execute(
            f"UPDATE events SET payload = ?{change} WHERE id IN (SELECT value FROM json_each(?))",
            (TOMB, json.dumps(ids)),
        )


def buried(log: Log) -> list[str]:
    return [event.id for event in log.replay() if event.forgotten]


class TestTheTrigger:
    def test_only_what_a_purge_names_and_what_came_before_it(self, log: Log, events: list[Event]) -> None:
        first, second, other, nobodys = events
        log.append(Kind.BELIEF_PURGED, LI, {"events": [first.id, nobodys.id]})
        later = log.append(Kind.MESSAGE_RECEIVED, LI, {"text": "后来"})
        bury(log, first.id, nobodys.id)
        for name in (second.id, other.id, later.id):
            with pytest.raises(sqlite3.IntegrityError):
                bury(log, name)
        assert buried(log) == [first.id, nobodys.id]

    def test_an_event_that_is_named_before_it_is_written_is_safe(self, log: Log, events: list[Event]) -> None:
        ids = Ids(ManualClock(events[0].time))
        log.append(Kind.BELIEF_PURGED, LI, {"events": ["evt_coming", ids.event()]})
        with log.transaction():
            log.database.execute(
                "INSERT INTO events (id, time, kind, origin, payload) VALUES ('evt_coming', 1, 'x', 'system', '{}')"
            )
        with pytest.raises(sqlite3.IntegrityError):
            bury(log, "evt_coming")

    def test_a_person_who_writes_again_is_not_forgotten_on_the_old_word(self, log: Log, events: list[Event]) -> None:
        log.append(Kind.PERSON_FORGOTTEN, Place(person="qq-1"))
        again = log.append(Kind.MESSAGE_RECEIVED, LI, {"text": "又来了"})
        bury(log, events[0].id, events[1].id)
        with pytest.raises(sqlite3.IntegrityError):
            bury(log, again.id)
        log.append(Kind.PERSON_FORGOTTEN, Place(person="qq-1"))
        bury(log, again.id)
        assert buried(log) == [events[0].id, events[1].id, again.id]

    def test_what_allows_it_never_becomes_one_itself(self, log: Log) -> None:
        purged = log.append(Kind.BELIEF_PURGED, LI, {"events": []})
        told = log.append(Kind.WIKI_REWRITTEN, LI, {"commits": {}, "contents": {}, "pages": {}, "gone": []})
        done = log.append(Kind.ERASURE_FINISHED, LI, cause=purged.id)
        forgotten = log.append(Kind.PERSON_FORGOTTEN, LI)
        log.append(Kind.BELIEF_PURGED, LI, {"events": [purged.id, told.id, done.id, forgotten.id]})
        log.append(Kind.PERSON_FORGOTTEN, LI, {"events": [purged.id, told.id, done.id, forgotten.id]})
        for name in (purged.id, told.id, done.id, forgotten.id):
            with pytest.raises(sqlite3.IntegrityError):
                bury(log, name)

    def test_never_twice_and_never_back(self, log: Log, events: list[Event]) -> None:
        log.append(Kind.BELIEF_PURGED, LI, {"events": [events[0].id]})
        bury(log, events[0].id)
        for payload in (TOMB, '{"text":"我的秘密"}', "{}", '{"forgotten":false}'):
            with pytest.raises(sqlite3.IntegrityError), log.transaction():
                log.database.execute("UPDATE events SET payload = ? WHERE id = ?", (payload, events[0].id))
        assert buried(log) == [events[0].id]

    @pytest.mark.parametrize(
        "payload",
        [
            "{}",
            '{"forgotten": true}',
            '{"forgotten":true,"text":"别的"}',
            '{"forgotten":1}',
            TOMB + " ",
            "",
            None,
            5,
            b"x",
        ],
    )
    def test_nothing_but_the_one_tombstone(self, log: Log, events: list[Event], payload: object) -> None:
        log.append(Kind.BELIEF_PURGED, LI, {"events": [events[0].id]})
        with pytest.raises(sqlite3.IntegrityError), log.transaction():
            log.database.execute("UPDATE events SET payload = ? WHERE id = ?", (payload, events[0].id))

    @pytest.mark.parametrize(
        "change",
        [
            "person = 'qq-9'", "person = NULL", "time = 2", "id = 'evt_9'", "origin = 'owner'", "seq = 99", "seq = -1",
            "kind = 'message.sent'", "session = NULL", "space = NULL", "turn = NULL", "cause = id", "rowid = 98",
        ],
    )  # fmt: skip
    def test_nothing_else_changes_along_with_it(self, log: Log, events: list[Event], change: str) -> None:
        log.append(Kind.BELIEF_PURGED, LI, {"events": [events[0].id]})
        with pytest.raises(sqlite3.IntegrityError):
            bury(log, events[0].id, change=f", {change}")

    @pytest.mark.parametrize(
        "sql",
        [
            "UPDATE OR IGNORE events SET payload = NULL WHERE id = ?",
            "UPDATE OR REPLACE events SET payload = '{}' WHERE id = ?",
            "UPDATE OR REPLACE events SET seq = 1 WHERE id = ?",
            "DELETE FROM events WHERE id = ?",
            "REPLACE INTO events (id, time, kind, origin, payload) VALUES (?, 2, 'x', 'system', '{}')",
            "INSERT INTO events (id, time, kind, origin, payload) VALUES (?, 2, 'x', 'system', '{}')"
            " ON CONFLICT (id) DO UPDATE SET payload = excluded.payload",
            "UPDATE events SET payload = '{}' FROM (SELECT 1) WHERE id = ?",
            "WITH x AS (SELECT 1) UPDATE events SET payload = '{}' WHERE id = ?",
        ],
    )
    def test_no_other_way_round(self, log: Log, events: list[Event], sql: str) -> None:
        second = events[1]
        log.append(Kind.BELIEF_PURGED, LI, {"events": [events[0].id]})
        before = [tuple(row) for row in log.database.rows("SELECT * FROM events")]
        try:
            with log.transaction():
                log.database.execute(sql, (second.id,))
        except sqlite3.IntegrityError:
            pass
        assert [tuple(row) for row in log.database.rows("SELECT * FROM events")] == before

    @pytest.mark.parametrize(
        "names", ['{"events":"%s"}', '{"events":[["%s"]]}', '{"other":["%s"]}', '["%s"]', '{"events":{}}']
    )
    def test_what_only_looks_like_naming_allows_nothing_more(self, log: Log, events: list[Event], names: str) -> None:
        payload = names.replace("%s", events[0].id)
        with log.transaction():
            log.database.execute(
                "INSERT INTO events (id, time, kind, origin, payload) VALUES ('evt_p', 1, 'belief.purged', 'x', ?)",
                (payload,),
            )
        with pytest.raises(sqlite3.IntegrityError):
            bury(log, events[0].id)

    def test_a_name_that_begins_like_another_is_another(self, log: Log, events: list[Event]) -> None:
        log.append(Kind.BELIEF_PURGED, LI, {"events": [events[0].id[:-1], f"{events[0].id}x", events[0].id.lower()]})
        log.append(Kind.PERSON_FORGOTTEN, Place(person="qq-1x"))
        log.append(Kind.PERSON_FORGOTTEN, Place(person="QQ-1"))
        log.append(Kind.PERSON_FORGOTTEN, Place())
        for event in events:
            with pytest.raises(sqlite3.IntegrityError):
                bury(log, event.id)


class TestErasing:
    @pytest.fixture
    def log(self, database: Database, clock: ManualClock) -> Log:
        return Log(database, clock, Ids(clock), PROJECTIONS)

    def test_of_a_person_everything_goes_but_the_frame_of_what_is_others(self, log: Log, clock: ManualClock) -> None:
        sessions = Sessions(log, Ids(clock))
        own, group = sessions.start(CHAT, "qq-1"), sessions.start(GROUP, "qq-1")
        inbound = Inbound("onebot", "qq:1", CHAT, "m1", "我的秘密", clock.now())
        said = Inbox(log).receive(inbound, session=own.id, person="qq-1", origin=Origin.PERSON)
        assert said
        log.append(Kind.SETTINGS_CHANGED, Place(person="qq-1"), {"space": str(CHAT), "name": "policy", "value": "auto"})
        log.append(
            Kind.SETTINGS_CHANGED, Place(person="qq-1"), {"space": str(GROUP), "name": "enabled", "value": "yes"}
        )
        begun = log.append(Kind.TURN_STARTED, Place(group.id, GROUP, "turn_1", "qq-1"), {"messages": []})
        request = log.append(Kind.MODEL_REQUESTED, Place(group.id, GROUP, "turn_1", "qq-1"), {"messages": ["a"]})
        alone = log.append(Kind.MODEL_REQUESTED, Place(own.id, CHAT, "turn_2", "qq-1"), {"messages": ["b"]})
        sent = Outbox(log).put(Draft("onebot", "好"), Place(own.id, CHAT, "turn_2", "qq-1"))
        Outbox(log).started(sent, 0, 2)
        Outbox(log).finished(sent, Kind.DELIVERY_SENT, platform_id="p1")
        with log.transaction():
            forgotten = log.append(Kind.PERSON_FORGOTTEN, Place(person="qq-1"))
            assert erase(log, forgotten) == 8
        assert {event.kind for event in log.replay() if not event.forgotten} == {
            Kind.SESSION_STARTED, Kind.SETTINGS_CHANGED, Kind.MODEL_REQUESTED, Kind.PERSON_FORGOTTEN,
        }  # fmt: skip
        assert request.id not in buried(log)
        assert {said.id, begun.id, alone.id} <= set(buried(log))
        assert [row["space"] for row in log.database.rows("SELECT space FROM sessions")] == [str(GROUP)]
        assert [row["space"] for row in log.database.rows("SELECT space FROM choices")] == [str(GROUP)]
        assert not Inbox(log).known("onebot", CHAT, "m1")
        assert Outbox(log).waiting("onebot") == []
        assert Outbox(log).of_platform(CHAT, "p1") is None
        assert tables(log) == replayed(log)

    def test_a_message_that_is_erased_while_it_is_sent_leaves_nothing(self, log: Log) -> None:
        box = Outbox(log)
        sent = box.put(Draft("onebot", "秘密"), Place("s_1", CHAT, "turn_2", "qq-1"))
        box.started(sent, 0, 2)
        with log.transaction():
            erase(log, log.append(Kind.BELIEF_PURGED, LI, {"events": [sent.id]}))
        box.finished(sent, Kind.DELIVERY_SENT, platform_id="p1")
        assert box.of_platform(CHAT, "p1") is None
        assert tables(log) == replayed(log)

    def test_a_message_that_a_purge_erased_stays_known(self, log: Log, clock: ManualClock) -> None:
        own = Sessions(log, Ids(clock)).start(CHAT, "qq-1")
        inbound = Inbound("onebot", "qq:1", CHAT, "m1", "我的秘密", clock.now())
        said = Inbox(log).receive(inbound, session=own.id, person="qq-1", origin=Origin.PERSON)
        assert said
        known = [{"event": said.id, "channel": "onebot", "message_id": "m1"}]
        with log.transaction():
            erase(log, log.append(Kind.BELIEF_PURGED, LI, {"events": [said.id], "known": known}))
        assert Inbox(log).known("onebot", CHAT, "m1")
        assert Inbox(log).open() == []
        assert Inbox(log).receive(inbound, session=own.id, person="qq-1", origin=Origin.PERSON) is None
        assert tables(log) == replayed(log)

    def test_what_is_read_again_is_read_as_it_is_now(self, log: Log) -> None:
        said = log.append(Kind.MESSAGE_RECEIVED, LI, {"channel": "x", "message_id": "1", "text": "我的秘密"})
        assert log.get(said.id) == said
        with log.transaction():
            erase(log, log.append(Kind.BELIEF_PURGED, LI, {"events": [said.id]}))
        found = log.get(said.id)
        assert found
        assert found.forgotten

    def test_it_is_unfinished_until_it_is_said_to_be_done(self, log: Log) -> None:
        log.append(Kind.PERSON_FORGOTTEN, Place(person="qq-1"))
        purged = log.append(Kind.BELIEF_PURGED, LI, {"events": [], "plan": "hash"})
        assert unfinished(log) == [purged]
        log.append(Kind.ERASURE_FINISHED, Place(), cause=purged.id)
        assert unfinished(log) == []
