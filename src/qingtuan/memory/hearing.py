"""What persons said, as a model is asked about it: read once, checked by code, and under the right person.

Never the assistant's words, results, material or quotes; and nothing that was said in a role, as a test or as a joke.
Extraction asks about a session as it goes on, `/distill` about a stretch of the past.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from qingtuan.dates import WEEKDAYS
from qingtuan.errors import NotAllowed
from qingtuan.events.inbox import Received
from qingtuan.events.log import Event, Place
from qingtuan.identity.evidence import spoken
from qingtuan.identity.people import People
from qingtuan.identity.privacy import Sight, Writing, may_write, sight, visibility_for_write
from qingtuan.identity.redaction import mask
from qingtuan.identity.scopes import SHARED, Reader, Role, Scope
from qingtuan.language import Language, Words
from qingtuan.memory.acts import By
from qingtuan.memory.asking import Customs, Purpose, Question
from qingtuan.memory.beliefs import Candidate
from qingtuan.memory.claims import Backed, Said, backed, claims_in
from qingtuan.memory.compressing import clipped
from qingtuan.memory.keeping import Keeping, Statement, claimed, named
from qingtuan.memory.known import Known
from qingtuan.memory.likeness import SELF, contains, fold, negated, normalise_text, normalise_value
from qingtuan.memory.several import stands
from qingtuan.memory.statements import in_earnest, worth_reading
from qingtuan.memory.topics import Kind
from qingtuan.memory.wiki.one_line import flat
from qingtuan.messages import Space


class Shelf(Protocol):
    """What is known already: the library."""

    def beliefs(self, sight: Sight, scopes: Iterable[Scope] | None = None) -> list[Known]:
        """Every entry that a reader may see."""
        ...

    def keeping(self, person: str, *, by_owner: bool) -> Keeping:
        """What is always and never to be remembered of what a person says."""
        ...


@dataclass(frozen=True, slots=True)
class Heard:
    """A message that is read."""

    by: By
    account: str
    said: Said
    turn: int
    """Position of its turn in the log."""

    @property
    def speaker(self) -> Reader:
        return self.by.reader


@dataclass(frozen=True, slots=True)
class Found:
    """Something to be remembered, or to be asked about."""

    candidate: Candidate
    scope: Scope
    by: By
    """On whose behalf: the speaker, and the message as cause."""
    write: bool
    """Whether it is to be written; else it waits for review. What was not said in so many words never is."""
    said: Statement
    """The same as rules look at it."""
    evidence: str
    """The piece of the message that it rests on."""


_LONGEST_MESSAGE = 800
"""Characters of one message that are read."""
_MOST_PAIRS = 60
"""Subject–predicate pairs that are shown."""


@dataclass(frozen=True, slots=True)
class Hearing:
    """Reads messages, asks about them, and checks the answers. All messages of one question are of one space."""

    people: People
    shelf: Shelf
    customs: Customs

    # What is read

    def heard(self, event: Event, place: Place, turn: int) -> Heard | None:
        """What a stored message says, of a person who may write; None for everybody else's. `place` is where what
        comes of it belongs."""
        received = Received.of(event)
        if event.origin.foreign or received.account.startswith("a2a:") or event.place.space is None:
            return None  # another program said it
        try:
            speaker = self.people.reader(received.account, event.place.space)
        except NotAllowed:
            return None
        if speaker.role is Role.GUEST:
            return None
        language, zone = self.customs.language(speaker.person), self.customs.zone(speaker.person)
        words = spoken(received.text)[0]
        said_at = received.said_at.astimezone(zone)
        place = replace(place, person=speaker.person)
        by = By(speaker, place, event.id, words, said_at, language, event.origin, event.payload.get("channel", ""))
        masked = clipped(mask(words, language=language).text, _LONGEST_MESSAGE)
        return Heard(by, received.account, Said(masked, said_at, zone), turn)

    def worth(self, messages: Sequence[Heard]) -> list[Heard]:
        """Those that were said in earnest and may hold anything, in order."""
        earnest: set[int] = set()
        for person in {message.speaker.person for message in messages}:
            own = [index for index, message in enumerate(messages) if message.speaker.person == person]
            verdicts = in_earnest(messages[index].by.words for index in own)
            earnest |= {index for index, verdict in zip(own, verdicts, strict=True) if verdict}
        return [m for index, m in enumerate(messages) if index in earnest and worth_reading(m.said.words)]

    # What is asked

    def question(self, purpose: Purpose, messages: Sequence[Heard], schema: Mapping[str, Any]) -> Question:
        """What a model is asked about these messages, of which there is at least one."""
        space = messages[0].speaker.space
        language = self.customs.language(None if space.is_group else messages[0].speaker.person)
        rows = [_row(number, one, language, group=space.is_group) for number, one in enumerate(messages, 1)]
        pairs = self._pairs(space, messages)
        known = [_KNOWN.say(language), *pairs, ""] if pairs else []
        text = "\n".join([*known, *self._rules(space, messages, language), _MESSAGES.say(language), *rows])
        return Question(purpose, self.customs.text(purpose, language), text, schema)

    def _pairs(self, space: Space, messages: Sequence[Heard]) -> list[str]:
        """The pairs that are in use, so that one of them is used again. Where several people speak, only pairs that
        all of them may know of: the answer is about all of them."""
        speakers = {message.speaker.person: message.speaker for message in messages}
        group = [Scope.of_group(space.id)] if space.is_group else []
        if len(speakers) == 1:
            reader = messages[0].speaker
            scopes = [Scope.of_person(reader.person), *group]
        else:
            reader, scopes = Reader("", Role.GUEST, space), [*group, SHARED]
        found = (known.belief.data for known in self.shelf.beliefs(sight(reader), scopes) if known.belief.current)
        used = (f"- {data.subject or SELF}｜{data.predicate}" for data in found if data.predicate)
        return list(dict.fromkeys(used))[:_MOST_PAIRS]

    def _rules(self, space: Space, messages: Sequence[Heard], language: Language) -> list[str]:
        """What is always and never to be remembered. A person's own rules stand beside nobody else's words."""
        speaker = messages[0].speaker
        keeping = self.shelf.keeping(speaker.person, by_owner=speaker.role is Role.OWNER)
        every = (keeping.shared,) if space.is_group else (keeping.shared, keeping.own)
        lines = []
        for words, always in ((_ALWAYS, True), (_NEVER, False)):
            if told := named(rule for rules in every for rule in rules.of(always=always)):
                lines.append(words.say(language).format(rules=told))
        return [*lines, ""] if lines else []

    # What is found

    def found(
        self, messages: Sequence[Heard], answer: str, known: Mapping[str, Sequence[str]], kinds: Iterable[Kind]
    ) -> tuple[Found, ...]:
        """What an answer claims and its message bears out. `known` are texts by message that have come of it already;
        `kinds` those that are wanted."""
        found: dict[tuple[str, ...], Found] = {}
        wanted = frozenset(kinds)
        for claim in claims_in(answer):
            if not 1 <= claim.message <= len(messages):
                continue
            message = messages[claim.message - 1]
            kept = backed(claim, message.said)
            if kept is None or kept.kind not in wanted:
                continue
            if any(_same(kept, text) for text in known.get(message.by.cause, ())):
                continue
            one = self._one(message, kept)
            if one is not None:
                found.setdefault(_key(one), one)
        return tuple(found.values())

    def _one(self, message: Heard, kept: Backed) -> Found | None:
        claim, by, space = kept.claim, message.by, message.speaker.space
        about_group = by.about_group(claim.subject)
        scope = Scope.of_group(space.id) if about_group else Scope.of_person(message.speaker.person)
        person = self.people.person(message.speaker.person)
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
            stands=stands(kept.kind, claim.predicate, kept.spot.clause),
        )
        said = Statement(f"{kept.spot.clause}\n{claimed(candidate)}", kept.spot.sentence, by.explicit)
        return Found(candidate, scope, by, write=kept.explicit, said=said, evidence=claim.evidence)


def _row(number: int, message: Heard, language: Language, *, group: bool) -> str:
    said_at = message.said.said_at
    day = WEEKDAYS[said_at.weekday()].say(language)
    # In private a small model would take the account for evidence.
    account = f"{message.account} " if group else ""
    return f"#{number} [{account}{said_at:%Y-%m-%d} {day} {said_at:%H:%M}] {flat(message.said.words)}"


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
