"""The platform's window, over real sockets: what waits for a person, and what refusals lead to (platforms.md, 5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qingtuan.channels.wxclaw.store import Store
from qingtuan.channels.wxclaw.window import Standing
from qingtuan.events.kinds import Kind
from tests.fakes.ilink import USER, Answer, Ilink
from tests.fakes.wechat import WeChatTalk


def standing(wx: WeChatTalk) -> Standing:
    chat = Store(wx.chat.app.kit.record.log.database).chat(wx.phone.bot, USER)
    assert chat is not None
    return chat.standing


async def greeted(wx: WeChatTalk) -> None:
    await wx.phone.says("早")
    await wx.ilink.delivered(1)
    await wx.until(lambda: "sent" in wx.states().values())


def texts(wx: WeChatTalk) -> list[str]:
    return [sent.text for sent in wx.ilink.sent[1:]]


async def test_the_answer_is_among_the_first_ten_whatever_is_told_on_the_way(tmp_path: Path) -> None:
    """openclaw-weixin 81: the server takes ten; fourteen lines of progress come before the answer."""
    async with WeChatTalk(tmp_path) as wx:
        await greeted(wx)
        for number in range(14):
            wx.put(f"进度 {number}")
        await wx.until(lambda: len(wx.ilink.sent) == 6)
        wx.put("最后的答案", "reply")
        await wx.until(lambda: wx.states()["最后的答案"] == "sent")
        assert "最后的答案" in texts(wx)
        assert len(wx.ilink.sent) <= 10
        assert all(asked.body["msg"] for asked in wx.ilink.calls("sendmessage"))
        assert len(wx.ilink.calls("sendmessage")) == len(wx.ilink.sent)  # nothing was refused
        await wx.quiet()
        assert list(wx.states().values()).count("waiting") == 14 - 5


async def test_what_was_held_back_goes_out_when_they_write_again(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await greeted(wx)
        for number in range(10):
            wx.put(f"第 {number} 条", "reply")
        await wx.until(lambda: len(wx.ilink.sent) == 9)
        await wx.quiet()
        assert list(wx.states().values()).count("waiting") == 2
        await wx.phone.says("继续")
        await wx.until(lambda: set(wx.states().values()) == {"sent"})
        assert texts(wx)[:10] == [f"第 {number} 条" for number in range(10)]


async def test_a_day_after_their_last_message_a_reminder_waits_for_them(tmp_path: Path) -> None:
    """openclaw-weixin 185, 156."""
    async with WeChatTalk(tmp_path) as wx:
        await greeted(wx)
        wx.pass_time(hours=25)
        wx.put("提醒你喝水", "reply")
        await wx.quiet()
        assert len(wx.ilink.calls("sendmessage")) == 1
        assert wx.states()["提醒你喝水"] == "waiting"
        await wx.restart()
        await wx.quiet()
        assert len(wx.ilink.calls("sendmessage")) == 1
        await wx.phone.says("在吗")
        await wx.until(lambda: wx.states()["提醒你喝水"] == "sent")
        await wx.quiet()
        assert texts(wx).count("提醒你喝水") == 1


async def test_prepare_failed_means_that_it_is_closed(tmp_path: Path) -> None:
    """openclaw-weixin 309: after about 15 hours; our own messages renew nothing."""
    async with WeChatTalk(tmp_path) as wx:
        await greeted(wx)
        wx.pass_time(hours=16)
        wx.ilink.scripted["sendmessage"].append(Answer({"ret": -2, "errmsg": "prepare failed"}))
        wx.put("提醒你喝水", "reply")
        await wx.until(lambda: standing(wx).closed)
        wx.put("再提醒一次", "reply")
        wx.pass_time(hours=1)
        await wx.quiet()
        assert len(wx.ilink.calls("sendmessage")) == 2  # the one that was refused, and nothing since
        await wx.phone.says("在吗")
        await wx.until(lambda: set(wx.states().values()) == {"sent"})
        assert texts(wx)[:2] == ["提醒你喝水", "再提醒一次"]


@pytest.mark.parametrize(
    ("answer", "asked", "state"),
    [
        ({"ret": -2, "errmsg": "rate limited"}, 2, "waiting"),
        ({"ret": -2}, 2, "waiting"),
        ({"ret": -3, "errmsg": "unknown error"}, 1, "waiting"),
        ({"errcode": -5}, 1, "refused"),
        ({"ret": -1, "errmsg": "no"}, 1, "refused"),
    ],
)
async def test_a_refusal_is_believed_and_never_asked_for_again_and_again(
    tmp_path: Path, answer: dict[str, Any], asked: int, state: str
) -> None:
    """hermes-agent 96416, QwenPaw 6614: HTTP 200 says nothing."""
    async with WeChatTalk(tmp_path) as wx:
        await greeted(wx)
        wx.ilink.scripted["sendmessage"].extend([Answer(answer)] * 20)
        wx.put("提醒你喝水", "reply")
        await wx.until(lambda: len(wx.ilink.calls("sendmessage")) > 1)
        for _ in range(4):
            wx.pass_time(minutes=20)
            await wx.quiet()
        assert len(wx.ilink.calls("sendmessage")) == 1 + asked
        assert wx.states()["提醒你喝水"] == state
        assert len(wx.ilink.sent) == 1
        wx.ilink.scripted["sendmessage"].clear()
        await wx.phone.says("在吗")
        await wx.until(lambda: len(wx.ilink.sent) == (3 if state == "waiting" else 2))
        assert texts(wx).count("提醒你喝水") == (state == "waiting")


async def test_a_throttle_is_waited_out(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await greeted(wx)
        wx.ilink.scripted["sendmessage"].append(Answer({"ret": -2, "errmsg": "rate limited"}))
        wx.put("提醒你喝水", "reply")
        await wx.until(lambda: len(wx.ilink.calls("sendmessage")) == 2)
        await wx.quiet()
        assert texts(wx) == []
        wx.pass_time(seconds=61)
        await wx.until(lambda: wx.states()["提醒你喝水"] == "sent")
        assert standing(wx).sent == 2  # what was refused does not count


@pytest.mark.parametrize(
    "answer", [Answer(status=502), Answer(raw=b"<html>", taken=True), Answer(raw=b"[]"), Answer(status=504, taken=True)]
)
async def test_what_may_have_arrived_is_not_sent_again(tmp_path: Path, answer: Answer) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await greeted(wx)
        wx.ilink.scripted["sendmessage"].append(answer)
        wx.put("提醒你喝水", "reply")
        await wx.until(lambda: wx.states()["提醒你喝水"] == "unknown")
        wx.pass_time(hours=1)
        await wx.quiet()
        assert len(wx.ilink.calls("sendmessage")) == 2
        assert standing(wx).sent == 2  # and counts, for it may have arrived


async def test_too_many_requests_are_tried_later(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await greeted(wx)
        wx.ilink.scripted["sendmessage"].append(Answer(status=429))
        wx.put("提醒你喝水", "reply")
        await wx.until(lambda: wx.states()["提醒你喝水"] == "sent")
        assert texts(wx) == ["提醒你喝水"]


async def test_counts_outlive_the_process(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await greeted(wx)
        for number in range(5):
            wx.put(f"第 {number} 条", "reply")
        await wx.until(lambda: len(wx.ilink.sent) == 6)
        await wx.quiet()
        await wx.restart()
        assert standing(wx).sent == 6
        for number in range(5, 10):
            wx.put(f"第 {number} 条", "reply")
        await wx.until(lambda: len(wx.ilink.sent) == 9)
        await wx.quiet()
        assert len(wx.ilink.calls("sendmessage")) == 9


async def test_a_long_answer_goes_on_when_they_write(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path, ilink=Ilink(hold=0.3, most=10)) as wx:
        await greeted(wx)
        wx.put("\n\n".join(f"{number}、" + "长" * 1900 for number in range(12)), "reply")
        await wx.until(lambda: len(wx.ilink.sent) == 9)
        await wx.quiet()
        assert len(wx.ilink.calls("sendmessage")) == 9
        assert [sent.text.endswith("回我一句就接着发。）") for sent in wx.ilink.sent] == [False] * 8 + [True]
        await wx.phone.says("继续")
        await wx.until(lambda: set(wx.states().values()) == {"sent"})
        assert sum("接着发" in sent.text for sent in wx.ilink.sent) == 1
        numbers = [sent.text.partition("、")[0] for sent in wx.ilink.sent[1:]]
        assert [number for number in numbers if number.isdigit()] == [str(number) for number in range(12)]
        parts = wx.chat.events(Kind.DELIVERY_PART)
        assert len({event.payload["platform_id"] for event in parts}) == len(parts)
