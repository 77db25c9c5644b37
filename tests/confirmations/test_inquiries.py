"""The book of questions of programs: what a replay and an erasure make of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.clock import ManualClock
from qingtuan.confirmations import inquiries
from qingtuan.confirmations.inquiries import InquiryBook
from qingtuan.confirmations.inquiry import Asked, Inquiry
from qingtuan.confirmations.inquiry_words import chosen, held_back, labels, message_of, picked
from qingtuan.events import outbox
from qingtuan.events.erasing import erase
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.events.outbox import Draft, Outbox
from qingtuan.ids import Ids
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database

HERE = Place("s_1", Space("private", "qq:1"), "turn_1", "qq-1")
QUESTION = Inquiry(asker="library", kind="server", text="哪一层？", choices=("一楼", "二楼"))


@pytest.fixture
def log(database: Database, clock: ManualClock) -> Log:
    return Log(database, clock, Ids(clock), (outbox.project, inquiries.project))


@pytest.fixture
def book(log: Log, clock: ManualClock) -> InquiryBook:
    return InquiryBook(log, clock)


def put(book: InquiryBook, log: Log) -> Asked:
    asked = book.ask(QUESTION, HERE, "zh")
    sent = Outbox(log).put(Draft("onebot", asked.text, "question", by_code=True), HERE, cause=asked.event)
    Outbox(log).started(sent)
    Outbox(log).finished(sent, Kind.DELIVERY_SENT, platform_id="p1")
    return asked


def test_an_answer_counts_once_and_in_time(book: InquiryBook, log: Log, clock: ManualClock) -> None:
    first, late = put(book, log), put(book, log)
    assert first.code != late.code
    assert book.take(first.event, "answered", by="qq-1", message="evt_1")
    assert not book.take(first.event, "answered", by="qq-1", message="evt_2")
    assert [asked.event for asked in book.open_of(["qq-1"])] == [late.event]
    clock.advance(timedelta(minutes=31))
    assert not book.take(late.event, "answered", by="qq-1", message="evt_3")
    assert book.close(late.event, "expired") is not None
    assert book.close(late.event, "gone") is None
    assert book.open() == []


def test_a_replay_makes_the_same_table(book: InquiryBook, log: Log) -> None:
    for take in ("answered", "declined", None):
        asked = put(book, log)
        if take == "answered" or take == "declined":
            book.take(asked.event, take, by="qq-1", message="evt_1")
    book.withdraw()
    rows = [tuple(row) for row in log.database.rows("SELECT * FROM inquiries ORDER BY event")]
    log.database.execute("DELETE FROM inquiries")
    for event in log.replay():
        inquiries.project(log.database, event)
    assert [tuple(row) for row in log.database.rows("SELECT * FROM inquiries ORDER BY event")] == rows
    assert len(rows) == 3


def test_who_is_forgotten_is_asked_nothing(book: InquiryBook, log: Log) -> None:
    asked = put(book, log)
    with log.transaction():
        erase(log, log.append(Kind.PERSON_FORGOTTEN, Place(person="qq-1"), {"events": []}))
    assert book.get(asked.event) is None
    stored = log.get(asked.event)
    assert stored is not None
    assert stored.forgotten


def test_the_answer_stands_in_no_event_of_the_question(book: InquiryBook, log: Log) -> None:
    asked = put(book, log)
    book.take(asked.event, "answered", by="qq-1", message="evt_1")
    (answered,) = log.of_kind(Kind.INQUIRY_ANSWERED)
    assert dict(answered.payload) == {"answer": "answered", "by": "qq-1", "message": "evt_1"}


@given(st.lists(st.text(max_size=12), min_size=1, max_size=20).map(tuple))
def test_every_label_names_its_own_choice_and_no_other(choices: tuple[str, ...]) -> None:
    found = [chosen(label, choices) for label in labels(choices)]
    assert found == list(range(len(choices))) or any("#" in choice for choice in choices)
    for place, choice in enumerate(choices):
        said = chosen(choice, choices)
        assert said in (None, place)


@given(st.text(max_size=300), st.lists(st.text(max_size=30), max_size=5).map(tuple))
def test_no_words_of_a_program_break_out_of_their_quotes(text: str, choices: tuple[str, ...]) -> None:
    inquiry = Inquiry(asker="x", kind="server", text=text, choices=choices)
    shown = message_of(inquiry, "A1B2", "zh", in_turn=True)
    lines = shown.split("\n")
    assert lines[0] == "工具服务器 x 问你（下面是它的原话）："
    assert lines[-1] == "你的回答只交给它，不算答应我做任何事。"
    assert len(lines) == 3 + bool(text.strip()) + len(choices) + ("注意：" in shown)


@given(st.text(max_size=60), st.lists(st.text(max_size=8), max_size=6).map(tuple))
def test_picking_is_always_within_the_choices(text: str, choices: tuple[str, ...]) -> None:
    picks = picked(text, choices)
    assert picks is None or all(0 <= place < len(choices) for place in picks)


@pytest.mark.parametrize(
    ("question", "answer", "held"),
    [
        ("几楼？", "二楼", False),
        ("哪天？", "2026-12-01", False),
        ("手机号？", "13800138000", False),
        ("密码？", "hunter2!", True),
        ("Your API key?", "abcd1234", True),
        ("密码？", "没有", False),
        ("邮箱？", "me@example.org", False),
        ("名字？", "sk-proj-9f8e7d6c5b4a3928170611223344556677889900aabb", True),
        ("名字？", "密码是 abc12345", True),
    ],
)
def test_what_looks_like_a_secret_is_held_back(question: str, answer: str, held: bool) -> None:
    assert held_back(question, answer) is held
