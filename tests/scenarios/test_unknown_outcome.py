"""turn.md and proactive.md: after an act whose outcome nobody knows, it is looked up, told as it is, and never simply
done again."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.booking import DONE, MEMBER, OWNER_QQ, SEAT, WHAT, WISH, Bookings, books, codes, library
from tests.fakes.conversation import OWNER, START, Conversation, HeldClock
from tests.fakes.model_server import call, on_result, on_user

REPOSITORY = Path(__file__).parents[2]
HOME = Space("private", OWNER)
IN_DOUBT = "上一次不知道做成没有，可能已经做了。"
IS_BOOKED, NOT_BOOKED = "刚才断了，我查了一下：已经约上了。", "刚才断了，我查了一下：没有约上，要再约吗？"
BOOKED_ONCE = [{"seat": SEAT, "date": "2026-12-01", "start": "09:00", "end": "12:00", "by": "owner"}]


def looks_it_up(chat: Conversation) -> None:
    """The model does what it is told of an unknown outcome: it looks, and says what it found."""
    chat.model(
        on_user("下午", books("14:00", "17:00")),
        on_user("约", books()),
        on_result("不知道做成没有", call("list_bookings")),
        on_result(SEAT, IS_BOOKED),
        on_result("没有预约", NOT_BOOKED),
        on_result("预约成功", DONE),
    )


@pytest.fixture
def bookings(tmp_path: Path) -> Bookings:
    return Bookings(tmp_path / "bookings.jsonl")


@pytest.fixture
async def chat(tmp_path: Path, bookings: Bookings) -> AsyncIterator[Conversation]:
    async with library(tmp_path, bookings) as chat:
        looks_it_up(chat)
        yield chat


def ran(chat: Conversation) -> list[str]:
    """The calls that began, in order."""
    return [event.payload["name"] for event in chat.events(Kind.TOOL_STARTED)]


async def lost(chat: Conversation, bookings: Bookings, *, made: bool) -> list[str]:
    """A booking whose connection breaks before or after it was made; what the person is told."""
    await chat.say(WISH)
    bookings.breaks = "after" if made else "before"
    return await chat.say("确认")


# What the person is told


@pytest.mark.parametrize(("made", "told"), [(True, IS_BOOKED), (False, NOT_BOOKED)])
async def test_after_a_lost_connection_it_looks_and_says_what_is(
    chat: Conversation, bookings: Bookings, made: bool, told: str
) -> None:
    assert await lost(chat, bookings, made=made) == [told]
    assert ran(chat) == ["book_seat", "list_bookings"]
    assert bookings.made == (BOOKED_ONCE if made else [])
    results = [str(message["content"]) for message in chat.asked.messages if message["role"] == "tool"]
    assert "和图书馆的连接断了。不知道做成没有：不要重做，照实告诉对方，能查就先查。" in results[1]


async def test_after_a_time_out_it_looks_and_says_what_is(tmp_path: Path) -> None:
    bookings = Bookings(tmp_path / "bookings.jsonl", seconds=60, timeout=0.05)
    async with library(tmp_path, bookings) as chat:
        looks_it_up(chat)
        await chat.say(WISH)
        assert await chat.say("确认") == [IS_BOOKED]
        assert ran(chat) == ["book_seat", "list_bookings"]
        assert bookings.made == BOOKED_ONCE
        assert (await chat.say(WISH))[0].startswith(IN_DOUBT)


@pytest.fixture
def killed(tmp_path: Path) -> None:
    """A process over this folder that was killed right after it had booked."""
    command = [sys.executable, "-m", "tests.fakes.killed_booking", str(tmp_path)]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


@pytest.mark.usefixtures("killed")
async def test_after_a_kill_it_looks_and_says_what_is(tmp_path: Path, bookings: Bookings) -> None:
    assert bookings.made == BOOKED_ONCE
    chat = library(tmp_path, bookings)
    chat.clock = HeldClock(START + timedelta(minutes=5))
    looks_it_up(chat)
    async with chat:
        await chat.settled()
        assert chat.deliver(HOME)[-1] == IS_BOOKED
        assert ran(chat) == ["book_seat", "list_bookings"]
        assert bookings.made == BOOKED_ONCE
        (question,) = await chat.say(WISH)
        assert question.startswith(IN_DOUBT)
        await chat.say("好")
        assert bookings.made == BOOKED_ONCE


# The next question


async def test_the_same_once_more_is_asked_about_with_the_doubt_first_and_a_code(
    chat: Conversation, bookings: Bookings
) -> None:
    await lost(chat, bookings, made=True)
    (question,) = await chat.say("再约一次")
    (code,) = codes(chat)
    assert question == f"{IN_DOUBT}\n{WHAT}\n回复「确认 {code}」或「取消 {code}」。"
    (asked,) = [event for event in chat.events(Kind.MESSAGE_SENT) if event.payload["text"] == question]
    for word, quotes in (("好", None), ("确认", None), ("确认", f"p-{asked.id}")):
        assert code in (await chat.say(word, quotes=quotes))[0]
    assert bookings.made == BOOKED_ONCE
    assert await chat.say(f"确认 {code}") == [DONE]
    assert len(bookings.made) == 2


async def test_a_standing_yes_does_not_cover_it(chat: Conversation, bookings: Bookings) -> None:
    await chat.say("/授权 book_seat 其余任意")
    bookings.breaks = "after"
    assert await chat.say(WISH) == [IS_BOOKED]
    (question,) = await chat.say("再约一次")
    assert question.startswith(IN_DOUBT)
    assert bookings.made == BOOKED_ONCE
    # Another booking is none that may have been made.
    assert await chat.say("约下午的") == [DONE]
    assert [made["start"] for made in bookings.made] == ["09:00", "14:00"]


async def test_other_arguments_are_asked_about_as_ever(chat: Conversation, bookings: Bookings) -> None:
    await lost(chat, bookings, made=False)
    (question,) = await chat.say("约下午的")
    assert question.startswith("要预约")
    await chat.say("好")
    assert [made["start"] for made in bookings.made] == ["14:00"]


async def test_once_it_is_known_again_the_doubt_is_over(chat: Conversation, bookings: Bookings) -> None:
    await lost(chat, bookings, made=False)
    await chat.say(WISH)
    await chat.say(f"确认 {codes(chat)[0]}")
    assert bookings.made == BOOKED_ONCE
    (question,) = await chat.say(WISH)
    assert question == f"{WHAT}回复「确认」或「取消」。"


async def test_the_doubt_outlives_a_no_an_expiry_and_a_restart(chat: Conversation, bookings: Bookings) -> None:
    await lost(chat, bookings, made=True)
    await chat.say(WISH)
    await chat.say(f"取消 {codes(chat)[0]}")
    await chat.restart()
    assert (await chat.say(WISH))[0].startswith(IN_DOUBT)
    await chat.later(minutes=31)
    _, fresh = await chat.say("确认")
    assert fresh.startswith(IN_DOUBT)
    assert bookings.made == BOOKED_ONCE


async def test_the_owner_reads_the_doubt_about_somebody_elses_wish(chat: Conversation, bookings: Bookings) -> None:
    await chat.say(WISH, MEMBER)
    bookings.breaks = "after"
    chat.deliver(HOME)
    await chat.say(f"确认 {codes(chat)[0]}")
    assert chat.deliver(Space("private", MEMBER)) == [IS_BOOKED]
    await chat.say(WISH, MEMBER)
    (question,) = chat.deliver(HOME)
    assert question.startswith(f"{IN_DOUBT}\nqq:10002（私聊）要我做这件事，你同意吗？\n{WHAT}")


async def test_english_says_the_same(tmp_path: Path, bookings: Bookings) -> None:
    async with library(tmp_path, bookings, LANGUAGE="en") as chat:
        chat.model(on_user("约", books()), on_result("may or may not", "Let me look."))
        await chat.say(WISH, OWNER_QQ)
        bookings.breaks = "before"
        assert await chat.say("confirm", OWNER_QQ) == ["Let me look."]
        (question,) = await chat.say(WISH, OWNER_QQ)
        assert question.startswith("It is not known whether this was done the last time; it may have been.\nAbout to")
