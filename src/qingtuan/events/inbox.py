"""Inbound messages: stored before anything else happens, each answered once (channels.md, Inbox)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
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
    elif event.kind is Kind.MESSAGE_RECALLED:
        database.execute("UPDATE inbox SET state = 'done', turn = NULL WHERE event = ?", (event.payload["message"],))
    elif event.kind is Kind.MESSAGE_RECEIVED and _replaced(database, event):
        pass
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
    elif event.kind in (Kind.TURN_STARTED, Kind.TURN_JOINED):
        for message in event.payload["messages"]:
            database.execute(
                "UPDATE inbox SET state = 'working', turn = ? WHERE event = ?", (event.place.turn, message)
            )


def _replaced(database: Database, event: Event) -> bool:
    """Let an edited message take the place of the one that it was; False if it takes none."""
    done = database.execute(
        "UPDATE inbox SET event = ?, session = ?, state = 'waiting', turn = NULL WHERE event = ?",
        (event.id, event.place.session, event.payload.get("replaces", "")),
    )
    return done.rowcount > 0


def _know(database: Database, message: Mapping[str, str]) -> None:
    """A message that was erased stays known to have come: delivered once more, it would be heard as a new one."""
    database.execute(
        # One that was edited has been several: each may be named.
        "INSERT OR REPLACE INTO inbox (event, channel, space, message_id, session, state)"
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
    spoken: bool = False
    """Whether `text` was heard in the speaker's voice by a machine."""

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
            bool(payload.get("spoken")),
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

    def receive(
        self, inbound: Inbound, *, session: str, person: str, origin: Origin, replaces: Event | None = None
    ) -> Event | None:
        """Store a message; None if it was stored before. With `replaces` it is a stored one, edited.

        Raises:
            StorageFailed: it could not be stored; the channel must not acknowledge it.
        """
        if replaces is None and self.known(inbound.channel, inbound.space, inbound.message_id):
            return None
        place, payload = Place(session, inbound.space, None, person), _payload(inbound)
        if replaces is not None:
            payload["replaces"] = replaces.id
        cause = replaces.id if replaces else None
        with self._log.transaction(durable=True):
            event = self._log.append(Kind.MESSAGE_RECEIVED, place, payload, origin=origin, cause=cause)
            self._beside(event, inbound)
            return event

    def open(self) -> list[Event]:
        """Stored messages with no outcome, oldest first: what a start takes up again. An edit changes no order."""
        rows = self._log.database.rows(
            "SELECT e.* FROM inbox AS i CROSS JOIN events AS e ON e.id = i.event WHERE i.state <> 'done' ORDER BY e.seq"
        )
        return sorted(map(event_from_row, rows), key=lambda event: min(one.seq for one in self.versions(event)))

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

    def versions(self, message: Event) -> Iterator[Event]:
        """A stored message, and what it was before it was edited, newest first."""
        version: Event | None = message
        while version is not None:
            yield version
            version = self._log.get(version.payload["replaces"]) if "replaces" in version.payload else None

    def recall(self, message: Event) -> None:
        """Let a stored message that has no outcome count no more, in the turn that took it up, if any has."""
        place = replace(message.place, turn=self.turn_of(message.id))
        with self._log.transaction(durable=True):
            self._log.append(Kind.MESSAGE_RECALLED, place, {"message": message.id}, cause=message.id)

    def turn_of(self, message: str) -> str | None:
        """The turn that took up a stored message, if any has."""
        row = self._log.database.row("SELECT turn FROM inbox WHERE event = ?", (message,))
        return row["turn"] if row else None


def content_of(inbound: Inbound) -> dict[str, Any]:
    """What a message says, as its event would hold it."""
    payload = _payload(inbound)
    return {name: payload.get(name) for name in ("text", "materials", "attachments", "remotes")}


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
    if inbound.spoken:
        payload["spoken"] = True
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
