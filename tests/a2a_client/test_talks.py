"""Whose talk with an agent is gone on with."""

from __future__ import annotations

from qingtuan.a2a_client import talks
from qingtuan.a2a_client.talks import Talk, Talks
from qingtuan.clock import ManualClock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.ids import Ids
from qingtuan.messages import Origin, Space
from qingtuan.storage.sqlite import Database

GROUP = Space("group", "qq:777")
SESSION, AGENT = "session_1", "doudou"
ASKS = Talk("c1", "t1", "asks")


def started(log: Log, person: str) -> str:
    """A call in the session of a group that a person's turn makes."""
    place = Place(SESSION, GROUP, f"turn_{person}", person)
    return log.append(Kind.TOOL_STARTED, place, {}, origin=Origin.TOOL).id


def test_in_a_group_everybody_has_a_talk_of_their_own(database: Database, clock: ManualClock) -> None:
    log = Log(database, clock, Ids(clock), [talks.project])
    held = Talks(log)
    held.note(started(log, "li"), AGENT, ASKS)
    assert held.of(SESSION, "li", AGENT) == ASKS
    assert held.of(SESSION, "wang", AGENT) == Talk()
    held.note(started(log, "wang"), AGENT, Talk("c2"))
    assert held.of(SESSION, "li", AGENT) == ASKS
    assert held.of(SESSION, "wang", AGENT) == Talk("c2")


def test_who_is_forgotten_takes_nobody_else_s_along(database: Database, clock: ManualClock) -> None:
    log = Log(database, clock, Ids(clock), [talks.project])
    held = Talks(log)
    for person in ("li", "wang"):
        held.note(started(log, person), AGENT, ASKS)
    log.append(Kind.PERSON_FORGOTTEN, Place(person="li"), {"events": []}, origin=Origin.OWNER)
    assert held.of(SESSION, "li", AGENT) == Talk()
    assert held.of(SESSION, "wang", AGENT) == ASKS
