"""Messages of the outbox, as they come to Telegram, and what its answers mean."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.telegram_room import HIKE, PNG, PRIVATE, Room
from tests.fakes.telegram_server import GROUP, TOKEN, Fault
from tests.fakes.telegram_text import units


@pytest.fixture
def errors(shared: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((shared / "data/wire/telegram_errors.json").read_text("utf-8"))
    return found


def fault(errors: Mapping[str, Any], name: str) -> Fault:
    return Fault(errors[name]["http"], errors[name]["body"])


async def test_markdown_becomes_html_without_previews_of_links(telegram: Room) -> None:
    assert await telegram.sent("**a** `b<c` [x](https://example.com/?a=1&b=2)\n\n```\n1 < 2\n```") == "sent"
    for call in telegram.server.called("sendMessage"):
        assert call["parse_mode"] == "HTML"
        assert call["link_preview_options"] == {"is_disabled": True}
    shown = "".join(telegram.server.texts())
    assert "b<c" in shown
    assert "1 < 2" in shown
    assert "**" not in shown


async def test_what_the_server_does_not_parse_is_sent_plain(telegram: Room, errors: Mapping[str, Any]) -> None:
    telegram.server.faults["sendMessage"].append(fault(errors, "parse"))
    assert await telegram.sent("**a**") == "sent"
    _, second = telegram.server.called("sendMessage")
    assert "parse_mode" not in second
    assert telegram.server.texts() == ["a"]


@pytest.mark.parametrize("text", ["x" * 4095 + "😀" + "y" * 904, "😀" * 5000, "字" * 12_000, "a b " * 3000])
async def test_long_texts_are_split_within_the_limit(telegram: Room, text: str) -> None:
    assert await telegram.sent(text) == "sent"
    shown = telegram.server.texts()
    assert all(0 < units(one) <= 4096 for one in shown)
    assert "".join(shown).replace(" ", "") == text.replace(" ", "")


async def test_a_picture_has_a_short_text_under_it_and_a_file_its_name(telegram: Room) -> None:
    store = telegram.chat.app.media.store
    picture, report = store.put(PNG, '一张"图.png'), store.put(b"%PDF-1.4 x", "chat_id")
    assert await telegram.sent("看**这个**", attachments=(picture,)) == "sent"
    assert await telegram.sent("", attachments=(report,)) == "sent"
    shown, file = telegram.server.chats[5].by_bot()
    assert (shown["caption"], "photo" in shown) == ("看这个", True)
    assert file["document"]["file_name"] == report.name


async def test_a_text_too_long_for_a_caption_stands_before_the_picture(telegram: Room) -> None:
    picture = telegram.chat.app.media.store.put(PNG, "a.png")
    assert await telegram.sent("长" * 1025, attachments=(picture,)) == "sent"
    assert [("photo" in one) for one in telegram.server.chats[5].by_bot()] == [False, True]


async def test_a_picture_that_is_taken_as_none_goes_as_a_file(telegram: Room) -> None:
    picture = telegram.chat.app.media.store.put(PNG, "a.png")
    refused = {"ok": False, "error_code": 400, "description": "Bad Request: PHOTO_INVALID_DIMENSIONS"}
    telegram.server.faults["sendPhoto"].append(Fault(400, refused))
    assert await telegram.sent("看", attachments=(picture,)) == "sent"
    assert "document" in telegram.server.chats[5].by_bot()[0]


async def test_a_file_that_is_gone_is_refused(telegram: Room) -> None:
    picture = telegram.chat.app.media.store.put(PNG, "a.png")
    telegram.chat.app.media.store.path(picture.hash).unlink()
    assert await telegram.sent("", attachments=(picture,)) == "refused"


# What the server's answers mean


async def test_who_blocked_the_bot_is_not_written_to_and_the_owner_can_see_it(
    telegram: Room, errors: Mapping[str, Any]
) -> None:
    telegram.server.faults["sendMessage"].append(fault(errors, "blocked"))
    assert await telegram.sent("hi") == "refused"
    assert len(telegram.server.called("sendMessage")) == 1
    words = telegram.health().words
    assert words is not None
    assert "拉黑" in words.zh


async def test_too_many_requests_are_tried_again_when_the_server_says(
    telegram: Room, errors: Mapping[str, Any]
) -> None:
    telegram.server.faults["sendMessage"].append(fault(errors, "429"))
    message = telegram.put("hi")
    await telegram.until(lambda: telegram.server.called("sendMessage"))
    await telegram.until(lambda: telegram.events(Kind.DELIVERY_LATER))
    (later,) = telegram.events(Kind.DELIVERY_LATER)
    assert later.payload["after"] == 7
    assert telegram.state(message) == "waiting"
    await telegram.until(lambda: telegram.state(message) == "sent")
    first, second = (e for e in telegram.events(Kind.DELIVERY_STARTED) if e.cause == message.id)
    assert (second.time - first.time).total_seconds() >= 7
    assert telegram.server.texts() == ["hi"]


async def test_what_the_server_refuses_is_refused(telegram: Room, errors: Mapping[str, Any]) -> None:
    telegram.server.faults["sendMessage"].append(fault(errors, "too_long"))
    assert await telegram.sent("hi") == "refused"
    assert len(telegram.server.called("sendMessage")) == 1


@pytest.mark.parametrize(
    "happens",
    [
        Fault(502, b"<html>Bad Gateway</html>", done=True),
        Fault(500, {"ok": False, "error_code": 500, "description": "Internal Server Error"}, done=True),
        Fault(200, b'{"ok": true, "resu', done=True),
        Fault(cut=True, done=True),
    ],
)
async def test_what_may_have_been_done_is_unknown_and_never_sent_again(telegram: Room, happens: Fault) -> None:
    telegram.server.faults["sendMessage"].append(happens)
    assert await telegram.sent("hi") == "unknown"
    await telegram.quiet()
    assert telegram.server.texts() == ["hi"]


async def test_what_was_not_written_is_sent_when_the_server_is_back(telegram: Room) -> None:
    await telegram.until(lambda: telegram.health().state == "connected")
    port = telegram.server.port
    await telegram.server.close()
    message = telegram.put("hi")
    await telegram.quiet(3)
    assert telegram.state(message) == "waiting"
    await telegram.server.start(port)
    await telegram.until(lambda: telegram.state(message) == "sent")
    assert telegram.server.texts() == ["hi"]


async def test_a_wrong_token_is_said_and_nothing_is_lost(telegram: Room) -> None:
    await telegram.until(lambda: telegram.health().state == "connected")
    telegram.server.token = "666:another"
    message = telegram.put("hi")
    await telegram.until(lambda: telegram.health().state == "disconnected" or telegram.events(Kind.DELIVERY_LATER))
    telegram.server.token = TOKEN
    await telegram.until(lambda: telegram.state(message) == "sent")
    assert telegram.server.texts() == ["hi"]


async def test_a_group_that_moves_while_it_is_written_to_gets_the_message_where_it_is(
    telegram: Room, errors: Mapping[str, Any]
) -> None:
    old, new = telegram.server.group(-777, type="group"), telegram.server.group(GROUP)
    old.moved_to = GROUP
    space = Space("group", "tg:-777")
    assert await telegram.sent("一", space) == "sent"
    assert await telegram.sent("二", space) == "sent"
    assert [one["text"] for one in new.by_bot()] == ["一", "二"]
    assert not old.by_bot()
    assert [call["chat_id"] for call in telegram.server.called("sendMessage")] == [-777, GROUP, GROUP]
    (moved,) = telegram.events(Kind.GROUP_MOVED)
    assert moved.payload == {"was": -777, "is": GROUP}
    await telegram.restart()
    assert await telegram.sent("三", space) == "sent"
    assert telegram.server.called("sendMessage")[-1]["chat_id"] == GROUP


async def test_the_measured_word_that_a_group_has_moved_is_followed(telegram: Room, errors: Mapping[str, Any]) -> None:
    telegram.server.group(-777, type="group")
    telegram.server.group(GROUP)
    telegram.server.faults["sendMessage"].append(fault(errors, "migrated"))
    assert await telegram.sent("hi", Space("group", "tg:-777")) == "sent"
    assert telegram.server.texts(GROUP) == ["hi"]


async def test_a_topic_that_is_gone_is_answered_in_the_group(telegram: Room) -> None:
    telegram.server.group()
    await telegram.server.say(
        "@TestNameBot x",
        to=GROUP,
        message_thread_id=4,
        is_topic_message=True,
        entities=[{"type": "mention", "offset": 0, "length": 12}],
    )
    await telegram.until(lambda: telegram.server.chats[GROUP].by_bot())
    assert telegram.server.called("sendMessage")[0]["message_thread_id"] == 4
    assert "message_thread_id" not in telegram.server.chats[GROUP].by_bot()[0]


async def test_messages_come_in_order_and_chats_do_not_wait_for_each_other(telegram: Room) -> None:
    telegram.server.group()
    slow = asyncio.Event()
    telegram.server.faults["sendMessage"].append(Fault(held=slow, done=True))
    for text in ("一", "二", "三"):
        telegram.put(text, PRIVATE)
    await telegram.until(lambda: telegram.server.called("sendMessage"))
    last = telegram.put("群", HIKE)
    await telegram.until(lambda: telegram.state(last) == "sent")
    assert telegram.server.texts() == []
    slow.set()
    await telegram.until(lambda: len(telegram.server.texts()) == 3)
    assert telegram.server.texts() == ["一", "二", "三"]


async def test_the_token_stands_in_no_event_and_no_health(telegram: Room) -> None:
    telegram.server.faults["sendMessage"].append(Fault(cut=True))
    await telegram.sent("hi")
    await telegram.server.close()
    await telegram.quiet(5)
    told = json.dumps([dict(event.payload) for event in telegram.events()], ensure_ascii=False)
    assert TOKEN not in told + repr(telegram.health())
    assert TOKEN.partition(":")[2] not in told + repr(telegram.health())
    await telegram.server.start()
