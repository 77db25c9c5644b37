"""What the events know of the chats on QQ: which there are, what came last, what is ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from qingtuan.channels.onebot.inbound import CHANNEL, split_id
from qingtuan.events.groups import Groups
from qingtuan.events.inbox import Inbox, Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.events.outbox import Outbox
from qingtuan.events.overheard import Overhearing
from qingtuan.ids import first_event_id
from qingtuan.messages import Outbound, Space

_BACK = timedelta(days=3)
"""Chats in which nobody spoke for longer are not asked for what was missed."""
_MOST_CHATS = 30
_LOOKED_AT = 400
"""Events about silence that are looked through, the newest."""
_SLACK = timedelta(seconds=5)
"""QQ counts whole seconds, by a clock of its own."""


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat, and up to where it is known."""

    space: Space
    since: datetime
    """When the newest known message was said."""
    known: frozenset[str]
    """Ids of the newest known messages."""
    restored: datetime | None = None
    """When the data was put back to an earlier state: what was said before that may have been answered, though nothing
    here says so."""

    def missed(self, said_at: datetime, message_id: str) -> bool:
        """Whether a message of the history is one that did not come."""
        if self.restored is not None and said_at <= self.restored:
            return False
        return said_at >= self.since - _SLACK and message_id not in self.known


class Recent:
    """Looks into the events."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._inbox = Inbox(log)
        self._outbox = Outbox(log)
        self._groups = Groups(log)

    def newest(self, space: Space) -> str | None:
        """The id of the newest message that came in from a chat."""
        # The kinds stand as in the index of talk: else SQLite sorts all that ever came from the chat.
        row = self._log.database.row(
            "SELECT i.message_id FROM events AS e CROSS JOIN inbox AS i ON i.event = e.id WHERE e.space = ?"
            " AND (e.kind = 'message.received' OR e.kind = 'message.sent') AND i.channel = ?"
            " ORDER BY e.seq DESC LIMIT 1",
            (str(space), CHANNEL),
        )
        return row["message_id"] if row else None

    def answered(self, message: Outbound) -> str | None:
        """The id of the message that one of ours answers; None if it answers none."""
        sent = self._log.get(message.id)
        said = self._log.get(sent.cause) if sent is not None and sent.cause else None
        if said is not None and said.kind is Kind.CONFIRMATION_ANSWERED:
            said = self._log.get(str(said.payload.get("message", "")))
        if said is None or said.place.space != message.space or said.payload.get("channel") != CHANNEL:
            return None
        return _id_of(said.payload) or None

    def is_ours(self, space: Space, message_id: str) -> bool:
        """Whether a message of a chat is one that the assistant sent."""
        return self._outbox.of_platform(space, message_id) is not None

    def message(self, space: Space, message_id: str) -> Received | None:
        """A message that came in, by its id."""
        event = self._inbox.find(CHANNEL, space, message_id)
        return None if event is None or event.forgotten else Received.of(event)

    def overheard(self, space: Space, message_id: str) -> bool:
        """Whether a message of a group is known that was said to others."""
        return Overhearing(self._log, self._log.clock).find(CHANNEL, space, message_id) is not None

    def is_muted(self, group: Space) -> bool:
        """Whether the assistant was told that it may not write in a group."""
        return self._groups.is_muted(CHANNEL, group, self._log.clock.now())

    def chats(self, self_id: str, now: datetime) -> list[Chat]:
        """Chats that an account of ours heard from lately, the newest first."""
        first = first_event_id(now - _BACK)
        rows = self._log.database.rows(
            "SELECT id FROM events WHERE kind = ? AND seq >= (SELECT min(seq) FROM events WHERE id >= ?)"
            " AND json_extract(payload, '$.channel') = ? ORDER BY seq DESC LIMIT 2000",
            (Kind.MESSAGE_RECEIVED, first, CHANNEL),
        )
        received = [event for row in rows if (event := self._log.get(row["id"])) is not None]
        newest = self._log.database.row("SELECT max(seq) AS seq FROM events")
        after = max(0, ((newest["seq"] if newest else None) or 0) - 20_000)
        ignored = self._log.of_kind(Kind.MESSAGE_IGNORED, after=after, limit=20_000)[-_LOOKED_AT:]
        restored = self._log.of_kind(Kind.FOLDER_RESTORED)
        since = restored[-1].time if restored else None
        return [replace(chat, restored=since) for chat in _chats(self_id, received, ignored)]


def _chats(self_id: str, received: Iterable[Event], ignored: Iterable[Event]) -> Iterable[Chat]:
    known: dict[Space, set[str]] = {}
    since: dict[Space, datetime] = {}
    for event in received:
        space, found = event.place.space, _id_of(event.payload)
        if space is not None and split_id(found)[0] == self_id and (space in known or len(known) < _MOST_CHATS):
            said_at = event.payload.get("said_at")
            time = datetime.fromisoformat(said_at) if said_at else event.time
            known.setdefault(space, set()).add(found)
            since[space] = max(time, since.get(space, time))
    for event in ignored:
        # When it was said does not stand there; that it came does.
        if event.place.space in known and event.payload.get("channel") == CHANNEL:
            known[event.place.space].add(_id_of(event.payload))
    for space, names in known.items():
        yield Chat(space, since[space], frozenset(names))


def _id_of(payload: Mapping[str, Any]) -> str:
    return str(payload.get("message_id", ""))
