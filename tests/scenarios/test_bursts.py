"""People write in pieces, think again, and take back: as conversations over a real instance (channels.md, Bursts)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Remote, Space
from qingtuan.turn.trace import timeline, trace
from tests.fakes.conversation import Conversation, remembers
from tests.fakes.hasty import breathe
from tests.fakes.model_server import Asked, Reply, Rule, call, on_result, on_user
from tests.fakes.replaying import replayed, tables
from tests.scenarios.test_extraction import extractor

ME, MEMBER = "qq:10000", "qq:10002"
CHAT, GROUP = Space("private", ME), Space("group", "qq:777")
NEVER = Reply("太晚了。", delay=3)
"""An answer that nobody waits for."""


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    environ = {
        "OWNER__ACCOUNTS": f'["{ME}"]',
        "ACCESS__MEMBERS": f'["{MEMBER}"]',
        "ACCESS__GROUPS": '["qq:777"]',
        "EMBEDDING__MODEL": "off",
    }
    async with Conversation(tmp_path, tools=None, **environ) as chat:
        yield chat
        log = chat.app.kit.record.log
        assert tables(log) == replayed(log)


async def write(chat: Conversation, text: str, number: str, by: str = ME, **more: Any) -> None:
    """Send something in a chat app, half a second after the last thing."""
    chat.clock.advance(timedelta(seconds=-10.5))  # `send` lets eleven pass
    await chat.send(text, by, message_id=number, **{"gathers": True, **more})
    await breathe()


async def answers(chat: Conversation, space: Space = CHAT) -> list[str]:
    """What comes once the person is quiet."""
    await chat.later(seconds=2)
    return chat.deliver(space)


async def asked(chat: Conversation, count: int) -> None:
    """Wait until the model has been asked so often."""
    for _ in range(2000):
        if len(chat.server.requests) >= count:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the model is not asked")


def people(request: Asked) -> list[str]:
    return [message["content"] for message in request.messages if message["role"] == "user"]


async def test_a_burst_is_one_request_and_one_answer(chat: Conversation) -> None:
    chat.model(on_user("", "明天有雨，带伞。"))
    await write(chat, "帮我看看", "1")
    await write(chat, "明天的天气", "2")
    assert await answers(chat) == ["明天有雨，带伞。"]
    assert [people(request) for request in chat.server.requests] == [["帮我看看", "明天的天气"]]


async def test_two_texts_shortly_after_each_other_and_another_chat(chat: Conversation) -> None:
    """AstrBot#2128, openclaw#94678: requests of one chat neither interleave nor hang, and others go on meanwhile."""
    chat.model(on_user("一直", NEVER), on_user("二", "好。"), on_user("另", "另一边好。"))
    await write(chat, "一直想", "1", gathers=False)
    await asked(chat, 1)
    await write(chat, "二", "2")
    await write(chat, "另外一个人", "3", by=MEMBER)
    await chat.later(seconds=2)
    assert chat.deliver(Space("private", MEMBER)) == ["另一边好。"]
    assert chat.deliver(CHAT) == ["好。"]


async def test_what_joins_is_answered_with_the_rest(chat: Conversation) -> None:
    chat.model(on_user("上海", "上海有雨。"), on_user("", NEVER))
    await write(chat, "查一下天气", "1")
    chat.clock.advance(timedelta(seconds=2))
    await asked(chat, 1)
    await write(chat, "上海的", "2")
    assert await answers(chat) == ["上海有雨。"]
    assert people(chat.asked) == ["查一下天气", "上海的"]
    told = timeline(trace(chat.app.kit.record.log, "last"), "zh", chat.clock.now().tzinfo)  # type: ignore[arg-type]
    assert told.index("查一下天气") < told.index("不等了，重新问") < told.index("上海有雨")
    assert "又来一条" in told


async def test_a_memory_may_be_asked_for_in_two_pieces(chat: Conversation) -> None:
    chat.model(on_user("香菜", remembers(content="不吃香菜", value="不吃香菜")), on_result("", "记住了。"))
    await write(chat, "记一下", "1")
    await write(chat, "我不吃香菜", "2")
    (told,) = await answers(chat)
    assert told.startswith("记住了。")
    assert "不吃香菜" in "".join(map(chat.page, chat.pages()))


