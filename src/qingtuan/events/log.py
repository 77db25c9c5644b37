"""The append-only log: one way to write an event, a few ways to read them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from qingtuan.clock import Clock
from qingtuan.events.kinds import Kind
from qingtuan.ids import Ids
from qingtuan.messages import Origin, Space
from qingtuan.storage.files import content_hash
from qingtuan.storage.sqlite import Database, Row


@dataclass(frozen=True, slots=True)
class Place:
    """Where an event belongs. All of it may be unknown (a hand edit belongs to no turn)."""

    session: str | None = None
    space: Space | None = None
    turn: str | None = None
    person: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. Never changed once written."""

    id: str
    time: datetime
    kind: Kind
    place: Place
    origin: Origin
    payload: Mapping[str, Any] = field(default_factory=dict)
    """Not to be changed by whoever reads it: events are shared."""
    cause: str | None = None
    seq: int = 0
    """Position in the log, from 1; 0 until written."""

    @property
    def forgotten(self) -> bool:
        """Whether this is a tombstone: its payload has been erased, with its person or with something that it said."""
        return "forgotten" in self.payload


TOMBSTONE = '{"forgotten":true}'
"""The payload of an event that was erased."""
_MOST_PARSED = 8192
"""Events that are kept in mind."""

Projection = Callable[[Database, Event], None]
"""Brings one table up to date with one event. Runs inside the event's transaction; must be a function of
the table and the event alone, so that replaying all events gives the same table."""


