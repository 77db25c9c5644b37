"""capabilities.md: the tools of a request are a function of its history, whatever happened in it.

Random lives of a whole desk: people search, deploy, call, fail, say yes and no; summaries take the oldest part of what
was said; tools vanish and come back; processes end. Whatever the last request showed is what a plain reading of the
specification shows.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qingtuan.clock import ManualClock
from qingtuan.errors import ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.identity.scopes import Role
from qingtuan.identity.trust import Risk
from qingtuan.messages import Space
from qingtuan.models.chat import Request
from qingtuan.prompt.pipeline import build
from qingtuan.tools.registry import Registry
from qingtuan.tools.tool import EVERYONE, OWNER_ONLY, Tool, ToolContext, ToolResult, wire_name
from qingtuan.turn.viewing import frame
from tests.fakes.turns import GROUP, GUEST, MEMBER, OWNER, OWNER_QQ, START, Plan, World, calls, failing, says, tool_of

MOST = 3
SCHEMA = {"type": "object", "properties": {"怎样": {"enum": ["ok", "fail"]}}, "required": ["怎样"]}
PEOPLE: Sequence[tuple[str, Space | None]] = ((OWNER, None), (GUEST, None), (OWNER_QQ, GROUP), (MEMBER, GROUP))

How = Literal["ok", "fail", "wrong"]
Answer = Literal["确认", "取消", ""]


@dataclass(frozen=True)
class Step:
    """One call that a model makes: of a tool, or a search that finds some, or none."""

    name: str
    how: How = "ok"
    found: tuple[str, ...] = ()

    @property
    def call(self) -> tuple[str, dict[str, Any]]:
        if self.name == "capability_search":
            return self.name, {"query": " ".join(self.found)}
        return wire_name(self.name), {"wrong": 1} if self.how == "wrong" else {"怎样": self.how}


@dataclass(frozen=True)
class Talk:
    who: int
    rounds: tuple[tuple[Step, ...], ...]


@dataclass(frozen=True)
class Deploy:
    name: str
    how: How
    answer: Answer


@dataclass(frozen=True)
class Compress:
    who: int
    share: float
    """Of the turns of the session, how many are summed up."""


@dataclass(frozen=True)
class Move:
    """A tool vanishes, or comes back."""

    name: str


Happening = Talk | Deploy | Compress | Move | Literal["restart"]


async def use(context: ToolContext, values: dict[str, Any]) -> ToolResult:
    if values["怎样"] == "fail":
        raise ToolFailed(failing())
    # Somebody else's tool tries to page in what it likes.
    return ToolResult("好", {"found": ["s__hidden"]})


def paged(name: str, roles: frozenset[Role] = EVERYONE) -> Tool:
    return replace(tool_of(name, use, risk=Risk.READ, core=False, roles=roles), parameters=SCHEMA)


KNOWN = (
    *(paged(f"s__tool_{number}") for number in range(4)),
    paged("s__owner", OWNER_ONLY),
    paged("图书馆__查座位"),
    paged("s__hidden"),
)
MADE = tuple(paged(f"made_{number}") for number in range(2))
NAMES = [tool.name for tool in (*KNOWN, *MADE) if tool.name != "s__hidden"]


async def search(context: ToolContext, values: dict[str, Any]) -> ToolResult:
    found = [wire_name(name) for name in values["query"].split()]
    return ToolResult("找到了" if found else "没有", {"found": found})


@dataclass
class Life:
    """A desk, what exists at the moment, and what was said so far as far as tools go."""

    world: World
    away: set[str] = field(default_factory=lambda: {tool.name for tool in MADE})
    told: dict[str, list[tuple[int, str, list[str]]]] = field(default_factory=dict)
    """By session: position, person, and the names that it mentioned, of each success."""

    @classmethod
    def begun(cls, folder: Path) -> Life:
        life = cls(World(Plan(folder=folder, clock=ManualClock(START))))
        life.arrange()
        return life

    def arrange(self, chance: random.Random | None = None) -> None:
        """Let there be what there is now; with `chance` in another order."""
        there = [tool for tool in (*KNOWN, *MADE) if tool.name not in self.away]
        if chance:
            chance.shuffle(there)
        self.world.shelf.most_paged = MOST
        self.world.shelf.registry = Registry((*there[:2], *self.core(), *there[2:]))

    def core(self) -> list[Tool]:
        return [
            tool_of("capability_search", search, arguments=["query"], risk=Risk.READ),
            tool_of("capability_create", self.create, arguments=["name", "how"], risk=Risk.ACT, roles=OWNER_ONLY),
        ]

    async def create(self, context: ToolContext, values: dict[str, Any]) -> ToolResult:
        if values["how"] == "fail":
            raise ToolFailed(failing())
        self.away.discard(values["name"])
        self.arrange()
        return ToolResult("做好了", {"found": [values["name"]]})

    # What happens

    async def happens(self, happening: Happening) -> None:
        match happening:
            case Talk():
                await self.talks(happening)
            case Deploy():
                await self.deploys(happening)
            case Compress(who, share):
                self.compresses(who, share)
            case Move(name):
                self.away ^= {name}
                self.arrange()
            case "restart":
                self.world = await self.world.restart()
                self.arrange()

    async def talks(self, talk: Talk) -> None:
        account, space = PEOPLE[talk.who]
        left = [calls(*(step.call for step in steps)) for steps in talk.rounds]
        self.world.model.script = lambda request: left.pop(0) if left else says("好了。")
        away = set(self.away)
        await self.world.say("办一件事", account, space)
        for step in (step for steps in talk.rounds for step in steps):
            self.note(talk.who, self.mentioned(step, away, account))
        self.looks(talk.who)

    def mentioned(self, step: Step, away: set[str], account: str) -> list[str]:
        if step.name == "capability_search":
            return [*step.found]
        tool = next(tool for tool in (*KNOWN, *MADE) if tool.name == step.name)
        may = tool.roles == EVERYONE or account in (OWNER, OWNER_QQ)
        return [step.name] if step.how == "ok" and may and step.name not in away else []

    async def deploys(self, deploy: Deploy) -> None:
        left = [calls(("capability_create", {"name": deploy.name, "how": deploy.how}))]
        self.world.model.script = lambda request: left.pop(0) if left else says("好了。")
        await self.world.say("做一个工具")
        if deploy.answer:
            await self.world.say(deploy.answer)
        if deploy.answer == "确认":
            if deploy.how == "ok":
                self.note(0, [deploy.name])
            self.looks(0)

    def compresses(self, who: int, share: float) -> None:
        session = self.session(who)
        ends = [event.seq for event in self.world.events(Kind.TURN_FINISHED) if event.place.session == session]
        if ends:
            until = ends[min(int(share * len(ends)), len(ends) - 1)]
            self.world.summaries.until[session] = max(until, self.world.summaries.until.get(session, 0))

    # What is looked at

    def session(self, who: int) -> str:
        account, space = PEOPLE[who]
        where = space or Space("private", account)
        return next((session for one, session in self.sessions() if one == where), "")

    def sessions(self) -> list[tuple[Space | None, str]]:
        started = self.world.events(Kind.TURN_STARTED)
        return list(dict.fromkeys((event.place.space, event.place.session or "") for event in started))

    def note(self, who: int, names: list[str]) -> None:
        position = self.world.events(Kind.TURN_FINISHED)[-1].seq
        self.told.setdefault(self.session(who), []).append((position, PEOPLE[who][0], names))

    def expected(self, who: int) -> list[str]:
        """The paged tools of a request, by the words of the specification."""
        account, session = PEOPLE[who][0], self.session(who)
        after = self.world.summaries.until.get(session, 0)
        owner = account in (OWNER, OWNER_QQ)
        seen = [names for seq, person, names in self.told.get(session, ()) if seq > after and person == account]
        there = {tool.name for tool in KNOWN if owner or tool.roles == EVERYONE} | {tool.name for tool in MADE}
        seen = [[name for name in names if name in there - self.away] for names in seen]
        staying: list[str] = []
        for names in reversed(seen):
            staying += [name for name in names if name not in staying]
        first = [name for names in seen for name in names]
        return sorted(staying[:MOST], key=first.index)

    def looks(self, who: int) -> None:
        """The last request shows what it should, whole; and it is made anew from what was kept, byte for byte."""
        request = self.world.model.requests[-1]
        shown = [spec.name for spec in request.tools if not spec.name.startswith("capability_")]
        assert shown == [wire_name(name) for name in self.expected(who)]
        assert all(spec.parameters == SCHEMA for spec in request.tools if spec.name in shown)
        wire = self.world.model.encode(request)
        for seed in range(2):
            self.arrange(random.Random(seed))
            assert self.world.model.encode(replace(request, tools=self.again().tools)) == wire
        self.arrange()

    def again(self) -> Request:
        """The last request of the newest turn, from the events before it."""
        turn = self.world.ended[-1][0]
        events = self.world.log.of_turn(turn.id)
        answered = max(event.seq for event in events if event.kind is Kind.MODEL_ANSWERED)
        started = self.world.work.beginning_of(turn.id)
        view = frame(self.world.kit, turn, started).at([event for event in events if event.seq < answered])
        return build(view).request


def step() -> st.SearchStrategy[Step]:
    hits = st.lists(st.sampled_from(NAMES), max_size=5, unique=True).map(tuple)
    found = st.builds(Step, st.just("capability_search"), st.just("ok"), hits)
    return st.one_of(found, st.builds(Step, st.sampled_from(NAMES), st.sampled_from(["ok", "ok", "fail", "wrong"])))


def rounds() -> st.SearchStrategy[tuple[tuple[Step, ...], ...]]:
    some = st.lists(step(), min_size=1, max_size=3, unique=True).map(tuple)
    return st.lists(some, max_size=2).map(tuple)


HAPPENINGS = st.lists(
    st.one_of(
        st.builds(Talk, st.integers(0, 3), rounds()),
        st.builds(Talk, st.integers(0, 1), rounds()),
        st.builds(
            Deploy,
            st.sampled_from([tool.name for tool in MADE]),
            st.sampled_from(["ok", "fail"]),
            st.sampled_from(["确认", "确认", "取消", ""]),
        ),
        st.builds(Compress, st.integers(0, 3), st.floats(0, 1)),
        st.builds(Move, st.sampled_from(NAMES)),
        st.just("restart"),
    ),
    max_size=10,
)


def lives(happenings: Sequence[Happening]) -> None:
    """Let all of it happen at a desk of its own, and everybody look at the end."""

    async def go(folder: Path) -> None:
        life = Life.begun(folder)
        try:
            for happening in happenings:
                await life.happens(happening)
            for who in range(len(PEOPLE)):
                await life.talks(Talk(who, ()))
        finally:
            await life.world.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(go(Path(folder)))


@given(HAPPENINGS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_the_tools_of_a_request_follow_from_its_history_alone(happenings: list[Happening]) -> None:
    lives(happenings)
