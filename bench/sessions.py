"""Twenty sessions at once, each with five messages said in one go: how many turns a second, and in which order.

A wall time: it means something on a quiet machine only. The CPU of a turn stands beside it.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from bench.instance import Instance, Model, beliefs, cpu, instance, scripted_model, sentence
from bench.table import Row
from qingtuan.events.kinds import Kind

_SESSIONS = 20
_AT_ONCE = 5


def rows(*, short: bool) -> list[Row]:
    rounds = 1 if short else 4
    with tempfile.TemporaryDirectory() as name, scripted_model() as model:
        seconds, used, disordered = asyncio.run(_measured(Path(name), model, rounds))
    turns = _SESSIONS * _AT_ONCE * rounds
    peers = "AstrBot 20.3, nanobot 14.8, hermes 8.1 at 10, refuses 20"
    return [
        Row("20 sessions at once", turns / seconds, "turns/s", 60, "higher", peers),
        Row("20 sessions at once, CPU per turn", used / turns * 1000, "ms"),
        Row("20 sessions at once, answered out of order", disordered, "", 0),
    ]


async def _measured(folder: Path, model: Model, rounds: int) -> tuple[float, float, int]:
    """Seconds, seconds of CPU, and how many turns were not in the order of their messages. None was refused: `say`
    would have complained."""
    async with instance(folder / "home", model) as one:
        await one.remember(beliefs())
        await one.say("你好")
        await one.app.idle()
        began, used = time.monotonic(), cpu()
        await asyncio.gather(*(_talk(one, number, rounds) for number in range(_SESSIONS)))
        await one.app.idle()
        return time.monotonic() - began, cpu() - used, _disordered(one)


async def _talk(one: Instance, session: int, rounds: int) -> None:
    for turn in range(rounds):
        first = (session * rounds + turn) * _AT_ONCE
        await asyncio.gather(*(one.say(sentence(first + at), f"名{session}") for at in range(_AT_ONCE)))


def _disordered(one: Instance) -> int:
    """Turns that began before the one in front of them had ended, or before an earlier message."""
    log = one.app.kit.record.log
    messages = {event.id: event.seq for event in log.of_kind(Kind.MESSAGE_RECEIVED, limit=100_000)}
    wrong, newest, running = 0, dict[str, int](), dict[str, str]()
    for event in log.of_kind(Kind.TURN_STARTED, Kind.TURN_FINISHED, limit=100_000):
        session, turn = event.place.session or "", event.place.turn or ""
        if event.kind is Kind.TURN_FINISHED:
            running.pop(session, None)
            continue
        at = messages[event.payload["messages"][0]]
        wrong += session in running or at < newest.get(session, 0)
        newest[session], running[session] = at, turn
    return wrong
