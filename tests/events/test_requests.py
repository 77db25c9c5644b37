"""Requests are stored as references and come back byte for byte."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qingtuan.clock import ManualClock
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
