"""The pages of the demo library, as functions from what is to be shown to HTML. Everything that is shown is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from html import escape
from urllib.parse import urlencode

from qingtuan_library_seats.demo_site.library import Library, Period, Place, Refusal, Room
from qingtuan_library_seats.demo_site.store import Booking, Session

_WEEKDAYS = "一二三四五六日"
_STATES = {"booked": "待签到", "checked-in": "已签到", "cancelled": "已取消"}
_LINKS = (("/seats", "找座位"), ("/reservations", "我的预约"), ("/areas", "区域"))


@dataclass(frozen=True, slots=True)
class Search:
    """What the search form shows. `area` empty means all of them."""

    day: date
    start: time
    end: time
    area: str

    @property
    def period(self) -> Period:
        """The time that is searched."""
        return Period(self.day, self.start, self.end)


def login(session: Session, then: str, refusal: Refusal | None = None) -> str:
    """Name and password."""
    body = f"""<form id="login" class="card narrow" method="post" action="/login">
{_hidden(session, then=then)}
<label>用户名 <input name="user" autocomplete="username" required autofocus></label>
<label>密码 <input name="password" type="password" autocomplete="current-password" required></label>
<button>登录</button>
</form>"""
    return _page("登录", _alert(refusal) + body)


def captcha(session: Session, refusal: Refusal | None = None) -> str:
    """A picture of digits to be typed."""
    body = f"""<form id="captcha" class="card narrow" method="post" action="/captcha">
{_hidden(session)}
<p>请输入图中的数字。每位读者只需要输一次。</p>
{_digits(session.captcha or "")}
<label>验证码 <input name="answer" inputmode="numeric" autocomplete="off" required autofocus></label>
<button>确定</button>
</form>"""
    return _page("验证码", _alert(refusal) + body, session)


def areas(session: Session, library: Library) -> str:
    """Every area, with what it is like."""
    rows = "".join(
        f'<tr class="area" data-area="{escape(room.name)}" data-floor="{room.floor}" data-quiet="{_flag(room.quiet)}"'
        f' data-seats="{room.seats}" data-windows="{_windows(library, room)}">'
        f'<td><a href="/seats?{escape(urlencode({"area": room.name}))}">{escape(room.name)}</a></td>'
        f"<td>{room.floor} 楼</td><td>{'安静' if room.quiet else '可以交谈'}</td>"
        f"<td>{room.seats} 个，靠窗 {_windows(library, room)} 个</td></tr>"
        for room in library.rooms
    )
    body = f"""{_hours(library)}
<table class="card"><thead><tr><th>区域</th><th>楼层</th><th>环境</th><th>座位</th></tr></thead>
<tbody>{rows}</tbody></table>"""
    return _page("区域", body, session)


def seats(
    session: Session, library: Library, search: Search, taken: set[str] | None, refusal: Refusal | None = None
) -> str:
    """The search form and what it found; `taken` None shows the form alone."""
    found = "" if taken is None else "".join(_room(library, room, search, taken) for room in _rooms(library, search))
    return _page("找座位", _hours(library) + _alert(refusal) + _search_form(library, search) + found, session)


def confirm(session: Session, place: Place, period: Period) -> str:
    """What is about to be booked, and the button that does it."""
    fields = {"seat": place.id, "date": f"{period.day}", "start": f"{period.start:%H:%M}", "end": f"{period.end:%H:%M}"}
    inputs = "".join(_input(name, value) for name, value in fields.items())
    body = f"""<form id="confirm" class="card" method="post" action="/reserve">
{_hidden(session)}{inputs}
<dl><dt>座位</dt><dd>{escape(place.id)}</dd>
<dt>区域</dt><dd>{escape(place.room.name)}，{place.room.floor} 楼{"，靠窗" if place.window else ""}</dd>
<dt>日期</dt><dd>{_day(period.day)}</dd><dt>时间</dt><dd>{period.start:%H:%M}–{period.end:%H:%M}</dd></dl>
<button>确认预约</button> <a class="quiet" href="/seats">不约了</a>
</form>"""
    return _page("确认预约", body, session)


def refused(session: Session, refusal: Refusal) -> str:
    """Why something was not done."""
    back = '<p><a href="/seats">找座位</a>，或者看看<a href="/reservations">我的预约</a>。</p>'
    return _page("没有办成", _alert(refusal) + back, session)


def reservations(session: Session, bookings: Sequence[Booking], *, done: str = "") -> str:
    """The reader's own bookings; `done` is a sentence about what was just done."""
    notice = f'<p class="notice" role="status">{escape(done)}</p>' if done else ""
    rows = "".join(_booking_row(session, booking) for booking in bookings)
    table = f"""<table id="reservations" class="card">
<thead><tr><th>编号</th><th>座位</th><th>时间</th><th>状态</th><th></th></tr></thead><tbody>{rows}</tbody></table>"""
    nothing = '<table id="reservations" hidden></table><p class="card">还没有预约。</p>'
    return _page("我的预约", notice + (table if bookings else nothing), session)


