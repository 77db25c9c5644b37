"""QQ as people use it, over real sockets: what is said, by whom, and what becomes of it."""

from __future__ import annotations

from tests.channels.onebot.conftest import FRIEND, GROUP, OWNER, QQ
from tests.fakes.cq import at, text


async def test_a_private_message_is_answered(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(OWNER, "你好")
    (answer,) = await qq.sent()
    assert (answer.user, answer.text) == (OWNER, "好的。")
    assert qq.asked() == ["你好"]


async def test_a_mention_in_the_middle_is_heard_and_answered_with_a_quote_and_a_mention(qq: QQ) -> None:
    await qq.connect()
    asked = await qq.napcat.says(FRIEND, [text("那个 "), at(10001), text(" 周六下雨吗")], GROUP)
    (answer,) = await qq.sent()
    assert (answer.group, answer.text) == (GROUP, " 好的。")
    assert answer.has("reply") == {"id": str(asked)}
    assert answer.has("at") == {"qq": str(FRIEND)}
    assert qq.asked() == ["那个 周六下雨吗"]
