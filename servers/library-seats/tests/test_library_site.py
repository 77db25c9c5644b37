"""The demo library as a person meets it: pages, forms and cookies."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
import pytest_asyncio
from bs4 import BeautifulSoup, Tag
from library_world import DAY, PERIOD, SEAT, TOKEN, Library, library

from qingtuan_library_seats.demo_site.library import Library as Rules
from qingtuan_library_seats.demo_site.library import Room
from qingtuan_library_seats.demo_site.running import Options, running
from qingtuan_library_seats.demo_site.store import Store

HOSTILE = '"><script>alert(1)</script>&amp;'


class Browser:
    """Follows links and sends forms, and knows nothing of what is in them."""

    def __init__(self, address: str) -> None:
        self.client = httpx2.AsyncClient(base_url=address, follow_redirects=True, verify=False)
        self.soup = BeautifulSoup("", "html.parser")
        self.status = 0
        self.path = ""

    async def open(self, path: str, **query: str) -> None:
        self._show(await self.client.get(path, params=query or None))

    async def send(self, selector: str, **filled: str) -> None:
        form = self.soup.select_one(selector)
        assert form is not None, f"no {selector} on {self.path}"
        fields = {str(field["name"]): str(field.get("value", "")) for field in form.select("input[name]")}
        self._show(await self.client.post(str(form["action"]), data={**fields, **filled}))

    async def log_in(self, user: str = "demo", password: str = "demo") -> None:
        await self.open("/login")
        await self.send("form#login", user=user, password=password)

    def one(self, selector: str) -> Tag:
        tag = self.soup.select_one(selector)
        assert tag is not None, f"no {selector} on {self.path}: {self.soup.get_text(' ', strip=True)}"
        return tag

    @property
    def alert(self) -> str:
        return str(self.one("p.alert")["data-code"])

    def _show(self, answer: httpx2.Response) -> None:
        self.soup = BeautifulSoup(answer.text, "html.parser")
        self.status, self.path = answer.status_code, answer.url.path


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def browser(open_library: Library) -> AsyncIterator[Browser]:
    browser = Browser(open_library.address)
    yield browser
    await browser.client.aclose()


async def test_a_person_finds_books_and_gives_back(browser: Browser, open_library: Library) -> None:
    await browser.open("/")
    assert browser.path == "/login"
    await browser.send("form#login", user="demo", password="demo")
    assert browser.path == "/seats"
    await browser.open("/seats", **PERIOD, area="二楼安静区")
    link = browser.one(f'li[data-seat="{SEAT}"] a')
    await browser.open(str(link["href"]))
    assert "2026-12-01（周二）" in browser.one("form#confirm").get_text()
    await browser.send("form#confirm")
    assert browser.one("p.notice").get_text() == "预约好了：R0001"
    assert browser.one("tr.reservation")["data-seat"] == SEAT
    await browser.open("/seats", **PERIOD, area="二楼安静区")
    assert browser.soup.select_one(f'li[data-seat="{SEAT}"] a') is None
    await browser.open("/reservations")
    await browser.send("tr.reservation form.cancel")
    assert browser.soup.select("tr.reservation") == []
    assert [row["state"] for row in await open_library.books(every=True)] == ["cancelled"]


async def test_checking_in_needs_the_right_time(browser: Browser, open_library: Library) -> None:
    await browser.log_in()
    await browser.open("/reserve", seat=SEAT, **PERIOD)
    await browser.send("form#confirm")
    await browser.send("tr.reservation form.check-in")
    assert (browser.status, browser.alert) == (409, "too-early")
    await open_library.set_clock(f"{DAY}T08:50")
    await browser.log_in()
    await browser.open("/reservations")
    await browser.send("tr.reservation form.check-in")
    assert browser.one("tr.reservation")["data-state"] == "checked-in"
    assert browser.soup.select("tr.reservation form") == []


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"seat": "二楼安静区-A99"}, "unknown-seat"),
        ({"date": "soon"}, "malformed"),
        ({"end": "23:00"}, "closed"),
        ({"date": "2026-11-29"}, "past"),
        ({"date": "2027-01-01"}, "too-far"),
        ({"start": "09:10"}, "granularity"),
    ],
)
async def test_what_cannot_be_booked_has_no_confirm_page(browser: Browser, query: dict[str, str], code: str) -> None:
    await browser.log_in()
    await browser.open("/reserve", **{"seat": SEAT, **PERIOD, **query})
    assert browser.soup.select_one("form#confirm") is None
    assert browser.alert == code


async def test_what_stood_in_the_confirm_form_is_checked_again(browser: Browser, open_library: Library) -> None:
    await browser.log_in()
    await browser.open("/reserve", seat=SEAT, **PERIOD)
    confirm = browser.soup
    await browser.send("form#confirm", end="23:00")
    assert browser.alert == "closed"
    browser.soup = confirm
    await open_library.take()
    await browser.send("form#confirm")
    assert (browser.status, browser.alert) == (409, "taken")
    browser.soup = confirm
    await browser.send("form#confirm", form_token="guessed")
    assert (browser.status, browser.alert) == (403, "form-expired")
    assert await open_library.books() == []


async def test_nobody_is_in_two_places(browser: Browser) -> None:
    await browser.log_in()
    for seat in (SEAT, "三楼靠窗区-C01"):
        await browser.open("/reserve", seat=seat, **PERIOD)
        if seat == SEAT:
            await browser.send("form#confirm")
    assert browser.alert == "overlap"
    assert SEAT in browser.one("p.alert").get_text()


async def test_a_login_is_checked_and_leads_nowhere_else(browser: Browser) -> None:
    await browser.log_in(password="wrong")
    assert (browser.status, browser.alert) == (401, "login-refused")
    await browser.log_in(user="nobody", password="")
    assert browser.status == 401
    await browser.open("/login", then="https://evil.example/")
    assert browser.one("form#login input[name=then]")["value"] == "/seats"
    await browser.send("form#login", user="demo", password="demo", then="//evil.example/")
    assert browser.path == "/seats"


async def test_a_planted_session_is_worth_nothing_after_the_login(browser: Browser) -> None:
    await browser.open("/login")
    planted = dict(browser.client.cookies)
    await browser.send("form#login", user="demo", password="demo")
    assert dict(browser.client.cookies) != planted
    async with httpx2.AsyncClient(base_url=browser.client.base_url, cookies=planted) as thief:
        assert (await thief.get("/reservations")).status_code == 303


async def test_a_session_ends_and_logging_out_ends_it(browser: Browser, open_library: Library) -> None:
    await browser.log_in()
    await open_library.set_clock("2026-11-30T11:59")
    await browser.open("/reservations")
    assert browser.path == "/reservations"
    await open_library.set_clock("2026-11-30T14:00")
    await browser.open("/reservations")
    assert browser.path == "/login"
    await browser.send("form#login", user="demo", password="demo")
    assert browser.path == "/reservations"
    await browser.send("form#logout")
    await browser.open("/areas")
    assert browser.path == "/login"


async def test_one_reader_cannot_touch_what_is_anothers() -> None:
    options = Options(accounts={"demo": "demo", "other": "pass"})
    async with library(options) as world:
        one, other = Browser(world.address), Browser(world.address)
        await one.log_in()
        await one.open("/reserve", seat=SEAT, **PERIOD)
        await one.send("form#confirm")
        await other.log_in("other", "pass")
        await other.open("/reservations")
        token = other.one("form#logout input[name=form_token]")["value"]
        answer = await other.client.post("/reservations/R0001/cancel", data={"form_token": str(token)})
        assert answer.status_code == 404
        assert len(await world.books()) == 1
        await one.client.aclose()
        await other.client.aclose()


async def test_hostile_names_are_text() -> None:
    rooms = (Room(HOSTILE, floor=1, quiet=True, letter="X", seats=1, windows=0),)
    options = Options(accounts={HOSTILE: "demo"}, library=Rules(rooms=rooms))
    async with library(options) as world:
        browser = Browser(world.address)
        await browser.log_in(HOSTILE)
        for path, query in (
            ("/seats", {**PERIOD, "area": HOSTILE}),
            ("/seats", {**PERIOD, "area": HOSTILE + "x"}),
            ("/areas", {}),
            ("/reserve", {**PERIOD, "seat": HOSTILE}),
            ("/reserve", {**PERIOD, "seat": f"{HOSTILE}-X01"}),
            ("/reservations", {"made": HOSTILE}),
            ("/" + HOSTILE, {}),
        ):
            await browser.open(path, **query)
            assert browser.soup.select("script") == []
            assert browser.one("form#logout span").get_text() == HOSTILE
        await browser.open("/reserve", **PERIOD, seat=f"{HOSTILE}-X01")
        await browser.send("form#confirm")
        assert browser.one("tr.reservation")["data-seat"] == f"{HOSTILE}-X01"
        await browser.client.aclose()


async def test_pages_run_no_scripts_and_stay_out_of_frames(browser: Browser) -> None:
    answer = await browser.client.get("/login")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"
    browser.client.cookies.clear()
    cookie = (await browser.client.get("/login")).headers["set-cookie"]
    assert {"HttpOnly", "SameSite=lax"} <= set(cookie.split("; "))
    assert (await browser.client.get("/style.css")).headers["content-type"].startswith("text/css")


async def test_a_form_of_any_size_costs_only_itself(browser: Browser) -> None:
    await browser.log_in()
    answer = await browser.client.post("/reserve", content=b"a=" + b"x" * 1_000_000)
    assert answer.status_code == 403
    await browser.open("/seats")
    assert browser.status == 200


async def test_whoever_goes_away_in_the_middle_of_a_form_leaves_no_mess(
    browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    address = urlsplit(str(browser.client.base_url))
    _, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(b"POST /login HTTP/1.1\r\nHost: library\r\nContent-Length: 100\r\n\r\nuser=")
    await writer.drain()
    await browser.open("/login")  # what was sent before has been read by now
    writer.transport.abort()
    for _ in range(3):
        await browser.open("/login")
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_the_captcha_is_typed_once(tmp_path: Path) -> None:
    data = tmp_path / "library.sqlite"
    async with library(Options(captcha=True, data=data)) as world:
        browser = Browser(world.address)
        await browser.log_in()
        assert browser.path == "/captcha"
        await browser.open("/reservations")
        assert browser.path == "/captcha"
        await browser.send("form#captcha", answer="no")
        assert browser.alert == "captcha-wrong"
        await browser.send("form#captcha", answer=captcha_in(data))
        assert browser.path == "/seats"
        await browser.send("form#logout")
        await browser.log_in()
        assert browser.path == "/seats"
        await browser.client.aclose()


def captcha_in(data: Path) -> str:
    """What a person would read off the picture."""
    connection = sqlite3.connect(data)
    try:
        (answer,) = connection.execute("select captcha from sessions where captcha is not null").fetchone()
    finally:
        connection.close()
    return str(answer)


async def test_a_file_outlives_a_restart(tmp_path: Path) -> None:
    options = Options(data=tmp_path / "library.sqlite")
    async with library(options) as world:
        browser = Browser(world.address)
        await browser.log_in()
        await browser.open("/reserve", seat=SEAT, **PERIOD)
        await browser.send("form#confirm")
        before = await world.books()
        await browser.client.aclose()
    async with library(options) as world:
        assert await world.books() == before


async def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    foreign = tmp_path / "other.sqlite"
    connection = sqlite3.connect(foreign)
    connection.execute("create table precious (x)")
    connection.commit()
    connection.close()
    with pytest.raises(sqlite3.DatabaseError, match="something else"):
        Store(foreign, session_minutes=1)
    connection = sqlite3.connect(foreign)
    assert connection.execute("select name from sqlite_master").fetchall() == [("precious",)]
    connection.close()


async def test_two_readers_at_once_get_one_seat() -> None:
    accounts = {f"r{number}": "x" for number in range(8)}
    async with library(Options(accounts=accounts)) as world:
        browsers = [Browser(world.address) for _ in accounts]
        for browser, account in zip(browsers, accounts, strict=True):
            await browser.log_in(account, "x")
            await browser.open("/reserve", seat=SEAT, **PERIOD)
        await asyncio.gather(*(browser.send("form#confirm") for browser in browsers))
        assert sorted(browser.status for browser in browsers) == [200, *[409] * 7]
        for browser in browsers:
            await browser.client.aclose()


async def test_the_way_in_for_tests_needs_its_token(open_library: Library) -> None:
    async with httpx2.AsyncClient(base_url=open_library.address) as client:
        assert (await client.get("/admin/reservations")).status_code == 401
        wrong = await client.get("/admin/reservations", headers={"Authorization": "Bearer no"})
        assert wrong.status_code == 401
        client.headers["Authorization"] = f"Bearer {TOKEN}"
        bodies: list[object] = [
            {"fault": "flood"},
            {"fault": "drop-after", "page": "roof"},
            {"fault": "take-seat"},
            [],
        ]
        for body in bodies:
            assert (await client.post("/admin/faults", json=body)).status_code == 400
        assert (await client.post("/admin/clock", json={"now": "soon"})).status_code == 400
    async with running(replace(Options(), admin_token=None)) as address, httpx2.AsyncClient(base_url=address) as client:
        assert (await client.get("/admin/reservations")).status_code == 404