async def test_what_is_taken_back_is_in_nothing_that_anybody_reads(chat: Conversation) -> None:
    chat.model(
        extractor(),
        on_user("说过什么", call("memory_recall")),
        on_result("", lambda found: Reply(found.text_of("tool"))),
        on_user("", "好的。"),
    )
    await write(chat, "我喜欢榴莲", "1")
    await write(chat, "我喜欢坐窗边", "2")
    chat.app.desk.recalled("qq", CHAT, "1")
    assert await answers(chat) == ["好的。"]
    await write(chat, "我喜欢山竹", "3")
    await write(chat, "我喜欢山楂", "3", edited=True)
    await answers(chat)
    await chat.later(minutes=2)
    await write(chat, "我都说过什么", "4")
    (told,) = await answers(chat)
    assert "坐窗边" in told
    assert "山楂" in told
    bodies = b"".join(request.raw for request in chat.server.requests).decode()
    assert "山楂" in bodies
    for gone in ("榴莲", "山竹"):
        assert gone not in told
        assert gone not in bodies


async def test_a_summary_holds_what_was_said_together_and_not_what_was_taken_back(chat: Conversation) -> None:
    def read(request: Asked) -> Reply:
        return Reply("聊了几句。") if not request.tools else Reply("好的。")

    chat.model(Rule(lambda request: True, [read]))
    for number in range(15):
        await write(chat, f"第{number}件事", f"a{number}")
        await write(chat, f"补充{number}", f"b{number}")
        await write(chat, f"说错{number}", f"c{number}")
        chat.app.desk.recalled("qq", CHAT, f"c{number}")
        await answers(chat)
    await write(chat, "/compress", "z")
    await chat.settled()
    await chat.done()
    (summed,) = [
        request for request in chat.server.requests if "第0件事" in json.dumps(people(request)[-1:], ensure_ascii=False)
    ][-1:]
    text = json.dumps(summed.messages, ensure_ascii=False)
    assert "补充0" in text
    assert "说错" not in text


async def test_purging_reaches_a_message_that_joined(chat: Conversation) -> None:
    chat.model(
        on_user("榴莲", call("remember", content="爱吃榴莲千层", topic="吃", predicate="爱吃", value="榴莲千层")),
        on_result("", "记住了，爱吃榴莲千层。"),
        on_user("记", NEVER),
        on_user("", "好的。"),
    )
    await write(chat, "帮我记一下", "1")
    chat.clock.advance(timedelta(seconds=2))
    await asked(chat, 1)
    await write(chat, "我爱吃榴莲千层", "2")
    await answers(chat)
    await chat.later(minutes=2)
    name = chat.events(Kind.BELIEF_WRITTEN)[0].payload["number"]
    (told,) = await chat.say(f"/memory purge {name} 确认", ME)
    assert "榴莲" not in told
    log = chat.app.kit.record.log
    left = [event for event in log.replay() if "榴莲" in json.dumps(dict(event.payload), ensure_ascii=False)]
    assert left == []
    # And it is not heard as a new one when the platform delivers it once more.
    before = len(chat.server.requests)
    await write(chat, "我爱吃榴莲千层", "2")
    await answers(chat)
    assert len(chat.server.requests) == before


async def test_others_do_not_stop_an_album_in_a_group(chat: Conversation) -> None:
    chat.model(on_user("", "看到了。"))
    picture = (Remote("image", "{}"),)
    await write(chat, "看这些", "1", space=GROUP, album="a", remotes=picture)
    await write(chat, "/stop", "2", by=MEMBER, space=GROUP)
    assert chat.deliver(GROUP) == ["现在没有在做的事。"]
    await write(chat, "", "3", space=GROUP, album="a", remotes=picture, addressed=False)
    await chat.later(seconds=2)
    await chat.later(seconds=30)
    assert chat.deliver(GROUP) == ["看到了。"]
    assert len(chat.events(Kind.TURN_STARTED)) == 1


async def test_stop_ends_what_is_still_being_said(chat: Conversation) -> None:
    chat.model(on_user("", "好的。"))
    await write(chat, "帮我", "1")
    await write(chat, "/stop", "2")
    await chat.settled()
    assert chat.deliver(CHAT) == ["已停下。"]
    assert await answers(chat) == []
    assert chat.server.requests == []


async def test_the_process_ends_while_somebody_is_still_writing(chat: Conversation) -> None:
    chat.model(on_user("", "好的。"))
    await write(chat, "一", "1")
    await write(chat, "二", "2")
    await chat.restart()
    await chat.settled()
    assert chat.deliver(CHAT) == ["好的。"]
    assert [people(request) for request in chat.server.requests] == [["一", "二"]]
