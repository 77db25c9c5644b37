"""The book of questions that programs put to people. A projection of the events about them.

Whoever asks waits in this process and in no other: a question that an earlier one left open is closed at the start.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from qingtuan.clock import Clock
from qingtuan.confirmations.inquiry import Asked, Inquiry
from qingtuan.confirmations.inquiry_words import message_of
from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.identity.codes import ALPHABET
from qingtuan.language import Language
from qingtuan.messages import Origin, Space
from qingtuan.storage.sqlite import Database, Row, marks

CODE_LENGTH = 4
_ORIGINS = {"server": Origin.TOOL, "agent": Origin.AGENT, "program": Origin.AGENT}


def project(database: Database, event: Event) -> None:
    """Keep `inquiries` up to date."""
    if event.forgotten:
        return
    if event.kind in ERASING:
        which, values = erased_by(event)
        database.execute(f"DELETE FROM inquiries WHERE event IN ({which})", values)  # noqa: S608 (our words)
        return
    match event.kind:
        case Kind.INQUIRY_ASKED:
            _insert(database, event)
        case Kind.INQUIRY_ANSWERED:
            _close(database, event, "declined" if event.payload["answer"] == "declined" else "answered")
        case Kind.INQUIRY_CLOSED:
            _close(database, event, "expired" if event.payload["why"] == "expired" else "gone")
        case Kind.MESSAGE_SENT if event.cause and event.payload["kind"] == "question":
            database.execute("UPDATE inquiries SET message = ? WHERE event = ?", (event.id, event.cause))
        case Kind.DELIVERY_SENT | Kind.DELIVERY_UNKNOWN:
            database.execute(
                "UPDATE inquiries SET delivered = ?, certain = ? WHERE message = ?",
                (_millis(event.time), event.kind is Kind.DELIVERY_SENT, event.cause),
            )
        case _:
            pass


def _close(database: Database, event: Event, state: str) -> None:
    database.execute("UPDATE inquiries SET state = ? WHERE event = ? AND state = 'open'", (state, event.cause))


def _insert(database: Database, event: Event) -> None:
    place, payload = event.place, event.payload
    database.execute(
        "INSERT INTO inquiries (event, code, person, session, space, turn, expires, state)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, 'open')",
        (
            event.id,
            payload["code"],
            place.person,
            place.session,
            str(place.space),
            place.turn,
            _millis(datetime.fromisoformat(payload["expires"])),
        ),
    )


class InquiryBook:
    """Writes questions down, and what became of them."""

    def __init__(self, log: Log, clock: Clock, choose: Callable[[Sequence[str]], str] = secrets.choice) -> None:
        self._log = log
        self._clock = clock
        self._choose = choose

    def ask(self, inquiry: Inquiry, place: Place, language: Language) -> Asked:
        """Write a question down; its text is to be sent as a message of its own, caused by its event."""
        code = self._new_code()
        payload = {
            "code": code,
            "asker": inquiry.asker,
            "kind": inquiry.kind,
            "question": inquiry.text,
            "choices": list(inquiry.choices),
            "text": message_of(inquiry, code, language, in_turn=place.turn is not None),
            "may_skip": inquiry.may_skip,
            "several": inquiry.several,
            "trusted": inquiry.trusted,
            "expires": (self._clock.now() + inquiry.lasts).isoformat(),
        }
        event = self._log.append(Kind.INQUIRY_ASKED, place, payload, origin=_ORIGINS[inquiry.kind])
        asked = self.get(event.id)
        if asked is None:
            raise KeyError(event.id)
        return asked

    def _new_code(self) -> str:
        rows = self._log.database.rows(
            "SELECT code FROM confirmations WHERE state = 'open' UNION SELECT code FROM inquiries WHERE state = 'open'"
        )
        taken = {row["code"] for row in rows}
        while True:
            code = "".join(self._choose(ALPHABET) for _ in range(CODE_LENGTH))
            # A digit, so that no word of a sentence is taken for a code.
            if code not in taken and any(letter.isdigit() for letter in code):
                return code

    def take(self, event: str, answer: Literal["answered", "skipped", "declined"], *, by: str, message: str) -> bool:
        """Write down that `message` answers a question. False if it is not open (any more): an answer counts once."""
        with self._log.transaction():
            asked = self.get(event)
            if asked is None or asked.state != "open" or asked.expires <= self._clock.now():
                return False
            payload = {"answer": answer, "by": by, "message": message}
            self._log.append(Kind.INQUIRY_ANSWERED, asked.place, payload, cause=event)
        return True

    def close(self, event: str, why: Literal["expired", "gone", "restarted", "restored"]) -> Asked | None:
        """Close a question that nobody answers any more; None if it was not open."""
        with self._log.transaction():
            asked = self.get(event)
            if asked is None or asked.state != "open":
                return None
            self._log.append(Kind.INQUIRY_CLOSED, asked.place, {"why": why}, cause=event)
        return asked

    def withdraw(self) -> list[Asked]:
        """After a restore: close without a word whatever waits."""
        return [closed for asked in self.open() if (closed := self.close(asked.event, "restored")) is not None]

    # Reading

    def get(self, event: str) -> Asked | None:
        """The question of this `inquiry.asked`."""
        return next(iter(self._load("i.event = ?", [event])), None)

    def asked_in(self, message: str) -> Asked | None:
        """The question that a `message.sent` asks, if it is one."""
        return next(iter(self._load("i.message = ?", [message])), None)

    def coded(self, code: str, persons: Collection[str]) -> Asked | None:
        """The newest question to one of these persons that had this code."""
        found = self._load(f"i.code = ? AND i.person IN ({marks(persons)})", [code, *persons])
        return found[-1] if found else None

    def open(self) -> list[Asked]:
        """All questions that are open, oldest first; some may be about to expire."""
        return self._load("i.state = 'open'", [])

    def open_of(self, persons: Collection[str]) -> list[Asked]:
        """The open questions to somebody, by every id of theirs, oldest first."""
        return self._load(f"i.state = 'open' AND i.person IN ({marks(persons)})", sorted(persons))

    def _load(self, condition: str, values: Sequence[Any]) -> list[Asked]:
        rows = self._log.database.rows(
            "SELECT i.*, e.payload FROM inquiries AS i CROSS JOIN events AS e ON e.id = i.event"  # noqa: S608
            f" WHERE {condition} ORDER BY e.seq",
            values,
        )
        return [_asked(row) for row in rows]


def _asked(row: Row) -> Asked:
    payload = json.loads(row["payload"])
    return Asked(
        event=row["event"],
        code=row["code"],
        place=Place(row["session"], Space.parse(row["space"]), row["turn"], row["person"]),
        asker=payload["asker"],
        kind=payload["kind"],
        question=payload["question"],
        choices=tuple(payload["choices"]),
        text=payload["text"],
        may_skip=payload["may_skip"],
        several=payload["several"],
        trusted=payload["trusted"],
        expires=_moment(row["expires"]),
        state=row["state"],
        message=row["message"],
        delivered=_moment(row["delivered"]) if row["delivered"] is not None else None,
        certain=bool(row["certain"]),
    )


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _moment(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1000, UTC)
