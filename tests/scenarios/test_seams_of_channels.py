"""Where the parts of the channels meet: what one of them does while another is at it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.channels.onebot.conftest import FRIEND, GROUP, OWNER, QQ, qq_over
from tests.fakes.booking import Bookings, books
from tests.fakes.conversation import Conversation
from tests.fakes.cq import at, image, reply, text
from tests.fakes.ilink import USER, Ilink
from tests.fakes.model_server import Reply, on_result, on_user
from tests.fakes.telegram_room import PNG, Room, room
from tests.fakes.wechat import WeChatTalk

WAV = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\0\0\0\0"


@pytest.fixture
async def qq(tmp_path: Path) -> AsyncIterator[QQ]:
    async with qq_over(tmp_path) as qq:
        await qq.connect()
        yield qq


# The first minutes


async def test_the_start_link_of_telegram_makes_its_sender_an_owner(tmp_path: Path) -> None:
    """`t.me/bot?start=CODE`: the app of whoever follows it sends `/start CODE`."""
    async with room(tmp_path, OWNER__ACCOUNTS="[]") as telegram:
        await telegram.open()
        await telegram.until(lambda: telegram.health().state == "connected")
        assert "主人" in (await telegram.ask("你好"))[0]
        (told,) = await telegram.chat.say("/claim")
        code = next(word for word in told.split() if "-" in word).removeprefix("认主人的码：")
        telegram.pass_time(61)
        assert "主人的账号" in (await telegram.ask(f"/start {code}"))[-1]
        telegram.chat.model(on_user("", Reply("你好呀。")))
        assert (await telegram.ask("你好"))[-1] == "你好呀。"


async def test_a_code_makes_whoever_sends_it_on_qq_an_owner(tmp_path: Path) -> None:
    async with qq_over(tmp_path, OWNER__ACCOUNTS="[]", ACCESS__MEMBERS="[]") as qq:
        await qq.connect()
        shown = await claimed(qq)
        await qq.napcat.says(FRIEND, [at(10001), text(f" {shown}")], GROUP)
        await qq.napcat.says(FRIEND, shown)
        await qq.settled()
        assert not any("主人的账号" in one.text for one in qq.napcat.delivered), "others have read it in the group"
        code = await claimed(qq)
        await qq.napcat.says(FRIEND, code)
        await qq.settled()
        assert "主人的账号" in qq.napcat.delivered[-1].text
        await qq.napcat.says(FRIEND, "你好")
        await qq.settled()
        assert qq.napcat.delivered[-1].text == "好的。"


async def claimed(qq: QQ) -> str:
    """A code for whoever becomes an owner."""
    told = (await qq.chat.say("/claim"))[-1]
    return next(word for word in told.split() if "-" in word).removeprefix("认主人的码：")


# Pieces of several kinds


async def test_words_a_picture_and_a_voice_at_once_are_one_turn(qq: QQ) -> None:
    qq.napcat.files |= {"a.png": PNG, "b5.amr": WAV}
    await qq.napcat.says(OWNER, "帮我看看这个")
    await qq.napcat.says(OWNER, [image("a.png", "https://multimedia.invalid/a")])
    await qq.napcat.says(OWNER, [{"type": "record", "data": {"file": "b5.amr", "url": "https://multimedia.invalid/b"}}])
    await qq.napcat.says(OWNER, "还有这段话")
    await qq.settled()
    assert [answer.text for answer in qq.napcat.delivered] == ["好的。"]
    assert len(qq.chat.events(Kind.TURN_STARTED)) == 1
    said = "\n".join(str(one["content"]) for one in qq.chat.asked.messages)
    order = [said.index(word) for word in ("帮我看看这个", "a.png", "b5.wav", "还有这段话")]
    assert order == sorted(order)


async def test_a_recalled_picture_of_an_album_leaves_the_others(qq: QQ) -> None:
    qq.napcat.files |= {"a.png": PNG, "b.png": PNG + b"\0"}
    first = await qq.napcat.says(OWNER, [image("a.png", "https://multimedia.invalid/a")])
    await qq.napcat.says(OWNER, [image("b.png", "https://multimedia.invalid/b")])
    await qq.napcat.recall(first)
    await qq.napcat.says(OWNER, "这张呢")
    await qq.settled()
    assert [answer.text for answer in qq.napcat.delivered] == ["好的。"]
    said = str(qq.chat.asked.messages)
    assert "b.png" in said
    assert "a.png" not in said


async def test_a_quote_of_a_bubble_in_the_middle_is_known(qq: QQ) -> None:
    qq.chat.model(on_user("再说", "好的。"), on_user("", "周六有雨。\n\n周日多云，可以去。\n\n记得带伞。"))
    await qq.napcat.says(FRIEND, [at(10001), text(" 周末天气")], GROUP)
    await qq.settled()
    bubbles = qq.napcat.delivered
    assert len(bubbles) == 3
    await qq.napcat.says(FRIEND, [reply(bubbles[1].message_id), text("这个再说说")], GROUP)
    await qq.settled()
    assert qq.napcat.delivered[-1].text.strip() == "好的。"
    assert qq.napcat.called("get_msg") == []


async def test_an_edit_while_the_answer_grows_is_answered_once(tmp_path: Path) -> None:
    """What was shown by then was an answer to what is no longer asked, or stays and the edit is answered after it."""
    async with room(tmp_path, CHANNELS__TELEGRAM__STREAM="true") as telegram:
        telegram.chat.model(
            on_user("上海", Reply("上海有雨。")), on_user("北京", Reply("北京晴，" * 60, pause=0.05, piece=12))
        )
        await telegram.open()
        message = await telegram.server.say("北京天气")
        await telegram.until(lambda: telegram.server.texts())
        await telegram.server.edit(message, "上海天气")
        await telegram.quiet(20)
        await telegram.chat.settled()
        await telegram.quiet(10)
        assert telegram.previews() == 0
        texts = telegram.server.texts()
        assert len([one for one in texts if one == "上海有雨。"]) <= 1
        assert texts in (["上海有雨。"], ["北京晴，" * 60]) or texts[-1] == "上海有雨。"


# Questions


@asynccontextmanager
async def library(folder: Path, **settings: str) -> AsyncIterator[tuple[Room, Ilink, Any, Bookings]]:
    """The owner on Telegram, and a member who asks on WeChat."""
    bookings = Bookings(folder / "bookings.jsonl")
    async with Ilink(hold=0.3) as ilink:
        wechat = {"CHANNELS__WXCLAW__BASE_URL": ilink.url, "CHANNELS__WXCLAW__CDN_URL": ilink.cdn}
        members = {"ACCESS__MEMBERS": json.dumps([f"wx:{USER}"]), "EMBEDDING__MODEL": "off"}
        async with room(folder, tools={"booking": bookings}, **wechat, **members, **settings) as telegram:
            telegram.chat.model(on_user("约", books()), on_result("预约成功", "约好了。"), on_user("", "好的。"))
            from qingtuan.channels.wxclaw.accounts import Login, keep_login, login_file

            phone = ilink.bind()
            keep_login(login_file(telegram.chat.home.path), Login(phone.bot, phone.token, ilink.url, phone.user))
            await telegram.open()
            yield telegram, ilink, phone, bookings


async def test_what_a_member_wishes_on_wechat_the_owner_is_asked_on_telegram(tmp_path: Path) -> None:
    async with library(tmp_path) as (telegram, ilink, phone, bookings):
        await telegram.ask("你好")
        await phone.says("帮我约座位")
        await telegram.until(lambda: ilink.sent)
        assert "这要主人同意" in ilink.sent[0].text
        question = await telegram.until(
            lambda: next((one for one in telegram.server.chats[5].by_bot() if one.get("reply_markup")), None)
        )
        assert f"wx:{USER}" in question["text"]
        assert bookings.made == []
        await telegram.server.press(question, "确认")
        await telegram.until(lambda: len(ilink.sent) > 1)
        assert ilink.sent[1].text == "约好了。"
        assert len(bookings.made) == 1


async def test_a_question_on_qq_is_answered_by_quoting_it(tmp_path: Path) -> None:
    bookings = Bookings(tmp_path / "bookings.jsonl")
    async with asked_on_qq(tmp_path, bookings) as qq:
        await qq.connect()
        await qq.napcat.says(OWNER, "帮我约座位")
        await qq.settled()
        (question,) = qq.napcat.delivered
        assert bookings.made == []
        await qq.napcat.says(OWNER, [reply(question.message_id), text("确认")])
        await qq.settled()
        assert len(bookings.made) == 1
        assert qq.napcat.delivered[-1].text == "约好了。"


@asynccontextmanager
async def asked_on_qq(folder: Path, bookings: Bookings) -> AsyncIterator[QQ]:
    from tests.channels.onebot.conftest import SETTINGS

    async with Conversation(folder, tools={"booking": bookings}, EMBEDDING__MODEL="off", **SETTINGS) as chat:
        chat.model(on_user("约", books()), on_result("预约成功", "约好了。"), on_user("", "好的。"))
        qq = QQ(chat)
        await qq.open()
        try:
            async with qq.napcat:
                yield qq
        finally:
            await qq.close()


# Stopping


async def test_nobody_stops_in_a_group_what_another_asked(qq: QQ) -> None:
    qq.chat.model(on_user("慢", Reply("想好了。", delay=1.0)), on_user("", "好的。"))
    await qq.napcat.says(OWNER, [at(10001), text(" 慢慢想")], GROUP)
    await qq.until(lambda: bool(qq.chat.server.requests))
    await qq.napcat.says(FRIEND, [at(10001), text(" /stop")], GROUP)
    await qq.settled()
    texts = [answer.text.strip() for answer in qq.napcat.delivered]
    assert "想好了。" in texts
    assert len(texts) == 2


# Reminders and windows


async def test_a_notice_to_wechat_outside_the_window_waits_until_they_write(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await wx.phone.says("你好")
        await wx.ilink.delivered(1)
        await wx.quiet()
        wx.pass_time(hours=25)
        wx.put("记得交报告")
        await wx.quiet()
        assert wx.states()["记得交报告"] == "waiting"
        assert len(wx.ilink.sent) == 1
        await wx.phone.says("在吗")
        await wx.until(lambda: wx.states()["记得交报告"] == "sent")


# The terminal beside it


async def test_the_terminal_and_a_chat_app_talk_at_once_and_apart(qq: QQ) -> None:
    qq.chat.model(on_user("慢", Reply("慢的。", delay=0.5)), on_user("", "好的。"))
    await qq.napcat.says(OWNER, "慢慢想")
    await qq.chat.send("终端里的话")
    await qq.settled()
    assert qq.chat.deliver(Space("private", "cli:local")) == ["好的。"]
    assert [answer.text for answer in qq.napcat.delivered] == ["慢的。"]
