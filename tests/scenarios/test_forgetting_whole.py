"""Forgetting a person who was more than one, who was asked about, summed up, or left things undone."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.booking import WISH, Bookings, books, codes
from tests.fakes.conversation import Conversation
from tests.fakes.holding import holding
from tests.fakes.model_server import Rule, on_result, on_user
from tests.scenarios.test_forgetting_a_person import (
    GROUP,
    LI,
    LIKES,
    MARK,
    OWNER_QQ,
    PEOPLE,
    WANG,
    conversation,
    departures,
    forget,
    known,
    remembering,
    same,
)

TG = "tg:42"


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    short = {"MAX_STORED": "4", "KEEP_RECENT": "2", "BATCH": "2", "MIN_SOURCE": "2"}
    async with conversation(tmp_path, **{f"MEMORY__{name}": value for name, value in short.items()}) as chat:
        await known(chat)
        yield chat
        same(chat)


async def link(chat: Conversation, begun: str, other: str) -> None:
    found = re.search(r"[2-9A-Z]{3}-[2-9A-Z]{3}", (await chat.say(f"/link {other}", begun))[-1])
    assert found
    await chat.say(found[0], other)
    assert "关联好了" in (await chat.say("确认关联", other))[0]
    chat.deliver(Space("private", begun))


# Who was two


@pytest.mark.parametrize("name", ["xiaofang", LI, TG, "tg-42"])
async def test_who_was_linked_goes_with_all_that_either_had(chat: Conversation, name: str) -> None:
    chat.model(*remembering())
    await chat.say(f"我最{LIKES}", TG, GROUP)
    await chat.say(f"记住我{LIKES}", LI)
    await link(chat, LI, TG)
    await chat.say("在吗，" + MARK, TG)
    gone = await forget(chat, name)
    assert gone.whole.ids == {"xiaofang", "qq-20002", "tg-42"}
    assert gone.whole.accounts == {LI, TG}
    assert holding(chat.home, MARK) == []
    assert TG not in chat.home.people_file.read_text("utf-8")
    assert [event.forgotten for event in chat.events(Kind.PERSON_LINKED, Kind.CODE_GIVEN)] == [True, True]
    people = chat.app.kit.people
    assert (people.whose("tg-42"), people.whose("qq-20002")) == ("tg-42", "qq-20002")
    assert await chat.say("在吗", TG) == ["我只和主人认识的人聊天。"]
    await chat.restart()
    assert people.whose("tg-42") == "tg-42"


async def test_who_was_parted_from_them_keeps_what_is_theirs(chat: Conversation) -> None:
    chat.model(*remembering())
    await chat.say(f"我最{LIKES}", TG, GROUP)
    await link(chat, LI, TG)
    await chat.say("茉莉花茶是第一次说", TG)
    await chat.say(f"/unlink {TG}", LI)
    await chat.say("/unlink confirm", LI)
    await chat.say("茉莉花茶是后来说", TG, GROUP)
    await forget(chat)
    said = [event.payload.get("text") for event in chat.events(Kind.MESSAGE_RECEIVED) if not event.forgotten]
    assert said[0] == f"我最{LIKES}"
    assert said[-1] == "茉莉花茶是后来说"
    assert "茉莉花茶是第一次说" not in said
    assert chat.app.kit.people.whose("tg-42") == "tg-42"


async def test_who_left_the_file_before_is_forgotten_by_the_old_name(chat: Conversation) -> None:
    chat.model(*remembering())
    await chat.say(f"记住我{LIKES}", LI)
    await known(chat, PEOPLE[: PEOPLE.index("# 大学")])
    await forget(chat, "xiaofang")
    assert holding(chat.home, MARK) == []


# What was made of it


async def test_summaries_of_them_go_and_others_are_read_raw_again(chat: Conversation) -> None:
    def aside(asked: object) -> bool:
        return not getattr(asked, "tools", True)

    chat.model(Rule(aside, [f"- 小芳说{MARK}"] * 9), *remembering())
    for by, space in ((LI, None), (LI, GROUP)):
        for number in range(3):
            await chat.say(f"{MARK}第{number}回", by, space)
            await chat.say(f"第{number}句闲话", WANG, GROUP)
        await chat.done()
    assert {event.place.space and event.place.space.kind for event in chat.events(Kind.SUMMARY_WRITTEN)} == {
        "group",
        "private",
    }
    gone = await forget(chat)
    assert gone.counts["summaries"] >= 2
    assert holding(chat.home, MARK) == holding(chat.home, "小芳") == []
    chat.model(on_user("", "在。"))
    await chat.say("还在吗", WANG, GROUP)
    asked = next(request for request in reversed(chat.server.requests) if request.tools)
    sent = "".join(str(message["content"]) for message in asked.messages)
    assert "第2句闲话" in sent
    assert MARK not in sent


async def test_replies_to_others_go_if_they_repeat_it_and_only_then(chat: Conversation) -> None:
    long = f"我家门口那家店的{MARK}最好吃"
    chat.model(
        on_user("她说", f"她说：{long}。"),
        on_user("谢谢", "不客气，好的呀。"),
        on_user("我也觉得", f"是啊，{long}。"),
        on_user("", "好的。"),
    )
    for words in (long, "不客气，好的呀", "user", "text"):
        await chat.say(words, LI, GROUP)
    for words in ("她说了什么", "谢谢", f"我也觉得{long}", "你好"):
        await chat.say(words, WANG, GROUP)
    await forget(chat)
    sent = [event for event in chat.events(Kind.MESSAGE_SENT) if event.place.person == "laowang"]
    assert [event.payload.get("text") for event in sent] == [None, "不客气，好的呀。", f"是啊，{long}。", "好的。"]
    requests = [event for event in chat.events(Kind.MODEL_REQUESTED) if event.place.turn and not event.forgotten]
    log, held = chat.app.kit.record.log, set()
    for name in requests[-1].payload["messages"]:
        try:
            held.add(log.part(name).decode())
        except KeyError:
            continue
    assert any("你好" in part for part in held)
    assert not any('"user"' in part and '"content":"user"' in part for part in held)


# What was left undone


async def test_what_waits_for_the_owners_yes_is_asked_no_more(tmp_path: Path) -> None:
    bookings = Bookings(tmp_path / "bookings.jsonl")
    async with conversation(tmp_path) as chat:
        chat._tools = {"booking": bookings}
        await known(chat)
        chat.model(on_user("约", books()), on_result("", "约好了。"), on_user("", "好的。"))
        await chat.say(WISH, LI, GROUP)
        (code,) = codes(chat)
        assert len(chat.deliver(Space("private", OWNER_QQ)) + chat.deliver(Space("private", "cli:local"))) == 1
        await forget(chat)
        assert chat.app.kit.book.open() == []
        assert holding(chat.home, "二楼安静区-A12") == holding(chat.home, LI + "（群") == []
        await chat.say(f"确认 {code}")
        assert bookings.made == []
        await chat.restart()
        await chat.settled()
        assert bookings.made == []
        same(chat)


async def test_a_yes_once_for_all_goes(tmp_path: Path) -> None:
    async with conversation(tmp_path) as chat:
        await known(chat)
        chat.model(*remembering())
        await chat.say("/policy review", LI)
        await chat.say("/persona use 默认", LI)
        before = chat.app.kit.record.choices
        await forget(chat)
        assert before.of(Space("private", LI), "policy") is None
        same(chat)


async def test_looking_changes_nothing(chat: Conversation) -> None:
    chat.model(*remembering())
    await chat.say(f"记住我{LIKES}", LI)
    last = chat.events(*Kind)[-1].id
    found = await departures(chat).look("xiaofang")
    assert found.name == "小芳"
    assert chat.events(*Kind)[-1].id == last
    assert MARK in (await chat.say("/memory", LI))[0]
