"""People talk in QQ, WeChat and Telegram while `qingtuan serve` is killed and connections drop; and what came of it.

Every message says a number, and the model repeats the numbers that it has not answered yet; some ask for an act, which
a tool does by adding a line to a file. So it can be counted afterwards what was answered how often, in which order,
and what was done twice.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.fakes.ilink import BOT, USER, Ilink
from tests.fakes.model_server import Asked, ModelServer, Reply, ToolCall
from tests.fakes.napcat import NapCat
from tests.fakes.telegram_server import BOT as TELEGRAM_BOT
from tests.fakes.telegram_server import GROUP as TELEGRAM_GROUP
from tests.fakes.telegram_server import MING, TOKEN, Fault, TelegramServer

ONE_BOT_TOKEN = "chaos-token-of-both-sides"
FRIEND, OTHER, QQ_GROUP = 20002, 10000, 30003
HONG = {**MING, "id": 6, "first_name": "Hong", "username": "hong6"}
_SAID = re.compile(r"(?:第|办)(\d+)件")
_TO_DO = re.compile(r"办(\d+)件")
_ANSWERED = re.compile(r"答((?: \d+)+)")
_GAPS = (0.1, 0.1, 0.6, 2.4, 2.8)
"""Seconds between two messages of one chat: some are one burst, some are not."""
_PATIENCE = 40.0
"""Seconds without any news after which nothing more will come."""
_PLUG_IN = """
import os
from qingtuan.identity.trust import Risk
from qingtuan.tools.tool import Tool, ToolResult

async def run(context, values):
    import asyncio
    with open(os.environ["CHAOS_ACTS"], "a") as file:
        file.write(f"{values['number']}\\n")
        file.flush()
        os.fsync(file.fileno())
    await asyncio.sleep(0.05)
    return ToolResult(f"办了 {values['number']}")

def tools():
    number = {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]}
    yield Tool(name="carry_out", description="办一件事。", parameters={**number, "additionalProperties": False},
               run=run, risk=Risk.ACT, returns="own")
"""


@dataclass(frozen=True, slots=True)
class Wish:
    """How much of it."""

    messages: int = 200
    kills: int = 10
    seed: int = 1
    acts_every: int = 6


@dataclass(slots=True)
class Chat:
    """One chat: how somebody speaks in it, and what they have been sent."""

    name: str
    say: Callable[[str], Awaitable[object]]
    texts: Callable[[], list[str]]
    numbers: list[int] = field(default_factory=list)
    """What was said, in order."""

    def answered(self) -> list[int]:
        """The numbers that were answered, in the order of the answers."""
        return [int(number) for text in self.texts() for said in _ANSWERED.findall(text) for number in said.split()]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one chat."""

    chat: str
    said: int
    once: int
    twice: int
    unknown: int
    """Never seen, and the answer's delivery has an unknown outcome: it is not sent again by itself."""
    lost: int
    out_of_order: int


