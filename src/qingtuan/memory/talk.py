"""What was said, read from the log as far as one reader may see it.

`EventSight` alone decides what may be seen; here its answer becomes places to look in: the whole log, whole spaces,
and stretches of sessions. So the filter is in the query, before any order, limit or count, and each row is read along
an index from its newest end. Every event that leaves is shown to the sight once more.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from qingtuan.events.log import Event, event_from_row
from qingtuan.identity.privacy import EventSight, Stretch
from qingtuan.indexes.base import Allowed, Span
from qingtuan.memory.episodes import TALK, label_of, spaces_of
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database

_NOWHERE = Stretch("", 0, 0)
"""Seen by whoever sees the whole of a space, and by nobody else."""


_PORTION = 500
"""Messages that are read at once where all are read."""


@dataclass(frozen=True, slots=True)
class Spoke:
    """The newest message of somebody, under the id that the log has for them."""

    person: str
    account: str
    event: str
    seq: int
    time: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A place to look in: a space, or the stretch of one of its sessions that is in sight."""

    space: str
    own: Stretch | None = None
    strange: frozenset[str] = frozenset()
    """Of a private chat, the sessions that are somebody else's."""

    @property
    def condition(self) -> str:
        if self.own:
            return "e.space = :space AND e.session = :session AND e.seq BETWEEN :first AND :last"
        without = " AND e.session NOT IN (SELECT value FROM json_each(:strange))" if self.strange else ""
        return f"e.space = :space{without}"

    @property
    def values(self) -> dict[str, Any]:
        own = self.own
        stretch = {"session": own.session, "first": own.first, "last": own.last} if own else {}
        return {
            "space": self.space,
            **stretch,
            **({"strange": json.dumps(sorted(self.strange))} if self.strange else {}),
        }


@dataclass(frozen=True, slots=True)
class _Walk:
    """One way along an index, from which talk is read in the order of the log."""

    index: str
    condition: str
    values: dict[str, Any]


