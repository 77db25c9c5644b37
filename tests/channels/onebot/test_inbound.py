"""What events mean, by the recorded ones and by what people may come to send."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.channels.onebot.inbound import (
    Beat,
    Heard,
    Joined,
    Left,
    Muted,
    Offline,
    Recalled,
    Said,
    Silent,
    heard,
)
from qingtuan.channels.onebot.segments import read_segments
from qingtuan.messages import Inbound, Origin, Space
from tests.fakes.cq import Json, at, codes, image, reply, text

NOW = datetime(2026, 11, 29, 2, tzinfo=UTC)
OURS = frozenset({"10001", "10009"})
GROUP = Space("group", "qq:30003")
PRIVATE = Space("private", "qq:20002")


@pytest.fixture(scope="module")
def events(shared: Path) -> dict[str, Json]:
    found: dict[str, Json] = json.loads((shared / "data/wire/onebot_events.json").read_text("utf-8"))
    return found


def of(event: Json) -> Heard:
    return heard(event, "10001", OURS, NOW)


def said(event: Json) -> Said:
    found = of(event)
    assert isinstance(found, Said), found
    return found


def message(*segments: Json, group: bool = True, **fields: Any) -> Json:
    """A message as NapCat gives it."""
    event: Json = {
        "post_type": "message", "message_type": "private", "sub_type": "friend", "self_id": 10001, "time": 1795983000,
        "user_id": 20002, "message_id": 77, "real_seq": "5", "message": list(segments), "sender": {"nickname": "小明"},
    }  # fmt: skip
    if group:
        event |= {"message_type": "group", "sub_type": "normal", "group_id": 30003}
    return event | fields


RECORDED: dict[str, str] = {
    "private_text": "明天上午十点提醒我交报告",
    "private_image_caption": "这张图里写的什么？",
    "private_face": "好的[微笑]",
    "private_quote": "上面这句翻译成英文",
    "private_temp_session": "从群里来的临时会话",
    "group_plain": "今天谁去爬山",
    "group_at_first": "查一下周六天气",
    "group_at_middle": "那个 周六下雨吗",
    "group_at_last": "周六下雨吗",
    "group_at_only": "@10001",
    "group_at_other": "@20009 你看呢",
    "group_at_all": "@全体成员 集合",
    "group_quote_bot_with_auto_at": "再详细点",
    "group_quote_other_then_at_bot": "@20009 他说得对吗",
    "group_quote_only_then_at": "",
    "private_image_only": "",
    "private_voice": "",
    "private_file": "",
    "private_video": "",
    "private_sticker": "",
    "private_forward": "",
    "private_json_card": "",
    "group_image_then_at": "",
}
"""The speaker's own words in each recorded message."""
MEANT = {name for name in RECORDED if name.startswith("private")} | {
    "group_at_first", "group_at_middle", "group_at_last", "group_at_only", "group_quote_bot_with_auto_at",
    "group_quote_other_then_at_bot", "group_quote_only_then_at", "group_image_then_at",
}  # fmt: skip


def test_every_recorded_message_is_read(events: dict[str, Json]) -> None:
    recorded = {name for name, event in events.items() if event["post_type"] == "message"}
    assert recorded == set(RECORDED)
    found = {name: said(events[name]).inbound for name in recorded}
    assert {name: inbound.text for name, inbound in found.items()} == RECORDED
    assert {name for name, inbound in found.items() if inbound.addressed} == MEANT
    assert {name for name, inbound in found.items() if inbound.temporary} == {"private_temp_session"}
    assert all(inbound.gathers for inbound in found.values())
    for name, inbound in found.items():
        assert (inbound.channel, inbound.account, inbound.nickname) == ("onebot", "qq:20002", "明仔")
        assert inbound.space == (GROUP if name.startswith("group") else PRIVATE)
        assert inbound.message_id == f"10001:{events[name]['message_id']}"
        assert inbound.time == datetime.fromtimestamp(1795983000, UTC)


def test_every_other_recorded_event_is_read(events: dict[str, Json]) -> None:
    others = {name: of(event) for name, event in events.items() if event["post_type"] != "message"}
    assert others == {
        "self_message_report": Silent("own"),
        "notice_input_status": Silent("typing"),
        "notice_group_recall": Recalled(GROUP, "10001:1500000002"),
        "notice_friend_recall": Recalled(PRIVATE, "10001:1387230121"),
        "notice_poke": Silent("poke"),
        "notice_group_ban_self": Muted(GROUP, 600),
        "notice_group_upload": Silent("file notice"),
        "notice_bot_offline": Offline("你的账号在另一台设备登录"),
        "request_friend": Silent("request"),
        "meta_lifecycle_connect": Silent("lifecycle"),
        "meta_heartbeat": Beat(True, 30),
        "meta_heartbeat_offline": Beat(False, 30),
    }


