"""Finding in talk what should be remembered (memory.md, Writing): read once, checked by code, written by others.

Only what persons said in turns that have ended is read: never the assistant's words, results, material or quotes.
One question to a model, without tools, goes over a batch of a session. `extraction.done` says how far that came:

    extraction.done  {upto: seq of the last turn.started that was looked at, messages, candidates, written, proposed}
                     {upto, messages, unread_before: seq before which no message is read any more}

Whoever writes the candidates calls `record` afterwards. A crash in between leads to the same stretch again, in
which everything that events show as written or proposed for these messages is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import get_args

from qingtuan.errors import ModelRefused, ModelUnreachable
from qingtuan.events.kinds import Kind as EventKind
from qingtuan.events.log import Event, Log, Place
from qingtuan.events.sessions import Session
from qingtuan.events.turns import SAYING, messages_in
from qingtuan.memory.asking import Ask
from qingtuan.memory.claims import SCHEMA
from qingtuan.memory.hearing import Found, Heard, Hearing
from qingtuan.memory.memory import Policy
from qingtuan.memory.topics import Kind
from qingtuan.messages import Space


@dataclass(frozen=True, slots=True)
class ExtractionRules:
    """When talk is looked through, and what becomes of what is found."""

    policy: Callable[[Space], Policy]
    """`auto`: what was said outright is written, the rest waits for review; `review`: all of it waits; `manual`:
    nothing is extracted."""
    after: int = 8
    """Messages of persons that make a batch due; fewer are due once the session is quiet."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What came of looking through a stretch of a session."""

    found: tuple[Found, ...]
    upto: int
    """Position in the log up to which turns were looked at; hand it to `record`."""
    messages: int = 0
    """That were looked at, greetings and the like included."""
    failed: bool = False
    """Whether the model could not be asked: nothing was looked at."""


_LONGEST_BATCH = 24
"""Messages of one question; what is beyond is the next one's."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn that has ended, as far as it matters here."""

    started: Event
    messages: tuple[str, ...]
    """Ids of the messages that it was about."""


