"""A whole instance as it is measured: its own data folder, a scripted model as a process of its own, a terminal's line.

The model's process is not counted; all that the instance does is, `git` included.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import resource
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from qingtuan.app import App
from qingtuan.app.collecting import set_aside
from qingtuan.channels.cli.link import LocalLink, Saying, Speaker
from qingtuan.channels.outcome import Done
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.home import Home
from qingtuan.memory.acts import By, Wish
from qingtuan.settings import load
from tests.fakes.model_server import model_process

REPLY = "好的，知道了。还有什么要我做的吗？"
SUMMARY = "\n".join(
    (
        "- 用户问了图书馆的座位和最近的安排",
        "- 用户周三晚上有羽毛球",
        "- 论文初稿还没有交，导师周五要看",
        "- 没有要办的事",
    )
)


@dataclass(frozen=True, slots=True)
class Model:
    """The scripted model that is running."""

    base_url: str
    folder: Path

    @property
    def environ(self) -> dict[str, str]:
        """The settings of an instance that uses it, as variables."""
        return {
            "QINGTUAN_LLM__BASE_URL": self.base_url,
            "QINGTUAN_LLM__API_KEY": "test-key",
            "QINGTUAN_LLM__MODEL": "scripted",
            "QINGTUAN_LANGUAGE": "zh",
            "QINGTUAN_TIMEZONE": "Asia/Shanghai",
        }

    def requests(self) -> list[Asked]:
        """All that it was asked so far, in order."""
        return [Asked(line, json.loads(line)) for line in (self.folder / "requests.jsonl").read_bytes().splitlines()]

    def turns(self) -> list[Asked]:
        """The same without what was asked beside the conversation: summaries, extraction."""
        return [asked for asked in self.requests() if asked.body.get("tools")]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came over the wire."""

    raw: bytes
    body: dict[str, Any]

    @property
    def frame(self) -> int:
        """Bytes of the system messages and the tools: what is there before anybody has said anything."""
        system = [message for message in self.body["messages"] if message["role"] == "system"]
        return len(_compact(system)) + len(_compact(self.body.get("tools", [])))

    @property
    def content(self) -> bytes:
        """Tools and messages, in the order in which providers read them."""
        return _compact(self.body.get("tools", [])) + _compact(self.body["messages"])


def _compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@contextmanager
def scripted_model(*, seconds: float = 0.0) -> Iterator[Model]:
    """A model that answers every message of a person in one sentence after `seconds`, and can summarise."""
    rules = [
        # Only what becomes a summary holds replies, or summaries that become one.
        {"tools": False, "user": "[小青团]", "text": SUMMARY},
        {"tools": False, "user": "[摘要]", "text": SUMMARY},
        {"tools": False, "text": "[]"},
        {"text": REPLY, "delay": seconds},
    ]
    with tempfile.TemporaryDirectory() as name, model_process(Path(name), rules) as base_url:
        yield Model(base_url, Path(name))


@dataclass(frozen=True, slots=True)
class Instance:
    """One that is open, and the owner's terminal."""

    app: App
    link: LocalLink
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    async def say(self, text: str, session: str | None = None) -> Done:
        """Say something and follow it to its end, as a terminal does.

        Raises:
            AssertionError: it was not answered: there is nothing to measure.
        """
        saying = Saying(Speaker(), text, f"m{next(self._numbers)}", session)
        done = None
        async for piece in self.link.say(saying):
            done = piece if isinstance(piece, Done) else done
        assert done is not None
        assert done.status == "answered", done
        return done

    async def turn(self, text: str) -> float:
        """A turn with all that is due after it; the CPU milliseconds that it took."""
        began = cpu()
        await self.say(text)
        await self.app.idle()
        return (cpu() - began) * 1000

    async def remember(self, lines: Sequence[str]) -> None:
        """Put beliefs into the owner's wiki, each on the page of a topic of its own, in one turn."""
        memory, place = self.app.remembering.memory, self.place("turn_wiki")
        for number, line in enumerate(lines):
            wish = Wish(line, "preference", f"话题{number}", "我", f"偏好{number}", line)
            await memory.remember(wish, self.by(place, line))
        await memory.commit("turn_wiki")

    async def embed(self) -> None:
        """Embed what is to be remembered, once for all: else the first searches would, and be no plain ones."""
        await asyncio.to_thread(self.app.remembering.beliefs.catch_up)

    def place(self, turn: str | None = None) -> Place:
        """Where the owner's turns belong."""
        session = self.app.kit.record.sessions.running(Speaker().space, "owner")
        return Place(session.id, Speaker().space, turn, "owner")

    def by(self, place: Place, words: str) -> By:
        """The owner, who said `words` a moment ago."""
        record, speaker = self.app.kit.record, Speaker()
        cause = record.log.append(Kind.COMMAND_RUN, place, {"command": "bench"})
        reader = self.app.kit.people.reader(speaker.account, speaker.space)
        now = record.clock.now().astimezone(self.app.settings.zone)
        return By(reader, place, cause.id, f"记住{words}", now, "zh")


@asynccontextmanager
async def instance(home: Path, model: Model, **environ: str) -> AsyncIterator[Instance]:
    """An instance on the data folder `home`; `environ` are more settings, without `QINGTUAN_`."""
    folder = Home(home)
    folder.prepare()
    more = {f"QINGTUAN_{name}": value for name, value in environ.items()}
    app = await App.open(folder, load(folder.path, {**model.environ, **more}), watch=False)
    set_aside()  # as `serve` does
    link = LocalLink(app)
    try:
        yield Instance(app, link)
    finally:
        await link.close()
        await app.close()


def cpu() -> float:
    """Seconds of CPU that this process and those of its children that have ended have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def process_environ(home: Path, model: Model) -> dict[str, str]:
    """The environment of a `qingtuan` process on this data folder."""
    passed = {name: value for name, value in os.environ.items() if not name.startswith(("QINGTUAN_", "OPENAI_"))}
    return {**passed, **model.environ, "QINGTUAN_HOME": str(home)}


@cache
def paraphrases() -> tuple[tuple[str, str], ...]:
    """Beliefs in one line, and a question for each."""
    pairs = json.loads((Path(__file__).parent / "paraphrases.json").read_text("utf-8"))
    return tuple((line, question) for line, question in pairs["zh"])


def beliefs(count: int = 30) -> list[str]:
    """What a small wiki holds. Those beyond the first are made of two of them."""
    lines = [line for line, _ in paraphrases()]
    more = (f"{one}，{other}" for one, other in itertools.combinations(lines, 2))
    return list(itertools.islice(itertools.chain(lines, more), count))


def sentence(number: int) -> str:
    """Something to say; no two are alike."""
    questions = paraphrases()
    return f"{questions[number % len(questions)][1]}（第 {number + 1} 句）"


def mean(values: Sequence[float]) -> float:
    """The mean, 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def quantile(values: Sequence[float], share: float) -> float:
    """The value that a share of all does not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
