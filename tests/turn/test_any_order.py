"""Whatever somebody does (say, edit, recall, stop) and whenever the process dies: each message is answered exactly
once, in order, or recalled, replaced or stopped. Random courses, compared with a small model of the rules."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from qingtuan.events import inbox
from qingtuan.events.kinds import Kind
from qingtuan.events.turns import open_turns
from qingtuan.identity.trust import Risk
from qingtuan.models.chat import Request
from qingtuan.tools.tool import ToolContext
from qingtuan.turn.bursts import LONGEST, MOST, PAUSE
from tests.fakes.hasty import CHAT, Hasty, breathe, held_clock, made_anew, said, well_formed
from tests.fakes.turns import Plan, ScriptedModel, World, calls, says, tool_of

ANSWER = "答了。"
DO = "做"
"""A message with this makes the model write something before it answers."""

SAY = st.tuples(st.just("say"), st.booleans(), st.booleans())
WAIT = st.tuples(st.just("wait"), st.sampled_from([0.3, 1.0, 1.9, 2.0, 5.0, 12.0]))
CHANGE = st.tuples(st.sampled_from(["edit", "recall"]), st.integers(0, 3))
PLAIN = st.sampled_from([("stop",), ("kill",), ("repeat",)])
ANSWER_IT = st.just(("hear",))
COURSES = st.lists(st.one_of(SAY, SAY, WAIT, CHANGE, CHANGE, ANSWER_IT, PLAIN), min_size=4, max_size=25)


@dataclass
class Expected:
    """A turn, as the rules have it."""

    said: list[tuple[int, str]]
    """Of each message its number and its words; of one that was edited after something was done, each wording."""
    gathers: bool
    first: float
    last: float
    hurried: bool = False
    acted: bool = False

    def begins(self, now: float) -> bool:
        return not self.gathers or self.hurried or now >= min(self.last + PAUSE, self.first + LONGEST) - 0.001

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.said]

    def holds(self, number: int) -> bool:
        return any(one == number for one, _ in self.said)


@dataclass
class Rules:
    """The small model."""

    turns: list[Expected] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    """Words that may be in no request any more."""

    def say(self, number: int, text: str, gathers: bool, now: float) -> None:
        last = self.turns[-1] if self.turns else None
        if gathers and last is not None and len(last.said) < MOST:
            last.said.append((number, text))
            last.last = now
        else:
            self.turns.append(Expected([(number, text)], gathers, now, now))

    def edit(self, number: int, text: str, now: float) -> bool:
        turn = next((turn for turn in self.turns if turn.holds(number)), None)
        if turn is None:
            return False
        turn.last = now
        if turn.acted:
            turn.said.append((number, text))
        else:
            self.gone |= {old for one, old in turn.said if one == number}
            turn.said = [(one, text if one == number else old) for one, old in turn.said]
        return True

    def taken_up(self, gathers: list[bool], now: float) -> None:
        """The next process goes on with what has begun; the rest arrives again, and nobody waits for more."""
        begun = [turn for turn in self.turns[:1] if turn.begins(now)]
        waiting = sorted(one for turn in self.turns[len(begun) :] for one in turn.said)
        self.turns = begun
        for number, text in waiting:
            self.say(number, text, gathers[number], now)
        for turn in self.turns:
            turn.hurried = True

    def recall(self, number: int) -> None:
        turn = next((turn for turn in self.turns if turn.holds(number)), None)
        if turn is None or turn.acted:
            return
        self.gone |= {old for one, old in turn.said if one == number}
        turn.said = [(one, old) for one, old in turn.said if one != number]
        self.turns = [turn for turn in self.turns if turn.said]


class Course:
    """One course of things, in the world and in the model of the rules."""

    def __init__(self, folder: Path) -> None:
        self.model = ScriptedModel(script=self.script)
        self.model.pause = self.stand
        tools = (tool_of("put", self.put, risk=Risk.WRITE),)
        self.world = World(Plan(folder=folder, clock=held_clock(), tools=tools), self.model)
        self.rules = Rules()
        self.let: asyncio.Event | None = None
        self.texts: list[str] = []
        self.gathers: list[bool] = []
        self.wordings = 0
        self.replies = 0

    # The model

    async def stand(self, request: Request) -> None:
        """Every answer waits until it is let through."""
        self.let = let = asyncio.Event()
        await let.wait()

    def script(self, request: Request) -> Any:
        current = request.messages[self._begin(request) :]
        done = any(message.role == "tool" for message in current)
        asked = any(message.role == "user" and DO in message.text for message in current)
        return calls(("put", {})) if asked and not done else says(ANSWER)

    @staticmethod
    def _begin(request: Request) -> int:
        """Where the newest turn stands: behind the last system message."""
        return max(place for place, message in enumerate(request.messages) if message.role == "system")

    async def put(self, context: ToolContext, values: dict[str, Any]) -> str:
        return "好"

    # What happens

    async def run(self, course: list[Any]) -> None:
        for what, *how in course:
            await getattr(self, what)(*how)
            await breathe()
            self.look()
        while self.rules.turns:
            await self.wait(12.0)
            await breathe()
            await self.answer()
        await asyncio.wait_for(self.world.queues.idle(), 5)
        self.check()
        await self.world.close()

    @property
    def hasty(self) -> Hasty:
        return Hasty(self.world)

    @property
    def now(self) -> float:
        return self.world.clock.monotonic()

    async def say(self, gathers: bool, acts: bool) -> None:
        text = f"{DO if acts else '说'}{len(self.texts)}."
        self.texts.append(text)
        self.gathers.append(gathers)
        await self.hasty.writes(text, after=0.1, gathers=gathers, message_id=f"m{len(self.texts) - 1}")
        self.rules.say(len(self.texts) - 1, text, gathers, self.now)

    async def wait(self, seconds: float) -> None:
        await self.hasty.waits(seconds)

    async def edit(self, back: int) -> None:
        if number := self._number(back):
            self.wordings += 1
            text = f"{self.texts[number - 1][0]}{number - 1}改{self.wordings}."
            gathers = self.gathers[number - 1]
            taken = await self.hasty.edits(f"m{number - 1}", text, after=0.1, gathers=gathers)
            expected = self.rules.edit(number - 1, text, self.now)
            assert taken.kind == ("turn" if expected else "ignored")

    async def recall(self, back: int) -> None:
        if number := self._number(back):
            await self.hasty.recalls(f"m{number - 1}")
            self.rules.recall(number - 1)

    def _number(self, back: int) -> int:
        """Of one of the newest messages, from 1; 0 if there is none."""
        return max(0, len(self.texts) - back)

    async def repeat(self) -> None:
        """The platform delivers the first message and a recall once more."""
        if self.texts:
            taken = await self.hasty.writes(self.texts[0], after=0.1, message_id="m0")
            assert taken.kind == "known"

    async def stop(self) -> None:
        await self.hasty.writes("/stop", after=0.1)
        self.rules.turns = self.rules.turns[1:]

    async def kill(self) -> None:
        await self.world.close()
        self.let = None
        self.world = World(self.world.plan, self.model)
        await self.world.desk.recover()
        self.rules.taken_up(self.gathers, self.now)

    async def hear(self) -> None:
        await self.wait(PAUSE)
        await self.answer()

    async def answer(self) -> None:
        """Let the answer through on which the first turn waits."""
        if not self.rules.turns or not self.rules.turns[0].begins(self.now):
            return
        turn, request = self.rules.turns[0], self.model.requests[-1]
        assert said(request)[-len(turn.texts) :] == turn.texts
        assert self.rules.gone.isdisjoint(said(request))
        assert self.let is not None
        if self.script(request).calls:
            turn.acted = True
            self.let.set()
        else:
            self.let.set()
            await breathe()
            self.rules.turns.pop(0)
            self.replies += 1

    # What holds

    def look(self) -> None:
        sent = [one for one in self.world.sent() if one.text == ANSWER]
        assert len(sent) == self.replies
        waiting = [turn for turn in self.rules.turns if turn.texts]
        stored = {event.payload["text"] for event in self.world.desk._inbox.open()}
        newest = {dict(turn.said)[number] for turn in waiting for number, _ in turn.said}
        assert stored == newest

    def check(self) -> None:
        assert self.world.desk._inbox.open() == []
        assert open_turns(self.world.log) == []
        assert all(map(well_formed, self.model.requests))
        for wire, again in made_anew(self.world):
            assert wire == again
        rows = "SELECT event, state, turn FROM inbox ORDER BY event"
        kept = [tuple(row) for row in self.world.database.rows(rows)]
        with self.world.database.transaction():
            self.world.database.execute("DELETE FROM inbox")
            for event in self.world.log.replay():
                inbox.project(self.world.database, event)
        assert [tuple(row) for row in self.world.database.rows(rows)] == kept
        started = {event.payload["call"] for event in self.world.events(Kind.TOOL_STARTED)}
        assert started <= {event.payload["call"] for event in self.world.events(Kind.TOOL_FINISHED)}
        assert {event.place.space for event in self.world.events(Kind.MESSAGE_RECEIVED)} <= {CHAT}


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(COURSES)
def test_each_message_has_one_outcome(course: list[Any]) -> None:
    note(repr(course))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_run(Path(folder), course))


async def _run(folder: Path, course: list[Any]) -> None:
    await Course(folder).run(course)
