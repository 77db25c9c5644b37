from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import cycle
from typing import Any

import pytest

from qingtuan.clock import ManualClock
from qingtuan.confirmations import book as book_module
from qingtuan.confirmations.book import Book
from qingtuan.confirmations.confirmation import Confirmation, StoppedCall
from qingtuan.confirmations.question import Wanted
from qingtuan.errors import ToolFailed
from qingtuan.events import inbox, outbox
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.events.outbox import Draft, Outbox
from qingtuan.identity.codes import ALPHABET
from qingtuan.identity.scopes import Reader, Role
from qingtuan.identity.trust import Piece, Risk
from qingtuan.ids import Ids
from qingtuan.messages import Inbound, Origin, Space
from qingtuan.storage.sqlite import Database
from qingtuan.tools.registry import Registry
from qingtuan.tools.run import Prepared, Situation, prepare
from qingtuan.tools.tool import Tool, ToolContext, ToolResult

GROUP = Space("group", "qq:777")
OWNER = Reader("owner", Role.OWNER, Space("private", "qq:1"))
OWNER_IN_GROUP = replace(OWNER, space=GROUP)
MEMBER = Reader("qq-2", Role.MEMBER, GROUP)
PAGE = (Piece(Origin.WEB, "a page"),)


async def nothing(context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
    return ToolResult("")


BOOK_SEAT = Tool(name="reserve_seat", description="", parameters={"type": "object"}, risk=Risk.ACT, run=nothing)
CANCEL = replace(BOOK_SEAT, name="cancel_reservation")


@pytest.fixture
def log(database: Database, clock: ManualClock) -> Log:
    return Log(database, clock, Ids(clock), (inbox.project, outbox.project, book_module.project))


@pytest.fixture
def book(log: Log, clock: ManualClock) -> Book:
    return Book(log, clock)


class Asking:
    """Asks on behalf of a turn, with what the tests leave open filled in."""

    def __init__(self, book: Book, log: Log, clock: ManualClock) -> None:
        self.book, self.log, self.clock = book, log, clock
        self._turns = 0

    def stopped(self, tool: Tool = BOOK_SEAT, reader: Reader = OWNER, **change: Any) -> StoppedCall:
        self._turns += 1
        wanted = Wanted(
            tool, change.pop("arguments", {"seat": "A12"}), self.clock.now(), "zh", change.pop("material", ())
        )
        stopped = StoppedCall(wanted, reader, f"s_{reader.space.id}", f"turn_{self._turns}", "call_1", tool.risk)
        return replace(stopped, account=f"qq:{reader.person.removeprefix('qq-')}", **change)

    def __call__(self, tool: Tool = BOOK_SEAT, reader: Reader = OWNER, **change: Any) -> Confirmation:
        return self.book.ask(self.stopped(tool, reader, **change))

    def deliver(self, asked: Confirmation, kind: Kind = Kind.DELIVERY_SENT) -> Confirmation:
        box = Outbox(self.log)
        message = box.put(Draft("onebot", asked.text, "question", by_code=True), asked.place, cause=asked.event)
        box.started(message)
        box.finished(message, kind, platform_id="9001")
        delivered = self.book.get(asked.event)
        assert delivered is not None
        return delivered


@pytest.fixture
def ask(book: Book, log: Log, clock: ManualClock) -> Asking:
    return Asking(book, log, clock)


def state(book: Book, asked: Confirmation) -> str:
    current = book.get(asked.event)
    assert current is not None
    return current.state


def test_a_question_is_an_event_with_the_whole_call(ask: Asking, log: Log) -> None:
    asked = ask()
    event = log.get(asked.event)
    assert event is not None
    assert event.kind is Kind.CONFIRMATION_ASKED
    assert event.place == Place("s_qq:1", OWNER.space, "turn_1", "owner")
    assert asked.arguments == {"seat": "A12"}
    assert asked.binding == BOOK_SEAT.binding({"seat": "A12"})
    assert asked.state == "open"
    assert asked.text.endswith("回复「确认」或「取消」。")


def test_a_question_about_material_carries_its_origin(ask: Asking, log: Log) -> None:
    event = log.get(ask(material=PAGE).event)
    assert event is not None
    assert event.origin is Origin.WEB


def test_codes_are_short_without_look_alikes_with_a_digit_and_unique(book: Book, ask: Asking, log: Log) -> None:
    letters = cycle("ABCD" + "AB2C" + "AB2C" + "AB3C")
    scripted = Asking(Book(log, ask.clock, lambda _: next(letters)), log, ask.clock)
    assert [scripted(tool).code for tool in (BOOK_SEAT, CANCEL)] == ["AB2C", "AB3C"]
    code = ask(reader=MEMBER).code
    assert len(code) == 4
    assert set(code) <= set(ALPHABET)
    assert not set(ALPHABET) & set("01IO")


def test_a_code_is_shown_only_when_it_is_needed(ask: Asking) -> None:
    plain = ask()
    assert not plain.needs_code
    assert plain.code not in plain.text
    second = ask(CANCEL)
    assert second.needs_code
    assert second.code in second.text


@pytest.mark.parametrize(
    "change", [{"risk": Risk.CRITICAL}, {"arguments": {"code": "x" * 501}}], ids=["critical", "over-long"]
)
def test_critical_and_over_long_questions_show_a_code(ask: Asking, change: dict[str, Any]) -> None:
    asked = ask(**change)
    assert asked.needs_code
    assert f"确认 {asked.code}" in asked.text


def test_the_owner_needs_the_code_of_somebody_elses_act_and_sees_who_wants_it(ask: Asking) -> None:
    asked = ask(reader=MEMBER)
    assert asked.code in asked.text
    assert asked.text.startswith("qq:2（群 qq:777）要我做这件事，你同意吗？\n")
    assert asked.summary_for(OWNER).startswith("qq:2（群 qq:777）：要执行")
    assert asked.summary_for(MEMBER).startswith("要执行")
    by_setting = ask(CANCEL, reader=replace(MEMBER, person="qq-3"), roles=frozenset({Role.MEMBER}))
    assert by_setting.code not in by_setting.text
    own_write = ask(replace(CANCEL, risk=Risk.WRITE), reader=replace(MEMBER, person="qq-4"))
    assert own_write.code not in own_write.text


def test_the_same_tool_asked_again_replaces_the_open_question(ask: Asking, book: Book) -> None:
    morning = ask(arguments={"start": "09:00"})
    afternoon = ask(arguments={"start": "14:00"})
    assert state(book, morning) == "replaced"
    assert [asked.event for asked in book.open()] == [afternoon.event]
    assert not afternoon.needs_code


def test_other_tools_sessions_people_and_calls_side_by_side_replace_nothing(ask: Asking, book: Book) -> None:
    first = ask(turn="turn_side")
    ask(arguments={"seat": "A13"}, turn="turn_side")
    ask(CANCEL)
    ask(reader=MEMBER)
    assert state(book, first) == "open"
    assert len(book.open()) == 4
    assert [asked.tool for asked in book.open_in("s_qq:777")] == ["reserve_seat"]


def test_the_very_same_call_asked_twice_in_a_turn_is_one_question(ask: Asking, book: Book) -> None:
    first, second = ask(turn="t"), ask(turn="t")
    assert [asked.event for asked in book.open()] == [second.event]
    assert state(book, first) == "replaced"


def test_at_most_three_are_open_for_one_person(ask: Asking, book: Book) -> None:
    for number in range(3):
        ask(replace(BOOK_SEAT, name=f"tool{number}"))
    with pytest.raises(ToolFailed, match="3 questions"):
        ask(CANCEL)
    assert len(book.open()) == 3
    ask(replace(BOOK_SEAT, name="tool0"))  # takes the place of its own earlier question
    ask(reader=MEMBER)
    ask.clock.advance(timedelta(minutes=31))
    ask(CANCEL)


def test_with_material_in_view_a_turn_asks_once(ask: Asking) -> None:
    ask(material=PAGE, turn="t")
    with pytest.raises(ToolFailed, match="one question a turn"):
        ask(CANCEL, material=PAGE, turn="t")
    ask(CANCEL, material=PAGE, turn="u")
    ask(replace(CANCEL, name="other"), turn="u")


def test_what_was_refused_is_not_asked_again_in_the_same_turn(ask: Asking, book: Book) -> None:
    asked = ask(turn="t")
    book.take(asked.event, "no", by="owner")
    with pytest.raises(ToolFailed, match="the answer to this very call was no"):
        ask(turn="t")
    ask(arguments={"seat": "B1"}, turn="t")
    ask(turn="u")


def test_an_answer_counts_once_and_is_an_event(ask: Asking, book: Book, log: Log) -> None:
    asked = ask()
    taken = book.take(asked.event, "yes", by="owner", cause="evt_message")
    assert taken is not None
    assert taken.state == "yes"
    assert book.take(asked.event, "yes", by="owner") is None
    assert book.take(asked.event, "no", by="owner") is None
    assert book.take("evt_unknown", "yes", by="owner") is None
    (answered,) = log.caused_by(asked.event)
    assert answered.id == taken.answer
    assert answered.payload == {"answer": "yes", "tool": "reserve_seat", "by": "owner", "message": "evt_message"}


def test_the_call_that_follows_a_yes_is_the_one_that_was_asked_about(ask: Asking, clock: ManualClock) -> None:
    arguments = {"座位": "A12", "hours": 2, "share": 2.0, "note": None}
    asked = ask(replace(BOOK_SEAT, roles=frozenset(Role)), arguments=arguments)
    registry = Registry([BOOK_SEAT])
    prepared = prepare(asked.call("call_2"), registry, Situation(OWNER, clock.now(), "zh"), approved=asked.binding)
    assert isinstance(prepared, Prepared)
    assert not prepared.stopped
    assert prepared.arguments == arguments
    assert prepared.call.id == "call_2"


def test_an_answer_of_the_owner_stays_in_the_turn_of_the_asker(ask: Asking, book: Book, log: Log) -> None:
    asked = ask(reader=MEMBER)
    book.take(asked.event, "no", by="owner")
    (answered,) = log.caused_by(asked.event)
    assert answered.place.person == "qq-2"
    assert answered.place.session == asked.place.session


def test_time_runs_out_by_tool(ask: Asking, book: Book, log: Log) -> None:
    usual = ask()
    patient = ask(replace(CANCEL, patience=timedelta(hours=2)))
    ask.clock.advance(timedelta(minutes=30))
    assert [asked.event for asked in book.open()] == [patient.event]
    assert book.take(usual.event, "yes", by="owner") is None
    assert state(book, usual) == "expired"
    assert [event.kind for event in log.caused_by(usual.event)] == [Kind.CONFIRMATION_EXPIRED]
    assert book.expire() == []
    ask.clock.advance(timedelta(hours=2))
    assert [asked.event for asked in book.expire()] == [patient.event]


def test_delivery_is_known_from_the_outbox(ask: Asking, book: Book, clock: ManualClock) -> None:
    asked = ask()
    assert asked.message is None
    assert asked.delivered is None
    clock.advance(timedelta(seconds=2))
    delivered = ask.deliver(asked)
    assert delivered.delivered == clock.now()
    assert delivered.certain
    assert delivered.message == book.of_message(OWNER.space, "9001")
    assert book.of_message(GROUP, "9001") is None
    unsure = ask.deliver(ask(CANCEL), Kind.DELIVERY_UNKNOWN)
    assert unsure.delivered is not None
    assert not unsure.certain
    refused = ask.deliver(ask(reader=MEMBER), Kind.DELIVERY_REFUSED)
    assert refused.delivered is None


def test_one_stands_before_what_one_may_answer_here(ask: Asking, book: Book) -> None:
    in_group = ask(reader=MEMBER)
    own = ask()

    def answerable(reader: Reader, others: int = 0) -> tuple[list[str], int]:
        found = book.answerable(reader, message="evt_x", others=others)
        return [asked.event for asked in found.open], found.others

    assert answerable(OWNER) == ([in_group.event, own.event], 0)
    assert answerable(OWNER_IN_GROUP, 2) == ([in_group.event], 3)
    assert answerable(MEMBER) == ([], 1)
    assert answerable(replace(MEMBER, person="qq-9")) == ([], 0)
    assert answerable(Reader("owner", Role.OWNER, Space("private", "http:key"))) == ([], 1)


def test_the_last_question_that_ran_out_is_remembered_for_a_day(ask: Asking, book: Book) -> None:
    def late(reader: Reader = OWNER) -> Confirmation | None:
        return book.answerable(reader, message="evt_x").expired

    asked = ask()
    assert late() is None
    ask.clock.advance(timedelta(minutes=30))
    expired = late()
    assert expired is not None
    assert expired.event == asked.event
    assert late(OWNER_IN_GROUP) is None
    ask.clock.advance(timedelta(days=1, minutes=1))
    assert late() is None


def test_what_ran_out_can_be_asked_anew_once(ask: Asking, book: Book) -> None:
    asked = ask()
    ask.clock.advance(timedelta(minutes=31))
    book.expire()
    expired = book.answerable(OWNER, message="evt_x").expired
    assert expired is not None
    fresh = book.ask(ask.stopped(), renews=expired)
    assert state(book, asked) == "replaced"
    assert fresh.state == "open"
    assert fresh.binding == asked.binding
    assert book.answerable(OWNER, message="evt_x").expired is None


def test_whether_the_asker_spoke_since_is_known(ask: Asking, book: Book, log: Log) -> None:
    session = ask().place.session or ""

    def say(number: int) -> str:
        inbound = Inbound("onebot", "qq:1", OWNER.space, str(number), "好", ask.clock.now())
        event = inbox.Inbox(log).receive(inbound, session=session, person="owner", origin=Origin.OWNER)
        assert event is not None
        return event.id

    ask.clock.advance(timedelta(minutes=31))
    assert not book.answerable(OWNER, message=say(1)).spoke_since
    assert book.answerable(OWNER, message=say(2)).spoke_since


def test_a_yes_after_which_nothing_ran_is_found_again(ask: Asking, book: Book, log: Log) -> None:
    asked = ask()
    assert book.unresumed() == []
    taken = book.take(asked.event, "yes", by="owner")
    assert taken is not None
    assert [one.event for one in book.unresumed()] == [asked.event]
    log.append(Kind.TOOL_STARTED, asked.place, {"call": "c", "name": "x", "resumed": True}, cause=taken.answer)
    assert book.unresumed() == []


def test_questions_outlive_a_restart_and_the_table_can_be_made_anew(
    ask: Asking, book: Book, log: Log, clock: ManualClock
) -> None:
    ask.deliver(ask())
    book.take(ask(CANCEL).event, "no", by="owner")
    answered = book.take(ask(reader=MEMBER).event, "yes", by="owner")
    assert answered is not None
    log.append(Kind.TOOL_STARTED, answered.place, {"call": "c"}, cause=answered.answer)
    ask()
    clock.advance(timedelta(minutes=31))
    book.expire()
    ask(CANCEL)

    def rows() -> list[tuple[Any, ...]]:
        return [tuple(row) for row in log.database.rows("SELECT * FROM confirmations ORDER BY event")]

    before = rows()
    assert len(before) == 5
    Book(log, clock).rebuild()
    assert rows() == before
    assert [asked.tool for asked in Book(log, clock).open()] == ["cancel_reservation"]


def test_a_person_who_is_forgotten_leaves_no_question(ask: Asking, book: Book, log: Log) -> None:
    asked = ask(reader=MEMBER)
    ask()
    log.append(Kind.PERSON_FORGOTTEN, Place(person="qq-2"))
    log.database.execute("UPDATE events SET payload = '{\"forgotten\":true}' WHERE id = ?", (asked.event,))
    assert book.get(asked.event) is None
    book.rebuild()
    assert [one.asker for one in book.open()] == ["owner"]
