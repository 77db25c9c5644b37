"""An instance: the parts of one data folder, wired, with its background work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from qingtuan.a2a_client import pins as agent_pins
from qingtuan.a2a_client import talks
from qingtuan.app.capabilities import at_rest, capabilities_of, leave_capabilities, watch_edits
from qingtuan.app.chores import chores_of, digest_rules
from qingtuan.app.commands import Sources, commands_of
from qingtuan.app.daily import Daily
from qingtuan.app.erasing import go_on_erasing
from qingtuan.app.identity import identity_of, people_of, stands_for
from qingtuan.app.keeping import InStep
from qingtuan.app.mcp_service import mcp_service_of
from qingtuan.app.media import Clearing, Media, Pictures, media_of, media_tools
from qingtuan.app.memory import Remembering, remembering
from qingtuan.app.models import Answering, models_for
from qingtuan.app.programs_used import Programs, programs_of
from qingtuan.app.texts import texts_of
from qingtuan.app.tools import catalog_of
from qingtuan.app.web import web_tools
from qingtuan.arithmetic.tools import calculate
from qingtuan.backups.order import Keeper
from qingtuan.capabilities import ledger as made
from qingtuan.capabilities.catalog import Catalog
from qingtuan.capabilities.registry import Capabilities
from qingtuan.channels.entry import Standing
from qingtuan.channels.wxclaw import store as wechat
from qingtuan.clock import Clock, SystemClock
from qingtuan.confirmations import book, inquiries, standing
from qingtuan.confirmations.book import Book
from qingtuan.confirmations.standing import StandingBook
from qingtuan.errors import StorageFailed
from qingtuan.events import choices as chosen
from qingtuan.events import groups, inbox, outbox, overheard, previews, sessions, turns
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Log, Place
from qingtuan.events.sessions import Session
from qingtuan.home import Home, HomeLock
from qingtuan.identity import code_book, keys, links
from qingtuan.identity.keys import KeyBook
from qingtuan.identity.people import People
from qingtuan.ids import Ids
from qingtuan.language import Language, Words
from qingtuan.mcp_client import grants, pins
from qingtuan.mcp_client.servers import Servers
from qingtuan.media import files
from qingtuan.memory import candidates, summaries
from qingtuan.memory.recall_tool import RecollectionTools
from qingtuan.memory.tools import MemoryTools
from qingtuan.memory.wiki import ledger
from qingtuan.models.embedded.texts import SMALL_MODEL
from qingtuan.servers.a2a import book as agent_tasks
from qingtuan.servers.mcp.service import Service
from qingtuan.settings import Settings
from qingtuan.storage.migrating import Copies, Upgraded
from qingtuan.storage.sqlite import Database
from qingtuan.tools.registry import Collected, Provider, collect, installed
from qingtuan.tools.run import Runner
from qingtuan.tools.tool import Tool, tools_of
from qingtuan.turn.afterwards import Afterwards
from qingtuan.turn.commands.registry import Commands
from qingtuan.turn.desk import Desk
from qingtuan.turn.digest import Digest
from qingtuan.turn.inquiring import Inquiring
from qingtuan.turn.kit import Kit, Record
from qingtuan.turn.progress import Stage
from qingtuan.turn.queue import SessionQueues
from qingtuan.turn.troubles import tell_owner
from qingtuan.turn.work import Work

PROJECTIONS = (
    sessions.project,
    inbox.project,
    outbox.project,
    previews.project,
    turns.project,
    chosen.project,
    groups.project,
    overheard.project,
    ledger.project,
    book.project,
    inquiries.project,
    standing.project,
    summaries.project,
    pins.project,
    grants.project,
    candidates.project,
    code_book.project,
    links.project,
    keys.project,
    wechat.project,
    files.project,
    agent_tasks.project,
    agent_pins.project,
    talks.project,
    made.project,
)
"""Every table that is made from events, in the order in which they learn of one."""

_RELEASE_EVERY = 60.0
"""Seconds between two looks whether the embedding model has been idle."""


@dataclass(frozen=True, slots=True)
class App:
    """One running instance. Made by `open`, ended by `close`."""

    home: Home
    settings: Settings
    clock: Clock
    kit: Kit
    remembering: Remembering
    answering: Answering
    desk: Desk
    digest: Digest
    media: Media
    """Pictures, voice and files."""
    queues: SessionQueues
    commands: Commands
    tools: Collected
    """What came in as tools, and which plug-ins could not."""
    catalog: Catalog
    """All tools of the moment, those of servers among them."""
    programs: Programs
    """Servers of tools, and other agents that may be asked."""
    capabilities: Capabilities
    """Tools that were made here."""
    keys: KeyBook
    """Keys of programs."""
    mcp_service: Service
    """What programs may read, leave and ask here by MCP."""
    afterwards: Afterwards
    keeper: Keeper
    """Makes backups."""
    _release_claim: Callable[[], None]
    _database: Database
    standing: Standing = field(default_factory=Standing)
    """How the chat apps are, while they run."""
    _background: set[asyncio.Task[None]] = field(default_factory=set)
    _kept: set[asyncio.Future[Any]] = field(default_factory=set)

    @property
    def servers(self) -> Servers:
        """Servers of tools."""
        return self.programs.servers

    @property
    def language(self) -> Language:
        """The language of every sentence to people who have none of their own."""
        return self.settings.speaks

    @property
    def first_words(self) -> Words | None:
        """What to tell the owner once, along with the first answer that a model gives here: that it is a small one."""
        answered = self.kit.record.log.of_kind(Kind.MODEL_ANSWERED, limit=1)
        return SMALL_MODEL if self.answering.embedded and not answered else None

    @property
    def upgraded(self) -> Upgraded | None:
        """What the data was before this version opened it, if that was an older one."""
        return self._database.upgraded

    @property
    def stage(self) -> Stage:
        """Where progress of turns is shown."""
        return self.kit.stage

    @classmethod
    async def open(
        cls,
        home: Home,
        settings: Settings,
        *,
        clock: Clock | None = None,
        claim: str | HomeLock = "qingtuan",
        watch: bool = True,
        plug_ins: Mapping[str, Provider] | None = None,
    ) -> Self:
        """Claim the data folder, build the instance, take up what an earlier process left, and begin to work.

        `claim` is what a person would call this process, by which the folder is claimed, or a claim that the caller
        has and keeps; a restore that was cut off is the caller's then, too. `watch` looks out for hand edits while it
        runs; a one-shot question does without. `plug_ins` are providers of tools; None takes those that are installed.

        Raises:
            HomeInUse: another process has the folder.
            SettingsWrong: something in the settings, people or git cannot be used.
            StorageFailed: the folder or the database cannot be used.
        """
        clock = clock or SystemClock()
        with ExitStack() as undone:
            release = (await _claimed(home, claim, clock)).release if isinstance(claim, str) else _nothing
            undone.callback(release)
            home.prepare()
            database = Database(home.database, copies=Copies(home.backups, clock))
            undone.callback(database.close)
            app = cls._build(home, settings, clock, release, database, installed() if plug_ins is None else plug_ins)
            undone.pop_all()
        try:
            await app._start(watch=watch)
        except BaseException:
            await app.close()
            raise
        return app

    @classmethod
    def _build(
        cls,
        home: Home,
        settings: Settings,
        clock: Clock,
        release: Callable[[], None],
        database: Database,
        plug_ins: Mapping[str, Provider],
    ) -> Self:
        log = Log(database, clock, ids := Ids(clock), PROJECTIONS)
        people, key_book = people_of(home, settings, log)
        record, answering = Record.over(log, ids, clock), models_for(settings, clock, lambda: f"call_{ids.page()}")
        parts = remembering(home, settings, people, record)
        media = media_of(home, settings, record, people, answering.models)
        tools, catalog = _tools_of(settings, parts, {**_own_tools(parts, record, media, people, settings), **plug_ins})
        kit = Kit(
            record=record,
            models=answering.models,
            tools=catalog,
            runner=Runner(clock),
            book=Book(log, clock),
            standing=StandingBook(log, clock),
            memory=parts,
            summaries=parts.summaries,
            people=people,
            texts=texts_of(home, settings, record.choices),
            ready=media.collector.ready,
            pictures=Pictures(media, settings.media.text_chars),
        )
        queues, afterwards = SessionQueues(), Afterwards(kit, chores_of(kit, parts, settings))
        work, inquiring = Work(kit, queues, lambda turn, _: afterwards.turn_ended(turn.session)), Inquiring(kit)
        programs = programs_of(home, settings, kit, media.store, catalog, inquiring)
        identity = identity_of(work, parts, settings)
        capabilities = capabilities_of(home, settings, log, catalog, partial(tell_owner, kit))
        commands = commands_of(home, work, parts, Sources(programs, capabilities), afterwards, identity)
        digest = Digest(work, parts.reviewing, digest_rules(settings))
        desk = Desk(work, commands, identity.gate, partial(stands_for, digest), identity.linking, inquiring)
        return cls(
            home=home,
            settings=settings,
            clock=clock,
            kit=kit,
            remembering=parts,
            answering=answering,
            desk=desk,
            digest=digest,
            media=media,
            queues=queues,
            commands=commands,
            tools=tools,
            catalog=catalog,
            programs=programs,
            capabilities=capabilities,
            keys=key_book,
            mcp_service=mcp_service_of(kit, parts, inquiring),
            afterwards=afterwards,
            keeper=Keeper(home, clock, partial(at_rest, parts.store, capabilities)),
            _release_claim=release,
            _database=database,
        )

    async def _start(self, *, watch: bool) -> None:
        if self._database.is_copy:
            self.desk.lay_down(self._database.own)
        self.remembering.erasures.interrupt_before(self.afterwards.interrupt)
        self.remembering.erasures.finish_with(partial(leave_capabilities, self.capabilities, self.catalog))
        await self.remembering.memory.recover(self.remembering.erasures.begun())
        await go_on_erasing(self.remembering, self.kit.record.log)
        await self.desk.settle()
        await self.servers.start()
        await self.capabilities.start()
        self.kit.book.expire()
        self.media.collector.start()
        if watch:
            self._spawn(Clearing(self.home, self.media, self.kit, self.settings.media.keep_days).run())
            self._spawn(self._watch())
            self._spawn(watch_edits(self.capabilities, self.clock))
            self._spawn(self.remembering.recollection.episodes.catch_up())
            self._spawn(self._release())
            self._spawn(self._prepare_tools())
            self._spawn(self.desk.beside.run())
            self._spawn(self.remembering.library.prepare(self.clock))
            self._spawn(Daily(self.keeper, self.kit.record.log, self.settings.backups, self.clock).run())
            self._spawn(InStep(self.kit, self.remembering.syncing, self.settings.wiki.sync_minutes).run())
        await self.desk.recover()
        self._spawn(self.desk.lapsing.run())
        self._spawn(self.digest.run())

    async def idle(self, session: Session | None = None) -> None:
        """Wait until turns are done, and what is due after them. With `session`, that one is left for now, so that
        what waits for quiet is done too: the end of a one-shot question."""
        await self.queues.idle(session.id if session else None)
        if session is not None:
            self.afterwards.left(session)
        await self.afterwards.done()

    async def close(self) -> None:
        """End in peace: what runs is cut off and taken up at the next start, and the folder is given up. A part that
        does not end as it should keeps no other from ending."""
        async with AsyncExitStack() as ending:
            ending.callback(self._release_claim)
            ending.callback(self._database.close)
            ending.callback(self.remembering.close)
            ending.push_async_callback(self.kit.models.close)
            ending.push_async_callback(self.servers.close)
            ending.push_async_callback(self.programs.agents.close)
            ending.push_async_callback(self.capabilities.close)
            ending.push_async_callback(self.afterwards.close)
            ending.push_async_callback(self.media.collector.close)
            ending.push_async_callback(self.queues.close)
            self.catalog.close()
            going = [*self._background, *self._kept]
            for task in going:
                task.cancel()
            await asyncio.gather(*going, return_exceptions=True)

    def keep(self, work: asyncio.Future[Any]) -> None:
        """Let some work go on that somebody asked for, whether they wait for it or not. The end of the instance cuts
        it off."""
        self._kept.add(work)
        work.add_done_callback(self._kept.discard)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Note why background work ended that should not have: nobody else would hear of it."""
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            with suppress(StorageFailed):
                self.kit.record.log.append(Kind.CHORE_FAILED, Place(), {"detail": repr(error)})

    async def _watch(self) -> None:
        watch = self.remembering.watching(self.clock)
        watch.start()
        try:
            await asyncio.Event().wait()
        finally:
            await watch.stop()

    async def _prepare_tools(self) -> None:
        if self.servers.status():
            with suppress(StorageFailed):  # the next search says so
                await self.catalog.prepare()

    async def _release(self) -> None:
        """Give the embedding model's memory back when nobody has searched for a while."""
        limit = self.settings.embedding.idle_minutes * 60
        while True:
            await self.clock.sleep(_RELEASE_EVERY)
            if self.remembering.indexes.idle_seconds > limit:
                self.remembering.indexes.release()


