"""What a message of WeChat may hold so that nothing after it is heard: it is passed over, and the next is answered."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from qingtuan.channels.wxclaw import hearing
from qingtuan.channels.wxclaw.inbound import Said, read
from tests.fakes.ilink import USER
from tests.fakes.model_server import on_user
from tests.fakes.wechat import WeChatTalk


@pytest.mark.parametrize("token", ["x" * 1_000_000, "a\x00b", ["x"], None])
async def test_a_token_that_nothing_can_hold_stops_nothing(tmp_path: Path, token: Any) -> None:
    async with WeChatTalk(tmp_path) as talk:
        talk.chat.model(on_user("", "好的。"))
        await talk.phone.says("第一条", context_token=token)
        await talk.phone.says("第二条")
        await talk.ilink.delivered(1)
        assert "第二条" in "".join(one["text"] for one in talk.received())


def test_a_token_in_halves_of_characters_is_none() -> None:
    text = {"type": 1, "text_item": {"text": "在吗"}}
    message = {"message_id": 7, "from_user_id": USER, "message_type": 1, "context_token": "\ud800", "item_list": [text]}
    found = read(message, datetime.now(UTC))
    assert isinstance(found, Said)
    assert found.context_token == ""


async def test_what_breaks_the_hearing_keeps_nothing_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: broken.append(context))

    def breaks(message: Any, now: Any) -> Any:
        if "炸" in str(message):
            raise IndexError
        return read(message, now)

    monkeypatch.setattr(hearing, "read", breaks)
    async with WeChatTalk(tmp_path) as talk:
        talk.chat.model(on_user("", "好的。"))
        await talk.phone.says("炸")
        await talk.phone.says("在吗")
        await talk.ilink.delivered(1)
        assert [one["text"] for one in talk.received()] == ["在吗"]
    assert len(broken) == 1
