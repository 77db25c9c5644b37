"""What is known of self-made capabilities: every version, which one counts, who owns it, and how its calls went.

capability.deployed   {name, version, hash, definition, how, waits, note}; of its author, with the origin of its words
capability.approved   {name, version, event}
capability.withdrawn  {name, version, event}
capability.stored     {name, version, files, commit}; what stands in its folder: SHA-256 by file, {} for nothing
capability.deleted    {name, why}
capability.switched   {name, off}
capability.called     {name, version, ok, seconds, fault?, message?, fetched}; of whoever called

A version is in its event, whole: what counts never hangs on files, which follow (`store`). With whoever is forgotten
go their versions and calls, and with a version what it says. Decisions are nobody's: they hold names and numbers, and
the tables of others are made from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from qingtuan.capabilities.definition import Definition, read
from qingtuan.capabilities.sandbox.base import Fetch
from qingtuan.events.erasing import ERASING, erased_by
from qingtuan.events.kinds import Kind
from qingtuan.events.log import TOMBSTONE, Event, Log, Place
from qingtuan.identity.accounts import OWNER
from qingtuan.messages import Origin
from qingtuan.storage.files import content_hash
from qingtuan.storage.sqlite import Database, Row

How = Literal["asked", "command", "http", "hand", "import", "starter", "rollback"]
"""In which way a version came: called for in a chat, by command, by a program, by an editor, from an archive, along
with the product, or from an older version."""
BROKEN_AFTER = 3
"""Failures in a row."""

_NOWHERE = Place()


@dataclass(frozen=True, slots=True)
class By:
    """Who does something, and whether they are the owner who has said yes to exactly this."""

    person: str = OWNER
    sure: bool = False
    """Whether the instance's owner decided this: by hand, or by confirming it. Then a version counts at once, else it
    waits. Never true for a program, whosever key it has."""
    how: How = "command"
    place: Place = _NOWHERE
    origin: Origin = Origin.OWNER
    """Of the words: what it was made from."""
    cause: str | None = None


BY_HAND = By(how="hand")
"""Somebody's editor, or whatever else changes files."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a capability."""

    event: str
    name: str
    number: int
    author: str
    hash: str
    time: datetime
    origin: Origin
    how: How
    note: str
    waits: bool
    counted: int | None
    """Position in the log since which it counts; None if it never did."""
    began: datetime | None


@dataclass(frozen=True, slots=True)
class Use:
    """How its calls went, over all versions."""

    calls: int = 0
    failures: int = 0
    seconds: float = 0.0
    """Of all calls together."""
    last: datetime | None = None
    error: str = ""
    """Of the last call that failed."""


@dataclass(frozen=True, slots=True)
class Held:
    """A capability that there is: the version that counts, and what else is known of it."""

    name: str
    owner: str
    version: Version
    definition: Definition
    off: bool = False
    broken: bool = False
    """Whether its last calls all failed."""
    waiting: tuple[Version, ...] = ()
    """Versions that wait for the owner."""

    @property
    def expires(self) -> datetime | None:
        """When an ephemeral one ends."""
        if self.definition.ttl is None or self.version.began is None:
            return None
        return self.version.began + timedelta(seconds=self.definition.ttl)

    def over(self, now: datetime) -> bool:
        """Whether its time has run out."""
        return self.expires is not None and now >= self.expires


@dataclass(frozen=True, slots=True)
class State:
    """What was decided about a name, whatever its versions."""

    off: bool = False
    deleted: int = 0
    """Position in the log of its last deletion; 0 for never."""
    cleared: int = 0
    """Position since which failures count towards its being broken: a newer version or a yes clears it. A deletion
    after it was somebody's decision."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What was put into a folder: the version and the SHA-256 of each file."""

    version: int = 0
    files: Mapping[str, str] = field(default_factory=dict)


def project(database: Database, event: Event) -> None:
    """Keep the tables of capabilities up to date."""
    if event.kind in ERASING:
        which, values = erased_by(event)
        for table in ("capability_versions", "capability_calls"):
            database.execute(f"DELETE FROM {table} WHERE event IN ({which})", values)  # noqa: S608 (placeholders)
    elif event.kind in _PROJECTS and not event.forgotten:
        _PROJECTS[event.kind](database, event)


