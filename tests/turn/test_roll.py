"""Persons that change while the instance runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.conversation import OWNER, Conversation

FRIEND = "qq:10002"
FILE = f'[persons.li]\naccounts = ["{FRIEND}"]\nmember = true\n'


@pytest.fixture
def chat(tmp_path: Path) -> Conversation:
    return Conversation(tmp_path, EMBEDDING__MODEL="off")


async def test_a_changed_file_counts_without_a_restart(chat: Conversation) -> None:
    async with chat:
        (refused,) = await chat.say("/whoami", FRIEND)
        assert "主人认识的人" in refused
        chat.home.people_file.write_text(FILE, "utf-8")
        (known,) = await chat.say("/whoami", FRIEND)
        assert "成员" in known
        chat.home.people_file.write_text("", "utf-8")
        await chat.later(minutes=2)
        (refused,) = await chat.say("/whoami", FRIEND)
        assert "主人认识的人" in refused
        assert len(chat.events(Kind.PEOPLE_CHANGED)) == 2


async def test_a_broken_file_is_kept_out_and_the_owner_is_told_once(chat: Conversation) -> None:
    chat.home.prepare()
    chat.home.people_file.write_text(FILE, "utf-8")
    async with chat:
        await chat.say("/whoami")
        chat.home.people_file.write_text(f"{FILE}[persons.zhao\n", "utf-8")
        (known,) = await chat.say("/whoami", FRIEND)
        assert "成员" in known
        (told, _) = await chat.say("/whoami")
        assert "people.toml 改坏了" in told
        assert "第 4 行" in told
        assert len(await chat.say("/whoami")) == 1


async def test_what_was_said_before_is_found_under_the_new_name(tmp_path: Path) -> None:
    async with Conversation(tmp_path, EMBEDDING__MODEL="off", ACCESS__TRIAL="3") as chat:
        await chat.say("我养了一只猫叫年糕", FRIEND)
        chat.home.people_file.write_text(FILE, "utf-8")
        await chat.say("我还养了一只狗", FRIEND)
        reader = chat.app.kit.people.reader(OWNER, Space("private", OWNER))
        found = await chat.app.remembering.recollection.recall(reader, contact="li")
        assert [line.text for line in found.lines if line.account] == ["我还养了一只狗", "我养了一只猫叫年糕"]
        assert {line.person for line in found.lines} == {"li"}
