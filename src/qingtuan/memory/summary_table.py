"""The table of summaries: a projection of two kinds of event.

    summary.written  {text: hash of a part, first, last, start, end, messages, days: [first, last], level, absorbs: […]}
    summary.deleted  {summaries: [ids], erased?}

The text is a part of the log, so that it can be forgotten; a summary whose text is gone never was.
"""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database, Row


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary and what it covers."""

    id: str
    """Of its `summary.written`."""
    session: str
    space: Space
    text: str
    first: int
    """Position in the log of the first thing that it was made from."""
    last: int
    """Position up to which it covers its session."""
    start: str
    """Id of the first message."""
    end: str
    """Id of the last message."""
    messages: int
    days: tuple[str, str]
    """Of the first and the last message, ISO, in the person's zone."""
    created: str
    """ISO 8601, UTC."""
    level: int
    """1 for a summary of messages; of summaries, one more than the highest."""
    foreign: bool

    @property
    def shown(self) -> str:
        """As it stands in a request: with its days, since the words in it may depend on them."""
        first, last = self.days
        return f"[{first if first == last else f'{first}~{last}'}]\n{self.text}"


def project(database: Database, event: Event) -> None:
    """Keep `session_summaries` up to date."""
    payload = event.payload
    if event.kind is Kind.SUMMARY_WRITTEN and "text" in payload:
        part = database.row("SELECT body FROM parts WHERE hash = ?", (payload["text"],))
        if part is not None:
            _insert(database, event, bytes(part["body"]).decode())
    elif event.kind is Kind.SUMMARY_DELETED:
        for name in payload.get("summaries", ()):
            if payload.get("erased"):
                database.execute("DELETE FROM session_summaries WHERE id = ?", (name,))
                database.execute("UPDATE session_summaries SET absorbed_by = NULL WHERE absorbed_by = ?", (name,))
            else:
                database.execute("UPDATE session_summaries SET deleted = ? WHERE id = ?", (event.id, name))


def _insert(database: Database, event: Event, text: str) -> None:
    payload, space = event.payload, event.place.space
    assert space is not None
    database.execute(
        "INSERT INTO session_summaries (id, session_key, message_type, user_id, group_id, summary, message_start_id,"
        " message_end_id, source_message_count, created_at, first_seq, last_seq, first_day, last_day, level,"
        " is_foreign)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            event.id,
            event.place.session,
            space.kind,
            None if space.is_group else space.id,
            space.id if space.is_group else None,
            text,
            payload["start"],
            payload["end"],
            payload["messages"],
            event.time.isoformat(),
            payload["first"],
            payload["last"],
            *payload["days"],
            payload["level"],
            event.origin.foreign,
        ),
    )
    for name in payload.get("absorbs", ()):
        database.execute("UPDATE session_summaries SET absorbed_by = ? WHERE id = ?", (event.id, name))


def from_row(row: Row) -> Summary:
    """The summary that a row holds."""
    return Summary(
        id=row["id"],
        session=row["session_key"],
        space=Space.parse(f"{row['message_type']}:{row['user_id'] or row['group_id']}"),
        text=row["summary"],
        first=row["first_seq"],
        last=row["last_seq"],
        start=row["message_start_id"],
        end=row["message_end_id"],
        messages=row["source_message_count"],
        days=(row["first_day"], row["last_day"]),
        created=row["created_at"],
        level=row["level"],
        foreign=bool(row["is_foreign"]),
    )
