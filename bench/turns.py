"""What a plain turn costs: bytes, calls of the model, CPU, waiting; in a short session and in a very long one.

A plain turn is one message of the owner and one answer, without tools, in an instance with 100 beliefs: more than a
request holds, so that each message is embedded and searched for. A session's request breathes: it grows until its older
part is compressed. So a figure "at turn N" is the mean over the 40 turns around it, one such breath; but how much of a
request's prefix is kept is told of that turn alone.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from bench.instance import Asked, Instance, Model, beliefs, instance, mean, quantile, scripted_model, sentence
from bench.measuring import RESULTS
from bench.plot import Panel, chart
from bench.table import Row

LEFT_OUT = ("CPU at turn 1000 / turn 20", "request bytes at turn 1000 / turn 50")

_SHORT = 30
"""Turns of a short session."""
_MANY = 100
"""Beliefs of which a request holds a part, chosen for its message."""
_FEW = 12
"""Beliefs that a request holds as a whole."""
_BREATH = 40
_MODEL_SECONDS = 0.05
_CPU_PEERS = "AstrBot 70, nanobot 75, LangBot 236, hermes 248, OpenClaw 263"


def rows(*, short: bool) -> list[Row]:
    return [*_hello(), *_plain(), *_waiting(), *_long(120 if short else 1000)]


def _hello() -> list[Row]:
    """An instance that knows nothing yet."""
    sizes = {}
    for language, words in (("zh", "你好"), ("en", "hello")):
        with tempfile.TemporaryDirectory() as name, scripted_model() as model:
            asyncio.run(_talk(Path(name), model, [words], LANGUAGE=language))
            sizes[language] = model.turns()[0].frame
    peers = "nanobot 29,848, hermes 57,052, AstrBot 9,658, OpenClaw 59,175"
    return [
        Row(f"request for hello, system + tools, {name}", size, "B", 6000, peers=peers) for name, size in sizes.items()
    ]


async def _talk(folder: Path, model: Model, sentences: Sequence[str], **environ: str) -> list[float]:
    async with instance(folder / "home", model, **environ) as one:
        return [await one.turn(words) for words in sentences]


def _plain() -> list[Row]:
    asked, costs = _requests(beliefs(_MANY))
    few, cheaper = _requests(beliefs(_FEW))
    none, _ = _requests([])
    return [
        Row("CPU per plain turn, short session", mean(costs[1:]), "ms", 15, peers=_CPU_PEERS),
        Row(f"CPU per plain turn, {_FEW} beliefs", mean(cheaper[1:]), "ms", 15),
        Row("model calls per plain turn", len(asked) / len(costs), "", 1, peers="1 to 1.1"),
        *_prefix("nothing known", none),
        *_prefix(f"{_FEW} beliefs", few),
        *_prefix(f"{_MANY} beliefs", asked),
    ]


def _prefix(known: str, asked: Sequence[Asked]) -> list[Row]:
    """The mean over a short session, and how it grows with the session."""
    shares = kept(asked)
    name = f"prefix kept from request to request, {known}"
    return [
        Row(f"{name}, {_SHORT} turns", mean(shares), "", 0.9, "higher"),
        *(Row(f"{name}, at turn {turn}", shares[turn - 1]) for turn in (3, 10, _SHORT)),
    ]


def _requests(known: Sequence[str]) -> tuple[list[Asked], list[float]]:
    """The requests of a short session, and the CPU milliseconds of its turns."""
    with tempfile.TemporaryDirectory() as name, scripted_model() as model:
        costs = asyncio.run(_session(Path(name), model, _SHORT + 1, known))
        return model.turns(), costs


async def _session(folder: Path, model: Model, turns: int, known: Sequence[str]) -> list[float]:
    """The CPU milliseconds of each turn; in the first one all that is loaded when it is needed is loaded."""
    async with instance(folder / "home", model) as one:
        await one.remember(known)
        await one.embed()
        return [await one.turn(sentence(number)) for number in range(turns)]


def kept(asked: Sequence[Asked]) -> list[float]:
    """Which share of each request's tools and messages is, byte for byte, the beginning of the next one."""
    contents = [one.content for one in asked]
    return [_common(before, after) / len(before) for before, after in pairwise(contents)]


def _common(one: bytes, other: bytes) -> int:
    """How many bytes they have in common from their beginning."""
    differing = (place for place, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs)
    return next(differing, min(len(one), len(other)))


def _waiting() -> list[Row]:
    with tempfile.TemporaryDirectory() as name, scripted_model(seconds=_MODEL_SECONDS) as model:
        waits = asyncio.run(_waits(Path(name), model))
    name = "overhead of a plain turn above the model's own time, p50"
    return [Row(name, quantile(waits, 0.5), "ms", 20, peers="AstrBot 69, nanobot 79, hermes 223")]


async def _waits(folder: Path, model: Model) -> list[float]:
    async with instance(folder / "home", model) as one:
        await one.remember(beliefs(_MANY))
        await one.embed()
        return [await _wait(one, sentence(number)) for number in range(_SHORT + 1)][1:]


async def _wait(one: Instance, words: str) -> float:
    """Milliseconds from the message to the end of its answer, without those that the model slept."""
    began = time.monotonic()
    await one.say(words)
    waited = time.monotonic() - began
    await one.app.idle()
    return (waited - _MODEL_SECONDS) * 1000


def _long(turn: int) -> list[Row]:
    """A session until `turn`, and half a breath beyond."""
    with tempfile.TemporaryDirectory() as name, scripted_model() as model:
        costs = asyncio.run(_session(Path(name), model, turn + _BREATH // 2, beliefs(_MANY)))
        asked, beside = model.turns(), len(model.requests()) - len(costs)
    sizes = [len(one.raw) for one in asked]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"turn-{turn}.svg").write_text(_course(costs, sizes), "utf-8")
    early, late = mean(costs[10:30]), _around(costs, turn)
    growth = _around(sizes, turn) / _around(sizes, 50)
    return [
        Row(f"CPU at turn {turn} / turn 20", late / early, "", 1.3, peers="nanobot 4.3 at 724, AstrBot 10 at 377"),
        Row(f"CPU at turn {turn}", late, "ms", peers="nanobot 320 at 724, AstrBot 730 at 377"),
        Row(f"request bytes at turn {turn} / turn 50", growth, "", 1.3, peers="grow without end"),
        Row(f"model calls beside the turns, per turn, until {turn}", beside / len(costs)),
    ]


def _course(costs: Sequence[float], sizes: Sequence[int]) -> str:
    """Both over the whole session; the first turn, in which much is loaded, is left out."""
    cpu = Panel("CPU per turn, ms", costs[1:], _BREATH)
    return chart([cpu, Panel("bytes of the request, kB", [size / 1000 for size in sizes[1:]], _BREATH)])


def _around(values: Sequence[float], turn: int) -> float:
    return mean(values[turn - _BREATH // 2 : turn + _BREATH // 2])