class Log:
    """Events and request parts of one data folder."""

    def __init__(self, database: Database, clock: Clock, ids: Ids, projections: Iterable[Projection] = ()) -> None:
        self.database = database
        self._clock = clock
        self._ids = ids
        self._projections = tuple(projections)
        self._listeners: list[Callable[[Event], None]] = []
        self._written: list[Event] | None = None
        """Events of the transaction that is open."""
        self._untold: deque[Event] = deque()
        """Events that stand and of which the listeners have not heard."""
        self._telling = False
        self._parsed: dict[tuple[str, bool], Event] = {}
        """Events that were read before, by id and whether it is a tombstone. An id is never given twice, and nothing
        else of an event ever changes: of these two all the rest follows."""

    @property
    def clock(self) -> Clock:
        """By which events have their times."""
        return self._clock

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[None]:
        """Several events, or an event and its parts, land together or not at all.

        Listeners are told when the outermost transaction has been committed, in the order of the log, and never of
        what was rolled back.
        """
        if self._written is not None:
            with self.database.transaction(durable=durable):
                yield
            return
        written = self._written = []
        try:
            with self.database.transaction(durable=durable):
                yield
        finally:
            self._written = None
        self._untold.extend(written)
        self._tell()

    def _tell(self) -> None:
        if self._telling:
            return  # a listener wrote events of its own: they are told after those that stood before
        self._telling = True
        try:
            while self._untold:
                event = self._untold.popleft()
                for listener in tuple(self._listeners):
                    listener(event)
        finally:
            self._telling = False

    def append(
        self,
        kind: Kind,
        place: Place,
        payload: Mapping[str, Any] | None = None,
        *,
        origin: Origin = Origin.SYSTEM,
        cause: str | None = None,
    ) -> Event:
        """Write one event and bring every projection up to date, in one transaction.

        Raises:
            StorageFailed: the database refused; nothing was written.
        """
        content, body = _as_json(payload or {})
        name, time = self._ids.event(), self._clock.now()
        with self.transaction():
            cursor = self.database.execute(
                "INSERT INTO events (id, time, kind, session, space, turn, person, origin, cause, payload)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    name,
                    round(time.timestamp() * 1000),
                    kind,
                    place.session,
                    str(place.space) if place.space else None,
                    place.turn,
                    place.person,
                    origin,
                    cause,
                    body,
                ),
            )
            event = Event(name, time, kind, place, origin, content, cause, cursor.lastrowid or 0)
            for project in self._projections:
                project(self.database, event)
            if self._written is not None:
                self._written.append(event)
        return event

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call `listener` with each event once it stands; the result ends that. A listener must not raise: whoever
        writes would get its error."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def keep_parts(self, bodies: Sequence[bytes]) -> list[str]:
        """Store pieces of a request, each once, and give their hashes in the same order."""
        hashes = [content_hash(body) for body in bodies]
        for name, body in zip(hashes, bodies, strict=True):
            self.database.execute("INSERT OR IGNORE INTO parts (hash, body) VALUES (?, ?)", (name, body))
        return hashes

    def part(self, name: str) -> bytes:
        """The piece with this hash. Raises `KeyError` if it was never stored or was forgotten."""
        row = self.database.row("SELECT body FROM parts WHERE hash = ?", (name,))
        if row is None:
            raise KeyError(name)
        return bytes(row["body"])

    def get(self, event_id: str) -> Event | None:
        """The event of this id."""
        return next(iter(self._read("id = ?", [event_id])), None)

    def of_turn(self, turn: str) -> list[Event]:
        """All events of a turn, in order."""
        return self._read("turn = ? ORDER BY seq", [turn])

    def of_session(self, session: str, *, after: int = 0, kinds: Iterable[Kind] | None = None) -> list[Event]:
        """Events of a session with `seq` greater than `after`, in order; only of `kinds` if given."""
        # They are read again in every turn of the session, nearly all of them as before: whole rows only of new ones.
        clause, values = _kind_clause(kinds)
        rows = self.database.rows(
            f"SELECT seq, id, payload = ? FROM events WHERE session = ? AND seq > ?{clause} ORDER BY seq",  # noqa: S608
            [TOMBSTONE, session, after, *values],
        )
        known = [(seq, self._parsed.get((name, gone))) for seq, name, gone in rows]
        lacking = [seq for seq, event in known if event is None]
        fresh = self._read("seq IN (SELECT value FROM json_each(?))", [json.dumps(lacking)]) if lacking else []
        new = {event.seq: event for event in fresh}
        return [event or new[seq] for seq, event in known]

    def of_kind(self, *kinds: Kind, after: int = 0, limit: int = 1000) -> list[Event]:
        """The first `limit` events of these kinds after `after`, in order."""
        clause, values = _kind_clause(kinds)
        return self._read(f"seq > ?{clause} ORDER BY seq LIMIT ?", [after, *values, limit])

    def caused_by(self, event_id: str) -> list[Event]:
        """Events whose cause is `event_id`, in order."""
        return self._read("cause = ? ORDER BY seq", [event_id])

    def where(self, condition: str, values: Sequence[Any]) -> list[Event]:
        """The events that an SQL condition on `events` picks, in order; values only through placeholders."""
        return self._read(f"{condition} ORDER BY seq", values)

    def _read(self, condition: str, values: Sequence[Any]) -> list[Event]:
        rows = self.database.rows(f"SELECT * FROM events WHERE {condition}", values)  # noqa: S608 (placeholders)
        return [self._event(row) for row in rows]

    def _event(self, row: Row) -> Event:
        content = row["id"], row["payload"] == TOMBSTONE
        if (event := self._parsed.get(content)) is None:
            if len(self._parsed) >= _MOST_PARSED:
                self._parsed.clear()
            event = self._parsed[content] = event_from_row(row)
        return event

    def forget_read(self) -> None:
        """Keep nothing in mind of what was read before: some of it has been erased."""
        self._parsed.clear()

    def replay(self) -> Iterator[Event]:
        """Every event from the first, for rebuilding projections and indexes."""
        after = 0
        while rows := self.database.rows("SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT 1000", (after,)):
            yield from map(event_from_row, rows)
            after = rows[-1]["seq"]


def event_from_row(row: Row | tuple[Any, ...]) -> Event:
    """The event that a row of `events` holds, with all columns of the table in their order."""
    seq, name, time, kind, session, space, turn, person, origin, cause, payload = row
    return Event(
        id=name,
        time=datetime.fromtimestamp(time / 1000, UTC),
        kind=Kind(kind),
        place=Place(session, Space.parse(space) if space else None, turn, person),
        origin=Origin(origin),
        payload=json.loads(payload),
        cause=cause,
        seq=seq,
    )


_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _as_json(payload: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """A payload with its JSON text. Halves of characters, which chat apps and models do send and no database takes,
    are replaced in both."""
    body = _compact(payload)
    try:
        body.encode()
    except UnicodeEncodeError:
        body = body.encode("utf-8", "replace").decode()
        return json.loads(body), body
    return dict(payload), body


def _kind_clause(kinds: Iterable[Kind] | None) -> tuple[str, list[str]]:
    if kinds is None:
        return "", []
    values = [str(kind) for kind in kinds]
    return f" AND kind IN ({','.join('?' * len(values))})", values