def test_what_lies_with_qq_is_named_so_that_it_can_be_fetched(events: dict[str, Json]) -> None:
    def remote(name: str) -> tuple[str, str, int | None, Json]:
        (found,) = said(events[name]).inbound.remotes
        return found.kind, found.name, found.size, json.loads(found.reference)

    kind, name, size, reference = remote("private_image_caption")
    assert (kind, name, size) == ("image", "", 184223)
    assert reference["file"] == "7B1E5D0C9A3F4E2288D1C0A7F6E5D4C3.png"
    assert reference["url"].startswith("https://multimedia.nt.qq.com.cn/")
    assert reference["self"] == "10001"
    assert remote("private_voice")[:3] == ("audio", "", 5523)
    kind, name, size, reference = remote("private_file")
    assert (kind, name, size) == ("file", "季度报表.xlsx", 48213)
    assert reference["file_id"] == "/9b3f0c1e-1111-2222-3333-444455556666"
    assert remote("private_video")[0] == "video"
    assert remote("private_forward")[3]["id"] == "7412345678901234567"


def test_what_others_made_is_material(events: dict[str, Json]) -> None:
    def material(event: Json) -> tuple[str, str]:
        (found,) = said(event).inbound.materials
        assert found.origin is Origin.FORWARD
        return found.label, found.text

    assert material(events["private_sticker"]) == ("表情", "[动画表情]")
    assert material(events["private_json_card"]) == ("卡片", "测试链接\nhttps://example.com/a")
    xml = '<?xml version="1.0"?><msg brief="[分享]" url="https://example.com/b"><title>题目 &amp; 一</title></msg>'
    made: dict[str, tuple[Json, tuple[str, str]]] = {
        "xml": ({"data": xml}, ("卡片", "题目 & 一\nhttps://example.com/b")),
        "json": ({"data": "{no"}, ("卡片", "（看不懂的卡片）")),
        "mface": ({"summary": "[赞]", "emoji_id": "1"}, ("表情", "[赞]")),
        "dice": ({"result": "3"}, ("骰子", "3")),
        "rps": ({"result": 3}, ("猜拳", "石头")),
        "location": ({"title": "家", "lat": 31.2, "lon": "121.5"}, ("位置", "家 31.2, 121.5")),
        "contact": ({"type": "qq", "id": "20009"}, ("名片", "好友 20009")),
        "music": (
            {"title": "歌", "singer": "某", "url": "https://example.com/m"},
            ("分享", "歌\n某\nhttps://example.com/m"),
        ),
        "markdown": ({"content": "# 题"}, ("Markdown", "# 题")),
        "newkind": ({"a": 1}, ("看不懂的内容", "（QQ 的「newkind」，这里还读不了）")),
    }
    for kind, (data, wanted) in made.items():
        assert material(message({"type": kind, "data": data}, group=False)) == wanted, kind


def test_a_nickname_is_no_mention_and_no_text_is_one() -> None:
    named = message(text("bot 你好 @10001 [CQ:at,qq=10001]"), sender={"nickname": "bot", "card": "@10001"})
    assert not said(named).inbound.addressed
    assert said(named).inbound.text == "bot 你好 @10001 [CQ:at,qq=10001]"


def test_codes_are_read_as_what_they_are_and_nothing_else() -> None:
    event = message(group=True, message="[CQ:reply,id=9][CQ:at,qq=10001] 看 &#91;CQ:at&#44;qq=all&#93; &amp;amp;")
    inbound = said(event).inbound
    assert (inbound.addressed, inbound.quotes) == (True, "10001:9")
    assert inbound.text == "看 [CQ:at,qq=all] &amp;"


def test_anonymous_is_nobody() -> None:
    for fields in ({"user_id": 80000000}, {"sub_type": "anonymous"}, {"anonymous": {"id": 1, "name": "大熊猫"}}):
        assert said(message(at(10001), text("在吗"), **fields)).inbound.account == "qq:80000000"


def test_no_account_of_ours_is_heard() -> None:
    for number in (10001, 10009, "10009"):
        assert of(message(at(10001), text("你好"), user_id=number)) == Silent("own")


def test_a_command_behind_a_quote_is_a_command() -> None:
    quoted = message(reply(9), at(20009), text(" /help"))
    assert (said(quoted).inbound.text, said(quoted).inbound.quotes) == ("/help", "10001:9")
    assert said(message(reply(9), text("/help"), group=False)).inbound.text == "/help"
    assert said(message(reply(9), at(20009), text(" 他说 /help"))).inbound.text == "@20009 他说 /help"


