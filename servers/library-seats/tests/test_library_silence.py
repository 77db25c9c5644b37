"""Sessions that end, connections that break, and sites that mean no good: what the driver makes of them.

The rule behind all of it: a reservation is made once, and what is said about it is true.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from library_world import HASTY, PERIOD, QUICK, SEAT, WISH, Library, Reader, reading
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from qingtuan_library_seats.serving import address_of, listen, serving
from qingtuan_library_seats.settings import Settings

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("fault", ["drop-before", "drop-after", "error-before", "error-after"])
async def test_a_reading_is_tried_again(reader: Reader, open_library: Library, fault: str) -> None:
    await open_library.arm(fault, "areas", times=3)
    assert (await reader.values("list_areas"))["opens"] == "08:00"


async def test_a_reading_gives_up_in_the_end(reader: Reader, open_library: Library) -> None:
    await open_library.arm("error-before", "areas", times=QUICK.tries)
    assert "网站回了错误 500" in await reader.refusal("list_areas")
    assert (await reader.values("list_areas"))["opens"] == "08:00"


@pytest.mark.parametrize("fault", ["drop-before", "error-before", "drop-after", "error-after"])
async def test_a_silent_booking_is_made_once(reader: Reader, open_library: Library, fault: str) -> None:
    await open_library.arm(fault, "reserve")
    made = await reader.values("reserve_seat", **WISH)
    assert [row["reservation_id"] for row in await open_library.books(every=True)] == [made["reservation_id"]]
    again = ["打开预约确认页", "提交预约", "核对预约"]
    lost = ["打开预约确认页", "提交预约", "没有回音，核对有没有约上"]
    assert reader.steps == (lost if fault.endswith("after") else lost + again)


async def test_a_booking_that_never_arrives_is_surely_not_made(reader: Reader, open_library: Library) -> None:
    await open_library.arm("drop-before", "reserve", times=10)
    sentence = await reader.refusal("reserve_seat", **WISH)
    assert "核对过，没有约上" in sentence
    assert "什么都没有改动" in sentence
    assert await open_library.books(every=True) == []


async def test_a_booking_that_cannot_be_looked_up_is_said_to_be_unknown(reader: Reader, open_library: Library) -> None:
    await open_library.arm("drop-after", "reserve")
    await open_library.arm("error-before", "reservations", times=QUICK.tries)
    sentence = await reader.refusal("reserve_seat", **WISH)
    assert "可能已经办成了" in sentence
    assert "list_reservations" in sentence
    assert SEAT in sentence
    assert len((await reader.values("list_reservations"))["reservations"]) == 1
    assert len(await open_library.books(every=True)) == 1


async def test_a_booking_whose_last_page_is_lost_is_looked_up(reader: Reader, open_library: Library) -> None:
    await open_library.arm("error-before", "reservations", times=QUICK.tries)
    made = await reader.values("reserve_seat", **WISH)
    assert [row["reservation_id"] for row in await open_library.books(every=True)] == [made["reservation_id"]]


async def test_a_slow_booking_is_found(open_library: Library) -> None:
    await open_library.arm("hang-after", "reserve")
    async with reading(open_library.settings, HASTY) as reader:
        assert (await reader.values("reserve_seat", **WISH))["seat_id"] == SEAT
    assert len(await open_library.books(every=True)) == 1


async def test_a_slow_booking_that_is_not_there_may_still_come(open_library: Library) -> None:
    await open_library.arm("hang-before", "reserve")
    async with reading(open_library.settings, HASTY) as reader:
        assert "可能已经办成了" in await reader.refusal("reserve_seat", **WISH)


async def test_a_seat_lost_after_a_silence_is_not_called_booked(reader: Reader, open_library: Library) -> None:
    await open_library.arm("drop-before", "reserve")
    await open_library.take(page="reserve")
    assert "已经被别人约走了" in await reader.refusal("reserve_seat", **WISH)
    assert await open_library.books() == []


@pytest.mark.parametrize("page", ["seats", "confirm", "reserve", "reservations"])
async def test_an_expired_login_is_renewed(reader: Reader, open_library: Library, page: str) -> None:
    await reader.values("find_seats", **PERIOD)
    if page in ("seats", "reservations"):
        await open_library.arm("expire-sessions")
    else:
        await open_library.arm("expire-sessions", page)
    if page == "reservations":
        assert await reader.values("list_reservations") == {"reservations": []}
    else:
        await reader.values("reserve_seat", **WISH)
        assert len(await open_library.books(every=True)) == 1


@pytest.mark.parametrize("page", ["reserve", "cancel", "check-in"])
async def test_a_login_that_ends_after_the_change_does_not_hide_it(
    reader: Reader, open_library: Library, page: str
) -> None:
    """The site forgets the reader and goes down between the change and the page about it: nobody can say what came."""
    if page != "reserve":
        await reader.values("reserve_seat", **WISH)
    await open_library.set_clock(f"{WISH['date']}T08:50")
    await reader.values("list_areas")
    await open_library.arm("expire-sessions", page)
    await open_library.arm("error-before", "login", times=2 * QUICK.tries)
    change = {"reserve": "reserve_seat", "cancel": "cancel_reservation", "check-in": "check_in"}[page]
    arguments = WISH if page == "reserve" else {"id": "R0001"}
    assert "可能已经办成了" in await reader.refusal(change, **arguments)


@pytest.mark.parametrize("fault", ["drop-before", "drop-after", "error-before"])
async def test_a_login_survives_a_bad_line(reader: Reader, open_library: Library, fault: str) -> None:
    await open_library.arm(fault, "login", times=3)
    assert (await reader.values("list_areas"))["opens"] == "08:00"


@pytest.mark.parametrize("fault", ["drop-before", "drop-after", "error-before", "error-after", "hang-after"])
@pytest.mark.parametrize("tool", ["cancel_reservation", "check_in"])
async def test_a_silent_change_is_looked_up(open_library: Library, tool: str, fault: str) -> None:
    async with reading(open_library.settings, HASTY) as reader:
        await reader.values("reserve_seat", **WISH)
        await open_library.set_clock(f"{WISH['date']}T08:50")
        await open_library.arm(fault, "cancel" if tool == "cancel_reservation" else "check-in")
        done = await reader.values(tool, id="R0001")
    assert done["reservation_id"] == "R0001"
    states = [row["state"] for row in await open_library.books(every=True)]
    assert states == ["cancelled" if tool == "cancel_reservation" else "checked-in"]


async def test_a_change_that_cannot_be_looked_up_is_said_to_be_unknown(reader: Reader, open_library: Library) -> None:
    await reader.values("reserve_seat", **WISH)
    await open_library.arm("drop-after", "cancel")
    await open_library.arm("error-before", "reservations", times=1)
    assert (await reader.values("cancel_reservation", id="R0001"))["cancelled"]
    await reader.values("reserve_seat", **WISH)
    await open_library.arm("expire-sessions", "cancel")
    await open_library.arm("drop-after", "cancel")
    await open_library.arm("error-before", "login", times=QUICK.tries)
    assert "可能已经办成了" in await reader.refusal("cancel_reservation", id="R0002")


async def test_calls_of_one_login_take_turns(reader: Reader, open_library: Library) -> None:
    wishes = [{**WISH, "seat_id": f"二楼安静区-A{number:02d}"} for number in range(1, 9)]
    results = await asyncio.gather(*(reader.call("reserve_seat", **wish) for wish in wishes))
    assert sorted(bool(result.is_error) for result in results) == [False, *[True] * 7]
    assert len(await open_library.books(every=True)) == 1


# Sites that mean no good

Answer = Callable[[Request], Response]


@asynccontextmanager
async def hostile(answer: Answer) -> AsyncIterator[Reader]:
    """A reader of a site that answers everything in its own way."""

    async def page(request: Request) -> Response:
        return answer(request)

    sock = listen("127.0.0.1", 0)
    settings = Settings(address_of(sock), "demo", "S3cret!")
    app = Starlette(routes=[Route("/{path:path}", page, methods=["GET", "POST"])])
    async with serving(app, sock), reading(settings, replace(QUICK, tries=2)) as reader:
        yield reader


def endless(_request: Request) -> Response:
    async def body() -> AsyncIterator[bytes]:
        while True:
            yield b"<p>" * 10_000
            await asyncio.sleep(0)

    return StreamingResponse(body())


def lying_form(request: Request) -> Response:
    """Shows a confirm page for another seat than the one that was asked for."""
    fields = {**request.query_params, "seat": "地下室-Z01"}
    inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in fields.items())
    return HTMLResponse(f'<form id="confirm" action="/reserve">{inputs}</form>')


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (endless, "网页太大"),
        (lambda _: HTMLResponse("<p>" * 50_000), "网页太大"),
        (lambda _: HTMLResponse("<p>" * 9_000), "网页读不懂"),
        (lambda _: HTMLResponse('<form id="confirm" action="http://[bad">'), "网址不对"),
        (lambda _: HTMLResponse("\x00\xff<table><tr class=area data-floor=x>"), "网页读不懂"),
        (lambda _: Response(b"x", headers={"Content-Encoding": "gzip"}), "网页是压缩的"),
        (lambda request: RedirectResponse(request.url.path), "跳转太多次"),
        (lambda _: RedirectResponse("http://evil.example/steal"), "它指向别的网站 evil.example"),
        (lambda _: RedirectResponse("http://[bad"), "图书馆网站现在用不了"),
        (lambda _: HTMLResponse('<form id="login" action="https://evil.example/login">'), "它指向别的网站"),
        (lambda _: HTMLResponse('<form id="login" action="/login">'), "登录"),
        (lambda _: HTMLResponse('<form id="captcha">'), "验证码"),
        (lambda _: HTMLResponse('<p class="alert" data-code="x">\u202e坏\x07消息' + "!" * 999), "图书馆没有同意"),
        (lying_form, "确认页上写的不是要约的座位"),
    ],
)
async def test_a_site_that_means_no_good_costs_one_sentence(answer: Answer, words: str) -> None:
    async with hostile(answer) as reader:
        sentence = await reader.refusal("reserve_seat", **WISH)
        assert words in sentence
        assert "S3cret!" not in sentence
        assert len(sentence) < 400
        assert sentence.isprintable()
        assert (await reader.call("list_areas")).is_error
