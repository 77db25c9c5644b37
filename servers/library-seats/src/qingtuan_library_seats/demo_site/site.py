"""The demo library's web site: what each address does."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import cached_property
from importlib.resources import files
from urllib.parse import parse_qsl, quote

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from qingtuan_library_seats.demo_site import pages
from qingtuan_library_seats.demo_site.library import Library, Period, Place, Refusal, read_period
from qingtuan_library_seats.demo_site.store import Booking, Session, State, Store

COOKIE = "library_session"
FORM_BYTES = 16_384
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_ID = re.compile(r"R\d{4,9}", re.ASCII)
_DONE = {"made": "预约好了：", "cancelled": "已取消：", "checked-in": "签到好了："}
_EXPIRED = Refusal("form-expired", "这张表单过期了，请回到上一页再来一次。")
_NO_RESERVATION = Refusal("unknown-reservation", "你没有这条预约。")

Handler = Callable[[Request], Awaitable[Response]]
SignedIn = Callable[[Request, Session], Awaitable[Response]]


class Site:
    """Pages over a library and its memory."""

    def __init__(
        self,
        library: Library,
        store: Store,
        *,
        accounts: Mapping[str, str],
        now: Callable[[], datetime],
        captcha: bool = False,
    ) -> None:
        """`accounts`: passwords by user name. `captcha`: each reader types one, once, after the login."""
        self._library, self._store = library, store
        self._accounts, self._now = dict(accounts), now
        self.captcha = captcha

    def routes(self) -> list[Route]:
        """Every page."""
        return [
            Route("/", self._home),
            Route("/style.css", self._style),
            Route("/login", self._login_page, methods=["GET"]),
            Route("/login", self._login, methods=["POST"]),
            Route("/logout", self._signed_in(self._logout), methods=["POST"]),
            Route("/captcha", self._captcha_page, methods=["GET"]),
            Route("/captcha", self._captcha, methods=["POST"]),
            Route("/areas", self._signed_in(self._areas)),
            Route("/seats", self._signed_in(self._seats)),
            Route("/reserve", self._signed_in(self._confirm), methods=["GET"]),
            Route("/reserve", self._signed_in(self._reserve), methods=["POST"]),
            Route("/reservations", self._signed_in(self._reservations)),
            Route("/reservations/{id}/cancel", self._signed_in(self._cancel), methods=["POST"]),
            Route("/reservations/{id}/check-in", self._signed_in(self._check_in), methods=["POST"]),
        ]

    async def missing(self, request: Request, _error: Exception) -> Response:
        """There is nothing at this address."""
        return _html(pages.missing(self._session(request)), 404)

    # Coming in

    async def _home(self, _request: Request) -> Response:
        return _go("/seats")

    async def _style(self, _request: Request) -> Response:
        return Response(self._style_sheet, media_type="text/css")

    @cached_property
    def _style_sheet(self) -> bytes:
        return files(__package__).joinpath("style.css").read_bytes()

    async def _login_page(self, request: Request) -> Response:
        then = _own_address(request.query_params.get("then", ""))
        session = self._session(request)
        if session is not None and session.account is not None:
            return _go(then)
        session = session or self._store.open_session(None, self._now())
        return _with_cookie(_html(pages.login(session, then)), session)

    async def _login(self, request: Request) -> Response:
        form = await _form(request)
        session = self._session(request)
        then = _own_address(form.get("then", ""))
        if session is None or not _same(form.get("form_token", ""), session.form_token):
            session = self._store.open_session(None, self._now())
            return _with_cookie(_html(pages.login(session, then, _EXPIRED), 403), session)
        account, password = form.get("user", ""), form.get("password", "")
        if not _same(password, self._accounts.get(account, "")) or account not in self._accounts:
            return _html(pages.login(session, then, Refusal("login-refused", "用户名或密码不对。")), 401)
        # A new session at the login: one that was planted in the browser before is worth nothing afterwards.
        self._store.close_session(session.token)
        due = self.captcha and not self._store.has_passed_captcha(account)
        fresh = self._store.open_session(account, self._now(), captcha=_new_captcha() if due else None)
        return _with_cookie(_go(then), fresh)

    async def _logout(self, request: Request, session: Session) -> Response:
        if await self._is_own_form(request, session):
            self._store.close_session(session.token)
        return _go("/login")

    async def _captcha_page(self, request: Request) -> Response:
        session = self._session(request)
        if session is None or session.account is None:
            return _go("/login")
        return _go("/seats") if session.captcha is None else _html(pages.captcha(session))

    async def _captcha(self, request: Request) -> Response:
        session = self._session(request)
        if session is None or session.account is None:
            return _go("/login")
        form = await _form(request)
        if session.captcha is None:
            return _go("/seats")
        if not _same(form.get("form_token", ""), session.form_token):
            return _html(pages.captcha(session, _EXPIRED), 403)
        if _same(form.get("answer", "").strip(), session.captcha):
            self._store.pass_captcha(session.account)
            return _go("/seats")
        self._store.set_captcha(session.token, _new_captcha())
        again = self._session(request) or session
        return _html(pages.captcha(again, Refusal("captcha-wrong", "数字不对，换了一张，请再输一次。")), 400)

    # Looking

    async def _areas(self, _request: Request, session: Session) -> Response:
        return _html(pages.areas(session, self._library))

    async def _seats(self, request: Request, session: Session) -> Response:
        asked = request.query_params
        search = pages.first_search(self._library, self._now())
        area = asked.get("area", "")
        refusal: Refusal | None = None
        if area and area not in {room.name for room in self._library.rooms}:
            refusal = Refusal("unknown-area", f"没有“{area[:40]}”这个区域。")
        elif "date" in asked:
            period = read_period(asked)
            if isinstance(period, Period):
                search = pages.Search(period.day, period.start, period.end, area)
                refusal = self._library.refuses(period, self._now())
            else:
                refusal = period
        else:
            search = pages.Search(search.day, search.start, search.end, area)
        taken = None if refusal else self._store.taken(search.period)
        return _html(pages.seats(session, self._library, search, taken, refusal), 400 if refusal else 200)

    async def _reservations(self, request: Request, session: Session) -> Response:
        now = self._now()
        bookings = [one for one in self._store.of(session.account or "") if one.period.ends > now]
        return _html(pages.reservations(session, bookings, done=_done(request.query_params)))

    # Changing

    async def _confirm(self, request: Request, session: Session) -> Response:
        asked = self._wish(request.query_params)
        if isinstance(asked, Refusal):
            return _html(pages.refused(session, asked), 400)
        place, period = asked
        refusal = self._store.refuses(session.account or "", place.id, period)
        if refusal is not None:
            return _html(pages.refused(session, refusal), 409)
        return _html(pages.confirm(session, place, period))

    async def _reserve(self, request: Request, session: Session) -> Response:
        form = await _form(request)
        if not _same(form.get("form_token", ""), session.form_token):
            return _html(pages.refused(session, _EXPIRED), 403)
        asked = self._wish(form)
        if isinstance(asked, Refusal):
            return _html(pages.refused(session, asked), 400)
        place, period = asked
        made = self._store.book(session.account or "", place.id, period)
        if isinstance(made, Refusal):
            return _html(pages.refused(session, made), 409)
        return _go(f"/reservations?made={made.id}")

    async def _cancel(self, request: Request, session: Session) -> Response:
        return await self._change(request, session, "cancelled", lambda _booking: None)

    async def _check_in(self, request: Request, session: Session) -> Response:
        return await self._change(
            request, session, "checked-in", lambda booking: self._library.refuses_check_in(booking.period, self._now())
        )

    async def _change(
        self, request: Request, session: Session, state: State, rule: Callable[[Booking], Refusal | None]
    ) -> Response:
        if not await self._is_own_form(request, session):
            return _html(pages.refused(session, _EXPIRED), 403)
        named = request.path_params["id"]
        booking = next((one for one in self._store.of(session.account or "") if one.id == named), None)
        if booking is None:
            return _html(pages.refused(session, _NO_RESERVATION), 404)
        refusal = _refuses_change(booking, self._now()) or rule(booking)
        if refusal is not None:
            return _html(pages.refused(session, refusal), 409)
        self._store.set_state(booking, state)
        return _go(f"/reservations?{state}={booking.id}")

    def _wish(self, values: Mapping[str, str]) -> tuple[Place, Period] | Refusal:
        """The seat and the time that someone asks for, if both can be had at all."""
        seat = values.get("seat", "")
        place = self._library.places.get(seat)
        if place is None:
            return Refusal("unknown-seat", f"没有“{seat[:40]}”这个座位。")
        period = read_period(values)
        if isinstance(period, Refusal):
            return period
        return self._library.refuses(period, self._now()) or (place, period)

    # Sessions

    def _signed_in(self, handler: SignedIn) -> Handler:
        async def guarded(request: Request) -> Response:
            session = self._session(request)
            if session is None or session.account is None:
                here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
                return _go("/login?then=" + quote(here if request.method == "GET" else "/seats", safe=""))
            if session.captcha is not None:
                return _go("/captcha")
            return await handler(request, session)

        return guarded

    def _session(self, request: Request) -> Session | None:
        session = self._store.session(request.cookies.get(COOKIE, ""), self._now())
        known = session is None or session.account is None or session.account in self._accounts
        return session if known else None

    async def _is_own_form(self, request: Request, session: Session) -> bool:
        return _same((await _form(request)).get("form_token", ""), session.form_token)


def application(site: Site, more: list[Route]) -> Starlette:
    """The site as an ASGI application, with `more` routes besides its own."""
    return Starlette(routes=[*more, *site.routes()], exception_handlers={404: site.missing})


def _refuses_change(booking: Booking, now: datetime) -> Refusal | None:
    if booking.state == "checked-in":
        return Refusal("checked-in", f"{booking.id} 已经签到了。")
    if booking.period.ends <= now:
        return Refusal("over", f"{booking.id} 的时间已经过了。")
    return None


def _done(query: Mapping[str, str]) -> str:
    return next((text + query[name] for name, text in _DONE.items() if _ID.fullmatch(query.get(name, ""))), "")


async def _form(request: Request) -> dict[str, str]:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > FORM_BYTES:
                return {}
    except ClientDisconnect:
        return {}  # nobody waits for an answer, and half a form says nothing
    try:
        return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=50))
    except ValueError:
        return {}


def _html(text: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(text, status, headers=HEADERS)


def _go(address: str) -> RedirectResponse:
    return RedirectResponse(address, 303, headers={"Cache-Control": "no-store"})


def _with_cookie(response: Response, session: Session) -> Response:
    response.set_cookie(COOKIE, session.token, httponly=True, samesite="lax", path="/")
    return response


def _own_address(address: str) -> str:
    """Only an address on this site: a login must not lead away from it."""
    safe = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if safe else "/seats"


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _new_captcha() -> str:
    return "".join(secrets.choice("0123456789") for _ in range(5))
