"""Updates by polling: in order, each once, let go of only when stored; and a server that does not play along."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from qingtuan.channels.telegram import adapter
from qingtuan.channels.telegram.api import POLL_SECONDS
from qingtuan.errors import StorageFailed
from qingtuan.events.kinds import Kind
from qingtuan.language import Words
from tests.fakes.model_server import Reply, on_user
from tests.fakes.telegram_room import HIKE, Room, room
from tests.fakes.telegram_server import GROUP, MING, TOKEN, Fault, TelegramServer

LI = {"id": 9, "is_bot": False, "first_name": "Li"}
MENTION: dict[str, Any] = {"entities": [{"type": "mention", "offset": 0, "length": 12}]}


@pytest.fixture
async def closed(tmp_path: Path) -> AsyncIterator[Room]:
    """A room whose channel a test opens itself."""
    async with room(tmp_path) as made:
        yield made


def errors(shared: Path) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((shared / "data/wire/telegram_errors.json").read_text("utf-8"))
    return found


def conflict() -> Fault:
    return Fault(
        409, {"ok": False, "error_code": 409, "description": "Conflict: terminated by other getUpdates request"}
    )


async def test_only_what_is_used_is_asked_for(telegram: Room) -> None:
    await telegram.until(lambda: telegram.server.called("getUpdates"))
    (asked,) = telegram.server.called("getUpdates")
    assert asked["allowed_updates"] == ["message", "edited_message", "callback_query", "my_chat_member"]
    assert asked["timeout"] < 30


async def test_a_first_call_that_fails_is_made_again(closed: Room) -> None:
    closed.server.faults["getMe"].extend([Fault(cut=True), Fault(500, b"oops"), Fault(200, {"ok": True, "result": {}})])
    await closed.open()
    await closed.until(lambda: closed.health().state == "disconnected")
    assert await closed.ask("hello")
    assert len(closed.server.called("getMe")) == 4
    assert closed.health().account == "@TestNameBot"


async def test_messages_of_a_chat_are_taken_in_their_order(telegram: Room) -> None:
    for number in range(30):
        await telegram.server.say(f"第{number}条")
    await telegram.until(lambda: len(telegram.heard()) == 30)
    assert [one["text"] for one in telegram.heard()] == [f"第{number}条" for number in range(30)]


async def test_an_update_that_comes_again_is_heard_once_in_one_run_and_over_a_restart(telegram: Room) -> None:
    telegram.chat.model(on_user("hello", Reply("你好")))
    update = {"update_id": 900000001, "message": await telegram.server.say("hello")}
    await telegram.until(lambda: telegram.server.texts())
    for _ in range(2):
        telegram.server.updates.append(update)
        await telegram.server.say("/whoami")
        await telegram.quiet(5)
        await telegram.restart()
    await telegram.quiet(5)
    assert [one["text"] for one in telegram.heard()].count("hello") == 1
    assert telegram.server.texts().count("你好") == 1


async def test_what_was_not_stored_comes_again(telegram: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = telegram.chat.app.desk
    store, failures = desk.store, [StorageFailed(Words("满了", "full"))] * 2

    async def full(self: Any, inbound: Any) -> Any:
        if failures:
            raise failures.pop()
        return await store(inbound)

    monkeypatch.setattr(type(desk), "store", full)
    await telegram.server.say("一")
    await telegram.server.say("二")
    await telegram.until(lambda: len(telegram.heard()) == 2)
    assert [one["text"] for one in telegram.heard()] == ["一", "二"]
    assert not failures


async def test_the_last_update_is_confirmed_at_the_end(telegram: Room) -> None:
    await telegram.ask("hello")
    await telegram.close()
    assert not telegram.server.updates or telegram.server.called("getUpdates")[-1]["timeout"] == 0
    await telegram.open()
    await telegram.quiet(3)
    assert len(telegram.heard()) == 1


async def test_an_idle_connection_is_no_error(closed: Room) -> None:
    closed.server.longest_poll = 0.05
    await closed.open()
    await closed.until(lambda: len(closed.server.called("getUpdates")) > 20)
    assert closed.health().state == "connected"
    assert not closed.events(Kind.CHORE_FAILED)


async def test_a_poll_that_is_held_longer_than_asked_is_waited_for(closed: Room) -> None:
    """adapter-telegram 87: a server that holds 33 s is idle and not broken."""
    assert POLL_SECONDS + adapter._SLACK_SECONDS > 33
    closed.server.longest_poll = 0.05
    closed.server.faults["getUpdates"].extend([Fault(), Fault(seconds=0.4)])
    await closed.open()
    await closed.until(lambda: len(closed.server.called("getUpdates")) > 3)
    assert closed.health().state == "connected"
    assert not closed.events(Kind.CHORE_FAILED)
    assert await closed.ask("hello")


async def test_a_server_that_answers_no_more_is_hung_up_on(closed: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    # With the slack on top, an answer is waited for a tenth of a second.
    monkeypatch.setattr("qingtuan.channels.telegram.adapter.POLL_SECONDS", -14.9)
    closed.server.faults["getUpdates"].append(Fault(held=asyncio.Event()))
    await closed.open()
    # Without a limit of ours it would hang for ever: nothing closes such a connection.
    await closed.until(lambda: len(closed.server.called("getUpdates")) > 1)
    monkeypatch.undo()
    await closed.until(lambda: closed.health().state == "connected")
    assert await closed.ask("hello")


def test_the_longest_silence_is_noticed_within_ninety_seconds() -> None:
    assert adapter._CONNECT_SECONDS + POLL_SECONDS + 2 * adapter._SLACK_SECONDS <= 90


async def test_another_program_with_the_same_bot_is_told_of_and_waited_out(closed: Room) -> None:
    closed.server.faults["getUpdates"].extend([conflict() for _ in range(3)])
    await closed.open()
    await closed.until(lambda: closed.health().words and closed.health().state == "disconnected")
    words = closed.health().words
    assert words is not None
    assert "另一个程序" in words.zh
    assert await closed.ask("hello")
    assert closed.health().state == "connected"


async def test_a_wrong_token_is_said_in_a_sentence_that_helps(closed: Room) -> None:
    closed.server.token = "666:another"
    await closed.open()
    await closed.until(lambda: closed.health().state == "disconnected")
    words = closed.health().words
    assert words is not None
    assert "BotFather" in words.zh
    assert "BotFather" in words.en


async def test_a_webhook_from_before_is_taken_away(closed: Room) -> None:
    closed.server.webhook = {"url": "https://elsewhere.example/telegram"}
    await closed.open()
    assert await closed.ask("hello")


@pytest.mark.parametrize(
    "update", [None, 5, [], {}, {"update_id": "x"}, {"update_id": 1}, {"update_id": 2, "message": 5}]
)
async def test_an_update_that_is_none_stops_nothing(closed: Room, update: Any) -> None:
    closed.server.faults["getUpdates"].append(Fault(200, {"ok": True, "result": [update]}))
    await closed.open()
    assert await closed.ask("hello")


# Who is heard


async def test_strangers_and_unknown_groups_are_refused_by_our_own_rules(telegram: Room) -> None:
    telegram.server.chat(LI)
    telegram.server.group(-1009)
    await telegram.server.say("hi", to=9, by=LI)
    await telegram.server.say("@TestNameBot hi", to=-1009, by=LI, **MENTION)
    await telegram.until(lambda: len(telegram.events(Kind.MESSAGE_IGNORED)) == 2)
    assert [e.payload["reason"] for e in telegram.events(Kind.MESSAGE_IGNORED)] == ["stranger", "group_closed"]
    assert not telegram.heard()


async def test_anonymous_admins_are_nobody_even_in_the_owners_group(telegram: Room) -> None:
    telegram.server.group()
    anonymous = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
    sender = {"id": GROUP, "type": "supergroup", "title": "Hike"}
    await telegram.server.say("@TestNameBot hi", to=GROUP, by=anonymous, sender_chat=sender, **MENTION)
    await telegram.until(lambda: telegram.events(Kind.MESSAGE_IGNORED))
    assert telegram.events(Kind.MESSAGE_IGNORED)[0].payload["reason"] == "shared_id"


async def test_a_group_hears_only_what_is_meant_for_it(telegram: Room) -> None:
    telegram.server.group()
    telegram.chat.model(on_user("", Reply("好")))
    await telegram.server.say("@TestNameBot what time", to=GROUP, **MENTION)
    await telegram.until(lambda: telegram.server.chats[GROUP].by_bot())
    await telegram.server.say("anyone up?", to=GROUP)
    await telegram.server.say("/ask@OtherBot why", to=GROUP)
    await telegram.server.say("/whoami", to=GROUP)
    await telegram.until(lambda: len(telegram.server.chats[GROUP].by_bot()) == 2)
    assert [one["text"] for one in telegram.heard()] == ["what time", "/whoami"]


async def test_the_reply_in_a_group_quotes_and_stays_in_its_topic(telegram: Room) -> None:
    group = telegram.server.group(is_forum=True)
    group.topics.add(4)
    topic: dict[str, Any] = {"message_thread_id": 4, "is_topic_message": True}
    asked = await telegram.server.say("@TestNameBot x", to=GROUP, **MENTION, **topic)
    await telegram.until(group.by_bot)
    (reply,) = group.by_bot()
    assert reply["message_thread_id"] == 4
    assert reply["reply_to_message"]["message_id"] == asked["message_id"]
    # The next one quotes the reply, which is ours, by its name with the topic in it.
    await telegram.server.say("why", to=GROUP, reply_to_message=reply, **topic)
    await telegram.until(lambda: len(telegram.heard()) == 2)
    assert telegram.heard()[1]["quotes"] == f"{reply['message_id']}#4"


async def test_a_group_that_became_a_supergroup_goes_on_as_it_was(tmp_path: Path) -> None:
    async with room(tmp_path, tools=None, ACCESS__GROUPS=json.dumps(["tg:-777"])) as telegram:
        await telegram.open()
        old = telegram.server.group(-777, type="group")
        await telegram.server.say("@TestNameBot eins", to=-777, **MENTION)
        await telegram.until(old.by_bot)
        new = telegram.server.group()
        old.moved_to = GROUP
        await telegram.server.say(to=-777, migrate_to_chat_id=GROUP)
        await telegram.server.say(to=GROUP, migrate_from_chat_id=-777)
        # The supergroup counts from 1: its second message is not the second one of the group.
        await telegram.server.say("@TestNameBot zwei", to=GROUP, **MENTION)
        await telegram.until(new.by_bot)
        spaces = {event.place.space for event in telegram.events(Kind.MESSAGE_RECEIVED)}
        sessions = {event.place.session for event in telegram.events(Kind.MESSAGE_RECEIVED)}
        assert [str(space) for space in spaces] == ["group:tg:-777"]
        assert len(sessions) == 1
        assert len(telegram.events(Kind.GROUP_MOVED)) == 1


async def test_an_edit_takes_the_place_of_what_was_not_answered(telegram: Room) -> None:
    telegram.chat.model(on_user("zwei", Reply("2")), on_user("", Reply("1")))
    message = await telegram.server.say("eins")
    await telegram.server.edit(message, "zwei")
    await telegram.until(lambda: telegram.server.texts())
    await telegram.quiet(3)
    assert telegram.server.texts() == ["2"]


async def test_an_album_is_one_turn(telegram: Room) -> None:
    telegram.server.put_file("one", b"\x89PNG\r\n\x1a\n1")
    telegram.server.put_file("two", b"\x89PNG\r\n\x1a\n2")
    captions: list[tuple[str, dict[str, Any]]] = [("one", {"caption": "compare these"}), ("two", {})]
    for name, caption in captions:
        photo = [{"file_id": name, "file_unique_id": name, "width": 10, "height": 10}]
        await telegram.server.say(photo=photo, media_group_id="1", **caption)
    await telegram.until(lambda: telegram.server.texts())
    await telegram.quiet(5)
    assert len(telegram.events(Kind.TURN_STARTED)) == 1
    assert len(telegram.heard()) == 2


async def test_who_blocks_the_bot_is_seen_and_who_comes_back_too(telegram: Room) -> None:
    await telegram.server.block()
    await telegram.until(lambda: telegram.health().words and "拉黑" in telegram.health().words.zh)  # type: ignore[union-attr]
    change = {"chat": {"id": 5, "type": "private"}, "from": MING, "date": 1}
    change |= {"old_chat_member": {"status": "kicked"}, "new_chat_member": {"status": "member"}}
    await telegram.server.push({"my_chat_member": change})
    await telegram.until(lambda: "拉黑" not in (telegram.health().words or Words("", "")).zh)


async def test_privacy_mode_is_told_and_its_absence_not(closed: Room) -> None:
    closed.server.reads_all = True
    await closed.open()
    await closed.until(lambda: closed.health().state == "connected")
    assert closed.health().words is None
    closed.server.reads_all = False
    await closed.restart()
    await closed.until(lambda: closed.health().state == "connected")
    assert "/setprivacy" in (closed.health().words or Words("", "")).en


async def test_an_address_with_a_slash_at_its_end_is_the_same(tmp_path: Path) -> None:
    server = await TelegramServer().start()
    made = Room(tmp_path, server, tools=None, CHANNELS__TELEGRAM__API_SERVER=f"{server.url}/")
    async with made.chat:
        await made.open()
        assert await made.ask("hello")
        await made.close()
    await server.close()


async def test_a_proxy_is_used_for_all_of_it(tmp_path: Path) -> None:
    server = await TelegramServer().start()
    # The proxy of plain HTTP is asked for whole addresses; the fake answers them as its own.
    away = {"CHANNELS__TELEGRAM__API_SERVER": "http://api.invalid", "CHANNELS__TELEGRAM__PROXY": server.url}
    made = Room(tmp_path, server, tools=None, **away)
    async with made.chat:
        await made.open()
        assert await made.ask("hello")
        await made.close()
    await server.close()


async def test_the_space_of_a_group_is_its_number(telegram: Room) -> None:
    telegram.server.group()
    await telegram.server.say("/whoami@TestNameBot", to=GROUP)
    await telegram.until(lambda: telegram.events(Kind.MESSAGE_RECEIVED))
    assert telegram.events(Kind.MESSAGE_RECEIVED)[0].place.space == HIKE


async def test_reconnecting_multiplies_nothing(telegram: Room) -> None:
    telegram.chat.model(on_user("", Reply("好")))
    for _ in range(3):
        telegram.server.faults["getUpdates"].append(Fault(cut=True))
        telegram.server._polling += 1
        await telegram.server._notify()  # the poll that waits ends, and the next one drops
        await telegram.until(lambda: not telegram.server.faults["getUpdates"])
        await telegram.until(lambda: telegram.health().state == "connected")
    await telegram.ask("hello")
    await telegram.quiet(5)
    assert telegram.server.texts() == ["好"]


async def test_two_requests_at_once_are_answered_one_by_one_and_another_chat_meanwhile(telegram: Room) -> None:
    telegram.server.group()
    slow = Reply("慢的", delay=1.0)
    telegram.chat.model(on_user("慢", slow), on_user("快", Reply("快的")))
    await telegram.server.say("慢")
    await telegram.until(lambda: telegram.events(Kind.TURN_STARTED))
    await telegram.server.say("@TestNameBot 快", to=GROUP, **MENTION)
    await telegram.until(lambda: telegram.server.texts(GROUP))
    assert telegram.server.texts() == []
    await telegram.until(lambda: telegram.server.texts())
    assert telegram.server.texts() == ["慢的"]


async def test_a_command_runs_also_where_something_is_quoted(telegram: Room) -> None:
    (reply,) = await telegram.ask("/whoami")
    quoted = telegram.server.chats[5].by_bot()[0]
    answers = await telegram.ask("/whoami", reply_to_message=quoted)
    assert answers == [reply, reply]


async def test_no_line_of_the_log_holds_the_token(telegram: Room, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    await telegram.ask("hello")
    telegram.server.faults["getUpdates"].append(Fault(cut=True))
    await telegram.server.say("again")
    await telegram.quiet(3)
    assert caplog.records
    assert TOKEN not in caplog.text
    assert TOKEN.partition(":")[2] not in caplog.text