@dataclass(frozen=True, slots=True)
class Report:
    """What became of all of it."""

    chats: Sequence[Outcome]
    kills: int
    drops: int
    acts: int
    acts_wanted: int
    acts_repeated: int

    def table(self) -> str:
        """For people."""
        head = ("chat", "said", "answered once", "twice", "unknown", "lost", "out of order")
        rows = [
            (one.chat, one.said, one.once, one.twice, one.unknown, one.lost, one.out_of_order) for one in self.chats
        ]
        lines = [head, *rows]
        widths = [max(len(str(line[column])) for line in lines) for column in range(len(head))]
        table = ["  ".join(str(cell).ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        acts = f"acts: {self.acts} of {self.acts_wanted} done, {self.acts_repeated} repeated"
        return "\n".join([*table, f"killed {self.kills} times, connections dropped {self.drops} times; {acts}"])

    def total(self, what: str) -> int:
        return sum(getattr(one, what) for one in self.chats)


def answer(asked: Asked) -> Reply:
    """The model: does what was asked for and not done, then repeats the numbers that have no answer."""
    if "tools" not in asked.body:
        return Reply("[]")
    open_ones: list[Mapping[str, Any]] = []
    for message in asked.messages:
        if message["role"] == "assistant" and not message.get("tool_calls"):
            open_ones = []
        elif message["role"] != "system":
            open_ones.append(message)
    said = [_text(message) for message in open_ones if message["role"] == "user"]
    called = {
        json.loads(call["function"]["arguments"]).get("number")
        for message in open_ones
        for call in message.get("tool_calls") or ()
    }
    wanted = dict.fromkeys(number for text in said for number in _TO_DO.findall(text))
    if calls := [ToolCall("carry_out", {"number": number}) for number in wanted if number not in called]:
        return Reply(calls=tuple(calls), delay=0.02)
    numbers = dict.fromkeys(number for text in said for number in _SAID.findall(text))
    return Reply(f"答 {' '.join(numbers)}" if numbers else "好。", delay=0.05)


def all_channels(ilink: Ilink, telegram: TelegramServer, token: str) -> dict[str, str]:
    """Settings, as variables without `QINGTUAN_`, of an instance with every chat app on, whose owner is everybody here.
    `token`: of the WeChat bot."""
    owners = [f"qq:{FRIEND}", f"qq:{OTHER}", "tg:5", "tg:6", f"wx:{USER}"]
    return {
        "OWNER__ACCOUNTS": json.dumps(owners),
        "ACCESS__GROUPS": json.dumps([f"qq:{QQ_GROUP}", f"tg:{TELEGRAM_GROUP}"]),
        "CHANNELS__ONEBOT__ACCESS_TOKEN": ONE_BOT_TOKEN,
        "CHANNELS__TELEGRAM__TOKEN": TOKEN,
        "CHANNELS__TELEGRAM__API_SERVER": telegram.url,
        "CHANNELS__WXCLAW__ACCOUNTS": json.dumps([{"account_id": BOT, "token": token, "base_url": ilink.url}]),
        "CHANNELS__WXCLAW__BASE_URL": ilink.url,
        "CHANNELS__WXCLAW__CDN_URL": ilink.cdn,
    }


class Chaos:
    """One run."""

    def __init__(self, folder: Path, wish: Wish) -> None:
        self._home, self._acts, self._plug_ins = folder / "home", folder / "acts.txt", folder / "plugins"
        self._wish = wish
        self._random = random.Random(wish.seed)
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._kills = self._drops = 0
        self._news = 0.0
        self._wanted: set[str] = set()

    async def run(self) -> Report:
        """Let it happen."""
        async with AsyncExitStack() as stack:
            model = await stack.enter_async_context(ModelServer(answer))
            ilink = await stack.enter_async_context(Ilink(hold=1.0, most=None))
            telegram = TelegramServer(longest_poll=1.0)
            await telegram.start()
            stack.push_async_callback(telegram.close)
            napcat = await stack.enter_async_context(NapCat())
            phone = ilink.bind()
            stack.callback(self._end)
            environ = self._environ(model, ilink, telegram, phone.token)
            self._allow(environ)
            self._begin(environ)
            await napcat.connect(f"ws://127.0.0.1:{self._port}/onebot/v11/ws", ONE_BOT_TOKEN, again=0.2)
            chats = self._chats(napcat, telegram, ilink, phone)
            over = asyncio.Event()
            harm = asyncio.create_task(self._harm(environ, napcat, telegram, over))
            await self._talk(chats)
            over.set()
            await harm
            await self._settled(chats)
            self._end()
        return self._report(chats)

    # The process

    def _environ(self, model: ModelServer, ilink: Ilink, telegram: TelegramServer, token: str) -> dict[str, str]:
        self._plug_ins.mkdir(parents=True)
        (self._plug_ins / "chaos_plugin.py").write_text(_PLUG_IN)
        info = self._plug_ins / "chaos_plugin-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: chaos-plugin\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[qingtuan.tools]\nchaos = chaos_plugin:tools\n")
        settings = {
            **all_channels(ilink, telegram, token),
            "HOME": str(self._home),
            "LANGUAGE": "zh",
            "LLM__BASE_URL": model.base_url,
            "LLM__MODEL": "scripted",
            "EMBEDDING__MODEL": "off",
            "SERVER__PORT": str(self._port),
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("QINGTUAN_", "OPENAI_"))}
        return {
            **kept,
            **{f"QINGTUAN_{name}": value for name, value in settings.items()},
            "PYTHONPATH": os.pathsep.join((str(self._plug_ins), kept.get("PYTHONPATH", ""))),
            "CHAOS_ACTS": str(self._acts),
        }

    def _allow(self, environ: Mapping[str, str]) -> None:
        command = [*_QINGTUAN, "ask", "/授权 carry_out number=* 7天"]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)

    def _begin(self, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen([*_QINGTUAN, "serve"], env=environ, stderr=subprocess.DEVNULL)

    def _end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                raise
            self._process = None

    # What happens

    def _chats(self, napcat: NapCat, telegram: TelegramServer, ilink: Ilink, phone: Any) -> list[Chat]:
        telegram.chat(HONG)
        telegram.group()

        def qq(user: int | None, group: int | None) -> Callable[[], list[str]]:
            return lambda: [
                one.text for one in napcat.delivered if one.group == group and (group is not None or one.user == user)
            ]

        async def in_qq_group(text: str) -> None:
            at = {"type": "at", "data": {"qq": str(napcat.self_id)}}
            await napcat.says(FRIEND, [at, {"type": "text", "data": {"text": f" {text}"}}], QQ_GROUP)

        async def in_telegram_group(text: str) -> None:
            name = f"@{TELEGRAM_BOT['username']}"
            mention = {"type": "mention", "offset": 0, "length": len(name)}
            await telegram.say(f"{name} {text}", to=TELEGRAM_GROUP, entities=[mention])

        return [
            Chat("qq", lambda text: napcat.says(FRIEND, text), qq(FRIEND, None)),
            Chat("qq, another", lambda text: napcat.says(OTHER, text), qq(OTHER, None)),
            Chat("qq group", in_qq_group, qq(None, QQ_GROUP)),
            Chat("telegram", telegram.say, lambda: telegram.texts(5)),
            Chat("telegram, another", lambda text: telegram.say(text, to=6, by=HONG), lambda: telegram.texts(6)),
            Chat("telegram group", in_telegram_group, lambda: telegram.texts(TELEGRAM_GROUP)),
            Chat("wechat", phone.says, lambda: [one.text for one in ilink.sent]),
        ]

    async def _talk(self, chats: Sequence[Chat]) -> None:
        share, rest = divmod(self._wish.messages, len(chats))
        numbers = iter(range(1, self._wish.messages + 1))
        shares = [[next(numbers) for _ in range(share + (place < rest))] for place in range(len(chats))]
        await asyncio.gather(*(self._speak(chat, mine) for chat, mine in zip(chats, shares, strict=True)))

    async def _speak(self, chat: Chat, numbers: Sequence[int]) -> None:
        for number in numbers:
            act = number % self._wish.acts_every == 0
            if act:
                self._wanted.add(str(number))
            chat.numbers.append(number)
            await chat.say(f"{'办' if act else '第'}{number}件")
            await asyncio.sleep(self._random.choice(_GAPS))

    async def _harm(
        self, environ: Mapping[str, str], napcat: NapCat, telegram: TelegramServer, over: asyncio.Event
    ) -> None:
        """Kill the process so many times, and drop connections between."""
        seconds = self._wish.messages / 7 * sum(_GAPS) / len(_GAPS) / (self._wish.kills + 1)
        while self._kills < self._wish.kills and not over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), self._random.uniform(0.5, 1.5) * seconds)
            await self._drop(napcat, telegram)
            assert self._process is not None
            self._process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(self._process.wait)
            self._kills += 1
            self._begin(environ)

    async def _drop(self, napcat: NapCat, telegram: TelegramServer) -> None:
        self._drops += 2
        telegram.faults["getUpdates"].append(Fault(cut=True))
        await napcat.hang_up()
        await asyncio.sleep(self._random.uniform(0, 1))

    async def _settled(self, chats: Sequence[Chat]) -> None:
        """Wait until everything is answered, or nothing more comes."""
        waited, before = 0.0, -1
        while waited < _PATIENCE:
            now = sum(len(chat.answered()) for chat in chats)
            if all(set(chat.numbers) <= set(chat.answered()) for chat in chats):
                await asyncio.sleep(3)  # for what might come twice
                return
            waited = 0.0 if now != before else waited + 0.5
            before = now
            await asyncio.sleep(0.5)

    # What came of it

    def _report(self, chats: Sequence[Chat]) -> Report:
        unknown = self._unknown()
        done = Counter(self._acts.read_text().split()) if self._acts.exists() else Counter[str]()
        return Report(
            [_outcome(chat, unknown) for chat in chats],
            self._kills,
            self._drops,
            sum(done[number] > 0 for number in self._wanted),
            len(self._wanted),
            sum(count - 1 for count in done.values()),
        )

    def _unknown(self) -> set[int]:
        """Numbers in answers whose delivery has an unknown outcome."""
        database = sqlite3.connect(self._home / "state.sqlite")
        try:
            rows = database.execute(
                "SELECT json_extract(e.payload, '$.text') FROM outbox AS o JOIN events AS e ON e.id = o.event"
                " WHERE o.state = 'unknown'"
            ).fetchall()
        finally:
            database.close()
        return {int(number) for (text,) in rows for said in _ANSWERED.findall(text or "") for number in said.split()}


_QINGTUAN = (sys.executable, "-c", "import sys; from qingtuan.cli import main; sys.exit(main())")


def _outcome(chat: Chat, unknown: set[int]) -> Outcome:
    answered = chat.answered()
    times = Counter(answered)
    first = list(dict.fromkeys(answered))
    place = {number: position for position, number in enumerate(chat.numbers)}
    order = [place[number] for number in first if number in place]
    missing = [number for number in chat.numbers if not times[number]]
    return Outcome(
        chat.name,
        len(chat.numbers),
        sum(times[number] == 1 for number in chat.numbers),
        sum(times[number] > 1 for number in chat.numbers),
        sum(number in unknown for number in missing),
        sum(number not in unknown for number in missing),
        sum(later < earlier for earlier, later in pairwise(order)),
    )


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
