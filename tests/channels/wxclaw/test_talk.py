"""Talking over WeChat: a whole instance, a phone, and each measured gap of the adapter (platforms.md, 1.3)."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.model_server import on_user
from tests.fakes.wechat import WeChatTalk


async def test_a_person_is_answered(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        wx.chat.model(on_user("你好", "你好呀。"))
        said = await wx.phone.says("你好")
        (sent,) = await wx.ilink.delivered(1)
        assert (sent.text, sent.to, sent.context_token) == ("你好呀。", wx.phone.user, said["context_token"])
        await wx.until(lambda: wx.states() == {"你好呀。": "sent"})
