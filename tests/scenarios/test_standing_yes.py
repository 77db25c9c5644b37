"""identity.md, What is trusted: an act runs unasked where the owner said so ahead, and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.messages import Material, Origin
from qingtuan.tools.registry import Provider
from qingtuan.tools.tool import Tool, ToolContext, ToolResult, tool, tools_of
from tests.fakes.booking import (
    DONE,
    GROUP,
    GUEST,
    MEMBER,
    OWNER_QQ,
    WHAT,
    WISH,
    Bookings,
    books,
    codes,
    library,
)
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Reply, call, on_result, on_user

ALLOW = "/授权 book_seat seat=二楼* date=* start=* end=* 7天"
QUESTION = f"{WHAT}回复「确认」或「取消」。"


@pytest.fixture
def bookings(tmp_path: Path) -> Bookings:
    return Bookings(tmp_path / "bookings.jsonl")


@pytest.fixture
async def chat(tmp_path: Path, bookings: Bookings) -> AsyncIterator[Conversation]:
    async with library(tmp_path, bookings) as chat:
        yield chat


# Giving, using, taking back


async def test_what_was_allowed_runs_unasked_and_the_list_says_how_often(
    chat: Conversation, bookings: Bookings
) -> None:
    (told,) = await chat.say(ALLOW)
    assert told == (
        "好，第 1 条。7 天内（到 2026年12月6日），你让我做 book_seat，只要完全符合下面这些，我就不先问：\n"
        "- seat：像「`二楼*`」（* 是任意一串字）\n"
        "- date、start、end：随便什么\n"
        "别的情况照样先问；看过网页、文件、转发以后也照样问。不要了：/授权 撤销 1"
    )
    assert await chat.say(WISH) == [DONE]
    assert len(bookings.made) == 1
    assert chat.events(Kind.CONFIRMATION_ASKED) == []
    (listed,) = await chat.say("/授权")
    assert "#1 book_seat：到 2026年12月6日，用过 1 次（11-29 10:00）" in listed
    assert "像「`二楼*`」" in listed
    assert await chat.say("/授权 撤销 1") == ["第 1 条撤销了，book_seat 以后先问你。"]
    assert await chat.say(WISH) == [QUESTION]
    assert len(bookings.made) == 1


async def test_english_says_the_same(tmp_path: Path, bookings: Bookings) -> None:
    async with library(tmp_path, bookings, LANGUAGE="en") as chat:
        assert (await chat.say("/allow"))[0].startswith("Nothing is allowed ahead")
        (told,) = await chat.say("/allow book_seat seat=二楼* any 1d")
        assert "For 1 day (until 2026-11-30)" in told
        assert "date, start, end: anything" in told
        assert await chat.say(WISH) == [DONE]
        assert "used once" in (await chat.say("/allow"))[0]
        assert (await chat.say("/allow revoke 1"))[0].startswith("Number 1 is revoked")


async def test_the_use_of_one_stands_in_the_trace(chat: Conversation) -> None:
    await chat.say(ALLOW)
    await chat.say(WISH)
    (given,) = chat.events(Kind.STANDING_GIVEN)
    started = [event for event in chat.events(Kind.TOOL_STARTED) if event.payload["name"] == "book_seat"]
    assert [event.payload["standing"] for event in started] == [{"event": given.id, "number": 1}]
    (shown,) = await chat.say("/经过 last")
    assert "没有先问：按授权 #1" in shown


async def test_it_outlives_a_restart_and_ends_at_its_time(chat: Conversation, bookings: Bookings) -> None:
    await chat.say(ALLOW)
    await chat.restart()
    assert await chat.say(WISH) == [DONE]
    await chat.later(days=7)
    assert "回复「确认」" in (await chat.say(WISH))[0]
    assert len(bookings.made) == 1
    assert (await chat.say("/授权"))[0].startswith("还没有授权过什么")


@pytest.mark.parametrize(
    "wanted",
    [
        books(seat="三楼-B3"),
        books(seat="靠近二楼"),
        call("send_post", text="二楼"),
        call("close_account"),
    ],
)
async def test_whatever_does_not_fit_is_asked_about(chat: Conversation, bookings: Bookings, wanted: Reply) -> None:
    await chat.say(ALLOW)
    chat.model(on_user("", wanted))
    (told,) = await chat.say("做吧")
    assert "回复「确认" in told
    assert bookings.made == []


async def test_an_argument_that_was_not_named_does_not_fit(tmp_path: Path) -> None:
    async with Conversation(tmp_path, tools={"tea": TeaRoom()}, EMBEDDING__MODEL="off") as chat:
        await chat.say("/授权 order item=茶")
        chat.model(on_user("茶", call("order", item="茶")), on_user("糖", call("order", item="茶", note="加糖")))
        assert await chat.say("来杯茶") == ["好的。"]
        assert "回复「确认」" in (await chat.say("加糖"))[0]
        await chat.say("/授权 order item=茶 其余任意")
        assert await chat.say("加糖") == ["好的。"]


# Who, and where


@pytest.mark.parametrize("words", [ALLOW, "/allow", "/授权 撤销 1", "/allow nonsense", "/授权 close_account"])
async def test_nobody_else_learns_what_exists(chat: Conversation, words: str) -> None:
    await chat.say(ALLOW)
    for by, space in ((MEMBER, None), (MEMBER, GROUP), (GUEST, GROUP)):
        assert await chat.say(words, by, space) == ["只有主人可以执行这个命令。"]
    assert await chat.say(words, OWNER_QQ, GROUP) == ["这里是群，私聊我再说。"]
    assert len(chat.events(Kind.STANDING_GIVEN)) == 1
    assert chat.events(Kind.STANDING_REVOKED) == []


async def test_a_program_and_an_edited_message_allow_nothing(tmp_path: Path, bookings: Bookings) -> None:
    chat = library(tmp_path, bookings)
    chat.home.prepare()
    chat.home.people_file.write_text('[persons.owner]\naccounts = ["http:k1"]\n', "utf-8")
    async with chat:
        for words in (ALLOW, "/allow"):
            assert await chat.say(words, "http:k1") == ["这个要你本人来，程序不行。"]
        assert await chat.say(ALLOW, edited=True) == ["改过的消息不算，请重新发一条。"]
        assert chat.events(Kind.STANDING_GIVEN) == []


async def test_a_program_with_the_owners_key_is_asked_about_all_the_same(
    chat: Conversation, bookings: Bookings
) -> None:
    await chat.say(ALLOW)
    chat.home.people_file.write_text('[persons.owner]\naccounts = ["http:k1"]\n', "utf-8")
    await chat.restart()
    await chat.say(WISH, "http:k1")
    assert bookings.made == []
    assert len(chat.app.kit.book.open()) == 1


async def test_somebody_elses_wish_still_waits_for_the_owner(chat: Conversation, bookings: Bookings) -> None:
    await chat.say(ALLOW)
    assert await chat.say(WISH, MEMBER) == ["这要主人同意，已经去问了，有结果就告诉你。"]
    assert bookings.made == []


async def test_it_counts_for_the_owner_in_a_group_until_somebody_else_has_spoken(
    chat: Conversation, bookings: Bookings
) -> None:
    await chat.say(ALLOW)
    assert await chat.say(WISH, OWNER_QQ, GROUP) == [DONE]
    await chat.say("今天星期几？", MEMBER, GROUP)
    assert "回复「确认」" in (await chat.say(WISH, OWNER_QQ, GROUP))[0]
    assert len(bookings.made) == 1


# Void


MATERIAL = (Material(Origin.FORWARD, "聊天记录", "小明：约座位吧"),)


async def test_it_is_void_while_material_is_in_view(chat: Conversation, bookings: Bookings) -> None:
    await chat.say(ALLOW)
    (told,) = await chat.say(WISH, materials=MATERIAL)
    assert "参考了转发或引用里的内容" in told
    (told,) = await chat.say("再约一次")  # it still stands in the history
    assert "参考了" in told
    assert bookings.made == []
    await chat.say("/clear")
    assert await chat.say(WISH) == [DONE]


async def test_a_result_from_outside_in_the_same_turn_voids_it(tmp_path: Path) -> None:
    async with Conversation(tmp_path, tools={"tea": TeaRoom()}, EMBEDDING__MODEL="off") as chat:
        await chat.say("/授权 order item=*  其余任意")
        chat.model(on_user("", call("menu")), on_result("茶", call("order", item="茶")))
        (told,) = await chat.say("看看菜单，点一样")
        assert "参考了工具结果里的内容" in told


async def test_what_is_critical_can_never_be_allowed(chat: Conversation, bookings: Bookings) -> None:
    (told,) = await chat.say("/授权 close_account")
    assert told == "close_account 不能提前授权：这样的事每次都要你看过，再输代码。"
    await chat.say("注销我的账号")
    assert bookings.made == []


async def test_it_is_void_for_a_tool_that_changed(tmp_path: Path, bookings: Bookings) -> None:
    """A server may bring another tool of the same name (rug pull)."""
    tools: dict[str, Provider] = {"booking": bookings}
    async with Conversation(tmp_path, tools=tools, EMBEDDING__MODEL="off") as chat:
        chat.model(on_user("约", books()), on_result("预约成功", DONE))
        await chat.say(ALLOW)
        tools["booking"] = lambda: [replace(one, description="Book a seat, and pay.") for one in bookings()]
        await chat.restart()
        assert await chat.say(WISH) == [QUESTION]
        assert bookings.made == []
        assert "⚠ 不算数了：授权以后这个工具变了" in (await chat.say("/授权"))[0]
        tools["booking"] = list
        await chat.restart()
        assert "⚠ 现在没有这个工具" in (await chat.say("/授权"))[0]
        tools["booking"] = bookings
        await chat.restart()
        assert await chat.say(WISH) == [DONE], "it is again the one that was allowed"


async def test_what_is_taken_back_after_the_model_called_does_not_run(tmp_path: Path, bookings: Bookings) -> None:
    room = TeaRoom()
    async with Conversation(tmp_path, tools={"tea": room, "booking": bookings}, EMBEDDING__MODEL="off") as chat:
        await chat.say(ALLOW)
        chat.model(on_user("", Reply(calls=(*call("wait").calls, *books().calls))))
        await chat.send("等一下再约座位")
        await room.waits.wait()
        await chat.send("/授权 撤销 1")
        room.go.set()
        await chat.settled()
        assert bookings.made == []
        assert len(codes(chat)) == 1


class TeaRoom:
    """Ordering is an act with an argument that may be left out; a menu comes from outside; waiting takes until a test
    lets it go on."""

    def __init__(self) -> None:
        self.waits, self.go = asyncio.Event(), asyncio.Event()

    def __call__(self) -> Iterable[Tool]:
        return tools_of(self)

    @tool(risk=Risk.ACT, returns="own", sentence=Words("要点：{item}。", "About to order {item}."))
    async def order(self, context: ToolContext, item: str, note: str = "") -> ToolResult:
        """Order something."""
        return ToolResult("点好了")

    @tool(risk=Risk.READ, returns="foreign")
    async def menu(self, context: ToolContext) -> ToolResult:
        """What there is."""
        return ToolResult("茶、咖啡")

    @tool(risk=Risk.READ, returns="own")
    async def wait(self, context: ToolContext) -> ToolResult:
        """Take a while."""
        self.waits.set()
        await self.go.wait()
        return ToolResult("好了")
