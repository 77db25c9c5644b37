"""Recollection: any stretch of past talk, by contact, by time and by meaning (memory.md, Recall, Episodes)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from qingtuan.clock import Clock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.identity.accounts import OWNER
from qingtuan.identity.evidence import spoken
from qingtuan.identity.people import People
from qingtuan.identity.privacy import EventSight, event_sight
from qingtuan.identity.scopes import Reader, Role
from qingtuan.indexes.base import Query
from qingtuan.indexes.indexes import Index
from qingtuan.language import Language
from qingtuan.memory.episodes import NEIGHBOURS, Episodes, masked
from qingtuan.memory.retelling import Attached, Contact, Line, Recalled, retold
from qingtuan.memory.talk import Spoke, Talk

_MOST = 100
_LONGEST_TEXT = 300
_LONGEST_NICKNAME = 20
_LONGEST_PAST = 24 * 366 * 100
"""Hours: more than anybody has talked."""

_AROUND = 2
_WITH_AROUND = 5
"""How many of the best answers to a query come with the lines around them."""


@dataclass(frozen=True, slots=True)
class _Asking:
    """One question to the past."""

    reader: Reader
    talk: Talk
    asked: tuple[int, ...]
    """Positions of the messages that wait for an answer, this question among them: they are not past yet."""
    since: datetime | None
    limit: int
    persons: frozenset[str] | None = None
    """Whose talk, by ids in the log; None for everybody's."""


