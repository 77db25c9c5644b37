"""Seed 001, v0.5: the owner writes facts and preferences by hand, into the one store that `/memory` shows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.messages import Space
from tests.fakes.conversation import OWNER, Conversation, remembers
from tests.fakes.model_server import call, on_result, on_user

OWNER_QQ, MEMBER, WRITER, GUEST = "qq:10001", "qq:10002", "qq:10003", "qq:10009"
GROUP, OTHER_GROUP = Space("group", "qq:777"), Space("group", "qq:888")
REFUSED = ["只有主人可以执行这个命令。"]
WRITERS = '[persons.writer]\naccounts = ["qq:10003"]\nmember = true\nwrites_groups = ["qq:777"]\n'


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    chat = Conversation(
        tmp_path,
        tools=None,
        OWNER__ACCOUNTS=f'["{OWNER_QQ}"]',
        ACCESS__MEMBERS=f'["{MEMBER}"]',
        ACCESS__GROUPS='["qq:777", "qq:888"]',
        EMBEDDING__MODEL="off",
    )
    chat.home.prepare()
    chat.home.people_file.write_text(WRITERS, "utf-8")
    async with chat:
        yield chat


async def heard(chat: Conversation, by: str, space: Space | None = None) -> str:
    """The memory that stands in a request."""
    chat.model()
    await chat.say("你好呀，说说看", by, space)
    texts = [message["content"] for message in chat.asked.messages if message["role"] == "system"]
    return "\n".join(text for text in texts if text.startswith("[关于用户的长期记忆"))


async def test_a_fact_is_about_whoever_is_talked_with(chat: Conversation) -> None:
    assert await chat.say("/添加事实记忆 用户在测试摘要压缩") == ["已添加事实摘要记忆：ID 1，对象：用户 cli:local。"]
    (told,) = await chat.say("/add-fact 当前群用于测试群聊能力。", OWNER_QQ, GROUP)
    assert told == "已添加事实摘要记忆：ID 群1，对象：群聊 qq:777。"
    assert chat.pages() == ["groups/qq-777/profile.md", "users/owner/profile.md"]
    assert "s: 本群" in chat.page("groups/qq-777/profile.md")
    for by in (OWNER_QQ, MEMBER, GUEST):
        text = await heard(chat, by, GROUP)
        assert "[本群] 当前群用于测试群聊能力。" in text
        assert "摘要压缩" not in text
        assert "测试群聊" not in await heard(chat, by, OTHER_GROUP)
    assert "摘要压缩" in await heard(chat, OWNER)
    assert "测试群聊" not in await heard(chat, OWNER)


async def test_a_preference_is_the_owners_wherever_they_are(chat: Conversation) -> None:
    (told,) = await chat.say("/添加偏好记忆 技术讨论时先给结论，再解释原因", OWNER_QQ, GROUP)
    assert told == "已添加偏好摘要记忆：ID 1，对象：用户 qq:10001。"
    (page,) = chat.pages()
    assert page.startswith("users/owner/preferences/")
    assert "how: manual" in chat.page(page)
    assert "vis: own" in chat.page(page)
    for by, space in ((OWNER_QQ, GROUP), (OWNER_QQ, OTHER_GROUP), (OWNER, None)):
        assert "- 技术讨论时先给结论，再解释原因\n" in await heard(chat, by, space), "no day: nobody said it in talk"
    assert "先给结论" not in await heard(chat, MEMBER, GROUP)


async def test_the_same_twice_is_one(chat: Conversation) -> None:
    await chat.say("/memory add 不吃香菜")
    assert await chat.say("/add-fact 不吃香菜") == ["已经记着了：ID 1，对象：用户 cli:local。"]
    assert "1 条" in (await chat.say("/memory"))[0]


async def test_without_words_it_says_how(chat: Conversation) -> None:
    assert await chat.say("/添加事实记忆") == ["用法：/添加事实记忆 内容"]
    assert await chat.say("/add-preference") == ["用法：/添加偏好记忆 内容"]
    for argument in ("", " 三", " ID", " 1 2"):
        assert await chat.say(f"/删除长期记忆{argument}") == ["用法：/删除长期记忆 ID，例如 3"]
    assert chat.pages() == []


async def test_secrets_are_not_kept_and_that_is_said(chat: Conversation) -> None:
    (told,) = await chat.say("/add-fact 密码是 Tr0ub4dor&3", OWNER_QQ, GROUP)
    assert told == "已添加事实摘要记忆：ID 群1，对象：群聊 qq:777。密码不记，已隐去。"
    assert "Tr0ub4dor" not in chat.page("groups/qq-777/profile.md")


async def test_what_is_shown_in_private(chat: Conversation) -> None:
    assert await chat.say("/查看长期记忆") == ["当前相关对象暂无手动长期记忆。"]
    chat.model(on_user("二楼", remembers(content="优先二楼安静区", value="二楼安静区")), on_result("", "记住了。"))
    await chat.say("我以后图书馆优先坐二楼安静区")
    assert await chat.say("/查看长期记忆") == [
        "当前相关对象暂无手动长期记忆。\n聊天里记下的另有 1 条，/memory 看全部。"
    ]
    await chat.say("/add-fact 在做 QQ 机器人")
    await chat.say("/memory add 大家都能看的")
    await chat.say("/memory share 3 all")
    await chat.later(days=1)
    await chat.say("/add-preference 先给结论")
    await chat.say("/memory pin 2")
    for _ in range(2):
        await chat.say("/add-fact 群里的事", OWNER_QQ, GROUP)
    await chat.say("/add-fact 另一个群的事", OWNER_QQ, OTHER_GROUP)
    await chat.say("/memory add 成员的事", MEMBER)
    await chat.say("/memory share 1 public", MEMBER)
    assert (await chat.say("/long-term"))[0].splitlines() == [
        "用户 cli:local（2 条）：",
        "📌#2 [事实] 在做 QQ 机器人",
        "#4 [偏好] 先给结论",
        "全局（1 条）：",
        "#G1 [事实] 大家都能看的",
        "群聊 qq:777（1 条，在那个群里看）",
        "群聊 qq:888（1 条，在那个群里看）",
        "",
        "删除：/删除长期记忆 ID",
        "聊天里记下的另有 1 条，/memory 看全部。",
    ]


async def test_what_is_shown_in_a_group_is_the_groups_alone(chat: Conversation) -> None:
    await chat.say("/add-fact 存折在书房抽屉")
    await chat.say("/add-preference 先给结论")
    await chat.say("/memory add 大家的")
    await chat.say("/memory share 3 all")
    assert await chat.say("/查看长期记忆", OWNER_QQ, GROUP) == ["当前相关对象暂无手动长期记忆。"]
    await chat.say("/add-fact 群里的事", OWNER_QQ, GROUP)
    assert (await chat.say("/查看长期记忆", OWNER_QQ, GROUP))[0].splitlines() == [
        "群聊 qq:777（1 条）：",
        "#群1 [事实] 群里的事",
        "",
        "删除：/删除长期记忆 ID",
    ]
    assert await chat.say("/查看长期记忆", OWNER_QQ, OTHER_GROUP) == ["当前相关对象暂无手动长期记忆。"]


async def test_no_more_than_twenty_of_one_subject_are_shown(chat: Conversation) -> None:
    page = chat.home.wiki / "users/owner/profile.md"
    page.parent.mkdir(parents=True)
    page.write_text("# 我\n\n## 当前\n" + "".join(f"- 手写的第{n}条\n" for n in range(1, 24)), "utf-8")
    lines = (await chat.say("/查看长期记忆"))[0].splitlines()
    assert lines[0] == "用户 cli:local（23 条）："
    assert len([line for line in lines if "手写的" in line]) == 20
    assert lines[21] == "另有 3 条更早的"
    assert lines[1] == "#23 [事实] 手写的第23条"


async def test_an_entry_is_deleted_by_its_number(chat: Conversation) -> None:
    await chat.say("/add-fact 不吃香菜")
    await chat.say("/add-fact 群里的事", OWNER_QQ, GROUP)
    assert await chat.say("/删除长期记忆 9") == ["没有找到长期记忆：9"]
    assert await chat.say("/删除长期记忆 群1") == ["没有找到长期记忆：群1"], "it is changed in its group"
    assert await chat.say("/删除长期记忆 1", OWNER_QQ, GROUP) == ["已删除长期记忆：ID 群1。/undo 可撤销"]
    assert await chat.say("/memory") != ["还没有记住什么。添加：/memory add 内容"], "that was the group's 1"
    for written in ("ID 1", "#1", "1"):
        assert await chat.say(f"/删除长期记忆 {written}") == ["已删除长期记忆：ID 1。/undo 可撤销"]
        await chat.say("/undo")
    assert await chat.say("/delete-long-term 1") == ["已删除长期记忆：ID 1。/undo 可撤销"]
    assert await chat.say("/delete-long-term 1") == ["没有找到长期记忆：1"]


async def test_one_refusal_for_all_whatever_there_is(chat: Conversation) -> None:
    commands = ("添加事实记忆 x", "add-preference x", "查看长期记忆", "删除长期记忆 1", "删除长期记忆 9", "记忆状态")
    for _ in range(2):
        for command in commands:
            for by, space in ((MEMBER, None), (WRITER, None), (MEMBER, GROUP), (WRITER, GROUP), (GUEST, GROUP)):
                assert await chat.say(f"/{command}", by, space) == REFUSED, command
        await chat.say("/add-fact 群里的事", OWNER_QQ, GROUP)
    assert chat.pages() == ["groups/qq-777/profile.md"]


# How the memory stands


async def test_the_status_of_an_empty_memory(chat: Conversation) -> None:
    assert (await chat.say("/记忆状态"))[0].splitlines() == [
        "这里：明说的就记，推想的等你点头（auto）。",
        "还没有记住什么。",
        "索引：没有向量，按字面找，0 条，没有重建过。",
        "没有等你点头的。",
        "还没有入库过。",
        "每次带上 0 字，上限 2000 字。",
    ]


async def test_the_status_counts_what_the_owner_may_know_of_and_shows_nothing_of_it(chat: Conversation) -> None:
    chat.model(
        on_user("聚餐", call("remember", content="周五聚餐", subject="本群", topic="聚餐", kind="event")),
        on_user("二楼", remembers(content="优先二楼安静区", value="二楼安静区")),
        on_result("", "记住了。"),
    )
    await chat.say("我以后图书馆优先坐二楼安静区")
    await chat.say("记住本群周五聚餐", OWNER_QQ, GROUP)
    for words in ("不吃香菜", "不吃葱", "大家的事"):
        await chat.say(f"/memory add {words}")
    await chat.say("/memory share 4 all")
    await chat.say("/memory add 我怕狗", MEMBER)
    await chat.say("/memory add 我的生日是五月一日", MEMBER)
    await chat.say("/memory share 2 public", MEMBER)
    (chat.home.wiki / "users/owner/records").mkdir(parents=True)
    (chat.home.wiki / "users/owner/records/broken.md").write_text("---\na: b: c\n---\n# x\n", "utf-8")
    await chat.app.remembering.memory.edited(["users"])
    (told,) = await chat.say("/memory-status")
    lines = told.splitlines()
    assert lines[1:5] == [
        "- 你自己：基本情况 2、偏好 1",
        "- 全局：基本情况 1",
        "- 群聊 qq:777（manual）：事情 1",
        "- qq-10002 公开的：基本情况 1",
    ]
    assert lines[5] == "索引：没有向量，按字面找，7 条，没有重建过。"
    assert lines[6].startswith("⚠ 读不了 users/owner/records/broken.md：")
    assert lines[8].startswith("最后一次入库：2026-11-29 10:")
    assert lines[9].startswith("每次带上 ")
    assert lines[9] != "每次带上 0 字，上限 2000 字。"
    for secret in ("香菜", "怕狗", "聚餐"):
        assert secret not in told


async def test_the_status_says_what_waits_and_when_the_index_was_built(chat: Conversation) -> None:
    await chat.say("/memory add 不吃香菜")
    parts = chat.app.remembering
    parts.beliefs.rebuild(parts.library.entries(), stamps=parts.library.stamps())
    (told,) = await chat.say("/记忆状态")
    assert "重建过。" in told
    assert "没有重建过" not in told
    await chat.restart()
    assert await chat.say("/记忆状态", OWNER_QQ, GROUP) == ["这里是群，私聊我再说。"]
