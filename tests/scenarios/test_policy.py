"""How talk becomes memory is the owner's to say, chat by chat (product.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.model_server import on_user
from tests.scenarios.test_review import concluded, extractor

LI = "qq:10002"
GROUP = Space("group", "qq:777")
PEOPLE: dict[str, Any] = {
    "ACCESS__MEMBERS": f'["{LI}"]',
    "ACCESS__GROUPS": '["qq:777"]',
    "OWNER__ACCOUNTS": '["qq:10001"]',
}


async def test_it_is_shown_with_what_it_means_and_where_it_comes_from(tmp_path: Path) -> None:
    async with Conversation(tmp_path, **PEOPLE) as chat:
        (told,) = await chat.say("/policy")
        assert told.splitlines() == [
            "这里是 auto：明说的就记下，看出来的等你点头（/审核）。",
            "是设置里的；/记忆策略 auto|review|manual 只改这里。",
        ]
        assert "manual：只记让它记住的" in (await chat.say("/记忆策略", "qq:10001", GROUP))[0]
        assert await chat.say("/policy review") == ["这里改成 review 了：让它记住的就记下，别的都先等点头（/审核）。"]
        assert "是用命令定的" in (await chat.say("/policy"))[0]
        await chat.restart()
        assert "这里是 review" in (await chat.say("/policy"))[0]
        assert "auto" in (await chat.say("/policy default"))[0]
        assert "用法" in (await chat.say("/policy often"))[0]


async def test_it_is_the_owner_s_and_counts_in_one_chat(tmp_path: Path) -> None:
    async with Conversation(tmp_path, **PEOPLE) as chat:
        assert await chat.say("/policy auto", LI) == ["只有主人可以执行这个命令。"]
        assert await chat.say("/policy auto", LI, GROUP) == ["只有主人可以执行这个命令。"]
        await chat.say("/policy auto", "qq:10001", GROUP)
        assert "这里是 auto" in (await chat.say("/policy", "qq:10001", GROUP))[0]
        assert [event.payload["space"] for event in chat.events(Kind.SETTINGS_CHANGED)] == ["group:qq:777"]


async def test_what_was_said_while_nothing_was_read_stays_unread(tmp_path: Path) -> None:
    async with Conversation(tmp_path, MEMORY__POLICY_PRIVATE="manual") as chat:
        chat.model(extractor([concluded("爱喝茶", "我现在爱喝茶", explicit=True)]), on_user("", "好的。"))
        await chat.say("我不吃香菜，记性不好")
        await chat.say("/policy auto")
        await chat.later(seconds=61)
        assert not any(asked for asked in chat.server.requests if not asked.tools)
        await chat.say("我现在爱喝茶")
        await chat.later(seconds=61)
        (asked,) = [asked for asked in chat.server.requests if not asked.tools]
        assert "香菜" not in asked.text_of("user")
        assert "爱喝茶" in "".join(map(chat.page, chat.pages()))


async def test_under_review_what_is_said_outright_waits_too(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await chat.say("/policy review")
        chat.model(extractor([concluded("爱喝茶", "我现在爱喝茶", explicit=True)]), on_user("", "好的。"))
        await chat.say("我现在爱喝茶", OWNER)
        await chat.later(seconds=61)
        assert chat.pages() == []
        assert "这里记之前先给你看" in (await chat.say("/review"))[0]
