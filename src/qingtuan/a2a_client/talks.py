"""How the talk of each person with an agent can be gone on with, in the session where they have it.

agent.answered  {agent, context, task, state}
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.messages import Origin, Space
from qingtuan.storage.sqlite import Database

State = Literal["answered", "working", "asks", "login"]
"""Nothing is open; its task goes on; it waits for more to be said; it waits for somebody to log in somewhere."""

ASKING = timedelta(minutes=30)
"""For so long what an agent asked back counts as a question that is open."""


def project(database: Database, event: Event) -> None:
    """Keep `agent_talks` up to date."""
    if event.forgotten:
        return
    if event.kind in ERASING:
        which, values = erased_by(event)
        database.execute(f"DELETE FROM agent_talks WHERE event IN ({which})", values)  # noqa: S608 (placeholders)
    elif event.kind is Kind.FOLDER_RESTORED:
        # What became of those tasks since the backup is not known here: each talk begins anew.
        database.execute("DELETE FROM agent_talks")
    elif event.kind is Kind.AGENT_ANSWERED:
        database.execute(
            "INSERT OR REPLACE INTO agent_talks (session, person, agent, event) VALUES (?, ?, ?, ?)",
            (event.place.session, event.place.person or "", event.payload["agent"], event.id),
        )


@dataclass(frozen=True, slots=True)
class Talk:
    """Where a talk stands. The names are the agent's own."""

    context: str = ""
    task: str = ""
    """The task that is open, empty if none is."""
    state: State = "answered"


def asking_back(log: Log, space: Space, now: datetime) -> int:
    """How many agents asked something back in a chat of late: a bare yes may be meant for them."""
    row = log.database.row(
        "SELECT count(*) AS count FROM agent_talks AS t JOIN events AS e ON e.id = t.event"
        " WHERE e.space = ? AND e.time >= ? AND json_extract(e.payload, '$.state') = 'asks'",
        (str(space), round((now - ASKING).timestamp() * 1000)),
    )
    return row["count"] if row else 0


class Talks:
    """Reads and writes them."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def of(self, session: str, person: str, agent: str) -> Talk:
        """Where the talk of a person with an agent stands in a session: in a group, others have their own."""
        row = self._log.database.row(
            "SELECT event FROM agent_talks WHERE session = ? AND person = ? AND agent = ?", (session, person, agent)
        )
        event = self._log.get(row["event"]) if row else None
        if event is None or event.forgotten:
            return Talk()
        return Talk(event.payload["context"], event.payload["task"], event.payload["state"])

    def note(self, call: str, agent: str, talk: Talk) -> None:
        """Write down where it stands, after the call that the `tool.started` event of this id began."""
        started = self._log.get(call)
        place = started.place if started is not None else Place()
        payload = {"agent": agent, "context": talk.context, "task": talk.task, "state": talk.state}
        self._log.append(Kind.AGENT_ANSWERED, place, payload, origin=Origin.AGENT, cause=call)
