"""Logins that end, come back, and are taken over; servers that are away (platforms.md, 5: 7, 8, 36)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from qingtuan.channels.wxclaw import polling
from qingtuan.channels.wxclaw.accounts import login_file
from qingtuan.errors import SettingsWrong
from qingtuan.events.kinds import Kind
from tests.fakes.ilink import USER, Answer, Ilink
from tests.fakes.wechat import WeChatTalk

ENDINGS = [{"ret": -14, "errmsg": "session timeout"}, {"errcode": -14, "errmsg": "session timeout"}]


def told(wx: WeChatTalk) -> list[str]:
    """What the owner was told that nobody asked for."""
    sent = wx.chat.events(Kind.MESSAGE_SENT)
    return [event.payload["text"] for event in sent if "login wechat" in event.payload["text"]]


async def ends(wx: WeChatTalk, answer: Mapping[str, Any]) -> None:
    wx.phone.expired = answer
    await wx.ilink.changed()
    await wx.until(lambda: wx.entry.health().state == "disconnected")


async def worked(wx: WeChatTalk) -> None:
    """It has worked for a while."""
    await wx.phone.says("早")
    await wx.until(lambda: "sent" in wx.states().values())
    wx.pass_time(minutes=10)


@pytest.mark.parametrize("answer", ENDINGS)
async def test_a_session_that_ended_is_said_and_asked_for_no_more(tmp_path: Path, answer: Mapping[str, Any]) -> None:
    """openclaw-weixin 155. Both spellings: the adapter asks for ever after one of them."""
    async with WeChatTalk(tmp_path) as wx:
        await worked(wx)
        await ends(wx, answer)
        asked = len(wx.ilink.asked)
        wx.pass_time(hours=3)
        wx.put("提醒你喝水", "reply")
        await wx.chat.settled()
        assert len(wx.ilink.asked) == asked
        assert wx.states()["提醒你喝水"] == "waiting"
        health = wx.entry.health()
        assert health.words is not None
        assert "qingtuan login wechat" in health.words.zh
        assert "失效" in health.words.zh
        assert len(told(wx)) == 1


@pytest.mark.parametrize("answer", ENDINGS)
async def test_a_new_login_resumes_without_a_restart(tmp_path: Path, answer: Mapping[str, Any]) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await worked(wx)
        await ends(wx, answer)
        wx.put("提醒你喝水", "reply")
        wx.phone = wx.log_in()
        await wx.until(lambda: wx.entry.health().state == "connected")
        assert wx.entry.health().words is None
        await wx.until(lambda: wx.states()["提醒你喝水"] == "sent")
        await wx.phone.says("又能聊了")
        await wx.ilink.delivered(3)
        # It ends once more, and that is news.
        wx.pass_time(minutes=10)
        await ends(wx, answer)
        assert len(told(wx)) == 2


async def test_the_owner_is_told_once_however_often_it_starts(tmp_path: Path) -> None:
    """And nobody is asked to scan anything by itself (GenericAgent 416)."""
    async with WeChatTalk(tmp_path) as wx:
        await worked(wx)
        await ends(wx, ENDINGS[1])
        for _ in range(2):
            await wx.restart()
            await wx.until(lambda: wx.entry.health().state == "disconnected")
        assert len(told(wx)) == 1
        assert wx.ilink.calls("get_bot_qrcode") == []


async def test_a_takeover_is_known_for_one(tmp_path: Path) -> None:
    """openclaw-weixin 69: the session ends half a minute after it began to work."""
    async with WeChatTalk(tmp_path) as wx:
        await wx.until(lambda: wx.entry.health().state == "connected")
        wx.pass_time(seconds=29)
        await ends(wx, ENDINGS[1])
        health = wx.entry.health()
        assert health.words is not None
        assert "别的程序" in health.words.zh
        assert len(told(wx)) == 1


async def test_a_session_that_never_worked_was_not_taken_over(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path, ilink=Ilink(hold=0.3)) as wx:
        wx.phone.expired = ENDINGS[1]
        await wx.restart()
        await wx.until(lambda: wx.entry.health().state == "disconnected")
        health = wx.entry.health()
        assert health.words is not None
        assert "失效" in health.words.zh


@pytest.mark.parametrize("status", [401, 403])
async def test_a_login_that_is_not_accepted_is_said(tmp_path: Path, status: int) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await worked(wx)
        wx.ilink.scripted["getupdates"].append(Answer(status=status))
        await wx.until(lambda: wx.entry.health().state == "disconnected")
        polls = len(wx.ilink.calls("getupdates"))
        wx.pass_time(hours=1)
        health = wx.entry.health()
        assert health.words is not None
        assert "不认这个登录" in health.words.zh
        assert len(told(wx)) == 1
        assert len(wx.ilink.calls("getupdates")) == polls


@pytest.mark.parametrize("answer", ENDINGS)
async def test_a_session_may_end_while_something_is_sent(tmp_path: Path, answer: Mapping[str, Any]) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await worked(wx)
        wx.ilink.hold = 30
        wx.ilink.scripted["sendmessage"].append(Answer(answer))
        wx.put("提醒你喝水", "reply")
        await wx.until(lambda: wx.entry.health().state == "disconnected")
        assert wx.states()["提醒你喝水"] == "waiting"
        wx.ilink.hold = 0.3
        wx.phone = wx.log_in()
        await wx.until(lambda: wx.states()["提醒你喝水"] == "sent")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=500),
        Answer(raw=b"<html>not json"),
        Answer(raw=b"[1]"),
        Answer({"ret": -1, "errmsg": "busy"}),
        Answer({"errcode": -5}),
    ],
)
async def test_a_server_in_trouble_is_asked_again_with_pauses(tmp_path: Path, answer: Answer) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await wx.until(lambda: wx.entry.health().state == "connected")
        wx.ilink.scripted["getupdates"].extend([answer] * 3)
        await wx.until(lambda: wx.entry.health().state == "disconnected")
        health = wx.entry.health()
        assert health.words is not None
        assert "连不上微信" in health.words.zh
        await wx.until(lambda: wx.entry.health().state == "connected")
        assert wx.ilink.scripted["getupdates"] == wx.ilink.scripted["nothing"]
        await wx.phone.says("在吗")
        await wx.ilink.delivered(1)
        assert told(wx) == []


async def test_a_server_that_is_away_is_found_again(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path, CHANNELS__WXCLAW__PROXY="http://127.0.0.1:9") as wx:
        # A proxy is for the world outside: to this machine itself nothing goes through it.
        await wx.phone.says("在吗")
        await wx.ilink.delivered(1)
        await wx.ilink.goes_away()
        await wx.until(lambda: wx.entry.health().state == "disconnected")
        wx.put("提醒你喝水", "reply")
        await wx.until(lambda: wx.chat.events(Kind.DELIVERY_LATER) != [])
        assert wx.states()["提醒你喝水"] == "waiting"
        await wx.ilink.comes_back()
        await wx.until(lambda: wx.entry.health().state == "connected")
        await wx.until(lambda: wx.states()["提醒你喝水"] == "sent")


async def test_a_poll_that_nobody_answers_is_no_healthy_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "_SLACK_SECONDS", 0.5)
    async with WeChatTalk(tmp_path) as wx:
        await wx.until(lambda: wx.entry.health().state == "connected")
        wx.ilink.scripted["getupdates"].append(Answer(delay=2))
        await wx.until(lambda: wx.entry.health().state == "disconnected")
        await wx.phone.says("在吗")
        await wx.ilink.delivered(1)
        assert wx.entry.health().state == "connected"


async def test_without_a_login_it_is_off_and_one_that_comes_is_taken_up(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path, logged_in=False) as wx:
        assert wx.entry.health().state == "off"
        assert wx.entry.health().words is None
        wx.phone = wx.log_in()
        await wx.until(lambda: wx.entry.health().state == "connected")
        await wx.phone.says("你好")
        await wx.ilink.delivered(1)
        assert login_file(wx.chat.home.path).stat().st_mode & 0o777 == 0o600


async def test_a_file_that_cannot_be_read_stops_nothing_that_runs(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await wx.until(lambda: wx.entry.health().state == "connected")
        login_file(wx.chat.home.path).write_text("{no json", "utf-8")
        await wx.until(lambda: wx.entry.health().words is not None)
        words = wx.entry.health().words
        assert words is not None
        assert "wechat.json 看不懂" in words.zh
        await wx.phone.says("在吗")
        await wx.ilink.delivered(1)
        await wx.entry.stop()
        with pytest.raises(SettingsWrong, match=r"wechat\.json"):
            await wx.entry.start()


async def test_a_login_that_is_taken_out_of_the_file_is_let_go(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await wx.until(lambda: wx.entry.health().state == "connected")
        login_file(wx.chat.home.path).unlink()
        await wx.until(lambda: wx.entry.health().state == "off")
        assert wx.phone.stopped == 1
        polls = len(wx.ilink.calls("getupdates"))
        wx.pass_time(minutes=5)
        await wx.chat.settled()
        assert len(wx.ilink.calls("getupdates")) == polls


async def test_a_login_of_the_settings(tmp_path: Path) -> None:
    ilink = Ilink(hold=0.3)
    phone = ilink.bind()
    accounts = f'[{{"account_id": "{phone.bot}", "token": "{phone.token}"}}]'
    async with WeChatTalk(tmp_path, ilink=ilink, logged_in=False, CHANNELS__WXCLAW__ACCOUNTS=accounts) as wx:
        await phone.says("你好")
        (sent,) = await ilink.delivered(1)
        assert sent.to == USER
        assert phone.token not in repr(wx.chat.app.settings.channels)