def missing(session: Session | None) -> str:
    """There is no such page."""
    return _page("没有这一页", '<p><a href="/">回首页</a></p>', session)


def _page(title: str, body: str, session: Session | None = None) -> str:
    return f"""<!doctype html>
<html lang="zh-CN">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)} · 演示图书馆</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<header><a class="brand" href="/">演示图书馆</a>{_menu(session)}</header>
<main>
<h1>{escape(title)}</h1>
{body}
</main>
</body>
</html>
"""


def _menu(session: Session | None) -> str:
    if session is None or session.account is None:
        return ""
    links = "".join(f'<a href="{address}">{name}</a>' for address, name in _LINKS)
    return f"""<nav>{links}</nav>
<form id="logout" method="post" action="/logout">{_hidden(session)}<span>{escape(session.account)}</span>
<button class="plain">退出</button></form>"""


def _hidden(session: Session, **more: str) -> str:
    return "".join(_input(name, value) for name, value in {"form_token": session.form_token, **more}.items())


def _input(name: str, value: str) -> str:
    return f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'


def _alert(refusal: Refusal | None) -> str:
    if refusal is None:
        return ""
    return f'<p class="alert" role="alert" data-code="{escape(refusal.code)}">{escape(refusal.text)}</p>'


def _hours(library: Library) -> str:
    times = f'data-opens="{library.opens:%H:%M}" data-closes="{library.closes:%H:%M}"'
    return f'<p class="hours" {times}>每天 {library.hours} 开放，最多提前 {library.ahead_days} 天预约。</p>'


def _search_form(library: Library, search: Search) -> str:
    rooms = "".join(_option(room.name, room.name, search.area) for room in library.rooms)
    starts, ends = library.times[:-1], library.times[1:]
    return f"""<form id="search" class="card row" method="get" action="/seats">
<label>日期 <input type="date" name="date" value="{search.day}" required></label>
<label>从 <select name="start">{_times(starts, search.start)}</select></label>
<label>到 <select name="end">{_times(ends, search.end)}</select></label>
<label>区域 <select name="area"><option value="">全部区域</option>{rooms}</select></label>
<button>查找</button>
</form>"""


def _times(times: Iterable[time], chosen: time) -> str:
    return "".join(_option(f"{at:%H:%M}", f"{at:%H:%M}", f"{chosen:%H:%M}") for at in times)


def _option(value: str, text: str, chosen: str) -> str:
    return f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(text)}</option>'


def _rooms(library: Library, search: Search) -> list[Room]:
    return [room for room in library.rooms if search.area in ("", room.name)]


def _room(library: Library, room: Room, search: Search, taken: set[str]) -> str:
    places = [place for place in library.places.values() if place.room == room]
    free = sum(place.id not in taken for place in places)
    items = "".join(_seat(place, search, free=place.id not in taken) for place in places)
    quiet = "，安静" if room.quiet else "，可以交谈"
    return f"""<section class="card"><h2>{escape(room.name)} <small>{room.floor} 楼{quiet}，空 {free} 个</small></h2>
<ul class="seats">{items}</ul></section>"""


