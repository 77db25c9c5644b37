"""Lets an instance be killed at every step of what a person decides by a word, and tells what the next process made of
each.

Run as `python -m tests.fakes.killed_deciding ACT FOLDER STRIDE`, as `killed_instance` is. ACT is one of `ACTS`.
"""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from qingtuan.channels.cli.link import Result
from qingtuan.cli.jobs import jobs_of
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.identity.scopes import Scope
from qingtuan.language import Words
from qingtuan.memory.acts import By
from qingtuan.memory.beliefs import Candidate
from qingtuan.memory.importing import formats
from qingtuan.memory.importing.documents import Reading
from qingtuan.memory.importing.found import as_json
from qingtuan.memory.importing.sources import opened
from qingtuan.messages import Space
from tests.fakes.conversation import OWNER, START, Conversation, HeldClock
from tests.fakes.killed_instance import Killer, git, in_child
from tests.fakes.replaying import replayed, tables

QQ, TG = "qq:10002", "tg:42"
OURS, THEIRS = "喜欢喝茶", "住在宿舍三栋"
WAITING = ("常吃川菜", "常吃米线")
MOVED = ("不吃香菜", "怕狗")
_MOST = 4000


def instance(root: Path, life: int) -> Conversation:
    chat = Conversation(root, tools=None, EMBEDDING__MODEL="off", ACCESS__MEMBERS=f'["{QQ}"]')
    chat.clock = HeldClock(START + timedelta(minutes=life))
    chat.model()
    return chat


async def nothing(_: Conversation, __: Path) -> None:
    """Nothing is to be done before."""


async def two_persons(chat: Conversation, root: Path) -> None:
    chat.home.people_file.write_text(f'[persons.li]\naccounts = ["{TG}"]\nmember = true\n', "utf-8")
    await chat.say(f"/memory add {OURS}", QQ)
    await chat.say(f"/memory add {THEIRS}", TG)
    await chat.say("/memory never 体重", TG)
    found = re.search(r"[2-9A-Z]{3}-[2-9A-Z]{3}", (await chat.say(f"/link {TG}", QQ))[0])
    assert found
    await chat.say(found[0], TG)


async def one_person(chat: Conversation, root: Path) -> None:
    await two_persons(chat, root)
    await chat.say("确认关联", TG)


async def things_wait(chat: Conversation, root: Path) -> None:
    await chat.say("你好")
    cause = chat.events(Kind.MESSAGE_RECEIVED)[-1].id
    reader = chat.app.kit.people.reader(OWNER, Space("private", OWNER))
    now = chat.clock.now()
    by = By(reader, Place(None, reader.space, None, reader.person), cause, "", now, "zh")
    for text in WAITING:
        candidate = Candidate(text=text, said_at=now, how="inferred")
        chat.app.remembering.memory.propose(candidate, Scope.of_person("owner"), by, Words("看出来的", "concluded"))


async def elsewhere(chat: Conversation, root: Path) -> None:
    folder = root / "openclaw"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("# Long-term memory\n\n## 偏好\n- 不吃香菜\n- 怕狗\n", "utf-8")


async def say(chat: Conversation, _: Path, words: str, by: str = OWNER) -> None:
    await chat.say(words, by, message_id="decides")


async def ask(chat: Conversation, _: Path) -> None:
    chat.clock.advance(timedelta(days=1, hours=2))
    chat.app.digest.look()


async def move_in(chat: Conversation, root: Path) -> None:
    zone = chat.app.kit.texts.zone
    with opened(root / "openclaw") as files:
        found = as_json(formats.read(files, Reading(chat.clock.now().astimezone(zone).date(), zone)))
    approved = ""
    for job in ("import.propose", "import.write"):
        arguments = {"account": OWNER, "found": found, "approved": approved}
        (result,) = [one async for one in jobs_of(chat.app)[job](arguments) if isinstance(one, Result)]
        approved = result.value["digest"]


@dataclass(frozen=True, slots=True)
class Act:
    """What is done before, in peace; and what is decided."""

    before: Callable[[Conversation, Path], Awaitable[None]]
    does: Callable[[Conversation, Path], Awaitable[None]]


ACTS = {
    "link": Act(two_persons, partial(say, words="确认关联", by=TG)),
    "unlink": Act(one_person, partial(say, words="/unlink tg:42", by=QQ)),
    "undo a link": Act(one_person, partial(say, words="/undo", by=QQ)),
    "accept": Act(things_wait, partial(say, words="/review accept all")),
    "ask": Act(things_wait, ask),
    "policy": Act(nothing, partial(say, words="/policy review")),
    "move in": Act(elsewhere, move_in),
}


async def before(root: Path, act: str) -> None:
    async with instance(root, 0) as chat:
        await ACTS[act].before(chat, root)
        await chat.done()


async def live(root: Path, act: str, killer: Killer) -> None:
    async with instance(root, 1) as chat:
        killer.arm(chat)
        await ACTS[act].does(chat, root)


async def go_on(root: Path, act: str) -> dict[str, Any]:
    """The next process takes up what was left, gets again what got no receipt, and is looked over."""
    async with instance(root, 2) as chat:
        await chat.settled()
        await ACTS[act].does(chat, root)
        await chat.done()
        log, wiki = chat.app.kit.record.log, chat.home.wiki
        people = {account: getattr(chat.app.kit.people.find(account), "id", None) for account in (QQ, TG)}
        answers = [event.payload["text"] for event in chat.events(Kind.MESSAGE_SENT)]
        found = {
            "people": people,
            "file": chat.home.people_file.read_text("utf-8"),
            "pages": {page: chat.page(page) for page in chat.pages()},
            "events": [str(event.kind) for event in chat.events(*Kind)],
            "answers": answers,
            "waiting": [str(item.text) for item in _waiting(chat)],
            "policy": chat.app.remembering.memory.policies.of(Space("private", OWNER)),
            "hand edits": len(chat.events(Kind.PAGE_EDITED)),
            "fsck": git(wiki, "fsck", "--strict", "--no-dangling"),
            "status": git(wiki, "status", "--porcelain"),
            "commits": chat.commits(),
            "replays": tables(log) == replayed(log),
        }
        for account in (QQ, TG):
            found[account] = (await chat.say("/memory", account, message_id=f"last {account}"))[-1]
        return found


def _waiting(chat: Conversation) -> list[Any]:
    reader = chat.app.kit.people.reader(OWNER, Space("private", OWNER))
    return chat.app.remembering.reviewing.waiting(reader)


def main(act: str, folder: Path, stride: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: the orphaned git is waited for, too
    template, results = folder / "template", {}
    template.mkdir(parents=True)
    if not in_child(partial(before, template, act)):
        raise SystemExit("the scene cannot begin")
    for step in range(1, _MOST, stride):
        root = folder / f"{step:04}"
        shutil.copytree(template, root, symlinks=True)
        came_through = in_child(partial(live, root, act, Killer(step)))
        told = root / "told.json"
        if not in_child(partial(go_on, root, act), told):
            raise SystemExit(f"the process after step {step} did not come through")
        results[f"{step:04}"] = json.loads(told.read_text("utf-8"))
        shutil.rmtree(root)
        if came_through:
            break
    sys.stdout.write(json.dumps(results, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
