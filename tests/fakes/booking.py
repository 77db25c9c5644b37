"""A plug-in of the tests: booking a seat is an act, and a file says how often it was done."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from qingtuan.errors import OutcomeUnknown
from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.messages import Space
from qingtuan.tools.tool import MEMBERS, Tool, ToolContext, ToolResult, tool, tools_of
from tests.fakes.conversation import Conversation
from tests.fakes.model_server import Reply, call, on_result, on_user

SEAT = "二楼安静区-A12"
OWNER_QQ, MEMBER, GUEST = "qq:10001", "qq:10002", "qq:10009"
GROUP = Space("group", "qq:777")
WISH = "帮我约后天上午二楼安静区的座位"
WHAT = f"要预约：后天（周二 12月1日） 09:00–12:00，座位 {SEAT}。"
"""What the question about that wish says will happen."""
DONE = "约好了。"


class Bookings:
    """The library's side: every booking is a line of a file."""

    def __init__(self, path: Path, *, seconds: float = 0.0, timeout: float = 30.0) -> None:
        """`seconds`: how long a booking takes after it was made, so that a process can die meanwhile, or `timeout`
        seconds can run out."""
        self._path = path
        self._seconds = seconds
        self._timeout = timeout
        self.breaks: Literal["no", "before", "after", "dies"] = "no"
        """Whether the connection is lost in the next booking, and whether it was made by then; or the whole process
        dies of it, when it was made."""

    def __call__(self) -> Iterable[Tool]:
        """The provider of the plug-in."""
        for brought in tools_of(self):
            yield replace(brought, timeout=self._timeout) if brought.name == "book_seat" else brought

    @property
    def made(self) -> list[dict[str, Any]]:
        """What was booked, in order."""
        if not self._path.exists():
            return []
        return [json.loads(line) for line in self._path.read_text("utf-8").splitlines()]

    @tool(
        risk=Risk.ACT,
        returns="own",
        roles=MEMBERS,
        sentence=Words(
            "要预约：{date:day} {start}–{end}，座位 {seat}。", "About to book {seat}, {date:day}, {start}–{end}."
        ),
    )
    async def book_seat(self, context: ToolContext, seat: str, date: str, start: str, end: str) -> ToolResult:
        """Book a seat in the library."""
        breaks, self.breaks = self.breaks, "no"
        if breaks == "before":
            raise OutcomeUnknown(_LOST)
        self._note(seat=seat, date=date, start=start, end=end, by=context.reader.person)
        if breaks == "after":
            raise OutcomeUnknown(_LOST)
        if breaks == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.sleep(self._seconds)
        return ToolResult(f"预约成功，编号 R{len(self.made)}")

    @tool(risk=Risk.READ, returns="own", roles=MEMBERS)
    async def list_bookings(self, context: ToolContext) -> ToolResult:
        """The seats that are booked."""
        booked = [f"{made['seat']} {made['date']} {made['start']}" for made in self.made if "seat" in made]
        return ToolResult("；".join(booked) or "没有预约")

    @tool(risk=Risk.ACT, returns="own", roles=MEMBERS)
    async def send_post(self, context: ToolContext, text: str) -> ToolResult:
        """Post a text for everybody to see. Brings no sentence of its own."""
        self._note(text=text, by=context.reader.person)
        return ToolResult("发出去了")

    @tool(risk=Risk.CRITICAL, returns="own", roles=MEMBERS, sentence=Words("要注销图书馆账号。", "About to close it."))
    async def close_account(self, context: ToolContext) -> ToolResult:
        """Close the account at the library for good."""
        self._note(closed=True, by=context.reader.person)
        return ToolResult("注销了")

    def _note(self, **facts: object) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(facts, ensure_ascii=False) + "\n")


_LOST = Words("和图书馆的连接断了。", "The connection to the library was lost.")


def library(folder: Path, bookings: Bookings, **environ: str) -> Conversation:
    """A conversation with an instance of the library's regulars, whose model books, posts and closes accounts."""
    people = {
        "OWNER__ACCOUNTS": f'["{OWNER_QQ}"]',
        "ACCESS__MEMBERS": f'["{MEMBER}"]',
        "ACCESS__GROUPS": f'["{GROUP.id}"]',
        "EMBEDDING__MODEL": "off",
    }
    chat = Conversation(folder, tools={"booking": bookings}, **{**people, **environ})
    chat.model(
        on_user("下午", books("14:00", "17:00")),
        on_user("约", books()),
        on_user("注销", call("close_account")),
        on_result("预约成功", DONE),
        on_result("注销了", "注销了。"),
    )
    return chat


def codes(chat: Conversation) -> list[str]:
    """The codes of the open questions, oldest first."""
    return [asked.code for asked in chat.app.kit.book.open()]


def books(start: str = "09:00", end: str = "12:00", *, seat: str = SEAT, date: str = "2026-12-01") -> Reply:
    """The model wants a seat: on Tuesday morning, or as said."""
    return call("book_seat", seat=seat, date=date, start=start, end=end)
