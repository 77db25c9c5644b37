"""What a newcomer with no key sees first: how well the embedded model does what it is there for, and how fast.

The cases stand in `embedded_cases.json` and are also run as tests where the weights are cached.
`python -m bench.embedded_cases` prints each answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bench.table import Row, Skipped
from qingtuan.clock import ManualClock, SystemClock
from qingtuan.dates import WEEKDAYS
from qingtuan.language import Language
from qingtuan.models.chat import Answer, Call, ChatMessage, Params, Request, ToolSpec, WireRequest
from qingtuan.models.embedded.model import EmbeddedModel
from qingtuan.models.embedded.process import EngineProcess, engine_command
from qingtuan.models.embedded.weights import best_cached, engine_installed, free_memory, models_folder

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 12, 1, 9, 30, tzinfo=SHANGHAI)
"""A Tuesday."""
_ROUNDS = 4
_SHORT = 12
"""Cases of a quick look."""
_BOOLEANS = {"quiet", "window"}
_INTEGERS = {"days", "limit", "hours"}
_ACT = "seats__reserve_seat"
"""Where a turn stops for a confirmation."""


def _tool(name: str, description: str, required: str, optional: str = "") -> ToolSpec:
    names = [*required.split(), *optional.split()]
    types = {name: "boolean" if name in _BOOLEANS else "integer" if name in _INTEGERS else "string" for name in names}
    properties = {name: {"type": kind} for name, kind in types.items()}
    schema = {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}
    return ToolSpec(name, description, schema)


TOOLS = (
    _tool("remember", "记住关于说话人的事", "content", "topic subject predicate value kind since until"),
    _tool("memory_search", "在长期记忆里找当前有效的内容", "query", "limit as_of"),
    _tool("memory_recall", "找回以前的对话片段", "", "query hours contact limit"),
    _tool("capability_search", "在能力库里找工具", "query", "limit"),
    _tool("reminder_create", "建一个提醒", "text", "at rrule"),
    _tool("reminder_list", "列出提醒", ""),
    _tool("todo_add", "加一条待办", "text"),
    _tool("weather", "查天气预报", "", "place days"),
    _tool("calculate", "算一个算式", "expression"),
    _tool("web_search", "在网上搜索", "query", "limit"),
    _tool("seats__find_seats", "Find free seats in the library on a day.", "date start end", "area quiet window"),
    _tool(_ACT, "Reserve a library seat.", "seat_id date start end"),
    _tool("seats__list_reservations", "List the reservations in the library.", ""),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One message and what should come of it. In the texts `|` stands between alternatives."""

    words: str
    calls: str = ""
    """Names of the tools to be called, in order; one that ends in `?` may be left out."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """What arguments of the last call must contain."""
    reply: str = ""
    """What the reply must contain."""
    never: str = ""
    """What neither reply nor arguments may contain."""
    memory: tuple[str, ...] = ()
    history: tuple[tuple[str, str], ...] = ()
    """Earlier messages and their replies."""
    results: Mapping[str, str] = field(default_factory=dict)
    """What tools answer, where it differs from the usual."""


_STORED = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
CASES = tuple(Case(**case) for case in _STORED["cases"])
RESULTS: Mapping[str, str] = _STORED["results"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a case came to."""

    case: Case
    calls: tuple[Call, ...]
    reply: str
    seconds: tuple[float, ...]
    """Of each request."""
    faults: tuple[str, ...]
    """Why answers were asked for again."""

    @property
    def problem(self) -> str | None:
        """What is wrong, or None."""
        if trouble := _calls_wrong(self.case.calls, [call.name for call in self.calls]):
            return trouble
        arguments: dict[str, Any] = json.loads(self.calls[-1].arguments) if self.calls else {}
        for name, wanted in self.case.arguments.items():
            if not _has(str(arguments.get(name)), wanted):
                return f"{name} is {arguments.get(name)!r}"
        if self.case.reply and not _has(self.reply, self.case.reply):
            return f"replied {self.reply!r}"
        told = self.reply + "".join(call.arguments for call in self.calls)
        return f"said {told!r}" if self.case.never and _has(told, self.case.never) else None


def _calls_wrong(wanted: str, made: Sequence[str]) -> str | None:
    left = list(made)
    for step in wanted.split():
        if left and left[0] in step.removesuffix("?").split("|"):
            left.pop(0)
        elif not step.endswith("?"):
            return f"called {', '.join(made) or 'nothing'}"
    return f"called {', '.join(left)} too" if left else None


def _has(text: str, wanted: str) -> bool:
    return any(part.lower() in text.lower() for part in wanted.split("|"))


