"""A statement that may become a belief, what a decision about it rests on, and what may be decided. Values only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, tzinfo

from ulid import ULID

from qingtuan.identity.scopes import Visibility
from qingtuan.language import Language, Words
from qingtuan.memory.changes import Change, Recorded, Redated
from qingtuan.memory.holdings import Holdings
from qingtuan.memory.likeness import SELF
from qingtuan.memory.several import Stands
from qingtuan.memory.topics import Kind
from qingtuan.memory.wiki.data_comment import BeliefData, How


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that may become a belief of one scope."""

    text: str
    """The line as a person would read it; may be empty if there is a predicate with a value."""
    said_at: datetime
    """When it was said or written, aware; not when it is being remembered."""
    kind: Kind = "fact"
    topic: str | None = None
    """Title of its page, for kinds that have pages by topic."""
    subject: str = SELF
    predicate: str | None = None
    value: str | None = None
    since: date | None = None
    """First day it holds, if the person named one; else it holds from the day it was said."""
    until: date | None = None
    """Last day it holds, if the person named one."""
    source: str | None = None
    """Id of the event in which it was said."""
    how: How = "explicit"
    via: str | None = None
    visibility: Visibility = Visibility.PRIVATE
    many: bool = False
    """Whether the predicate holds several values; counts only while nothing is known under it."""
    stands: Stands = ""
    """`beside`: it leaves in force what is known under its predicate, but for its very opposite. `instead`: it takes
    the place of that, also where there can be several, if it is clear of which."""


def event_time(event: str) -> datetime | None:
    """The time in the id of an event; None for another kind of id."""
    try:
        return ULID.from_str(event.rpartition("_")[2]).datetime
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Standing:
    """What a decision about one scope rests on."""

    holdings: Holdings
    today: date
    """In the person's zone."""
    zone: tzinfo
    page_id: str
    """Id for a page, should one have to be made."""
    language: Language = "zh"
    """Of a page that has to be made."""
    floor: int = 0
    """The highest number that the scope ever had, as far as events know (`next_number`)."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """What `parse_aliases` made of the table of aliases."""
    default: Visibility = Visibility.PRIVATE
    """Of a page that has to be made."""
    unreadable: Collection[str] = ()
    """Paths of pages that are there and cannot be read."""
    root: str = ""
    """What every path here begins with: empty, or the folder of the scope with `/` at its end."""
    said: Callable[[str], datetime | None] = event_time
    """When the statement in an event was made: for imported talk earlier than its event."""
    again: Callable[[int], Sequence[str]] = lambda _: ()
    """The events in which somebody said again what an entry says."""
    edited: Callable[[str], datetime | None] = lambda _: None
    """When somebody last changed a page by hand."""

    def said_of(self, data: BeliefData, updated: date | None) -> datetime:
        """When an entry was said: by its event, else by its first day, else by the day of its page (`updated`)."""
        said = self.said(data.source) if data.source else None
        day = data.since or updated
        return said or (self._morning(min(day, self.today)) if day else datetime.min.replace(tzinfo=UTC))

    def ended_of(self, data: BeliefData) -> datetime | None:
        """When an entry of history was ended: by the event that did it, else by its last day."""
        ended = self.said(data.ended_by) if data.ended_by else None
        return ended or (self._morning(data.until) if data.until else None)

    def _morning(self, day: date) -> datetime:
        return datetime.combine(day, time(), self.zone)


@dataclass(frozen=True, slots=True)
class Same:
    """Nothing to write: this stands there already. It was seen again."""

    path: str
    number: int | None


@dataclass(frozen=True, slots=True)
class Write:
    """Pages have to change. All of it or nothing."""

    changes: tuple[Change, ...]
    number: int
    """The entry that says it afterwards."""
    path: str
    """Its page."""
    ended: tuple[int, ...] = ()
    """Entries that go to history by it."""
    again: tuple[tuple[int, str], ...] = ()
    """Entries that say it for more days or with more around it now, and events in which they were said, too."""

    @property
    def late(self) -> bool:
        """Whether what says it is history: it is over, or something later is known."""
        return any(
            (isinstance(change, Recorded) and change.new.number == self.number)
            or (isinstance(change, Redated) and change.number == self.number)
            for change in self.changes
        )

    @property
    def paths(self) -> frozenset[str]:
        """Every page that changes."""
        return frozenset(change.path for change in self.changes)


@dataclass(frozen=True, slots=True)
class Review:
    """Code may not decide this: a person has to."""

    reason: Words
    against: tuple[int, ...] = ()
    """The entries that stand in its way."""


Decision = Same | Write | Review