def test_a_quote_and_a_mention_alone_are_told_apart_from_words() -> None:
    assert said(message(reply(9), at(10001))).bare
    assert said(message(reply(9), at(10001))).quote is not None
    assert not said(message(reply(9), at(10001), text("翻译"))).bare
    assert not said(message(reply(9), at(10001), image("a", "https://example.com/a"))).bare
    assert said(message(reply(9), at(10001), text("翻译"))).inbound.remotes == ()


def test_several_accounts_of_ours_are_mentioned_in_their_order() -> None:
    found = said(message(at(10009), text(" 和 "), at(10001), text(" 谁在")))
    assert found.mentions == ("10009", "10001")
    assert found.inbound.text == "@10009 和 谁在"


@pytest.mark.parametrize(
    ("event", "means"),
    [
        (message(), Silent("empty")),
        (message(text("  ")), Silent("empty")),
        (message(message=None), Silent("empty")),
        (message(message=[1, None, {"type": 3}, {"data": {}}]), Silent("empty")),
        (message(text("a"), user_id=None), Silent("unreadable")),
        (message(text("a"), user_id="abc"), Silent("unreadable")),
        (message(text("a"), message_id=True), Silent("unreadable")),
        (message(text("a"), group_id=None), Silent("unreadable")),
        ({}, Silent("of no concern")),
        ({"post_type": "notice", "notice_type": "group_ban", "sub_type": "lift_ban", "group_id": 30003,
          "user_id": 10001, "duration": 0}, Muted(GROUP, 0)),
        ({"post_type": "notice", "notice_type": "group_ban", "sub_type": "ban", "group_id": 30003,
          "user_id": 0, "duration": -1}, Muted(GROUP, None)),
        ({"post_type": "notice", "notice_type": "group_ban", "sub_type": "ban", "group_id": 30003,
          "user_id": 20002, "duration": 60}, Silent("of no concern")),
        ({"post_type": "notice", "notice_type": "group_decrease", "sub_type": "kick_me", "group_id": 30003,
          "user_id": 10001}, Left(GROUP, "qq:10001", True)),
        ({"post_type": "notice", "notice_type": "group_decrease", "sub_type": "leave", "group_id": 30003,
          "user_id": 20002}, Left(GROUP, "qq:20002", False)),
        ({"post_type": "notice", "notice_type": "group_increase", "sub_type": "invite", "group_id": 30003,
          "user_id": 10001, "operator_id": 10000}, Joined(GROUP, "qq:10000")),
        ({"post_type": "notice", "notice_type": "friend_recall", "user_id": 10001, "message_id": 5}, Silent("own")),
        ({"post_type": "notice", "notice_type": "group_recall", "user_id": 20002, "message_id": 5},
         Silent("unreadable")),
        ({"post_type": "meta_event", "meta_event_type": "heartbeat", "interval": "x"}, Beat(True, 30)),
    ],
)  # fmt: skip
def test_events_that_are_not_as_they_should_be(event: Json, means: Heard) -> None:
    assert of(event) == means


def test_an_impossible_time_is_now() -> None:
    for time in (None, "x", 10**30, -(10**30), [1]):
        assert said(message(text("a"), time=time)).inbound.time == NOW


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["text", "at", "qq", "10001"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["type", "data", "text", "qq", "id", "message", "sender", "user_id", "group_id", "file"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip
names = st.sampled_from([
    "post_type", "message_type", "sub_type", "notice_type", "user_id", "group_id", "message_id", "message", "time",
    "sender", "status", "interval", "duration", "operator_id", "anonymous", "real_seq", "meta_event_type",
])  # fmt: skip


@given(st.dictionaries(names, values, max_size=10), st.sampled_from(["message", "notice", "meta_event", "request"]))
def test_no_event_breaks_the_reading(event: Json, kind: str) -> None:
    found = heard({"message_id": 1, "user_id": 20002, **event, "post_type": kind}, "10001", OURS, NOW)
    if isinstance(found, Said):
        assert isinstance(found.inbound, Inbound)
        assert found.inbound.space.id.startswith("qq:")


written = st.lists(
    st.builds(text, st.text(min_size=1, max_size=20))
    | st.builds(at, st.integers(10000, 99999))
    | st.builds(lambda a, b: {"type": "image", "data": {"file": a, "url": b}}, st.text(), st.text()),
    max_size=6,
)


@given(written)
def test_codes_and_arrays_say_the_same(segments: list[Json]) -> None:
    joined: list[Json] = []
    for one in segments:  # neighbouring words are one stretch in codes
        if joined and joined[-1]["type"] == one["type"] == "text":
            joined[-1] = text(joined[-1]["data"]["text"] + one["data"]["text"])
        else:
            joined.append(one)
    assert [(one.kind, dict(one.data)) for one in read_segments(codes(joined))] == [
        (one["type"], one["data"]) for one in joined
    ]
