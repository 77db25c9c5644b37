"""Inbound messages: stored before anything else happens, each answered once (channels.md, Inbox)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place, event_from_row
from qingtuan.messages import Attachment, Inbound, Material, Origin, Remote, Space
from qingtuan.storage.sqlite import Database


def project(database: Database, event: Event) -> None:
    """Keep `inbox` up to date: waiting until taken, working until its turn or command has ended."""
    if event.kind is Kind.TURN_FINISHED:
        # Only the open ones are looked through, not every message that ever came.
        database.execute("UPDATE inbox SET state = 'done' WHERE turn = ? AND state <> 'done'", (event.place.turn,))
    elif event.kind is Kind.COMMAND_RUN:
        database.execute("UPDATE inbox SET state = 'done' WHERE event = ?", (event.cause,))
    if event.forgotten:
        return
    if event.kind in ERASING:
        which, values = erased_by(event)
        database.execute(f"DELETE FROM inbox WHERE event IN ({which})", values)  # noqa: S608 (placeholders)
        for message in event.payload.get("known", ()):
            _know(database, message)
    elif event.kind is Kind.MESSAGE_RECEIVED:
        database.execute(
            "INSERT INTO inbox (event, channel, space, message_id, session, state) VALUES (?, ?, ?, ?, ?, 'waiting')",
            (
                event.id,
                event.payload["channel"],
                str(event.place.space),
                event.payload["message_id"],
                event.place.session,
            ),
        )
    elif event.kind is Kind.TURN_STARTED:
        for message in event.payload["messages"]:
            database.execute(
                "UPDATE inbox SET state = 'working', turn = ? WHERE event = ?", (event.place.turn, message)
            )


def _know(database: Database, message: Mapping[str, str]) -> None:
    """A message that was erased stays known to have come: delivered once more, it would be heard as a new one."""
    database.execute(
        "INSERT INTO inbox (event, channel, space, message_id, session, state)"
        " SELECT id, ?, space, ?, session, 'done' FROM events WHERE id = ?",
        (message["channel"], message["message_id"], message["event"]),
    )


@dataclass(frozen=True, slots=True)
class Received:
    """A stored message, as later steps read it back."""

    event: Event
    account: str
    text: str
    materials: tuple[Material, ...]
    attachments: tuple[Attachment, ...]
    said_at: datetime
    quotes: str | None = None
    """The platform's id of the message that it quotes."""
    edited: bool = False
    remotes: tuple[Remote, ...] = ()
    """What lay with the platform when it came."""
    album: str | None = None
    gathers: bool = False

    @property
    def channel(self) -> str:
        """Where it came in, and where the answer goes out."""
        return str(self.event.payload.get("channel", ""))

    @classmethod
    def of(cls, event: Event) -> Received:
        """Read a `message.received` event."""
        payload = event.payload
        return cls(
            event,
            payload.get("account", ""),
            payload.get("text", ""),
            materials_of(event),
            tuple(Attachment(**a) for a in payload.get("attachments", ())),
            datetime.fromisoformat(payload["said_at"]) if "said_at" in payload else event.time,
            payload.get("quotes"),
            bool(payload.get("edited")),
            tuple(Remote(**remote) for remote in payload.get("remotes", ())),
            payload.get("album"),
            bool(payload.get("gathers")),
        )


def materials_of(message: Event) -> tuple[Material, ...]:
    """The material that came with a stored message."""
    return tuple(Material(Origin(m["origin"]), m["label"], m["text"]) for m in message.payload.get("materials", ()))


class Inbox:
    """The one road in."""

    def __init__(self, log: Log, beside: Callable[[Event, Inbound], None] = lambda *_: None) -> None:
        """`beside` writes down what belongs to a message, in the transaction that stores it."""
        self._log = log
        self._beside = beside

    def known(self, channel: str, space: Space, message_id: str) -> bool:
        """Whether the platform has delivered this message before, in this run or an earlier one."""
        row = self._log.database.row(
            "SELECT 1 FROM inbox WHERE channel = ? AND space = ? AND message_id = ?", (channel, str(space), message_id)
        )
        return row is not None

    def receive(self, inbound: Inbound, *, session: str, person: str, origin: Origin) -> Event | None:
        """Store a message; None if it was stored before.

        Raises:
            StorageFailed: it could not be stored; the channel must not acknowledge it.
        """
        if self.known(inbound.channel, inbound.space, inbound.message_id):
            return None
        with self._log.transaction(durable=True):
            event = self._log.append(
                Kind.MESSAGE_RECEIVED, Place(session, inbound.space, None, person), _payload(inbound), origin=origin
            )
            self._beside(event, inbound)
            return event

    def open(self) -> list[Event]:
        """Stored messages with no outcome, oldest first: what a start takes up again."""
        rows = self._log.database.rows(
            "SELECT e.* FROM inbox AS i CROSS JOIN events AS e ON e.id = i.event WHERE i.state <> 'done' ORDER BY e.seq"
        )
        return [event_from_row(row) for row in rows]

    def find(self, channel: str, space: Space, message_id: str) -> Event | None:
        """The stored message of this id of the platform; None if it never came or was not taken."""
        row = self._log.database.row(
            "SELECT event FROM inbox WHERE channel = ? AND space = ? AND message_id = ?",
            (channel, str(space), message_id),
        )
        return self._log.get(row["event"]) if row else None

    def is_open(self, message: str) -> bool:
        """Whether a stored message has no outcome yet."""
        row = self._log.database.row("SELECT 1 FROM inbox WHERE event = ? AND state <> 'done'", (message,))
        return row is not None

    def turn_of(self, message: str) -> str | None:
        """The turn that took up a stored message, if any has."""
        row = self._log.database.row("SELECT turn FROM inbox WHERE event = ?", (message,))
        return row["turn"] if row else None


def _payload(inbound: Inbound) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "channel": inbound.channel,
        "account": inbound.account,
        "message_id": inbound.message_id,
        "text": inbound.text,
        "said_at": inbound.time.isoformat(),
    }
    if inbound.nickname:
        payload["nickname"] = inbound.nickname
    if inbound.edited:
        payload["edited"] = True
    if inbound.quotes:
        payload["quotes"] = inbound.quotes
    if inbound.gathers:
        payload["gathers"] = True
    if inbound.album:
        payload["album"] = inbound.album
    if inbound.remotes:
        payload["remotes"] = [asdict(remote) for remote in inbound.remotes]
    if inbound.materials:
        payload["materials"] = [asdict(material) for material in inbound.materials]
    if inbound.attachments:
        payload["attachments"] = [asdict(attachment) for attachment in inbound.attachments]
    return payload
