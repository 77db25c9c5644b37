"""Groups as a whole: what breaks there, how each has its own ways, and an edit of what was said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from qingtuan.messages import Space
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.model_server import Reply, call, on_result, on_user

OWNER_QQ, MEMBER = "qq:10001", "qq:10002"
OWNER_TG, STRANGER_TG = "tg:42", "tg:7"
QQ_GROUP, TG_GROUP = Space("group", "qq:777"), Space("group", "tg:-1001234567890")
AT_HOME = Space("private", OWNER)
QQ, TG = {"channel": "onebot"}, {"channel": "telegram"}


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    chat = Conversation(
        tmp_path,
        OWNER__ACCOUNTS=f'["{OWNER_QQ}", "{OWNER_TG}"]',
        ACCESS__MEMBERS=f'["{MEMBER}"]',
        EMBEDDING__MODEL="off",
    )
    async with chat:
        chat.model()
        await chat.say("/启用", OWNER_QQ, QQ_GROUP, **QQ)
        await chat.say("/启用", OWNER_TG, TG_GROUP, **TG)
        yield chat


async def asked(chat: Conversation, words: str, by: str, space: Space, **more: Any) -> str:
    await chat.say(words, by, space, **more)
    return str(chat.asked.messages)


async def test_what_breaks_in_a_group_is_one_sentence_there_and_the_reason_is_the_owners(chat: Conversation) -> None:
    chat.model(on_user("坏", Reply("no such model sk-abcdefghijklmnopqrstuvwx", status=404)), on_user("", "好的。"))
    (said,) = await chat.say("坏了吗", MEMBER, QQ_GROUP, **QQ)
    assert said == "我这会儿出了点问题，主人会来处理。"
    (told,) = chat.deliver(AT_HOME)
    assert "qq:777" in told
    assert MEMBER in told
    assert "sk-abcdef" not in told
    await chat.say("又坏了吗", MEMBER, QQ_GROUP, **QQ)
    assert chat.deliver(AT_HOME) == [], "told once while it lasts"
    assert await chat.say("现在呢", MEMBER, QQ_GROUP, **QQ) == ["好的。"]
    await chat.say("坏了吗", MEMBER, QQ_GROUP, **QQ)
    assert len(chat.deliver(AT_HOME)) == 1, "it began anew"


async def test_what_was_done_before_it_broke_is_told_to_the_owner_and_not_to_the_group(chat: Conversation) -> None:
    chat.model(
        on_user("记住", call("remember", content="不吃香菜", subject="我")),
        on_result("", Reply("down", status=404)),
    )
    (said,) = await chat.say("记住我不吃香菜", MEMBER, QQ_GROUP, **QQ)
    assert "\n" not in said
    assert "remember" not in said
    (told,) = chat.deliver(AT_HOME)
    assert "已经做了：remember" in told


async def test_each_group_has_its_own_ways_by_its_own_id(chat: Conversation) -> None:
    cards = chat.home.personas / "public"
    cards.mkdir(parents=True, exist_ok=True)
    for name in ("严肃", "活泼"):
        (cards / f"{name}.md").write_text(f"说话要{name}。\n", "utf-8")
    await chat.say("/选择角色卡 严肃", OWNER_QQ, QQ_GROUP, **QQ)
    await chat.say("/选择角色卡 活泼", OWNER_TG, TG_GROUP, **TG)
    assert "改成 auto" in (await chat.say("/记忆策略 auto", OWNER_TG, TG_GROUP, **TG))[0]
    assert "说话要严肃" in await asked(chat, "你好", MEMBER, QQ_GROUP, **QQ)
    text = await asked(chat, "你好", STRANGER_TG, TG_GROUP, **TG)
    assert "说话要活泼" in text
    assert "说话要严肃" not in text
    assert "这里是 manual" in (await chat.say("/记忆策略", OWNER_QQ, QQ_GROUP, **QQ))[0]


async def test_groups_of_two_platforms_hear_nothing_of_each_other(chat: Conversation) -> None:
    await chat.say("QQ 群里的闲话", MEMBER, QQ_GROUP, addressed=False, **QQ)
    await chat.say("TG 群里的闲话", STRANGER_TG, TG_GROUP, addressed=False, **TG)
    qq = await asked(chat, "总结上面", MEMBER, QQ_GROUP, **QQ)
    tg = await asked(chat, "总结上面", STRANGER_TG, TG_GROUP, **TG)
    assert "QQ 群里的闲话" in qq
    assert "TG 群里的闲话" not in qq
    assert "TG 群里的闲话" in tg
    assert "QQ 群里的闲话" not in tg


async def test_a_disabled_group_is_not_heard_and_what_was_heard_is_gone(chat: Conversation) -> None:
    await chat.say("停用之前的闲话", MEMBER, QQ_GROUP, addressed=False, **QQ)
    await chat.say("/停用", OWNER_QQ, QQ_GROUP, **QQ)
    await chat.say("停用之后的闲话", MEMBER, QQ_GROUP, addressed=False, **QQ)
    await chat.say("/启用", OWNER_QQ, QQ_GROUP, **QQ)
    assert "闲话" not in await asked(chat, "总结上面", MEMBER, QQ_GROUP, **QQ)


async def test_a_restart_forgets_nothing_of_what_was_heard(chat: Conversation) -> None:
    await chat.say("重启之前的话", MEMBER, QQ_GROUP, addressed=False, **QQ)
    await chat.restart()
    chat.model()
    assert "重启之前的话" in await asked(chat, "总结上面", MEMBER, QQ_GROUP, **QQ)


async def test_temporary_and_unsigned_messages_are_not_heard(chat: Conversation) -> None:
    await chat.say("临时会话的暗语", MEMBER, QQ_GROUP, addressed=False, temporary=True, **QQ)
    await chat.say("没签名的暗语", MEMBER, QQ_GROUP, addressed=False, signed=False, **QQ)
    await chat.say("匿名的暗语", "qq:80000000", QQ_GROUP, addressed=False, **QQ)
    assert "暗语" not in await asked(chat, "总结上面", MEMBER, QQ_GROUP, **QQ)
