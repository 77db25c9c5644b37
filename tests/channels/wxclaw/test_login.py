"""Logging in: what the phone and the server may do, and where it may lead (platforms.md, 1.3, 2)."""

from __future__ import annotations

import stat
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qingtuan.channels.wxclaw.accounts import Login, keep_login, newest_tokens, read_logins
from qingtuan.channels.wxclaw.ilink import Ilink as Adapter
from qingtuan.channels.wxclaw.ilink import ilink_of
from qingtuan.channels.wxclaw.login import WHOLE_SECONDS, log_in
from qingtuan.channels.wxclaw.wire import Http
from qingtuan.clock import ManualClock
from qingtuan.errors import LoginFailed, SettingsWrong
from tests.fakes.ilink import BOT, USER, Answer, Code, Ilink


@dataclass
class Screen:
    """Somebody with a phone."""

    numbers: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    asked: list[bool] = field(default_factory=list)
    scans: int = 0

    def show(self, link: str) -> None:
        self.shown.append(link)

    def scanned(self) -> None:
        self.scans += 1

    async def number(self, *, again: bool) -> str:
        self.asked.append(again)
        return self.numbers.pop(0) if self.numbers else ""


@dataclass
class Desk:
    """A place to log in at."""

    ilink: Ilink
    adapter: Adapter
    clock: ManualClock
    screen: Screen = field(default_factory=Screen)

    async def log_in(self) -> Login | None:
        return await log_in(self.adapter, self.ilink.url, self.screen, self.clock)

    def steps(self, *steps: Mapping[str, Any], **fields: Any) -> None:
        """What the phone does with each code."""

        def prepare(code: Code) -> None:
            code.steps.extend(steps)
            for name, value in fields.items():
                setattr(code, name, value)

        self.ilink.next_code = prepare


@pytest.fixture
async def desk(clock: ManualClock) -> AsyncIterator[Desk]:
    async with Ilink() as ilink:
        http = Http()
        yield Desk(ilink, await ilink_of(http, ilink.cdn), clock)
        await http.close()


WAIT, SCANNED = {"status": "wait"}, {"status": "scaned"}


async def test_scanned_and_confirmed(desk: Desk) -> None:
    desk.steps(WAIT, WAIT, SCANNED, SCANNED)
    login = await desk.log_in()
    assert login == Login(BOT, desk.ilink.accounts[0].token, desk.ilink.url, USER)
    assert desk.screen.scans == 1
    assert desk.screen.shown == [f"https://liteapp.weixin.qq.com/q/{desk.ilink.codes[0].name}"]
    (asked,) = desk.ilink.calls("get_bot_qrcode")
    assert asked.query["bot_type"] == "3"
    assert login is not None
    assert login.token not in repr(login)


async def test_a_number_is_asked_for_and_asked_for_again(desk: Desk) -> None:
    desk.steps(WAIT, SCANNED, verify="42")
    desk.screen.numbers = ["41", "42"]
    assert (await desk.log_in()) is not None
    assert desk.screen.asked == [False, True]
    given = [asked.query.get("verify_code", "") for asked in desk.ilink.calls("get_qrcode_status")]
    assert given == ["", "", "", "41", "42", ""]  # and not once more when it was taken


async def test_no_number_gives_it_up(desk: Desk) -> None:
    desk.steps(verify="42")
    with pytest.raises(LoginFailed, match="No number"):
        await desk.log_in()


async def test_a_number_that_is_wrong_too_often_brings_a_new_code(desk: Desk) -> None:
    desk.steps(verify="42")
    desk.screen.numbers = ["1", "2", "3", "42"]
    assert (await desk.log_in()) is not None
    assert len(desk.screen.shown) == 2
    assert desk.screen.asked == [False, True, True, False]


async def test_a_code_that_ran_out_is_made_anew_three_times_at_most(desk: Desk) -> None:
    desk.steps(end={"status": "expired"})
    with pytest.raises(LoginFailed, match="ran out"):
        await desk.log_in()
    assert len(desk.screen.shown) == len(set(desk.screen.shown)) == 3


async def test_a_second_code_may_do(desk: Desk) -> None:
    def prepare(code: Code) -> None:
        if len(desk.ilink.codes) == 1:
            code.end = {"status": "expired"}

    desk.ilink.next_code = prepare
    assert (await desk.log_in()) is not None


async def test_nobody_waits_for_ever(desk: Desk) -> None:
    class Slow(deque[Mapping[str, Any]]):
        """Each look at the phone takes half a minute, as with the server itself."""

        def popleft(self) -> Mapping[str, Any]:
            desk.clock.advance(timedelta(seconds=30))
            return self[0]

    desk.steps(steps=Slow([WAIT]))
    before = desk.clock.monotonic()
    with pytest.raises(LoginFailed, match="8 minutes"):
        await desk.log_in()
    assert WHOLE_SECONDS <= desk.clock.monotonic() - before < WHOLE_SECONDS + 60


