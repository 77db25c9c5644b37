"""A wiki of 10,000 pages: the first start on it, the next one, and what a person and a turn do there.

Pages of topics with an entry each, all of one person, since what stands in one scope is looked at together. A copy of
the same a tenth as large stands beside each figure that should not grow with the number of pages.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.instance import Instance, Model, cpu, instance, mean, paraphrases, quantile, scripted_model
from bench.table import Row
from qingtuan.channels.cli.link import Speaker
from qingtuan.home import Home
from qingtuan.identity.privacy import sight
from qingtuan.identity.scopes import Visibility
from qingtuan.memory.acts import Wish
from qingtuan.memory.recall import Question
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.edits import NewBelief, with_current
from qingtuan.memory.wiki.page import new_page

_PAGES = 10_000
_FEWER = 1_000
_NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
_TODAY = _NOW.date()
_FOLDER = "users/owner/preferences"
_OLD = 3600.0
"""Seconds by which the files are older than the start: what was written this very second is read again."""


@dataclass(frozen=True, slots=True)
class _Figures:
    """CPU seconds, of a wiki of one size."""

    first: float
    second: float
    read: float
    noticed: list[float]
    written: list[float]
    searched: list[float]
    rebuilt: float
    verified: float


def rows(*, short: bool) -> list[Row]:
    times = 5 if short else 20
    with scripted_model() as model:
        large = _measured(_PAGES, model, times)
        small = _measured(_FEWER, model, times)
    return [
        Row("first start on 10,000 pages", large.first, "s CPU"),
        Row("second start, 10,000 unchanged pages", large.second, "s CPU", 1.0),
        Row("first search after a start, all of 10,000 pages read", large.read, "s CPU"),
        Row("hand edit of a page noticed and committed, 10,000 pages", 1000 * mean(large.noticed), "ms CPU"),
        Row("the same, against 1,000 pages", mean(large.noticed) / mean(small.noticed), "times"),
        Row(
            "belief written, with its commit, 10,000 pages", 1000 * mean(large.written), "ms CPU", peers="git alone 44"
        ),
        Row("the same, against 1,000 pages", mean(large.written) / mean(small.written), "times"),
        Row("recall query, lexical, 10,000 pages, p95", 1000 * quantile(large.searched, 0.95), "ms CPU", 15),
        Row("index rebuilt, lexical, 10,000 pages, each 1,000", large.rebuilt / 10, "s CPU", 0.5),
        Row("index verified, 10,000 pages, each 1,000", large.verified / 10, "s CPU"),
    ]


def _measured(pages: int, model: Model, times: int) -> _Figures:
    with _wiki(pages) as home:
        return asyncio.run(_figures(home, model, times))


@contextmanager
def _wiki(pages: int) -> Iterator[Home]:
    """A data folder with so many pages, an hour old."""
    with tempfile.TemporaryDirectory() as name:
        home = Home(Path(name) / "home")
        home.prepare()
        folder = home.wiki / _FOLDER
        folder.mkdir(parents=True)
        lines = [line for line, _ in paraphrases()]
        for number in range(pages):
            path = folder / f"topic-{number:05}.md"
            path.write_bytes(_page(number, f"{lines[number % len(lines)]}（{number}）"))
            status = path.stat()
            os.utime(path, (status.st_atime - _OLD, status.st_mtime - _OLD))
        yield home


def _page(number: int, text: str) -> bytes:
    day = _TODAY - timedelta(days=number % 700)
    empty = new_page(f"01K{number:023}", "preference", f"话题{number}", "zh", Visibility.PRIVATE, day)
    data = BeliefData("我", f"习惯{number}", text[:6], day, how="explicit", source="evt_before")
    return with_current(empty, NewBelief(number + 1, text, data), day).to_bytes()


async def _figures(home: Home, model: Model, times: int) -> _Figures:
    first = await _started(home, model)
    await asyncio.sleep(2.5)  # what changed less than two seconds before a look is looked at again
    await _started(home, model)
    second = await _started(home, model)
    async with instance(home.path, model, EMBEDDING__MODEL="off") as open_one:
        began = cpu()
        await _searched(open_one, 1)
        read = cpu() - began
        # The first of each reads what all the others find read.
        noticed = [await _noticed(open_one, count) for count in range(times + 1)][1:]
        written = [await _written(open_one, count) for count in range(times + 1)][1:]
        searched = await _searched(open_one, 100)
        rebuilt, verified = _indexed(open_one)
    return _Figures(first, second, read, noticed, written, searched, rebuilt, verified)


async def _started(home: Home, model: Model) -> float:
    """A start, and the end; without what happens in the background."""
    began = cpu()
    async with instance(home.path, model, EMBEDDING__MODEL="off"):
        return cpu() - began


async def _noticed(open_one: Instance, count: int) -> float:
    """A page saved by hand, from there to its commit and its place in the index."""
    memory, wiki = open_one.app.remembering.memory, open_one.app.home.wiki
    name = f"{_FOLDER}/topic-{count:05}.md"
    text = (wiki / name).read_text("utf-8")
    (wiki / name).write_text(text.replace("## 当前\n", f"## 当前\n- 手写的第 {count} 条\n"), "utf-8")
    began = cpu()
    changed = await memory.edited([name])
    assert changed == [name]
    return cpu() - began


async def _written(open_one: Instance, count: int) -> float:
    """A belief on a page that was there, and its commit."""
    memory = open_one.app.remembering.memory
    place, words = open_one.place(f"turn_{count}"), f"周末去第 {count} 个公园散步"
    wish = Wish(words, "preference", f"话题{500 + count}", "我", f"第 {count} 个周末", f"公园 {count}")
    by = open_one.by(place, words)
    began = cpu()
    await memory.remember(wish, by)
    await memory.commit(f"turn_{count}")
    return cpu() - began


async def _searched(open_one: Instance, most: int) -> list[float]:
    parts = open_one.app.remembering
    view = sight(open_one.app.kit.people.reader(Speaker().account, Speaker().space))
    taken = []
    for _, question in paraphrases()[:most]:
        await parts.recall.search(view, Question(question, _NOW), 5)
        began = cpu()
        await parts.recall.search(view, Question(question, _NOW), 5)
        taken.append(cpu() - began)
    return taken


def _indexed(open_one: Instance) -> tuple[float, float]:
    parts = open_one.app.remembering
    entries = list(parts.library.entries())
    began = cpu()
    parts.beliefs.rebuild(entries, stamps=dict(parts.library.stamps()))
    rebuilt = cpu() - began
    began = cpu()
    assert parts.beliefs.verify(entries) == []
    return rebuilt, cpu() - began
