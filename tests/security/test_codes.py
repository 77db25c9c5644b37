"""One-use codes under attack: whoever should not get anything by one gets nothing, and learns nothing."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.identity import people
from qingtuan.messages import Attachment, Material, Origin, Space
from tests.fakes.conversation import OWNER, Conversation

QQ, TG, MALLORY, OTHER = "qq:10002", "tg:42", "qq:666", "qq:667"
GROUP = Space("group", "qq:777")
STRANGER = "我只和主人认识的人聊天。"
SHARED = ("qq:80000000", "tg:1087968824", "tg:-100123")
KEYS = ("http:desk", "a2a:bot", "mcp:tool")


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    environ = {"ACCESS__MEMBERS": f'["{QQ}"]', "ACCESS__GROUPS": '["qq:777"]', "EMBEDDING__MODEL": "off"}
    async with Conversation(tmp_path, tools=None, **environ) as chat:
        yield chat


async def given(chat: Conversation, command: str = "/claim", by: str = OWNER) -> str:
    found = re.search(r"[2-9A-Z]{3,4}-[2-9A-Z]{3,4}", (await chat.say(command, by))[-1])
    assert found
    return found[0]


def other(code: str, number: int = 0) -> str:
    """A code of the same shape."""
    return f"{code[:-1]}{'23456789'[number] if code[-1] != '23456789'[number] else 'Z'}"


async def role(chat: Conversation, account: str) -> str:
    person = chat.app.kit.people.find(account)
    return str(chat.app.kit.people.role(person)) if person else "nobody"


def told(chat: Conversation, account: str) -> list[str]:
    """All that was ever sent to an account."""
    space = Space("private", account)
    return [event.payload["text"] for event in chat.events(Kind.MESSAGE_SENT) if event.place.space == space]


# Guessing


async def test_guesses_are_few_and_silent(chat: Conversation) -> None:
    code = await given(chat)
    for number in range(5):
        await chat.later(minutes=1)
        assert await chat.say(other(code, number), MALLORY) == [STRANGER]
    await chat.later(seconds=70)
    assert await chat.say(code, MALLORY) == [STRANGER]
    assert await role(chat, MALLORY) == "guest"
    assert "猜错了 5 次" in chat.deliver(Space("private", OWNER))[0]
    assert set(told(chat, MALLORY)) == {STRANGER}


async def test_wrong_tries_by_several_count_together(chat: Conversation) -> None:
    code = await given(chat)
    for number, who in enumerate((MALLORY, OTHER, "tg:9", "wx:a", "qq:99")):
        await chat.say(other(code, number), who)
    await chat.say(code, TG)
    assert await role(chat, TG) == "guest"


async def test_the_code_is_nowhere_but_in_the_message_that_shows_it(chat: Conversation) -> None:
    code = await given(chat)
    for event in chat.events(*Kind):
        if event.kind is not Kind.MESSAGE_SENT:
            assert code not in str(event.payload)
            assert code.replace("-", "") not in str(event.payload)


async def test_daily_words_are_no_tries(chat: Conversation) -> None:
    code = await given(chat)
    for words in ("你好", "hello there", "/start", "ABCDEFGHJ", "12345678", "ILOVEYOU", ""):
        await chat.say(words, MALLORY)
    assert not chat.events(Kind.CODE_TRIED)
    assert "主人的账号" in (await chat.say(code, TG))[0]


# Replay and forgery


async def test_a_code_works_once(chat: Conversation) -> None:
    code = await given(chat)
    await chat.say(code, TG)
    assert await chat.say(code, MALLORY) == [STRANGER]
    assert await role(chat, MALLORY) == "guest"
    assert len(chat.events(Kind.PERSON_CLAIMED)) == 1


async def test_the_same_message_twice_is_heard_once(chat: Conversation) -> None:
    code = await given(chat)
    await chat.send(code, TG, message_id="m-same")
    await chat.send(code, TG, message_id="m-same")
    assert len(chat.events(Kind.PERSON_CLAIMED)) == 1


@pytest.mark.parametrize(
    "facts",
    [
        {"edited": True},
        {"temporary": True},
        {"materials": (Material(Origin.FORWARD, "转发", "x"),)},
        {"attachments": (Attachment("image", "a.png", "image/png", "0" * 64, 1),)},
    ],
)
async def test_an_edit_a_forward_and_a_temporary_chat_prove_nothing(chat: Conversation, facts: Any) -> None:
    code = await given(chat)
    assert await chat.say(code, MALLORY, **facts) in ([STRANGER], [])
    assert await role(chat, MALLORY) == "guest"
    assert not chat.events(Kind.CODE_TRIED)


async def test_a_code_in_what_is_quoted_or_forwarded_is_nothing(chat: Conversation) -> None:
    code = await given(chat)
    material = (Material(Origin.FORWARD, "转发的消息", code),)
    assert await chat.say("看看这个", MALLORY, materials=material) == [STRANGER]
    assert await role(chat, MALLORY) == "guest"


async def test_names_prove_nothing(chat: Conversation) -> None:
    for words in ("我是主人", "确认", "好", "/claim", "/link cli:local", "/认领", "cli:local"):
        await chat.later(seconds=70)
        assert await chat.say(words, MALLORY, nickname="主人 owner cli:local") == [STRANGER]
    assert await role(chat, MALLORY) == "guest"
    assert not chat.events(Kind.CODE_GIVEN)


@pytest.mark.parametrize("account", KEYS)
async def test_a_key_never_claims(chat: Conversation, account: str) -> None:
    code = await given(chat)
    await chat.say(code, account)
    assert await role(chat, account) == "guest"
    assert not chat.events(Kind.PERSON_CLAIMED, Kind.CODE_TRIED)


@pytest.mark.parametrize("account", SHARED)
async def test_an_id_of_many_never_claims(chat: Conversation, account: str) -> None:
    code = await given(chat)
    await chat.send(code, account, Space("private", account))
    await chat.send(code, account, GROUP)
    assert not chat.events(Kind.PERSON_CLAIMED)


@pytest.mark.parametrize("account", [*KEYS, *SHARED, "qq:0", "owner", "qq:1 qq:2"])
async def test_what_may_not_be_claimed_cannot_be_linked(chat: Conversation, account: str) -> None:
    assert "要写成账号" in (await chat.say(f"/link {account}", QQ))[0]
    assert not chat.events(Kind.CODE_GIVEN)


# Groups


async def test_a_code_shown_in_a_group_is_void(chat: Conversation) -> None:
    code = await given(chat)
    await chat.send(f"我的码是{code}，记一下", QQ, GROUP, addressed=False)
    assert "发到群里了" in chat.deliver(Space("private", OWNER))[0]
    assert await chat.say(code, TG) == [STRANGER]
    assert await role(chat, TG) == "guest"


async def test_guesses_in_a_group_void_nothing(chat: Conversation) -> None:
    code = await given(chat)
    for number in range(6):
        await chat.send(other(code, number), MALLORY, GROUP, addressed=False)
    assert "主人的账号" in (await chat.say(code, TG))[0]


# Links


async def test_a_link_counts_from_the_claimed_account_only(chat: Conversation) -> None:
    code = await given(chat, "/link tg:42", QQ)
    assert await chat.say(code, MALLORY) == [STRANGER]
    assert await chat.say("确认关联", MALLORY) in ([STRANGER], [])
    assert not chat.events(Kind.PERSON_LINKED)
    assert not any("tg:42" in text or "10002" in text for text in told(chat, MALLORY))
    assert "qq:10002" in (await chat.say(code, TG))[0]
    assert await chat.say("确认关联", MALLORY) in ([STRANGER], [])
    assert not chat.events(Kind.PERSON_LINKED)


async def test_a_member_with_somebody_elses_code_is_told_nothing(chat: Conversation) -> None:
    code = await given(chat, "/link tg:42")
    chat.model()
    answered = await chat.say(code, QQ)
    assert not any("tg:42" in text for text in answered)
    assert not chat.events(Kind.CODE_TRIED)


async def test_nobody_becomes_the_owner_by_a_link_they_begin(chat: Conversation) -> None:
    """Somebody who talks the owner into sending a code gets nothing by it."""
    await chat.say(await given(chat), TG)
    code = await given(chat, "/link tg:42", QQ)
    (answer,) = await chat.say(code, TG)
    assert "发 /link qq:10002" in answer
    chat.model()
    await chat.say("确认关联", TG)
    assert not chat.events(Kind.PERSON_LINKED)
    assert await role(chat, QQ) == "member"


async def test_wrong_tries_of_the_claimed_account_are_counted_too(chat: Conversation) -> None:
    code = await given(chat, "/link tg:42", QQ)
    for number in range(5):
        await chat.say(other(code, number), TG)
    await chat.later(seconds=70)
    assert await chat.say(code, TG) == [STRANGER]
    assert "猜错了 5 次" in chat.deliver(Space("private", QQ))[0]


async def test_others_cannot_void_a_link(chat: Conversation) -> None:
    code = await given(chat, "/link tg:42", QQ)
    for number in range(8):
        await chat.say(other(code, number), MALLORY)
    assert "qq:10002" in (await chat.say(code, TG))[0]


async def test_a_new_code_voids_the_last_one(chat: Conversation) -> None:
    first, second = await given(chat, "/link tg:42", QQ), await given(chat, "/link tg:42", QQ)
    assert await chat.say(first, TG) == [STRANGER]
    assert "qq:10002" in (await chat.say(second, TG))[0]


# Time


@pytest.mark.parametrize(("minutes", "right"), [(9, True), (11, False)])
async def test_a_code_lasts_ten_minutes(chat: Conversation, minutes: int, right: bool) -> None:
    code = await given(chat)
    chat.clock.advance(timedelta(minutes=minutes))
    await chat.say(code, TG)
    assert (await role(chat, TG) == "owner") is right


async def test_the_question_lasts_ten_minutes(chat: Conversation) -> None:
    await chat.say(await given(chat, "/link tg:42", QQ), TG)
    await chat.later(minutes=11)
    assert await chat.say("确认关联", TG) == [STRANGER]
    assert not chat.events(Kind.PERSON_LINKED)


async def test_of_two_at_once_the_first_gets_it(chat: Conversation) -> None:
    code = await given(chat)
    await asyncio.gather(chat.send(code, TG), chat.send(code, MALLORY))
    assert (await role(chat, TG), await role(chat, MALLORY)) == ("owner", "guest")
    assert len(chat.events(Kind.PERSON_CLAIMED)) == 1


async def test_a_restart_keeps_what_was_tried(chat: Conversation) -> None:
    code = await given(chat)
    for number in range(4):
        await chat.say(other(code, number), MALLORY)
    await chat.restart()
    await chat.say(other(code, 5), MALLORY)
    await chat.say(code, TG)
    assert await role(chat, TG) == "guest"


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("command", ["/claim", "/link tg:42"])
async def test_killed_between_the_event_and_the_file(
    chat: Conversation, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event decides: the next start brings the file and the memory up to it, and answers."""
    await chat.say("/memory add 喜欢喝茶", QQ)
    code = await given(chat, command, OWNER if command == "/claim" else QQ)
    if command != "/claim":
        await chat.say(code, TG)

    def killed(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(people, "write_people", killed)
        with pytest.raises(Killed):
            await chat.say(code if command == "/claim" else "确认", TG)
    assert chat.home.people_file.read_text("utf-8") == ""
    await chat.restart()
    assert "tg:42" in chat.home.people_file.read_text("utf-8")
    (answer, *_) = chat.deliver(Space("private", TG))
    assert ("认得了" if command == "/claim" else "关联好了") in answer
    assert len(chat.events(Kind.PERSON_CLAIMED, Kind.PERSON_LINKED)) == 1
    assert await role(chat, TG) == ("owner" if command == "/claim" else "member")
    before = chat.home.people_file.read_bytes()
    await chat.restart()
    assert chat.home.people_file.read_bytes() == before
    (parted,) = (await chat.say("/unlink tg:42", TG))[-1:]
    assert "分开了" in parted
    assert await role(chat, TG) == "guest"
    await chat.restart()
    assert await role(chat, TG) == "guest"


async def test_a_file_that_cannot_be_used_links_nothing(chat: Conversation) -> None:
    await chat.say(await given(chat, "/link tg:42", QQ), TG)
    chat.home.people_file.write_text("[persons.x\n", "utf-8")
    assert await chat.say("确认", TG) == ["现在办不了，主人那边要先修一下。"]
    assert not chat.events(Kind.PERSON_LINKED)
    chat.home.people_file.write_text("", "utf-8")
    assert "关联好了" in (await chat.say("确认关联", TG))[0]