async def test_a_phone_that_is_bound_already(desk: Desk) -> None:
    desk.steps(end={"status": "binded_redirect"})
    assert await desk.log_in() is None


async def test_a_redirect_within_the_house_is_followed(desk: Desk) -> None:
    async with Ilink() as other:
        other.codes = desk.ilink.codes
        host = other.url.removeprefix("http://")
        desk.steps({"status": "scaned_but_redirect", "redirect_host": host})
        assert (await desk.log_in()) is not None
        assert len(desk.ilink.calls("get_qrcode_status")) == 1
        assert len(other.calls("get_qrcode_status")) == 1


@pytest.mark.parametrize("host", ["evil.example", "", "localhost", "127.0.0.1/x", "127.0.0.1@evil.example", "[::1]:80"])
async def test_a_redirect_elsewhere_ends_it(desk: Desk, host: str) -> None:
    desk.steps({"status": "scaned_but_redirect", "redirect_host": host})
    with pytest.raises(LoginFailed, match="not WeChat's"):
        await desk.log_in()


@pytest.mark.parametrize("url", ["https://evil.example", "http://127.0.0.2", "ftp://127.0.0.1"])
async def test_a_server_elsewhere_is_not_written_down(desk: Desk, url: str) -> None:
    desk.steps(baseurl=url)
    with pytest.raises(LoginFailed, match="not WeChat's"):
        await desk.log_in()


@pytest.mark.parametrize(
    "end",
    [
        {"status": "confirmed"},
        {"status": "confirmed", "ilink_bot_id": BOT},
        {"status": "confirmed", "ilink_bot_id": BOT, "bot_token": "bad\ntoken"},
        {"status": ["odd"]},
    ],
)
async def test_a_confirmation_that_lacks_something(desk: Desk, end: Mapping[str, Any]) -> None:
    desk.steps(end=end)
    with pytest.raises(LoginFailed, match="unexpected"):
        await desk.log_in()


@pytest.mark.parametrize(
    "answer",
    [
        Answer({"qrcode": "", "qrcode_img_content": "https://x"}),
        Answer({"qrcode": "q", "qrcode_img_content": "javascript:x"}),
        Answer({"qrcode": 1}),
        Answer(raw=b"<html>"),
    ],
)
async def test_a_code_that_is_none(desk: Desk, answer: Answer) -> None:
    desk.ilink.scripted["get_bot_qrcode"].append(answer)
    with pytest.raises(LoginFailed):
        await desk.log_in()
    assert desk.screen.shown == []


async def test_a_server_that_is_away(desk: Desk) -> None:
    desk.ilink.scripted["get_bot_qrcode"].append(Answer(status=502))
    with pytest.raises(LoginFailed, match="cannot be reached"):
        await desk.log_in()


async def test_trouble_while_waiting_is_waited_out(desk: Desk) -> None:
    desk.ilink.scripted["get_qrcode_status"].extend([Answer(status=500), Answer(status=502)])
    assert (await desk.log_in()) is not None


async def test_the_server_is_told_of_logins_that_count(clock: ManualClock) -> None:
    logins = [Login(f"b{number}@im.bot", f"token-{number}") for number in range(12)]
    wanted = newest_tokens(logins, {logins[11].mark})
    assert wanted == [f"token-{number}" for number in range(10, 0, -1)]
    async with Ilink() as ilink:
        http = Http()
        adapter = await ilink_of(http, ilink.cdn, [login for login in logins if login.token in wanted])
        await log_in(adapter, ilink.url, Screen(), clock)
        assert sorted(ilink.codes[0].known) == sorted(wanted)
        await http.close()


def test_the_file_of_logins(tmp_path: Path) -> None:
    path = tmp_path / "wechat.json"
    assert read_logins(path) == []
    one, two = Login("a@im.bot", "t1", "https://x", "u1"), Login("b@im.bot", "t2", "", "u2")
    keep_login(path, one)
    keep_login(path, two)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_logins(path) == [one, two]
    again = Login("a@im.bot", "t3", "https://x", "u1")
    keep_login(path, again)
    assert read_logins(path) == [two, again]
    moved = Login("c@im.bot", "t4", "https://x", "u1")
    keep_login(path, moved)  # the same person on another bot: the old one no longer is theirs
    assert read_logins(path) == [two, moved]
    assert len({one.mark, again.mark, moved.mark}) == 3


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"accounts": 1}', '{"accounts": [{}]}', '{"accounts": [{"account": 1}]}']
)
def test_a_file_that_cannot_be_read_says_what_to_do(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wechat.json"
    path.write_text(text, "utf-8")
    with pytest.raises(SettingsWrong, match="qingtuan login wechat"):
        read_logins(path)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_text('{"accounts": []}', "utf-8")
    path = tmp_path / "wechat.json"
    path.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(SettingsWrong):
        read_logins(path)
