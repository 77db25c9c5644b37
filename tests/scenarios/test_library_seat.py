"""The seed's promise: 「帮我约明天上午二楼安静区的座位」 looks up what is preferred and what is free, stops with a
question in plain words, books on yes, does nothing on no. Whatever happens on the way, nothing is booked twice, and
what is told is true.

The library is a web site, the seats server a program of its own that is found by a search; only the model is scripted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.conversation import OWNER, Conversation, remembers
from tests.fakes.library import Library, configure, kill_servers, open_library
from tests.fakes.model_server import Asked, Reply, Rule, call, on_result, on_user, when

WISH = "帮我约明天上午二楼安静区的座位"
QUESTION = "要预约：明天（周一 11月30日） 09:00–12:00，座位 {seat}。回复「确认」或「取消」。"
A01, A02, A03 = (f"二楼安静区-A0{n}" for n in (1, 2, 3))
LIN = "qq:10002"


def find(server: str = "library-seats", **more: Any) -> Reply:
    given = {"date": "2026-11-30", "start": "09:00", "end": "12:00", "area": "二楼安静区", **more}
    return call(f"{server}__find_seats", **given)


def reserve(seat: str = A01, start: str = "09:00", end: str = "12:00", server: str = "library-seats") -> Reply:
    return call(f"{server}__reserve_seat", seat_id=seat, date="2026-11-30", start=start, end=end)


def listing() -> Reply:
    return call("library-seats__list_reservations")


def offers_next(asked: Asked) -> Reply:
    """The model takes the first seat that the server names in place of the lost one."""
    text = asked.text_of("tool")
    return reserve(next(seat for seat in (A02, A03) if seat in text))


def tells_what_is_booked(asked: Asked) -> Reply:
    found = json.loads(asked.text_of("tool"))["reservations"]
    return Reply("查过了，已经约上了。" if found else "查过了，没有约上，要再约一次吗？")


RULES: tuple[Rule, ...] = (
    on_user("优先坐二楼", remembers(content="图书馆优先坐二楼安静区", value="二楼安静区")),
    on_user("约", call("capability_search", query="预约图书馆座位")),
    on_user("下午", reserve(start="14:00", end="17:00")),
    on_result("可以直接调用", find()),
    on_result('"seats"', reserve()),
    on_result('{"reservations"', tells_what_is_booked),
    on_result('{"reservation_id"', "约好了。"),
    on_result("不知道做成没有", listing()),
    on_result("已经被", offers_next),
    on_result("记", "记住了。"),
)


@pytest.fixture
async def library() -> AsyncIterator[Library]:
    async with open_library() as library:
        yield library


@pytest.fixture
async def chat(tmp_path: Path, library: Library) -> AsyncIterator[Conversation]:
    chat = Conversation(tmp_path, EMBEDDING__MODEL="off")
    configure(chat.home, library_seats=library.entry())
    chat.model(*RULES)
    async with chat:
        yield chat


def called(chat: Conversation) -> list[str]:
    return [event.payload["name"] for event in chat.events(Kind.TOOL_STARTED)]


async def test_step_by_step(tmp_path: Path, library: Library) -> None:
    chat = Conversation(tmp_path)
    configure(chat.home, library_seats=library.entry())
    chat.model(*RULES)
    async with chat:
        await step_by_step(chat, library)


async def step_by_step(chat: Conversation, library: Library) -> None:
    assert await chat.say("我以后图书馆优先坐二楼安静区") == ["记住了。"]
    assert await chat.say(WISH, session="later") == [QUESTION.format(seat=A01)]
    assert called(chat) == ["remember", "capability_search", "library-seats__find_seats"]
    first = chat.server.requests[-3]
    assert "图书馆优先坐二楼安静区" in str(first.messages)
    assert not [name for name in first.tools if "library" in name]
    assert "library-seats__reserve_seat" in chat.asked.tools
    assert await library.booked() == []
    assert await chat.say("确认", session="later") == ["约好了。"]
    assert await library.booked() == [("demo", A01, "09:00", "12:00")]
    assert called(chat).count("library-seats__reserve_seat") == 1


async def test_no_does_nothing(chat: Conversation, library: Library) -> None:
    await chat.say(WISH)
    assert await chat.say("取消") == ["好，不做了。"]
    assert await library.booked() == []
    assert "library-seats__reserve_seat" not in called(chat)


async def test_a_seat_that_was_lost_meanwhile_is_told_and_the_next_one_offered(
    chat: Conversation, library: Library
) -> None:
    await chat.say(WISH)
    await library.lose(A01)
    (question,) = await chat.say("确认")
    assert question == QUESTION.format(seat=A02) or question == QUESTION.format(seat=A03)
    assert [row for row in await library.booked() if row[0] == "demo"] == []
    assert await chat.say("确认") == ["约好了。"]
    assert len([row for row in await library.booked() if row[0] == "demo"]) == 1


async def test_an_expired_login_is_renewed(chat: Conversation, library: Library) -> None:
    await chat.say(WISH)
    await library.arm("expire-sessions")
    assert await chat.say("确认") == ["约好了。"]
    assert await library.booked() == [("demo", A01, "09:00", "12:00")]


async def test_a_server_killed_before_the_booking_is_started_again(chat: Conversation, library: Library) -> None:
    await chat.say(WISH)
    assert kill_servers() == 1
    await until(lambda: chat.app.servers.status()[0].state != "up")
    assert await chat.say("确认") == ["约好了。"]
    assert await library.booked() == [("demo", A01, "09:00", "12:00")]


@pytest.mark.parametrize(
    ("moment", "told"), [("after", "查过了，已经约上了。"), ("before", "查过了，没有约上，要再约一次吗？")]
)
async def test_a_server_killed_during_the_booking_is_looked_up_and_not_asked_again(
    chat: Conversation, library: Library, moment: str, told: str
) -> None:
    await chat.say(WISH)
    await library.arm(f"hang-{moment}", "reserve")
    await chat.send("确认")
    await library.struck()
    kill_servers()
    await chat.settled()
    assert chat.deliver(Space("private", OWNER))[-1] == told
    assert len(await library.booked()) == (1 if moment == "after" else 0)
    statuses = [event.payload["status"] for event in chat.events(Kind.TOOL_FINISHED)]
    assert statuses[-2:] == ["unknown", "ok"]
    assert called(chat).count("library-seats__reserve_seat") == 1
    # A second try after an unknown one warns by code, whatever the model says.
    (question,) = await chat.say(WISH)
    assert "可能已经做了" in question


async def test_a_restart_between_question_and_yes(chat: Conversation, library: Library) -> None:
    await chat.say(WISH)
    await chat.restart()
    assert await chat.say("确认") == ["约好了。"]
    assert await library.booked() == [("demo", A01, "09:00", "12:00")]


async def test_a_late_yes_is_asked_anew(chat: Conversation, library: Library) -> None:
    await chat.say(WISH)
    await chat.later(minutes=31)
    late, question = await chat.say("确认")
    assert late == "刚才的过期了，还要吗？"
    assert question == QUESTION.format(seat=A01)
    assert await library.booked() == []
    assert await chat.say("确认") == ["约好了。"]
    assert len(await library.booked()) == 1


async def test_in_the_afternoon_instead(chat: Conversation, library: Library) -> None:
    await chat.say(WISH)
    (question,) = await chat.say("改成下午")
    assert "14:00–17:00" in question
    assert len(chat.app.kit.book.open()) == 1
    assert await chat.say("确认") == ["约好了。"]
    assert await library.booked() == [("demo", A01, "14:00", "17:00")]


async def test_two_people_want_the_same_seat(tmp_path: Path, library: Library) -> None:
    """Each has an account at the library, and so a server; the setting gives Lin the one that is Lin's."""
    chat = Conversation(
        tmp_path, EMBEDDING__MODEL="off", ACCESS__MEMBERS=json.dumps([LIN]), ACCESS__TOOLS='{"lin__*": "member"}'
    )
    configure(chat.home, library_seats=library.entry(), lin=library.entry("lin"))
    chat.model(
        when(lambda asked: LIN in str(asked.messages) and "约" in asked.text_of("user") and not asked.text_of("tool"),
             call("capability_search", query="预约图书馆座位")),
        when(lambda asked: "可以直接调用" in asked.text_of("tool") and "lin__find_seats" in asked.tools
             and "library-seats__find_seats" not in asked.tools, find("lin")),
        when(lambda asked: '"seats"' in asked.text_of("tool") and "library-seats__find_seats" not in asked.tools,
             reserve(server="lin")),
        on_result("已经被", "这个座位刚被约走了，要换一个吗？"),
        *RULES,
    )  # fmt: skip
    async with chat:
        assert await chat.say(WISH) == [QUESTION.format(seat=A01)]
        assert await chat.say(WISH, by=LIN) == [QUESTION.format(seat=A01)]
        assert await chat.say("确认", by=LIN) == ["约好了。"]
        assert await chat.say("确认") == ["这个座位刚被约走了，要换一个吗？"]
        assert await library.booked() == [("lin", A01, "09:00", "12:00")]


