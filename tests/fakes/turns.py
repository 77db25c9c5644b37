"""A world in which turns run for real: database, desk, queues and tools, with a model that follows a script.

What is faked is what lies outside: the model, the memory, the summaries, and the platform that delivers.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from qingtuan.clock import ManualClock
from qingtuan.confirmations import book, inquiries, standing
from qingtuan.confirmations.book import Book
from qingtuan.confirmations.standing import StandingBook
from qingtuan.events import inbox, outbox, sessions, turns
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event, Log
from qingtuan.events.sessions import Session
from qingtuan.identity.access import AccessRules, Limits
from qingtuan.identity.people import People
from qingtuan.identity.scopes import Reader, Role
from qingtuan.ids import Ids
from qingtuan.language import Words
from qingtuan.memory.recall import Injected
from qingtuan.memory.summaries import SummaryText
from qingtuan.messages import Inbound, Space
from qingtuan.models import wire
from qingtuan.models.chat import Answer, Call, ChatEvent, ChatMessage, Recorder, Request, TextDelta, Usage, WireRequest
from qingtuan.models.profiles import GENERIC, Profile
from qingtuan.models.retry import Persistent
from qingtuan.models.service import Lineup, Models
from qingtuan.personas.choosing import Personas
from qingtuan.prompt import templates
from qingtuan.storage.sqlite import Database
from qingtuan.tools.registry import Registry
from qingtuan.tools.run import Runner
from qingtuan.tools.tool import Tool, ToolContext, ToolResult
from qingtuan.turn.admission import Gate
from qingtuan.turn.commands.conversation import conversation_commands
from qingtuan.turn.commands.people import whoami_command
from qingtuan.turn.commands.registry import Command, Commands
from qingtuan.turn.desk import Desk, Taken
from qingtuan.turn.kit import Kit, Record, Texts
from qingtuan.turn.progress import Outcome, Progress, Stage
from qingtuan.turn.queue import SessionQueues
from qingtuan.turn.stopping import Stopping
from qingtuan.turn.turn import Turn
from qingtuan.turn.work import Work

OWNER = "cli:local"
OWNER_QQ = "qq:10000"
MEMBER = "qq:10001"
GUEST = "qq:10002"
GROUP = Space("group", "qq:777")
START = datetime(2026, 11, 29, 2, tzinfo=UTC)
ZONE = ZoneInfo("Asia/Shanghai")

Reply = Answer | Exception
Script = Callable[[Request], Reply]

_numbers = count(1)


def says(text: str, **fields: Any) -> Answer:
    """An answer in words."""
    return replace(Answer(text, (), "stop", Usage(100, 10), "scripted"), **fields)


def calls(*wanted: tuple[str, Mapping[str, Any] | str], text: str = "", **fields: Any) -> Answer:
    """An answer with calls: name and arguments, as JSON text or as values."""
    made = tuple(
        Call(
            f"call_{next(_numbers)}",
            name,
            arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False),
        )
        for name, arguments in wanted
    )
    return replace(Answer(text, made, "tool_calls", Usage(100, 10), "scripted"), **fields)


def in_order(*replies: Reply) -> Script:
    """One reply after the other; the last one again and again."""
    left = list(replies)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


def last(request: Request) -> ChatMessage:
    """The last message of a request."""
    return request.messages[-1]


@dataclass
class Shelf:
    """Tools that change only once they are waited for."""

    registry: Registry
    most_paged: int = 24
    asked: list[str] = field(default_factory=list)
    """What was searched for."""
    fault: Exception | None = None
    """Raised by each search."""
    coming: Registry | None = None
    """What there is once somebody waits for it."""

    async def arrived(self) -> None:
        self.registry = self.coming or self.registry

    async def find(self, query: str, reader: Reader, limit: int) -> list[Tool]:
        """Tools whose description has a word of the query."""
        self.asked.append(query)
        if self.fault is not None:
            raise self.fault
        allowed = self.registry.allowed(reader)
        return [tool for tool in allowed if any(word in tool.description for word in query.split())][:limit]


@dataclass
class ScriptedModel:
    """A `ChatModel` in this process whose answers are a function of the request."""

    script: Script = field(default_factory=lambda: in_order(says("好的。")))
    requests: list[Request] = field(default_factory=list)
    wires: list[WireRequest] = field(default_factory=list)
    pause: Callable[[Request], Awaitable[None]] | None = None
    """Awaited in the middle of the text."""
    profile: Profile = GENERIC
    closed: int = 0
    """Streams that came to their end, or were closed."""

    def encode(self, request: Request) -> WireRequest:
        return wire.encode(request, self.profile)

    async def stream(self, request: Request, recorder: Recorder) -> AsyncIterator[ChatEvent]:
        self.requests.append(request)
        self.wires.append(self.encode(request))
        recorder.requested(self.wires[-1], request.params.model)
        reply = self.script(request)
        if isinstance(reply, Exception):
            raise reply
        middle = len(reply.text) // 2
        try:
            if reply.text:
                yield TextDelta(reply.text[:middle])
            if self.pause is not None:
                await self.pause(request)
            if reply.text:
                yield TextDelta(reply.text[middle:])
            yield reply
        finally:
            self.closed += 1


@dataclass
class MemoryFake:
    """A memory that says what it was told to say."""

    injected: Injected | Exception = field(default_factory=lambda: Injected("", "", of_others=False))
    committed: list[str] = field(default_factory=list)
    pause: Callable[[], Awaitable[None]] | None = None
    """Awaited in each commit."""
    fault: Exception | None = None
    """Raised by each commit."""

    async def inject(self, reader: Reader, words: str) -> Injected:
        if isinstance(self.injected, Exception):
            raise self.injected
        return self.injected

    async def commit(self, turn: str) -> None:
        if self.pause is not None:
            await self.pause()
        if self.fault is not None:
            raise self.fault
        self.committed.append(turn)


@dataclass
class SummariesFake:
    """Compresses a session to one short summary per batch, as memory.md has it: of 60 turns the oldest 40."""

    log: Log
    trigger: int = 60
    batch: int = 40
    until: dict[str, int] = field(default_factory=dict)
    texts: dict[str, tuple[SummaryText, ...]] = field(default_factory=dict)

    def window(self, session: Session, kinds: Iterable[Kind]) -> list[Event]:
        row = self.log.database.row("SELECT cleared FROM sessions WHERE id = ?", (session.id,))
        after = max(self.until.get(session.id, 0), row["cleared"] if row else 0)
        events = self.log.of_session(session.id, after=after, kinds=kinds)
        present = {event.id for event in events}
        begun = (event.payload.get("messages", ()) for event in events if event.kind is Kind.TURN_STARTED)
        earlier = (self.log.get(name) for names in begun for name in names if name not in present)
        return [*(event for event in earlier if event is not None), *events]

    def in_context(self, session: Session) -> tuple[SummaryText, ...]:
        return self.texts.get(session.id, ())

    def after(self, session: Session) -> None:
        """Compress what is due."""
        ends = self.log.database.rows(
            "SELECT seq FROM events WHERE session = ? AND seq > ? AND kind = ? ORDER BY seq",
            (session.id, self.until.get(session.id, 0), Kind.TURN_FINISHED),
        )
        if len(ends) >= self.trigger:
            self.until[session.id] = ends[self.batch - 1]["seq"]
            earlier = self.in_context(session)[-2:]
            self.texts[session.id] = (*earlier, SummaryText(f"聊到第 {ends[self.batch - 1]['seq']} 件事。", False))


@dataclass(frozen=True)
class Sent:
    """A message that left, as a test looks at it."""

    space: Space
    kind: str
    text: str
    event: Event

    def __str__(self) -> str:
        return self.text


def tool_of(
    name: str,
    run: Callable[[ToolContext, dict[str, Any]], Awaitable[ToolResult | str]],
    *,
    arguments: Iterable[str] = (),
    **traits: Any,
) -> Tool:
    """A tool whose arguments are all texts and all required."""
    names = list(arguments)
    parameters = {
        "type": "object",
        "properties": {argument: {"type": "string"} for argument in names},
        "required": names,
        "additionalProperties": False,
    }

    async def wrapped(context: ToolContext, values: dict[str, Any]) -> ToolResult:
        result = await run(context, values)
        return ToolResult(result) if isinstance(result, str) else result

    fields: dict[str, Any] = {"returns": "own", "roles": frozenset(Role), "description": f"做 {name}。"} | traits
    return Tool(name=name, parameters=parameters, run=wrapped, **fields)


UNLIMITED = Limits(None, None, None, 0, 0, 1000, 10**9, 10**12)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a world is built from, so that the next process is built from the same."""

    folder: Path
    clock: ManualClock
    tools: tuple[Tool, ...] = ()
    granted: Mapping[str, frozenset[Role]] = field(default_factory=dict)
    commands: tuple[Command, ...] = ()
    rules: AccessRules = field(
        default_factory=lambda: AccessRules(
            groups=frozenset({"qq:777"}), trial=10**6, limits={Role.GUEST: UNLIMITED, Role.MEMBER: UNLIMITED}
        )
    )
    owner_accounts: tuple[str, ...] = (OWNER_QQ,)
    members: tuple[str, ...] = (MEMBER,)
    watch: Callable[[Database, Event], None] = lambda database, event: None
    """A projection more, for looking at each event inside its transaction."""


