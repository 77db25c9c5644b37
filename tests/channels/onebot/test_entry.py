"""QQ as people use it, over real sockets: what is said, by whom, and what becomes of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from qingtuan.events.inbox import Received
from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.messages import Space
from tests.channels.onebot.conftest import FRIEND, GROUP, OWNER, QQ
from tests.fakes.cq import Json, at, codes, image, reply, text
from tests.fakes.model_server import on_user
from tests.fakes.napcat import Failure


async def test_a_private_message_is_answered_without_a_quote(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(OWNER, "你好")
    (answer,) = await qq.sent()
    assert (answer.user, answer.text, answer.has("reply")) == (OWNER, "好的。", None)
    assert qq.asked() == ["你好"]


async def test_a_mention_in_the_middle_is_heard_and_answered_with_a_quote_and_a_mention(qq: QQ) -> None:
    await qq.connect()
    asked = await qq.napcat.says(FRIEND, [text("那个 "), at(10001), text(" 周六下雨吗")], GROUP)
    (answer,) = await qq.sent()
    assert (answer.group, answer.text) == (GROUP, " 好的。")
    assert answer.has("reply") == {"id": str(asked)}
    assert answer.has("at") == {"qq": str(FRIEND)}
    assert qq.asked() == ["那个 周六下雨吗"]


async def test_talk_of_others_and_a_mention_of_all_are_not_for_us(qq: QQ) -> None:
    await qq.connect()
    for said in ("今天谁去爬山", [at("all"), text(" 集合")], [at(20009), text(" 你看呢")], "bot 10001 在吗"):
        await qq.napcat.says(FRIEND, said, GROUP)
    await qq.settled()
    assert (qq.asked(), qq.napcat.delivered) == ([], [])


async def test_codes_reach_it_as_an_array_does(qq: QQ) -> None:
    async with qq.another(10001, codes=True) as napcat:
        await qq.connect(napcat)
        await napcat.says(FRIEND, [text("看 [CQ:at,qq=all] "), at(10001), text(" &amp; 好")], GROUP)
        await qq.sent(napcat=napcat)
        assert qq.asked() == ["看 [CQ:at,qq=all] &amp; 好"]


async def test_a_quote_of_our_words_is_meant_for_us(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(FRIEND, [at(10001), text(" 周六下雨吗")], GROUP)
    (answer,) = await qq.sent()
    await qq.settled()
    await qq.napcat.says(FRIEND, [reply(answer.message_id), text("再详细点")], GROUP)
    await qq.napcat.says(FRIEND, [reply(4711), text("这是别人的话")], GROUP)
    await qq.settled()
    assert qq.asked() == ["周六下雨吗", "再详细点"]
    assert qq.napcat.called("get_msg") == []  # nothing is asked before it is heard


async def test_a_quote_and_a_mention_alone_ask_what_was_said_before(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(OWNER, [at(10001), text(" 周六下雨吗")], GROUP)
    first = await qq.napcat.says(OWNER, [at(10001), text(" 翻译成英文：你好")], GROUP)
    await qq.settled()
    await qq.napcat.says(OWNER, [reply(first), at(10001)], GROUP)
    await qq.settled()
    assert qq.asked()[-1] == "翻译成英文：你好"


async def test_a_quote_of_others_and_a_mention_alone_bring_their_words_as_material(qq: QQ) -> None:
    await qq.connect()
    theirs = await qq.napcat.says(FRIEND, "I left my heart in the mountains", GROUP)
    await qq.napcat.says(OWNER, [reply(theirs), at(10001)], GROUP)
    await qq.settled()
    (event,) = qq.chat.events(Kind.MESSAGE_RECEIVED)
    received = Received.of(event)
    assert (received.text, received.quotes, received.remotes) == ("", f"10001:{theirs}", ())
    assert "I left my heart in the mountains" in str(qq.chat.asked.messages)


async def test_a_quote_of_what_never_came_is_fetched(qq: QQ) -> None:
    theirs = await qq.napcat.says(FRIEND, "I left my heart in the mountains", GROUP)
    await qq.connect()
    await qq.napcat.says(OWNER, [reply(theirs), at(10001)], GROUP)
    await qq.settled()
    (event,) = qq.chat.events(Kind.MESSAGE_RECEIVED)
    (remote,) = Received.of(event).remotes
    material: Any = await qq.entry.fetching.fetch(remote)
    assert (material.label, material.text) == (f"引用 qq:{FRIEND}（小明）", "I left my heart in the mountains")


async def test_a_command_behind_a_quote_is_run(qq: QQ) -> None:
    await qq.connect()
    theirs = await qq.napcat.says(FRIEND, "你看这个", GROUP)
    await qq.napcat.says(OWNER, [reply(theirs), at(FRIEND), text(" /help")], GROUP)
    await qq.settled()
    assert [event.payload["command"] for event in qq.chat.events(Kind.COMMAND_RUN)] == ["help"]
    await qq.napcat.says(OWNER, [reply(theirs), text("/help")])
    await qq.settled()
    assert len(qq.chat.events(Kind.COMMAND_RUN)) == 2


async def test_who_is_nobody_or_a_stranger_by_way_of_a_group_is_not_answered(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(80000000, [at(10001), text(" 在吗")], GROUP)
    await qq.napcat.says(FRIEND, [at(10001), text(" 在吗")], GROUP, sub_type="anonymous", anonymous={"id": 1})
    await qq.napcat.says(OWNER, "是我", sub_type="group", group_id=GROUP, temp_source=0)
    await qq.settled()
    assert (qq.asked(), qq.napcat.delivered) == ([], [])
    assert qq.ignored() == ["shared_id", "shared_id", "temporary"]


async def test_its_own_words_start_no_loop(qq: QQ) -> None:
    async with qq.another(10001, reports_own=True) as napcat:
        await qq.connect(napcat)
        await napcat.says(OWNER, "你好")
        await qq.sent(napcat=napcat)
        await napcat.says(10001, [at(10001), text(" 我自己说的")], GROUP)
        await qq.settled(napcat)
        assert (qq.asked(), len(napcat.delivered)) == (["你好"], 1)


async def test_notices_that_concern_nobody_are_passed_over(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.notice("notify", sub_type="poke", target_id=10001, user_id=FRIEND, group_id=GROUP)
    await qq.napcat.notice("notify", sub_type="input_status", status_text="对方正在输入...", user_id=FRIEND)
    await qq.napcat.notice("group_upload", group_id=GROUP, user_id=FRIEND, file={"id": "/a", "name": "路线.pdf"})
    await qq.napcat.event({"post_type": "request", "request_type": "friend", "user_id": 20077, "flag": "f"})
    await qq.napcat.says(OWNER, [])
    await qq.settled()
    assert (qq.asked(), qq.ignored(), qq.napcat.called("set_friend_add_request")) == ([], [], [])


async def test_a_recalled_message_is_not_answered(qq: QQ) -> None:
    await qq.connect()
    for group, said in ((None, [text("第二句")]), (GROUP, [at(10001), text(" 第二句")])):
        await qq.napcat.says(OWNER, "/help" if group is None else [at(10001), text(" /help")], group)
        recalled = await qq.napcat.says(OWNER, said, group)
        await qq.napcat.recall(recalled)
    await qq.settled()
    assert qq.asked().count("第二句") == 2
    assert all(one.text.strip() != "好的。" for one in qq.napcat.delivered)


async def test_a_picture_without_words_is_a_message(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(OWNER, [image("a.png", "https://example.com/a")])
    await qq.settled()
    (event,) = qq.chat.events(Kind.MESSAGE_RECEIVED)
    assert [remote.kind for remote in Received.of(event).remotes] == ["image"]


async def test_a_sticker_alone_is_answered(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(OWNER, [{"type": "image", "data": {"summary": "[开心]", "sub_type": 1, "file": "a.gif"}}])
    assert [one.text for one in await qq.sent()] == ["好的。"]
    assert "[开心]" in str(qq.chat.asked.messages)


async def test_one_chat_does_not_wait_for_another(qq: QQ) -> None:
    await qq.connect()
    qq.napcat.fails("send_private_msg", Failure(silent=True))
    await qq.napcat.says(OWNER, "慢的")
    await qq.passing(lambda: bool(qq.napcat.called("send_private_msg")))
    await qq.napcat.says(FRIEND, [at(10001), text(" 快的")], GROUP)
    assert [one.group for one in await qq.sent()] == [GROUP]


# What was said while nobody was connected


async def test_what_was_said_meanwhile_is_caught_up_with(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(OWNER, "第一句")
    await qq.napcat.says(OWNER, [at(10001), text(" 群里第一句")], GROUP)
    await qq.settled()
    await qq.napcat.hang_up()
    qq.chat.clock.advance(timedelta(minutes=1))
    await qq.napcat.says(OWNER, "断线时说的")
    await qq.napcat.says(OWNER, [at(10001), text(" 断线时在群里说的")], GROUP)
    await qq.napcat.says(20009, [text("不是对它说的")], GROUP)
    await qq.napcat.says(20077, "陌生人断线时说的")
    qq.chat.clock.advance(timedelta(minutes=1))
    await qq.connect()
    await qq.settled()
    assert sorted(qq.asked()) == sorted(["第一句", "群里第一句", "断线时说的", "断线时在群里说的"])
    assert len(await qq.sent(4)) == 4
    asked = {str(one.get("user_id") or one.get("group_id")) for name in ("friend", "group")
             for one in qq.napcat.called(f"get_{name}_msg_history")}  # fmt: skip
    assert asked == {str(OWNER), str(GROUP)}


async def test_the_next_process_catches_up_too_and_what_comes_meanwhile_stands_behind(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(OWNER, "第一句")
    await qq.settled()
    await qq.napcat.hang_up()
    await qq.close()
    qq.chat.clock.advance(timedelta(minutes=2))
    await qq.napcat.says(OWNER, "停着的时候说的")
    await qq.chat.restart()
    await qq.open()
    qq.napcat.fails("get_friend_msg_history", Failure(delivers=True, status="ok"))
    await qq.napcat.connect(qq.url, "a-long-and-random-token")
    await qq.napcat.says(OWNER, "刚说的")
    await qq.settled()
    assert qq.asked() == ["第一句", "停着的时候说的", "刚说的"]
    await qq.napcat.hang_up()
    await qq.connect()
    await qq.settled()
    assert len(qq.asked()) == 3


async def test_what_is_old_is_not_answered_and_said_so_once(qq: QQ) -> None:
    await qq.connect()
    for by in (OWNER, FRIEND):
        await qq.napcat.says(by, "第一句")
    await qq.napcat.says(OWNER, [at(10001), text(" 群里第一句")], GROUP)
    await qq.settled()
    await qq.sent(3)
    await qq.napcat.hang_up()
    qq.chat.clock.advance(timedelta(minutes=1))
    for by in (OWNER, FRIEND):
        await qq.napcat.says(by, "确认")
        await qq.napcat.says(by, "还有一句")
    await qq.napcat.says(OWNER, [at(10001), text(" 群里也有")], GROUP)
    qq.chat.clock.advance(timedelta(minutes=11))
    await qq.connect()
    await qq.settled()
    assert len(qq.asked()) == 3
    assert qq.ignored() == ["late"] * 5
    told = await qq.sent(2)
    assert {one.user for one in told} == {OWNER, FRIEND}
    assert all("现在才看到" in one.text for one in told)
    assert qq.napcat.untaken == 0


async def test_what_was_said_before_a_restore_is_left_alone(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(OWNER, "第一句")
    await qq.settled()
    await qq.napcat.hang_up()
    qq.chat.clock.advance(timedelta(minutes=1))
    await qq.napcat.says(OWNER, "可能早就答过了")
    qq.chat.clock.advance(timedelta(minutes=1))
    qq.chat.app.kit.record.log.append(Kind.FOLDER_RESTORED, Place(), {"shows": "2026-11-29"})
    qq.chat.clock.advance(timedelta(minutes=1))
    await qq.napcat.says(OWNER, "恢复以后说的")
    await qq.connect()
    await qq.settled()
    assert qq.asked() == ["第一句", "恢复以后说的"]


async def test_a_history_that_is_refused_or_never_comes_holds_nobody_up(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(OWNER, "第一句")
    await qq.settled()
    await qq.napcat.hang_up()
    qq.napcat.fails("get_friend_msg_history", Failure(1404, "不支持的Api"))
    await qq.connect()
    await qq.napcat.says(OWNER, "第二句")
    await qq.settled()
    assert qq.asked() == ["第一句", "第二句"]


# Groups


async def test_a_silenced_group_gets_nothing_until_it_is_over(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.notice("group_ban", sub_type="ban", group_id=GROUP, user_id=10001, operator_id=1, duration=600)
    await qq.napcat.says(OWNER, [at(10001), text(" 在吗")], GROUP)
    await qq.napcat.says(OWNER, "私聊照样")
    await qq.settled()
    assert [one.user for one in qq.napcat.delivered] == [OWNER]
    assert qq.entry.deliveries is not None
    assert [str(held.why) for held in qq.entry.deliveries.held()] == ["muted"]
    for _ in range(8):
        qq.chat.clock.advance(timedelta(minutes=1))
        await qq.settled()
        assert len(qq.napcat.delivered) == 1
    for _ in range(3):
        qq.chat.clock.advance(timedelta(minutes=1))
        await qq.settled()
    assert [one.group for one in await qq.sent(2)] == [None, GROUP]


async def test_a_lifted_silence_counts_at_once(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.notice("group_ban", sub_type="ban", group_id=GROUP, user_id=0, duration=-1)
    await qq.napcat.says(OWNER, [at(10001), text(" 在吗")], GROUP)
    await qq.settled()
    assert qq.napcat.delivered == []
    await qq.napcat.notice("group_ban", sub_type="lift_ban", group_id=GROUP, user_id=0, duration=0)
    assert [one.group for one in await qq.sent()] == [GROUP]


async def test_the_next_process_learns_that_it_is_silenced(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(OWNER, [at(10001), text(" 在吗")], GROUP)
    await qq.settled()
    await qq.restart()
    qq.napcat.silenced[GROUP] = int(qq.chat.clock.now().timestamp()) + 3600
    await qq.connect()
    await qq.napcat.says(OWNER, [at(10001), text(" 还在吗")], GROUP)
    await qq.settled()
    assert len(qq.napcat.called("send_group_msg")) == 1


async def test_a_group_that_it_was_thrown_out_of_gets_nothing_and_the_owner_is_told(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(OWNER, "在吗")
    await qq.napcat.notice("group_ban", sub_type="ban", group_id=GROUP, user_id=10001, operator_id=1, duration=600)
    await qq.napcat.says(FRIEND, [at(10001), text(" 在吗")], GROUP)
    await qq.settled()
    await qq.napcat.notice("group_decrease", sub_type="leave", group_id=GROUP, user_id=FRIEND)
    await qq.napcat.notice("group_decrease", sub_type="kick_me", group_id=GROUP, user_id=10001, operator_id=1)
    await qq.settled()
    group = Space("group", f"qq:{GROUP}")
    groups = qq.chat.app.desk.membership.groups
    assert groups.has_left(group, f"qq:{FRIEND}")
    assert groups.is_gone("onebot", group)
    assert qq.entry.deliveries is not None
    assert qq.entry.deliveries.held() == []
    assert not qq.napcat.called("send_group_msg")
    assert [event.payload["change"] for event in qq.chat.events(Kind.GROUP_CHANGED)] == ["muted", "left", "removed"]


async def test_who_puts_it_into_a_group_is_told_to_the_owner(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.notice("group_increase", sub_type="invite", group_id=30099, user_id=10001, operator_id=FRIEND)
    await qq.settled()
    assert [event.payload["change"] for event in qq.chat.events(Kind.GROUP_CHANGED)] == ["added"]
    told = [event.payload["text"] for event in qq.chat.events(Kind.MESSAGE_SENT)]
    assert any(f"qq:{FRIEND} 把我拉进了群 qq:30099" in one for one in told)


async def test_what_was_said_in_a_group_meanwhile_and_long_ago_is_material(qq: QQ) -> None:
    await qq.connect()
    await qq.napcat.says(OWNER, [at(10001), text(" 第一句")], GROUP)
    await qq.settled()
    await qq.napcat.hang_up()
    await qq.napcat.says(FRIEND, [at(10001), text(" 周六去爬香山")], GROUP)
    qq.chat.clock.advance(timedelta(minutes=11))
    await qq.connect()
    await qq.settled()
    assert qq.ignored() == ["late"]
    await qq.napcat.says(OWNER, [at(10001), text(" 总结上面的")], GROUP)
    await qq.settled()
    assert "周六去爬香山" in str(qq.chat.asked.messages)


@pytest.mark.parametrize("words", ["[CQ:at,qq=all] 大家好", "&#91;CQ:face,id=1&#93; & [CQ:image,file=http://a/b]"])
async def test_nothing_that_it_says_is_read_as_a_code(qq: QQ, words: str) -> None:
    qq.chat.model(on_user("", words))
    await qq.connect()
    await qq.napcat.says(OWNER, [at(10001), text(" 说吧")], GROUP)
    (answer,) = await qq.sent()
    assert [one["type"] for one in answer.segments] == ["reply", "at", "text"]
    assert "[CQ:" in answer.text


async def test_markdown_becomes_text_that_reads_well(qq: QQ) -> None:
    table = "**结果**\n\n| 天 | 气温 |\n|---|---|\n| 周六 | 12 |\n\n```python\nprint(1)\n```\n"
    qq.chat.model(on_user("", table))
    await qq.connect()
    await qq.napcat.says(OWNER, "查一下")
    await qq.settled()
    shown = "\n".join(one.text for one in qq.napcat.delivered)
    assert "结果" in shown
    assert "周六" in shown
    assert "print(1)" in shown
    assert "**" not in shown
    assert "|---|" not in shown


def test_the_fake_writes_codes_as_napcat_does() -> None:
    said: list[Json] = [text("a[b]&,"), at(1), image("f,", "http://a/?b&c")]
    assert codes(said).startswith("a&#91;b&#93;&amp;,[CQ:at,qq=1][CQ:image,summary=,file=f&#44;,sub_type=0,")
