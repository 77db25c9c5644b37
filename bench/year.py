"""A year of talk of three people in two groups, lived through a whole instance, and what is believed at its end.

Told are changes of mind and back, the same in other words, what is taken back, roles, moods, wishes, secrets and
hearsay; the extractor is scripted and makes things up. The diary and the truth are in `tests/fakes/diary.py`.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from bench.table import Row
from tests.fakes.year import Result, instance, lived


def rows(*, short: bool) -> list[Row]:
    days = 30 if short else 365
    result = asyncio.run(_lived(days))
    told = f"{days} days, 3 people, 2 groups, {result.turns:,} turns"
    return [
        Row(f"precision of what is believed after {told}", result.precision, "", 0.98, "higher"),
        Row(f"recall of what is believed after {told}", result.recall, "", 0.98, "higher"),
        Row(f"sampled days on which history is wrong, of {result.sampled}", len(result.wrong_days), "", 0),
        Row("words of one person in requests for another", len(result.leaks), "", 0),
        Row("files that hold a secret, but for the record", len(result.secrets), "", 0),
        Row("differences of the index from the pages", result.differences, "", 0),
        Row("commits", result.commits),
    ]


async def _lived(days: int) -> Result:
    with tempfile.TemporaryDirectory() as name:
        async with instance(Path(name)) as chat:
            return await lived(chat, days)
