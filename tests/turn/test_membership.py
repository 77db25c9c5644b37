"""Who comes to a group and leaves it: what is seen afterwards, what is sent, and what the owner is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.replaying import replayed, tables

OWNER_QQ, MEMBER = "qq:10001", "qq:10002"
GROUP = Space("group", "qq:777")
AT_HOME = Space("private", OWNER)


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    chat = Conversation(
        tmp_path,
        OWNER__ACCOUNTS=f'["{OWNER_QQ}"]',
        ACCESS__MEMBERS=f'["{MEMBER}"]',
        ACCESS__GROUPS='["qq:777"]',
        EMBEDDING__MODEL="off",
    )
    async with chat:
        yield chat


async def waiting(chat: Conversation, space: Space) -> list[str]:
    return [event.payload["text"] for event in chat.app.kit.record.outbox.waiting("qq", space)]


async def test_the_owner_is_told_of_a_group_once_and_the_group_sees_nothing(chat: Conversation) -> None:
    new = Space("group", "qq:888")
    for _ in range(2):
        chat.app.desk.membership.added("qq", new, by="qq:10009")
    assert chat.deliver(new) == []
    (told,) = chat.deliver(AT_HOME)
    assert "qq:10009" in told
    assert "qq:888" in told
    assert "/启用" in told


async def test_what_waits_for_a_group_goes_with_it_and_the_owner_is_told_once(chat: Conversation) -> None:
    await chat.send("你好", MEMBER, GROUP)
    await chat.settled()
    await chat.send("你好", MEMBER)
    await chat.settled()
    assert len(await waiting(chat, GROUP)) == 1
    for _ in range(2):
        chat.app.desk.membership.removed("qq", GROUP)
    assert await waiting(chat, GROUP) == []
    assert len(await waiting(chat, Space("private", MEMBER))) == 1
    (told,) = chat.deliver(AT_HOME)
    assert "移出了群 qq:777" in told
    assert chat.app.desk.membership.groups.is_gone("qq", GROUP)
    assert not chat.app.desk.membership.groups.is_gone("tg", GROUP)
    chat.app.desk.membership.added("qq", GROUP)
    assert not chat.app.desk.membership.groups.is_gone("qq", GROUP)
    chat.deliver(AT_HOME)
    chat.app.desk.membership.removed("qq", GROUP)
    assert len(chat.deliver(AT_HOME)) == 1, "removed once more is told once more"


async def test_a_mute_ends_at_its_time_or_when_it_is_lifted(chat: Conversation) -> None:
    desk, groups = chat.app.desk, chat.app.desk.membership.groups
    desk.membership.muted("qq", GROUP, chat.clock.now() + timedelta(minutes=10))
    assert groups.is_muted("qq", GROUP, chat.clock.now())
    assert not groups.is_muted("qq", GROUP, chat.clock.now() + timedelta(minutes=10))
    desk.membership.unmuted("qq", GROUP)
    assert not groups.is_muted("qq", GROUP, chat.clock.now())
    desk.membership.muted("qq", GROUP)
    await chat.restart()
    assert chat.app.desk.membership.groups.is_muted("qq", GROUP, chat.clock.now() + timedelta(days=1))
    chat.app.desk.membership.removed("qq", GROUP)
    assert tables(chat.app.kit.record.log) == replayed(chat.app.kit.record.log)


async def test_who_left_a_group_sees_nothing_of_it_any_more(chat: Conversation) -> None:
    await chat.say("我们周五去爬山", MEMBER, GROUP)
    await chat.say("带上水壶", OWNER_QQ, GROUP)
    await chat.say("好的我带", MEMBER, GROUP)
    found = chat.app.remembering.recollection
    reader = chat.app.kit.people.reader(MEMBER, Space("private", MEMBER))

    def seen() -> bool:
        sql, values = found._sight(reader).where()
        rows = chat.app.kit.record.log.where(f"kind = ? AND {sql}", [Kind.MESSAGE_RECEIVED, *values])
        return any("水壶" in event.payload["text"] for event in rows)

    assert seen()
    chat.app.desk.membership.left("qq", GROUP, MEMBER)
    assert not seen()
    await chat.restart()
    found = chat.app.remembering.recollection
    assert not seen()
    assert tables(chat.app.kit.record.log) == replayed(chat.app.kit.record.log)
    chat.app.desk.membership.joined("qq", GROUP, MEMBER)
    assert seen()
    chat.app.desk.membership.left("qq", GROUP, MEMBER)
    await chat.say("我又来了", MEMBER, GROUP)
    assert seen(), "whoever speaks there is there"


async def test_nobody_is_no_member(chat: Conversation) -> None:
    chat.app.desk.membership.left("qq", GROUP, "qq:80000000")
    chat.app.desk.membership.left("qq", Space("private", MEMBER), MEMBER)
    chat.app.desk.membership.joined("qq", GROUP, MEMBER)
    assert chat.events(Kind.GROUP_CHANGED) == []
