"""The book of what is allowed ahead: events, numbers, what counts, and how it comes back after a restart."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from qingtuan.clock import ManualClock
from qingtuan.confirmations import standing
from qingtuan.confirmations.standing import MAX_STANDING, Given, Pattern, StandingBook
from qingtuan.errors import LimitReached, NotThere
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.identity.trust import Risk
from qingtuan.ids import Ids
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database
from qingtuan.tools.tool import Tool, ToolContext, ToolResult

HERE = Place("s_1", Space("private", "cli:local"), None, "owner")
PATTERN: Pattern = (("seat", "A*"), ("date", "*"))
MONTH = timedelta(days=30)


async def nothing(context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
    return ToolResult("")


BOOK = Tool(name="book", description="Books.", parameters={"type": "object"}, risk=Risk.ACT, run=nothing)


@pytest.fixture
def log(database: Database, clock: ManualClock) -> Log:
    return Log(database, clock, Ids(clock), (standing.project,))


@pytest.fixture
def message(log: Log) -> Event:
    return log.append(Kind.MESSAGE_RECEIVED, HERE, {"text": "/allow"})


@pytest.fixture
def book(log: Log, clock: ManualClock) -> StandingBook:
    return StandingBook(log, clock)


def give(book: StandingBook, message: Event, pattern: Pattern = PATTERN, tool: Tool = BOOK) -> Given:
    return book.give(tool, pattern, MONTH, HERE, cause=message.id)


def used(log: Log, given: Given) -> None:
    payload = {"call": "c", "name": "book", "standing": {"event": given.yes.event, "number": given.yes.number}}
    log.append(Kind.TOOL_STARTED, HERE, payload)


def test_it_is_an_event_with_all_that_it_means(
    book: StandingBook, message: Event, log: Log, clock: ManualClock
) -> None:
    given = give(book, message)
    event = log.get(given.yes.event)
    assert event is not None
    assert (event.kind, event.place, event.cause) == (Kind.STANDING_GIVEN, HERE, message.id)
    assert event.payload == {
        "tool": "book",
        "pattern": [["seat", "A*"], ["date", "*"]],
        "expires": (clock.now() + MONTH).isoformat(),
        "fingerprint": BOOK.fingerprint,
    }
    assert (given.yes.pattern, given.yes.number, given.used, given.last_used) == (PATTERN, 1, 0, None)


def test_numbers_are_never_used_twice(book: StandingBook, message: Event) -> None:
    assert [give(book, message, (("seat", name),)).yes.number for name in "ab"] == [1, 2]
    book.revoke(2, HERE, cause=message.id)
    assert give(book, message, (("seat", "c"),)).yes.number == 3
    assert [given.yes.number for given in book.standing()] == [1, 3]


def test_what_is_taken_back_is_gone_and_what_is_not_there_is_said(book: StandingBook, message: Event, log: Log) -> None:
    given = give(book, message)
    book.revoke(1, HERE, cause=message.id)
    assert book.standing() == []
    (revoked,) = log.caused_by(given.yes.event)
    assert revoked.kind is Kind.STANDING_REVOKED
    for number in (1, 7):
        with pytest.raises(NotThere):
            book.revoke(number, HERE, cause=message.id)


def test_the_same_once_more_takes_its_place(book: StandingBook, message: Event, clock: ManualClock) -> None:
    give(book, message)
    clock.advance(timedelta(days=1))
    again = give(book, message)
    assert [given.yes.number for given in book.standing()] == [2]
    assert again.yes.expires == clock.now() + MONTH


def test_it_runs_out(book: StandingBook, message: Event, clock: ManualClock) -> None:
    give(book, message)
    clock.advance(MONTH - timedelta(seconds=1))
    assert len(book.counting(lambda _: BOOK)) == 1
    clock.advance(timedelta(seconds=1))
    assert book.standing() == []
    assert book.counting(lambda _: BOOK) == ()
    with pytest.raises(NotThere):
        book.revoke(1, HERE, cause=message.id)


@pytest.mark.parametrize(
    "change",
    [
        {"description": "Books, and pays."},
        {"parameters": {"type": "object", "properties": {"pay": {}}}},
        {"version": "2"},
        {"risk": Risk.CRITICAL},
    ],
)
def test_it_does_not_count_for_a_tool_that_changed(book: StandingBook, message: Event, change: dict[str, Any]) -> None:
    given = give(book, message)
    assert book.counting(lambda _: BOOK) == (given.yes,)
    changed = replace(BOOK, **change)
    assert book.counting(lambda _: changed) == ()
    assert not given.counts(changed)
    assert book.counting(lambda _: None) == ()
    assert book.standing() == [given], "it is still in the list, for the owner to see"
    # A change that a yes does not rely on is none.
    assert book.counting(lambda _: replace(BOOK, timeout=1.0, patience=MONTH)) == (given.yes,)


def test_its_uses_are_counted(book: StandingBook, message: Event, log: Log, clock: ManualClock) -> None:
    given = give(book, message)
    other = give(book, message, (("seat", "B"),))
    used(log, given)
    clock.advance(timedelta(hours=1))
    used(log, given)
    log.append(Kind.TOOL_STARTED, HERE, {"call": "c", "name": "book"})
    assert [(found.used, found.last_used) for found in book.standing()] == [(2, clock.now()), (0, None)]
    assert other.yes.number == 2


def test_there_is_an_end_to_how_many_stand(book: StandingBook, message: Event) -> None:
    for number in range(MAX_STANDING):
        give(book, message, (("seat", str(number)),))
    with pytest.raises(LimitReached):
        give(book, message)
    give(book, message, (("seat", "0"),))  # takes its own place
    book.revoke(2, HERE, cause=message.id)
    give(book, message)


def test_it_outlives_a_restart_and_the_table_can_be_made_anew(
    book: StandingBook, message: Event, log: Log, clock: ManualClock
) -> None:
    used(log, give(book, message))
    give(book, message, (("seat", "B"),))
    book.revoke(2, HERE, cause=message.id)
    before = StandingBook(log, clock).standing()
    assert [given.used for given in before] == [1]
    with log.transaction():
        log.database.execute("DELETE FROM standing_yes")
        for event in log.replay():
            standing.project(log.database, event)
    assert StandingBook(log, clock).standing() == before
    assert give(book, message, (("seat", "C"),)).yes.number == 3
