"""Lets a whole instance be killed at every step it takes, and tells what the next process made of each.

Run as `python -m tests.fakes.killed_instance SCENE FOLDER STRIDE`. A process plays the scene until SIGKILL hits it,
right before its first, second … step (with STRIDE 3: before the first, fourth …); another one goes on over the same
folder, with the platform handing over again what got no receipt. A step is whatever changes something: a file opened
for writing, a name made, changed or removed, a process started (git), an SQL statement that is no query; or something
that is shown while it works, as when a server tells how far a call has come. Standard output gets one JSON object:
by step, what was found at the end. The last one came through.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from qingtuan.events.kinds import Kind
from qingtuan.events.turns import messages_in, open_turns
from qingtuan.memory.compressing import KINDS
from qingtuan.messages import Space
from qingtuan.turn.progress import Progress, Stage
from tests.fakes.booking import Bookings, books
from tests.fakes.conversation import OWNER, START, Conversation, HeldClock
from tests.fakes.hasty import breathe
from tests.fakes.library import Library, configure
from tests.fakes.model_server import Asked, Reply, Rule, call, on_result, on_user, without_tools

CHAT = Space("private", OWNER)
DONE, UNSURE, NOT_DONE = "办好了。", "不知道办成没有。", "看过了，没有办成。"
LISTED, LISTED_NONE = "约了一个。", "没有预约。"
LIBRARY, SERVER = "KILLED_LIBRARY", "KILLED_SERVER"
"""Variables with the addresses of the library and of its seats server."""
SEAT = "二楼安静区-A01"
WHEN = {"date": "2026-11-30", "start": "09:00", "end": "12:00"}
SHORT = {"MAX_STORED": "6", "KEEP_RECENT": "2", "BATCH": "4", "MIN_SOURCE": "2"}
_CHANGES = frozenset({"os.rename", "os.remove", "os.link", "os.mkdir", "subprocess.Popen"})
_MOST = 2000


class Killer:
    """Counts steps once armed, and ends the process at the chosen one."""

    def __init__(self, step: int) -> None:
        self._left = step
        self._armed = False

    def arm(self, chat: Conversation) -> None:
        sys.addaudithook(self.hear)
        chat.app.kit.record.log.database._connection.set_trace_callback(self._hear_sql)
        self._hear_progress(chat.app.kit.stage)
        self._armed = True

    def _hear_progress(self, stage: Stage) -> None:
        """Each piece of an answer, and each step that a call tells of while its server works, is an instant, too."""
        show = stage.show

        def heard(session: str, progress: Progress) -> None:
            self.step()
            show(session, progress)

        stage.show = heard  # type: ignore[method-assign]

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CHANGES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
            self.step()

    def _hear_sql(self, statement: str) -> None:
        if not statement.startswith(("SELECT", "PRAGMA")):
            self.step()

    def step(self) -> None:
        if self._armed:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Scene:
    """What is said, one after the other; what was said before, in peace; and what the model does."""

    says: tuple[str, ...]
    before: tuple[str, ...] = ()
    library: bool = False
    """Whether a library stands behind it, with a seats server that is not killed."""
    burst: bool = False
    """Whether it is said in one breath, and the last but one taken back while nothing was answered yet."""


SCENES = {
    "remember": Scene(("记住我不吃香菜",)),
    "change": Scene(("记住我搬去三楼了",), before=("记住我不吃香菜", "记住我坐二楼")),
    "act": Scene(("帮我约座位", "确认")),
    "command": Scene(("/memory add 不吃葱", "/undo")),
    "burst": Scene(("第一句", "第二句", "说错了", "第三句"), burst=True),
    "summary": Scene(("第四句", "第五句"), before=("第一句", "第二句", "第三句")),
    "seat": Scene(("帮我约图书馆明天上午的座位", "确认", "看看约了哪个"), before=("你好",), library=True),
}


def rules() -> tuple[Rule, ...]:
    def seat(value: str) -> Any:
        return call("remember", content=f"坐{value}", subject="我", predicate="座位", value=value)

    return (
        on_user("看看", call("library__list_reservations")),
        on_user("图书馆", call("capability_search", query="预约图书馆座位")),
        on_result("可以直接调用", call("library__find_seats", **WHEN)),
        on_result('"seats"', call("library__reserve_seat", seat_id=SEAT, **WHEN)),
        on_result('{"reservations"', read_out),
        on_result("未知", lambda asked: looked_up(asked)),
        on_result("不知道做成没有", lambda asked: looked_up(asked)),
        on_user("香菜", call("remember", content="不吃香菜")),
        on_user("二楼", seat("二楼")),
        on_user("三楼", seat("三楼")),
        on_user("约", books()),
        on_result("", DONE),
        without_tools("聊过几句。"),
    )


def read_out(asked: Asked) -> Reply:
    """What the list of reservations says: when asked for it, or after an outcome that nobody knows."""
    booked = SEAT in asked.text_of("tool")
    if "看看" in asked.text_of("user"):
        return Reply(LISTED if booked else LISTED_NONE)
    return Reply(DONE if booked else NOT_DONE)


def looked_up(asked: Asked) -> Reply:
    """After an unknown outcome the model looks, where it can."""
    can = "library__list_reservations" in asked.tools
    return call("library__list_reservations") if can else Reply(UNSURE)


def instance(root: Path, life: int) -> Conversation:
    chat = Conversation(
        root,
        tools={"booking": Bookings(root / "bookings.jsonl")},
        EMBEDDING__MODEL="off",
        **{f"MEMORY__{name}": value for name, value in SHORT.items()},
    )
    if SERVER in os.environ:
        configure(chat.home, library={"url": os.environ[SERVER], "trusted": True, "returns": "own"})
    # A machine that was off for a while goes on later.
    chat.clock = HeldClock(START + timedelta(minutes=5 * life))
    chat.model(*rules())
    return chat


async def play(chat: Conversation, said: str, number: str) -> None:
    await chat.say(said, message_id=number)
    await chat.done()


async def play_all(chat: Conversation, scene: Scene) -> None:
    if not scene.burst:
        for number, said in enumerate(scene.says):
            await play(chat, said, f"m{number}")
        return
    for number, said in enumerate(scene.says):
        chat.clock.advance(timedelta(seconds=-2.5))  # `send` lets three pass
        await chat.send(said, message_id=f"m{number}", gathers=True)
    chat.app.desk.recalled("cli", CHAT, f"m{len(scene.says) - 2}")
    await breathe()
    await chat.later(seconds=3)
    chat.deliver(CHAT)
    await chat.done()


async def before(root: Path, scene: Scene) -> None:
    async with instance(root, 0) as chat:
        for number, said in enumerate(scene.before):
            await play(chat, said, f"b{number}")


async def live(root: Path, scene: Scene, killer: Killer) -> None:
    async with instance(root, 1) as chat:
        killer.arm(chat)
        await play_all(chat, scene)


async def go_on(root: Path, scene: Scene) -> dict[str, Any]:
    """The next process: it takes up what was left, gets again what got no receipt, and is looked over."""
    async with instance(root, 2) as chat:
        await chat.settled()
        chat.deliver(CHAT)
        await play_all(chat, scene)
        await chat.later(minutes=2)
        taken = await Library(os.environ[LIBRARY]).booked() if scene.library else []
        return found(chat, scene, root) | {"seats": len(taken)}


def found(chat: Conversation, scene: Scene, root: Path) -> dict[str, Any]:
    log, wiki = chat.app.kit.record.log, chat.home.wiki
    messages = chat.events(Kind.MESSAGE_RECEIVED)
    sent = chat.events(Kind.MESSAGE_SENT)
    session = chat.app.kit.record.sessions.running(CHAT, "owner")
    summaries = chat.app.remembering.summaries
    window = summaries.window(session, KINDS)
    rows = log.database.rows(
        "SELECT first_seq, last_seq, source_message_count AS messages FROM session_summaries"
        " WHERE deleted IS NULL AND absorbed_by IS NULL ORDER BY first_seq"
    )
    return {
        "messages": [event.payload["message_id"] for event in messages],
        "answers": {
            event.payload["message_id"]: [
                out.payload["text"] for out in sent if out.cause == event.id and out.payload["kind"] != "question"
            ]
            for event in messages
        },
        "answered": {
            event.place.turn: [
                one.payload["message_id"]
                for one in messages
                if one.id in messages_in(log.of_turn(event.place.turn or ""))
            ]
            for event in chat.events(Kind.TURN_FINISHED)
            if event.payload["outcome"] == "replied"
        },
        "replies": [event.payload["text"] for event in sent],
        "open turns": len(open_turns(log)),
        "open questions": len(chat.app.kit.book.open()),
        "writes started": [event.payload["name"] for event in chat.events(Kind.TOOL_STARTED)],
        "results": [event.payload["status"] for event in chat.events(Kind.TOOL_FINISHED)],
        "booked": len(Bookings(root / "bookings.jsonl").made),
        "pages": {page: chat.page(page) for page in chat.pages()},
        "hand edits": len(chat.events(Kind.PAGE_EDITED)),
        "status": git(wiki, "status", "--porcelain"),
        "fsck": git(wiki, "fsck", "--strict"),
        "commits": chat.commits(),
        "raw": [event.payload["message_id"] for event in window if event.kind is Kind.MESSAGE_RECEIVED],
        "summaries": [[row["first_seq"], row["last_seq"]] for row in rows],
        "covered": summaries.covered(session),
        "positions": {event.payload["message_id"]: event.seq for event in messages},
        "listed": [known.belief.statement for known in beliefs(chat)],
    }


def beliefs(chat: Conversation) -> list[Any]:
    from qingtuan.identity.privacy import sight
    from qingtuan.identity.scopes import Reader, Role

    seen = chat.app.remembering.library.beliefs(sight(Reader("owner", Role.OWNER, CHAT)))
    return [known for known in seen if known.belief.current]


def git(wiki: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(wiki), *arguments], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip()


def in_child(work: Callable[[], Coroutine[Any, Any, object]], told: Path | None = None) -> bool:
    """Run in a process of its own; whether it came through."""
    child = os.fork()
    if child == 0:
        try:
            result = asyncio.run(work())
            if told is not None:
                told.write_text(json.dumps(result, ensure_ascii=False), "utf-8")
        except BaseException:  # noqa: BLE001 (told to whoever waits)
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    while True:  # git may outlive whoever started it
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


def main(name: str, folder: Path, stride: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: the orphaned git is waited for, too
    scene, results = SCENES[name], {}
    template = folder / "template"
    template.mkdir(parents=True)
    if scene.before and not in_child(partial(before, template, scene)):
        raise SystemExit("the scene cannot begin")
    for step in range(1, _MOST, stride):
        root = folder / f"{step:04}"
        shutil.copytree(template, root, symlinks=True)
        if scene.library:
            asyncio.run(Library(os.environ[LIBRARY]).reset())
        came_through = in_child(partial(live, root, scene, Killer(step)))
        told = root / "told.json"
        if not in_child(partial(go_on, root, scene), told):
            raise SystemExit(f"the process after step {step} did not come through")
        results[f"{step:04}"] = json.loads(told.read_text("utf-8"))
        if came_through:
            break
    sys.stdout.write(json.dumps(results, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
