"""Questions with buttons: whose press counts, for which question, and that the buttons go."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from qingtuan.confirmations.inquiry import Inquiry, Recipient
from tests.fakes.booking import Bookings, books
from tests.fakes.model_server import call, on_result, on_user
from tests.fakes.telegram_room import Room, room
from tests.fakes.telegram_server import GROUP, MING

LI = {"id": 9, "is_bot": False, "first_name": "Li"}
STRANGER = {"id": 77, "is_bot": False, "first_name": "主人"}
MENTION: dict[str, Any] = {"entities": [{"type": "mention", "offset": 0, "length": 12}]}


@pytest.fixture
def bookings(tmp_path: Path) -> Bookings:
    return Bookings(tmp_path / "bookings.jsonl")


@pytest.fixture
async def library(tmp_path: Path, bookings: Bookings) -> AsyncIterator[Room]:
    """A room whose model books seats and closes accounts; `tg:9` is a member."""
    members = {"ACCESS__MEMBERS": json.dumps(["tg:9"]), "EMBEDDING__MODEL": "off"}
    async with room(tmp_path, tools={"booking": bookings}, **members) as opened:
        opened.chat.model(
            on_user("下午", books("14:00", "17:00")),
            on_user("约", books()),
            on_user("注销", call("close_account")),
            on_result("预约成功", "约好了。"),
            on_result("注销了", "注销了。"),
        )
        await opened.open()
        opened.server.chat(LI)
        opened.server.group()
        yield opened


async def asked(library: Room, text: str = "帮我约座位", to: int = 5, **more: Any) -> Any:
    """Wish for something, and give the question that comes."""
    before = len(library.server.chats[to].by_bot())
    await library.server.say(text, to=to, **more)
    await library.until(lambda: any("reply_markup" in one for one in library.server.chats[to].by_bot()[before:]))
    return library.server.chats[to].by_bot()[-1]


def labels(message: Any) -> list[str]:
    return [one["text"] for row in message.get("reply_markup", {}).get("inline_keyboard", ()) for one in row]


async def test_a_press_answers_the_question_and_the_buttons_go(library: Room, bookings: Bookings) -> None:
    question = await asked(library)
    assert labels(question) == ["确认", "取消"]
    query = await library.server.press(question, "确认")
    await library.until(lambda: "约好了。" in library.server.texts())
    assert len(bookings.made) == 1
    await library.until(lambda: query in library.server.answered)
    await library.until(lambda: not labels(library.server.chats[5].messages[question["message_id"]]))
    (pressed,) = (one for one in library.heard() if one["text"] == "确认")
    assert pressed["quotes"] == str(question["message_id"])
    assert pressed["account"] == "tg:5"


async def test_a_press_on_cancel_does_nothing_but_that(library: Room, bookings: Bookings) -> None:
    question = await asked(library)
    await library.server.press(question, "取消")
    await library.until(lambda: "好，不做了。" in library.server.texts())
    assert not bookings.made


async def test_a_press_that_comes_twice_counts_once(library: Room, bookings: Bookings) -> None:
    question = await asked(library)
    await library.server.press(question, "确认")
    second = await library.server.press(question, "确认")
    await library.until(lambda: second in library.server.answered)
    await library.until(lambda: "约好了。" in library.server.texts())
    await library.quiet(5)
    assert len(bookings.made) == 1


async def test_each_button_answers_its_own_question(library: Room, bookings: Bookings) -> None:
    morning = await asked(library, "帮我约座位")
    account = await asked(library, "帮我注销")
    await library.server.press(morning, "确认")
    await library.until(lambda: bookings.made)
    assert "seat" in bookings.made[0]
    assert library.chat.app.kit.book.open()[0].tool == "close_account"
    assert labels(library.server.chats[5].messages[account["message_id"]])


async def test_what_must_be_typed_has_no_button_for_yes(library: Room, bookings: Bookings) -> None:
    question = await asked(library, "帮我注销账号")
    assert labels(question) == ["取消"]
    data = question["reply_markup"]["inline_keyboard"][0][0]["callback_data"]
    forged = {**question, "reply_markup": {"inline_keyboard": [[{"text": "x", "callback_data": f"yes{data[2:]}"}]]}}
    await library.server.press(forged, "x")
    await library.quiet(5)
    assert not bookings.made


async def test_in_a_group_only_who_may_answer_can(library: Room, bookings: Bookings) -> None:
    question = await asked(library, "@TestNameBot 帮我约座位", to=GROUP, **MENTION)
    before = len(library.heard())
    queries = [await library.server.press(question, "确认", by=one) for one in (STRANGER, LI)]
    await library.until(lambda: all(query in library.server.answered for query in queries))
    assert [library.server.answered[query].get("text") for query in queries] == ["这个不是问你的。"] * 2
    assert len(library.heard()) == before
    assert not bookings.made
    await library.server.press(question, "确认", by=MING)
    await library.until(lambda: bookings.made)


async def test_what_a_member_wishes_for_the_owner_is_asked_with_buttons_in_private(
    library: Room, bookings: Bookings
) -> None:
    await library.ask("hello")
    await library.server.say("@TestNameBot 帮我约座位", to=GROUP, by=LI, **MENTION)
    await library.until(lambda: labels(library.server.chats[5].by_bot()[-1]))
    await library.server.press(library.server.chats[5].by_bot()[-1], "确认")
    await library.until(lambda: bookings.made)
    assert bookings.made[0]["by"] == "tg-9"


async def test_a_button_of_another_message_answers_nothing(library: Room, bookings: Bookings) -> None:
    question = await asked(library)
    other = library.put("随便说说")
    await library.until(lambda: library.state(other) == "sent")
    elsewhere = library.server.chats[5].by_bot()[-1]
    query = await library.server.press({**elsewhere, "reply_markup": question["reply_markup"]}, "确认")
    await library.until(lambda: query in library.server.answered)
    await library.quiet(3)
    assert not bookings.made
    assert labels(library.server.chats[5].messages[question["message_id"]])


@pytest.mark.parametrize("data", ["", "yes", "yes:", "maybe:1", "approve:42", "yes:evt_1"])
async def test_data_that_is_not_ours_answers_nothing(library: Room, bookings: Bookings, data: str) -> None:
    question = await asked(library)
    forged = {**question, "reply_markup": {"inline_keyboard": [[{"text": "x", "callback_data": data}]]}}
    query = await library.server.press(forged, "x")
    await library.until(lambda: query in library.server.answered)
    assert not bookings.made


async def test_an_answer_in_words_takes_the_buttons_away_too(library: Room, bookings: Bookings) -> None:
    question = await asked(library)
    library.pass_time(2)
    await library.server.say("确认")
    await library.until(lambda: bookings.made)
    await library.until(lambda: not labels(library.server.chats[5].messages[question["message_id"]]))


async def test_a_press_after_a_restart_counts(library: Room, bookings: Bookings) -> None:
    question = await asked(library)
    await library.restart()
    await library.server.press(question, "确认")
    await library.until(lambda: bookings.made)
    await library.until(lambda: "约好了。" in library.server.texts())


async def test_a_question_in_a_topic_is_answered_there(library: Room, bookings: Bookings) -> None:
    library.server.chats[GROUP].topics.add(4)
    topic: dict[str, Any] = {"message_thread_id": 4, "is_topic_message": True}
    question = await asked(library, "@TestNameBot 帮我约座位", to=GROUP, by=MING, **MENTION, **topic)
    await library.server.press(question, "确认")
    await library.until(lambda: bookings.made)
    await library.until(lambda: library.server.texts(GROUP)[-1] == "约好了。")
    assert library.server.chats[GROUP].by_bot()[-1]["message_thread_id"] == 4


async def test_a_program_is_answered_by_the_button_of_a_choice(library: Room) -> None:
    await library.server.say("你好")
    await library.until(lambda: library.server.texts())
    inquiry = Inquiry(asker="claude", kind="program", text="哪一层？", choices=("一楼", "二楼"))
    asking = asyncio.ensure_future(library.chat.app.desk.inquiring.ask(inquiry, Recipient("owner")))
    await library.until(lambda: any("reply_markup" in one for one in library.server.chats[5].by_bot()))
    question = library.server.chats[5].by_bot()[-1]
    assert labels(question) == ["1. 一楼", "2. 二楼", "取消"]
    await library.server.press(question, "2. 二楼", by=LI)
    await library.quiet(3)
    assert not asking.done()
    await library.server.press(question, "2. 二楼")
    await library.until(asking.done)
    assert asking.result().text == "二楼"
    await library.until(lambda: not labels(library.server.chats[5].messages[question["message_id"]]))
