"""A capability as a tool that a model can call, and what is made of a run."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from qingtuan.capabilities.covering import Headers, without_keys
from qingtuan.capabilities.ledger import Held
from qingtuan.capabilities.sandbox.base import Fetch, Ran
from qingtuan.capabilities.trying import unrun
from qingtuan.capabilities.values import Asking, Called
from qingtuan.errors import ToolFailed
from qingtuan.events.log import Place
from qingtuan.identity.accounts import OWNER
from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.tools.tool import EVERYONE, OWNER_ONLY, Tool, ToolContext, ToolResult

Call = Callable[[str, int | None, Mapping[str, Any], Asking], Awaitable[Called]]
"""Calls a capability of this name and version."""

SLACK = 20.0
"""Seconds that a call may wait for its turn in the sandbox, besides those that it may run."""
_MAX_MESSAGE = 600
_MAX_PRINTED = 1_000
_MAX_FETCHED = 20


@dataclass(frozen=True, slots=True)
class Calling:
    """Runs one version. Equal for equal versions, so that an unchanged tool is known as one."""

    name: str
    version: int
    call: Call

    async def __call__(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        place = Place(context.session, context.reader.space, context.turn, context.reader.person)
        done = await self.call(self.name, self.version, arguments, Asking(context.reader, place, context.call))
        value = done.value
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return ToolResult(text, value)


def as_tool(held: Held, call: Call, seconds: float = 10.0) -> Tool:
    """A capability as the model can call it. What it gives back is material, whatever it says."""
    made, version = held.definition, held.version
    described = made.description if not held.broken else f"{BROKEN.en} {made.description}"
    return Tool(
        name=held.name,
        description=described,
        parameters=made.strict,
        risk=Risk.READ,
        run=Calling(held.name, version.number, call),
        returns="foreign",
        # What came with the product and reaches nothing does no more than reckon, for whoever asks.
        roles=EVERYONE if version.how == "starter" and not made.hosts else OWNER_ONLY,
        core=False,
        # Words that somebody else chose, or that a model made from material, stay theirs.
        foreign_words=version.origin.foreign or version.author != OWNER,
        sends_out=bool(made.hosts),
        timeout=seconds + SLACK,
        examples=(*made.examples, *made.tags),
        version=version.hash,
    )


@dataclass(frozen=True, slots=True)
class Journal:
    """A run as it is written down: bounded, and without the keys that we added."""

    held: Held
    whole: Ran
    headers: Headers

    @property
    def ran(self) -> Ran:
        """The run with our keys covered wherever a host gave them back."""
        return without_keys(self.whole, self.headers)

    @property
    def payload(self) -> dict[str, Any]:
        """For `capability.called`."""
        ran = self.ran
        payload: dict[str, Any] = {
            "name": self.held.name,
            "version": self.held.version.number,
            "ok": ran.fault is None,
            "seconds": round(ran.seconds, 3),
            "fetched": [asdict(fetch) for fetch in ran.fetched[:_MAX_FETCHED]],
        }
        if ran.fault is not None:
            payload |= {"fault": ran.fault.kind, "message": ran.fault.message[:_MAX_MESSAGE]}
        return payload

    def place(self, asking: Asking) -> Place:
        """Where it belongs: it is the caller's, and goes with them."""
        place = asking.place
        return Place(place.session, place.space or asking.reader.space, place.turn, asking.reader.person)


def called(held: Held, ran: Ran, *, cold: bool) -> Called:
    """What a run gave.

    Raises:
        ToolFailed: it gave nothing; why, is what the code or the sandbox said.
    """
    if ran.fault is not None:
        raise ToolFailed(fault_words(ran), detail=ran.printed[:_MAX_PRINTED])
    return Called(ran.value, held.version.number, ran.seconds, cold, ran.fetched, ran.printed)


def fault_words(ran: Ran) -> Words:
    """Why a run gave nothing, with what helps to mend it."""
    fault = ran.fault
    if fault is None or fault.before_code:
        return unrun(fault)
    at = f" ({fault.line}:{fault.column or 1})" if fault.line else ""
    zh, en = (words.format(message=fault.message[:_MAX_MESSAGE], at=at) for words in _FAULTS[fault.kind])
    refused = [fetch for fetch in ran.fetched if fetch.refused][:3]
    if refused:
        told = "; ".join(f"{fetch.method} {fetch.url[:120]}: {fetch.refused}" for fetch in refused)
        zh, en = f"{zh}\n没能取到：{told}", f"{en}\nNot reached: {told}"
    if ran.printed.strip():
        printed = ran.printed.strip()[:_MAX_PRINTED]
        zh, en = f"{zh}\nconsole：{printed}", f"{en}\nconsole: {printed}"
    return Words(zh, en)


def told(fetched: Sequence[Fetch]) -> str:
    """Where code reached out to, for the trace."""
    return "; ".join(f"{one.method} {one.url}: {one.refused or one.status}" for one in fetched[:_MAX_FETCHED])


_FAULTS: Mapping[str, tuple[str, str]] = {
    "compile": ("代码编译不过{at}：{message}", "The code does not compile{at}: {message}"),
    "exception": ("代码出错{at}：{message}", "The code raised an error{at}: {message}"),
    "time": ("代码超过了时限，停掉了。{message}", "The code took too long and was stopped. {message}"),
    "memory": ("代码用的内存超过了上限，停掉了。{message}", "The code took too much memory and was stopped. {message}"),
    "output": ("结果太大，或者不是 JSON。{message}", "The result is too long, or no JSON. {message}"),
    "crash": ("代码没有给出结果就结束了。{message}", "The code ended without a result. {message}"),
}
BROKEN = Words("[坏了：连着失败了三次]", "[broken: its last three calls failed; capability_inspect says why]")
