"""Requests are stored as references and come back byte for byte."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qingtuan.clock import ManualClock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.events.requests import Requests
from qingtuan.ids import Ids
from qingtuan.models.chat import WireRequest
from qingtuan.storage.sqlite import Database

CLOCK = ManualClock(datetime(2026, 11, 29, tzinfo=UTC))


def requests_log(folder: Path) -> Log:
    return Log(Database(folder / "state.sqlite"), CLOCK, Ids(CLOCK))


def wire(texts: list[str], tools: bool = True) -> WireRequest:
    messages = tuple(json.dumps({"role": "user", "content": text}, ensure_ascii=False).encode() for text in texts)
    return WireRequest(messages, b'[{"type":"function"}]' if tools else None, b'{"model":"m","stream":true}')


MESSAGES = st.lists(st.sampled_from(["你好", "b", "c", "🐣"]), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(st.lists(st.tuples(MESSAGES, st.booleans()), min_size=1, max_size=8))
def test_every_request_comes_back_as_it_was_sent(tmp_path: Path, sent: list[tuple[list[str], bool]]) -> None:
    log = requests_log(tmp_path)
    requests = Requests(log)
    events = [(requests.store(wire(*one), Place("s_1"), {"model": "m"}), wire(*one)) for one in sent]
    for event, original in events:
        assert Requests(log).load(event) == original
        assert Requests(log).load(event).body() == original.body()
    log.database.close()


def test_a_long_session_costs_what_is_new_in_it(tmp_path: Path) -> None:
    log = requests_log(tmp_path)
    requests = Requests(log)
    history: list[str] = []
    for number in range(200):
        history += [f"问 {number}", f"答 {number}"]
        event = requests.store(wire(history), Place("s_1"), {"model": "m"})
    assert requests.load(event) == wire(history)
    stored = log.database.row("SELECT sum(length(payload)) AS bytes FROM events")
    assert stored is not None
    # Full lists would take 200 × 200 × 67 bytes and more.
    assert stored["bytes"] < 400_000


def test_a_request_that_was_rolled_back_is_no_base_for_the_next_one(tmp_path: Path) -> None:
    log = requests_log(tmp_path)
    requests = Requests(log)
    place = Place("s_1")

    def store_and_fail() -> None:
        with log.transaction():
            requests.store(wire(["一", "二"]), place, {})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store_and_fail()
    event = requests.store(wire(["一", "二", "三"]), place, {})
    assert requests.load(event) == wire(["一", "二", "三"])


def test_pieces_that_went_with_a_forgotten_person_are_stored_again_where_they_are_said(tmp_path: Path) -> None:
    log = requests_log(tmp_path)
    requests = Requests(log)
    place = Place("s_1")
    requests.store(wire(["一"]), place, {})
    with log.transaction():
        log.database.execute("DELETE FROM parts")
        log.append(Kind.PERSON_FORGOTTEN, Place(person="qq-1"))
    event = requests.store(wire(["一", "二"]), place, {})
    assert requests.load(event) == wire(["一", "二"])


def test_of_many_sessions_only_the_newest_are_kept_in_mind(tmp_path: Path) -> None:
    log = requests_log(tmp_path)
    requests = Requests(log)
    for number in range(100):
        requests.store(wire([f"{number}"]), Place(f"s_{number}"), {})
    first = requests.store(wire(["0", "一"]), Place("s_0"), {})
    newest = requests.store(wire(["99", "一"]), Place("s_99"), {})
    assert (first.payload["depth"], newest.payload["depth"]) == (0, 1)
    assert requests.load(first) == wire(["0", "一"])
