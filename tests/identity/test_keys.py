"""Keys of programs: shown once, known by their hash, and gone for good when revoked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from qingtuan.clock import ManualClock
from qingtuan.errors import NotThere, UsageWrong
from qingtuan.events.erasing import erase
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.identity import keys
from qingtuan.identity.accounts import LOCAL_PROGRAM, KeyOf
from qingtuan.identity.keys import Grant, KeyBook, Writes
from qingtuan.identity.people import People
from qingtuan.identity.scopes import Visibility
from qingtuan.ids import Ids
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database
from tests.fakes.turns import START

OWN, PRIVATE, PUBLIC = Visibility.OWN, Visibility.PRIVATE, Visibility.PUBLIC


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    clock = ManualClock(START)
    database = Database(tmp_path / "state.sqlite")
    yield Log(database, clock, Ids(clock), [keys.project])
    database.close()


@pytest.fixture
def book(log: Log) -> KeyBook:
    return KeyBook(log)


def test_a_key_is_known_again_and_stands_nowhere(book: KeyBook, log: Log, tmp_path: Path) -> None:
    text = book.issue("laptop", "owner", PRIVATE)
    assert re.fullmatch(r"[A-Za-z0-9_-]{32,}", text)
    found = book.known(text)
    assert found is not None
    assert (found.name, found.account, found.person, found.scope) == ("laptop", "http:laptop", "owner", PRIVATE)
    log.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert all(text.encode() not in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize("wrong", ["", "qt_", "\ud800", "\0", "x" * 10_000, "qt_" + "A" * 43])
def test_anything_else_is_no_key(book: KeyBook, wrong: str) -> None:
    text = book.issue("laptop", "owner", PRIVATE)
    assert book.known(wrong) is None
    assert book.known(text + wrong) is None or wrong == ""
    assert book.known(text.swapcase()) is None


def test_a_revoked_key_opens_nothing(book: KeyBook, log: Log) -> None:
    text, other = book.issue("laptop", "owner", PRIVATE), book.issue("phone", "owner", OWN)
    book.revoke("laptop")
    assert book.known(text) is None
    assert book.known(other) is not None
    assert [event.payload["name"] for event in log.of_kind(Kind.KEY_REVOKED)] == ["laptop"]
    with pytest.raises(NotThere):
        book.revoke("laptop")
    with pytest.raises(NotThere):
        book.revoke("nobody")


def test_a_name_goes_on_with_the_same_person_and_scope_only(book: KeyBook) -> None:
    """What was said with a wide key would else be read by a narrow one of its name."""
    first = book.issue("laptop", "owner", PRIVATE)
    with pytest.raises(UsageWrong):
        book.issue("laptop", "owner", PRIVATE)
    book.revoke("laptop")
    with pytest.raises(UsageWrong):
        book.issue("laptop", "owner", PUBLIC)
    with pytest.raises(UsageWrong):
        book.issue("laptop", "li", PRIVATE)
    second = book.issue("laptop", "owner", PRIVATE)
    assert first != second
    assert book.known(first) is None
    assert book.known(second) is not None


@pytest.mark.parametrize("name", ["", "Laptop", "a b", "a:b", "名字", "-a", "x" * 33, "a\n", "a/b"])
def test_names_are_plain(book: KeyBook, name: str) -> None:
    with pytest.raises(UsageWrong):
        book.issue(name, "owner", PRIVATE)


def test_forgetting_a_person_takes_their_keys(book: KeyBook, log: Log) -> None:
    theirs, other = book.issue("hers", "li", PRIVATE), book.issue("laptop", "owner", PRIVATE)
    with log.transaction(durable=True):
        erase(log, log.append(Kind.PERSON_FORGOTTEN, Place(person="li"), {"events": []}))
    assert book.known(theirs) is None
    assert book.find("hers") is None
    assert book.known(other) is not None


def test_after_a_restore_no_key_opens_anything(book: KeyBook, log: Log) -> None:
    """Which of them was revoked since the backup was made is not known."""
    text = book.issue("laptop", "owner", PRIVATE)
    log.append(Kind.FOLDER_RESTORED, Place(), {})
    assert book.known(text) is None
    assert [key.valid for key in book.all()] == [False]
    assert book.known(book.issue("laptop", "owner", PRIVATE)) is not None


def test_whoever_reads_with_a_key_reads_within_its_scope(book: KeyBook) -> None:
    people = People(owner_accounts=["qq:1"])
    book.issue("laptop", "owner", PUBLIC)
    people.hold(book.holders())
    there = Space("private", "http:laptop")
    assert people.reader("http:laptop", there).ceiling is PUBLIC
    assert people.reader("qq:1", there).ceiling is PUBLIC
    assert people.reader("http:laptop", Space("private", "qq:1")).ceiling is PUBLIC
    assert people.reader("qq:1", Space("private", "qq:1")).ceiling is PRIVATE
    assert not people.reader("http:laptop", there).is_owner_alone
    people.hold({"http:laptop": KeyOf("owner")})
    assert people.reader("http:laptop", there).is_owner_alone


def test_a_key_of_which_nothing_was_said_has_the_least(book: KeyBook) -> None:
    book.issue("plain", "owner", Visibility.PRIVATE)
    found = book.find("plain")
    assert found is not None
    assert found.grant == Grant(Visibility.PUBLIC, Writes.REVIEW)


def test_by_no_grant_is_more_seen_than_by_the_scope(book: KeyBook) -> None:
    text = book.issue("odd", "owner", Visibility.PUBLIC, grant=Grant(Visibility.PRIVATE, Writes.DIRECT))
    found = book.known(text)
    assert found is not None
    assert found.grant == Grant(Visibility.PUBLIC, Writes.DIRECT)


def test_a_grant_that_nobody_knows_is_none(book: KeyBook, log: Log) -> None:
    book.issue("newer", "owner", Visibility.PRIVATE, grant=Grant(Visibility.PRIVATE, Writes.DIRECT))
    said = {"name": "newer", "scope": "private", "reads": "private", "writes": "everything"}
    event = log.append(Kind.KEY_ISSUED, Place(person="owner"), said)
    log.database.execute("UPDATE keys SET event = ?", (event.id,))
    found = book.find("newer")
    assert found is not None
    assert found.grant == Grant(Visibility.PUBLIC, Writes.NONE)


def test_a_program_without_a_key_is_the_owners_and_sees_what_is_public(book: KeyBook) -> None:
    people = People(keys=book.holders())
    reader = people.reader(LOCAL_PROGRAM, Space("private", LOCAL_PROGRAM))
    assert (reader.person, reader.ceiling) == ("owner", Visibility.PUBLIC)
    assert not reader.is_owner_alone