class Talk:
    """What one reader may see of the talk of all sessions, but for what they are just asking."""

    def __init__(
        self, database: Database, sight: EventSight, private: Iterable[Space], asked: Collection[int] = ()
    ) -> None:
        """`private`: the private chats of the reader's accounts. `asked`: positions in the log to pass over."""
        self._database = database
        self._sight = sight
        self._asked = json.dumps(sorted(asked))
        self._own: dict[str, Stretch] = {}
        """The reader's stretches by session."""
        self._parts: tuple[_Part, ...] = () if sight.everything else tuple(self._in_sight(private))

    def _in_sight(self, private: Iterable[Space]) -> Iterator[_Part]:
        here = self._sight.reader.space
        whole = {str(space) for space in (here, *private) if self._sight.sees_stretch(space, _NOWHERE)}
        strange: dict[str, set[str]] = {}
        for row in self._database.rows(*self._sight.strange_sessions()):
            strange.setdefault(row["space"], set()).add(row["session"])
        for space in sorted(whole):
            yield _Part(space, strange=frozenset(strange.get(space, ())))
        if here.is_group:
            return  # in a group nothing is read but that group
        stretches, values = self._sight.own_stretches()
        sql = f"SELECT own.*, e.space FROM ({stretches}) AS own JOIN events AS e ON e.seq = own.first"  # noqa: S608
        for row in self._database.rows(sql, values):
            own = Stretch(row["session"], row["first"], row["last"])
            self._own[own.session] = own
            space = row["space"]
            if space and space not in whole and self._sight.sees_stretch(Space.parse(space), own, own):
                yield _Part(space, own)

    # Reading

    def newest(self, limit: int, persons: Collection[str] | None = None) -> list[Event]:
        """The newest `limit` messages and replies, newest first; of talk with `persons` (ids in the log) if given."""
        found: dict[int, Event] = {}
        for walk in self._walks(persons):
            for row in self._rows("e.*", walk, f"ORDER BY e.seq DESC LIMIT {limit:d}"):
                found[row["seq"]] = event_from_row(row)
        return self._seen(found[seq] for seq in sorted(found, reverse=True)[:limit])

    def all(self) -> Iterator[Event]:
        """Every message and reply, in the order of the log, read in portions."""
        after = 0
        while True:
            found: dict[int, Event] = {}
            for walk in self._walks(None):
                further = f"{walk.condition} AND e.seq > :after"
                onward = replace(walk, condition=further, values={**walk.values, "after": after})
                for row in self._rows("e.*", onward, f"ORDER BY e.seq LIMIT {_PORTION}"):
                    found[row["seq"]] = event_from_row(row)
            portion = sorted(found)[:_PORTION]
            if not portion:
                return
            yield from self._seen(found[seq] for seq in portion)
            after = portion[-1]

    def around(self, event: Event, lines: int) -> list[Event]:
        """Up to `lines` messages and replies on either side of one, in the order of its session."""
        values = {"space": str(event.place.space), "session": event.place.session, "seq": event.seq}
        condition = "e.space = :space AND e.session = :session AND e.seq {side} :seq"
        before = _Walk("talk_in_space", condition.format(side="<"), values)
        after = _Walk("talk_in_space", condition.format(side=">"), values)
        rows = [
            *reversed(self._rows("e.*", before, f"ORDER BY e.seq DESC LIMIT {lines:d}")),
            *self._rows("e.*", after, f"ORDER BY e.seq LIMIT {lines:d}"),
        ]
        return self._seen(map(event_from_row, rows))

    def of(self, ids: Sequence[str]) -> list[Event]:
        """The talk of these events in the given order, as far as it may be seen."""
        # CROSS JOIN holds SQLite to this order: few ids first, and then nothing but their events.
        source = "json_each(:ids) AS wanted CROSS JOIN events AS e"
        sql = f"SELECT e.* FROM {source} WHERE e.id = wanted.value AND {_SAID}"  # noqa: S608 (our own words)
        rows = self._database.rows(sql, {"ids": json.dumps(ids), "asked": self._asked})
        found = {event.id: event for event in self._seen(map(event_from_row, rows))}
        return [found[id_] for id_ in dict.fromkeys(ids) if id_ in found]

    def speakers(self) -> list[Spoke]:
        """Everybody who said anything, each with the newest of it, newest first."""
        newest: dict[str, Spoke] = {}
        for spoke in self._spoke():
            if spoke.person not in newest or newest[spoke.person].seq < spoke.seq:
                newest[spoke.person] = spoke
        return sorted(newest.values(), key=lambda spoke: -spoke.seq)

    def allowed(self, persons: Collection[str] | None = None) -> dict[str, Allowed]:
        """By space, what of the index is in sight; only of talk with `persons`, if given."""
        if persons is None:
            return dict.fromkeys(spaces_of(self._database)) if self._sight.everything else self._whole_parts()
        found: dict[str, set[str]] = {}
        for walk in self._walks(persons):
            for row in self._rows("e.seq, e.session, e.space", walk, ""):
                space = row["space"]
                found.setdefault(space, set()).add(label_of(Space.parse(space), row["session"], row["seq"]))
        return {space: frozenset(labels) for space, labels in found.items()}

    def _whole_parts(self) -> dict[str, Allowed]:
        spans: dict[str, list[Span]] = {}
        for part in self._parts:
            if part.own is not None:
                spans.setdefault(part.space, []).append(Span(part.own.session, part.own.first, part.own.last))
        whole = {part.space: self._sessions_in(part) for part in self._parts if part.own is None}
        return {**{space: tuple(found) for space, found in spans.items()}, **whole}

    def _sessions_in(self, part: _Part) -> Allowed:
        """Of a space that is read from end to end, the sessions that are in sight; None for all."""
        if not part.strange:
            return None
        rows = self._database.rows("SELECT id FROM sessions WHERE space = ?", (part.space,))
        return frozenset(row["id"] for row in rows) - part.strange

    # Inside

    def _walks(self, persons: Collection[str] | None) -> Iterator[_Walk]:
        if self._sight.everything:
            if persons is None:
                yield _Walk("events_by_kind", "e.kind = 'message.received'", {})
                yield _Walk("events_by_kind", "e.kind = 'message.sent'", {})
            for person in persons or ():
                yield _Walk("talk_by_person", "e.person = :person", {"person": person})
            return
        for part in self._parts:
            if persons is None:
                yield _Walk("talk_in_space", part.condition, part.values)
            for person in persons or ():
                condition = f"{part.condition} AND e.person = :person"
                yield _Walk("talk_by_person_in_space", condition, {**part.values, "person": person})

    def _rows(self, columns: str, walk: _Walk, order: str) -> list[Any]:
        # Only our own words are put together here; whatever comes from outside is a value.
        source = f"events AS e INDEXED BY {walk.index}"
        sql = f"SELECT {columns} FROM {source} WHERE {walk.condition} AND {_SAID} {order}"  # noqa: S608
        return self._database.rows(sql, {**walk.values, "asked": self._asked})

    def _spoke(self) -> Iterator[Spoke]:
        if self._sight.everything:
            yield from self._spoke_in(_Walk("talk_by_person", "1", {}), "1")
        for part in self._parts:
            yield from self._spoke_in(_Walk("talk_by_person_in_space", part.condition, part.values), "e.space = :space")

    def _spoke_in(self, walk: _Walk, wide: str) -> Iterator[Spoke]:
        """Leap from person to person along an index that has them in order, and look at the newest of each: the cost
        goes by the number of people, not of messages. `wide`: the part of the condition that this index knows."""
        source = f"FROM events AS e INDEXED BY {walk.index} WHERE"
        sql = f"""
            WITH RECURSIVE who (person) AS (
                SELECT (SELECT MIN(e.person) {source} {wide} AND {TALK})
                UNION ALL
                SELECT (SELECT MIN(e.person) {source} {wide} AND e.person > who.person AND {TALK})
                FROM who WHERE who.person IS NOT NULL
            )
            SELECT e.person, e.id, e.seq, e.time, json_extract(e.payload, '$.account') AS account
            FROM who JOIN events AS e ON e.seq = (
                SELECT e.seq {source} {walk.condition} AND e.person = who.person
                AND e.kind = 'message.received' AND {_SAID} ORDER BY e.seq DESC LIMIT 1
            )"""  # noqa: S608 (our own words)
        for row in self._database.rows(sql, {**walk.values, "asked": self._asked}):
            yield Spoke(row["person"], row["account"] or "", row["id"], row["seq"], row["time"] / 1000)

    def _seen(self, events: Iterable[Event]) -> list[Event]:
        return [event for event in events if self._sight.sees(event, self._own.get(event.place.session or ""))]


_SAID = f"""{TALK} AND e.session IS NOT NULL AND e.space IS NOT NULL
    AND (e.kind = 'message.received' AND e.person IS NOT NULL OR json_extract(e.payload, '$.kind') = 'reply')
    AND json_extract(e.payload, '$.forgotten') IS NULL
    AND e.seq NOT IN (SELECT value FROM json_each(:asked))
    AND NOT (e.kind = 'message.received' AND EXISTS (
        SELECT 1 FROM events AS w WHERE w.cause = e.id AND w.kind IN ('message.recalled', 'message.received')
    ))"""  # noqa: S608 (our own words)
"""What counts as talk: what a person said, and what they were answered; neither questions nor notices of ours, nor what
was recalled, or edited into something else, before it was answered."""
