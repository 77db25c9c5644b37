"""Outbound messages: each stored before it is handed over, with what became of it (channels.md, Outbox).

A message goes out part by part, in order. What became of each part stands before the next one is handed over:

    message.sent ─ delivery.started {part, of} ─┬─ delivery.part    {part, of, state}  the next part is due
                                                ├─ delivery.later   {after}            certainly not taken: tried again
                                                └─ delivery.sent | .refused | .unknown   it was the last part

A message has one part unless its events say otherwise. After a crash the part that was on its way is unknown and is
not handed over again; those behind it were certainly not, and go out. The whole is unknown if any of its parts is, else
refused if one was, else sent. A platform that refuses the beginning of a message is not given the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place, event_from_row
from qingtuan.messages import Attachment, Origin, Outbound, Space
from qingtuan.storage.sqlite import Database, Row

MessageKind = Literal["reply", "question", "notice"]

_ENDS = {
    Kind.DELIVERY_SENT: "sent",
    Kind.DELIVERY_REFUSED: "refused",
    Kind.DELIVERY_UNKNOWN: "unknown",
}


def project(database: Database, event: Event) -> None:
    """Keep `outbox` and `outbox_parts` up to date."""
    if event.forgotten:
        return
    payload = event.payload
    if event.kind in ERASING:
        which, values = erased_by(event)
        for table in ("outbox_parts", "outbox"):
            database.execute(f"DELETE FROM {table} WHERE event IN ({which})", values)  # noqa: S608 (placeholders)
    elif event.kind is Kind.MESSAGE_SENT:
        database.execute(
            "INSERT INTO outbox (event, channel, space, state) VALUES (?, ?, ?, 'waiting')",
            (event.id, payload["channel"], str(event.place.space)),
        )
    elif event.kind is Kind.DELIVERY_STARTED:
        database.execute(
            "UPDATE outbox SET state = 'sending', part = ?, parts = ?, due = NULL, why = NULL WHERE event = ?",
            (payload.get("part", 0), payload.get("of", 1), event.cause),
        )
    elif event.kind is Kind.DELIVERY_PART:
        _put_part(database, event)
        database.execute(
            "UPDATE outbox SET state = 'waiting', part = part + 1, tries = 0 WHERE event = ?", (event.cause,)
        )
    elif event.kind is Kind.DELIVERY_LATER:
        due = round((event.time.timestamp() + payload["after"]) * 1000)
        database.execute(
            "UPDATE outbox SET state = 'waiting', tries = tries + 1, due = ?, why = ? WHERE event = ?",
            (due, payload.get("detail"), event.cause),
        )
    elif event.kind is Kind.DELIVERY_CUT:
        # What is on its way stands; then nothing more comes.
        database.execute(
            "UPDATE outbox SET parts = part + 1, why = ? WHERE event = ? AND state = 'sending'",
            (payload["detail"], event.cause),
        )
    elif event.kind in _ENDS:
        if "part" in payload or "platform_id" in payload:
            _put_part(database, event)
        database.execute(
            "UPDATE outbox SET state = ?, due = NULL, why = coalesce(?, why) WHERE event = ?",
            (_ENDS[event.kind], payload.get("detail"), event.cause),
        )


def _put_part(database: Database, event: Event) -> None:
    payload = event.payload
    database.execute(
        "INSERT INTO outbox_parts (event, part, state, platform_id) SELECT event, ?, ?, ? FROM outbox WHERE event = ?",
        (
            payload.get("part", 0),
            payload.get("state") or _ENDS[event.kind],
            payload.get("platform_id"),
            event.cause,
        ),
    )


@dataclass(frozen=True, slots=True)
class Draft:
    """A message about to be put into the outbox."""

    channel: str
    text: str
    kind: MessageKind = "reply"
    origin: Origin = Origin.ASSISTANT
    """Inherited: a reply made from foreign material carries its origin."""
    by_code: bool = False
    """Whether code wrote it and not the model: it then is no part of what the model said."""
    attachments: tuple[Attachment, ...] = ()
    """Kept in the data folder by their hashes."""


def notice(channel: str, text: str) -> Draft:
    """Words of code, apart from what the model says: an answer to a command, what became of a question."""
    return Draft(channel, text, "notice", Origin.SYSTEM, by_code=True)


@dataclass(frozen=True, slots=True)
class Queued:
    """A message that waits to be handed over, from one of its parts on."""

    message: Event
    part: int
    of: int
    """How many parts it had when the first was handed over; 1 before."""
    tries: int
    """How often that part was certainly not taken."""
    due: datetime | None
    """Not to be tried before."""


class Outbox:
    """The one road out."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def put(self, draft: Draft, place: Place, *, cause: str | None = None) -> Event:
        """Store a message for delivery."""
        payload: dict[str, Any] = {"channel": draft.channel, "kind": draft.kind, "text": draft.text}
        if draft.by_code:
            payload["by"] = "code"
        if draft.attachments:
            payload["attachments"] = [asdict(attached) for attached in draft.attachments]
        return self._log.append(Kind.MESSAGE_SENT, place, payload, origin=draft.origin, cause=cause)

    # What becomes of it

    def started(self, message: Event, part: int = 0, of: int = 1) -> None:
        """A part of the message is being handed over; with nothing after this, its outcome is unknown."""
        payload: dict[str, Any] = {"part": part, "of": of} if of > 1 else {}
        self._log.append(Kind.DELIVERY_STARTED, message.place, payload, cause=message.id)

    def finished(self, message: Event, kind: Kind, *, platform_id: str | None = None, detail: str = "") -> Event:
        """What became of the part that was handed over: one of the kinds `delivery.sent`, `.refused`, `.unknown`. The
        event that was written: of that kind or of the whole, if that has ended, else `delivery.part`."""
        said: dict[str, Any] = {
            key: value for key, value in (("platform_id", platform_id), ("detail", detail)) if value
        }
        row = self._log.database.row("SELECT part, parts FROM outbox WHERE event = ?", (message.id,))
        part, of = (row["part"], row["parts"]) if row else (0, 1)
        refused = kind is Kind.DELIVERY_REFUSED and part == 0
        if part + 1 < of and not refused:
            payload = {"part": part, "of": of, "state": _ENDS[kind], **said}
            return self._log.append(Kind.DELIVERY_PART, message.place, payload, cause=message.id)
        if of > 1 or part > 0:
            said = {"part": part, "of": of, "state": _ENDS[kind], **said}
            kind = self._whole(message, kind)
        return self._log.append(kind, message.place, said, cause=message.id)

    def _whole(self, message: Event, last: Kind | None = None) -> Kind:
        """The outcome of a message of several parts."""
        rows = self._log.database.rows("SELECT state FROM outbox_parts WHERE event = ?", (message.id,))
        states = {*(row["state"] for row in rows), *([_ENDS[last]] if last else [])}
        return next(kind for kind in reversed(_ENDS) if _ENDS[kind] in states)

    def later(self, message: Event, after: float, detail: str = "") -> None:
        """The part that was handed over was certainly not taken; it may be tried again in `after` seconds."""
        payload = {"after": round(after, 3), **({"detail": detail} if detail else {})}
        self._log.append(Kind.DELIVERY_LATER, message.place, payload, cause=message.id)

    def end(self, message: Event, kind: Kind, why: str) -> Event:
        """Give a message that waits its end: no part of it is handed over any more."""
        return self._log.append(kind, message.place, {"detail": why}, cause=message.id)

    # What waits

    def queue(self, channel: str, space: Space) -> list[Queued]:
        """What waits in a chat, oldest first."""
        rows = self._rows("waiting", " AND o.channel = ? AND o.space = ?", [channel, str(space)])
        return [_queued(row) for row in rows]

    def waiting(self, channel: str, space: Space | None = None) -> list[Event]:
        """Messages of a channel (and space) that were not yet handed over, oldest first."""
        clause, values = (" AND o.space = ?", [str(space)]) if space else ("", [])
        return self._open("waiting", f" AND o.channel = ?{clause}", [channel, *values])

    def unfinished(self) -> list[Event]:
        """Messages of which a part is still to be handed over, oldest first; the last part of one may be on its way."""
        return sorted([*self._open("waiting"), *self._open("sending")], key=lambda message: message.seq)

    def _open(self, state: str, clause: str = "", values: Sequence[str] = ()) -> list[Event]:
        return [_queued(row).message for row in self._rows(state, clause, values)]

    def _rows(self, state: str, clause: str = "", values: Sequence[str] = ()) -> list[Row]:
        # The index of open messages is used only by who names its states as it does, and is read before the events
        # only by who says so: else SQLite goes through every event that ever was.
        return self._log.database.rows(
            "SELECT e.*, o.part, o.parts, o.tries, o.due FROM outbox AS o"  # noqa: S608 (placeholders)
            " CROSS JOIN events AS e ON e.id = o.event"
            f" WHERE o.state IN ('waiting', 'sending') AND o.state = ?{clause} ORDER BY e.seq",
            [state, *values],
        )

    # Ending what waits

    def doubt(self, why: str) -> list[Event]:
        """After a restore: whatever was not handed over may have been since. It is not sent; what that concerns."""
        with self._log.transaction():
            open_ones = [*self._open("sending"), *self._open("waiting")]
            for message in open_ones:
                self.end(message, Kind.DELIVERY_UNKNOWN, why)
        return open_ones

    def withdraw(self, unwanted: Callable[[Event], bool], why: str) -> int:
        """Let what waits and is `unwanted` never be handed over, nor the rest of what is on its way. What has gone out
        of a message stands. How many messages that concerned."""
        with self._log.transaction():
            waiting = [one for one in map(_queued, self._rows("waiting")) if unwanted(one.message)]
            for one in waiting:
                kind = self._whole(one.message) if one.part else Kind.DELIVERY_REFUSED
                self.end(one.message, kind, why)
            going = [one for one in map(_queued, self._rows("sending")) if one.part + 1 < one.of]
            cut = [one.message for one in going if unwanted(one.message)]
            for message in cut:
                self._log.append(Kind.DELIVERY_CUT, message.place, {"detail": why}, cause=message.id)
        return len(waiting) + len(cut)

    def settle(self) -> list[Event]:
        """At a start: what was being handed over when the process died has an unknown outcome; it is not resent. The
        parts behind it were certainly not handed over, and wait. The messages that this is about."""
        doubtful = self._open("sending")
        for message in doubtful:
            self.finished(message, Kind.DELIVERY_UNKNOWN, detail="the process ended during delivery")
        return doubtful

    # Looking

    def of_platform(self, space: Space, platform_id: str) -> str | None:
        """The `message.sent` of which the platform knows a part under this id: what a quote of it refers to."""
        row = self._log.database.row(
            "SELECT p.event FROM outbox_parts AS p CROSS JOIN outbox AS o ON o.event = p.event"
            " WHERE p.platform_id = ? AND o.space = ? ORDER BY p.event DESC LIMIT 1",
            (platform_id, str(space)),
        )
        return row["event"] if row else None

    def outbound(self, message: Event) -> Outbound:
        """A `message.sent` as a channel gets it, with what it answers where a platform should quote that."""
        return outbound(message, self._answers(message))

    def _answers(self, message: Event) -> str | None:
        """The platform's id of the message that caused this one, in its chat. In private only where others came after
        it: else it is plain what is answered."""
        said = self._log.get(message.cause) if message.cause else None
        if said is not None and said.kind is Kind.CONFIRMATION_ANSWERED:
            said = self._log.get(said.payload.get("message", ""))
        space = message.place.space
        if said is None or space is None or said.kind is not Kind.MESSAGE_RECEIVED or said.place.space != space:
            return None
        if said.payload.get("channel") != message.payload["channel"]:
            return None
        return str(said.payload["message_id"]) if space.is_group or self._others_since(said, space) else None

    def _others_since(self, said: Event, space: Space) -> bool:
        # The kinds stand as in the index of talk: else SQLite does not use it.
        row = self._log.database.row(
            "SELECT 1 FROM events WHERE space = ? AND seq > ? AND (kind = 'message.received' OR kind = 'message.sent')"
            " AND kind = 'message.received' LIMIT 1",
            (str(space), said.seq),
        )
        return row is not None


def _queued(row: Row) -> Queued:
    *event, part, of, tries, due = row
    return Queued(
        event_from_row(tuple(event)), part, of, tries, None if due is None else datetime.fromtimestamp(due / 1000, UTC)
    )


def outbound(message: Event, reply_to: str | None = None) -> Outbound:
    """A `message.sent` event as a channel gets it."""
    if message.place.space is None:
        raise ValueError("a message goes to a space")
    attachments = tuple(Attachment(**attached) for attached in message.payload.get("attachments", ()))
    text, kind = message.payload["text"], message.payload["kind"]
    return Outbound(message.id, message.place.space, text, kind, reply_to, attachments)
