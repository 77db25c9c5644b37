"""Talk to recollect: people who say things in several places and are answered, on a real log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from qingtuan.clock import ManualClock
from qingtuan.events import inbox, outbox, sessions, turns
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log, Place
from qingtuan.identity.people import People, Person
from qingtuan.identity.privacy import EventSight
from qingtuan.identity.scopes import Reader
from qingtuan.ids import Ids
from qingtuan.indexes.base import Embedder
from qingtuan.indexes.indexes import Indexes
from qingtuan.memory.recollection import Recollection
from qingtuan.messages import Origin, Space
from qingtuan.storage.sqlite import Database

OWNER, XIAOLI, STRANGER, AGENT = "qq:1", "qq:2", "qq:3", "http:xiaoju"
GROUP, OTHER_GROUP = Space("group", "qq:777"), Space("group", "qq:888")


def private(account: str) -> Space:
    return Space("private", account)


@dataclass
class Talks:
    """A log with people in it. Time goes on by a minute with each message."""

    clock: ManualClock
    database: Database
    people: People
    indexes: Indexes
    sees: Callable[[Reader], EventSight] | None = None
    _numbers: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        projections = (sessions.project, inbox.project, outbox.project, turns.project)
        self.log = Log(self.database, self.clock, Ids(self.clock), projections)
        self.recollection = self.fresh()

    def fresh(self) -> Recollection:
        """Another one on the same log and index, as after a restart."""
        return Recollection(self.log, self.people, self.indexes.open("episodes"), self.clock, sees=self.sees)

    def reader(self, account: str, space: Space | None = None) -> Reader:
        return self.people.reader(account, space or private(account))

    def asks(self, account: str, text: str, space: Space | None = None, **facts: Any) -> Event:
        """Say something that waits for its answer; `facts` are more of the message's payload, or its session, its
        person (as the log had it then) or its origin."""
        found = self.people.find(account)
        assert found is not None
        here = space or private(account)
        person = facts.pop("person", found.id)
        place = Place(facts.pop("session", f"s_{here}"), here, None, person)
        origin = facts.pop("origin", Origin.OWNER if person == "owner" else Origin.PERSON)
        number = str(next(self._numbers))
        payload = {"channel": "test", "account": account, "message_id": number, "text": text, **facts}
        self.clock.advance(timedelta(minutes=1))
        return self.log.append(Kind.MESSAGE_RECEIVED, place, payload, origin=origin)

    def answers(self, asked: Event, text: str = "", *, origin: Origin = Origin.ASSISTANT) -> Event | None:
        """Let the turn of a message end, with a reply if there is a text."""
        place = Place(asked.place.session, asked.place.space, f"turn_{asked.id}", asked.place.person)
        self.log.append(Kind.TURN_STARTED, place, {"messages": [asked.id]}, cause=asked.id)
        payload: Mapping[str, Any] = {"channel": "test", "kind": "reply", "text": text}
        reply = self.log.append(Kind.MESSAGE_SENT, place, payload, origin=origin, cause=asked.id) if text else None
        self.log.append(Kind.TURN_FINISHED, place, {"outcome": "answered"}, cause=asked.id)
        return reply

    def says(self, account: str, text: str, space: Space | None = None, *, reply: str = "", **facts: Any) -> Event:
        """Say something that has been dealt with since."""
        said = self.asks(account, text, space, **facts)
        self.answers(said, reply)
        return said

    def forget(self, person: str) -> None:
        """Erase a person as the log does."""
        with self.log.transaction():
            self.log.append(Kind.PERSON_FORGOTTEN, Place(person=person))
            self.database.execute(
                "UPDATE events SET payload = ? WHERE person = ? AND kind <> 'person.forgotten'",
                ('{"forgotten":true}', person),
            )


@contextmanager
def talks(
    folder: Path, clock: ManualClock, persons: tuple[Person, ...] = (), embedder: Embedder | None = None
) -> Iterator[Talks]:
    """A world in `folder`, in which qq:1 is the owner and qq:2 a member."""
    database = Database(folder / "state.sqlite")
    indexes = Indexes(folder / "index", embedder, clock)
    people = People(persons, owner_accounts=[OWNER], members=[XIAOLI])
    try:
        yield Talks(clock, database, people, indexes)
    finally:
        indexes.close()
        database.close()
