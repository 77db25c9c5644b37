"""The memory of somebody who has told much: 1,000 pages with 10,000 beliefs.

Through the roads that turns take: recall over library and index, and a belief written with its commit. Vectors are
noise, since a search takes as long over any; what embedding a query takes has a row of its own.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.instance import Instance, Model, cpu, instance, mean, paraphrases, quantile, scripted_model
from bench.noise import Noise
from bench.table import Row
from qingtuan.channels.cli.link import Speaker
from qingtuan.home import Home
from qingtuan.identity.privacy import sight
from qingtuan.identity.scopes import Visibility
from qingtuan.indexes.base import Embedder
from qingtuan.indexes.embedding import UseEmbedder
from qingtuan.indexes.indexes import Index, Indexes
from qingtuan.memory.acts import Wish
from qingtuan.memory.injection import Budget
from qingtuan.memory.library import Library
from qingtuan.memory.recall import Listener, Question, Recall
from qingtuan.memory.wiki.data_comment import BeliefData
from qingtuan.memory.wiki.lines import Line
from qingtuan.memory.wiki.page import new_page, read_page
from qingtuan.memory.wiki.surgery import with_data_lines

_PAGES = 1000
_ON_PAGE = 10
_NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
_TODAY = _NOW.date()
_QUESTIONS = [question for _, question in paraphrases()]


def rows(*, short: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as name, scripted_model() as model:
        home = Home(Path(name) / "home")
        home.prepare()
        write_pages(home.wiki)
        return asyncio.run(_measured(home, model, writes=10 if short else 40))


def write_pages(wiki: Path) -> None:
    """The pages of the owner."""
    chance = random.Random(1)
    lines = [line for line, _ in paraphrases()]
    folder = wiki / "users" / "owner" / "preferences"
    folder.mkdir(parents=True)
    for number in range(_PAGES):
        first = number * _ON_PAGE
        said = [f"{'，'.join(chance.sample(lines, 2))}（{first + at}）" for at in range(_ON_PAGE)]
        (folder / f"topic-{number:04}.md").write_bytes(_page(number, first + 1, said))


def _page(number: int, first: int, said: Sequence[str]) -> bytes:
    day = _TODAY - timedelta(days=number % 700)
    empty = new_page(f"01K{number:023}", "preference", f"话题{number}", "zh", Visibility.PRIVATE, day)
    at = next(place for place, line in enumerate(empty.lines) if line.text == "## 当前") + 1
    bullets = [Line(f"- {text} ^{first + place}", "\n") for place, text in enumerate(said)]
    page = read_page([*empty.lines[:at], *bullets, *empty.lines[at:]])
    data = {
        first + place: BeliefData("我", f"习惯{first + place}", text[:6], day, how="explicit", source="evt_before")
        for place, text in enumerate(said)
    }
    return with_data_lines(page, dict(data)).to_bytes()


async def _measured(home: Home, model: Model, *, writes: int) -> list[Row]:
    began = cpu()
    async with instance(home.path, model, EMBEDDING__MODEL="off") as open_one:
        started = cpu() - began
        rebuilt, whole = _rebuilt(open_one)
        with _searched(open_one, home) as recall:
            searches = await _queries(open_one, recall)
        written = await _written(open_one, writes)
    peers = "git alone 13, pygit2 7"
    return [
        Row("belief written, with its commit, 1,000 pages of 10", mean(written), "ms CPU", 20, peers=peers),
        Row("index rebuilt, lexical, 1,000 pages of 10 beliefs", rebuilt, "s CPU", 0.5, peers="probe 0.02 to 0.2"),
        Row("index rebuilt, lexical, pages read and parsed too", whole, "s CPU"),
        Row("first start on 1,000 pages of 10 beliefs", started, "s CPU"),
        *searches,
        Row("query embedded, USE, p95", quantile(_embedding(), 0.95), "ms CPU"),
    ]


def _rebuilt(open_one: Instance) -> tuple[float, float]:
    """Seconds to rebuild the index from entries that are read, and from pages."""
    index, store = open_one.app.remembering.beliefs, open_one.app.remembering.store
    began = cpu()
    entries = list(Library(store, index).entries())
    read = cpu()
    index.rebuild(entries)
    return cpu() - read, cpu() - began


@contextmanager
def _searched(open_one: Instance, home: Home) -> Iterator[Recall]:
    """A recall over an index of the same pages that has vectors."""
    app, noise = open_one.app, Noise()
    indexes = Indexes(home.index / "noise", noise, app.clock)
    library = Library(app.remembering.store, _filled(indexes.open("beliefs"), app.remembering.library))
    yield Recall(library, app.kit.record.log, app.clock, Budget(), lambda _: Listener(app.settings.zone, "zh"))
    indexes.close()


def _filled(index: Index, library: Library) -> Index:
    index.rebuild(library.entries())
    while index.catch_up():
        pass
    return index


async def _queries(open_one: Instance, recall: Recall) -> list[Row]:
    reader = open_one.app.kit.people.reader(Speaker().account, Speaker().space)
    view = sight(reader)
    searches = await _times(lambda words: recall.search(view, Question(words, _NOW), 5))
    injections = await _times(lambda words: recall.injection(reader, words))
    query, text = "recall query, 10,000 beliefs of one person", "memory text of a turn, 10,000 beliefs"
    peers = "memsearch p50 205 (wall)"
    return [
        Row(f"{query}, p95", quantile(searches, 0.95), "ms CPU", 15, peers=peers),
        Row(f"{query}, p50", quantile(searches, 0.5), "ms CPU"),
        Row(f"{text}, p95", quantile(injections, 0.95), "ms CPU"),
        Row(f"{text}, p50", quantile(injections, 0.5), "ms CPU"),
    ]


async def _times(ask: Callable[[str], Awaitable[object]]) -> list[float]:
    """CPU milliseconds of each question, whose vector is known by then."""
    await ask(_QUESTIONS[0])
    taken = []
    for words in _QUESTIONS:
        await ask(words)
        began = time.process_time()
        await ask(words)
        taken.append((time.process_time() - began) * 1000)
    return taken


def _embedding() -> list[float]:
    model: Embedder = UseEmbedder()
    model.embed(_QUESTIONS[:1], "query")
    taken = []
    for words in _QUESTIONS:
        began = time.process_time()
        model.embed([words], "query")
        taken.append((time.process_time() - began) * 1000)
    return taken


async def _written(open_one: Instance, count: int) -> list[float]:
    """CPU milliseconds of each belief, written to a page of its own that was there before, and committed."""
    memory, taken = open_one.app.remembering.memory, []
    for number in range(count + 1):
        place, words = open_one.place(f"turn_{number}"), f"周末去第 {number} 个公园散步"
        wish = Wish(words, "preference", f"话题{number}", "我", f"第 {number} 个周末", f"公园 {number}")
        by = open_one.by(place, words)
        began = cpu()
        await memory.remember(wish, by)
        await memory.commit(f"turn_{number}")
        taken.append((cpu() - began) * 1000)
    return taken[1:]  # the first one reads what all the others find read
