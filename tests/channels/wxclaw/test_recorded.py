"""Every recorded message and answer of WeChat over a real socket: the right turn, or the right silence with its reason.

What is recorded and stands in no table here fails a test, as does what stands here and is not recorded.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from qingtuan.events.kinds import Kind
from tests.fakes.ilink import USER, Answer
from tests.fakes.telegram_room import PNG
from tests.fakes.wechat import WeChatTalk

KEY = bytes.fromhex("00112233445566778899aabbccddeeff")
FILES = {"EQPi": PNG, "EQPj": PNG, "EQPv": b"#!SILK_V3", "EQPw": b"#!SILK_V3", "EQPf": b"%PDF-1.4 x", "EQPd": b"\0" * 9}


@pytest.fixture(scope="module")
def wire(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "data/wire/ilink_messages.json").read_text("utf-8"))
    return found


@dataclass(frozen=True)
class Asks:
    """It is a turn: the model is asked, and one answer goes to who wrote."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Quiet:
    """Nobody is asked and nothing is said."""

    ignored: str | None = None
    """The reason by which `doctor` tells it, for a message that might have been meant."""


MESSAGES: Mapping[str, Asks | Quiet] = {
    "text": Asks(("帮我记一下：周五体检",)),
    "image_hex_key_only": Asks(("image/png",)),
    "image_media_key": Asks(("image/png",)),
    "voice_with_transcript": Asks(("明天早上叫我", "语音")),
    "voice_no_transcript": Asks(("听不了",)),
    "file": Asks(("合同.pdf",)),
    "video": Asks(("视频",)),
    "quote_inline": Asks(("这句什么意思", "被引用的整句")),
    "quote_id_only_partial": Asks(("只问这半句",)),
    "unknown_item_type": Quiet(ignored="unreadable"),
    "bot_echo_must_be_ignored": Quiet(),
}


@pytest.mark.parametrize("name", MESSAGES)
async def test_a_message_has_its_turn_or_its_silence(tmp_path: Path, wire: dict[str, Any], name: str) -> None:
    wanted = MESSAGES[name]
    async with WeChatTalk(tmp_path) as wx:
        for param, data in FILES.items():
            wx.ilink.keep(data, KEY, param)
        await wx.phone.arrives(wire[name])
        if isinstance(wanted, Quiet):
            await wx.quiet()
            await wx.quiet()
            assert (wx.ilink.sent, wx.chat.server.requests) == ([], [])
            reasons = [event.payload["reason"] for event in wx.chat.events(Kind.MESSAGE_IGNORED)]
            assert reasons == ([wanted.ignored] if wanted.ignored else [])
            return
        (sent,) = await wx.ilink.delivered(1)
        assert (sent.to, sent.context_token) == (USER, wire[name]["context_token"])
        said = "\n".join(str(one["content"]) for one in wx.chat.asked.messages[3:])
        assert [words for words in wanted.words if words not in said] == [], said


# What the server answers


async def _greeted(wx: WeChatTalk) -> None:
    """They wrote, and were answered."""
    await wx.phone.says("你好")
    await wx.ilink.delivered(1)
    await wx.quiet()


async def _polls_on(wx: WeChatTalk, answer: Any) -> None:
    wx.ilink.scripted["getupdates"].append(Answer(answer))
    polls = len(wx.ilink.calls("getupdates"))
    await wx.ilink.until(lambda: len(wx.ilink.calls("getupdates")) > polls + 2)
    cursors = [asked.body["get_updates_buf"] for asked in wx.ilink.calls("getupdates")]
    assert answer["get_updates_buf"] in cursors


async def _logged_out(wx: WeChatTalk, answer: Any) -> None:
    await _greeted(wx)
    wx.phone.expired = answer
    await wx.ilink.changed()
    await wx.until(lambda: wx.entry.health().state == "disconnected")
    words = wx.entry.health().words
    assert words is not None
    assert "qingtuan login wechat" in words.zh


async def _sent(wx: WeChatTalk, answer: Any) -> None:
    await _greeted(wx)
    wx.ilink.scripted["sendmessage"].append(Answer(answer))
    wx.put("提醒你喝水", "reply")
    await wx.until(lambda: wx.states()["提醒你喝水"] == "sent")
    assert wx.chat.events(Kind.DELIVERY_SENT)[-1].payload["platform_id"] == str(answer["message_id"])


async def _held(wx: WeChatTalk, answer: Any) -> None:
    """What was refused is said to wait, is not asked for again and again, and goes out when they write."""
    await _greeted(wx)
    wx.ilink.scripted["sendmessage"].extend([Answer(answer)] * 20)
    wx.put("提醒你喝水", "reply")
    for _ in range(3):
        wx.pass_time(minutes=20)
        await wx.quiet()
    assert wx.states()["提醒你喝水"] == "waiting"
    assert len(wx.ilink.calls("sendmessage")) <= 3
    wx.ilink.scripted["sendmessage"].clear()
    await wx.phone.says("在吗")
    await wx.until(lambda: wx.states()["提醒你喝水"] == "sent")


async def _logged_out_while_sending(wx: WeChatTalk, answer: Any) -> None:
    await _greeted(wx)
    wx.ilink.scripted["sendmessage"].append(Answer(answer))
    wx.put("提醒你喝水", "reply")
    await wx.until(lambda: wx.entry.health().state == "disconnected")
    assert wx.states()["提醒你喝水"] == "waiting"


ANSWERS: Mapping[str, Callable[[WeChatTalk, Any], Awaitable[None]]] = {
    "resp_getupdates_ok": _polls_on,
    "resp_getupdates_expired_errcode": _logged_out,
    "resp_getupdates_expired_ret": _logged_out,
    "resp_send_ok": _sent,
    "resp_send_rate_limited": _held,
    "resp_send_prepare_failed": _held,
    "resp_send_bare_minus2": _held,
    "resp_send_minus3": _held,
    "resp_send_errcode_14": _logged_out_while_sending,
}


def test_everything_recorded_has_its_case(wire: dict[str, Any]) -> None:
    assert set(wire) == {*MESSAGES, *ANSWERS}


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_is_understood(tmp_path: Path, wire: dict[str, Any], name: str) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await ANSWERS[name](wx, wire[name])
