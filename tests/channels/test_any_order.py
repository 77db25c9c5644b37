"""Whatever platforms say and whenever the process dies: parts in their order, none twice in doubt, none lost."""

from __future__ import annotations

import asyncio
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from qingtuan.channels.base import Deliveries, Delivery, Part, Waits
from qingtuan.channels.pace import Pace, Rate
from qingtuan.clock import ManualClock
from qingtuan.events.log import Place
from qingtuan.events.outbox import Draft
from qingtuan.messages import Outbound, Space
from tests.fakes.turns import START, Plan, World

CHATS = (Space("private", "qq:1"), Space("private", "qq:2"), Space("group", "qq:777"))

outcome = st.sampled_from(["sent", "sent", "sent", "refused", "unknown", "later", "shut", "raise", "die"])
messages = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4)), min_size=1, max_size=6)


@dataclass
class Platform:
    """Says what it is told to say, and remembers everything that was handed to it."""

    outcomes: Iterator[str]
    handed: list[tuple[Space, str, str]] = field(default_factory=list)
    """Chat, part, and what became of it as far as the sender can know."""
    died: asyncio.Event = field(default_factory=asyncio.Event)
    name: str = "onebot"
    pace: Pace = Pace(private=(Rate(1, 1.0),), every=(Rate(3, 2.0),), bubbles=(0.5, 1.5))  # noqa: RUF009 (frozen)

    shut: bool = False
    """Whether it takes nothing until somebody looks again."""

    def waits(self, message: Outbound) -> Waits | None:
        return Waits.USER_FIRST if self.shut and message.space == CHATS[1] else None

    def parts(self, message: Outbound) -> list[Part]:
        return [Part(line) for line in message.text.splitlines()]

    async def send(self, message: Outbound, part: Part) -> Delivery:
        what = next(self.outcomes, "sent")
        if what == "shut":
            self.shut, what = True, "later"
        number = len(self.handed)
        self.handed.append((message.space, part.text, "unknown" if what in ("raise", "die") else what))
        match what:
            case "raise":
                raise ConnectionResetError
            case "die":
                self.died.set()
                await asyncio.Event().wait()
        if number % 2 and what != "later":
            await asyncio.sleep(0)  # others get in between
        return Delivery("sent", f"p{number}") if what == "sent" else Delivery(what)  # type: ignore[arg-type]


async def all_settled(deliveries: Deliveries) -> None:
    await asyncio.gather(*(deliveries.settled(chat) for chat in CHATS))


async def died_or_not(platform: Platform) -> None:
    await platform.died.wait()


async def carried_out(wanted: list[tuple[int, int]], outcomes: list[str]) -> tuple[Platform, World]:
    """All messages put out and carried to their ends, over as many processes as it takes."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Plan(folder=Path(folder), clock=ManualClock(START)))
        platform = Platform(iter(outcomes))
        for number, (chat, parts) in enumerate(wanted):
            text = "\n".join(f"{number}.{part}" for part in range(parts))
            world.record.outbox.put(Draft("onebot", text), Place("s_1", CHATS[chat], None, "owner"))
        while True:
            platform.died.clear()
            platform.shut = False
            world.record.outbox.settle()
            deliveries = Deliveries(platform, world.log)
            deliveries.start()
            settled = asyncio.create_task(all_settled(deliveries))
            died = asyncio.create_task(died_or_not(platform))
            await asyncio.wait([settled, died], return_when=asyncio.FIRST_COMPLETED)
            over = not died.done() and not platform.shut
            died.cancel()
            settled.cancel()
            # As a kill does it: nothing is written any more. What another chat was just sending is in doubt too.
            deliveries._unlisten()
            workers = [chat.worker for chat in deliveries._chats.values() if chat.worker is not None]
            for worker in workers:
                worker.cancel()
            await asyncio.gather(settled, *workers, return_exceptions=True)
            if over:
                break
        states = {row["state"] for row in world.database.rows("SELECT state FROM outbox")}
        assert states <= {"sent", "refused", "unknown"}
        await world.close()
        return platform, world


@settings(max_examples=60, deadline=None)
@given(messages, st.lists(outcome, max_size=30))
def test_parts_in_order_none_twice_in_doubt_none_lost(wanted: list[tuple[int, int]], outcomes: list[str]) -> None:
    platform, _ = asyncio.run(carried_out(wanted, outcomes))
    handed: dict[Space, list[tuple[tuple[int, int], str]]] = defaultdict(list)
    for space, text, became in platform.handed:
        message, part = map(int, text.split("."))
        handed[space].append(((message, part), became))
    for chat, space in enumerate(CHATS):
        tries = handed[space]
        # In order, and nothing again except what was certainly not taken.
        for (one, became), (following, _) in pairwise(tries):
            assert following > one or (following == one and became == "later")
        # None lost: each part was handed over, save those behind a beginning that was refused.
        last = dict(tries)
        for number, (where, parts) in enumerate(wanted):
            if where == chat:
                expected = 1 if last[number, 0] == "refused" else parts
                assert [part for message, part in last if message == number] == list(range(expected))
                assert all(last[number, part] != "later" for part in range(expected))