def _nothing() -> None:
    """To do for a claim that somebody else has."""


def _clean_up(home: Home) -> None:
    """Finish a restore, and remove leftovers of work on backups, that killed processes left."""
    from qingtuan.backups.swap import pending  # hardly ever needed

    if (begun := pending(home)) is not None:
        begun.place()
        begun.finish()


async def _claimed(home: Home, command: str, clock: Clock) -> HomeLock:
    """The claim on a data folder, in which no restore is half done. Raises as `App.open`."""
    if not home.restore_note.exists():
        home.prepare()
    lock = HomeLock(home)
    await lock.acquire(command, clock)
    try:
        if home.restore_note.exists() or any(home.backups.glob(".[rw]*")):
            _clean_up(home)
    except BaseException:
        lock.release()
        raise
    return lock


def _tools_of(settings: Settings, parts: Remembering, providers: Mapping[str, Provider]) -> tuple[Collected, Catalog]:
    tools = collect(providers)
    return tools, catalog_of(tools.tools, parts.indexes, settings)


def _own_tools(
    parts: Remembering, record: Record, media: Media, people: People, settings: Settings
) -> dict[str, Provider]:
    return {
        "memory": lambda: _memory_tools(parts, record.log),
        "media": lambda: media_tools(media, parts, people),
        "web": lambda: web_tools(settings.web, media.reader.children, record.clock),
        "arithmetic": lambda: [calculate],
    }


def _memory_tools(parts: Remembering, log: Log) -> list[Tool]:
    believed = MemoryTools(parts.memory, parts.notes, parts.recall, log)
    return [*tools_of(believed), *tools_of(RecollectionTools(parts.recollection))]
