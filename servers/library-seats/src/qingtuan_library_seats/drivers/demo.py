"""The driver for the demo library: it opens pages and sends forms as a person would."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from qingtuan_library_seats.driver import Areas, Reservation, Seat, Slot, Tell
from qingtuan_library_seats.drivers.demo_pages import Alert, Form, Page
from qingtuan_library_seats.drivers.web import Lost, Patience, Web
from qingtuan_library_seats.errors import (
    AreaUnknown,
    CaptchaNeeded,
    LibraryError,
    LoginNeeded,
    NotAllowed,
    OutcomeUnknown,
    PageUnreadable,
    ReservationUnknown,
    Rule,
    SeatTaken,
    SeatUnknown,
    SiteUnavailable,
)
from qingtuan_library_seats.settings import Settings
from qingtuan_library_seats.text import clean

TRIES = 3
"""How often a change is begun anew after it was seen that it had not been made."""
REFUSED_SECONDS = 60.0
"""After a refused login the library is left alone for so long: many of them lock an account that keeps knocking."""

_RULES: dict[str, Rule] = {
    "closed": "hours",
    "past": "past",
    "too-far": "ahead",
    "granularity": "granularity",
    "order": "granularity",
    "overlap": "overlap",
    "too-early": "check-in-time",
    "too-late": "check-in-time",
    "checked-in": "state",
    "over": "state",
}


@dataclass(frozen=True, slots=True)
class _Change:
    """Something that is done to a reservation: the button, what to call it, and how to see that it was done."""

    button: str
    name: str
    is_done: Callable[[Reservation | None], bool]


_CANCEL = _Change("cancel", "取消", lambda now: now is None)
_CHECK_IN = _Change("check-in", "签到", lambda now: now is not None and now.checked_in)


class DemoDriver:
    """A reader of the demo library."""

    def __init__(self, settings: Settings, patience: Patience | None = None) -> None:
        self._settings = settings
        self._patience = patience or Patience()
        self._web = Web(settings.url, self._patience)
        self._leave_alone_until = 0.0

    async def close(self) -> None:
        """Hang up."""
        await self._web.close()

    async def areas(self) -> Areas:
        """The areas and the hours."""
        return (await self._page("areas")).areas()

    async def seats(self, slot: Slot, area: str | None) -> Sequence[Seat]:
        """Every seat of one area or of all."""
        page = await self._page("seats", **_query(slot), area=area or "")
        alert = page.alert
        if alert is not None and alert.code == "unknown-area":
            raise AreaUnknown(area or "", page.area_names())
        if alert is not None:
            raise _refusal(alert)
        return page.seats()

    async def reservations(self) -> Sequence[Reservation]:
        """The reader's own."""
        return (await self._page("reservations")).reservations()

    async def reserve(self, seat_id: str, slot: Slot, tell: Tell) -> Reservation:
        """Open the confirm page, see that it says what was asked for, send it, and look what became of it."""
        for number in range(TRIES):
            await self._web.pause(number)
            await tell("打开预约确认页")
            page = await self._page("reserve", seat=seat_id, **_query(slot))
            if number and page.alert is not None:
                # What was lost before may have arrived since: then it is the reader's own booking that is in the way.
                made = await self._look_for(seat_id, slot, slow=False)
                if made is not None:
                    return made
            _raise_refusal(page.alert, seat_id, slot)
            form = page.form("confirm")
            if {**form.fields, "seat": seat_id, **_query(slot)} != form.fields:
                raise PageUnreadable("确认页上写的不是要约的座位和时间")
            await tell("提交预约")
            try:
                answer = await self._submit(form)
            except Lost as lost:
                await tell("没有回音，核对有没有约上")
                made = await self._look_for(seat_id, slot, slow=lost.slow)
                if made is not None:
                    return made
                continue
            _raise_refusal(answer.alert, seat_id, slot)
            await tell("核对预约")
            return await self._seen(answer, seat_id, slot)
        raise SiteUnavailable(f"试了 {TRIES} 次都中途断开，核对过，没有约上")

    async def cancel(self, reservation_id: str) -> Reservation:
        """Press the button behind the reservation."""
        return await self._change(reservation_id, _CANCEL)

    async def check_in(self, reservation_id: str) -> Reservation:
        """Press the other button."""
        return replace(await self._change(reservation_id, _CHECK_IN), checked_in=True)

    async def _change(self, reservation_id: str, change: _Change) -> Reservation:
        known: Reservation | None = None
        unknown = OutcomeUnknown(f"{change.name}预约 {clean(reservation_id)} ")
        slow = False
        for number in range(TRIES + 1):
            await self._web.pause(number)
            try:
                page = await self._page("reservations")
                own = page.reservations()
            except LibraryError as error:
                if known is None:
                    raise
                raise unknown from error
            now = _by_id(own, reservation_id)
            if known is not None and change.is_done(now):
                return known
            if now is None:
                raise ReservationUnknown(reservation_id, [one.id for one in own])
            if number == TRIES:
                break
            form = page.reservation_form(reservation_id, change.button)
            if form is None:
                raise NotAllowed("state", f"预约 {now.id} 现在不能{change.name}，可能已经签到了。")
            known = now
            try:
                answer = await self._submit(form)
            except Lost as lost:
                slow = slow or lost.slow
                continue
            if answer.alert is not None:
                raise _refusal(answer.alert)
            shown = _listed(answer)
            if shown is not None and change.is_done(_by_id(shown, reservation_id)):
                return now
        if slow:
            raise unknown
        raise SiteUnavailable(f"试了 {TRIES} 次，核对过，没能{change.name}")

    # After a silence

    async def _look_for(self, seat_id: str, slot: Slot, *, slow: bool) -> Reservation | None:
        """Whether the booking that got no answer was made.

        A site that was only slow may make it yet, so that its absence proves nothing.
        """
        unknown = OutcomeUnknown(f"预约 {seat_id}（{slot}）")
        for number in range(2 if slow else 1):
            await self._web.pause(2 * number)
            try:
                made = _find(await self.reservations(), seat_id, slot)
            except LibraryError as error:
                raise unknown from error
            if made is not None:
                return made
        if slow:
            raise unknown
        return None

    async def _seen(self, answer: Page, seat_id: str, slot: Slot) -> Reservation:
        """The booking, as the page shows it that the site led to, or else the page where it should be."""
        made = _find(_listed(answer) or (), seat_id, slot) or await self._look_for(seat_id, slot, slow=False)
        if made is None:
            raise OutcomeUnknown(f"预约 {seat_id}（{slot}）")
        return made

    # Pages

    async def _page(self, path: str, **query: str) -> Page:
        """A page for somebody who is logged in."""
        if asyncio.get_running_loop().time() < self._leave_alone_until:
            raise LoginNeeded
        page = await self._read(path, query)
        if page.has_form("login"):
            await self._log_in(page)
            page = await self._read(path, query)
        if page.has_form("login"):
            raise LoginNeeded("登录以后网站仍然要求登录")
        if page.has_form("captcha"):
            raise CaptchaNeeded(self._settings.url)
        return page

    async def _log_in(self, page: Page) -> None:
        for number in range(self._patience.tries):
            await self._web.pause(number)
            form = page.form("login")
            own = {"user": self._settings.user, "password": self._settings.password}
            try:
                page = await self._send(Form(form.address, {**form.fields, **own}))
            except Lost:
                page = await self._read("login", {})
            if not page.has_form("login"):
                return
            if page.alert is not None and page.alert.code == "login-refused":
                self._leave_alone_until = asyncio.get_running_loop().time() + REFUSED_SECONDS
                raise LoginNeeded
        raise SiteUnavailable("登录没有回音")

    async def _read(self, path: str, query: dict[str, str]) -> Page:
        answer = await self._web.read(path, query)
        return Page(answer.address, answer.html)

    async def _submit(self, form: Form) -> Page:
        """Send a form that changes something.

        Raises:
            Lost: also where the session or the form had run out: that may have been before the change, or after it and
                before the page about it.
        """
        answer = await self._send(form)
        expired = answer.alert is not None and answer.alert.code == "form-expired"
        if expired or answer.has_form("login") or answer.has_form("captcha"):
            raise Lost(slow=False)
        return answer

    async def _send(self, form: Form) -> Page:
        answer = await self._web.send(form.address, form.fields)
        try:
            return Page(answer.address, answer.html)
        except PageUnreadable as error:
            raise Lost(slow=False) from error


def _query(slot: Slot) -> dict[str, str]:
    return {"date": slot.day.isoformat(), "start": f"{slot.start:%H:%M}", "end": f"{slot.end:%H:%M}"}


def _find(own: Sequence[Reservation], seat_id: str, slot: Slot) -> Reservation | None:
    return next((one for one in own if (one.seat_id, one.slot) == (seat_id, slot)), None)


def _listed(answer: Page) -> Sequence[Reservation] | None:
    """What the page after a change lists; None where it is another page: that says nothing of the change."""
    try:
        return answer.reservations()
    except PageUnreadable:
        return None


def _by_id(own: Sequence[Reservation], reservation_id: str) -> Reservation | None:
    return next((one for one in own if one.id == reservation_id), None)


def _raise_refusal(alert: Alert | None, seat_id: str, slot: Slot) -> None:
    if alert is None:
        return
    if alert.code == "taken":
        raise SeatTaken(seat_id, slot)
    if alert.code == "unknown-seat":
        raise SeatUnknown(seat_id)
    raise _refusal(alert)


def _refusal(alert: Alert) -> NotAllowed:
    rule = _RULES.get(alert.code, "other")
    return NotAllowed(rule, alert.text if rule != "other" else f"图书馆没有同意：{alert.text}")
