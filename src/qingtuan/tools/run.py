"""Running a call: checked before, bounded while it runs, honest after.

`prepare` decides without doing anything; `Runner.execute` does. A call that must wait is prepared as `stopped`,
and the loop asks (architecture.md). Whatever a tool raises becomes text: an error is information.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Literal

from qingtuan.clock import Clock
from qingtuan.errors import ForModel, ForOwner, ForPerson, OutcomeUnknown, Stopped, ToolFailed, ToolTimedOut
from qingtuan.identity.scopes import Reader
from qingtuan.identity.trust import CallFacts, Piece, Risk, StandingYes, Verdict, verdict
from qingtuan.language import Language, Words
from qingtuan.messages import Origin
from qingtuan.models.chat import Call
from qingtuan.storage.files import content_hash
from qingtuan.tools.patience import Allowance
from qingtuan.tools.registry import Registry
from qingtuan.tools.schema import check_arguments
from qingtuan.tools.shown import shown
from qingtuan.tools.tool import Tool, ToolContext, ToolResult, wire_name

GRACE = 1.0
"""Seconds that a cancelled call has to tidy up before it is left to itself."""
MAX_FAILURES = 3
"""The same failing call so often running ends the loop (turn.md, Tools)."""

Status = Literal["ok", "failed", "refused", "unknown", "waiting"]
"""`failed`: it ran and was not done. `refused`: it did not run. `unknown`: it was cut off and may have had its
effect. `waiting`: it did not run yet, a person is asked."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What the verdict on a call depends on besides the call: who speaks, and what stands in the request."""

    reader: Reader
    now: datetime
    language: Language
    words: str = ""
    """The speaker's own message of this turn."""
    material: tuple[Piece, ...] = ()
    resolved: frozenset[str] = frozenset()
    """What code made of the words, such as dates."""
    results: tuple[str, ...] = ()
    """Texts of this turn's results."""
    others: tuple[str, ...] = ()
    """Data of other persons in the request."""
    standing: tuple[StandingYes, ...] = ()
    can_ask: bool = True
    """False in a scheduled run with no chat."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that exists, is permitted and has right arguments."""

    call: Call
    tool: Tool
    arguments: Mapping[str, Any]
    verdict: Verdict

    @property
    def stopped(self) -> bool:
        """Whether somebody must say yes before it runs."""
        return self.verdict.decision == "ask"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call."""

    status: Status
    call: Call
    text: str
    """Whole: for the event."""
    shown: str
    """Bounded and labelled: for the prompt."""
    origin: Origin = Origin.SYSTEM
    result: ToolResult | None = None
    seconds: float = 0.0
    detail: str = ""
    """For the owner's trace only."""

    def payload(self) -> dict[str, Any]:
        """The payload of `tool.finished`; the event's origin is `origin`. `text` stands there only if it differs
        from what is shown."""
        payload: dict[str, Any] = {
            "call": self.call.id,
            "name": self.call.name,
            "attempt": attempt(self.call),
            "status": self.status,
            "shown": self.shown,
            "seconds": round(self.seconds, 3),
        }
        if self.text != self.shown:
            payload["text"] = self.text
        if self.result is not None and self.result.data is not None:
            payload["data"] = self.result.data
        if self.result is not None and self.result.undo:
            payload["undo"] = True
        if self.result is not None and self.result.attachments:
            payload["attachments"] = [asdict(attached) for attached in self.result.attachments]
        if self.detail:
            payload["detail"] = self.detail
        return payload


# Before


def prepare(call: Call, registry: Registry, situation: Situation, *, approved: str | None = None) -> Prepared | Outcome:
    """Check a call: it exists, this person may use it, its arguments are right, and whether it may run.

    `approved` is the binding that a yes was given to (`Tool.binding`): the call runs if it still is that one.
    Pure.
    """
    origin = Origin.SYSTEM
    try:
        tool = registry.get(call.name, situation.reader)
        # A refusal says what is expected, in words of the schema; and it is not said that the request shows this tool.
        origin = Origin.TOOL if tool.foreign_words else origin
        arguments = check_arguments(call.arguments, tool.parameters)
    except ForModel as error:
        return refusal(call, error.words, situation.language, origin)
    facts = _facts(tool, arguments, registry, situation)
    if approved is None:
        decided = verdict(facts)
    elif tool.binding(arguments) != approved:
        return refusal(call, _CHANGED, situation.language)
    else:
        decided = verdict(replace(facts, can_ask=True))
        decided = replace(decided, decision="run") if decided.decision == "ask" else decided
    if decided.decision == "refuse":
        return refusal(call, decided.why or _REFUSED, situation.language)
    return Prepared(call, tool, arguments, decided)


