"""What is always and what is never remembered, in plain words on a page that the owner can edit; code goes by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import call, on_result, on_user
from tests.scenarios.test_review import concluded, extractor

LI = "qq:10002"
GROUP = Space("group", "qq:777")
PEOPLE: dict[str, Any] = {"ACCESS__MEMBERS": f'["{LI}"]', "ACCESS__GROUPS": '["qq:777"]'}
WEIGHT = concluded("体重 70 公斤", "体重 70 公斤了", predicate="体重", type="profile", topic="", explicit=True)
TEA = concluded("爱喝茶", "爱喝茶", predicate="饮料", explicit=True)


def wiki(chat: Conversation, *paths: str) -> str:
    """What stands on the pages of people."""
    return "".join(chat.page(path) for path in chat.pages() if not path.endswith("remembering.md"))


def withheld(chat: Conversation) -> list[str]:
    return [event.payload["rule"] for event in chat.events(Kind.BELIEF_WITHHELD)]


async def test_what_is_never_to_be_remembered_is_found_and_dropped(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        assert await chat.say("/memory never 体重、血压") == ["好，聊到「体重、血压」从不记。/undo 可撤销"]
        chat.model(extractor([WEIGHT, TEA]), on_user("", "好的。"))
        await chat.say("我体重 70 公斤了，另外我现在爱喝茶")
        await chat.later(seconds=61)
        assert "爱喝茶" in wiki(chat)
        assert "公斤" not in wiki(chat)
        assert withheld(chat) == ["体重、血压"]
        assert chat.events(Kind.BELIEF_PROPOSED) == []
        # The model was told, too.
        (asked,) = [asked for asked in chat.server.requests if not asked.tools]
        assert "从不记住：体重、血压" in asked.text_of("user")


async def test_a_tool_does_not_get_around_it_and_an_explicit_word_does(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await chat.say("/记忆 从不 体重")
        chat.model(
            on_user("公斤", call("remember", content="体重 70 公斤", predicate="体重", value="70 公斤")),
            on_result("没有记", "好，这个不记。"),
            on_result("记下了", "记住了。"),
        )
        assert await chat.say("我 70 公斤了") == ["好，这个不记。"]
        assert wiki(chat) == ""
        assert (await chat.say("记住我 70 公斤了"))[0].startswith("记住了。")
        assert "70 公斤" in wiki(chat)
        assert "记住了" in (await chat.say("/memory add 体重降到 68 公斤"))[0]


async def test_what_is_always_to_be_remembered_does_not_wait(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await chat.say("/memory always 课表、考试")
        exam = concluded("周五考高数", "我们的考试挪到周五了，考高数", predicate="考试", topic="学校")
        tea = concluded("常喝茶", "最近常喝茶", message=2, predicate="饮料")
        made_up = concluded("高数老师姓王", "考试由王老师出题", predicate="考试")
        chat.model(extractor([exam, tea, made_up]), on_user("", "好的。"))
        await chat.say("我们的考试挪到周五了，考高数")
        await chat.say("最近常喝茶，睡不着")
        await chat.later(seconds=61)
        assert "总是记住：课表、考试" in chat.asked.text_of("user")
        assert "考高数" in wiki(chat)
        assert "喝茶" not in wiki(chat)
        assert "王" not in wiki(chat)  # the evidence must stand all the same
        assert "饮料" in (await chat.say("/review"))[0]


async def test_under_review_it_is_written_at_once(tmp_path: Path) -> None:
    async with Conversation(tmp_path, MEMORY__POLICY_PRIVATE="review") as chat:
        await chat.say("/memory always 考试")
        exam = concluded("周五考高数", "考试挪到周五了，考高数", predicate="考试", explicit=False, topic="学校")
        chat.model(extractor([exam]), on_user("", "好的。"))
        await chat.say("考试挪到周五了，考高数")
        await chat.later(seconds=61)
        assert "考高数" in wiki(chat)
        assert "inferred" in wiki(chat)  # so it displaces nothing that was said outright
        assert await chat.say("/review") == ["没有等你点头的事。"]
        assert len(chat.commits()) == 2


async def test_the_owner_s_rules_hold_for_all_and_nobody_else_makes_them(tmp_path: Path) -> None:
    async with Conversation(tmp_path, **PEOPLE) as chat:
        assert "只有主人能定" in (await chat.say("/memory never 全局：体重", LI))[0]
        assert await chat.say("/memory never 全局：体重") == ["[全局] 好，聊到「体重」从不记。/undo 可撤销"]
        assert chat.pages() == ["shared/remembering.md"]
        chat.model(extractor([WEIGHT]), on_user("", "好的。"))
        await chat.say("我体重 70 公斤了", LI)
        await chat.later(seconds=61)
        assert withheld(chat) == ["体重"]
        assert "从不记「体重」" in (await chat.say("/memory add 体重 70 公斤", LI))[0]
        assert "记住了" in (await chat.say("/memory add 体重 60 公斤"))[0]
        (listed,) = await chat.say("/memory never", LI)
        assert listed.splitlines()[:2] == ["从不记住：", "G1. [全局] 体重"]
        assert "只有主人能定" in (await chat.say("/memory never del G1", LI))[0]


async def test_a_person_s_own_rule_is_theirs_alone(tmp_path: Path) -> None:
    async with Conversation(tmp_path, **PEOPLE) as chat:
        await chat.say("/memory never 体重", LI)
        chat.model(extractor([WEIGHT]), on_user("", "好的。"))
        await chat.say("我体重 70 公斤了")
        await chat.later(seconds=61)
        assert "70 公斤" in wiki(chat)
        assert "从不记住" not in "".join(asked.text_of("user") for asked in chat.server.requests)
        assert "没有定" in (await chat.say("/memory never"))[0]
        # In a group its list is told in private only.
        assert "私聊" in (await chat.say("/memory never", LI, GROUP))[0]


async def test_rules_are_listed_taken_away_and_edited_by_hand(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        assert "没有定" in (await chat.say("/memory always"))[0]
        await chat.say("/memory always 考试")
        await chat.say("/memory always 课表")
        (listed,) = await chat.say("/memory 总是")
        assert listed.splitlines() == ["总是记住：", "1. 考试", "2. 课表", "去掉：/memory 总是|从不 删除 编号"]
        assert "去掉了：考试" in (await chat.say("/memory always del 1"))[0]
        assert "没有这一条" in (await chat.say("/memory always del 9"))[0]
        page = chat.home.wiki / "users/owner/rules/remembering.md"
        page.write_text(page.read_text("utf-8").replace("- 课表", "- 作业"), "utf-8")
        assert "1. 作业" in (await chat.say("/memory always"))[0]
        # The page holds rules and no entries.
        assert "还没有记住什么" in (await chat.say("/memory"))[0]
