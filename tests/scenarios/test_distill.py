"""Past talk gone through once more, when somebody asks: all that is found waits for their word (memory.md, 4)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Asked, Reply, Rule, on_user
from tests.scenarios.test_review import concluded

LI, MING = "qq:10002", "qq:10003"
GROUP, HOME = Space("group", "qq:777"), Space("private", "cli:local")
QUIET: dict[str, Any] = {"MEMORY__POLICY_PRIVATE": "manual"}
"""Nothing is read on its own, so that all that is found was found by going through it."""
PEOPLE: dict[str, Any] = {
    **QUIET,
    "ACCESS__MEMBERS": f'["{LI}", "{MING}"]',
    "ACCESS__GROUPS": '["qq:777"]',
    "OWNER__ACCOUNTS": '["qq:10001"]',
}

Find = Callable[[list[str]], Iterable[dict[str, object]]]


def distiller(find: Find) -> Rule:
    """What is found in the rows of a question."""

    def answer(asked: Asked) -> Reply:
        rows = [line for line in asked.text_of("user").splitlines() if line.startswith("#")]
        return Reply(json.dumps({"candidates": list(find(rows))}, ensure_ascii=False))

    return Rule(lambda asked: not asked.tools, [answer])


def by_word(**wanted: dict[str, object]) -> Find:
    """Finds a candidate in each row that holds its word."""

    def find(rows: list[str]) -> Iterable[dict[str, object]]:
        for number, row in enumerate(rows, 1):
            for word, candidate in wanted.items():
                if word in row:
                    yield {**candidate, "message": number}

    return find


TEA = concluded("爱喝茶", "我爱喝茶", predicate="饮料", explicit=True)
TRIP = concluded("去上海开会", "去上海开会", predicate="行程", type="event", explicit=True)


def questions(chat: Conversation) -> list[str]:
    return [asked.text_of("user") for asked in chat.server.requests if not asked.tools]


async def distill(chat: Conversation, words: str = "/distill", by: str = "cli:local", space: Space = HOME) -> list[str]:
    """What is answered at once, and what is told at the end."""
    said = await chat.say(words, by, space)
    await chat.done()
    return [*said, *chat.deliver(space)]


async def test_what_is_found_waits_with_its_source(tmp_path: Path) -> None:
    async with Conversation(tmp_path, **QUIET) as chat:
        chat.model(distiller(by_word(茶=TEA, 上海=TRIP)), on_user("", "好的。"))
        await chat.say("我爱喝茶，你呢")
        await chat.say("下周三去上海开会，别忘了")
        await chat.later(seconds=61)
        assert questions(chat) == []
        begun, told = await distill(chat)
        assert begun == "在看 2026-11-23~2026-11-29 说过的 2 条话，分 1 段问模型。看完告诉你。"
        assert told.splitlines()[0] == "看完了，找出 2 条可能要记的。"
        assert "问了 1 次模型，" in told
        assert chat.pages() == []
        (listed,) = await chat.say("/审核")
        assert "1. 饮料：爱喝茶" in listed
        assert "2026-11-29 周日你说：「我爱喝茶，你呢」" in listed
        assert "整理 2026-11-23~2026-11-29 的聊天时看到的。" in listed
        assert "去上海开会（2026-12-02）" in listed
        assert (await chat.say("/审核 留 全部"))[0].count("记住了") == 2
        assert "爱喝茶" in "".join(map(chat.page, chat.pages()))


async def test_what_is_known_or_was_not_wanted_is_not_proposed_again(tmp_path: Path) -> None:
    async with Conversation(tmp_path, **QUIET) as chat:
        chat.model(distiller(by_word(茶=TEA, 上海=TRIP)), on_user("", "好的。"))
        await chat.say("我爱喝茶，你呢")
        await chat.say("下周三去上海开会，别忘了")
        await distill(chat)
        await chat.say("/审核 留 1")
        await chat.say("/审核 不要 2")
        told = (await distill(chat))[-1]
        assert told.splitlines()[0] == "看完了，没有新的要记。"
        assert await chat.say("/审核") == ["没有等你点头的事。"]
        # Taken back, it was not wanted either: it waits again under its old number, and is no new one.
        await chat.say("/undo")
        await distill(chat)
        assert [line for line in (await chat.say("/审核"))[0].splitlines() if line[:1].isdigit()] == ["1. 饮料：爱喝茶"]


async def test_evidence_is_asked_for_as_always(tmp_path: Path) -> None:
    async with Conversation(tmp_path, **QUIET) as chat:
        made_up = concluded("John Doe", "我叫 John Doe", predicate="名字", type="profile", explicit=True)
        rule = concluded("回答要短", "以后回答短一点", predicate="回答", type="rule", explicit=True)
        chat.model(distiller(by_word(你好=made_up, 短=rule, 茶=TEA)), on_user("", "我叫 John Doe。"))
        await chat.say("你好呀，今天过得怎么样，我在写作业")
        await chat.say("以后回答短一点吧，谢谢")
        await chat.say("我们来玩角色扮演，你当茶商，我爱喝茶")
        await distill(chat)
        assert await chat.say("/审核") == ["没有等你点头的事。"]
        assert "角色扮演" not in questions(chat)[0]
        assert "John Doe" not in questions(chat)[0]  # what the assistant said is not read


async def test_a_period_bounds_what_is_read(tmp_path: Path) -> None:
    async with Conversation(tmp_path, **QUIET) as chat:
        chat.model(distiller(by_word(茶=TEA)), on_user("", "好的。"))
        await chat.say("我爱喝茶，你呢")
        await chat.later(days=3)
        await chat.say("我在写作业，好难啊")
        (refused,) = await chat.say("/distill 昨天")
        assert refused == "2026-12-01 没有可以整理的话。"
        begun, told = await distill(chat, "/提炼 2026-11-29")
        assert "1 条话" in begun
        assert "找出 1 条" in told
        assert "作业" not in questions(chat)[0]
        assert "看不懂是哪段时间" in (await chat.say("/distill 随便"))[0]


async def test_each_reads_their_own_words_alone(tmp_path: Path) -> None:
    async with Conversation(tmp_path, **PEOPLE) as chat:
        chat.model(distiller(by_word(茶=TEA)), on_user("", "好的。"))
        await chat.say("我爱喝茶，你呢", LI)
        await chat.say("我在写作业，好难啊")
        begun, told = await distill(chat)
        assert "1 条话" in begun
        assert "没有新的" in told
        assert "茶" not in questions(chat)[0]
        assert "找出 1 条" in (await distill(chat, "/distill", LI, Space("private", LI)))[-1]
        assert await chat.say("/review") == ["没有等你点头的事。"]


async def test_in_a_group_only_what_the_group_may_see_is_read(tmp_path: Path) -> None:
    meeting = concluded("周五开会", "我们群周五开会", subject="本群", predicate="例会", type="fact", explicit=True)
    async with Conversation(tmp_path, **PEOPLE) as chat:
        chat.model(distiller(by_word(茶=TEA, 周五=meeting)), on_user("", "好的。"))
        await chat.say("我爱喝茶，这是私下说的", "qq:10001")
        await chat.say("我爱喝茶，你们呢", LI, GROUP)
        await chat.say("我们群周五开会，都记一下", "qq:10001", GROUP)
        begun, told = await distill(chat, "/distill", "qq:10001", GROUP)
        assert "2 条话" in begun
        assert told.splitlines()[0] == "看完了，找出 1 条可能要记的。"
        assert "各自私聊里" in told
        assert "周五" not in told
        assert "私下" not in questions(chat)[0]
        (listed,) = await chat.say("/review", "qq:10001")
        assert "本群的例会：周五开会（记给群 qq:777）" in listed
        assert await chat.say("/review", LI) == ["没有等你点头的事。"]  # Li's own words are Li's to go through
        # Who may not write for the group reads their own words there, and no others.
        begun, told = await distill(chat, "/distill", LI, GROUP)
        assert "1 条话" in begun
        assert "饮料：爱喝茶" in (await chat.say("/review", LI))[0]


async def test_guests_have_nothing_to_go_through(tmp_path: Path) -> None:
    async with Conversation(tmp_path, **{**PEOPLE, "ACCESS__TRIAL": "9"}) as chat:
        await chat.say("我爱喝茶，你呢", "qq:99999")
        assert "不能写" in (await chat.say("/distill", "qq:99999"))[0]
        assert questions(chat) == []


async def test_much_is_asked_in_chunks_and_a_failure_loses_no_other(tmp_path: Path) -> None:
    async with Conversation(tmp_path, **QUIET) as chat:
        refused = Rule(
            lambda asked: not asked.tools and "第40句" in asked.text_of("user"),
            [Reply(json.dumps({"error": {"message": "content filter", "code": "content_filter"}}), status=400)],
        )
        chat.model(refused, distiller(by_word(茶=TEA)), on_user("", "好的。"))
        for number in range(70):
            await chat.say(f"这是我说的第{number}句话，" + ("我爱喝茶" if number == 65 else "没别的"))
        begun, told = await distill(chat)
        assert "70 条话，分 3 段" in begun
        assert "找出 1 条" in told
        assert "有 1 段模型没看成" in told


async def test_its_cost_is_its_person_s(tmp_path: Path) -> None:
    async with Conversation(tmp_path, **PEOPLE) as chat:
        chat.model(distiller(by_word(茶=TEA)), on_user("", "好的。"))
        await chat.say("我爱喝茶，你呢", LI)
        await distill(chat, "/distill", LI, Space("private", LI))
        (answered,) = [e for e in chat.events(Kind.MODEL_ANSWERED) if e.payload.get("purpose") == "distill"]
        assert answered.place.person == "qq-10002"


async def test_rules_hold_here_too(tmp_path: Path) -> None:
    async with Conversation(tmp_path, **QUIET) as chat:
        chat.model(distiller(by_word(茶=TEA)), on_user("", "好的。"))
        await chat.say("我爱喝茶，你呢")
        await chat.say("/memory never 茶")
        await distill(chat)
        assert await chat.say("/review") == ["没有等你点头的事。"]
        assert "从不记住：茶" in questions(chat)[0]
