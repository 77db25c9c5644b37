"""A conversation with a whole instance: real data folder, database, git, index and wire; a scripted model.

async with Conversation(tmp_path) as chat:
    chat.model(on_user("记住", call("remember", content="不吃香菜")), on_result("", "记住了。"))
    assert await chat.say("记住我不吃香菜") == ["记住了。"]
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Self
from zoneinfo import ZoneInfo

from qingtuan.app import App
from qingtuan.clock import ManualClock
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.home import Home
from qingtuan.messages import Inbound, Space
from qingtuan.settings import load
from qingtuan.tools.registry import Provider
from tests.fakes.model_server import Asked, ModelServer, Reply, Rule, call, script

PATIENCE = 60.0
"""Seconds of real time after which nothing will happen any more. No test waits for that but one that hangs."""

OWNER = "cli:local"
START = datetime(2026, 11, 29, 10, tzinfo=ZoneInfo("Asia/Shanghai"))
"""Sunday morning."""


class HeldClock(ManualClock):
    """A clock that only a test moves: whoever sleeps waits for that."""

    def __init__(self, start: datetime) -> None:
        super().__init__(start)
        self._sleepers: list[tuple[float, asyncio.Event]] = []

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        self._sleepers.append((self.monotonic() + seconds, woken))
        await woken.wait()

    def advance(self, delta: timedelta) -> None:
        super().advance(delta)
        due = [woken for when, woken in self._sleepers if when <= self.monotonic()]
        self._sleepers = [sleeper for sleeper in self._sleepers if sleeper[0] > self.monotonic()]
        for woken in due:
            woken.set()


class Conversation:
    """One instance and the people who talk with it."""

    def __init__(self, folder: Path, *, tools: Mapping[str, Provider] | None = None, **environ: str) -> None:
        """`environ`: settings as variables without `QINGTUAN_`, such as `ACCESS__MEMBERS='["qq:10002"]'`."""
        self.home = Home(folder / "home")
        self.clock = HeldClock(START)
        self._tools = tools or {}
        self._environ = environ
        self._rules: list[Rule] = []
        self._numbers = count(1)
        self.server = ModelServer(self._answer)
        self._app: App | None = None
        self._fault: Exception | None = None
        """What went wrong in a script. A model that broke would be tried again, on a clock that nobody moves."""
        self._broke = asyncio.Event()

    @property
    def app(self) -> App:
        assert self._app is not None
        return self._app

    async def __aenter__(self) -> Self:
        await self.server.__aenter__()
        await self.start()
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        await self.stop()
        await self.server.__aexit__(None, None, None)
        if kind is None and self._fault is not None:
            raise self._fault

    async def start(self) -> None:
        """Open the instance, as a process does that starts."""
        self.home.prepare()
        environ = {
            "QINGTUAN_LLM__BASE_URL": self.server.base_url,
            "QINGTUAN_LLM__API_KEY": "test-key",
            "QINGTUAN_LLM__MODEL": "scripted",
            "QINGTUAN_LANGUAGE": "zh",
            "QINGTUAN_TIMEZONE": "Asia/Shanghai",
            # This clock runs far ahead of the work: each answer would take long by it.
            "QINGTUAN_CHANNELS__MANNERS__LONG_WORK_SECONDS": "0",
            **{f"QINGTUAN_{name}": value for name, value in self._environ.items()},
        }
        settings = load(self.home.path, environ)
        self._app = await App.open(self.home, settings, clock=self.clock, watch=False, plug_ins=self._tools)

    async def stop(self) -> None:
        if self._app is not None:
            await self._app.close()
            self._app = None

    async def restart(self) -> None:
        """End the process and start another one on the same folder."""
        await self.stop()
        await self.start()

    def model(self, *rules: Rule) -> None:
        """What the model does from now on: the first rule that fits answers."""
        self._rules = list(rules)

    def _answer(self, asked: Asked) -> Reply:
        try:
            return script(*self._rules)(asked)
        except Exception as error:  # noqa: BLE001 (told to the test by `settled`)
            self._fault = error
            self._broke.set()
            return Reply(f"the script broke: {error!r}", status=400)

    # Talking

    async def say(self, text: str, by: str = OWNER, space: Space | None = None, **more: Any) -> list[str]:
        """Say something, wait until all is done, and give what was answered, each message delivered.

        `more`: further fields of `Inbound`, such as `session`, `quotes`, `materials`, `nickname`.
        """
        await self.send(text, by, space, **more)
        await self.settled()
        return self.deliver(space or Space("private", by))

    async def send(self, text: str, by: str = OWNER, space: Space | None = None, **more: Any) -> None:
        """Say something without waiting for an answer."""
        # Whoever is not the owner has a cool-down, which nobody in a test waits for.
        self.clock.advance(timedelta(seconds=3 if by == OWNER else 11))
        inbound = Inbound(
            channel=by.partition(":")[0],
            account=by,
            space=space or Space("private", by),
            message_id=f"m{next(self._numbers)}-{self.clock.monotonic()}",
            text=text,
            time=self.clock.now(),
        )
        await self.app.desk.receive(replace(inbound, **more))

    async def settled(self) -> None:
        """Wait until no turn is left to do. Raises at once what went wrong in the script."""
        await self._wait(self.app.queues.idle())

    async def _wait(self, work: Awaitable[None]) -> None:
        """Wait for `work`, unless the script breaks; and not for ever."""
        done, broke = asyncio.ensure_future(work), asyncio.ensure_future(self._broke.wait())
        await asyncio.wait({done, broke}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        broke.cancel()
        if self._fault is not None:
            done.cancel()
            raise self._fault
        if not done.done():
            done.cancel()
            failed = [event.payload for event in self.events(Kind.MODEL_FAILED, Kind.TURN_FAILED)[-3:]]
            raise AssertionError(f"nothing happens any more; what failed last: {failed}")
        done.result()

    def deliver(self, space: Space) -> list[str]:
        """Hand over what waits for a space, as its platform would take it; the texts."""
        outbox = self.app.kit.record.outbox
        self.clock.advance(timedelta(seconds=1))
        sent = self.app.kit.record.log.of_kind(Kind.MESSAGE_SENT, limit=10_000)
        rows = [event for event in sent if not event.forgotten]
        waiting = {
            event.id for channel in {row.payload["channel"] for row in rows} for event in outbox.waiting(channel, space)
        }
        texts = []
        for event in rows:
            if event.id in waiting:
                outbox.started(event)
                outbox.finished(event, Kind.DELIVERY_SENT, platform_id=f"p-{event.id}")
                texts.append(event.payload["text"])
        return texts

    async def later(self, **delta: float) -> None:
        """Let time pass, and what is due happen."""
        self.clock.advance(timedelta(**delta))
        for _ in range(5):  # whoever slept begins
            await asyncio.sleep(0)
        await self.settled()
        await self.done()

    async def done(self) -> None:
        """Wait until what is due after the turns is done, too: summaries, extraction."""
        await self._wait(self.app.afterwards.done())

    # Looking

    @property
    def asked(self) -> Asked:
        """The last request that the model got."""
        return self.server.requests[-1]

    def events(self, *kinds: Kind) -> list[Event]:
        return self.app.kit.record.log.of_kind(*kinds, limit=10_000)

    def page(self, path: str) -> str:
        """A page of the wiki as it stands on the disk."""
        return (self.home.wiki / path).read_text("utf-8")

    def pages(self) -> list[str]:
        return sorted(str(path.relative_to(self.home.wiki)) for path in self.home.wiki.rglob("*.md"))

    def commits(self) -> list[str]:
        """The subjects of the wiki's commits, newest first."""
        done = subprocess.run(
            ["git", "-C", str(self.home.wiki), "log", "--format=%s"], capture_output=True, text=True, check=False
        )
        return done.stdout.splitlines()


def remembers(**arguments: Any) -> Reply:
    """The model calls `remember` for a preference about the library's seats, or as said."""
    given = {"topic": "图书馆", "kind": "preference", "subject": "我", "predicate": "座位偏好", **arguments}
    return call("remember", **given)