def _seat(place: Place, search: Search, *, free: bool) -> str:
    facts = (
        f'data-seat="{escape(place.id)}" data-area="{escape(place.room.name)}" data-floor="{place.room.floor}"'
        f' data-quiet="{_flag(place.room.quiet)}" data-window="{_flag(place.window)}" data-free="{_flag(free)}"'
    )
    name = escape(place.id.rpartition("-")[2]) + ("<small>靠窗</small>" if place.window else "")
    if not free:
        return f'<li class="seat taken" {facts}><span title="已被约走">{name}</span></li>'
    query = {
        "seat": place.id, "date": f"{search.day}", "start": f"{search.start:%H:%M}", "end": f"{search.end:%H:%M}"
    }  # fmt: skip
    return f'<li class="seat free" {facts}><a href="/reserve?{escape(urlencode(query))}">{name}</a></li>'


def _booking_row(session: Session, booking: Booking) -> str:
    period = booking.period
    facts = (
        f'data-reservation="{booking.id}" data-seat="{escape(booking.seat)}" data-date="{period.day}"'
        f' data-start="{period.start:%H:%M}" data-end="{period.end:%H:%M}" data-state="{booking.state}"'
    )
    buttons = ""
    if booking.state == "booked":
        buttons = "".join(
            f'<form class="{name}" method="post" action="/reservations/{booking.id}/{name}">{_hidden(session)}'
            f'<button class="{look}">{text}</button></form>'
            for name, text, look in (("check-in", "签到", ""), ("cancel", "取消", "plain"))
        )
    return (
        f'<tr class="reservation" {facts}><td>{booking.id}</td><td>{escape(booking.seat)}</td>'
        f"<td>{_day(period.day)} {period.start:%H:%M}–{period.end:%H:%M}</td>"
        f'<td>{_STATES[booking.state]}</td><td class="buttons">{buttons}</td></tr>'
    )


def _day(day: date) -> str:
    return f"{day}（周{_WEEKDAYS[day.weekday()]}）"


def _flag(value: bool) -> str:
    return "yes" if value else "no"


def _windows(library: Library, room: Room) -> int:
    return sum(place.window for place in library.places.values() if place.room == room)


# The bars of a seven-segment digit, as strokes in a box of 2 by 4, and which of them each digit has.
_BARS = ("M0 0H2", "M2 0V2", "M2 2V4", "M0 4H2", "M0 2V4", "M0 0V2", "M0 2H2")
_ON = ("012345", "12", "01346", "01236", "1256", "02356", "023456", "012", "0123456", "012356")


def _digits(text: str) -> str:
    """A picture of digits that holds no text to be copied."""
    drawn = "".join(
        f'<path transform="translate({20 + 34 * at} {14 + 5 * (at % 2)}) scale(9) skewX({-8 if at % 2 else 6})"'
        f' d="{"".join(_BARS[int(bar)] for bar in _ON[int(digit)])}"/>'
        for at, digit in enumerate(text)
    )
    noise = '<path d="M4 20L196 48M8 56L188 12" stroke-width="1.5"/>'
    return (
        '<svg class="captcha" viewBox="0 0 200 70" width="200" height="70" role="img" aria-label="验证码图片"'
        f' fill="none" stroke="currentColor"><g stroke-width="0.32" stroke-linecap="round">{drawn}</g>{noise}</svg>'
    )


def first_search(library: Library, now: datetime) -> Search:
    """What the form shows before anybody has chosen: the next two hours in which the library is open."""
    times = library.times
    later = [at for at in times[:-1] if at > now.time()]
    day, start = (now.date(), later[0]) if later else (now.date() + timedelta(days=1), times[0])
    end = times[min(times.index(start) + 4, len(times) - 1)]
    return Search(day, start, end, "")
