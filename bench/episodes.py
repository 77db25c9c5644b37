"""Years of talk: 100,000 messages and replies of 40 people in 50 sessions, and what looking for some of it takes.

Vectors are noise, since a search takes as long over any. The answers are not judged here: `recalled` does that.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from bench.instance import cpu, paraphrases, quantile
from bench.noise import Noise
from bench.table import Row
from qingtuan.clock import ManualClock
from qingtuan.identity.scopes import Reader
from qingtuan.messages import Space
from tests.fakes.talks import OWNER, XIAOLI, Talks, talks

_PEOPLE, _GROUPS = 40, 10
_START = datetime(2024, 1, 1, 8, tzinfo=ZoneInfo("Asia/Shanghai"))
_ASKED = 30
"""Questions of each kind."""


def rows(*, short: bool) -> list[Row]:
    return asyncio.run(_measured(10_000 if short else 100_000))


async def _measured(episodes: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as name, talks(Path(name), ManualClock(_START), (), Noise()) as world:
        _talk(world, episodes // 2)
        began = cpu()
        await world.recollection.episodes.rebuild()
        built = (cpu() - began) / (episodes / 1000)
        while world.indexes.open("episodes").catch_up():
            pass
        size = sum(path.stat().st_size for path in (Path(name) / "index").rglob("*") if path.is_file())
        many = f"{episodes:,} episodes"
        readers = {
            "the owner, in private": world.reader(OWNER),
            "a member, in private": world.reader(XIAOLI),
            "in a group": world.reader(OWNER, _group(0)),
        }
        found = [Row(f"index of {many} built, lexical, per 1,000", built, "s CPU", 0.5), _size(many, size, episodes)]
        for who, reader in readers.items():
            found += await _asked(world, reader, f"{many}, {who}")
        return found


def _talk(world: Talks, pairs: int) -> None:
    """Everybody talks, in private and in groups."""
    chance = random.Random(1)
    lines = [line for line, _ in paraphrases()]
    for start in range(0, pairs, 1000):
        with world.log.transaction():
            for number in range(start, min(start + 1000, pairs)):
                account = f"qq:{1 + chance.randrange(_PEOPLE)}"
                space = _group(chance.randrange(_GROUPS)) if chance.random() < 0.4 else None
                said = f"{'，'.join(chance.sample(lines, 2))}（{number}）"
                world.says(account, said, space, reply=f"好的，{chance.choice(lines)}")


def _group(number: int) -> Space:
    return Space("group", f"qq:{7000 + number}")


async def _asked(world: Talks, reader: Reader, where: str) -> list[Row]:
    recollection = world.recollection
    questions = [question for _, question in paraphrases()][:_ASKED]
    lately = await _times(lambda _: recollection.recall(reader, limit=30), questions)
    contact = await _times(lambda _: recollection.recall(reader, contact=XIAOLI, limit=30), questions)
    meaning = await _times(lambda words: recollection.recall(reader, words), questions)
    return [
        Row(f"who came lately, {where}, p95", quantile(lately, 0.95), "ms CPU", 15),
        Row(f"talk with one contact, {where}, p95", quantile(contact, 0.95), "ms CPU", 15),
        Row(f"talk by meaning, {where}, p95", quantile(meaning, 0.95), "ms CPU", 15),
    ]


async def _times(ask: Callable[[str], Awaitable[object]], questions: Sequence[str]) -> list[float]:
    """CPU milliseconds of each question, whose vector is known by then."""
    taken = []
    for words in questions:
        await ask(words)
        began = time.process_time()
        await ask(words)
        taken.append((time.process_time() - began) * 1000)
    return taken


def _size(many: str, size: int, episodes: int) -> Row:
    return Row(f"index of {many} on the disk, per 1,000", size / episodes * 1000 / 2**20, "MiB")
