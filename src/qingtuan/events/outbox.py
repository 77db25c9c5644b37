"""Outbound messages: each stored before it is handed over, with what became of it (channels.md, Outbox)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place, event_from_row
from qingtuan.messages import Attachment, Origin, Outbound, Space
from qingtuan.storage.sqlite import Database

MessageKind = Literal["reply", "question", "notice"]

_STATE_AFTER = {
    Kind.DELIVERY_STARTED: "sending",
    Kind.DELIVERY_SENT: "sent",
    Kind.DELIVERY_REFUSED: "refused",
    Kind.DELIVERY_UNKNOWN: "unknown",
}


def project(database: Database, event: Event) -> None:
    """Keep `outbox` up to date."""
    if event.forgotten:
        return
    if event.kind in ERASING:
        which, values = erased_by(event)
        database.execute(f"DELETE FROM outbox WHERE event IN ({which})", values)  # noqa: S608 (placeholders)
    elif event.kind is Kind.MESSAGE_SENT:
        database.execute(
            "INSERT INTO outbox (event, channel, space, state) VALUES (?, ?, ?, 'waiting')",
            (event.id, event.payload["channel"], str(event.place.space)),
        )
    elif event.kind in _STATE_AFTER:
        database.execute(
            "UPDATE outbox SET state = ?, platform_id = ? WHERE event = ?",
            (_STATE_AFTER[event.kind], event.payload.get("platform_id"), event.cause),
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

    def started(self, message: Event) -> None:
        """The message is being handed over; with nothing after this, its outcome is unknown."""
        self._log.append(Kind.DELIVERY_STARTED, message.place, cause=message.id)

    def finished(self, message: Event, kind: Kind, *, platform_id: str | None = None, detail: str = "") -> Event:
        """What the platform said: one of the kinds `delivery.sent`, `.refused`, `.unknown`."""
        payload = {key: value for key, value in (("platform_id", platform_id), ("detail", detail)) if value}
        return self._log.append(kind, message.place, payload, cause=message.id)

    def waiting(self, channel: str, space: Space | None = None) -> list[Event]:
        """Messages of a channel (and space) that were not yet handed over, oldest first."""
        clause, values = (" AND o.space = ?", [str(space)]) if space else ("", [])
        return self._open("waiting", f" AND o.channel = ?{clause}", [channel, *values])

    def _open(self, state: str, clause: str = "", values: Sequence[str] = ()) -> list[Event]:
        # The index of open messages is used only by who names its states as it does, and is read before the events
        # only by who says so: else SQLite goes through every event that ever was.
        rows = self._log.database.rows(
            "SELECT e.* FROM outbox AS o CROSS JOIN events AS e ON e.id = o.event"  # noqa: S608 (placeholders)
            f" WHERE o.state IN ('waiting', 'sending') AND o.state = ?{clause} ORDER BY e.seq",
            [state, *values],
        )
        return [event_from_row(row) for row in rows]

    def doubt(self, why: str) -> list[Event]:
        """After a restore: whatever was not handed over may have been since. It is not sent; what that concerns."""
        with self._log.transaction():
            open_ones = [*self._open("sending"), *self._open("waiting")]
            for message in open_ones:
                self.finished(message, Kind.DELIVERY_UNKNOWN, detail=why)
        return open_ones

    def withdraw(self, unwanted: Callable[[Event], bool], why: str) -> None:
        """Let what waits and is `unwanted` never be handed over."""
        with self._log.transaction():
            for message in filter(unwanted, self._open("waiting")):
                self.finished(message, Kind.DELIVERY_REFUSED, detail=why)

    def settle(self) -> None:
        """At a start: what was being handed over when the process died has an unknown outcome; it is not resent."""
        for message in self._open("sending"):
            self.finished(message, Kind.DELIVERY_UNKNOWN, detail="the process ended during delivery")


def outbound(message: Event) -> Outbound:
    """A `message.sent` event as a channel gets it."""
    if message.place.space is None:
        raise ValueError("a message goes to a space")
    attachments = tuple(Attachment(**attached) for attached in message.payload.get("attachments", ()))
    text, kind = message.payload["text"], message.payload["kind"]
    return Outbound(message.id, message.place.space, text, kind, attachments=attachments)