class Faults:
    """A recorder that keeps why answers were asked for again."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def requested(self, wire: WireRequest, model: str) -> None:
        """Nothing to note."""

    def failed(self, model: str, reason: str, *, again: bool) -> None:  # noqa: ARG002 (a port)
        self.reasons.append(reason)


def request_of(case: Case, current: Sequence[ChatMessage] = ()) -> Request:
    """The request in the layers of the prompt builder, its long rules included."""
    english = case.words.isascii()
    layers = [
        ChatMessage("system", "长长的规则。" * 100),
        ChatMessage("system", "[角色卡：只管说话的样子]\n说话短、实在。"),
    ]
    history = [
        message
        for said, answered in case.history
        for message in (ChatMessage("user", said), ChatMessage("assistant", answered))
    ]
    tail = [ChatMessage("system", _speaker(english=english))]
    if case.memory:
        entries = "\n".join(f"- {entry}" for entry in case.memory)
        tail.append(
            ChatMessage(
                "system", f"[关于用户的长期记忆（系统注入，用户看不到这段）]\n{entries}\n[记忆结束，以下是用户消息]"
            )
        )
    messages = (*layers, *history, *tail, ChatMessage("user", case.words), *current)
    return Request(messages, TOOLS, Params("embedded"))


def _speaker(*, english: bool) -> str:
    words = ("today", "tomorrow", "the day after") if english else ("今天", "明天", "后天")
    days = [NOW + timedelta(days=offset) for offset in range(3)]
    language: Language = "en" if english else "zh"
    named = [
        f"{word} {day:%m-%d} {WEEKDAYS[day.weekday()].say(language)}" for word, day in zip(words, days, strict=True)
    ]
    if english:
        return f"[Now: {NOW:%Y-%m-%d %H:%M} (Asia/Shanghai). {', '.join(named)}]\n[Speaker: the owner, private chat]"
    return f"[现在：{NOW:%Y-%m-%d %H:%M}（Asia/Shanghai）。{'，'.join(named)}]\n[说话人：主人，私聊。由系统按账号判定]"


async def run_case(model: EmbeddedModel, case: Case) -> Outcome:
    """The turn of one case, with made-up results for its calls."""
    clock, recorder = SystemClock(), Faults()
    current: list[ChatMessage] = []
    calls: list[Call] = []
    seconds: list[float] = []
    reply = ""
    for _ in range(_ROUNDS):
        began = clock.monotonic()
        answer = [event async for event in model.stream(request_of(case, current), recorder)][-1]
        seconds.append(clock.monotonic() - began)
        assert isinstance(answer, Answer)
        calls += answer.calls
        reply = answer.text
        if not answer.calls or answer.calls[0].name == _ACT:
            break
        call = answer.calls[0]
        result = _filled({**RESULTS, **case.results}[call.name], json.loads(call.arguments))
        current += [ChatMessage("assistant", "", calls=(call,)), ChatMessage("tool", result, call_id=call.id)]
    return Outcome(case, tuple(calls), reply, tuple(seconds), tuple(recorder.reasons))


def _filled(text: str, arguments: Mapping[str, Any]) -> str:
    """A made-up result with the call's own arguments in it."""
    for name, value in arguments.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


@asynccontextmanager
async def opened(threads: int | None = None) -> AsyncIterator[tuple[EmbeddedModel, EngineProcess]]:
    """The model on the weights that are cached; its days are counted from `NOW`. Stopped in the end.

    Raises:
        Skipped: no weights are cached, or the engine is not installed.
    """
    found = best_cached(models_folder(os.environ), free_memory())
    if found is None or not engine_installed():
        raise Skipped("the embedded language model is not cached: run `qingtuan model pull`")
    weights, path = found
    engine = EngineProcess(engine_command(path, threads), SystemClock())
    model = EmbeddedModel(engine, weights.name, ManualClock(NOW), SHANGHAI)
    try:
        yield model, engine
    finally:
        await model.close()


def resident(process: int) -> float:
    """Megabytes of memory that a process holds."""
    status = Path(f"/proc/{process}/status").read_text("ascii")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS:"))


def rows(*, short: bool = False) -> list[Row]:
    """Quality, time and memory of the embedded model on this machine."""
    return asyncio.run(_rows(CASES[:_SHORT] if short else CASES))


async def _rows(cases: Sequence[Case]) -> list[Row]:
    clock = SystemClock()
    async with opened() as (model, engine):
        began = clock.monotonic()
        await engine.start()
        loaded = clock.monotonic()
        outcomes = [await run_case(model, case) for case in cases]
        held = resident(engine.pid or os.getpid())
    first, *later = [seconds for outcome in outcomes for seconds in outcome.seconds]
    right = sum(outcome.problem is None for outcome in outcomes)
    return [
        Row("embedded model: cases right", 100 * right / len(outcomes), "%", 90, "higher"),
        Row("embedded model: loading", loaded - began, "s"),
        Row("embedded model: first request", first, "s"),
        Row("embedded model: later requests, median", statistics.median(later), "s"),
        Row("embedded model: answers asked for again", sum(len(outcome.faults) for outcome in outcomes)),
        Row("embedded model: resident", held, "MB"),
    ]


async def _tell() -> None:
    async with opened() as (model, _):
        outcomes = []
        for case in CASES:
            outcome = await run_case(model, case)
            outcomes.append(outcome)
            calls = " ".join(f"{call.name}{call.arguments}" for call in outcome.calls)
            times = " ".join(f"{seconds:.1f}s" for seconds in outcome.seconds)
            mark = "ok " if outcome.problem is None else "BAD"
            print(
                mark,
                case.words,
                "→",
                calls,
                outcome.reply,
                f"({times})",
                *outcome.faults,
                outcome.problem or "",
                flush=True,
            )
        print(sum(outcome.problem is None for outcome in outcomes), "of", len(outcomes))


if __name__ == "__main__":
    asyncio.run(_tell())