class World:
    """One process: everything from the desk down to the database, over the folder of its plan."""

    def __init__(self, plan: Plan, model: ScriptedModel | None = None) -> None:
        self.plan = plan
        self.clock = plan.clock
        self.model = model or ScriptedModel()
        self.database = Database(plan.folder / "state.sqlite")
        ids = Ids(self.clock)
        projections = [sessions.project, turns.project, inbox.project, outbox.project, book.project]
        more = [inquiries.project, standing.project, plan.watch]
        self.log = Log(self.database, self.clock, ids, (*projections, *more))
        self.memory = MemoryFake()
        self.summaries = SummariesFake(self.log)
        self.people = People(owner_accounts=plan.owner_accounts, members=plan.members)
        self.queues = SessionQueues()
        self.ended: list[tuple[Turn, Outcome]] = []
        self.left_sessions: list[Session] = []
        self.record = Record.over(self.log, ids, self.clock)
        self.shelf = Shelf(Registry(plan.tools, plan.granted))
        self.kit = self._kit()
        self.work = Work(self.kit, self.queues, self._after_turn)
        self.gate = Gate(self.log, self.clock, ZONE, lambda: plan.rules, self.people.ids, self.work.bursts.surplus)
        self.commands = self._commands()
        self.desk = Desk(self.work, self.commands, self.gate)
        self._message_ids = count(1)

    def _kit(self) -> Kit:
        plan = self.plan
        return Kit(
            record=self.record,
            models=Models(
                self.model,
                Lineup("scripted", lambda name: self.model.profile),
                Persistent(self.clock, random.Random(0)),
            ),
            tools=self.shelf,
            runner=Runner(self.clock),
            book=Book(self.log, self.clock),
            standing=StandingBook(self.log, self.clock),
            memory=self.memory,
            summaries=self.summaries,
            people=self.people,
            texts=Texts(
                templates=lambda: templates.load(plan.folder / "prompts", "zh"),
                personas=Personas(plan.folder / "personas", lambda _: "default", self.record.choices, "zh"),
                owner_public="",
                language="zh",
                zone=ZONE,
            ),
            stage=Stage(),
        )

    def _commands(self) -> Commands:
        own = conversation_commands(
            self.record.sessions,
            Stopping(self.queues, self.record.outbox),
            self.left_sessions.append,
            lambda: self.commands,
        )
        return Commands([*own, whoami_command(self.kit, self.gate.standing), *self.plan.commands])

    def _after_turn(self, turn: Turn, outcome: Outcome) -> None:
        self.ended.append((turn, outcome))
        self.summaries.after(turn.session)

    # Processes

    async def close(self) -> None:
        await self.queues.close()
        self.database.close()

    async def restart(self, **changes: Any) -> World:
        """The next process over the same folder, after it has taken up what was left."""
        await self.close()
        self.clock.advance(timedelta(seconds=1))
        world = World(replace(self.plan, **changes), self.model)
        world.summaries.until, world.summaries.texts = self.summaries.until, self.summaries.texts
        await world.desk.recover()
        await world.queues.idle()
        return world

    # Speaking

    def inbound(self, text: str, account: str = OWNER, space: Space | None = None, **fields: Any) -> Inbound:
        channel = {"cli": "cli", "qq": "onebot"}.get(account.partition(":")[0], "http")
        message_id = fields.pop("message_id", None) or f"m{next(self._message_ids)}_{self.clock.now().timestamp()}"
        where = space or Space("private", account)
        return Inbound(channel, account, where, message_id, text, self.clock.now(), **fields)

    async def receive(self, text: str, account: str = OWNER, space: Space | None = None, **fields: Any) -> Taken:
        """Hand a message over a second later, and wait for nothing."""
        self.clock.advance(timedelta(seconds=1))
        return await self.desk.receive(self.inbound(text, account, space, **fields))

    async def say(self, text: str, account: str = OWNER, space: Space | None = None, **fields: Any) -> list[Sent]:
        """Say something, wait until nothing is left to do, deliver it all, and give what was sent."""
        seq = self.newest()
        await self.receive(text, account, space, **fields)
        await self.queues.idle()
        self.deliver()
        return self.sent(after=seq)

    def deliver(self) -> None:
        """The platforms take everything that waits, a second later."""
        self.clock.advance(timedelta(seconds=1))
        for channel in ("cli", "onebot", "http"):
            for message in self.record.outbox.waiting(channel):
                self.record.outbox.started(message)
                self.record.outbox.finished(message, Kind.DELIVERY_SENT, platform_id=f"p_{message.id}")

    # Looking

    def newest(self) -> int:
        row = self.database.row("SELECT max(seq) AS seq FROM events")
        return (row["seq"] if row else 0) or 0

    def events(self, *kinds: Kind, after: int = 0) -> list[Event]:
        return self.log.of_kind(*(kinds or tuple(Kind)), after=after, limit=10**6)

    def sent(self, *, after: int = 0) -> list[Sent]:
        """What was put into the outbox."""
        return [
            Sent(event.place.space, event.payload["kind"], event.payload["text"], event)
            for event in self.events(Kind.MESSAGE_SENT, after=after)
            if event.place.space is not None
        ]

    def outcomes(self) -> list[str]:
        """How each turn ended, by its events."""
        return [event.payload["outcome"] for event in self.events(Kind.TURN_FINISHED)]

    async def show_of(self, session: str, work: Awaitable[object]) -> list[Progress]:
        """What a watcher of a session sees while `work` is done."""
        seen: list[Progress] = []

        async def look() -> None:
            with self.kit.stage.watch(session) as progress:
                async for piece in progress:
                    seen.append(piece)  # noqa: PERF401 (it is cancelled in the middle)

        task = asyncio.create_task(look())
        await asyncio.sleep(0)
        await work
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        return seen


def failing(words: str = "不行") -> Words:
    """Some sentence."""
    return Words(words, words)


def shape(request: Request) -> list[tuple[str, str]]:
    """Roles and texts of a request."""
    return [(message.role, message.text) for message in request.messages]
