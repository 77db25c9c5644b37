"""The whole memory of a small instance: store, library, index, and what writes, finds and takes back. No model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from qingtuan.clock import ManualClock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Place
from qingtuan.identity.people import People, Person
from qingtuan.identity.privacy import sight
from qingtuan.identity.scopes import Reader, Role
from qingtuan.ids import Ids
from qingtuan.indexes.base import Embedder
from qingtuan.indexes.indexes import Indexes
from qingtuan.memory.acts import By, Remembered, Wish
from qingtuan.memory.asking import Customs
from qingtuan.memory.compressing import SummaryRules
from qingtuan.memory.episodes import Episodes
from qingtuan.memory.erasing.erasures import Erasures, Places
from qingtuan.memory.erasing.purging import Purging
from qingtuan.memory.injection import Budget
from qingtuan.memory.known import Known
from qingtuan.memory.library import Library
from qingtuan.memory.memory import Memory, Policies
from qingtuan.memory.notes import Notes
from qingtuan.memory.recall import Listener, Recall
from qingtuan.memory.reviewing import Handler, Reviewing
from qingtuan.memory.summaries import Summaries
from qingtuan.memory.undoing import Undoing
from qingtuan.messages import Origin, Space
from qingtuan.turn.commands.purge import Purge
from tests.fakes.wiki_world import WikiWorld

ZONE = ZoneInfo("Asia/Shanghai")
START = datetime(2026, 11, 29, 10, tzinfo=ZONE)
HOME, GROUP = Space("private", "cli:local"), Space("group", "qq:777")
PEOPLE = People(
    [
        Person("ming", ("qq:10001",), member=True, writes_groups=frozenset({"qq:777"})),
        Person("li", ("qq:10002",), member=True),
    ]
)
ACCOUNTS: Mapping[str, str] = {"owner": "cli:local", "ming": "qq:10001", "li": "qq:10002", "qq-9": "qq:9"}


@dataclass
class World:
    """One process's view of the memory in `root`; make another of the same root for the next process."""

    root: Path
    embedder: Embedder | None = None
    policies: Policies = field(default_factory=Policies)
    budget: Budget = field(default_factory=Budget)
    clock: ManualClock = field(default_factory=lambda: ManualClock(START))

    def __post_init__(self) -> None:
        self.wiki = WikiWorld(self.root, self.clock)
        self.log = self.wiki.log
        self.indexes = Indexes(self.root / "index", self.embedder, self.clock)
        self.index = self.indexes.open("beliefs")
        self.library = Library(self.wiki.store, self.index)
        ids = Ids(self.clock)
        self.memory = Memory(self.library, self.log, PEOPLE, ids, self.clock, self.policies)
        self.editing = self.memory.editing
        self.notes = Notes(self.library, self.log, ids, self.clock)
        self.recall = Recall(self.library, self.log, self.clock, self.budget, lambda _: Listener(ZONE, "zh"))
        self.undoing = Undoing(self.memory.writer)
        self.handlers: dict[str, Handler] = {}
        self.reviewing = Reviewing(self.memory, self.log, PEOPLE, self.clock, self.handlers)
        summaries = Summaries(self.log, SummaryRules(), Customs(lambda _: "zh", lambda _: ZONE))
        places = Places(self.root / "media", (self.root / "logs",), self.root / "backups")
        episodes = Episodes(self.log, self.indexes.open("episodes"))
        self.erasures = Erasures(self.log, self.library, self.index, episodes, self.clock, places)
        self.purging = Purging(self.log, PEOPLE, summaries)
        self.purge = Purge(self.memory, self.purging, self.erasures, lambda _: False)

    async def start(self) -> World:
        await self.memory.recover()
        return self

    def close(self) -> None:
        self.indexes.close()
        self.wiki.close()

    # Who

    def reader(self, person: str = "owner", space: Space | None = None) -> Reader:
        found = PEOPLE.person(person)
        assert found is not None
        return Reader(person, PEOPLE.role(found), space or Space("private", ACCOUNTS[person]))

    def by(
        self, words: str = "记住", person: str = "owner", space: Space | None = None, *, turn: str | None = None
    ) -> By:
        """On behalf of `person`, who says `words` a minute after whatever was said before."""
        self.clock.advance(timedelta(minutes=1))
        reader = self.reader(person, space)
        place = Place("s_1", reader.space, turn, person)
        origin = Origin.OWNER if reader.role is Role.OWNER else Origin.PERSON
        payload = {"account": ACCOUNTS[person], "text": words, "said_at": self.clock.now().isoformat()}
        said = self.log.append(Kind.MESSAGE_RECEIVED, place, payload, origin=origin)
        return By(reader, place, said.id, words, self.clock.now().astimezone(ZONE), "zh", origin)

    # What

    async def say(self, content: str, by: By | None = None, **fields: Any) -> Remembered:
        """What the tool writes; the words are explicit."""
        return await self.memory.remember(Wish(content, **fields), by or self.by(f"记住{content}"))

    async def add(self, content: str, by: By | None = None) -> Known:
        """What `/memory add` writes."""
        done = await self.memory.remember(Wish(content, how="manual"), by or self.by(content))
        assert done.known
        return done.known

    def current(self, person: str = "owner", space: Space | None = None) -> list[str]:
        """What is under 当前 and this reader may see, each with its name."""
        found = self.library.beliefs(sight(self.reader(person, space)))
        return [f"#{one.name} {one.belief.text}" for one in found if one.belief.current]

    def page(self, path: str) -> str:
        text = self.wiki.on_disk(path)
        assert text is not None
        return text

    def events(self, *kinds: Kind) -> list[Event]:
        return self.wiki.events(*kinds)

    def commits(self) -> list[str]:
        return self.wiki.git("log", "--all", "--format=%s").splitlines()


def told(events: list[Event]) -> list[tuple[str, str, object]]:
    """Kind, scope and number of what events say of beliefs."""
    return [(event.kind.value.partition(".")[2], event.payload["scope"], event.payload["number"]) for event in events]
