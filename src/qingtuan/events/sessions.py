"""Sessions of each space: which there are, which one runs, and since when their context counts.

A session of a private chat is one person's: what was said in it, looked up in it and summed up of it. An account can
become another person's, by a link, a parting or the file of people; whoever has it by then begins one of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.ids import Ids
from qingtuan.messages import Space
from qingtuan.storage.sqlite import Database, Row


@dataclass(frozen=True, slots=True)
class Session:
    """One running conversation of a space."""

    id: str
    space: Space
    name: str | None
    cleared: int
    """`seq` of the event since which context counts; 0 if it was never emptied."""


def project(database: Database, event: Event) -> None:
    """Keep `sessions` and `running_sessions` up to date."""
    session, space = event.place.session, event.place.space
    if event.forgotten:
        if event.kind in (Kind.SESSION_STARTED, Kind.SESSION_CHOSEN):
            # The one before it, of somebody else, had ended by then.
            database.execute("DELETE FROM running_sessions WHERE space = ?", (str(space),))
        return
    if event.kind in ERASING:
        which, values = erased_by(event)
        gone = f"SELECT id FROM sessions WHERE started IN ({which})"  # noqa: S608 (placeholders)
        database.execute(f"DELETE FROM running_sessions WHERE session IN ({gone})", values)  # noqa: S608
        database.execute(f"DELETE FROM sessions WHERE started IN ({which})", values)  # noqa: S608
    if event.kind is Kind.SESSION_STARTED:
        # Somebody else, to whom the account belonged, may have had one of this name.
        database.execute(
            "UPDATE sessions SET name = NULL WHERE space = ? AND name = ?", (str(space), event.payload.get("name"))
        )
        database.execute(
            "INSERT INTO sessions (id, space, name, started) VALUES (?, ?, ?, ?)",
            (session, str(space), event.payload.get("name"), event.id),
        )
    if event.kind is Kind.SESSION_CHOSEN or (event.kind is Kind.SESSION_STARTED and event.payload.get("name") is None):
        database.execute(
            "INSERT OR REPLACE INTO running_sessions (space, session) VALUES (?, ?)", (str(space), session)
        )
    if event.kind is Kind.SESSION_CLEARED:
        database.execute("UPDATE sessions SET cleared = ? WHERE id = ?", (event.seq, session))


class Sessions:
    """Finds and starts sessions."""

    def __init__(self, log: Log, ids: Ids) -> None:
        self._log = log
        self._ids = ids

    def running(self, space: Space, person: str) -> Session:
        """The running session of a space; the first one is started here, and the first of whoever a private chat
        belongs to by now."""
        row = self._log.database.row(
            "SELECT s.*, e.person AS began, (SELECT l.person FROM events AS l WHERE l.session = s.id"
            " AND l.person IS NOT NULL ORDER BY l.seq DESC LIMIT 1) AS last"
            " FROM running_sessions AS r JOIN sessions AS s ON s.id = r.session"
            " JOIN events AS e ON e.id = s.started WHERE r.space = ?",
            (str(space),),
        )
        theirs = row is not None and (space.is_group or row["began"] == row["last"] == person)
        return _session(row) if row is not None and theirs else self.start(space, person)

    def of_groups(self) -> list[Session]:
        """The running session of every group that has one."""
        rows = self._log.database.rows(
            "SELECT s.* FROM running_sessions AS r JOIN sessions AS s ON s.id = r.session"
            " WHERE r.space GLOB 'group:*' ORDER BY r.space"
        )
        return [_session(row) for row in rows]

    def named(self, space: Space, name: str, person: str) -> Session:
        """The session of this name or id in the space, started if the person has none; the running one stays."""
        row = self._log.database.row(
            "SELECT s.* FROM sessions AS s JOIN events AS e ON e.id = s.started"
            " WHERE s.space = ? AND (s.name = ? OR s.id = ?) AND (? OR e.person = ?) ORDER BY s.started DESC LIMIT 1",
            (str(space), name, name, space.is_group, person),
        )
        return _session(row) if row else self.start(space, person, name)

    def start(self, space: Space, person: str, name: str | None = None, *, cause: str | None = None) -> Session:
        """Start the next session of a space. One without a name becomes the running one."""
        session = self._ids.session()
        self._log.append(Kind.SESSION_STARTED, Place(session, space, None, person), {"name": name}, cause=cause)
        return Session(session, space, name, 0)

    def clear(self, session: Session, person: str, *, cause: str | None = None) -> None:
        """Empty the context of a session; its events stay and can be recalled."""
        self._log.append(Kind.SESSION_CLEARED, Place(session.id, session.space, None, person), cause=cause)

    def of(self, space: Space) -> list[Session]:
        """Every session of a space, in no order."""
        rows = self._log.database.rows("SELECT * FROM sessions WHERE space = ?", (str(space),))
        return [_session(row) for row in rows]

    def get(self, session: str) -> Session:
        """The session of this id. Raises `KeyError` if there is none."""
        row = self._log.database.row("SELECT * FROM sessions WHERE id = ?", (session,))
        if row is None:
            raise KeyError(session)
        return _session(row)


def _session(row: Row) -> Session:
    return Session(row["id"], Space.parse(row["space"]), row["name"], row["cleared"])
