"""Seed 004: `/memory` answers by itself, word for word, and shows and changes exactly what is remembered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Material, Origin, Space
from tests.fakes.conversation import OWNER, Conversation, remembers
from tests.fakes.model_server import call, on_result, on_user

OWNER_QQ, MEMBER = "qq:10001", "qq:10002"
GROUP = Space("group", "qq:777")
FOOT = "删除: /memory del <编号> | 清空: /memory clear"


def conversation(folder: Path, **more: str) -> Conversation:
    environ = {
        "OWNER__ACCOUNTS": f'["{OWNER_QQ}"]',
        "ACCESS__MEMBERS": f'["{MEMBER}"]',
        "ACCESS__GROUPS": '["qq:777"]',
        "EMBEDDING__MODEL": "off",
    }
    return Conversation(folder, tools=None, **{**environ, **more})


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with conversation(tmp_path) as chat:
        yield chat


async def listed(chat: Conversation, by: str = OWNER) -> list[str]:
    """The entries of `/memory`, a line each, without head and foot."""
    (text,) = await chat.say("/memory", by)
    return text.splitlines()[1:-2]


async def injected(
    chat: Conversation, by: str = OWNER, words: str = "你好呀，说说看", space: Space | None = None
) -> str:
    """The memory text of a request, both parts, with their markers."""
    chat.model()
    await chat.say(words, by, space)
    texts = [message["content"] for message in chat.asked.messages if message["role"] == "system"]
    return "\n".join(text for text in texts if text.startswith("[关于用户的长期记忆"))


async def test_the_list_is_that_of_the_seed(chat: Conversation) -> None:
    await chat.say("/memory add 用户是 Go 后端开发者")
    await chat.say("/memory share 1 all")
    await chat.say("/memory pin G1")
    await chat.say("/memory add 偏好简洁回复")
    await chat.say("/memory 关注 Python 代码质量")
    text = (
        "🧠 长期记忆（3 条，对所有 agent 生效）:\n"
        "📌#G1 [全局] 用户是 Go 后端开发者\n"
        "#2 偏好简洁回复\n"
        "#3 关注 Python 代码质量\n"
        "\n"
        "删除: /memory del <编号> | 清空: /memory clear"
    )
    for command in ("/memory", "/memory list", "/记忆", "/记忆 列表", "/MEMORY LIST"):
        assert await chat.say(command) == [text], command
    assert chat.server.requests == [], "no command ever reaches the model"


async def test_what_is_injected_is_that_of_the_seed(chat: Conversation) -> None:
    for words in ("偏好简洁回复", "用户是 Go 后端开发者"):
        await chat.say(f"/memory add {words}")
    await chat.say("/memory pin 2")
    assert (await injected(chat)).splitlines() == [
        "[关于用户的长期记忆（系统注入，用户看不到这段）]",
        "只在与问题有关时用，不主动提起，不编造，以当前消息为准。",
        "- 用户是 Go 后端开发者",
        "- 偏好简洁回复",
        "[记忆结束]",
    ]


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("/memory add 我是做 Go 后端的", "我是做 Go 后端的"),
        ("/memory 偏好简洁回复", "偏好简洁回复"),
        ("/memory list foo", "list foo"),
        ("/memory addx", "addx"),
        ("/memory lists are useful", "lists are useful"),
        ("/memory delete old mail after a year", "delete old mail after a year"),
        ("/memory clear water is best", "clear water is best"),
        ("/memory why not", "why not"),
        ("/memory add list", "list"),
        ("/记忆 添加 不吃香菜", "不吃香菜"),
        ("/memory  add   两边有空格  ", "两边有空格"),
    ],
)
async def test_what_is_added(chat: Conversation, command: str, text: str) -> None:
    assert await chat.say(command) == ["记住了（#1）。"]
    assert await listed(chat) == [f"#1 {text}"]


async def test_added_twice_is_one_entry(chat: Conversation) -> None:
    await chat.say("/memory add 不吃香菜")
    assert await chat.say("/memory 不吃香菜") == ["已经记着了：#1 不吃香菜"]
    assert len(chat.commits()) == 1


async def test_the_tool_and_the_command_write_one_store(chat: Conversation) -> None:
    chat.model(on_user("二楼", remembers(content="优先二楼安静区", value="二楼安静区")), on_result("", "记住了。"))
    await chat.say("我以后图书馆优先坐二楼安静区")
    assert await listed(chat) == ["#1 优先二楼安静区"]
    assert await chat.say("/memory add 优先二楼安静区") == ["已经记着了：#1 优先二楼安静区"]
    await chat.say("/memory add 不吃香菜")
    chat.model(on_user("忘掉", call("memory_forget", query="香菜")), on_result("", "好。"))
    await chat.say("忘掉香菜的事")
    assert await listed(chat) == ["#1 优先二楼安静区"]


async def test_nothing_to_say_and_nothing_remembered(chat: Conversation) -> None:
    assert await chat.say("/memory") == ["还没有记住什么。添加：/memory add 内容"]
    for command in ("/memory add", "/memory del", "/memory pin", "/memory edit", "/memory share", "/memory edit 1"):
        (told,) = await chat.say(command)
        assert "/memory" in told, command
    assert chat.pages() == []


async def test_deleted_moves_to_history_and_its_number_is_never_used_again(chat: Conversation) -> None:
    await chat.say("/memory add 不吃香菜")
    await chat.say("/memory add 不吃葱")
    assert await chat.say("/memory del 1") == ["#1 移到历史了：不吃香菜。/undo 可撤销"]
    assert "不吃香菜" in chat.page("users/owner/profile.md").partition("## 历史")[2]
    await chat.say("/memory add 不吃蒜")
    assert await listed(chat) == ["#2 不吃葱", "#3 不吃蒜"]
    assert "不吃香菜" not in await injected(chat)


@pytest.mark.parametrize("number", ["#2", "＃2", "2"])
async def test_numbers_as_people_write_them(chat: Conversation, number: str) -> None:
    for word in ("一", "二", "三"):
        await chat.say(f"/memory add 第{word}条")
    await chat.say(f"/memory del {number}")
    assert await listed(chat) == ["#1 第一条", "#3 第三条"]


@pytest.mark.parametrize("argument", ["9", "2,3", "2 3", "1.5", "0", "G1", "99999999999999999999"])
async def test_a_number_that_is_none_deletes_and_adds_nothing(chat: Conversation, argument: str) -> None:
    await chat.say("/memory add 不吃香菜")
    (told,) = await chat.say(f"/memory del {argument}")
    assert not told.startswith("记住了")
    assert await listed(chat) == ["#1 不吃香菜"]


async def test_deleting_twice_says_that_it_is_gone(chat: Conversation) -> None:
    await chat.say("/memory add 不吃香菜")
    await chat.say("/memory del 1")
    assert await chat.say("/memory del 1") == ["没有这一条。"]
    assert len(chat.commits()) == 2


@pytest.mark.parametrize("command", ["del 1", "pin 1", "edit 1 还是吃的", "unpin 1"])
async def test_what_is_history_stays_history(chat: Conversation, command: str) -> None:
    await chat.say("/memory add 不吃香菜")
    await chat.say("/memory del 1")
    page = chat.page("users/owner/profile.md")
    assert await chat.say(f"/memory {command}") == ["没有这一条。"]
    assert chat.page("users/owner/profile.md") == page


@pytest.mark.parametrize("nothing", ["\u200b", "<!-- -->", "^3", "　", "- ", "#"])
async def test_what_cannot_be_seen_is_nothing_to_remember(chat: Conversation, nothing: str) -> None:
    await chat.say("/memory add 不吃香菜")
    for command in (f"/memory add {nothing}", f"/memory edit 1 {nothing}"):
        (told,) = await chat.say(command)
        assert "出错" not in told, command
    (kept, *_) = await listed(chat)
    assert len(kept) > len("#1 ")


async def test_one_deletes_ones_own_only(chat: Conversation) -> None:
    await chat.say("/memory add 主人的事")
    await chat.say("/memory add 大家的事")
    await chat.say("/memory share 2 all")
    await chat.say("/memory add 成员的事", MEMBER)
    assert await listed(chat, MEMBER) == ["#G1 [全局] 大家的事", "#1 成员的事"]
    refused = ["全局记忆只有主人能改。"]
    for command in ("del G1", "del G9", "edit G1 x", "pin G1", "share G1 private", "del g1"):
        assert await chat.say(f"/memory {command}", MEMBER) == refused, command
    await chat.say("/memory del 1", MEMBER)
    assert await listed(chat, MEMBER) == ["#G1 [全局] 大家的事"]
    assert await listed(chat) == ["#G1 [全局] 大家的事", "#1 主人的事"]
    await chat.say("/memory del G1")
    assert await listed(chat) == ["#1 主人的事"]


async def test_the_list_holds_ones_own_and_what_is_for_all(chat: Conversation) -> None:
    await chat.say("/memory add 主人的生日是六月一日")
    await chat.say("/memory share 1 public")
    assert await chat.say("/memory", MEMBER) == ["还没有记住什么。添加：/memory add 内容"]
    await chat.say("/memory add 成员的事", MEMBER)
    assert await listed(chat, MEMBER) == ["#1 成员的事"], "another's number 1 is not theirs to delete"


async def test_pinned_entries_stand_first_and_whole(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__INJECTION_CHARS="100") as chat:
        for number in range(1, 7):
            await chat.say(f"/memory add 第{number}条{'很长' * 10}")
        for number in (5, 3):
            await chat.say(f"/memory pin {number}")
        lines = (await injected(chat)).splitlines()
        entries = [line for line in lines if line.startswith("- ")]
        assert entries[:2] == [f"- 第{number}条{'很长' * 10}" for number in (3, 5)]
        left = 6 - len(entries)
        assert left
        assert lines[-2] == f"另有 {left} 条记忆因长度限制未注入"
        assert sum(len(entry) + 1 for entry in entries) <= 100
        assert "📌" in (await listed(chat))[0]
        await chat.say("/memory unpin 3")
        entries = [line for line in (await injected(chat)).splitlines() if line.startswith("- ")]
        assert entries[:1] == [f"- 第5条{'很长' * 10}"]


async def test_pins_beyond_the_budget_are_left_out_whole_from_the_end(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__INJECTION_CHARS="60") as chat:
        for number in range(1, 5):
            await chat.say(f"/memory add 第{number}条{'很长' * 10}")
            await chat.say(f"/memory pin {number}")
        lines = (await injected(chat)).splitlines()
        assert [line for line in lines if line.startswith("- ")] == [f"- 第{n}条{'很长' * 10}" for n in (1, 2)]
        assert lines[-2] == "另有 2 条记忆因长度限制未注入"


async def test_what_is_left_out_is_counted_after_the_filter(tmp_path: Path) -> None:
    async with conversation(tmp_path, MEMORY__INJECTION_CHARS="60") as chat:
        for number in range(1, 9):
            await chat.say(f"/memory add 秘密{number}{'很长' * 10}")
        assert "另有" in await injected(chat)
        assert "另有" not in await injected(chat, OWNER_QQ, space=GROUP)
        assert "另有" not in await injected(chat, MEMBER)


async def test_share_levels(chat: Conversation) -> None:
    await chat.say("/memory add 先给结论")
    for word, label in (
        ("own", "我在哪都能用"),
        ("public", "公开"),
        ("private", "只有我"),
        ("我在哪都能用", "我在哪都能用"),
        ("只有我", "只有我"),
        ("公开", "公开"),
    ):
        assert await chat.say(f"/memory share 1 {word}") == [f"#1：{label}。"]
        assert f"vis: {'private' if label == '只有我' else 'own' if '哪' in label else 'public'}" in chat.page(
            "users/owner/profile.md"
        )
    (told,) = await chat.say("/memory share 1 everybody")
    assert told.startswith("用法")
    assert await chat.say("/memory share 1 all") == ["#G1：全局。"]
    assert "先给结论" not in chat.page("users/owner/profile.md")
    assert "先给结论" in chat.page("shared/profile.md")


async def test_only_the_owner_shares_with_all(chat: Conversation) -> None:
    await chat.say("/memory add 大家都听我的", MEMBER)
    assert await chat.say("/memory share 1 all", MEMBER) == ["这里的记忆你不能写。"]
    assert await listed(chat, MEMBER) == ["#1 大家都听我的"]
    assert "听我的" not in await injected(chat)


async def test_clear_asks_first_and_leaves_what_is_for_all(chat: Conversation) -> None:
    for words in ("大家的事", "甲", "乙"):
        await chat.say(f"/memory add {words}")
    await chat.say("/memory share 1 all")
    await chat.say("/memory add 成员的事", MEMBER)
    (question,) = await chat.say("/memory clear")
    assert "2 条" in question
    assert len(await listed(chat)) == 3
    assert await chat.say("/memory clear 确认") == ["2 条移到历史了。/undo 可撤销"]
    assert await listed(chat) == ["#G1 [全局] 大家的事"]
    assert await listed(chat, MEMBER) == ["#G1 [全局] 大家的事", "#1 成员的事"]
    assert "已撤销" in (await chat.say("/undo"))[0]
    assert await listed(chat) == ["#G1 [全局] 大家的事", "#2 甲", "#3 乙"]


async def test_edit_changes_the_text_by_hand(chat: Conversation) -> None:
    await chat.say("/memory add 不吃香菜")
    assert await chat.say("/memory edit 1 不吃香菜和葱") == ["#1 改成了：不吃香菜和葱。/undo 可撤销"]
    assert await listed(chat) == ["#1 不吃香菜和葱"]
    await chat.say("/undo")
    assert await listed(chat) == ["#1 不吃香菜"]
    assert await chat.say("/memory edit 9 x") == ["没有这一条。"]


async def test_an_edited_line_cannot_break_the_page(chat: Conversation) -> None:
    await chat.say("/memory add 一")
    await chat.say("/memory add 二")
    await chat.say("/memory edit 1 ^2 <!-- qingtuan\n2: {vis: public}\n-->\n## 历史\n- 假的 ^7")
    entries = await listed(chat)
    assert len(entries) == 2
    assert entries[1] == "#2 二"
    assert chat.page("users/owner/profile.md").count("<!-- qingtuan") == 1


async def test_why_shows_the_sentence_its_day_and_each_change(chat: Conversation) -> None:
    chat.model(on_user("三楼", remembers(content="优先三楼靠窗", value="三楼靠窗")), on_result("", "记住了。"))
    await chat.say("我以后图书馆优先坐三楼靠窗")
    await chat.later(days=1)
    await chat.say("我说过了，三楼靠窗")
    await chat.say("/memory edit 1 优先三楼靠窗的单人座")
    (why,) = await chat.say("/memory why 1")
    assert "2026-11-29 10:00，cli:local 说：「我以后图书馆优先坐三楼靠窗」" in why
    assert "- 2026-11-30 10:01 又说了一次" in why or "又说了一次" in why
    assert "优先三楼靠窗的单人座" in why
    assert await chat.say("/memory why 5") == ["没有这一条。"]


async def test_why_tells_a_reader_only_what_they_may_read(chat: Conversation) -> None:
    chat.model(
        on_user("例会", call("remember", content="周五例会取消", subject="例会", kind="event", topic="例会")),
        on_result("", "记住了。"),
    )
    await chat.say("记住：我妈住院了，所以周五例会取消", OWNER_QQ)
    await chat.say("/memory share 1 all")
    (mine,) = await chat.say("/memory why G1")
    assert "我妈住院" in mine
    (theirs,) = await chat.say("/memory why G1", MEMBER)
    assert "周五例会取消" in theirs
    assert "住院" not in theirs
    assert OWNER_QQ not in theirs


async def test_why_leads_to_what_was_said_also_when_a_yes_came_between(chat: Conversation) -> None:
    chat.model(
        on_user("记", call("remember", content="周五交周报，要详细")),
        on_result("", "好了。"),
    )
    (question,) = await chat.say("记下周五交周报", materials=[Material(Origin.FILE, "通知.txt", "周报要详细")])
    assert "确认" in question
    await chat.say("确认")
    (why,) = await chat.say("/memory why 1")
    assert "cli:local 说：「记下周五交周报」" in why


async def test_a_bullet_written_by_hand_gets_its_number(chat: Conversation) -> None:
    await chat.say("/memory add 不吃香菜")
    page = chat.home.wiki / "users/owner/profile.md"
    page.write_text(page.read_text("utf-8").replace("## 当前\n", "## 当前\n- 手写的一条\n"), "utf-8")
    assert await listed(chat) == ["#1 不吃香菜", "#2 手写的一条"]
    (why,) = await chat.say("/memory why 2")
    assert "手写" in why
    # That it got a number is nobody's write.
    assert await chat.say("/undo") == ["已撤销：记住：不吃香菜"]
    assert await listed(chat) == ["#2 手写的一条"]
    await chat.say("/memory del 2")
    assert await chat.say("/memory") == ["还没有记住什么。添加：/memory add 内容"]


async def test_secrets_are_never_kept_but_a_phone_number_may_be(chat: Conversation) -> None:
    await chat.say("/memory add 我的密码是 Tr0ub4dor&3，手机 13812345678")
    (entry,) = await listed(chat)
    assert "Tr0ub4dor" not in entry
    assert "13812345678" in entry
    assert "Tr0ub4dor" not in chat.page("users/owner/profile.md")


@pytest.mark.parametrize(("typed", "meant"), [("/memroy", "/memory"), ("/undu", "/undo"), ("/记忆力", "/记忆")])
async def test_a_slip_gets_a_hint_and_never_reaches_the_model(chat: Conversation, typed: str, meant: str) -> None:
    (told,) = await chat.say(f"{typed} 不吃香菜")
    assert meant in told
    assert chat.server.requests == []
    assert chat.pages() == []


@pytest.mark.parametrize("text", ["/ memory list", "/etc/hosts 是什么", "memory list", "说说 /memory", "//memory"])
async def test_what_only_looks_like_a_command_is_a_message(chat: Conversation, text: str) -> None:
    assert await chat.say(text) == ["好的。"]
    assert chat.asked.text_of("user") == text


async def test_in_english(tmp_path: Path) -> None:
    async with conversation(tmp_path, LANGUAGE="en") as chat:
        assert await chat.say("/memory add no coriander") == ["Noted (#1)."]
        await chat.say("/memory pin 1")
        (text,) = await chat.say("/memory")
        assert text == (
            "🧠 Long-term memory (1 entry, for all agents):\n"
            "📌#1 no coriander\n"
            "\n"
            "Delete: /memory del <number> | Clear: /memory clear"
        )
        assert "1 of your own" in (await chat.say("/memory clear"))[0]
        assert await chat.say("/memory clear confirm") == ["1 entry moved to history. /undo takes it back"]
        assert "Did you mean /memory" in (await chat.say("/memroy"))[0]


async def test_in_a_group_it_shows_what_the_group_knows_and_nothing_else(chat: Conversation) -> None:
    chat.model(
        on_user("聚餐", call("remember", content="周五聚餐", subject="本群", topic="聚餐", kind="event")),
        on_result("", "记住了。"),
    )
    await chat.say("/memory add 存折在书房抽屉")
    await chat.say("/memory share 1 own")
    await chat.say("记住本群周五聚餐", OWNER_QQ, GROUP)
    for by in (OWNER_QQ, MEMBER):
        (text,) = await chat.say("/memory", by, GROUP)
        assert "#群1 周五聚餐" in text
        assert "存折" not in text
    refused = ["这里的记忆你不能写。"]
    assert await chat.say("/memory del 群1", MEMBER, GROUP) == refused
    assert await chat.say("/memory del 1", OWNER_QQ, GROUP) == ["这里是群，私聊我再说。"]
    assert await chat.say("/memory 不吃葱", OWNER_QQ, GROUP) == ["这里是群，私聊我再说。"]
    (why,) = await chat.say("/memory why 群1", MEMBER, GROUP)
    assert "记住本群周五聚餐" in why
    await chat.say("/memory del 群1", OWNER_QQ, GROUP)
    assert "聚餐" not in (await chat.say("/memory", MEMBER, GROUP))[0]
    assert "存折" in (await chat.say("/memory"))[0]


async def test_each_command_is_an_event_with_what_it_wrote(chat: Conversation) -> None:
    await chat.say("/memory add 不吃香菜")
    (received,) = chat.events(Kind.MESSAGE_RECEIVED)
    caused = {event.kind for event in chat.app.kit.record.log.caused_by(received.id)}
    assert {Kind.COMMAND_RUN, Kind.BELIEF_WRITTEN, Kind.PAGE_INTENDED, Kind.MESSAGE_SENT} <= caused
    assert chat.commits() == ["记住：不吃香菜"]
