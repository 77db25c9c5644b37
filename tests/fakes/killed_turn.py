"""Lets a conversation be killed at every step it takes, and tells what the next process made of each.

Run as `python killed_turn.py FOLDER`. For each way to die, a copy of this process talks until SIGKILL hits it, and a
second one goes on over the same folder. Standard output gets one JSON object: by way to die, what was found at the end.
A way to die is `before N` or `after N` (inside the transaction of the process's Nth event, or right behind it),
`in act` (the act is done, and nothing says so yet), `near act` (it is about to be done), or `never`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from qingtuan.clock import ManualClock
from qingtuan.events.inbox import Inbox
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Event
from qingtuan.events.turns import open_turns
from qingtuan.identity.trust import Risk
from qingtuan.models.chat import Request
from qingtuan.storage.sqlite import Database
from qingtuan.tools.tool import ToolContext
from tests.fakes.turns import START, Plan, Reply, World, calls, says, tool_of

STEPS = ("约座位", "确认", "谢谢")


def script(request: Request) -> Reply:
    """Books when asked to, and says what the result says."""
    last = request.messages[-1]
    if last.role == "tool":
        return says("约好了。" if "约好了" in last.text else "不知道约成没有。")
    return calls(("book", {"at": "明天"})) if last.text == "约座位" else says("不客气。")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def plan(folder: Path, life: int, way: str) -> Plan:
    when, _, where = way.partition(" ")
    numbers = count(1)

    def watch(database: Database, event: Event) -> None:
        if when == "before" and next(numbers) == int(where):
            die()

    async def book(context: ToolContext, values: dict[str, Any]) -> str:
        if way == "near act":
            die()
        with (folder / "acts").open("a") as acts:
            acts.write(f"{context.call}\n")
        if way == "in act":
            die()
        return "约好了"

    tool = tool_of("book", book, arguments=["at"], risk=Risk.ACT)
    clock = ManualClock(START + life * timedelta(minutes=2))
    return Plan(folder=folder, clock=clock, tools=(tool,), watch=watch)


async def live(folder: Path, life: int, way: str) -> World:
    """One process: takes up what was left, then hears everything that the platform has, as platforms repeat it."""
    world = World(plan(folder, life, way))
    world.model.script = script
    numbers = count(1)
    if way.startswith("after"):
        world.log.listen(lambda event: die() if next(numbers) == int(way.split()[1]) else None)
    await world.desk.recover()
    await world.queues.idle()
    world.deliver()
    for number, text in enumerate(STEPS):
        await world.say(text, message_id=f"m{number}")
    return world


async def last_life(folder: Path) -> dict[str, Any]:
    world = await live(folder, 1, "never")
    found = {
        "acts": len((folder / "acts").read_text().splitlines()) if (folder / "acts").exists() else 0,
        "sent": [[one.kind, one.text] for one in world.sent()],
        "received": [event.payload["text"] for event in world.events(Kind.MESSAGE_RECEIVED)],
        "delivered": [event.cause for event in world.events(Kind.DELIVERY_STARTED)],
        "results": [event.payload["status"] for event in world.events(Kind.TOOL_FINISHED)],
        "outcomes": world.outcomes(),
        "open": [
            len(open_turns(world.log)),
            len(Inbox(world.log).open()),
            len(world.kit.book.unresumed()),
            len(world.kit.book.open()),
        ],
        "events": world.newest(),
    }
    await world.close()
    return found


def fork(work: Callable[[], object]) -> int:
    """Do something in a copy of this process; how it ended."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 (a copy never returns into the original's frames)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def try_out(root: Path, way: str) -> dict[str, Any]:
    folder = root / way.replace(" ", "_")
    folder.mkdir()
    report = folder / "report.json"
    killed = fork(lambda: asyncio.run(live(folder, 0, way))) if way != "never" else 0
    ended = fork(lambda: _report(report, folder))
    return {"killed": killed, "ended": ended, **(json.loads(report.read_text()) if report.exists() else {})}


def _report(path: Path, folder: Path) -> None:
    path.write_text(json.dumps(asyncio.run(last_life(folder)), ensure_ascii=False))


def main(root: Path) -> None:
    never = try_out(root, "never")
    ways = [f"{when} {number}" for when in ("before", "after") for number in range(1, never["events"] + 1)]
    found = {"never": never, **{way: try_out(root, way) for way in ("in act", "near act", *ways)}}
    sys.stdout.write(json.dumps(found, ensure_ascii=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
