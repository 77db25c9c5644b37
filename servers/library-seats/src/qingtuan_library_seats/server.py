"""The tools that a model is offered, over MCP."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError

from qingtuan_library_seats import __version__
from qingtuan_library_seats.arguments import read_name, read_slot
from qingtuan_library_seats.desk import Desk
from qingtuan_library_seats.driver import Reservation, Tell
from qingtuan_library_seats.errors import LibraryError
from qingtuan_library_seats.text import clean, listed

_LOG = logging.getLogger(__name__)

INSTRUCTIONS = (
    "图书馆座位 library seats。先 find_seats 查空座，再用查到的 seat_id 调 reserve_seat；"
    "取消和签到要的编号来自 list_reservations。日期 YYYY-MM-DD，时间 HH:MM，以半小时为单位。"
)

Date = Annotated[str, Field(description="日期 date，YYYY-MM-DD，例如 2026-12-01")]
Start = Annotated[str, Field(description="开始时间 start，HH:MM，例如 09:00")]
End = Annotated[str, Field(description="结束时间 end，HH:MM，例如 12:00")]
SeatId = Annotated[str, Field(description="座位号 seat_id，照 find_seats 给的写，例如 二楼安静区-A12")]
AreaName = Annotated[str | None, Field(description="只看这个区域 area，例如 二楼安静区；不填就看全部")]
Quiet = Annotated[bool | None, Field(description="true 只看安静的 quiet，false 只看可以交谈的；不填都看")]
Window = Annotated[bool | None, Field(description="true 只看靠窗的 window，false 只看不靠窗的；不填都看")]
ReservationId = Annotated[str, Field(description="预约编号 reservation_id，例如 R0001，来自 list_reservations")]


class AreaOut(BaseModel):
    """One area."""

    area: str
    floor: int
    quiet: bool
    seats: int
    window_seats: int


class AreasOut(BaseModel):
    """All areas, and the hours."""

    areas: list[AreaOut]
    opens: str
    closes: str


class SeatOut(BaseModel):
    """One seat."""

    seat_id: str
    area: str
    floor: int
    quiet: bool
    window: bool
    free: bool


class SeatsOut(BaseModel):
    """Seats, free ones first."""

    seats: list[SeatOut]


class ReservationOut(BaseModel):
    """One reservation."""

    reservation_id: str
    seat_id: str
    date: str
    start: str
    end: str


class ReservationsOut(BaseModel):
    """The reader's reservations, by time."""

    reservations: list[ReservationOut]


class CancelledOut(ReservationOut):
    """A reservation that is no more."""

    cancelled: bool


class CheckedInOut(ReservationOut):
    """A reservation whose reader is there."""

    checked_in: bool


_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_BOOKS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)  # fmt: skip
_CANCELS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
_CHECKS_IN = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


class SeatServer(MCPServer[Any]):
    """An MCP server whose every error is one clear sentence."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; what the SDK says of wrong arguments and of crashes is for developers, so say it plainly."""
        tool = next((tool for tool in await self.list_tools() if tool.name == name), None)
        if tool is None:
            return _error(f"没有“{clean(name)}”这个工具。")
        known = tool.input_schema.get("properties", {})
        unknown = [argument for argument in arguments if argument not in known]
        if unknown:
            taken = f"它用这些：{listed(known)}" if known else "它不用参数"
            return _error(f"{name} 没有这样的参数：{listed(clean(one, 40) for one in unknown[:5])}；{taken}。")
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError:
            _LOG.exception("tool %s crashed", name)
            return _error(
                f"{name} 出了意外，详情在这个服务的日志里。不要马上重复，先用 list_reservations 看看现有的预约。"
            )
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                return _error(_wrong_arguments(error.__cause__))
            raise


def build_server(desk: Desk) -> SeatServer:
    """The server over this desk."""
    server = SeatServer("library-seats", title="图书馆座位", version=__version__, instructions=INSTRUCTIONS)
    _add_reading(server, desk)
    _add_changing(server, desk)
    return server


def _add_reading(server: SeatServer, desk: Desk) -> None:
    @server.tool(title="图书馆区域", annotations=_READS)
    async def list_areas() -> Annotated[CallToolResult, AreasOut]:
        """列出图书馆的区域、楼层、环境和开放时间 (library areas and opening hours)。不清楚有哪些区域或几点开门时用。"""
        return await _answer(_list_areas(desk))

    @server.tool(title="查座位", annotations=_READS)
    async def find_seats(
        date: Date, start: Start, end: End, area: AreaName = None, quiet: Quiet = None, window: Window = None
    ) -> Annotated[CallToolResult, SeatsOut]:
        """查图书馆某天某段时间的座位，空座在前 (find free library seats)。约座位前先用它；可选区域、安静、靠窗。"""
        return await _answer(_find_seats(desk, (date, start, end), area, quiet=quiet, window=window))

    @server.tool(title="我的座位预约", annotations=_READS)
    async def list_reservations() -> Annotated[CallToolResult, ReservationsOut]:
        """列出本人现有的图书馆座位预约和编号 (list my library seat reservations)。要取消、签到，或核对是否约上时用。"""
        return await _answer(_list_reservations(desk))


