"""A disk that is full, a wiki that is locked, a clock that is set back, right while persons become one or are parted.

Nobody sees more than before, nothing is lost, and what people are told is what is so.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from qingtuan.errors import StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.identity import people
from qingtuan.language import Words
from qingtuan.memory.wiki.store import WikiStore
from qingtuan.messages import Space
from tests.fakes.conversation import Conversation

QQ, TG = "qq:10002", "tg:42"
OURS, THEIRS = "喜欢喝茶", "住在宿舍三栋"
LI = f'[persons.li]\naccounts = ["{TG}"]\nmember = true\n'


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with Conversation(tmp_path, tools=None, ACCESS__MEMBERS=f'["{QQ}"]', EMBEDDING__MODEL="off") as chat:
        chat.model()
        chat.home.people_file.write_text(LI, "utf-8")
        await chat.say(f"/memory add {OURS}", QQ)
        await chat.say(f"/memory add {THEIRS}", TG)
        yield chat


async def asked(chat: Conversation) -> None:
    """The question whether both are one stands with the account that was named."""
    found = re.search(r"[2-9A-Z]{3}-[2-9A-Z]{3}", (await chat.say(f"/link {TG}", QQ))[-1])
    assert found
    await chat.say(found[0], TG)


async def listed(chat: Conversation, by: str) -> str:
    return (await chat.say("/memory", by))[-1]


def refuses(*_: object, **__: object) -> None:
    raise StorageFailed(Words("磁盘满了。", "The disk is full."))


async def are_two(chat: Conversation) -> bool:
    ours, theirs = await listed(chat, QQ), await listed(chat, TG)
    return OURS in ours and THEIRS not in ours and THEIRS in theirs and OURS not in theirs


async def are_one(chat: Conversation) -> bool:
    ours, theirs = await listed(chat, QQ), await listed(chat, TG)
    return all(text in each for text in (OURS, THEIRS) for each in (ours, theirs))


async def test_the_file_of_people_cannot_be_written(chat: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are two until it can, and then they are one and hear of it; never something between."""
    await asked(chat)
    with monkeypatch.context() as patch:
        patch.setattr(people, "write_people", refuses)
        (told,) = await chat.say("确认关联", TG)
        assert await are_two(chat)
    assert "关联好了" not in told
    await chat.restart()
    one, two = await are_one(chat), await are_two(chat)
    assert one != two
    assert "下次启动就生效" in told
    told_later = [event.payload["text"] for event in chat.events(Kind.MESSAGE_SENT)]
    assert one
    for words in ("关联好了", "tg:42 确认了", "成员 qq-10002 关联了账号"):
        assert sum(words in text for text in told_later) == 1


async def test_the_owner_edits_the_file_before_it_could_say_so(
    chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the owner says of an account stands, also when a link that was decided is still to be written."""
    await asked(chat)
    with monkeypatch.context() as patch:
        patch.setattr(people, "write_people", refuses)
        await chat.say("确认关联", TG)
    chat.home.people_file.write_text(f'[persons.lily]\naccounts = ["{TG}"]\nmember = true\n', "utf-8")
    await chat.say("/whoami")
    await chat.restart()
    await chat.restart()
    one = chat.app.kit.people.find(TG) == chat.app.kit.people.find(QQ)
    assert await (are_one(chat) if one else are_two(chat))
    linked = [link for link in chat.events(Kind.PERSON_LINKED) if link.payload["kept"] == "qq-10002"]
    assert one is not chat.app.desk._linking.unions.links.is_parted(linked[0].id)  # type: ignore[union-attr]


async def test_the_file_cannot_be_written_while_they_are_parted(
    chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asked(chat)
    await chat.say("确认关联", TG)
    with monkeypatch.context() as patch:
        patch.setattr(people, "write_people", refuses)
        (told, *_) = (await chat.say("/unlink tg:42", QQ))[-1:]
        assert "分开了" not in told
        assert await are_one(chat) or await are_two(chat)
    await chat.restart()
    assert await are_one(chat) or await are_two(chat)


@pytest.mark.parametrize("word", ["确认关联", "/unlink tg:42"])
async def test_the_wiki_cannot_be_written(chat: Conversation, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    await asked(chat)
    if word != "确认关联":
        await chat.say("确认关联", TG)
    with monkeypatch.context() as patch:
        patch.setattr(WikiStore, "write", refuses)
        await chat.say(word, TG if word == "确认关联" else QQ)
        seen = {by: await listed(chat, by) for by in (QQ, TG)}
        if word == "确认关联":
            assert OURS in seen[QQ]  # what came is nobody's until it is joined
        else:
            assert OURS not in seen[TG]
    await chat.restart()
    assert await (are_one(chat) if word == "确认关联" else are_two(chat))


async def time_passes(chat: Conversation) -> None:
    """For whoever waits for a lock."""
    while True:
        chat.clock.advance(timedelta(seconds=1))
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("word", ["确认关联", "/unlink tg:42"])
async def test_git_is_locked(chat: Conversation, word: str) -> None:
    await asked(chat)
    if word != "确认关联":
        await chat.say("确认关联", TG)
    lock = chat.home.wiki / ".git/index.lock"
    lock.write_bytes(b"")
    passing = asyncio.create_task(time_passes(chat))
    await chat.say(word, TG if word == "确认关联" else QQ)
    passing.cancel()
    lock.unlink(missing_ok=True)
    await chat.restart()
    assert await (are_one(chat) if word == "确认关联" else are_two(chat))


async def test_the_file_is_broken_by_hand_while_they_are_parted(chat: Conversation) -> None:
    await asked(chat)
    await chat.say("确认关联", TG)
    good = chat.home.people_file.read_text("utf-8")
    chat.home.people_file.write_text(f"{good}\n[persons.x\n", "utf-8")
    (told,) = (await chat.say("/unlink tg:42", QQ))[-1:]
    assert "分开了" not in told
    assert await are_one(chat)
    chat.home.people_file.write_text(good, "utf-8")
    (told,) = (await chat.say("/unlink tg:42", QQ))[-1:]
    assert "分开了" in told
    assert await are_two(chat)


@pytest.mark.parametrize("back", [timedelta(minutes=5), timedelta(days=1), timedelta(days=400)])
async def test_a_clock_that_is_set_back_keeps_no_code_alive(chat: Conversation, back: timedelta) -> None:
    found = re.search(r"[2-9A-Z]{4}-[2-9A-Z]{4}", (await chat.say("/claim"))[0])
    assert found
    chat.clock.advance(timedelta(minutes=1))
    chat.clock._now -= back
    await chat.say(found[0], "tg:43")
    assert not chat.events(Kind.PERSON_CLAIMED)
    again = re.search(r"[2-9A-Z]{4}-[2-9A-Z]{4}", (await chat.say("/claim"))[-1])
    assert again
    assert "主人的账号" in (await chat.say(again[0], "tg:43"))[0]
    assert Space("private", "tg:43") in chat.app.kit.people.private_spaces(chat.app.kit.people.owner)
