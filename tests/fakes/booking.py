"""A plug-in of the tests: booking a seat is an act, and a file says how often it was done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.tools.tool import MEMBERS, Tool, ToolContext, ToolResult, tool, tools_of
from tests.fakes.model_server import Reply, call

SEAT = "二楼安静区-A12"


class Bookings:
    """The library's side: every booking is a line of a file."""

    def __init__(self, path: Path, *, seconds: float = 0.0) -> None:
        """`seconds`: how long a booking takes after it was made, so that a process can die meanwhile."""
        self._path = path
        self._seconds = seconds

    def __call__(self) -> Iterable[Tool]:
        """The provider of the plug-in."""
        return tools_of(self)

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
        self._note(seat=seat, date=date, start=start, end=end, by=context.reader.person)
        await asyncio.sleep(self._seconds)
        return ToolResult(f"预约成功，编号 R{len(self.made)}")

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


def books(start: str = "09:00", end: str = "12:00", *, seat: str = SEAT, date: str = "2026-12-01") -> Reply:
    """The model wants a seat: on Tuesday morning, or as said."""
    return call("book_seat", seat=seat, date=date, start=start, end=end)
