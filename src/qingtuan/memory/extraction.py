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
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, Protocol

from qingtuan.dates import WEEKDAYS
from qingtuan.errors import ModelRefused, ModelUnreachable, NotAllowed
from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind as EventKind
from qingtuan.events.log import Event, Log, Place
from qingtuan.events.sessions import Session
from qingtuan.identity.evidence import spoken
from qingtuan.identity.people import People
from qingtuan.identity.privacy import Sight, Writing, may_write, sight, visibility_for_write
from qingtuan.identity.redaction import mask
from qingtuan.identity.scopes import SHARED, Reader, Role, Scope
from qingtuan.language import Language, Words
from qingtuan.memory.acts import By
from qingtuan.memory.asking import Ask, Customs, Question
from qingtuan.memory.beliefs import Candidate
from qingtuan.memory.claims import SCHEMA, Backed, Said, backed, claims_in
from qingtuan.memory.compressing import clipped
from qingtuan.memory.keeping import Keeping, Statement, claimed, named
from qingtuan.memory.known import Known
from qingtuan.memory.likeness import SELF, contains, fold, negated, normalise_text, normalise_value
from qingtuan.memory.statements import in_earnest, worth_reading
from qingtuan.memory.wiki.one_line import flat
from qingtuan.messages import Space

Policy = Literal["auto", "review", "manual"]


@dataclass(frozen=True, slots=True)
class ExtractionRules:
    """When talk is looked through, and what becomes of what is found."""

    policy: Callable[[Space], Policy]
    """`auto`: what was said outright is written, the rest waits for review; `review`: all of it waits; `manual`:
    nothing is extracted."""
    after: int = 8
    """Messages of persons that make a batch due; fewer are due once the session is quiet."""


class Shelf(Protocol):
    """What is known already: the library."""

    def beliefs(self, sight: Sight, scopes: Iterable[Scope] | None = None) -> list[Known]:
        """Every entry that a reader may see."""
        ...

    def keeping(self, person: str, *, by_owner: bool) -> Keeping:
        """What is always and never to be remembered of what a person says."""
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """Something to be remembered, or to be asked about."""

    candidate: Candidate
    scope: Scope
    by: By
    """On whose behalf: the speaker, and the message as cause."""
    write: bool
    """Whether it is to be written; else it waits for review."""
    said: Statement
    """The same as rules look at it."""
    evidence: str
    """The piece of the message that it rests on."""


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
_LONGEST_MESSAGE = 800
"""Characters of one message that are read."""
_MOST_PAIRS = 60
"""Subject–predicate pairs that are shown."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn that has ended, as far as it matters here."""

    started: Event

    @property
    def messages(self) -> tuple[str, ...]:
        """Ids of the messages that it was about."""
        return tuple(self.started.payload.get("messages", ()))


@dataclass(frozen=True, slots=True)
class _Message:
    """A message that is read."""

    by: By
    account: str
    said: Said
    turn: int
    """Position of its turn."""

    @property
    def speaker(self) -> Reader:
        return self.by.reader


