"""Lets an instance be killed at every step of an erasure, and tells what the next process made of each.

Run as `python -m tests.fakes.killed_erasing ACT FOLDER STRIDE`, as `killed_instance` is. ACT is one of `ACTS`; with
`again` before it (`again-purge`), the erasure was killed at about its middle, and it is the start after that which is
killed at every step.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from qingtuan.app.forgetting import Departures
from qingtuan.events.erasing import unfinished
from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.conversation import Conversation
from tests.fakes.holding import holding
from tests.fakes.killed_instance import Killer, git, in_child
from tests.fakes.model_server import call, on_result, on_user
from tests.fakes.replaying import replayed, tables

MARKS = {"purge": "榴莲千层", "forget": "玫瑰荔枝"}
"""What an act erases."""
KEPT = "不吃香菜"
LI, WANG, GROUP = "qq:20002", "qq:20003", Space("group", "qq:777")
PEOPLE = """\
# 同学
[persons.xiaofang]
accounts = ["qq:20002"]
name = "小芳"
member = true
writes_groups = ["qq:777"]

[persons.laowang]
accounts = ["qq:20003"]
member = true
"""
_MOST = 3000


def instance(root: Path) -> Conversation:
    chat = Conversation(root, tools=None, EMBEDDING__MODEL="off", ACCESS__GROUPS='["qq:777"]')
    chat.home.prepare()
    if not chat.home.database.exists():
        chat.home.people_file.write_text(PEOPLE, "utf-8")
    likes = [
        on_user(f"记住我爱吃{mark}", call("remember", content=f"爱吃{mark}", predicate="爱吃", value=mark))
        for mark in MARKS.values()
    ]
    tea = call("remember", content="茶会由小芳带茶", subject="本群", predicate="茶", value="茶")
    chat.model(
        *likes,
        on_user("我们群", tea),
        on_user(f"记住我{KEPT}", call("remember", content=KEPT, predicate="忌口", value="香菜")),
        *(on_result(mark, f"记住了，爱吃{mark}。") for mark in MARKS.values()),
        on_result("", "好。"),
        on_user("", "好的。"),
    )
    return chat


async def before(root: Path) -> None:
    async with instance(root) as chat:
        owners, theirs = MARKS["purge"], MARKS["forget"]
        (chat.home.logs / "server.log").write_text(f"记住我爱吃{owners}\n记住我爱吃{theirs}\nother\n", "utf-8")
        for said in (f"记住我爱吃{owners}", f"记住我{KEPT}", "吃什么好", "/memory"):
            await chat.say(said)
        for said in (f"记住我爱吃{theirs}", "/memory"):
            await chat.say(said, LI)
        await chat.say("记住我们群茶会由小芳带茶", LI, GROUP)
        await chat.say("好的", WANG, GROUP)
        await chat.app.remembering.recollection.episodes.feed()


async def purge(chat: Conversation) -> None:
    await chat.say("/memory purge 1 确认", message_id="purge")


async def forget(chat: Conversation) -> None:
    app = chat.app
    await Departures(app.kit, app.remembering, app.queues, app.settings).forget("xiaofang")


ACTS: dict[str, Callable[[Conversation], Awaitable[None]]] = {"purge": purge, "forget": forget}


async def live(root: Path, act: str, killer: Killer) -> None:
    chat = instance(root)
    await chat.server.__aenter__()
    if act.startswith("again-"):
        sys.addaudithook(killer.hear)
        killer._armed = True
        await chat.start()
    else:
        await chat.start()
        killer.arm(chat)
        await ACTS[act](chat)
    await chat.stop()


async def go_on(act: str, root: Path) -> dict[str, Any]:
    """What the next process finds and makes of it."""
    async with instance(root) as chat:
        await chat.settled()
        log = chat.app.kit.record.log
        (listed,) = (await chat.say("/memory", message_id="last"))[-1:]
        return {
            "begun": bool(chat.events(Kind.BELIEF_PURGED, Kind.PERSON_FORGOTTEN)),
            "unfinished": len(unfinished(log)),
            "holding": holding(chat.home, MARKS[act]),
            "others hold": all(len(holding(chat.home, mark)) > 2 for name, mark in MARKS.items() if name != act),
            "named": holding(chat.home, "小芳"),
            "groups": "茶会" in "".join(map(chat.page, chat.pages())),
            "kept": KEPT in listed,
            "hand edits": len(chat.events(Kind.PAGE_EDITED)),
            "failed": [event.payload["detail"] for event in chat.events(Kind.CHORE_FAILED)],
            "fsck": git(chat.home.wiki, "fsck", "--strict", "--no-dangling"),
            "status": git(chat.home.wiki, "status", "--porcelain"),
            "commits": chat.commits(),
            "replays": tables(log) == replayed(log),
            "folders": sorted(path.name for path in chat.home.wiki.iterdir()),
        }


def main(act: str, folder: Path, stride: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: the orphaned git is waited for, too
    template, results = folder / "template", {}
    template.mkdir(parents=True)
    if not in_child(partial(before, template)):
        raise SystemExit("the scene cannot begin")
    if act.startswith("again-"):
        template = _half_done(act.removeprefix("again-"), template, folder)
    for step in range(1, _MOST, stride):
        root = folder / f"{step:04}"
        shutil.copytree(template, root, symlinks=True)
        came_through = in_child(partial(live, root, act, Killer(step)))
        told = root / "told.json"
        if not in_child(partial(go_on, act.removeprefix("again-"), root), told):
            raise SystemExit(f"the process after step {step} did not come through")
        results[f"{step:04}"] = json.loads(told.read_text("utf-8"))
        shutil.rmtree(root)
        if came_through:
            break
    sys.stdout.write(json.dumps(results, ensure_ascii=False))


def _half_done(act: str, template: Path, folder: Path) -> Path:
    """The scene with the erasure cut off right after `wiki.rewritten`, where most is still to be done."""
    root = folder / "half"
    shutil.copytree(template, root, symlinks=True)
    in_child(partial(_until_told, root, act))
    return root


async def _until_told(root: Path, act: str) -> None:
    async with instance(root) as chat:
        chat.app.kit.record.log.listen(
            lambda event: os.kill(os.getpid(), signal.SIGKILL) if event.kind is Kind.WIKI_REWRITTEN else None
        )
        await ACTS[act](chat)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
