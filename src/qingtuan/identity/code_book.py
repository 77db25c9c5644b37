"""The one-use codes of an instance: given, tried, used up (identity.md, Claim, Linking).

code.given  {use, account?, by, channel, salt, digest, length, expires}; of who asked for it, where they asked
code.tried  {code, answer: right | wrong | void}; of who sent it
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Literal

from qingtuan.clock import Clock
from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.identity.accounts import is_account, may_claim
from qingtuan.identity.codes import LIFETIME, MAX_WRONG, Answer, OneUseCode, answer_code, looks_like_code, new_code
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database, Row

Use = Literal["claim", "link"]
State = Literal["open", "shown", "used", "void"]

LINK_LENGTH = 6
"""Characters of the code of a link: it counts from one known account only."""

_SLACK = timedelta(minutes=1)
"""By how much a clock may be put right."""

_WORD = re.compile(r"[0-9A-Za-z０-９Ａ-Ｚａ-ｚ]+")
_LONGEST = 4000
"""Characters of a message in a group that are looked through for codes."""


def project(database: Database, event: Event) -> None:
    """Keep `codes` up to date."""
    if event.forgotten:
        return
    if event.kind in ERASING:
        which, values = erased_by(event)
        database.execute(f"DELETE FROM codes WHERE event IN ({which})", values)  # noqa: S608 (placeholders)
    elif event.kind is Kind.CODE_GIVEN:
        _given(database, event)
    elif event.kind is Kind.CODE_TRIED:
        _tried(database, event)
    elif event.kind in (Kind.PERSON_LINKED, Kind.PERSON_CLAIMED):
        database.execute("UPDATE codes SET state = 'used' WHERE event = ?", (event.payload.get("code"),))


def _given(database: Database, event: Event) -> None:
    payload, person = event.payload, event.place.person
    # Who asks for a new one has lost the last one.
    database.execute(
        "UPDATE codes SET state = 'void' WHERE person = ? AND use = ? AND state IN ('open', 'shown')",
        (person, payload["use"]),
    )
    database.execute(
        "INSERT INTO codes (event, use, person, account, expires, state) VALUES (?, ?, ?, ?, ?, 'open')",
        (event.id, payload["use"], person, payload.get("account"), _millis(datetime.fromisoformat(payload["expires"]))),
    )


def _tried(database: Database, event: Event) -> None:
    code, answer = event.payload["code"], event.payload["answer"]
    if answer == Answer.WRONG:
        database.execute("UPDATE codes SET wrong = wrong + 1 WHERE event = ?", (code,))
        database.execute("UPDATE codes SET state = 'void' WHERE event = ? AND wrong >= ?", (code, MAX_WRONG))
    elif answer == Answer.VOID:
        database.execute("UPDATE codes SET state = 'void' WHERE event = ?", (code,))
    else:
        database.execute(
            "UPDATE codes SET shown = ?, expires = ?, state = CASE use WHEN 'link' THEN 'shown' ELSE 'used' END"
            " WHERE event = ?",
            (event.id, _millis(event.time + LIFETIME), code),
        )


@dataclass(frozen=True, slots=True)
class Given:
    """A code that was given to somebody."""

    event: Event
    code: OneUseCode
    state: State
    shown: str | None
    """The `code.tried` by which it was right."""

    @property
    def use(self) -> Use:
        return "claim" if self.event.payload["use"] == "claim" else "link"

    @property
    def account(self) -> str | None:
        """The one account that may send it; None for the owner's claim."""
        return self.event.payload.get("account")

    @property
    def by(self) -> str:
        """The account that asked for it."""
        return str(self.event.payload["by"])

    @property
    def person(self) -> str:
        """Who asked for it, by the id of that time."""
        return self.event.place.person or ""

    def may_come_from(self, account: str) -> bool:
        """Whether this account may send it: never a key, never an id that many speak through."""
        return may_claim(account) and self.account in (None, account)


