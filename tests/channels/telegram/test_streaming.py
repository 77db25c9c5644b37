"""Answers that can be read while they are written: one message, at a pace, and never two answers."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from qingtuan.events.kinds import Kind
from tests.fakes.model_server import Reply, call, on_result, on_user
from tests.fakes.telegram_room import HIKE, Room, room
from tests.fakes.telegram_server import GROUP, Fault

LONG = "".join(f"第{number}句话，说得**很慢**。" for number in range(1, 25))
SLOW: dict[str, Any] = {"pause": 0.04, "piece": 12}
SHOWN = LONG.replace("**", "")


@pytest.fixture
async def streamed(tmp_path: Path) -> AsyncIterator[Room]:
    async with room(tmp_path, tools=None, CHANNELS__TELEGRAM__STREAM="true") as opened:
        await opened.open()
        await opened.until(lambda: opened.health().state == "connected")
        yield opened


def too_many() -> Fault:
    body = {"ok": False, "error_code": 429, "description": "Too Many Requests: retry after 7"}
    return Fault(429, {**body, "parameters": {"retry_after": 7}})


async def whole(streamed: Room, text: str = SHOWN, to: int = 5) -> None:
    await streamed.until(lambda: text in streamed.server.texts(to))
    await streamed.until(lambda: streamed.events(Kind.DELIVERY_SENT))


async def test_one_message_grows_and_becomes_the_answer(streamed: Room) -> None:
    streamed.chat.model(on_user("讲", Reply(LONG, **SLOW)))
    await streamed.server.say("讲")
    first = await streamed.until(lambda: streamed.server.texts())
    assert LONG.startswith(first[0])
    assert first[0] != LONG
    await whole(streamed)
    assert streamed.server.texts() == [SHOWN]
    edits = streamed.server.called("editMessageText")
    assert len(edits) > 2
    assert all("parse_mode" not in edit for edit in edits[:-1])
    assert edits[-1]["parse_mode"] == "HTML"
    assert len(streamed.server.called("sendMessage")) == 1
    (sent,) = streamed.events(Kind.DELIVERY_SENT)
    assert sent.payload["platform_id"] == str(streamed.server.chats[5].by_bot()[0]["message_id"])
    await streamed.until(lambda: not streamed.previews())


async def test_a_text_behind_what_is_shown_is_answered_after_it(streamed: Room) -> None:
    streamed.chat.model(on_user("讲", Reply(LONG, **SLOW)), on_user("再", "好。"))
    await streamed.server.say("讲")
    await streamed.until(lambda: streamed.server.texts())
    await streamed.server.say("再来")
    await streamed.until(lambda: "好。" in streamed.server.texts())
    assert streamed.server.texts() == [SHOWN, "好。"]
    assert streamed.events(Kind.TURN_JOINED, Kind.MODEL_CUT_OFF) == []


async def test_edits_are_no_more_than_one_a_second(streamed: Room) -> None:
    streamed.chat.model(on_user("讲", Reply(LONG, **SLOW)))
    times: list[float] = []
    run = streamed.server._run

    async def timed(method: str, asked: Any) -> Any:
        if method in ("sendMessage", "editMessageText"):
            times.append(streamed.chat.clock.monotonic())
        return await run(method, asked)

    streamed.server._run = timed  # type: ignore[method-assign]
    await streamed.server.say("讲")
    await whole(streamed)
    previews = times[:-1]  # the last one is the answer's
    assert len(previews) > 2
    assert all(later - earlier >= 1.0 for earlier, later in itertools.pairwise(previews))


async def test_a_short_answer_comes_whole(streamed: Room) -> None:
    streamed.chat.model(on_user("", Reply("好的。")))
    assert await streamed.ask("hi") == ["好的。"]
    assert not streamed.server.called("editMessageText")


async def test_too_many_requests_are_obeyed_and_the_answer_is_whole(streamed: Room) -> None:
    streamed.server.faults["editMessageText"].extend([Fault(), too_many()])
    streamed.chat.model(on_user("讲", Reply(LONG, **SLOW)))
    await streamed.server.say("讲")
    await whole(streamed)
    assert streamed.server.texts() == [SHOWN]


async def test_an_answer_that_is_turned_away_is_put_in_place_later(streamed: Room) -> None:
    streamed.chat.model(on_user("讲", Reply(LONG, **SLOW)))
    await streamed.server.say("讲")
    await streamed.until(lambda: streamed.server.texts())
    await streamed.until(lambda: streamed.events(Kind.MESSAGE_SENT))
    streamed.server.faults["editMessageText"].extend([too_many(), too_many()])
    await whole(streamed)
    assert streamed.server.texts() == [SHOWN]
    assert len(streamed.server.called("sendMessage")) == 1


async def test_an_answer_over_the_limit_is_split_and_nothing_is_twice(streamed: Room) -> None:
    long = "字" * 6000
    streamed.chat.model(on_user("讲", Reply(long, pause=0.03, piece=300)))
    await streamed.server.say("讲")
    await streamed.until(lambda: "".join(streamed.server.texts()) == long)
    assert len(streamed.server.texts()) == 2


async def test_what_was_said_before_a_call_gives_way_to_the_answer(streamed: Room) -> None:
    before = Reply("让我想一想，先查一下记忆里有没有。", **SLOW, calls=call("memory_search", query="x").calls)
    streamed.chat.model(on_user("讲", before), on_result("", Reply(LONG, **SLOW)))
    await streamed.server.say("讲")
    await whole(streamed)
    await streamed.quiet(3)
    assert [text for text in streamed.server.texts() if SHOWN in text]
    assert len(streamed.server.texts()) <= 2


async def test_what_comes_to_nothing_leaves_nothing(streamed: Room) -> None:
    streamed.chat.model(on_user("讲", Reply(LONG, **SLOW)))
    await streamed.server.say("讲")
    await streamed.until(lambda: streamed.server.texts())
    await streamed.server.say("/stop")
    await streamed.until(lambda: streamed.events(Kind.TURN_FINISHED))
    await streamed.until(lambda: not any(LONG.startswith(text) for text in streamed.server.texts()))
    await streamed.until(lambda: not streamed.previews())


async def test_the_message_that_shows_it_may_be_deleted_and_the_answer_comes_all_the_same(streamed: Room) -> None:
    streamed.chat.model(on_user("讲", Reply(LONG, **SLOW)))
    await streamed.server.say("讲")
    (shown, *_) = await streamed.until(lambda: streamed.server.chats[5].by_bot())
    del streamed.server.chats[5].messages[shown["message_id"]]
    await whole(streamed)
    assert streamed.server.texts() == [SHOWN]


async def test_a_process_that_dies_while_it_shows_leaves_one_answer(streamed: Room) -> None:
    streamed.chat.model(on_user("讲", Reply(LONG, **SLOW)))
    await streamed.server.say("讲")
    await streamed.until(lambda: streamed.server.texts())
    await streamed.restart()
    await whole(streamed)
    await streamed.quiet(5)
    assert streamed.server.texts() == [SHOWN]


async def test_a_process_that_dies_with_the_answer_on_its_way_says_it_no_second_time(streamed: Room) -> None:
    streamed.chat.model(on_user("讲", Reply(LONG, **SLOW)))
    await streamed.server.say("讲")
    await streamed.until(lambda: streamed.server.texts())
    await streamed.until(lambda: streamed.events(Kind.MESSAGE_SENT))
    streamed.server.faults["editMessageText"].extend([Fault(held=asyncio.Event(), done=True)] * 2)
    await streamed.until(lambda: streamed.events(Kind.DELIVERY_STARTED))
    await streamed.restart()
    streamed.server.faults["editMessageText"].clear()
    await streamed.quiet(10)
    answer, doubt = streamed.server.texts()
    assert answer.startswith("第1句话")
    assert "上一条回答可能没送到" in doubt
    await streamed.until(lambda: not streamed.previews())


async def test_in_a_group_it_is_slower_quotes_and_stays_in_its_topic(streamed: Room) -> None:
    group = streamed.server.group(is_forum=True)
    group.topics.add(4)
    streamed.chat.model(on_user("讲", Reply(LONG, **SLOW)))
    topic: dict[str, Any] = {"message_thread_id": 4, "is_topic_message": True}
    mention: dict[str, Any] = {"entities": [{"type": "mention", "offset": 0, "length": 12}]}
    asked = await streamed.server.say("@TestNameBot 讲", to=GROUP, **mention, **topic)
    await whole(streamed, to=GROUP)
    (shown,) = group.by_bot()
    assert shown["message_thread_id"] == 4
    assert shown["reply_to_message"]["message_id"] == asked["message_id"]
    assert len(streamed.server.called("editMessageText")) <= 12
    (sent,) = streamed.events(Kind.DELIVERY_SENT)
    assert (sent.place.space, sent.payload["platform_id"]) == (HIKE, f"{shown['message_id']}#4")


async def test_without_the_setting_nothing_is_shown_before_it_is_whole(telegram: Room) -> None:
    telegram.chat.model(on_user("讲", Reply(LONG, **SLOW)))
    await telegram.server.say("讲")
    await telegram.until(lambda: telegram.server.texts())
    assert not telegram.server.called("editMessageText")


async def test_an_answer_that_reads_as_it_was_shown_is_sent(streamed: Room) -> None:
    streamed.chat.model(on_user("讲", Reply(LONG, **SLOW)))
    await streamed.server.say("讲")
    await streamed.until(lambda: streamed.server.texts())
    await streamed.until(lambda: streamed.events(Kind.MESSAGE_SENT))
    same = {"ok": False, "error_code": 400, "description": "Bad Request: message is not modified: exactly the same"}
    streamed.server.faults["editMessageText"].extend([Fault(400, same, done=True)] * 3)
    await whole(streamed)
    assert not streamed.events(Kind.DELIVERY_REFUSED)
