"""Every recorded update and error of Telegram over a real socket: the right turn, or the right silence with its reason.

What is recorded and stands in no table here fails a test, as does what stands here and is not recorded.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.model_server import Reply, on_user
from tests.fakes.telegram_room import PNG, Room, room
from tests.fakes.telegram_server import GROUP, Fault

MENTION: dict[str, Any] = {"entities": [{"type": "mention", "offset": 0, "length": 12}]}


@pytest.fixture
def updates(shared: Path) -> Mapping[str, Any]:
    return recording(shared, "telegram_updates")


@pytest.fixture
def errors(shared: Path) -> Mapping[str, Any]:
    return recording(shared, "telegram_errors")


def recording(shared: Path, name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((shared / f"data/wire/{name}.json").read_text("utf-8"))
    return found


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Room]:
    """A room with the group, its topic, and what the messages bring along."""
    async with room(tmp_path) as opened:
        opened.server.group().topics.add(4)
        files = {"AgACbig": PNG, "AwACvoice": b"OggS" + b"\0" * 60, "BQACdoc": b"%PDF-1.4 nothing in it"}
        for name, data in files.items():
            opened.server.put_file(name, data)
        opened.chat.model(on_user("", Reply("好的。")))
        await opened.open()
        await opened.until(lambda: opened.health().state == "connected")
        yield opened


@dataclass(frozen=True)
class Asks:
    """It is a turn: the model is asked, and one answer goes where it was said."""

    words: tuple[str, ...]
    to: int = 5


@dataclass(frozen=True)
class Runs:
    """It is a command, which is answered without a model."""

    words: str
    to: int = 5


@dataclass(frozen=True)
class Quiet:
    """Nobody is asked and nothing is said."""

    ignored: str | None = None
    """The reason by which `doctor` tells it, for a message that might have been meant."""
    overheard: str | None = None
    """What is kept of it as material for the next addressed turn."""


UPDATES: Mapping[str, Asks | Runs | Quiet] = {
    "private_text": Asks(("hello",)),
    "group_mention_middle": Asks(("😀 hey @TestNameBot what time is it",), GROUP),
    "group_mention_lowercase": Asks(("hi",), GROUP),
    "group_text_mention": Asks(("please help",), GROUP),
    "group_command_at_bot": Runs("/help", GROUP),
    "group_command_other_bot": Quiet(),
    "group_plain": Quiet(ignored="not_addressed", overheard="anyone up?"),
    "group_reply_to_bot": Asks(("more detail",), GROUP),
    "group_reply_quote": Asks(("why this part", "10:00"), GROUP),
    "nested_entities": Asks(("bold link",)),
    "photo_caption_mention": Asks(("what is this", "image/png"), GROUP),
    "album_1": Asks(("compare these", "image/png")),
    "album_2": Asks(("image/png",)),
    "voice": Asks(("语音",)),
    "document": Asks(("a.pdf",)),
    "forum_topic": Quiet(ignored="not_addressed", overheard="in topic"),
    "edited": Asks(("hello (edited)",)),
    "callback": Quiet(),
    "reaction": Quiet(),
    "my_chat_member_blocked": Quiet(),
}


def test_every_recorded_update_has_its_case(updates: Mapping[str, Any]) -> None:
    assert set(updates) == set(UPDATES)


@pytest.mark.parametrize("name", UPDATES)
async def test_an_update_has_its_turn_or_its_silence(chat: Room, updates: Mapping[str, Any], name: str) -> None:
    delivered(chat, updates[name])
    wanted = UPDATES[name]
    await chat.until(lambda: not chat.server.updates)
    await chat.quiet(20)
    await chat.chat.settled()
    await chat.quiet(5)
    texts = {number: chat.server.texts(number) for number in chat.server.chats}
    if isinstance(wanted, Quiet):
        assert (texts, chat.chat.server.requests) == ({5: [], GROUP: []}, [])
        reasons = [event.payload["reason"] for event in chat.events(Kind.MESSAGE_IGNORED)]
        assert reasons == ([wanted.ignored] if wanted.ignored else [])
        if wanted.overheard:
            await chat.ask("@TestNameBot above", to=GROUP, **MENTION)
            assert wanted.overheard in str(chat.chat.asked.messages)
    elif isinstance(wanted, Runs):
        (answer,) = texts.pop(wanted.to)
        assert wanted.words in answer
        assert (set(map(tuple, texts.values())), chat.chat.server.requests) == ({()}, [])
    else:
        assert {number: said for number, said in texts.items() if said} == {wanted.to: ["好的。"]}
        said = "\n".join(str(one["content"]) for one in chat.chat.asked.messages[3:])
        assert [words for words in wanted.words if words not in said] == [], said


async def test_the_recorded_album_is_one_turn(chat: Room, updates: Mapping[str, Any]) -> None:
    delivered(chat, updates["album_1"], updates["album_2"])
    await chat.until(lambda: chat.server.texts())
    await chat.quiet(10)
    assert chat.server.texts() == ["好的。"]
    assert str(chat.chat.asked.messages).count("image/png") == 2


def delivered(chat: Room, *updates: Any) -> None:
    """The server has these for the bot."""
    for update in updates:
        chat.server.updates.append(update)


# What the server answers when it does not do what it is asked


async def _later(chat: Room, error: Fault) -> None:
    message = chat.put("hi")
    chat.server.faults["sendMessage"].append(error)
    await chat.until(lambda: chat.events(Kind.DELIVERY_LATER))
    assert chat.events(Kind.DELIVERY_LATER)[0].payload["after"] == 7
    await chat.until(lambda: chat.state(message) == "sent")
    assert chat.server.texts() == ["hi"]


async def _sent_plain(chat: Room, error: Fault) -> None:
    chat.server.faults["sendMessage"].append(error)
    assert await chat.sent("**a**") == "sent"
    assert chat.server.texts() == ["a"]
    assert "parse_mode" not in chat.server.called("sendMessage")[-1]


async def _refused(chat: Room, error: Fault) -> None:
    chat.server.faults["sendMessage"].append(error)
    assert await chat.sent("hi") == "refused"
    assert len(chat.server.called("sendMessage")) == 1


async def _refused_and_told(chat: Room, error: Fault) -> None:
    await _refused(chat, error)
    words = chat.health().words
    assert words is not None
    assert "拉黑" in words.zh


async def _waited_out(chat: Room, error: Fault) -> None:
    chat.server.faults["getUpdates"].append(error)
    await chat.server.say("/whoami")
    await chat.until(lambda: chat.health().state == "disconnected" or not chat.server.faults["getUpdates"])
    await chat.until(lambda: chat.server.texts())
    assert chat.health().state == "connected"


async def _followed(chat: Room, error: Fault) -> None:
    chat.server.group(-777, type="group")
    chat.server.faults["sendMessage"].append(error)
    assert await chat.sent("hi", Space("group", "tg:-777")) == "sent"
    assert chat.server.texts(GROUP) == ["hi"]


async def _sent_without_the_quote(chat: Room, error: Fault) -> None:
    """Whatever it answered is gone; the answer is not."""
    await chat.server.say("@TestNameBot x", to=GROUP, **MENTION)
    chat.server.faults["sendMessage"].append(error)
    await chat.until(lambda: chat.server.texts(GROUP))
    assert chat.server.texts(GROUP) == ["好的。"]
    first, second = chat.server.called("sendMessage")
    assert "reply_parameters" in first
    assert "reply_parameters" not in second


ERRORS: Mapping[str, Callable[[Room, Fault], Awaitable[None]]] = {
    "429": _later,
    "too_long": _refused,
    "parse": _sent_plain,
    "blocked": _refused_and_told,
    "conflict": _waited_out,
    "migrated": _followed,
    "reply_gone": _sent_without_the_quote,
}
NOT_MODIFIED = "not_modified"
"""Comes only where an answer grows."""


def test_every_recorded_error_has_its_case(errors: Mapping[str, Any]) -> None:
    assert set(errors) == {*ERRORS, NOT_MODIFIED}


@pytest.mark.parametrize("name", ERRORS)
async def test_an_error_is_understood(chat: Room, errors: Mapping[str, Any], name: str) -> None:
    await ERRORS[name](chat, Fault(errors[name]["http"], errors[name]["body"]))


async def test_an_edit_that_changes_nothing_is_done(tmp_path: Path, errors: Mapping[str, Any]) -> None:
    async with room(tmp_path, CHANNELS__TELEGRAM__STREAM="true") as grows:
        grows.chat.model(on_user("", Reply("一句话，" * 30, pause=0.04, piece=12)))
        await grows.open()
        fault = Fault(errors[NOT_MODIFIED]["http"], errors[NOT_MODIFIED]["body"])
        grows.server.faults["editMessageText"].extend([fault] * 50)
        await grows.server.say("讲")
        await grows.until(lambda: grows.events(Kind.DELIVERY_SENT))
        assert len(grows.server.called("sendMessage")) == 1
        assert len(grows.server.texts()) == 1