class Extraction:
    """Looks sessions through, batch by batch."""

    def __init__(self, log: Log, people: People, shelf: Shelf, rules: ExtractionRules, customs: Customs) -> None:
        self._log = log
        self._people = people
        self._shelf = shelf
        self._rules = rules
        self._customs = customs
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
        if not batch:
            return Extracted((), self._upto(session))
        upto, count = batch[-1].started.seq, _count(batch)
        manual = self._rules.policy(session.space) == "manual"
        messages = [] if manual else self._messages(session, batch)
        if not messages:
            return Extracted((), upto, count)
        try:
            answer = await ask(self._question(session, messages))
        except (ModelUnreachable, ModelRefused):
            self._failed[session.id] = _count(turns)
            return Extracted((), self._upto(session), failed=True)
        self._failed.pop(session.id, None)
        return Extracted(self._found(session, messages, answer), upto, count)

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
        kinds = (EventKind.TURN_STARTED, EventKind.TURN_FINISHED)
        events = self._log.of_session(session.id, after=self._upto(session), kinds=kinds)
        ended = {event.place.turn for event in events if event.kind is EventKind.TURN_FINISHED}
        started = (event for event in events if event.kind is EventKind.TURN_STARTED)
        return [_Turn(event) for event in takewhile(lambda event: event.place.turn in ended, started)]

    def _messages(self, session: Session, batch: Sequence[_Turn]) -> list[_Message]:
        """What may be read of a batch, in order: said by a person who may write, in earnest, and worth it."""
        since = self._unread_before(session)
        read = [
            message
            for turn in batch
            for event in map(self._log.get, turn.messages)
            if event is not None and event.seq > since and (message := self._message(session, turn, event)) is not None
        ]
        earnest: set[int] = set()
        for person in {message.speaker.person for message in read}:
            own = [index for index, message in enumerate(read) if message.speaker.person == person]
            verdicts = in_earnest(read[index].by.words for index in own)
            earnest |= {index for index, verdict in zip(own, verdicts, strict=True) if verdict}
        return [m for index, m in enumerate(read) if index in earnest and worth_reading(m.said.words)]

    def _message(self, session: Session, turn: _Turn, event: Event) -> _Message | None:
        received = Received.of(event)
        if event.origin.foreign or received.account.startswith("a2a:"):
            return None  # another program said it
        try:
            speaker = self._people.reader(received.account, session.space)
        except NotAllowed:
            return None
        if speaker.role is Role.GUEST:
            return None
        language, zone = self._customs.language(speaker.person), self._customs.zone(speaker.person)
        words = spoken(received.text)[0]
        said_at = received.said_at.astimezone(zone)
        place = Place(session.id, session.space, turn.started.place.turn, speaker.person)
        by = By(speaker, place, event.id, words, said_at, language, event.origin, event.payload.get("channel", ""))
        masked = clipped(mask(words, language=language).text, _LONGEST_MESSAGE)
        return _Message(by, received.account, Said(masked, said_at, zone), turn.started.seq)

    # What is asked

    def _question(self, session: Session, messages: Sequence[_Message]) -> Question:
        language = self._customs.language(None if session.space.is_group else messages[0].speaker.person)
        group = session.space.is_group
        rows = [self._row(number, one, language, group=group) for number, one in enumerate(messages, 1)]
        pairs = self._pairs(session.space, messages)
        known = [_KNOWN.say(language), *pairs, ""] if pairs else []
        text = "\n".join([*known, *self._wanted(session.space, messages, language), _MESSAGES.say(language), *rows])
        return Question("extraction", self._customs.text("extraction", language), text, SCHEMA)

    def _row(self, number: int, message: _Message, language: Language, *, group: bool) -> str:
        said_at = message.said.said_at
        day = WEEKDAYS[said_at.weekday()].say(language)
        # In private a small model would take the account for evidence.
        account = f"{message.account} " if group else ""
        return f"#{number} [{account}{said_at:%Y-%m-%d} {day} {said_at:%H:%M}] {flat(message.said.words)}"

    def _pairs(self, space: Space, messages: Sequence[_Message]) -> list[str]:
        """The pairs that are in use, so that one of them is used again. Where several people speak, only pairs that
        all of them may know of: the answer is about all of them."""
        speakers = {message.speaker.person: message.speaker for message in messages}
        group = [Scope.of_group(space.id)] if space.is_group else []
        if len(speakers) == 1:
            reader = messages[0].speaker
            scopes = [Scope.of_person(reader.person), *group]
        else:
            reader, scopes = Reader("", Role.GUEST, space), [*group, SHARED]
        found = (known.belief.data for known in self._shelf.beliefs(sight(reader), scopes) if known.belief.current)
        named = (f"- {data.subject or SELF}｜{data.predicate}" for data in found if data.predicate)
        return list(dict.fromkeys(named))[:_MOST_PAIRS]

    def _wanted(self, space: Space, messages: Sequence[_Message], language: Language) -> list[str]:
        """What is always and never to be remembered. A person's own rules stand beside nobody else's words."""
        speaker = messages[0].speaker
        keeping = self._shelf.keeping(speaker.person, by_owner=speaker.role is Role.OWNER)
        every = (keeping.shared,) if space.is_group else (keeping.shared, keeping.own)
        lines = []
        for words, always in ((_ALWAYS, True), (_NEVER, False)):
            if told := named(rule for rules in every for rule in rules.of(always=always)):
                lines.append(words.say(language).format(rules=told))
        return [*lines, ""] if lines else []

    # What is found

    def _found(self, session: Session, messages: Sequence[_Message], answer: str) -> tuple[Found, ...]:
        known = self._settled(session, messages)
        found: dict[tuple[str, ...], Found] = {}
        for claim in claims_in(answer):
            if not 1 <= claim.message <= len(messages):
                continue
            message = messages[claim.message - 1]
            kept = backed(claim, message.said)
            if kept is None or any(_same(kept, text) for text in known[message.by.cause]):
                continue
            one = self._one(session.space, message, kept)
            if one is not None:
                found.setdefault(_key(one), one)
        return tuple(found.values())

    def _one(self, space: Space, message: _Message, kept: Backed) -> Found | None:
        claim, by = kept.claim, message.by
        about_group = by.about_group(claim.subject)
        scope = Scope.of_group(space.id) if about_group else Scope.of_person(message.speaker.person)
        person = self._people.person(message.speaker.person)
        if not may_write(message.speaker, scope, writes_group=person is not None and space.id in person.writes_groups):
            return None
        how: Literal["explicit", "extracted"] = "explicit" if by.explicit else "extracted"
        candidate = Candidate(
            text="",
            said_at=by.said_at,
            kind=kept.kind,
            topic=claim.topic or None,
            subject=by.subject(claim.subject),
            predicate=claim.predicate,
            value=kept.value,
            since=kept.since,
            until=kept.until,
            source=by.cause,
            how="explicit" if kept.explicit else "inferred",
            via=by.via or None,
            visibility=visibility_for_write(Writing(how, space, claim.predicate, kept.value, by.words)),
        )
        write = kept.explicit and self._rules.policy(space) == "auto"
        said = Statement(f"{kept.spot.clause}\n{claimed(candidate)}", kept.spot.sentence, by.explicit)
        return Found(candidate, scope, by, write=write, said=said, evidence=claim.evidence)

    def _settled(self, session: Session, messages: Sequence[_Message]) -> Mapping[str, list[str]]:
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


def _same(kept: Backed, text: str) -> bool:
    """Whether a text that came of the same message says what was found, in whatever wording."""
    theirs, raw = normalise_text(text), normalise_value(kept.claim.value)
    if any(contains(theirs, one) or contains(one, theirs) for one in (normalise_value(kept.value), raw)):
        return True
    mine, other = _pairs_of(raw), _pairs_of(theirs)
    alike = len(mine & other) * 2 >= len(mine) > 0
    return alike and negated(theirs) == negated(f"{kept.claim.predicate}{raw}")


def _pairs_of(text: str) -> frozenset[str]:
    return frozenset(text[index : index + 2] for index in range(len(text) - 1))


def _key(found: Found) -> tuple[str, ...]:
    candidate = found.candidate
    parts = (str(found.scope), candidate.subject, candidate.predicate or "", normalise_value(candidate.value or ""))
    return tuple(map(fold, parts))


_KNOWN = Words("已有（主语｜方面）：", "Known (subject｜aspect):")
_ALWAYS = Words("总是记住：{rules}", "Always remember: {rules}")
_NEVER = Words("从不记住：{rules}", "Never remember: {rules}")
_MESSAGES = Words("消息：", "Messages:")
