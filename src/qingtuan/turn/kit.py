"""What a turn works with, wired once by `app`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo

from qingtuan.clock import Clock
from qingtuan.confirmations.book import Book
from qingtuan.confirmations.inquiries import InquiryBook
from qingtuan.confirmations.standing import StandingBook
from qingtuan.events.choices import Choices
from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.events.outbox import Outbox
from qingtuan.events.requests import Requests
from qingtuan.events.sessions import Session, Sessions
from qingtuan.events.troubles import Troubles
from qingtuan.identity.people import People
from qingtuan.identity.scopes import Reader
from qingtuan.ids import Ids
from qingtuan.language import Language
from qingtuan.media.collector import Reading
from qingtuan.memory.recall import Injected
from qingtuan.memory.summaries import SummaryText
from qingtuan.messages import Attachment
from qingtuan.models.chat import ImagePart
from qingtuan.models.service import Models
from qingtuan.personas.choosing import Personas
from qingtuan.tools.registry import Registry
from qingtuan.tools.run import Runner
from qingtuan.tools.tool import Tool
from qingtuan.turn.progress import Stage
from qingtuan.turn.turn import Turn


class MemoryPort(Protocol):
    """What a turn needs of the memory."""

    async def inject(self, reader: Reader, words: str) -> Injected:
        """The memory text for a turn of `reader` that says `words`."""
        ...

    async def commit(self, turn: str) -> None:
        """Make one commit of what the turn wrote, if it wrote anything."""
        ...


class SummariesPort(Protocol):
    """What a turn needs of the summaries."""

    def window(self, session: Session, kinds: Iterable[Kind]) -> list[Event]:
        """The events of the session that stand raw in a request: what no summary covers."""
        ...

    def in_context(self, session: Session) -> tuple[SummaryText, ...]:
        """The summaries that stand in a request, oldest first."""
        ...


class ToolsPort(Protocol):
    """What a turn needs of the catalog of tools. Servers come and go while turns run."""

    @property
    def registry(self) -> Registry: ...

    @property
    def most_paged(self) -> int: ...

    async def arrived(self) -> None:
        """Wait, a while at most, for tools that are on their way."""
        ...

    async def find(self, query: str, reader: Reader, limit: int) -> list[Tool]:
        """The tools that serve a purpose best, of those that `reader` may use."""
        ...


@dataclass(frozen=True, slots=True)
class Record:
    """Where a turn reads and writes what happened."""

    log: Log
    requests: Requests
    sessions: Sessions
    outbox: Outbox
    choices: Choices
    troubles: Troubles
    inquiries: InquiryBook
    ids: Ids
    clock: Clock

    @classmethod
    def over(cls, log: Log, ids: Ids, clock: Clock) -> Record:
        """The record in one log."""
        books = Requests(log), Sessions(log, ids), Outbox(log), Choices(log), Troubles(log), InquiryBook(log, clock)
        return cls(log, *books, ids, clock)


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of the owner that stand in a prompt, read afresh for each turn so that an edit counts at once."""

    templates: Callable[[], Mapping[str, str]]
    personas: Personas
    owner_public: str
    language: Language
    zone: tzinfo


Ready = Callable[[tuple[Received, ...]], Awaitable[tuple[Received, ...]]]
"""Waits for what lies with the platform of messages that are about to be answered, and gives them with what came.
It may be dropped in the middle, and called again for the same messages, also by the next process: what it fetched must
stand in the events, from which a request is made anew."""


async def as_they_are(messages: tuple[Received, ...]) -> tuple[Received, ...]:
    """Wait for nothing."""
    return messages


class PicturesPort(Protocol):
    """What a turn needs of pictures."""

    def open(self, picture: Attachment) -> ImagePart:
        """A picture as a model is shown it. Blocks: to be called in a thread. Raises `NotThere`."""
        ...

    async def read(self, picture: Attachment) -> Reading:
        """The text in it, where no model looks at it, or why there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Kit:
    """All of it."""

    record: Record
    models: Models
    tools: ToolsPort
    runner: Runner
    book: Book
    standing: StandingBook
    memory: MemoryPort
    summaries: SummariesPort
    people: People
    texts: Texts
    stage: Stage = field(default_factory=Stage)
    ready: Ready = as_they_are
    pictures: PicturesPort | None = None
    """None where pictures are not looked at."""

    @property
    def registry(self) -> Registry:
        """The tools of this moment."""
        return self.tools.registry

    @property
    def most_paged(self) -> int:
        """How many tools besides the core ones a request carries."""
        return self.tools.most_paged

    def language(self, turn: Turn) -> Language:
        """The language of every sentence of this turn."""
        return self.speaks_to(turn.reader)

    def speaks_to(self, reader: Reader) -> Language:
        """The language of every sentence to this person."""
        person = self.people.person(reader.person)
        return (person.language if person else None) or self.texts.language

    def zone_of(self, reader: Reader) -> tzinfo:
        """The zone of this person's days and hours."""
        person = self.people.person(reader.person)
        return ZoneInfo(person.timezone) if person and person.timezone else self.texts.zone
