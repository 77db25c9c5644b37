"""Inbox, outbox and sessions: projections that a replay builds again, and nothing received or sent twice."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from qingtuan.clock import ManualClock
from qingtuan.events import inbox, outbox, sessions
from qingtuan.events.inbox import Inbox, Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.events.outbox import Draft, Outbox
from qingtuan.events.sessions import Sessions
from qingtuan.ids import Ids
from qingtuan.messages import Inbound, Material, Origin, Space
from qingtuan.storage.sqlite import Database

SPACE = Space("private", "cli:local")
START = datetime(2026, 11, 29, 2, 0, tzinfo=UTC)
PROJECTIONS = (sessions.project, inbox.project, outbox.project)


@pytest.fixture
def roads_log(tmp_path: Path) -> Log:
    clock = ManualClock(START)
    return Log(Database(tmp_path / "state.sqlite"), clock, Ids(clock), PROJECTIONS)


def message(number: int, text: str = "你好") -> Inbound:
    material = Material(Origin.FILE, "a.txt", "内容")
    return Inbound("cli", "cli:local", SPACE, f"m{number}", text, START, materials=(material,))


def receive(log: Log, inbound: Inbound, session: str = "s_1") -> str:
    event = Inbox(log).receive(inbound, session=session, person="owner", origin=Origin.OWNER)
    assert event is not None
    return event.id


def test_a_message_delivered_twice_is_stored_once(roads_log: Log) -> None:
    receive(roads_log, message(1))
    again = Inbox(roads_log).receive(message(1), session="s_1", person="owner", origin=Origin.OWNER)
    assert again is None
    assert len(roads_log.of_kind(Kind.MESSAGE_RECEIVED)) == 1


def test_a_received_message_reads_back_whole(roads_log: Log) -> None:
    event = roads_log.get(receive(roads_log, message(1, "你好 🐣")))
    assert event is not None
    received = Received.of(event)
    assert (received.text, received.account, received.said_at) == ("你好 🐣", "cli:local", START)
    assert received.materials == message(1).materials


def test_open_messages_are_those_without_an_outcome_in_order(roads_log: Log) -> None:
    first, second, third = (receive(roads_log, message(number)) for number in (1, 2, 3))
    place = Place("s_1", SPACE, "turn_1", "owner")
    roads_log.append(Kind.TURN_STARTED, place, {"messages": [first]})
    roads_log.append(Kind.COMMAND_RUN, place, cause=second)
    assert [event.id for event in Inbox(roads_log).open()] == [first, third]
    assert Inbox(roads_log).turn_of(first) == "turn_1"
    roads_log.append(Kind.TURN_FINISHED, place, {"outcome": "replied"})
    assert [event.id for event in Inbox(roads_log).open()] == [third]


def test_a_delivery_that_was_cut_off_is_unknown_and_not_sent_again(roads_log: Log) -> None:
    box = Outbox(roads_log)
    place = Place("s_1", SPACE, "turn_1", "owner")
    cut, waiting = (box.put(Draft("cli", text), place) for text in ("一", "二"))
    box.started(cut)
    box.settle()
    assert [event.id for event in box.waiting("cli", SPACE)] == [waiting.id]
    assert [event.cause for event in roads_log.of_kind(Kind.DELIVERY_UNKNOWN)] == [cut.id]


def test_sessions_follow_one_another_and_named_ones_stand_beside(roads_log: Log) -> None:
    book = Sessions(roads_log, Ids(ManualClock(START)))
    first = book.running(SPACE, "owner")
    assert book.running(SPACE, "owner") == first
    other = book.named(SPACE, "other", "owner")
    assert book.named(SPACE, "other", "owner") == other
    assert book.named(SPACE, other.id, "owner") == other
    assert book.running(SPACE, "owner") == first
    second = book.start(SPACE, "owner")
    assert book.running(SPACE, "owner") == second
    book.clear(second, "owner")
    assert book.running(SPACE, "owner").cleared > 0
    elsewhere = Space("group", "qq:777")
    assert book.named(elsewhere, "other", "owner").id != other.id


def test_a_replay_builds_the_same_tables(roads_log: Log) -> None:
    test_open_messages_are_those_without_an_outcome_in_order(roads_log)
    book = Sessions(roads_log, Ids(ManualClock(START)))
    book.clear(book.running(SPACE, "owner"), "owner")
    box = Outbox(roads_log)
    done, late, cut, waiting = (box.put(Draft("cli", text), Place("s_1", SPACE)) for text in "一二三四")
    for kind in (Kind.DELIVERY_UNKNOWN, Kind.DELIVERY_SENT, Kind.DELIVERY_SENT):
        box.started(done, len(roads_log.database.rows("SELECT 1 FROM outbox_parts")), 3)
        box.finished(done, kind, platform_id=f"p {kind}")
    box.started(late, 0, 2)
    box.later(late, 7.5, "429")
    box.started(cut, 0, 2)
    box.withdraw(lambda message: message.id in (cut.id, waiting.id), "stopped")
    box.finished(cut, Kind.DELIVERY_SENT)
    tables = ("inbox", "outbox", "outbox_parts", "running_sessions", "sessions")

    def content() -> list[list[tuple[object, ...]]]:
        return [sorted(map(tuple, roads_log.database.rows(f"SELECT * FROM {table}"))) for table in tables]

    states = [tuple(row) for row in roads_log.database.rows("SELECT state, part, parts, tries, why FROM outbox")]
    assert states == [
        ("unknown", 2, 3, 0, None),
        ("waiting", 0, 2, 1, "429"),
        ("sent", 0, 1, 0, "stopped"),
        ("refused", 0, 1, 0, "stopped"),
    ]
    before = content()
    with roads_log.transaction():
        for table in tables:
            if table != "sessions":
                roads_log.database.execute(f"DELETE FROM {table}")
        roads_log.database.execute("DELETE FROM sessions")
        for event in roads_log.replay():
            for project in PROJECTIONS:
                project(roads_log.database, event)
    assert content() == before
