"""People chat over Telegram with a whole instance."""

from __future__ import annotations

from tests.fakes.model_server import Reply, on_user
from tests.fakes.telegram_room import Room


async def test_a_message_is_answered_once(telegram: Room) -> None:
    telegram.chat.model(on_user("hello", Reply("你好 **小明**")))
    assert await telegram.ask("hello") == ["你好 小明"]
    (sent,) = telegram.server.called("sendMessage")
    assert sent["parse_mode"] == "HTML"
    assert sent["text"] == "你好 <b>小明</b>"