def _facts(tool: Tool, arguments: Mapping[str, Any], registry: Registry, situation: Situation) -> CallFacts:
    granted = registry.granted(tool.name)
    asked_for = tool.asked_for is not None and tool.asked_for.search(situation.words) is not None
    # What other people said beside it was not forwarded by the speaker.
    asked_for = asked_for and all(piece.origin.foreign for piece in situation.material)
    return CallFacts(
        tool=tool.name,
        risk=tool.risk,
        arguments=arguments,
        role=situation.reader.role,
        sends_out=tool.sends_out,
        # Who may call an act may not therefore confirm it: that takes a setting.
        roles=granted if tool.risk.acts else tool.roles | granted,
        labels=frozenset(arguments) if asked_for else tool.exempt,
        material=situation.material,
        own_words=situation.words,
        resolved=situation.resolved,
        results=situation.results,
        others=situation.others,
        standing=situation.standing,
        now=situation.now,
        can_ask=situation.can_ask,
    )


def refusal(call: Call, words: Words, language: Language, origin: Origin = Origin.SYSTEM) -> Outcome:
    """The outcome of a call that does not run, and why. `origin` is that of the words."""
    text = words.say(language)
    return Outcome("refused", call, text, shown(text, origin, wire_name(call.name), language), origin)


def broken_ahead(call: Call, error: Exception, reader: Reader, language: Language) -> Outcome:
    """The outcome of a call that was looked at first (`Tool.before`), which broke. Nothing of it ran."""
    if isinstance(error, ForOwner):
        words = error.words if reader.is_owner_alone else _OWNER_MUST_ACT
        return replace(refusal(call, words, language), detail=str(error))
    # As for a call that runs: what is raised by mistake may hold anything.
    return replace(refusal(call, _BROKE_AHEAD, language), detail=repr(error))


def waiting(call: Call, language: Language) -> Outcome:
    """The outcome, for good, of a call about which somebody is asked: on a yes another call follows."""
    text = _WAITING.say(language)
    return Outcome("waiting", call, text, text)


def batches(calls: Sequence[Prepared]) -> list[list[Prepared]]:
    """Calls in groups that run side by side: reads that follow each other; everything else alone, in order."""
    groups: list[list[Prepared]] = []
    for prepared in calls:
        reads = prepared.tool.risk is Risk.READ
        if groups and reads and groups[-1][-1].tool.risk is Risk.READ:
            groups[-1].append(prepared)
        else:
            groups.append([prepared])
    return groups


# Running