ALLOW = "/授权 library-seats__reserve_seat seat_id=二楼安静区-* 其余任意 7天"


async def test_what_was_allowed_ahead_is_booked_unasked(chat: Conversation, library: Library) -> None:
    await chat.say(WISH)
    await chat.say("取消")
    (told,) = await chat.say(ALLOW)
    assert "二楼安静区-*" in told
    assert await chat.say(WISH) == ["约好了。"]
    assert await library.booked() == [("demo", A01, "09:00", "12:00")]


async def test_texts_that_nobody_vouches_for_void_it_and_are_named(tmp_path: Path, library: Library) -> None:
    chat = Conversation(tmp_path, EMBEDDING__MODEL="off")
    configure(chat.home, library_seats=library.entry(returns="foreign"))
    chat.model(*RULES)
    async with chat:
        await chat.say(WISH)
        await chat.say("取消")
        await chat.say(ALLOW)
        (question,) = await chat.say(WISH)
        assert question.startswith("要预约：明天（周一 11月30日） 09:00–12:00，座位 二楼安静区-A01。")
        assert "那不是你说的" in question
        assert await library.booked() == []


async def test_without_the_server_it_says_so_and_all_else_goes_on(tmp_path: Path, library: Library) -> None:
    chat = Conversation(tmp_path)
    configure(chat.home, library_seats=library.entry(command="no-such-program-anywhere"))
    chat.model(on_result("服务器 library-seats 现在起不来", "现在约不了座位：座位服务没起来。"), *RULES)
    async with chat:
        assert await chat.say(WISH) == ["现在约不了座位：座位服务没起来。"]
        assert await chat.say("我以后图书馆优先坐二楼安静区") == ["记住了。"]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 (nothing tells it)
            await asyncio.sleep(0.01)
