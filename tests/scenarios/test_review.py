"""What was only concluded waits for a person's word: `/review`, and once a week a question in private (memory.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Asked, Reply, Rule, on_user

LI = "qq:10002"
GROUP = Space("group", "qq:777")


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