class Runner:
    """Runs prepared calls, each within its tool's limits of time and number."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._room: dict[str, asyncio.Semaphore] = {}
        self._left: set[asyncio.Task[ToolResult]] = set()
        """Calls that do not end though they were cancelled; held so that they end in peace."""

    async def execute(self, prepared: Prepared, context: ToolContext) -> Outcome:
        """Run a call and give its outcome, whatever happens in the tool.

        Raises:
            CancelledError: the turn was stopped; the call was told so and has no outcome.
            Stopped: the tool says that the person stopped the turn.
            ValueError: the call waits for a yes.
        """
        if prepared.verdict.decision != "run":
            raise ValueError(f"{prepared.tool.name} waits for a yes")
        tool = prepared.tool
        room = self._room.setdefault(tool.name, asyncio.Semaphore(tool.concurrency))
        async with room:
            began = self._clock.monotonic()
            allowance = Allowance(tool.timeout)
            context = replace(context, asking=allowance.standing_still)
            task = asyncio.ensure_future(_run(tool, context, dict(prepared.arguments)))
            in_time = await self._finish(task, allowance)
            seconds = self._clock.monotonic() - began
        outcome = _outcome(prepared, task, context) if in_time else _cut_off(prepared, context)
        return replace(outcome, seconds=seconds)

    async def _finish(self, task: asyncio.Task[ToolResult], allowance: Allowance) -> bool:
        """Wait for the call; False if it had to be cancelled. Being cancelled ourselves cancels it, too."""
        over = asyncio.ensure_future(allowance.over())
        try:
            await asyncio.wait((task, over), return_when=asyncio.FIRST_COMPLETED)
            return task.done()
        finally:
            over.cancel()
            if not task.done():
                task.cancel()
                await asyncio.wait([task], timeout=GRACE)
            if not task.done():
                self._left.add(task)
                task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[ToolResult]) -> None:
        self._left.discard(task)
        if not task.cancelled():
            task.exception()


async def _run(tool: Tool, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
    return await tool.run(context, arguments)


def _outcome(prepared: Prepared, task: asyncio.Task[ToolResult], context: ToolContext) -> Outcome:
    if task.cancelled():
        return _broken(prepared, context, detail="the tool cancelled itself")
    error = task.exception()
    if error is None:
        return _success(prepared, task.result(), context)
    if isinstance(error, Stopped):
        raise error
    if isinstance(error, OutcomeUnknown):
        return _no_result(prepared, error.words, context, detail=error.detail)
    if isinstance(error, (ForModel, ForPerson)):
        given = Origin.TOOL if isinstance(error, ToolFailed) and error.foreign else None
        return _failure(prepared, error.say(context.language), context, detail=error.detail, given=given)
    if isinstance(error, ForOwner):
        words = error.words if context.reader.is_owner_alone else _OWNER_MUST_ACT
        return _failure(prepared, words.say(context.language), context, detail=str(error))
    # A tool is a plug-in: what it raises by mistake is told by kind alone, since its words may hold anything.
    return _broken(prepared, context, detail=repr(error))


def _success(prepared: Prepared, result: ToolResult, context: ToolContext) -> Outcome:
    origin = _origin(prepared.tool, result.origin)
    text = _whole(result.text) or _NOTHING.say(context.language)
    label = shown(text, origin, wire_name(prepared.tool.name), context.language)
    if (fault := _fault_of(result.data)) is not None:
        # What it did is done, and its text says so: only what no event can hold is left out.
        return Outcome("ok", prepared.call, text, label, origin, replace(result, data=None), detail=fault)
    return Outcome("ok", prepared.call, text, label, origin, result)


def _fault_of(data: Any) -> str | None:
    """Why this is no JSON, or None if it is."""
    try:
        json.dumps(data, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return f"its data is no JSON: {error}"
    return None


def _failure(
    prepared: Prepared, text: str, context: ToolContext, *, detail: str, given: Origin | None = None
) -> Outcome:
    # What a foreign tool gives as its reason is material, too.
    origin = _origin(prepared.tool, given)
    text = _whole(text)
    label = shown(text, origin, wire_name(prepared.tool.name), context.language)
    return Outcome("failed", prepared.call, text, label, origin, detail=detail)


def _cut_off(prepared: Prepared, context: ToolContext) -> Outcome:
    limit = prepared.tool.timeout
    words = Words(f"超过 {limit:g} 秒没有结果，已停止。", f"No result within {limit:g} s; it was stopped.")
    return _no_result(prepared, words, context, detail=repr(ToolTimedOut(words)))


def _broken(prepared: Prepared, context: ToolContext, *, detail: str) -> Outcome:
    return _no_result(prepared, _BROKE, context, detail=detail)


def _no_result(prepared: Prepared, words: Words, context: ToolContext, *, detail: str) -> Outcome:
    """A call that ended without saying what it did: only of a read is that nothing."""
    text, harmless = words.say(context.language), prepared.tool.risk is Risk.READ
    if not harmless:
        text += _MAY_BE_DONE.say(context.language)
    return Outcome("failed" if harmless else "unknown", prepared.call, text, text, detail=detail)


def _origin(tool: Tool, given: Origin | None) -> Origin:
    if tool.returns == "own":
        return given or Origin.SYSTEM
    return given if given is not None and given.foreign else Origin.TOOL


def _whole(text: str) -> str:
    """`text` without halves of characters, which no database and no request can carry."""
    return text.encode("utf-8", "replace").decode()


# After


def attempt(call: Call) -> str:
    """What makes two calls the same one: name and arguments."""
    return content_hash(f"{call.name}\n{call.arguments}".encode("utf-8", "replace"))[:16]


def stuck(finished: Iterable[Mapping[str, Any]]) -> str | None:
    """The name of a call that failed three times running, if there is one: the loop must end, honestly.

    `finished` are the payloads of a turn's `tool.finished`, in order. Other calls in between do not count
    for or against it. Pure.
    """
    failures: dict[str, int] = {}
    for payload in finished:
        key = payload["attempt"]
        failures[key] = failures.get(key, 0) + 1 if payload["status"] in ("failed", "refused", "unknown") else 0
        if failures[key] >= MAX_FAILURES:
            return wire_name(str(payload["name"]))
    return None


STUCK = Words(
    "{name} 同样的调用连着失败了三次，我先停下。",
    "The same call of {name} failed three times in a row, so I have stopped.",
)
"""The honest sentence that ends a turn that is stuck."""
_WAITING = Words(
    "还没有执行：系统正在问对方，等确认。告诉对方你要做什么，不要再调一次。",
    "Not run yet: the system is asking the person and waits for an answer. Do not call it again.",
)
_REFUSED = Words("这里不能做这件事。", "This cannot be done here.")
_CHANGED = Words(
    "没有执行：对方答应之后，这个工具或参数变了，要重新问。",
    "Not run: the tool or its arguments changed after the yes; it must be asked again.",
)
_BROKE = Words("工具内部出错，没有得到结果。", "The tool broke and gave no result.")
_BROKE_AHEAD = Words("没有执行：先试了试，工具内部出错了。", "Not run: it was tried first, and the tool broke.")
_MAY_BE_DONE = Words(
    "不知道做成没有：不要重做，照实告诉对方，能查就先查。",
    " It may or may not have been done: do not repeat it, say so, and look it up first if you can.",
)
_OWNER_MUST_ACT = Words("这个功能现在用不了，要主人来处理。", "This does not work now; the owner has to see to it.")
_NOTHING = Words("（没有内容）", "(nothing)")
