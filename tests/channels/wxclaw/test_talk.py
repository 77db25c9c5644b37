"""Talking over WeChat: a whole instance, a phone, and each measured gap of the adapter (platforms.md, 1.3)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from qingtuan.events.kinds import Kind
from tests.fakes.ilink import USER, Answer, Ilink
from tests.fakes.model_server import Reply, on_user
from tests.fakes.wechat import SPACE, WeChatTalk

OTHER = "o9cq80other@im.wechat"
BOTH = f'["wx:{USER}","wx:{OTHER}"]'


async def test_a_person_is_answered(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        wx.chat.model(on_user("你好", "你好呀。"))
        said = await wx.phone.says("你好")
        (sent,) = await wx.ilink.delivered(1)
        assert (sent.text, sent.to, sent.context_token) == ("你好呀。", USER, said["context_token"])
        await wx.until(lambda: wx.states() == {"你好呀。": "sent"})


async def test_a_message_is_one_item_with_an_id_of_ours_and_keeps_the_servers(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await wx.phone.says("你好")
        (sent,) = await wx.ilink.delivered(1)
        await wx.until(lambda: "sent" in wx.states().values())
        (asked,) = wx.ilink.calls("sendmessage")
        message = asked.body["msg"]
        assert len(message["item_list"]) == 1
        assert "session_id" not in message
        assert (message["from_user_id"], message["message_type"], message["message_state"]) == ("", 2, 2)
        (event,) = wx.chat.events(Kind.MESSAGE_SENT)
        assert message["client_id"] == f"qingtuan-{event.id}-0"
        (done,) = wx.chat.events(Kind.DELIVERY_SENT)
        assert done.payload["platform_id"] == str(sent.message_id)
        assert sent.message_id > 2**53


async def test_every_request_has_the_headers_of_the_protocol(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await wx.phone.says("你好")
        await wx.ilink.delivered(1)
        uins = set()
        for asked in wx.ilink.asked:
            assert asked.headers["authorizationtype"] == "ilink_bot_token"
            assert asked.headers["authorization"] == f"Bearer {wx.phone.token}"
            assert asked.headers["ilink-app-id"] == "bot"
            assert asked.headers["content-type"] == "application/json"
            assert set(asked.body["base_info"]) == {"channel_version", "bot_agent"}
            uins.add(asked.headers["x-wechat-uin"])
        assert len(uins) > 1


async def test_messages_of_one_batch_are_dealt_with_in_their_order(tmp_path: Path) -> None:
    """The adapter gives each to a task of its own."""
    async with WeChatTalk(tmp_path) as wx:
        wx.chat.model(on_user("再说一半", Reply("都看到了", delay=0.3)))
        await wx.phone.arrives(*(message_of(wx, text) for text in ("/whoami", "慢慢来", "先说一半", "再说一半")))
        command, answer = await wx.ilink.delivered(2)
        assert (command.text[:2], answer.text) == ("账号", "都看到了")
        assert [message["text"] for message in wx.received()] == ["/whoami", "慢慢来", "先说一半", "再说一半"]
        (turn,) = wx.chat.events(Kind.TURN_STARTED)
        assert len(turn.payload["messages"]) == 3  # said within seconds: one turn
        asked = wx.chat.server.requests[0].raw.decode()
        assert asked.index("慢慢来") < asked.index("先说一半") < asked.index("再说一半")


def message_of(wx: WeChatTalk, text: str, user: str = USER) -> dict[str, Any]:
    number = wx.ilink.number()
    return {
        "message_id": number,
        "from_user_id": user,
        "session_id": "",
        "message_type": 1,
        "context_token": f"CT-{number}",
        "item_list": [{"type": 1, "text_item": {"text": text}}],
    }


async def test_nobody_waits_for_somebody_elses_answer(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path, ACCESS__MEMBERS=f'["wx:{OTHER}"]') as wx:
        held = asyncio.Event()
        wx.chat.model(on_user("慢", Reply("慢的回答", delay=1.5)), on_user("快", "快的回答"))
        await wx.phone.arrives(message_of(wx, "慢"), message_of(wx, "快", OTHER))
        (first,) = await wx.ilink.delivered(1)
        held.set()
        assert (first.text, first.to) == ("快的回答", OTHER)
        assert (await wx.ilink.delivered(2))[1].to == USER


async def test_an_empty_session_id_brings_no_two_people_together(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path, ACCESS__MEMBERS=f'["wx:{OTHER}"]') as wx:
        await wx.phone.arrives(message_of(wx, "我是甲"), message_of(wx, "我是乙", OTHER))
        await wx.ilink.delivered(2)
        sessions = {str(event.place.space): event.place.session for event in wx.chat.events(Kind.MESSAGE_RECEIVED)}
        assert set(sessions) == {f"private:wx:{USER}", f"private:wx:{OTHER}"}
        assert len(set(sessions.values())) == 2


async def test_the_cursor_outlives_the_process(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await wx.phone.says("一")
        await wx.ilink.delivered(1)
        await wx.quiet()
        await wx.restart()
        await wx.quiet()
        starts = [at for at, asked in enumerate(wx.ilink.asked) if asked.path.endswith("notifystart")]
        assert len(starts) == 2
        first = next(asked for asked in wx.ilink.asked[starts[1] :] if asked.path.endswith("getupdates"))
        assert first.body["get_updates_buf"] == "cur-1"
        assert len(wx.ilink.sent) == 1


async def test_a_batch_that_comes_again_is_answered_once(tmp_path: Path) -> None:
    """Also after a restart: getupdates gives a message at least once (openclaw-weixin 239)."""
    async with WeChatTalk(tmp_path) as wx:
        said = await wx.phone.says("只说一遍")
        await wx.ilink.delivered(1)
        await wx.phone.arrives(dict(said))
        await wx.quiet()
        await wx.restart()
        await wx.phone.arrives(dict(said))
        nameless = {key: value for key, value in said.items() if key not in ("message_id", "client_id")}
        await wx.phone.arrives(dict(nameless), dict(nameless))
        await wx.ilink.delivered(2)  # it has no id to be known by, but what it says
        await wx.phone.arrives(dict(nameless))
        await wx.quiet()
        assert len(wx.ilink.sent) == 2
        assert len(wx.received()) == 2


async def test_the_token_of_a_chat_outlives_the_process(tmp_path: Path) -> None:
    """cc-connect 1087."""
    async with WeChatTalk(tmp_path) as wx:
        said = await wx.phone.says("早")
        await wx.ilink.delivered(1)
        await wx.quiet()
        await wx.restart()
        wx.put("提醒你喝水", "reply")
        sent = (await wx.ilink.delivered(2))[1]
        assert (sent.text, sent.context_token) == ("提醒你喝水", said["context_token"])


async def test_something_can_be_sent_while_the_first_poll_is_held(tmp_path: Path) -> None:
    """The adapter has no bot until that poll returns, 35 to 40 seconds after the start."""
    async with WeChatTalk(tmp_path) as wx:
        await wx.phone.says("早")
        await wx.ilink.delivered(1)
        await wx.quiet()
        wx.ilink.hold = 30.0
        await wx.restart()
        await wx.ilink.until(lambda: wx.ilink.polling > 0)
        polls = len(wx.ilink.calls("getupdates"))
        wx.put("提醒你喝水", "reply")
        await wx.ilink.delivered(2)
        assert len(wx.ilink.calls("getupdates")) == polls
        assert wx.ilink.polling == 1


async def test_what_nobody_knows_is_passed_over_with_a_reason(tmp_path: Path, shared: Path) -> None:
    wire = json.loads((shared / "data" / "wire" / "ilink_messages.json").read_text("utf-8"))
    async with WeChatTalk(tmp_path) as wx:
        await wx.phone.arrives(wire["unknown_item_type"], wire["bot_echo_must_be_ignored"], wire["text"])
        await wx.ilink.delivered(1)
        await wx.quiet()
        (ignored,) = wx.chat.events(Kind.MESSAGE_IGNORED)
        assert (ignored.payload["reason"], ignored.payload["message_id"]) == ("unreadable", "7412345678901234510")
        assert [message["text"] for message in wx.received()] == ["帮我记一下：周五体检"]


async def test_every_message_of_the_wire_is_taken_in(tmp_path: Path, shared: Path) -> None:
    wire = json.loads((shared / "data" / "wire" / "ilink_messages.json").read_text("utf-8"))
    async with WeChatTalk(tmp_path) as wx:
        messages = [message for message in wire.values() if message.get("message_type") == 1]
        await wx.phone.arrives(*messages)
        await wx.quiet()
        assert [message["message_id"] for message in wx.received()] == [
            str(message["message_id"]) for message in messages if message["item_list"][0]["type"] != 99
        ]
        voice = next(one for one in wx.received() if one["message_id"].endswith("504"))
        assert voice["remotes"][0]["transcript"] == "明天早上叫我"
        quoting = next(one for one in wx.received() if one["message_id"].endswith("509"))
        assert quoting["quotes"] == "7412345678901234400"


async def test_one_broken_message_loses_no_other(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        broken: list[Any] = [
            {"from_user_id": 7, "message_type": 1, "item_list": "no list"},
            {**message_of(wx, ""), "message_id": [1], "item_list": [None, {"type": 4, "file_item": {"len": {}}}]},
        ]
        wx.phone.messages += broken
        wx.phone.messages.append("not even an object")  # type: ignore[arg-type]
        await wx.phone.says("我没事")
        await wx.ilink.delivered(1)
        assert [message["text"] for message in wx.received()] == ["我没事"]


async def test_a_group_is_not_answered(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        await wx.phone.says("大家好", group_id="g1")
        await wx.quiet()
        assert wx.ilink.sent == []
        assert [event.payload["reason"] for event in wx.chat.events(Kind.MESSAGE_IGNORED)] == ["group_closed"]


async def test_who_scanned_is_a_stranger_until_the_owner_says_otherwise(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path, OWNER__ACCOUNTS="[]") as wx:
        await wx.phone.says("让我进来")
        (sent,) = await wx.ilink.delivered(1)
        assert sent.text == "我只和主人认识的人聊天。"
        assert wx.received() == []
        await wx.chat.say("/claim")
        code = next(word for word in wx.chat.events(Kind.MESSAGE_SENT)[-1].payload["text"].split() if "-" in word)
        await wx.phone.says(code.removeprefix("认主人的码："))
        assert "是主人的账号" in (await wx.ilink.delivered(2))[1].text


async def test_several_bots_at_once(tmp_path: Path) -> None:
    """A person is written to on the bot that they wrote to last."""
    async with WeChatTalk(tmp_path, ACCESS__MEMBERS=f'["wx:{OTHER}"]') as wx:
        second = wx.log_in(OTHER, "b2@im.bot")
        wx.pass_time(seconds=3)
        await wx.until(lambda: wx.entry.health().account == f"{wx.phone.bot}, b2@im.bot")
        await wx.phone.says("甲在这里")
        await second.says("乙在这里")
        sent = await wx.ilink.delivered(2)
        assert {(one.account, one.to) for one in sent} == {(wx.phone.bot, USER), ("b2@im.bot", OTHER)}
        wx.pass_time(seconds=60)
        await second.says("甲也在这里", user=USER)
        assert (await wx.ilink.delivered(3))[2].account == "b2@im.bot"
        await wx.quiet()
        wx.put("提醒你喝水", "reply")
        assert (await wx.ilink.delivered(4))[3].account == "b2@im.bot"


async def test_three_messages_arrive_in_their_order(tmp_path: Path) -> None:
    """openclaw-weixin 65: the first is slow to be taken."""
    async with WeChatTalk(tmp_path) as wx:
        await wx.phone.says("早")
        await wx.ilink.delivered(1)
        wx.ilink.scripted["sendmessage"].append(Answer(delay=0.4))
        for text in ("一", "二", "三"):
            wx.put(text, "reply")
        assert [sent.text for sent in (await wx.ilink.delivered(4))[1:]] == ["一", "二", "三"]


async def test_a_long_answer_is_cut_at_safe_places(tmp_path: Path) -> None:
    """openclaw-weixin 165, microclaw 399."""
    code = "\n".join(f"print({number:04})  # 代码" for number in range(150))
    sentences = [f"第{number}句话说得不长也不短，正好放在这里。\n\n" for number in range(260)]
    answer = f"{''.join(sentences[:130])}```python\n{code}\n```\n\n{''.join(sentences[130:])}"
    assert len(answer) > 8000
    async with WeChatTalk(tmp_path) as wx:
        wx.chat.model(on_user("长", answer))
        await wx.phone.says("来个长的")
        await wx.until(lambda: "sent" in wx.states().values())
        texts = [sent.text for sent in wx.ilink.sent]
        assert 5 <= len(texts) <= 9
        assert all(len(text) <= 2000 for text in texts)
        assert all(text.count("```") % 2 == 0 for text in texts)
        together = "".join(texts)
        assert [number for number in range(150) if f"print({number:04})" not in together] == []
        assert [number for number in range(260) if f"第{number}句话" not in together] == []


async def test_no_token_stands_in_an_event_or_a_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "qingtuan")
    async with WeChatTalk(tmp_path) as wx:
        said = await wx.phone.says("你好")
        await wx.ilink.delivered(1)
        await wx.quiet()
        database = wx.chat.app.kit.record.log.database
        every = "\n".join(row["payload"] for row in database.rows("SELECT payload FROM events"))
        for secret in (wx.phone.token, said["context_token"], "get_updates_buf"):
            assert secret not in every
            assert secret not in caplog.text
        assert wx.phone.token not in repr(wx.entry.health())
    assert wx.phone.token.encode() not in (tmp_path / "home" / "state.sqlite").read_bytes()


async def test_what_was_sent_before_a_restore_is_not_answered_again(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path) as wx:
        late = message_of(wx, "恢复之前说的") | {"create_time_ms": round(wx.chat.clock.now().timestamp() * 1000)}
        await wx.entry.stop()
        wx.pass_time(minutes=1)
        log = wx.chat.app.kit.record.log
        wx.chat.app.desk.lay_down(lambda: None)
        await wx.restart()
        await wx.phone.arrives(late)
        wx.pass_time(minutes=1)
        await wx.quiet()
        assert wx.received() == []
        log = wx.chat.app.kit.record.log
        assert [event.payload["reason"] for event in log.of_kind(Kind.MESSAGE_IGNORED)] == ["before_restore"]
        await wx.phone.says("恢复之后说的")
        await wx.until(lambda: len(wx.received()) == 1)
        assert SPACE.id == f"wx:{USER}"


async def test_who_is_forgotten_leaves_no_token_behind(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path, ACCESS__MEMBERS=f'["wx:{OTHER}"]') as wx:
        await wx.phone.arrives(message_of(wx, "甲"), message_of(wx, "乙", OTHER))
        await wx.ilink.delivered(2)
        await wx.quiet()
        database = wx.chat.app.kit.record.log.database
        users = {row["user"] for row in database.rows("SELECT user FROM wxclaw_chats")}
        assert users == {USER, OTHER}
        person = wx.chat.app.kit.people.find(f"wx:{OTHER}")
        assert person is not None
        log = wx.chat.app.kit.record.log
        from qingtuan.events.log import Place

        log.append(Kind.PERSON_FORGOTTEN, Place(person=person.id), {"events": []})
        assert {row["user"] for row in database.rows("SELECT user FROM wxclaw_chats")} == {USER}


async def test_the_server_is_told_when_it_begins_and_ends(tmp_path: Path) -> None:
    async with WeChatTalk(tmp_path, ilink=Ilink()) as wx:
        await wx.quiet()
        assert (wx.phone.started, wx.phone.stopped) == (1, 0)
        await wx.restart()
        await wx.quiet()
        assert (wx.phone.started, wx.phone.stopped) == (2, 1)


async def test_a_quote_that_is_only_an_id_is_known_by_it(tmp_path: Path) -> None:
    """Newer programs send nothing else of what is quoted; the adapter loses even that."""
    async with WeChatTalk(tmp_path) as wx:
        wx.chat.model(on_user("计划", "周五早上体检，下午看牙。"))
        await wx.phone.says("这周的计划")
        (sent,) = await wx.ilink.delivered(1)
        await wx.until(lambda: "sent" in wx.states().values())
        wx.pass_time(minutes=5)
        await wx.phone.sends(
            {"type": 1, "text_item": {"text": "这是什么意思"}, "ref_msg": {"svr_id": str(sent.message_id)}}
        )
        await wx.ilink.delivered(2)
        assert wx.received()[1]["quotes"] == str(sent.message_id)
        quoted, words = wx.chat.asked.messages[-2:]
        assert quoted["content"].startswith("[下一条消息引用了你说过的]")
        assert "周五早上体检" in quoted["content"]
        assert words["content"] == "这是什么意思"