class Extraction:
    """Looks sessions through, batch by batch."""

    def __init__(self, log: Log, hearing: Hearing, rules: ExtractionRules) -> None:
        self._log = log
        self._hearing = hearing
        self._rules = rules
        self._failed: dict[str, int] = {}
        """By session: how many messages waited when the model could not be asked."""

    def is_due(self, session: Session, *, quiet: bool = False) -> bool:
        """Whether a stretch of the session is to be looked through now. `quiet`: nobody has spoken for a while, or
        the session was left (`/new`, the end of a one-shot question)."""
        waiting = _count(self._turns(session))
        if self._rules.policy(session.space) == "manual":
            # Nothing is read; but what is said under this policy must not be read under a later one either.
            return waiting >= (1 if quiet else self._rules.after)
        if quiet:
            return waiting > 0
        return waiting - self._failed.get(session.id, 0) >= self._rules.after

    async def extract(self, session: Session, ask: Ask) -> Extracted:
        """Look the next stretch through. Asks a model only if there is something worth reading. What cannot be
        used of its answer is dropped, and no word about it reaches anybody."""
        turns = self._turns(session)
        batch = _first(turns, _LONGEST_BATCH)
        while batch:
            upto, count = batch[-1].started.seq, _count(batch)
            manual = self._rules.policy(session.space) == "manual"
            messages = [] if manual else self._messages(session, batch)
            if not messages:
                return Extracted((), upto, count)
            try:
                answer = await ask(self._hearing.question("extraction", messages, SCHEMA))
            except (ModelUnreachable, ModelRefused) as error:
                if not (isinstance(error, ModelRefused) and error.reason == "content"):
                    self._failed[session.id] = _count(turns)
                    return Extracted((), self._upto(session), failed=True)
                if len(batch) == 1:
                    return Extracted((), upto, count)  # it is this that no model reads, and it alone is passed over
                batch = batch[: len(batch) // 2]
                continue
            self._failed.pop(session.id, None)
            # What was erased while the model read it must not come back by its answer.
            if not all(map(self._stands, messages)):
                return Extracted((), self._upto(session), failed=True)
            return Extracted(self._found(session, messages, answer), upto, count)
        return Extracted((), self._upto(session))

    def _stands(self, message: Heard) -> bool:
        event = self._log.get(message.by.cause)
        return event is not None and not event.forgotten

    def record(self, session: Session, extracted: Extracted, *, written: int = 0, proposed: int = 0) -> None:
        """Note that a stretch was looked through and what was found in it stands where it belongs."""
        if extracted.failed or extracted.upto <= self._upto(session):
            return
        payload = {
            "upto": extracted.upto,
            "messages": extracted.messages,
            "candidates": len(extracted.found),
            "written": written,
            "proposed": proposed,
        }
        self._log.append(EventKind.EXTRACTION_DONE, Place(session.id, session.space), payload)

    def settle(self, session: Session) -> None:
        """Let everything said so far be, unread, also what is being answered or waits for that: before a policy changes
        from `manual`."""
        newest = self._log.database.row("SELECT max(seq) AS seq FROM events WHERE session = ?", (session.id,))
        if newest is None or not newest["seq"]:
            return
        payload = {"upto": newest["seq"], "messages": _count(self._turns(session)), "unread_before": newest["seq"]}
        self._log.append(EventKind.EXTRACTION_DONE, Place(session.id, session.space), payload)

    # What is read

    def _upto(self, session: Session) -> int:
        row = self._log.database.row(
            "SELECT json_extract(payload, '$.upto') AS upto FROM events WHERE session = ? AND kind = ?"
            " ORDER BY seq DESC LIMIT 1",
            (session.id, EventKind.EXTRACTION_DONE),
        )
        return int(row["upto"] or 0) if row else 0

    def _unread_before(self, session: Session) -> int:
        """Position in the log before which no message of the session is read, whenever its turn came."""
        row = self._log.database.row(
            "SELECT max(json_extract(payload, '$.unread_before')) AS seq FROM events WHERE session = ? AND kind = ?",
            (session.id, EventKind.EXTRACTION_DONE),
        )
        return (row["seq"] if row else None) or 0

    def _turns(self, session: Session) -> list[_Turn]:
        """The turns since the last stretch, up to the first that has not ended: its tools may yet remember."""
        kinds = (*SAYING, EventKind.TURN_FINISHED)
        events = self._log.of_session(session.id, after=self._upto(session), kinds=kinds)
        by_turn: dict[str | None, list[Event]] = {}
        for event in events:
            by_turn.setdefault(event.place.turn, []).append(event)
        ended = {event.place.turn for event in events if event.kind is EventKind.TURN_FINISHED}
        started = (event for event in events if event.kind is EventKind.TURN_STARTED)
        return [
            _Turn(event, tuple(messages_in(by_turn[event.place.turn])))
            for event in takewhile(lambda event: event.place.turn in ended, started)
        ]

    def _messages(self, session: Session, batch: Sequence[_Turn]) -> list[Heard]:
        """What may be read of a batch, in order: said by a person who may write, in earnest, and worth it."""
        since = self._unread_before(session)
        read: list[Heard] = []
        for turn in batch:
            for event in map(self._log.get, turn.messages):
                if event is not None and event.seq > since:
                    place = Place(session.id, session.space, turn.started.place.turn, event.place.person)
                    heard = self._hearing.heard(event, place, turn.started.seq)
                    read += [heard] if heard is not None else []
        return self._hearing.worth(read)

    # What is found

    def _found(self, session: Session, messages: Sequence[Heard], answer: str) -> tuple[Found, ...]:
        outright = self._rules.policy(session.space) == "auto"
        found = self._hearing.found(messages, answer, self._settled(session, messages), get_args(Kind))
        return tuple(replace(one, write=one.write and outright) for one in found)

    def _settled(self, session: Session, messages: Sequence[Heard]) -> Mapping[str, list[str]]:
        """By message: what events show as written or proposed for it, by a tool in its turn or by us before a
        crash; and what was taken back in that turn or a later one."""
        first = min(message.turn for message in messages)
        events = self._log.of_session(session.id, after=first, kinds=_OUTCOMES)
        turns = {event.place.turn for event in events}
        begun = {
            event.place.turn: event.seq
            for event in self._log.of_session(session.id, after=first - 1, kinds=(EventKind.TURN_STARTED,))
            if event.place.turn in turns
        }
        settled: dict[str, list[str]] = {message.by.cause: [] for message in messages}
        for event in events:
            texts = [str(event.payload[name]) for name in ("value", "text") if event.payload.get(name)]
            for message in messages:
                here = event.cause == message.by.cause or event.place.turn == message.by.place.turn
                later = begun.get(event.place.turn, event.seq) >= message.turn
                if here or (event.kind is EventKind.BELIEF_RETRACTED and later):
                    settled[message.by.cause] += texts
        return settled


_OUTCOMES = (EventKind.BELIEF_WRITTEN, EventKind.BELIEF_PROPOSED, EventKind.BELIEF_RETRACTED)


def _count(turns: Iterable[_Turn]) -> int:
    """How many messages these turns were about."""
    return sum(len(turn.messages) for turn in turns)


def _first(turns: Sequence[_Turn], most: int) -> list[_Turn]:
    """As many turns from the front as have `most` messages; at least one."""
    taken: list[_Turn] = []
    count = 0
    for turn in turns:
        count += len(turn.messages)
        if taken and count > most:
            break
        taken.append(turn)
    return taken