def _deployed(database: Database, event: Event) -> None:
    payload, waits = event.payload, bool(event.payload["waits"])
    author, hand = event.place.person or OWNER, int(payload["how"] == "hand")
    if waits:
        # One at a time of each author, by editor or else: who sends another one takes the earlier back.
        database.execute(
            "UPDATE capability_versions SET waits = 0 WHERE name = ? AND author = ? AND hand = ? AND waits = 1",
            (payload["name"], author, hand),
        )
    database.execute(
        "INSERT INTO capability_versions (event, name, version, author, hand, hash, waits, counted, began)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            event.id,
            payload["name"],
            payload["version"],
            author,
            hand,
            payload["hash"],
            int(waits),
            None if waits else event.seq,
            None if waits else _millis(event.time),
        ),
    )


def _approved(database: Database, event: Event) -> None:
    database.execute(
        "UPDATE capability_versions SET waits = 0, counted = ?, began = ? WHERE event = ?",
        (event.seq, _millis(event.time), event.payload["event"]),
    )


def _withdrawn(database: Database, event: Event) -> None:
    database.execute("UPDATE capability_versions SET waits = 0 WHERE event = ?", (event.payload["event"],))


def _stored(database: Database, event: Event) -> None:
    _state(database, event.payload["name"], "stands", event.id if event.payload["files"] else None)


def _deleted(database: Database, event: Event) -> None:
    name = event.payload["name"]
    if event.payload["why"] == "expired":
        # Nobody decided that: what comes with the product under this name stays what it was decided to be.
        row = database.row("SELECT 1 FROM capability_states WHERE name = ? AND deleted > cleared", (name,))
        if row is None:
            _state(database, name, "cleared", event.seq)
    _state(database, name, "deleted", event.seq)
    database.execute("UPDATE capability_versions SET waits = 0 WHERE name = ?", (name,))


def _switched(database: Database, event: Event) -> None:
    _state(database, event.payload["name"], "off", int(event.payload["off"]))
    if not event.payload["off"]:
        _state(database, event.payload["name"], "cleared", event.seq)


def _called(database: Database, event: Event) -> None:
    payload = event.payload
    database.execute(
        "INSERT INTO capability_calls (event, seq, name, ok, millis, at) VALUES (?, ?, ?, ?, ?, ?)",
        (
            event.id,
            event.seq,
            payload["name"],
            int(payload["ok"]),
            round(payload["seconds"] * 1000),
            _millis(event.time),
        ),
    )


def _state(database: Database, name: str, column: str, value: object) -> None:
    database.execute(
        f"INSERT INTO capability_states (name, {column}) VALUES (?, ?)"  # noqa: S608 (our words)
        f" ON CONFLICT (name) DO UPDATE SET {column} = excluded.{column}",
        (name, value),
    )


_PROJECTS = {
    Kind.CAPABILITY_DEPLOYED: _deployed,
    Kind.CAPABILITY_APPROVED: _approved,
    Kind.CAPABILITY_WITHDRAWN: _withdrawn,
    Kind.CAPABILITY_STORED: _stored,
    Kind.CAPABILITY_DELETED: _deleted,
    Kind.CAPABILITY_SWITCHED: _switched,
    Kind.CAPABILITY_CALLED: _called,
}
KINDS = frozenset(_PROJECTS)

_RUNNING = """
    SELECT v.*, s.off, s.cleared,
      (SELECT author FROM capability_versions AS f WHERE f.name = v.name AND f.counted IS NOT NULL
       ORDER BY f.counted LIMIT 1) AS owner
    FROM capability_versions AS v LEFT JOIN capability_states AS s ON s.name = v.name
    WHERE v.counted = (SELECT max(counted) FROM capability_versions AS c WHERE c.name = v.name)
      AND v.counted > coalesce(s.deleted, 0)
"""
_BROKEN = """
    SELECT name FROM (
      SELECT c.name, c.ok, row_number() OVER (PARTITION BY c.name ORDER BY c.seq DESC) AS place
      FROM capability_calls AS c LEFT JOIN capability_states AS s ON s.name = c.name
      WHERE c.seq > coalesce(s.cleared, 0)
        AND c.seq > coalesce((SELECT max(counted) FROM capability_versions AS v WHERE v.name = c.name), 0)
    ) WHERE place <= ? GROUP BY name HAVING count(*) = ? AND sum(ok) = 0
"""


