"""A diary, lived through a whole instance with a scripted model, and what came of it."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from qingtuan.events.kinds import Kind
from qingtuan.identity.privacy import sight
from qingtuan.identity.scopes import SHARED, Scope
from qingtuan.memory.entries import held_on, is_current
from qingtuan.memory.known import Known
from qingtuan.messages import Space
from tests.fakes.conversation import Conversation
from tests.fakes.diary import FAMILY, PEOPLE, PEOPLE_FILE, WORKERS, Diary, Line
from tests.fakes.model_server import Asked, Reply, call, on_result, when, without_tools

_ROW = re.compile(r"^#(\d+) \[[^\]]*\] (.*)$", re.MULTILINE)


@dataclass
class Result:
    """What a year left behind, beside what it should have left."""

    wanted: dict[tuple[str, str], str]
    believed: dict[tuple[str, str], str]
    """By whose it is and what it is about."""
    stray: list[str] = field(default_factory=list)
    """Entries that nobody told, and words that may stand on no page."""
    wrong_days: list[str] = field(default_factory=list)
    """Of the sampled days, those on which something else was believed than should have been."""
    sampled: int = 0
    leaks: list[str] = field(default_factory=list)
    """Words of one person in a request that was made for another."""
    secrets: list[str] = field(default_factory=list)
    """Files other than the record that hold a secret."""
    differences: int = 0
    """Between the index and the pages."""
    turns: int = 0
    commits: int = 0
    writes: int = 0
    """Turns, commands and stretches that wrote something."""

    @property
    def right(self) -> int:
        return sum(self.believed.get(key) == value for key, value in self.wanted.items())

    @property
    def precision(self) -> float:
        """How much of what is believed should be."""
        held = len(self.believed) + len(self.stray)
        return self.right / held if held else 1.0

    @property
    def recall(self) -> float:
        """How much of what should be believed is."""
        return self.right / len(self.wanted) if self.wanted else 1.0


def instance(folder: Path) -> Conversation:
    """The instance that lives through it."""
    chat = Conversation(
        folder,
        OWNER__ACCOUNTS='["qq:10001"]',
        ACCESS__GROUPS=json.dumps([WORKERS.id, FAMILY.id]),
        LIMITS__MEMBER__PRIVATE_COOLDOWN="0",
        LIMITS__MEMBER__GROUP_COOLDOWN="0",
        MEMORY__DIGEST="false",
        EMBEDDING__MODEL="off",
    )
    chat.home.prepare()
    chat.home.people_file.write_text(PEOPLE_FILE, "utf-8")
    return chat


async def lived(chat: Conversation, days: int, *, restart: bool = True) -> Result:
    """Live through a diary of so many days, with a restart in the middle, and look at what is left."""
    diary = Diary(days)
    lines = diary.lines()
    said = {line.text: line for line in lines}
    chat.model(
        without_tools(lambda asked: _extracted(asked, said)),
        on_result("", "好的。"),
        when(lambda _: True, lambda asked: _answered(asked, said)),
    )
    leaks: list[str] = []
    for number, line in enumerate(lines):
        if restart and number == len(lines) // 2:
            await chat.restart()
        chat.clock.advance(max(timedelta(0), line.at - chat.clock.now()))
        before = len(chat.server.requests)
        await chat.say(line.text, line.account, line.space)
        await chat.later(minutes=2)
        requests = "\n".join(asked.raw.decode() for asked in chat.server.requests[before:])
        leaks += _leaked(line, requests, diary)
    return await _looked_at(chat, diary, lines, leaks)


def _answered(asked: Asked, said: dict[str, Line]) -> Reply:
    """What the model does about what was said last."""
    line = said.get(asked.text_of("user"))
    if line is not None and line.forgets:
        return call("memory_forget", query=line.forgets)
    if line is not None and line.remembers is not None:
        return call("remember", **line.remembers)
    return Reply("好的。")


def _extracted(asked: Asked, said: dict[str, Line]) -> Reply:
    """What the extractor finds in the messages that it is shown."""
    rows = _ROW.findall(asked.text_of("user"))
    found = [{**claim, "message": int(number)} for number, text in rows for claim in _claims(text, said)]
    return Reply(json.dumps({"candidates": found}, ensure_ascii=False))


def _claims(text: str, said: dict[str, Line]) -> tuple[dict[str, Any], ...]:
    if text in said:
        return said[text].claims
    # A masked secret: the extractor sees less than was said, and claims all of it.
    near = (line for whole, line in said.items() if whole[:6] == text[:6] and line.claims and "密钥" in whole)
    return next((line.claims for line in near), ())


def _leaked(line: Line, requests: str, diary: Diary) -> Iterator[str]:
    """Words in requests of a turn that were said in private by anybody else; in a group by anybody at all."""
    for person, words in diary.truth.words_of.items():
        if person != line.by.id or line.space is not None:
            found = set(re.findall(r"鹭[A-Z]\d{4}", requests)) & words
            yield from (f"{word} of {person} for {line.by.id} in {line.space or 'private'}" for word in sorted(found))


# What is left


async def _looked_at(chat: Conversation, diary: Diary, lines: Sequence[Line], leaks: list[str]) -> Result:
    truth, parts = diary.truth, chat.app.remembering
    readers: dict[str, tuple[str, Space]] = {
        one.id: (one.accounts[0], Space("private", one.accounts[0])) for one in PEOPLE
    }
    readers |= {f"group:{group.id}": (PEOPLE[0].accounts[0], group) for group in (WORKERS, FAMILY)}
    result = Result(truth.now(), {}, leaks=leaks, turns=len(chat.events(Kind.TURN_STARTED)))
    every: dict[str, list[Known]] = {}
    today = lines[-1].at.date()
    for whose, (account, space) in readers.items():
        reader = chat.app.kit.people.reader(account, space)
        scope = Scope.of_group(space.id) if space.is_group else Scope.of_person(reader.person)
        every[whose] = parts.library.beliefs(sight(reader), (scope, SHARED))
        for known in every[whose]:
            if is_current(known.belief, today):
                _file(known, whose, result)
    pages = "\n".join(chat.page(path) for path in chat.pages())
    result.stray += [word for word in sorted(truth.never) if word in pages]
    _days(diary, every, today, result)
    result.secrets = sorted(_holding(chat, truth.secret))
    result.differences = len(parts.beliefs.verify(list(parts.library.entries())))
    _sound(chat.home.wiki)
    result.commits, result.writes = len(chat.commits()), len(chat.events(Kind.WIKI_COMMITTED))
    return result


def _sound(wiki: Path) -> None:
    """Let git find no fault with its history."""
    subprocess.run(["git", "-C", str(wiki), "fsck", "--no-progress"], capture_output=True, check=True)


def _file(known: Known, whose: str, result: Result) -> None:
    """Take one current entry down, by the word that it is known by."""
    word = re.search(r"鹭[A-Z]\d{4}", known.belief.text)
    about = next(
        (about for (of, about), value in result.wanted.items() if of == whose and word and word[0] in value), None
    )
    if about is None or (whose, about) in result.believed:
        result.stray.append(f"{whose}: {known.belief.text}")
    else:
        result.believed[whose, about] = result.wanted[whose, about]


def _days(diary: Diary, every: dict[str, list[Known]], last: date, result: Result) -> None:
    """Whether 50 sampled values were believed on 50 days, by the intervals on the pages."""
    chance, keys = random.Random(11), sorted(diary.truth.held)
    first = min(held[0].first for held in diary.truth.held.values() if held)
    for _ in range(50):
        whose, about = chance.choice(keys)
        day = first + timedelta(days=chance.randrange(max(1, (last - first).days)))
        wanted = diary.truth.on(whose, about, day)
        values = {held.value for held in diary.truth.held[whose, about]}
        holding = [known for known in every[whose] if held_on(known.belief, day)]
        found = {value for value in values for known in holding if _says(known, value)}
        result.sampled += 1
        # On the day of a change both are right: which hour it was is not on the page.
        if not (found <= wanted and (found or not wanted)):
            result.wrong_days.append(f"{whose}, {about}, {day}: {sorted(found)} instead of {sorted(wanted)}")


def _says(known: Known, value: str) -> bool:
    word = re.search(r"鹭[A-Z]\d{4}", value)
    return word is not None and word[0] in known.belief.text


def _holding(chat: Conversation, secrets: set[str]) -> Iterator[str]:
    """Files of the data folder, but for the record of what was said, that hold a secret."""
    wanted = [secret.encode() for secret in secrets]
    for path in chat.home.path.rglob("*"):
        if path.is_file() and not path.name.startswith("state.sqlite"):
            data = path.read_bytes()
            if any(secret in data for secret in wanted):
                yield str(path.relative_to(chat.home.path))