class CodeBook:
    """Gives codes, and knows them again."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._clock = clock

    def give(self, use: Use, by: str, account: str | None, channel: str, place: Place, *, cause: str) -> str:
        """A fresh code for whoever is at `place` with the account `by`, as it is shown. An earlier one of theirs for
        the same use is void."""
        shown, code = new_code(self._clock.now(), length=LINK_LENGTH) if use == "link" else new_code(self._clock.now())
        payload = {"use": use, "by": by, "account": account, "channel": channel, **code.payload()}
        self._log.append(Kind.CODE_GIVEN, place, payload, cause=cause)
        return shown

    def right(self, account: str, text: str, chat: Space) -> Given | None:
        """The open code that `text` is, sent by `account` in its private chat."""
        for given in self._tried_by(account, text):
            if answer_code(given.code, text, chat, self._clock.now())[0] is Answer.RIGHT:
                return given
        return None

    def wrong(self, account: str, text: str, place: Place) -> list[Given]:
        """Count a message that looks like a code and is none as a try, against each code that it could have been; those
        that are void by it."""
        tried = list(self._tried_by(account, text))
        with self._log.transaction():
            for given in tried:
                self._log.append(Kind.CODE_TRIED, place, {"code": given.event.id, "answer": str(Answer.WRONG)})
        return [given for given in tried if given.code.wrong + 1 >= MAX_WRONG]

    def read_by_others(self, text: str) -> list[Given]:
        """The codes that stand in what somebody said in a group: others have read them."""
        opened = self._open()
        words = _WORD.findall(text[:_LONGEST]) if opened else []
        said = {*words, *(one + other for one, other in pairwise(words))}
        group, now = Space("group", "any"), self._clock.now()
        return [
            given
            for given in opened
            if any(
                looks_like_code(one, length=given.code.length)
                and answer_code(given.code, one, group, now)[0] is Answer.VOID
                for one in said
            )
        ]

    def close(self, given: Given, place: Place, *, cause: str | None) -> None:
        """Let nobody use this code any more."""
        payload = {"code": given.event.id, "answer": str(Answer.VOID)}
        self._log.append(Kind.CODE_TRIED, place, payload, cause=cause)

    def accept(self, given: Given, place: Place, *, cause: str) -> Event:
        """Note that the right code came. That of a link now waits for a yes or a no from the same account."""
        payload = {"code": given.event.id, "answer": str(Answer.RIGHT)}
        return self._log.append(Kind.CODE_TRIED, place, payload, cause=cause)

    def shown_to(self, account: str) -> Given | None:
        """The link about which `account` was asked whether it is theirs, the newest one."""
        rows = self._log.database.rows(
            f"SELECT * FROM codes {_OPEN} AND state = 'shown' AND account = ? ORDER BY event DESC",  # noqa: S608
            (*self._now(), account),
        )
        return next(map(self._of, rows), None)

    def get(self, event: str) -> Given | None:
        """The code of this `code.given`."""
        row = self._log.database.row("SELECT * FROM codes WHERE event = ?", (event,))
        return self._of(row) if row else None

    def _tried_by(self, account: str, text: str) -> Iterator[Given]:
        if not is_account(account):
            return
        for given in self._open():
            if given.may_come_from(account) and looks_like_code(text, length=given.code.length):
                yield given

    def _open(self) -> list[Given]:
        rows = self._log.database.rows(
            f"SELECT * FROM codes {_OPEN} AND state = 'open' ORDER BY event",  # noqa: S608 (our own words)
            self._now(),
        )
        return [self._of(row) for row in rows]

    def _now(self) -> tuple[int, int]:
        """Between which moments a code expires that is open. One that would last longer was given before the clock was
        set back, and nobody knows how long ago."""
        now = self._clock.now()
        return _millis(now), _millis(now + LIFETIME + _SLACK)

    def _of(self, row: Row) -> Given:
        event = self._log.get(row["event"])
        if event is None:
            raise KeyError(row["event"])
        used = row["state"] in ("used", "void")
        code = replace(OneUseCode.of(event.payload), wrong=row["wrong"], used=used)
        return Given(event, code, row["state"], row["shown"])


_OPEN = "WHERE state IN ('open', 'shown') AND expires > ? AND expires <= ?"


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
