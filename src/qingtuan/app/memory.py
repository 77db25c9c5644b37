"""The memory of an instance: store, library, index, and what writes, finds and shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from qingtuan.clock import Clock
from qingtuan.events.log import Log
from qingtuan.home import Home
from qingtuan.identity.links import Links
from qingtuan.identity.people import People
from qingtuan.identity.people_edits import forgotten
from qingtuan.identity.scopes import Reader
from qingtuan.indexes.embedding import make_embedder
from qingtuan.indexes.indexes import Index, Indexes
from qingtuan.language import Language
from qingtuan.memory.asking import Customs
from qingtuan.memory.compressing import SummaryRules
from qingtuan.memory.distilling import Distilling
from qingtuan.memory.erasing.erasures import Erasures, Places
from qingtuan.memory.erasing.forgetting import Forgetting
from qingtuan.memory.erasing.purging import Purging
from qingtuan.memory.extraction import Extraction, ExtractionRules
from qingtuan.memory.hearing import Hearing
from qingtuan.memory.importing.importing import Importing
from qingtuan.memory.injection import Budget
from qingtuan.memory.learning import Learning
from qingtuan.memory.library import Library
from qingtuan.memory.memory import Memory, Policies
from qingtuan.memory.notes import Notes
from qingtuan.memory.overview import Overview
from qingtuan.memory.pull_proposals import PULL
from qingtuan.memory.recall import Injected, Listener, Recall
from qingtuan.memory.recollection import Recollection
from qingtuan.memory.reviewing import Reviewing
from qingtuan.memory.ruling import Ruling
from qingtuan.memory.summaries import Summaries
from qingtuan.memory.syncing import Remote, Syncing
from qingtuan.memory.undoing import Undoing
from qingtuan.memory.wiki.history import History
from qingtuan.memory.wiki.store import WikiStore
from qingtuan.memory.wiki.watch import Watch
from qingtuan.settings import Settings
from qingtuan.settings.wiki import Wiki
from qingtuan.storage.git import Repository
from qingtuan.storage.git_address import Address
from qingtuan.storage.git_exchange import Access
from qingtuan.turn.kit import Record


@dataclass(frozen=True, slots=True)
class Remembering:
    """All of it."""

    store: WikiStore
    indexes: Indexes
    beliefs: Index
    library: Library
    memory: Memory
    notes: Notes
    recall: Recall
    overview: Overview
    undoing: Undoing
    summaries: Summaries
    learning: Learning
    reviewing: Reviewing
    syncing: Syncing
    distilling: Distilling
    importing: Importing
    ruling: Ruling
    recollection: Recollection
    customs: Customs
    purging: Purging
    forgetting: Forgetting
    erasures: Erasures

    async def inject(self, reader: Reader, words: str) -> Injected:
        """The memory text of a turn."""
        return await self.recall.inject(reader, words)

    async def commit(self, turn: str) -> None:
        """One commit for what a turn wrote."""
        await self.memory.commit(turn)

    def watching(self, clock: Clock) -> Watch:
        """Notices what people change in the pages while the instance runs; to be started."""

        return Watch(self.store.folder, self.memory.edited, clock)

    def close(self) -> None:
        self.indexes.close()
        self.store.close()


def remembering(home: Home, settings: Settings, people: People, record: Record) -> Remembering:
    """Build the memory of a data folder. Nothing is read yet."""
    log, ids, clock, choices = record.log, record.ids, record.clock, record.choices
    repository = Repository(home.wiki, clock)
    store = WikiStore(home.wiki, log, repository, clock, cache=home.index / "pages.json")
    indexes = Indexes(home.index, make_embedder(settings.embedding), clock)
    beliefs = indexes.open("beliefs")
    library = Library(store, beliefs)
    customs = _customs(settings, people)
    wanted = settings.memory
    # The embedded model reads what stands right before the message, and little of what stands in front.
    budget = Budget(wanted.injection_chars, wanted.recalled_chars, steady=settings.llm.base_url is not None)
    rules = SummaryRules(
        on=wanted.compression,
        max_stored=wanted.max_stored,
        keep_recent=wanted.keep_recent,
        batch=wanted.batch,
        min_source=wanted.min_source,
        max_in_context=wanted.max_summaries_in_context,
        max_context_messages=wanted.max_context_messages,
        longest=wanted.max_stored + wanted.batch,
        extractive=settings.llm.base_url is None,
    )
    policies = Policies(wanted.policy_private, wanted.policy_group, lambda space: choices.of(space, "policy"))
    memory = Memory(library, log, people, ids, clock, policies)
    hearing = Hearing(people, library, customs)
    extraction = Extraction(log, hearing, ExtractionRules(policies.of, wanted.extract_after))
    recall = Recall(library, log, clock, budget, _listener(customs))
    syncing = Syncing(memory, lambda: remote_of(settings.wiki), clock)
    summaries = Summaries(log, rules, customs)
    recollection = Recollection(log, people, indexes.open("episodes"), clock)
    lines = (home.logs, home.chat_history)
    places = Places(home.media, lines, home.backups, lambda: settings.wiki.remote, syncing.still, _leaver(people, log))
    return Remembering(
        store=store,
        indexes=indexes,
        beliefs=beliefs,
        library=library,
        memory=memory,
        notes=Notes(library, log, ids, clock),
        recall=recall,
        overview=Overview(library, beliefs, lambda: indexes.health, History(repository, store.ledger), recall),
        undoing=Undoing(memory.writer),
        summaries=summaries,
        learning=Learning(extraction, memory),
        reviewing=Reviewing(memory, log, people, clock, {PULL: syncing}),
        syncing=syncing,
        distilling=Distilling(log, hearing, memory),
        importing=Importing(memory.writer, clock),
        ruling=Ruling(memory.writer, ids),
        recollection=recollection,
        customs=customs,
        purging=Purging(log, people, summaries),
        forgetting=Forgetting(log, summaries),
        erasures=Erasures(log, library, beliefs, recollection.episodes, clock, places),
    )


def _leaver(people: People, log: Log) -> Callable[[Sequence[str], Sequence[str]], None]:
    """What takes persons out of the file of people, and lets nobody take them for whom they became."""

    def leave(ids: Sequence[str], names: Sequence[str]) -> None:
        people.rewrite(lambda text: forgotten(text, ids, names))
        people.follow(Links(log).merged())

    return leave


def remote_of(wanted: Wiki) -> Remote | None:
    """The copy of the wiki elsewhere that the settings name, if they name one. Raises `SettingsWrong`."""
    if wanted.remote is None:
        return None
    access = Access(
        ssh_key=Path(wanted.ssh_key) if wanted.ssh_key else None,
        token=wanted.token.get_secret_value() if wanted.token else None,
        ca_file=Path(wanted.ca_file) if wanted.ca_file else None,
    )
    return Remote(Address.parse(wanted.remote), access, wanted.trusted)


def _customs(settings: Settings, people: People) -> Customs:
    """Language and zone of a person, else of the instance."""

    def language(person: str | None) -> Language:
        known = people.person(people.whose(person)) if person else None
        return (known.language if known else None) or settings.speaks

    def zone(person: str | None) -> tzinfo:
        known = people.person(people.whose(person)) if person else None
        return ZoneInfo(known.timezone) if known and known.timezone else settings.zone

    return Customs(language, zone)


def _listener(customs: Customs) -> Callable[[Reader], Listener]:
    return lambda reader: Listener(customs.zone(reader.person), customs.language(reader.person))
