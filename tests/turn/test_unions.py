"""What follows a link: the file and the memory, whatever happens between."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.errors import StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.identity import code_book, links
from qingtuan.language import Words
from qingtuan.memory.joining import Joining
from qingtuan.messages import Space
from tests.fakes.conversation import OWNER, Conversation

QQ, TG = "qq:10002", "tg:42"
TABLES = ("codes", "links")
LI = f'[persons.li]\naccounts = ["{TG}"]\nmember = true\n'


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with Conversation(tmp_path, ACCESS__MEMBERS=f'["{QQ}"]', EMBEDDING__MODEL="off") as chat:
        chat.home.people_file.write_text(LI, "utf-8")
        await chat.say("/memory add 住在宿舍三栋", TG)
        await chat.say("/memory add 喜欢喝茶", QQ)
        yield chat


async def ask(chat: Conversation) -> None:
    """A link, up to the question."""
    (told,) = await chat.say("/link tg:42", QQ)
    found = re.search(r"[2-9A-Z]{3}-[2-9A-Z]{3}", told)
    assert found
    await chat.say(found[0], TG)


async def memory(chat: Conversation, by: str) -> list[str]:
    return (await chat.say("/memory", by))[-1].splitlines()[1:-2]


def pages(chat: Conversation) -> dict[str, str]:
    return {path: chat.page(path) for path in chat.pages()}


def killed(*_: object, **__: object) -> None:
    raise Killed


async def test_killed_before_the_memories_are_joined(chat: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    await ask(chat)
    with monkeypatch.context() as patch:
        patch.setattr(Joining, "join", killed)
        with pytest.raises(Killed):
            await chat.say("确认", TG)
    await chat.restart()
    assert await memory(chat, TG) == ["#1 喜欢喝茶", "#2 住在宿舍三栋"]
    assert len(chat.events(Kind.PERSON_LINKED)) == 1


@pytest.mark.parametrize("step", ["qingtuan.identity.people.write_people", "qingtuan.memory.joining.Joining.part"])
async def test_killed_in_the_middle_of_parting(chat: Conversation, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    before, people = pages(chat), chat.home.people_file.read_text("utf-8")
    await ask(chat)
    await chat.say("确认", TG)
    with monkeypatch.context() as patch:
        patch.setattr(step, killed)
        with pytest.raises(Killed):
            await chat.say("/unlink", TG)
    await chat.restart()
    assert chat.home.people_file.read_text("utf-8") == people
    assert pages(chat) == before
    assert await memory(chat, TG) == ["#1 住在宿舍三栋"]
    assert len(chat.events(Kind.PERSON_PARTED)) == 1
    await chat.restart()
    assert pages(chat) == before


async def test_what_a_running_turn_wrote_afterwards_comes_over_at_the_next_start(chat: Conversation) -> None:
    await ask(chat)
    await chat.say("确认", TG)
    page = chat.home.wiki / "users/li/profile.md"
    page.write_text("# 晚到的\n\n## 当前\n- 养了一只猫\n", "utf-8")
    await chat.restart()
    assert await memory(chat, TG) == ["#1 喜欢喝茶", "#2 住在宿舍三栋", "#3 养了一只猫"]
    assert not page.exists()
    await chat.say("/unlink", TG)
    assert "养了一只猫" in page.read_text("utf-8")


async def test_the_tables_are_made_from_the_events(chat: Conversation) -> None:
    await ask(chat)
    await chat.say("确认", TG)
    await chat.say("/unlink", TG)
    await chat.say("/link tg:77", QQ)
    log = chat.app.kit.record.log

    def contents() -> list[list[tuple[object, ...]]]:
        return [[tuple(row) for row in log.database.rows(f"SELECT * FROM {name} ORDER BY 1")] for name in TABLES]

    before = contents()
    assert all(before)
    with log.database.transaction():
        for name in TABLES:
            log.database.execute(f"DELETE FROM {name}")
        for event in log.replay():
            code_book.project(log.database, event)
            links.project(log.database, event)
    assert contents() == before


async def test_a_memory_that_cannot_be_joined_keeps_nobody_from_talking(
    chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object, **__: object) -> None:
        raise StorageFailed(Words("磁盘满了。", "The disk is full."))

    await ask(chat)
    with monkeypatch.context() as patch:
        patch.setattr(Joining, "join", full)
        told = await chat.say("确认", TG)
        assert "记忆这会儿合不了" in told[-1]
        await chat.restart()
        assert "你是成员（qq-10002）" in (await chat.say("/whoami", TG))[-1]
    await chat.restart()
    assert await memory(chat, TG) == ["#1 喜欢喝茶", "#2 住在宿舍三栋"]


async def test_who_was_forgotten_is_linked_to_nobody(chat: Conversation) -> None:
    await ask(chat)
    await chat.say("确认", TG)
    log = chat.app.kit.record.log
    log.append(Kind.PERSON_FORGOTTEN, Place(person="li"))
    assert log.database.rows("SELECT * FROM links") == []
    await chat.restart()
    assert await memory(chat, QQ) == ["#1 喜欢喝茶", "#2 住在宿舍三栋"]


async def test_parting_by_hand_in_the_file_parts_the_memory(chat: Conversation) -> None:
    before = pages(chat)
    await ask(chat)
    await chat.say("确认", TG)
    chat.home.people_file.write_text(LI, "utf-8")
    (_, told, _) = await chat.say("/whoami")
    assert "people.toml 里 li 不再是 qq-10002" in told
    assert pages(chat) == before
    reader = chat.app.kit.people.reader(QQ, Space("private", QQ))
    assert reader.ids == {"qq-10002"}


async def test_what_is_not_ones_own_cannot_be_parted(chat: Conversation) -> None:
    await ask(chat)
    await chat.say("确认", TG)
    assert await chat.say("/unlink qq:10001", TG) == ["这不是你的账号。"]
    assert "这个账号拆不开" in (await chat.say("/unlink qq:10002", TG))[0]
    assert "要写成账号" in (await chat.say("/unlink 小李", TG))[0]
    assert "没有关联过" in (await chat.say("/unlink"))[-1]
    assert "这个账号拆不开" in (await chat.say("/unlink cli:local", OWNER))[0]
    assert not chat.events(Kind.PERSON_PARTED)
