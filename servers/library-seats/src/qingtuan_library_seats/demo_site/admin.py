"""A way in for tests: what goes wrong next, what stands in the books, and what time it is. Only with a token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from qingtuan_library_seats.demo_site.clock import Clock
from qingtuan_library_seats.demo_site.faults import KINDS, PAGES, Afterwards, Armed, Faults, Kind, Page
from qingtuan_library_seats.demo_site.library import Library, Period, Refusal, read_period
from qingtuan_library_seats.demo_site.site import Site
from qingtuan_library_seats.demo_site.store import Booking, Store

SOMEONE_ELSE = "另一位读者"
"""Who takes a seat when a test wants it to be lost."""


class Admin:
    """`/admin/…`, all of it JSON, each with `Authorization: Bearer <token>`."""

    def __init__(self, token: str, *, site: Site, library: Library, store: Store, faults: Faults, clock: Clock) -> None:
        self._token = token
        self._site, self._library, self._store, self._faults, self._clock = site, library, store, faults, clock

    def routes(self) -> list[Route]:
        """The way in."""
        return [
            Route("/admin/reservations", self._guarded(self._reservations)),
            Route("/admin/faults", self._guarded(self._arm), methods=["POST"]),
            Route("/admin/faults", self._guarded(self._left), methods=["GET"]),
            Route("/admin/faults", self._guarded(self._clear), methods=["DELETE"]),
            Route("/admin/reset", self._guarded(self._reset), methods=["POST"]),
            Route("/admin/clock", self._guarded(self._tell_time), methods=["GET"]),
            Route("/admin/clock", self._guarded(self._set_clock), methods=["POST"]),
        ]

    async def _reservations(self, _request: Request) -> Response:
        return JSONResponse({"reservations": [_as_json(booking) for booking in self._store.all()]})

    async def _left(self, _request: Request) -> Response:
        return JSONResponse({"armed": self._faults.armed})

    async def _clear(self, _request: Request) -> Response:
        self._faults.clear()
        return JSONResponse({})

    async def _reset(self, _request: Request) -> Response:
        """As on the first day."""
        self._store.forget()
        self._faults.clear()
        self._clock.reset()
        self._site.captcha = False
        return JSONResponse({})

    async def _tell_time(self, _request: Request) -> Response:
        return JSONResponse({"now": self._clock.now().isoformat(timespec="seconds")})

    async def _set_clock(self, request: Request) -> Response:
        try:
            self._clock.set(datetime.fromisoformat(str((await _body(request)).get("now", ""))).replace(tzinfo=None))
        except ValueError:
            return _wrong('"now" is an ISO date and time, like 2026-12-01T09:00')
        return await self._tell_time(request)

    async def _arm(self, request: Request) -> Response:
        wish = await _body(request)
        page, fault = wish.get("page"), wish.get("fault")
        if page is not None and page not in PAGES:
            return _wrong(f'"page" is one of {", ".join(PAGES)}')
        if fault in KINDS:
            times = wish.get("times", 1)
            if not isinstance(times, int) or times < 1:
                return _wrong('"times" is a whole number from 1')
            self._faults.arm(Armed(cast("Kind", fault), cast("Page | None", page), times))
            return JSONResponse({})
        act = self._act(str(fault), wish)
        if isinstance(act, Refusal):
            return _wrong(act.text)
        if page is None:
            act()
        else:
            self._faults.arm(Afterwards(cast("Page", page), act))
        return JSONResponse({})

    def _act(self, fault: str, wish: dict[str, Any]) -> Callable[[], None] | Refusal:
        """What to do, now or after a page."""
        if fault == "expire-sessions":
            return self._store.close_sessions
        if fault == "ask-captcha":
            return self._ask_captcha
        if fault == "take-seat":
            period = read_period({name: str(wish.get(name, "")) for name in ("date", "start", "end")})
            seat = str(wish.get("seat_id", ""))
            if not isinstance(period, Period) or seat not in self._library.places:
                return Refusal("malformed", 'it takes "seat_id", "date", "start" and "end"')
            return lambda: self._take(seat, period)
        return Refusal("malformed", f'"fault" is one of {", ".join(KINDS)}, expire-sessions, ask-captcha, take-seat')

    def _ask_captcha(self) -> None:
        self._site.captcha = True
        self._store.close_sessions()

    def _take(self, seat: str, period: Period) -> None:
        self._store.book(f"{SOMEONE_ELSE} {seat}", seat, period)

    def _guarded(self, handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            given = request.headers.get("authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {self._token}".encode()):
                return JSONResponse({"error": "Authorization: Bearer <the admin token>"}, 401)
            return await handler(request)

        return guarded


def _as_json(booking: Booking) -> dict[str, str]:
    return {
        "reservation_id": booking.id,
        "account": booking.account,
        "seat_id": booking.seat,
        "date": f"{booking.period.day}",
        "start": f"{booking.period.start:%H:%M}",
        "end": f"{booking.period.end:%H:%M}",
        "state": booking.state,
    }


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _wrong(text: str) -> Response:
    return JSONResponse({"error": text}, 400)