class Ledger:
    """Reads the tables and writes the events."""

    def __init__(self, log: Log) -> None:
        self.log = log

    # Reading

    def all(self) -> list[Held]:
        """Every capability that there is, by name; also one whose time is over."""
        rows = self.log.database.rows(f"{_RUNNING} ORDER BY v.name")
        waiting: dict[str, list[Version]] = {}
        for version in self.waiting():
            waiting.setdefault(version.name, []).append(version)
        broken = {row["name"] for row in self.log.database.rows(_BROKEN, (BROKEN_AFTER, BROKEN_AFTER))}
        found = (self._held(row, tuple(waiting.get(row["name"], ())), row["name"] in broken) for row in rows)
        return [held for held in found if held is not None]

    def get(self, name: str) -> Held | None:
        """The capability of this name, if there is one."""
        row = self.log.database.row(f"{_RUNNING} AND v.name = ?", (name,))
        if row is None:
            return None
        waiting = tuple(self._versions("name = ? AND waits = 1", (name,)))
        return self._held(row, waiting, self.is_broken(name, max(row["cleared"] or 0, row["counted"])))

    def waiting(self) -> list[Version]:
        """Every version that waits for the owner, by name."""
        return self._versions("waits = 1", ())

    def versions(self, name: str) -> list[Version]:
        """All versions of a name, newest first; those that were erased are not among them."""
        return list(reversed(self._versions("name = ?", (name,))))

    def definition(self, version: Version) -> Definition:
        """What a version is. Raises `DefinitionRefused` for one that this version of the product cannot read."""
        event = self.log.get(version.event)
        return read(event.payload["definition"] if event else None)

    def course(self) -> list[tuple[str, Version | None]]:
        """Every version that ever counted, and every deletion (None), with its name, in their order."""
        counted = {version.counted: version for version in self._versions("counted IS NOT NULL", ())}
        found: dict[int, tuple[str, Version | None]] = {
            seq: (version.name, version) for seq, version in counted.items() if seq is not None
        }
        for event in self.log.of_kind(Kind.CAPABILITY_DELETED, limit=100_000):
            if not event.forgotten:
                found[event.seq] = (event.payload["name"], None)
        return [found[seq] for seq in sorted(found)]

    def lacks_any(self) -> bool:
        """Whether some version was erased."""
        return bool(
            self.log.database.row(
                "SELECT 1 FROM events WHERE kind = ? AND payload = ? LIMIT 1", (Kind.CAPABILITY_DEPLOYED, TOMBSTONE)
            )
        )

    def next_number(self, name: str) -> int:
        """The number of the next version: none is given twice, also not that of one that was erased."""
        row = self.log.database.row(
            "SELECT max(json_extract(payload, '$.version')) AS most FROM events"
            " WHERE kind IN (?, ?, ?) AND json_extract(payload, '$.name') = ?",
            (Kind.CAPABILITY_DEPLOYED, Kind.CAPABILITY_APPROVED, Kind.CAPABILITY_STORED, name),
        )
        return int(row["most"] or 0) + 1 if row else 1

    def standing(self, name: str) -> Standing:
        """What we last put into the folder of this name."""
        row = self.log.database.row("SELECT stands FROM capability_states WHERE name = ?", (name,))
        return self._standing(row["stands"] if row else None)

    def standings(self) -> dict[str, Standing]:
        """The same of all names whose folder holds something of ours."""
        rows = self.log.database.rows("SELECT name, stands FROM capability_states WHERE stands IS NOT NULL")
        return {row["name"]: self._standing(row["stands"]) for row in rows}

    def state(self, name: str) -> State:
        """What was decided about a name."""
        row = self.log.database.row("SELECT off, deleted, cleared FROM capability_states WHERE name = ?", (name,))
        return State(bool(row["off"]), row["deleted"], row["cleared"]) if row else State()

    def use(self) -> dict[str, Use]:
        """How calls went, by name."""
        rows = self.log.database.rows(
            "SELECT name, count(*) AS calls, sum(1 - ok) AS failures, sum(millis) AS millis, max(at) AS last,"
            " (SELECT event FROM capability_calls AS f WHERE f.name = c.name AND ok = 0 ORDER BY seq DESC LIMIT 1)"
            " AS bad"
            " FROM capability_calls AS c GROUP BY name"
        )
        return {row["name"]: self._use(row) for row in rows}

    def is_broken(self, name: str, since: int) -> bool:
        """Whether the last calls since a position in the log all failed."""
        rows = self.log.database.rows(
            "SELECT ok FROM capability_calls WHERE name = ? AND seq > ? ORDER BY seq DESC LIMIT ?",
            (name, since, BROKEN_AFTER),
        )
        return len(rows) == BROKEN_AFTER and not any(row["ok"] for row in rows)

    def _use(self, row: Row) -> Use:
        bad = self.log.get(row["bad"]) if row["bad"] else None
        error = str(bad.payload.get("message", "")) if bad is not None else ""
        return Use(row["calls"], row["failures"], row["millis"] / 1000, _time(row["last"]), error)

    def _held(self, row: Row, waiting: tuple[Version, ...], broken: bool) -> Held | None:
        version = self._version(row)
        if version is None:
            return None
        definition = self.definition(version)
        return Held(row["name"], row["owner"], version, definition, bool(row["off"]), broken, waiting)

    def _versions(self, condition: str, values: tuple[object, ...]) -> list[Version]:
        rows = self.log.database.rows(
            f"SELECT * FROM capability_versions WHERE {condition} ORDER BY name, version",  # noqa: S608 (our words)
            values,
        )
        return [version for version in map(self._version, rows) if version is not None]

    def _version(self, row: Row) -> Version | None:
        event = self.log.get(row["event"])
        if event is None or event.forgotten:
            return None
        return Version(
            event=event.id,
            name=row["name"],
            number=row["version"],
            author=row["author"],
            hash=row["hash"],
            time=event.time,
            origin=event.origin,
            how=event.payload["how"],
            note=event.payload["note"],
            waits=bool(row["waits"]),
            counted=row["counted"],
            began=_time(row["began"]) if row["began"] is not None else None,
        )

    def _standing(self, event_id: str | None) -> Standing:
        event = self.log.get(event_id) if event_id else None
        if event is None or event.forgotten:
            return Standing()
        return Standing(event.payload["version"], event.payload["files"])

    # Writing

    def deploy(self, definition: Definition, by: By, *, waits: bool, note: str, fetched: Sequence[Fetch] = ()) -> Event:
        """Write a version down. From here on it counts, or waits. `fetched`: where its cases reached out to."""
        payload: dict[str, Any] = {
            "name": definition.name,
            "version": self.next_number(definition.name),
            "hash": definition.hash,
            "definition": definition.json,
            "how": by.how,
            "waits": waits,
            "note": note,
            **_reached(fetched),
        }
        place = Place(by.place.session, by.place.space, by.place.turn, by.person)
        with self.log.transaction(durable=True):
            return self.log.append(Kind.CAPABILITY_DEPLOYED, place, payload, origin=by.origin, cause=by.cause)

    def approve(self, version: Version, by: By, fetched: Sequence[Fetch] = ()) -> None:
        """Let a version count that waited."""
        payload = {"name": version.name, "version": version.number, "event": version.event, **_reached(fetched)}
        with self.log.transaction(durable=True):
            self.log.append(Kind.CAPABILITY_APPROVED, Place(turn=by.place.turn), payload, cause=by.cause)

    def withdraw(self, version: Version, by: By) -> None:
        """Let a version wait no more."""
        payload = {"name": version.name, "version": version.number, "event": version.event}
        self.log.append(Kind.CAPABILITY_WITHDRAWN, Place(turn=by.place.turn), payload, cause=by.cause)

    def stored(self, name: str, version: int, files: Mapping[str, bytes], commit: str | None) -> None:
        """Note what stands in a folder now."""
        hashes = {file: content_hash(data) for file, data in files.items()}
        payload = {"name": name, "version": version, "files": hashes, "commit": commit}
        self.log.append(Kind.CAPABILITY_STORED, Place(), payload)

    def delete(self, name: str, by: By, why: str) -> None:
        """Let a capability be no more; its versions stay."""
        with self.log.transaction(durable=True):
            self.log.append(
                Kind.CAPABILITY_DELETED, Place(turn=by.place.turn), {"name": name, "why": why}, cause=by.cause
            )

    def switch(self, name: str, by: By, *, off: bool) -> None:
        """Disable a capability, or enable it again; that clears its being broken, too."""
        self.log.append(Kind.CAPABILITY_SWITCHED, Place(turn=by.place.turn), {"name": name, "off": off}, cause=by.cause)

    def called(self, payload: Mapping[str, Any], place: Place, cause: str | None) -> None:
        """Note one call."""
        self.log.append(Kind.CAPABILITY_CALLED, place, payload, origin=Origin.TOOL, cause=cause)


def _reached(fetched: Sequence[Fetch]) -> dict[str, Any]:
    return {"fetched": [asdict(fetch) for fetch in fetched[:_MAX_FETCHED]]} if fetched else {}


_MAX_FETCHED = 100


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _time(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1000, UTC)
