"""`/distill`: a stretch of past talk read once more, for what would be worth remembering; all of it waits for review.

Read is what the asker said, wherever they may see it from where they ask; in a group also what others said there about
the group, by who may write for it. One question to a model goes over each chunk of a session. What is known, waits
already, or was said no to before is not proposed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from qingtuan.errors import NotAllowed
from qingtuan.events.kinds import Kind as EventKind
from qingtuan.events.log import Event, Log, Place
from qingtuan.identity.privacy import EventSight, may_write
from qingtuan.identity.scopes import Reader, Role, Scope
from qingtuan.ids import first_event_id
from qingtuan.language import Words
from qingtuan.memory.acts import MAY_NOT_WRITE
from qingtuan.memory.asking import Ask
from qingtuan.memory.claims import SCHEMA
from qingtuan.memory.hearing import Found, Heard, Hearing
from qingtuan.memory.memory import Memory
from qingtuan.memory.stretches import Stretch
from qingtuan.memory.topics import Kind

KINDS: tuple[Kind, ...] = ("profile", "event", "preference", "fact")
"""What is proposed (memory.md, Writing)."""
_MOST_MESSAGES = 30
_MOST_CHARS = 5000
"""Of one chunk."""
_LIMIT = {Role.OWNER: 2000, Role.MEMBER: 300}
"""Messages of one stretch, the newest of it: each chunk costs a question."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What is to be read of a stretch."""

    stretch: Stretch
    chunks: tuple[tuple[Heard, ...], ...]
    """Each of one session, in order."""
    messages: int
    """That were said, greetings and the like included."""
    left_out: int
    """Older messages of the stretch for which there is no room."""


@dataclass(frozen=True, slots=True)
class Gained:
    """What came of one chunk."""

    proposed: int = 0
    known: int = 0
    """What is known, waits already, or was said no to before."""

    def __add__(self, other: Gained) -> Gained:
        return Gained(self.proposed + other.proposed, self.known + other.known)


class Distilling:
    """Reads stretches for one person at a time."""

    def __init__(self, log: Log, hearing: Hearing, memory: Memory) -> None:
        self._log = log
        self._hearing = hearing
        self._memory = memory

    def read(self, reader: Reader, view: EventSight, stretch: Stretch) -> Reading:
        """What `reader` may have read to them of a stretch from where they are.

        Raises:
            NotAllowed: guests write nothing.
        """
        if reader.role is Role.GUEST:
            raise NotAllowed(MAY_NOT_WRITE)
        limit = _LIMIT[reader.role]
        events = self._said(reader, view, stretch)
        kept = events[-limit:]
        heard = (self._hearing.heard(event, _place(event), event.seq) for event in kept)
        by_session: dict[str, list[Heard]] = {}
        for message in heard:
            if message is not None:
                by_session.setdefault(message.by.place.session or "", []).append(message)
        worth = (self._hearing.worth(messages) for messages in by_session.values())
        chunks = tuple(chunk for messages in worth for chunk in _chunks(messages))
        return Reading(stretch, chunks, len(kept), len(events) - len(kept))

    async def distil(self, chunk: Sequence[Heard], reader: Reader, reading: Reading, ask: Ask) -> Gained:
        """Ask about one chunk, and propose what comes of it.

        Raises:
            ModelUnreachable, ModelRefused: the model could not be asked.
        """
        answer = await ask(self._hearing.question("distill", chunk, _SCHEMA))
        found = self._hearing.found(chunk, answer, self._written(chunk), KINDS)
        reason = Words(f"整理 {reading.stretch} 的聊天时看到的。", f"Found when going through {reading.stretch}.")
        gained = Gained()
        for one in found:
            if not _for_reader(one, reader) or self._memory.withheld(one.said, one.scope, one.by) is not None:
                continue
            done = self._memory.propose(one.candidate, one.scope, one.by, reason, evidence=one.evidence)
            gained += Gained(proposed=1) if done.outcome == "review" else Gained(known=1)
        return gained

    def _said(self, reader: Reader, view: EventSight, stretch: Stretch) -> list[Event]:
        """The messages of the stretch that a turn took up, oldest first. In a group those of others are read by who
        may decide about what the group remembers."""
        condition, values = view.where("e")
        here = reader.space
        own = f"e.person IN ({','.join('?' * len(reader.ids))})"
        of_all = here.is_group and self._writes_group(reader)
        place = "e.space = ?" if here.is_group else "1"
        who = "1" if of_all else own
        rows = self._log.database.rows(
            "SELECT e.id FROM events AS e CROSS JOIN inbox AS i ON i.event = e.id"  # noqa: S608 (placeholders)
            f" WHERE e.id >= ? AND e.id < ? AND e.kind = 'message.received' AND i.turn IS NOT NULL"
            f" AND {place} AND {who} AND {condition} ORDER BY e.seq",
            [
                first_event_id(stretch.since),
                first_event_id(stretch.until),
                *([str(here)] if here.is_group else []),
                *([] if of_all else sorted(reader.ids)),
                *values,
            ],
        )
        found = self._log.where("id IN (SELECT value FROM json_each(?))", [json.dumps([row["id"] for row in rows])])
        return [event for event in found if not event.forgotten]

    def _writes_group(self, reader: Reader) -> bool:
        person = self._hearing.people.person(reader.person)
        allowed = person is not None and reader.space.id in person.writes_groups
        return may_write(reader, Scope.of_group(reader.space.id), writes_group=allowed)

    def _written(self, chunk: Sequence[Heard]) -> Mapping[str, list[str]]:
        """By message: what was ever written on its account."""
        causes = [message.by.cause for message in chunk]
        events = self._log.where(
            "cause IN (SELECT value FROM json_each(?)) AND kind = ?", [json.dumps(causes), EventKind.BELIEF_WRITTEN]
        )
        written: dict[str, list[str]] = {}
        for event in events:
            texts = [str(event.payload[name]) for name in ("value", "text") if event.payload.get(name)]
            written.setdefault(event.cause or "", []).extend(texts)
        return written


def _place(event: Event) -> Place:
    return Place(event.place.session, event.place.space, None, event.place.person)


def _for_reader(found: Found, reader: Reader) -> bool:
    """Whether the asker may have this proposed: their own, and what is about the group where they ask."""
    if found.scope.kind == "group":
        return not reader.space.is_group or found.scope.id == reader.space.id
    return found.scope == Scope.of_person(reader.person)


def _chunks(messages: Iterable[Heard]) -> list[tuple[Heard, ...]]:
    chunks: list[tuple[Heard, ...]] = []
    chunk: list[Heard] = []
    size = 0
    for message in messages:
        length = len(message.said.words)
        if chunk and (len(chunk) >= _MOST_MESSAGES or size + length > _MOST_CHARS):
            chunks.append(tuple(chunk))
            chunk, size = [], 0
        chunk.append(message)
        size += length
    return [*chunks, *([tuple(chunk)] if chunk else [])]


def _with_kinds(schema: Mapping[str, Any], kinds: Sequence[str]) -> Mapping[str, Any]:
    """The schema of an answer that holds nothing but these kinds."""
    text = json.dumps(schema).replace(json.dumps(list(get_args(Kind))), json.dumps(list(kinds)))
    narrowed: Mapping[str, Any] = json.loads(text)
    return narrowed


_SCHEMA = _with_kinds(SCHEMA, KINDS)
