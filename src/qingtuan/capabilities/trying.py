"""Trying a definition in the sandbox before it is stored: it compiles, and its cases come out as they should."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from qingtuan.capabilities.covering import Headers, without_keys
from qingtuan.capabilities.definition import ABSENT, Case, Definition, Fault
from qingtuan.capabilities.sandbox import base
from qingtuan.capabilities.sandbox.base import Fetch, Job, Limits, Ran, Sandbox
from qingtuan.capabilities.sandbox.runtime import RUNTIME
from qingtuan.errors import ToolFailed
from qingtuan.language import Words
from qingtuan.tools.strict_json import brief

_TOLD = 5
"""Cases that failed and are told: the others fail for the same reason most of the time."""
_SHOWN = 400
_AT_ONCE = 4


async def compile_faults(sandbox: Sandbox, code: str) -> list[Fault]:
    """What keeps the code from being used; and with the last of it, what there is to be used.

    Raises:
        ToolFailed: there is nothing here to run code, or it cannot be started.
    """
    found = [_compile_fault(fault) for fault in await sandbox.check(code)]
    if not found:
        return []
    *others, last = found
    zh, en = f"{last.words.zh}\n沙箱里可以用的：{RUNTIME.zh}", f"{last.words.en}\nWhat code can use: {RUNTIME.en}"
    return [*others, replace(last, words=Words(zh, en))]


async def case_faults(
    sandbox: Sandbox, definition: Definition, limits: Limits, *, headers: Headers | None = None, reaching: bool
) -> tuple[list[Fault], list[Fetch]]:
    """What comes out otherwise than it should, in the order of the cases; and where they reached out to.

    Without `reaching` no host can be asked: before the owner's yes nothing may leave. A case that tries to, then says
    nothing either way.
    """
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(case: Case) -> Ran:
        async with room:
            hosts = definition.hosts if reaching else ()
            job = Job(definition.code, case.arguments, hosts, headers or {}, limits)
            return without_keys(await sandbox.run(job), headers or {})

    runs = await asyncio.gather(*map(one, definition.cases))
    found = list(_judged(definition.cases, runs, reaching=reaching))
    if (more := len(found) - _TOLD) > 0:
        found = [*found[:_TOLD], Fault("cases", Words(f"还有 {more} 个没通过", f"{more} more did not pass"))]
    return found, [fetch for ran in runs for fetch in ran.fetched] if reaching else []


def _judged(cases: Sequence[Case], runs: Sequence[Ran], *, reaching: bool) -> Iterator[Fault]:
    for number, (case, ran) in enumerate(zip(cases, runs, strict=True)):
        if ran.fetched and not reaching:
            continue
        field = f"cases[{number}]"
        if ran.fault is not None:
            yield _case_fault(field, ran.fault, ran)
        elif case.expected is not ABSENT and not alike(case.expected, ran.value):
            expected, got = brief(case.expected, _SHOWN), brief(ran.value, _SHOWN)
            yield Fault(field, Words(f"应该得到 {expected}，得到的是 {got}", f"expected {expected}, got {got}"))


def alike(expected: Any, got: Any) -> bool:
    """Whether two JSON values are the same. Numbers are alike that differ by what floating point costs."""
    if isinstance(expected, bool) or isinstance(got, bool):
        return expected is got
    if isinstance(expected, (int, float)) and isinstance(got, (int, float)):
        return expected == got or math.isclose(expected, got, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        return expected.keys() == got.keys() and all(alike(value, got[key]) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(alike, expected, got))
    return type(expected) is type(got) and bool(expected == got)


def _compile_fault(fault: base.Fault) -> Fault:
    if fault.before_code:
        raise ToolFailed(unrun(fault), detail=fault.message)
    shown = fault.message[:_SHOWN]
    return Fault("code", Words(f"编译不过：{shown}", f"does not compile: {shown}"), fault.line, fault.column)


def _case_fault(field: str, fault: base.Fault, ran: Ran) -> Fault:
    if fault.before_code:
        raise ToolFailed(unrun(fault), detail=fault.message)
    refused = "; ".join(f"{fetch.method} {fetch.url}: {fetch.refused}" for fetch in ran.fetched if fetch.refused)
    message = f"{fault.message} ({refused})" if refused else fault.message
    at = f"（代码第 {fault.line} 行）" if fault.line else ""
    at_en = f" (code line {fault.line})" if fault.line else ""
    shown = message[:_SHOWN]
    return Fault(field, Words(f"没有跑通{at}：{shown}", f"did not run{at_en}: {shown}"))


def unrun(fault: base.Fault | None) -> Words:
    """Why code did not even begin."""
    return _UNAVAILABLE if fault is not None and fault.kind == "unavailable" else _NO_ENGINE


_UNAVAILABLE = Words(
    "沙箱现在起不来，代码没有运行，不是代码的问题。过一会儿再试；一直这样，主人可以看 qingtuan doctor。",
    "The sandbox cannot be started now, so the code did not run; it is not the code's fault. Try again later; if it "
    "stays so, the owner can look at qingtuan doctor.",
)
_NO_ENGINE = Words(
    "这里没有沙箱，跑不了自己写的代码。主人可以装上：pip install 'qingtuan[sandbox]'",
    "There is no sandbox here, so self-made code cannot run. The owner can install it: pip install 'qingtuan[sandbox]'",
)
