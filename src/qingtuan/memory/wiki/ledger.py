"""What the events say about the wiki's files: the last known hash of each page, and how far each write has come.

Payloads of the kinds of event that this reads, besides those that erase (`events.erasing`):

    page.intended   {pages: [{path, before, after}], message, undoes?: [event], joins?: commit from elsewhere}
    page.edited     {pages: [{path, before, after}], renamed: [{from, to}], commit}
    wiki.committed  {commit, pages: [path], writes: [{event, path}]}
    write.undone    {writes: [event], by: the page.intended that took them back, or null, dropped?: reason}
    wiki.rewritten  {commits: {old: new}, contents: {path: {old: new}}, pages: {path: hash}, gone: [folder]}

`dropped` says that a write was given up before it reached its pages; it was not taken back, it never was there.

`before` and `after` are hashes, null where there is no page. The bytes behind `after` of a `page.intended` are
a part of the log.

A history that was made anew has other commits and other contents of pages; `pages` says of each page about which an
event was erased what it is, null where there is none. Of what stood below the folders in `gone` nothing is left.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.storage.sqlite import Database, Row

State = Literal["open", "committed", "overtaken", "dropped"]


@dataclass(frozen=True, slots=True)
class Write:
    """One page of one write. `before` and `after` are hashes; None where there is no page."""

    event: str
    path: str
    turn: str | None
    cause: str | None
    before: str | None
    after: str | None
    state: State
    revision: str | None
    """The commit, once there is one."""
    undone: str | None
    """The `write.undone` that took it back."""


def project(database: Database, event: Event) -> None:
    """Bring `wiki_pages` and `wiki_writes` up to date with one event."""
    if event.kind in ERASING:
        which, values = erased_by(event)
        database.execute(f"DELETE FROM wiki_writes WHERE event IN ({which})", values)  # noqa: S608 (placeholders)
    match event.kind:
        case Kind.PAGE_INTENDED:
            _intended(database, event)
        case Kind.PAGE_EDITED:
            for page in event.payload.get("pages", ()):
                _know(database, page["path"], page["after"])
                database.execute(
                    "UPDATE wiki_writes SET state = 'overtaken' WHERE path = ? AND state = 'open'", (page["path"],)
                )
        case Kind.WIKI_COMMITTED:
            for write in event.payload.get("writes", ()):
                database.execute(
                    "UPDATE wiki_writes SET state = 'committed', revision = ? "
                    "WHERE event = ? AND path = ? AND state = 'open'",
                    (event.payload["commit"], write["event"], write["path"]),
                )
        case Kind.WRITE_UNDONE:
            for write in event.payload.get("writes", ()):
                if "dropped" in event.payload:
                    _dropped(database, write)
                else:
                    database.execute("UPDATE wiki_writes SET undone = ? WHERE event = ?", (event.id, write))
        case Kind.WIKI_REWRITTEN:
            _rewritten(database, event)


def _intended(database: Database, event: Event) -> None:
    for page in event.payload.get("pages", ()):
        _know(database, page["path"], page["after"])
        database.execute(
            "INSERT INTO wiki_writes (event, path, seq, turn, cause, before, after, state) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, 'open')",
            (event.id, page["path"], event.seq, event.place.turn, event.cause, page["before"], page["after"]),
        )


def _dropped(database: Database, write: str) -> None:
    for row in database.rows("SELECT * FROM wiki_writes WHERE event = ? AND state IN ('open', 'overtaken')", (write,)):
        # The page was never changed: what was known before is what there is. Behind a hand edit that is known better.
        if row["state"] == "open" and _known(database, row["path"]) == row["after"]:
            _know(database, row["path"], row["before"])
    database.execute(
        "UPDATE wiki_writes SET state = 'dropped' WHERE event = ? AND state IN ('open', 'overtaken')", (write,)
    )
    # A write that was to take others back and came to nothing has taken nothing back.
    database.execute(
        "UPDATE wiki_writes SET undone = NULL WHERE undone IN ("
        "SELECT id FROM events WHERE kind = 'write.undone' AND cause = ?)",
        (write,),
    )


def _rewritten(database: Database, event: Event) -> None:
    commits, contents = event.payload["commits"], event.payload["contents"]
    for folder in event.payload["gone"]:
        for table in ("wiki_writes", "wiki_pages"):
            # From the folder to the first name behind all that begin with it.
            below = f"DELETE FROM {table} WHERE path > ? AND path < ?"  # noqa: S608 (our own words)
            database.execute(below, (f"{folder}/", f"{folder}0"))
    for row in database.rows("SELECT event, path, before, after, revision FROM wiki_writes"):
        changed = contents.get(row["path"], {})
        before, after = changed.get(row["before"], row["before"]), changed.get(row["after"], row["after"])
        revision = commits.get(row["revision"], row["revision"])
        if (before, after, revision) != (row["before"], row["after"], row["revision"]):
            database.execute(
                "UPDATE wiki_writes SET before = ?, after = ?, revision = ? WHERE event = ? AND path = ?",
                (before, after, revision, row["event"], row["path"]),
            )
    for row in database.rows("SELECT path, hash FROM wiki_pages"):
        changed = contents.get(row["path"], {})
        if row["hash"] in changed:
            _know(database, row["path"], changed[row["hash"]])
    for path, name in event.payload["pages"].items():
        _know(database, path, name)


def _know(database: Database, path: str, name: str | None) -> None:
    if name is None:
        database.execute("DELETE FROM wiki_pages WHERE path = ?", (path,))
    else:
        database.execute("INSERT OR REPLACE INTO wiki_pages (path, hash) VALUES (?, ?)", (path, name))


def _known(database: Database, path: str) -> str | None:
    row = database.row("SELECT hash FROM wiki_pages WHERE path = ?", (path,))
    return row["hash"] if row else None


class Ledger:
    """Questions to the two tables."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def known(self, path: str) -> str | None:
        """The hash that the page should have, or None if there should be none."""
        return _known(self._database, path)

    def known_of(self, paths: Collection[str]) -> dict[str, str]:
        """The hash that each of these pages should have; those that should not be are left out."""
        rows = self._database.rows(
            f"SELECT path, hash FROM wiki_pages WHERE path IN ({','.join('?' * len(paths))})",  # noqa: S608
            list(paths),
        )
        return {row["path"]: row["hash"] for row in rows}

    def all_known(self) -> dict[str, str]:
        """The hash that each page should have."""
        return {row["path"]: row["hash"] for row in self._database.rows("SELECT path, hash FROM wiki_pages")}

    def commit_at(self, moment: datetime) -> str | None:
        """The commit that was the newest here at a moment, as far as events know. Git does not: what was pulled later
        may be older."""
        row = self._database.row(
            "SELECT json_extract(payload, '$.commit') AS value FROM events WHERE kind = ? AND time <= ?"
            " ORDER BY seq DESC LIMIT 1",
            (Kind.WIKI_COMMITTED, int(moment.timestamp() * 1000)),
        )
        return row["value"] if row else None

    def open(self) -> list[Write]:
        """What was intended and is not known to be committed, in order."""
        return self._writes("state = 'open' ORDER BY seq, path", ())

    def overtaken(self) -> list[Write]:
        """What a hand edit came before, in order: to be applied again, or given up."""
        return self._writes("state = 'overtaken' ORDER BY seq, path", ())

    def of(self, name: str) -> list[Write]:
        """The committed or open writes of a turn, of the event they were made for, or of their own event, in order."""
        return self._writes(
            "(event = :name OR cause = :name OR turn = :name) AND state IN ('open', 'committed') ORDER BY seq, path",
            {"name": name},
        )

    def _writes(self, condition: str, values: tuple[str, ...] | dict[str, str]) -> list[Write]:
        rows = self._database.rows(f"SELECT * FROM wiki_writes WHERE {condition}", values)  # noqa: S608 (placeholders)
        return [_write(row) for row in rows]


def _write(row: Row) -> Write:
    return Write(
        row["event"],
        row["path"],
        row["turn"],
        row["cause"],
        row["before"],
        row["after"],
        row["state"],
        row["revision"],
        row["undone"],
    )
