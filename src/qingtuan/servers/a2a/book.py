"""The tasks of other agents: which messages belong to which, and what became of them.

    task.asked     {task, context, message, hops}   of the agent; a message became a task, or goes on with one
    task.canceled  {task}

How a task stands is in no table: it is read from the turns that its messages led to (`standing`), so that after a kill
at any instant it is what the log says.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.ids import Ids
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database, Row

MOST = 1000
"""Tasks of one agent that are kept; the oldest go first."""
KEPT_DAYS = 30
MOST_MESSAGES = 100
"""Messages of one task."""
_DAY = 86_400_000


@dataclass(frozen=True, slots=True)
class AgentTask:
    """A task as it was asked for."""

    id: str
    space: Space
    """The chat of the agent's account: nobody else knows of it."""
    context: str
    """What the agent calls the talk that it belongs to."""
    session: str
    hops: int
    """Through how many agents it came."""
    canceled: bool
    asked: datetime
    """When its newest message came."""


def project(database: Database, event: Event) -> None:
    """Keep `agent_tasks` and `agent_task_messages` up to date."""
    if event.forgotten:
        return
    payload = event.payload
    if event.kind in ERASING:
        which, values = erased_by(event)
        for gone in ("event", "message"):
            database.execute(f"DELETE FROM agent_task_messages WHERE {gone} IN ({which})", values)  # noqa: S608
        database.execute(f"DELETE FROM agent_tasks WHERE event IN ({which})", values)  # noqa: S608 (placeholders)
    elif event.kind is Kind.TASK_ASKED:
        database.execute(
            "INSERT INTO agent_tasks (id, space, context, session, event, hops, asked) VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET asked = excluded.asked, hops = max(hops, excluded.hops)",
            (
                payload["task"],
                str(event.place.space),
                payload["context"],
                event.place.session,
                event.id,
                payload["hops"],
                _millis(event.time),
            ),
        )
        database.execute(
            "INSERT OR IGNORE INTO agent_task_messages (message, task, event) VALUES (?, ?, ?)",
            (payload["message"], payload["task"], event.id),
        )
        _shed(database, event)
    elif event.kind is Kind.TASK_CANCELED:
        database.execute("UPDATE agent_tasks SET canceled = 1 WHERE id = ?", (payload["task"],))


def _shed(database: Database, event: Event) -> None:
    """Let go of what is too old, or too much, of whoever asks."""
    space = str(event.place.space)
    database.execute(
        "DELETE FROM agent_tasks WHERE space = ? AND (asked < ? OR id IN"
        " (SELECT id FROM agent_tasks WHERE space = ? ORDER BY asked DESC, id DESC LIMIT -1 OFFSET ?))",
        (space, _millis(event.time) - KEPT_DAYS * _DAY, space, MOST),
    )


class TaskBook:
    """Reads and writes tasks."""

    def __init__(self, log: Log, ids: Ids) -> None:
        self._log = log
        self._ids = ids

    def open(self, message: Event, context: str, hops: int) -> AgentTask:
        """Make a stored message a task of its own. Raises `StorageFailed`."""
        return self._ask(f"task_{self._ids.page()}", message, context, hops)

    def go_on(self, task: AgentTask, message: Event, hops: int) -> AgentTask:
        """Let a stored message belong to a task. Raises `StorageFailed`."""
        return self._ask(task.id, message, task.context, hops)

    def _ask(self, task: str, message: Event, context: str, hops: int) -> AgentTask:
        payload = {"task": task, "context": context, "message": message.id, "hops": hops}
        with self._log.transaction(durable=True):
            self._log.append(Kind.TASK_ASKED, message.place, payload, cause=message.id)
        found = self._find("id = ?", (task,))
        assert found  # it is the newest of all
        return found[0]

    def cancel(self, task: AgentTask, person: str) -> AgentTask:
        """Write down that the agent wants no more of a task."""
        place = Place(task.session, task.space, None, person)
        self._log.append(Kind.TASK_CANCELED, place, {"task": task.id})
        return self.find(task.id, task.space) or task

    def find(self, task: str, space: Space) -> AgentTask | None:
        """The task of this id, if it is one of this agent's."""
        return next(iter(self._find("id = ? AND space = ?", (task, str(space)))), None)

    def of_message(self, message: str) -> AgentTask | None:
        """The task that a stored message belongs to."""
        found = self._find("id IN (SELECT task FROM agent_task_messages WHERE message = ?)", (message,))
        return found[0] if found else None

    def of(self, space: Space, context: str | None = None) -> list[AgentTask]:
        """All tasks of an agent, or of one of its talks, the newest first."""
        if context is None:
            return self._find("space = ?", (str(space),))
        return self._find("space = ? AND context = ?", (str(space), context))

    def messages(self, task: AgentTask) -> list[Received]:
        """What was said to it, in order; nothing of what was erased."""
        rows = self._log.database.rows(
            "SELECT m.message FROM agent_task_messages AS m JOIN events AS e ON e.id = m.message"
            " WHERE m.task = ? ORDER BY e.seq",
            (task.id,),
        )
        events = (self._log.get(row["message"]) for row in rows)
        return [Received.of(event) for event in events if event is not None and not event.forgotten]

    def _find(self, condition: str, values: Sequence[str]) -> list[AgentTask]:
        rows = self._log.database.rows(
            f"SELECT * FROM agent_tasks WHERE {condition} ORDER BY asked DESC, id DESC",  # noqa: S608 (our words)
            values,
        )
        return [_task(row) for row in rows]


def hops_of(log: Log, turn: str) -> int:
    """Through how many agents came what a turn is about; 0 for what no agent asked for."""
    started = next((event for event in log.of_turn(turn) if event.kind is Kind.TURN_STARTED), None)
    if started is None or started.forgotten:
        return 0
    said = [*started.payload["messages"], *started.payload.get("carries_on", ())]
    row = log.database.row(
        "SELECT max(t.hops) AS hops FROM agent_task_messages AS m JOIN agent_tasks AS t ON t.id = m.task"
        " WHERE m.message IN (SELECT value FROM json_each(?))",
        (json.dumps(said),),
    )
    return (row["hops"] if row else None) or 0


def _task(row: Row) -> AgentTask:
    return AgentTask(
        id=row["id"],
        space=Space.parse(row["space"]),
        context=row["context"],
        session=row["session"],
        hops=row["hops"],
        canceled=bool(row["canceled"]),
        asked=datetime.fromtimestamp(row["asked"] / 1000, UTC),
    )


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