class Recollection:
    """Past talk, for one reader at a time."""

    def __init__(
        self,
        log: Log,
        people: People,
        index: Index,
        clock: Clock,
        *,
        sees: Callable[[Reader], EventSight] | None = None,
    ) -> None:
        """`sees`: what a reader may see of the log. Without it, what their accounts give: it knows nothing of groups
        that somebody left, nor of keys with a narrow scope."""
        self._log = log
        self._people = people
        self._clock = clock
        self._sees = sees or self._sight
        self.episodes = Episodes(log, index)
        """The index behind it: to be caught up, rebuilt, verified."""

    async def recall(
        self, reader: Reader, query: str = "", hours: int = 0, contact: str = "", limit: int = 10
    ) -> Recalled:
        """What `reader` may see of past talk: the newest of every contact and what else fits, or what answers `query`.

        `hours`: how far back, 0 for ever. `contact`: only talk with this one, by account, by id or by name. `limit`:
        how many lines, 1 to 100; lines around an answer come on top. What the reader is just asking is left out.
        """
        asking, session = self._asking(reader, hours, limit)
        contacts = self._contacts(asking)
        found = Recalled(contact=contact.strip(), hours=max(0, hours), session=session)
        if found.contact:
            named = [one for one in contacts if found.contact.casefold() in self._names(one, reader)]
            if len(named) != 1:
                return replace(found, unclear="several" if named else "nobody", contacts=tuple(named or contacts))
            asking, contacts = replace(asking, persons=named[0].ids), named
        contacts = [one for one in contacts if asking.since is None or one.last >= asking.since]
        if query.strip():
            events = await self._by_meaning(asking, query)
            missing = 0
        else:
            events = self._by_contact_and_time(asking, contacts)
            missing = max(0, len(contacts) - asking.limit)
        lines = tuple(self._line(event, reader) for event in events)
        return replace(found, lines=lines, by_meaning=bool(query.strip()), contacts=tuple(contacts), missing=missing)

    def told(self, found: Recalled, now: datetime, language: Language) -> str:
        """The text for the model; times in the zone of `now`."""
        return retold(found, now.tzinfo, language)

    # Looking

    def _asking(self, reader: Reader, hours: int, limit: int) -> tuple[_Asking, str | None]:
        """The question as it stands, and the session in which it is asked."""
        ids = sorted(reader.ids)
        waiting = self._log.database.rows(
            "SELECT e.seq, e.session FROM inbox AS i"  # noqa: S608 (placeholders)
            " INDEXED BY inbox_open CROSS JOIN events AS e"
            " WHERE i.state <> 'done' AND i.space = ? AND e.id = i.event"
            f" AND e.person IN ({','.join('?' * len(ids))}) ORDER BY e.seq",
            (str(reader.space), *ids),
        )
        person = self._people.person(reader.person)
        private = self._people.private_spaces(person) if person else ()
        asked = tuple(row["seq"] for row in waiting)
        talk = Talk(self._log.database, self._sees(reader), private, asked)
        since = self._clock.now() - timedelta(hours=min(hours, _LONGEST_PAST)) if hours > 0 else None
        session = waiting[0]["session"] if waiting else None
        return _Asking(reader, talk, asked, since, max(1, min(limit, _MOST))), session

    def _by_contact_and_time(self, asking: _Asking, contacts: Sequence[Contact]) -> list[Event]:
        first = asking.talk.of([contact.newest for contact in contacts[: asking.limit]])
        known = {event.id for event in first}
        # Read to a number and cut by time, not the other way round: the log is in the order of time.
        rest = [
            event
            for event in asking.talk.newest(asking.limit, asking.persons)
            if event.id not in known and (asking.since is None or event.time >= asking.since)
        ]
        return [*first, *rest[: asking.limit - len(first)]]

    async def _by_meaning(self, asking: _Asking, query: str) -> list[Event]:
        wanted = Query(
            query,
            asking.talk.allowed(asking.persons),
            asking.limit + len(asking.asked),
            since=asking.since.timestamp() if asking.since else None,
            neighbours=NEIGHBOURS,
        )
        ids = await self.episodes.search(wanted, before=min(asking.asked, default=None))
        found: dict[str, Event] = {}
        for rank, event in enumerate(asking.talk.of(ids)[: asking.limit]):
            found.setdefault(event.id, event)
            if rank < _WITH_AROUND:
                found.update({near.id: near for near in asking.talk.around(event, _AROUND) if near.id not in found})
        return list(found.values())

    # People

    def _contacts(self, asking: _Asking) -> list[Contact]:
        """Everybody who ever said anything in sight, the latest first. Several ids in the log can be one person."""
        several: dict[str, list[Spoke]] = {}
        for spoke in asking.talk.speakers():
            several.setdefault(self._people.whose(spoke.person), []).append(spoke)
        return [
            Contact(
                person=person,
                accounts=tuple(dict.fromkeys(spoke.account for spoke in spokes)),
                name=self._name(person) if asking.reader.is_owner_alone else "",
                last=datetime.fromtimestamp(spokes[0].time, UTC),
                newest=spokes[0].event,
                ids=frozenset(spoke.person for spoke in spokes),
            )
            for person, spokes in several.items()
        ]

    def _name(self, person_id: str) -> str:
        """What the owner calls somebody, empty for nothing: ids that code derived from an account hold a dash."""
        person = self._people.person(person_id)
        given = "" if person_id == OWNER or "-" in person_id else person_id
        return (person.name if person else "") or given

    def _names(self, contact: Contact, reader: Reader) -> frozenset[str]:
        """What `reader` can call a contact. Names, and which accounts belong together, are the owner's knowledge."""
        names = {*contact.accounts}
        if reader.role is Role.OWNER:
            person = self._people.person(contact.person)
            names |= {contact.person, *contact.ids, *((person.name, *person.accounts) if person else ())}
        bare = {name.partition(":")[2] for name in names}
        return frozenset(name.casefold() for name in names | bare if name)

    def _sight(self, reader: Reader) -> EventSight:
        person = self._people.person(reader.person)
        return event_sight(reader, person.accounts if person else (), left=self._people.groups_left(reader.person))

    def _line(self, event: Event, reader: Reader) -> Line:
        payload, place = event.payload, event.place
        person = self._people.whose(place.person) if place.person else None
        received = event.kind is Kind.MESSAGE_RECEIVED
        text = payload.get("text") or ""
        own = received and person == reader.person
        nickname = masked(payload.get("nickname") or "", _LONGEST_NICKNAME)
        if place.space is None or place.session is None:
            raise ValueError(f"{event.id} was said nowhere")
        return Line(
            event=event.id,
            space=place.space,
            session=place.session,
            time=event.time,
            person=person,
            account=payload.get("account") or "" if received else "",
            name=self._name(person) if received and person and reader.is_owner_alone else "",
            nickname=nickname if received else "",
            # What somebody told the assistant alone is given back with the numbers that it is about.
            text=masked(text, _LONGEST_TEXT, keep_phone=own and reader.is_alone),
            attached=tuple(_attached(event)),
            own=own,
            material=event.origin.foreign or person != reader.person or (received and bool(spoken(text)[1])),
        )


def _attached(event: Event) -> Iterator[Attached]:
    for attachment in event.payload.get("attachments", ()):
        kind: Attached = attachment["kind"]
        yield kind
    if event.payload.get("materials"):
        yield "material"