def _add_changing(server: SeatServer, desk: Desk) -> None:
    @server.tool(
        title="预约座位",
        annotations=_BOOKS,
        meta=_sentence(
            "要预约：{date:day} {start}–{end}，座位 {seat_id}。",
            "About to book seat {seat_id} for {date:day}, {start}–{end}.",
        ),
    )
    async def reserve_seat(
        seat_id: SeatId, date: Date, start: Start, end: End, ctx: Context[Any, Any]
    ) -> Annotated[CallToolResult, ReservationOut]:
        """预约一个图书馆座位 (reserve, book a library seat)。先用 find_seats 查到空的 seat_id，再用它。"""
        return await _answer(_reserve(desk, seat_id, (date, start, end), _tell(ctx)), _RESERVED)

    @server.tool(
        title="取消预约",
        annotations=_CANCELS,
        meta=_sentence("要取消座位预约 {id}。", "About to cancel the seat reservation {id}."),
    )
    async def cancel_reservation(id: ReservationId) -> Annotated[CallToolResult, CancelledOut]:  # noqa: A002  # fixed
        """取消一个图书馆座位预约 (cancel a library seat reservation)。编号用 list_reservations 查。"""
        return await _answer(_cancel(desk, id), _CANCELLED)

    @server.tool(
        title="签到",
        annotations=_CHECKS_IN,
        meta=_sentence("要为座位预约 {id} 签到。", "About to check in for the seat reservation {id}."),
    )
    async def check_in(id: ReservationId) -> Annotated[CallToolResult, CheckedInOut]:  # noqa: A002  # fixed by contract
        """到馆后为座位预约签到 (check in for a library seat reservation)。编号用 list_reservations 查。"""
        return await _answer(_check_in(desk, id), _CHECKED_IN)


async def _list_areas(desk: Desk) -> AreasOut:
    found = await desk.areas()
    areas = [
        AreaOut(area=one.name, floor=one.floor, quiet=one.quiet, seats=one.seats, window_seats=one.windows)
        for one in found.areas
    ]
    return AreasOut(areas=areas, opens=f"{found.opens:%H:%M}", closes=f"{found.closes:%H:%M}")


async def _find_seats(
    desk: Desk, slot: tuple[str, str, str], area: str | None, *, quiet: bool | None, window: bool | None
) -> SeatsOut:
    name = read_name("area", area) if area else None
    seats = await desk.seats(read_slot(*slot), area=name, quiet=quiet, window=window)
    return SeatsOut(
        seats=[
            SeatOut(seat_id=one.id, area=one.area, floor=one.floor, quiet=one.quiet, window=one.window, free=one.free)
            for one in seats
        ]
    )


async def _reserve(desk: Desk, seat_id: str, slot: tuple[str, str, str], tell: Tell) -> ReservationOut:
    return _out(await desk.reserve(read_name("seat_id", seat_id), read_slot(*slot), tell))


async def _list_reservations(desk: Desk) -> ReservationsOut:
    return ReservationsOut(reservations=[_out(one) for one in await desk.reservations()])


async def _cancel(desk: Desk, reservation_id: str) -> CancelledOut:
    cancelled = _out(await desk.cancel(read_name("id", reservation_id)))
    return CancelledOut(**cancelled.model_dump(), cancelled=True)


async def _check_in(desk: Desk, reservation_id: str) -> CheckedInOut:
    there = _out(await desk.check_in(read_name("id", reservation_id)))
    return CheckedInOut(**there.model_dump(), checked_in=True)


def _out(one: Reservation) -> ReservationOut:
    slot = one.slot
    return ReservationOut(
        reservation_id=one.id,
        seat_id=one.seat_id,
        date=slot.day.isoformat(),
        start=f"{slot.start:%H:%M}",
        end=f"{slot.end:%H:%M}",
    )


_RESERVED = "约好了：{date} {start}–{end}，座位 {seat_id}，预约编号 {reservation_id}。"
_CANCELLED = "取消了：{date} {start}–{end}，座位 {seat_id}，预约编号 {reservation_id}。"
_CHECKED_IN = "签到了：{date} {start}–{end}，座位 {seat_id}，预约编号 {reservation_id}。"
"""What was done, for whoever tells it on: small models mistake one name of a field for another."""


async def _answer(work: Awaitable[BaseModel], done: str = "") -> CallToolResult:
    """The values twice, for programs and as compact text, behind the sentence `done` filled in with them; or the
    sentence that says why not."""
    try:
        values = (await work).model_dump()
    except LibraryError as error:
        return _error(str(error))
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    texts = [done.format(**values), text] if done else [text]
    return CallToolResult(content=[TextContent(type="text", text=one) for one in texts], structured_content=values)


def _error(sentence: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=sentence)], is_error=True)


def _wrong_arguments(error: ValidationError) -> str:
    missing = [str(one["loc"][0]) for one in error.errors() if one["type"] == "missing"]
    if missing:
        return f"缺少参数：{listed(missing)}。"
    wrong = dict.fromkeys(str(one["loc"][0]) for one in error.errors())
    return f"参数的类型不对：{listed(wrong)}；日期、时间和名字是字符串，quiet 和 window 是 true 或 false。"


def _tell(ctx: Context[Any, Any]) -> Tell:
    """Reports each step as progress. How many there are is not known before: some are done again."""
    done = 0

    async def tell(step: str) -> None:
        nonlocal done
        done += 1
        await ctx.report_progress(done, message=step)

    return tell


def _sentence(zh: str, en: str) -> dict[str, Any]:
    """What a client that asks people first may show them; the names in braces are arguments."""
    return {"qingtuan/sentence": {"zh": zh, "en": en}}
