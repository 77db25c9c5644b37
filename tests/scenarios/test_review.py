"""What was only concluded waits for a person's word: `/review`, and once a week a question in private (memory.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.booking import Bookings, books
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Asked, Reply, Rule, on_user

LI = "qq:10002"
GROUP, HOME = Space("group", "qq:777"), Space("private", "cli:local")


def concluded(value: str, evidence: str, message: int = 1, **fields: object) -> dict[str, object]:
    """What the extractor concludes from a message, without its having been said in so many words."""
    return {
        "message": message,
        "type": "preference",
        "topic": "饮食",
        "subject": "我",
        "predicate": "口味",
        "value": value,
        "since": "",
        "until": "",
        "confidence": 0.9,
        "explicit": False,
        "evidence": evidence,
        **fields,
    }


def extractor(*answers: Iterable[dict[str, object]]) -> Rule:
    """What is found in one stretch after the other; nothing in the last."""
    replies = [Reply(json.dumps({"candidates": list(found)}, ensure_ascii=False)) for found in (*answers, [])]
    return Rule(lambda asked: not asked.tools and _is_extraction(asked), replies)


def _is_extraction(asked: Asked) -> bool:
    return "evidence" in json.dumps(asked.body, ensure_ascii=False)


async def conclude(chat: Conversation, *said: str, by: str = "cli:local", quiet: bool = True) -> None:
    """Things from which something is concluded, a minute of quiet after each."""
    for words in said:
        await chat.say(words, by)
        if quiet:
            await chat.later(seconds=61)


DISHES = ("川菜", "米线", "豆花")


def dishes(names: Iterable[str] = DISHES) -> list[list[dict[str, object]]]:
    return [[concluded(f"常吃{name}", f"最近老是去吃{name}", predicate=f"常吃的菜{name}")] for name in names]


async def start(chat: Conversation, names: Iterable[str] = DISHES, by: str = "cli:local") -> None:
    """So many things wait for the word of whoever said them."""
    chat.model(extractor(*dishes(names)), on_user("", "好的。"))
    await conclude(chat, *(f"最近老是去吃{name}，真香" for name in names), by=by)


async def test_what_waits_is_listed_accepted_and_rejected(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await start(chat)
        assert chat.pages() == []
        (listed,) = await chat.say("/审核")
        lines = listed.splitlines()
        assert lines[0] == "有 3 条等你点头："
        assert lines[1:4] == [
            "1. 常吃的菜川菜：常吃川菜",
            "   2026-11-29 周日你说：「最近老是去吃川菜，真香」",
            "   没有明说，是从聊天里看出来的。",
        ]
        (told,) = await chat.say("/审核 留 1、3")
        assert told.splitlines() == [
            "1. 记住了：#1 常吃的菜川菜：常吃川菜",
            "3. 记住了：#2 常吃的菜豆花：常吃豆花",
            "/undo 可撤销",
        ]
        assert len(chat.commits()) == 1
        (told,) = await chat.say("/review reject 2")
        assert told == "2. 不记了：常吃的菜米线：常吃米线"
        assert await chat.say("/review") == ["没有等你点头的事。"]
        assert await chat.say("/review accept 2 9") == ["2. 已经定过了。\n没有 9 这一条。"]
        # Taken back, both wait again under their old numbers.
        await chat.say("/undo")
        (listed,) = await chat.say("/review")
        assert [line[:2] for line in listed.splitlines() if line[:1].isdigit()] == ["1.", "3."]
        (told,) = await chat.say("/审核 留 全部")
        assert told.count("记住了") == 2


async def test_in_other_words(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await start(chat, ["川菜"])
        (told,) = await chat.say("/审核 改 1 喜欢川菜，少放辣")
        assert told.startswith("1. 记住了：#1 喜欢川菜，少放辣")
        assert "how: manual" in "".join(map(chat.page, chat.pages()))
        assert "用法" in (await chat.say("/审核 改 1"))[0]
        assert "用法" in (await chat.say("/审核 想想"))[0]
        assert "编号" in (await chat.say("/审核 留"))[0]


async def test_each_decides_about_their_own_and_in_private(tmp_path: Path) -> None:
    async with Conversation(tmp_path, ACCESS__MEMBERS=f'["{LI}"]', ACCESS__GROUPS='["qq:777"]') as chat:
        await start(chat, ["川菜"], by=LI)
        assert await chat.say("/review") == ["没有等你点头的事。"]
        assert "1. 已经" not in (await chat.say("/review accept 1"))[0]
        assert "私聊" in (await chat.say("/review", LI, GROUP))[0]
        assert "私聊" in (await chat.say("/审核 留 1", LI, GROUP))[0]
        assert chat.pages() == []
        assert "记住了" in (await chat.say("/review accept 1", LI))[0]
        assert chat.pages() == ["users/qq-10002/preferences/饮食.md"]


async def test_an_edited_message_is_no_word(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await start(chat, ["川菜"])
        assert "改过的消息不算" in (await chat.say("/review accept 1", edited=True))[0]
        assert chat.pages() == []


async def test_what_waits_survives_a_restart(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await start(chat, ["川菜"])
        await chat.restart()
        assert "记住了：#1" in (await chat.say("/review accept 1"))[0]
        assert [event.payload["verdict"] for event in chat.events(Kind.BELIEF_REVIEWED)] == ["accepted"]


# Once a week


async def a_week(chat: Conversation, space: Space = HOME) -> list[str]:
    """A day passes, and what is said then on its own: it is asked at ten in the morning."""
    await chat.later(days=1)
    return chat.deliver(space)


async def test_once_a_week_a_person_is_asked_and_answers_with_numbers(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await start(chat)
        (asked,) = await a_week(chat)
        assert asked.splitlines() == [
            "想记住这 3 条吗？",
            "1. 常吃的菜川菜：常吃川菜",
            "2. 常吃的菜米线：常吃米线",
            "3. 常吃的菜豆花：常吃豆花",
            "回复要留的编号，例如 1 2；都要、都不要也行。不回就不记。",
        ]
        requests = len(chat.server.requests)
        (told,) = await chat.say("1、3")
        assert told.splitlines()[:2] == ["1. 记住了：#1 常吃的菜川菜：常吃川菜", "3. 记住了：#2 常吃的菜豆花：常吃豆花"]
        assert len(chat.server.requests) == requests  # by code, before any model
        assert len(chat.commits()) == 1
        assert "2. 常吃的菜米线" in (await chat.say("/review"))[0]
        # Each thing is asked about once.
        await chat.later(days=8)
        assert chat.deliver(HOME) == []


async def test_all_none_and_what_is_left(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        names = ["川菜", "米线", "豆花", "火锅", "串串", "凉面", "冰粉"]
        await start(chat, names)
        (asked,) = await a_week(chat)
        assert "5. " in asked
        assert "6. " not in asked
        assert asked.splitlines()[-1] == "还有 2 条：/review"
        assert (await chat.say("都不要"))[0].count("不记了") == 5
        await chat.later(days=8)
        (asked,) = chat.deliver(HOME)
        assert asked.splitlines()[:3] == ["想记住这 2 条吗？", "6. 常吃的菜凉面：常吃凉面", "7. 常吃的菜冰粉：常吃冰粉"]
        assert (await chat.say("都要"))[0].count("记住了") == 2


async def test_anything_else_is_talk_and_then_numbers_are_too(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await start(chat)
        await a_week(chat)
        assert await chat.say("今天周几？") == ["好的。"]
        assert await chat.say("1 3") == ["好的。"]
        assert chat.pages() == []
        # Quoting the question says what is meant, whatever was said since.
        question = chat.events(Kind.REVIEW_ASKED)[0]
        (sent,) = [event for event in chat.events(Kind.MESSAGE_SENT) if event.cause == question.id]
        assert "记住了" in (await chat.say("1 3 留", quotes=f"p-{sent.id}"))[0]


async def test_numbers_that_were_not_asked_about_are_talk(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await start(chat)
        await a_week(chat)
        assert await chat.say("42") == ["好的。"]
        assert chat.events(Kind.BELIEF_REVIEWED) == []


async def test_numbers_without_any_question_are_talk(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await start(chat, ["川菜"])
        assert await chat.say("1") == ["好的。"]


async def test_nobody_is_asked_at_night_or_in_the_middle_of_a_talk(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await start(chat)
        await chat.later(hours=24 + 13)  # eleven at night
        assert chat.events(Kind.REVIEW_ASKED) == []
        await chat.later(hours=11)  # ten in the morning
        assert len(chat.events(Kind.REVIEW_ASKED)) == 1
    async with Conversation(tmp_path / "talk") as chat:
        await start(chat)
        await chat.later(hours=23, minutes=55)
        await chat.later(minutes=5)
        await chat.say("还在吗")
        await chat.later(minutes=6)
        assert chat.events(Kind.REVIEW_ASKED) == []
        await chat.later(minutes=12)
        assert len(chat.events(Kind.REVIEW_ASKED)) == 1


async def test_nobody_is_asked_while_a_question_is_open_there(tmp_path: Path) -> None:
    bookings, patience = Bookings(tmp_path / "bookings.jsonl"), '{"book_seat": 6000}'
    async with Conversation(tmp_path, tools={"booking": bookings}, CONFIRMATIONS__TOOL_MINUTES=patience) as chat:
        await start(chat)
        chat.model(on_user("订座", books()))
        await chat.say("订座")
        await chat.later(days=1)
        assert chat.events(Kind.REVIEW_ASKED) == []
        await chat.say("取消")
        await chat.later(minutes=20)
        assert len(chat.events(Kind.REVIEW_ASKED)) == 1


async def test_members_are_asked_where_they_last_wrote_and_guests_never(tmp_path: Path) -> None:
    async with Conversation(tmp_path, ACCESS__MEMBERS=f'["{LI}"]') as chat:
        await start(chat, by=LI)
        assert await a_week(chat) == []
        (asked,) = chat.deliver(Space("private", LI))
        assert "想记住这 3 条吗" in asked
        assert "记住了" in (await chat.say("2", LI))[0]
        assert chat.pages() == ["users/qq-10002/preferences/饮食.md"]
    # Whoever is a member no more is not asked.
    async with Conversation(tmp_path / "guest", ACCESS__MEMBERS=f'["{LI}"]') as chat:
        await start(chat, by=LI)
        await chat.stop()
        chat._environ["ACCESS__MEMBERS"] = "[]"
        await chat.start()
        await chat.later(days=1)
        assert chat.events(Kind.REVIEW_ASKED) == []


async def test_nothing_is_asked_twice_by_the_next_process(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await start(chat)
        await chat.later(days=1)  # asked, and not yet handed over when the process ends
        await chat.restart()
        await chat.later(days=1)
        await chat.restart()
        await chat.later(days=9)
        assert len(chat.events(Kind.REVIEW_ASKED)) == 1
        (asked,) = chat.deliver(HOME)
        assert "想记住这 3 条吗" in asked


async def test_a_month_without_a_word_drops_it_silently(tmp_path: Path) -> None:
    async with Conversation(tmp_path) as chat:
        await start(chat)
        await a_week(chat)
        sent = len(chat.events(Kind.MESSAGE_SENT))
        await chat.later(days=30)
        assert [event.payload["verdict"] for event in chat.events(Kind.BELIEF_REVIEWED)] == ["dropped"] * 3
        assert len(chat.events(Kind.MESSAGE_SENT)) == sent
        assert await chat.say("/review") == ["没有等你点头的事。"]


async def test_it_can_be_switched_off_and_made_rarer(tmp_path: Path) -> None:
    async with Conversation(tmp_path, MEMORY__DIGEST="false", MEMORY__REVIEW_DAYS="3") as chat:
        await start(chat)
        await chat.later(days=2)
        assert chat.events(Kind.REVIEW_ASKED) == []
        await chat.later(days=2)
        assert len(chat.events(Kind.BELIEF_REVIEWED)) == 3
    async with Conversation(tmp_path / "rare", MEMORY__DIGEST_DAYS="20") as chat:
        await start(chat, ["川菜"])
        assert "记就回 1" in (await a_week(chat))[0]
        chat.model(extractor(*dishes(["米线"])), on_user("", "好的。"))
        await conclude(chat, "最近老是去吃米线，真香")
        await chat.later(days=10)
        assert len(chat.events(Kind.REVIEW_ASKED)) == 1
        await chat.later(days=11)
        assert len(chat.events(Kind.REVIEW_ASKED)) == 2
        assert "记就回 2" in chat.deliver(HOME)[0]
        assert "不记了" in (await chat.say("不要"))[0]
