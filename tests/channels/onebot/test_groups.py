"""Groups on QQ, over the wire: what is said there to others, quotes, and who comes and goes."""

from __future__ import annotations

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.channels.onebot.conftest import FRIEND, GROUP, OWNER, QQ
from tests.fakes.cq import at, reply, text

ROOM = Space("group", f"qq:{GROUP}")


async def test_what_was_said_above_is_summed_up(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(FRIEND, "周六去爬山", GROUP)
    await qq.napcat.says(OWNER, [text("问问 "), at(FRIEND), text(" 带不带水")], GROUP)
    await qq.settled()
    assert qq.chat.server.requests == []
    await qq.napcat.says(FRIEND, [at(10001), text(" 总结上面")], GROUP)
    await qq.sent()
    asked = str(qq.chat.asked.messages)
    assert f"> qq:{FRIEND}: 周六去爬山" in asked
    assert f"> qq:{OWNER}: 问问 @{FRIEND} 带不带水" in asked


async def test_a_quote_and_a_mention_without_words_ask_about_the_quote(qq: QQ) -> None:
    await qq.connect()
    said = await qq.napcat.says(FRIEND, "good morning 是什么意思", GROUP)
    await qq.napcat.says(OWNER, [reply(said), at(10001)], GROUP)
    await qq.sent()
    asked = str(qq.chat.asked.messages)
    assert f"引用了 qq:{FRIEND} 说的" in asked
    assert "要你看的就是它" in asked
    assert asked.count("good morning 是什么意思") == 2, "as a quote, and as what was said above"


async def test_who_leaves_and_being_removed_are_known(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.notice("group_decrease", sub_type="leave", group_id=GROUP, operator_id=0, user_id=FRIEND)
    await qq.settled()
    groups = qq.chat.app.desk.membership.groups
    assert groups.has_left(ROOM, f"qq:{FRIEND}")
    await qq.napcat.notice("group_decrease", sub_type="kick_me", group_id=GROUP, operator_id=OWNER, user_id=10001)
    await qq.settled()
    assert groups.is_gone("onebot", ROOM)
    await qq.napcat.notice("group_increase", sub_type="invite", group_id=GROUP, operator_id=OWNER, user_id=10001)
    await qq.settled()
    assert groups.is_here("onebot", ROOM)
    told = [event.payload["text"] for event in qq.chat.events(Kind.MESSAGE_SENT)]
    assert [f"qq:{GROUP}" in words for words in told] == [True, True]
    assert all(event.place.space != ROOM for event in qq.chat.events(Kind.MESSAGE_SENT))
