"""Every place of every event of the chat apps, left out or filled with what does not belong there: it is read or it is
nothing, makes nobody a person who is none, and no talk of others a word to us."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from qingtuan.channels.onebot.inbound import ANONYMOUS
from qingtuan.channels.onebot.inbound import Said as QQSaid
from qingtuan.channels.onebot.inbound import heard as read_qq
from qingtuan.channels.telegram.inbound import Me, Press, Reading
from qingtuan.channels.wxclaw.inbound import Said as WeChatSaid
from qingtuan.channels.wxclaw.inbound import read as read_wechat
from qingtuan.identity.accounts import is_account, is_shared
from qingtuan.messages import Inbound
from tests.security.nasty import LARGE, broken

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
_SEGMENTS = [
    {"type": "reply", "data": {"id": "5"}},
    {"type": "at", "data": {"qq": "10001"}},
    {"type": "text", "data": {"text": " 你好"}},
    {"type": "face", "data": {"id": "1"}},
    {"type": "image", "data": {"file": "a.png", "url": "https://x/", "file_size": "9", "sub_type": 0, "summary": ""}},
    {"type": "file", "data": {"file": "a", "file_id": "b", "file_size": "9"}},
    {"type": "json", "data": {"data": '{"meta":{"a":{"title":"t","jumpUrl":"https://x/"}}}'}},
    {"type": "forward", "data": {"id": "8"}},
    {"type": "location", "data": {"lat": "1", "lon": "2", "title": "t"}},
    {"type": "markdown", "data": {"content": "x"}},
    {"type": "record", "data": {"file": "a.amr"}},
]
_QQ = {"time": 1795983000, "self_id": 10001}
_GROUP = {"group_id": 30003, "user_id": 10000, "operator_id": 10000, "message_id": 7}
QQ: tuple[dict[str, Any], ...] = (
    {
        **_QQ, "post_type": "message", "user_id": 10000, "message_id": 7, "real_seq": "7", "message_type": "group",
        "sub_type": "normal", "group_id": 30003, "anonymous": None, "message": _SEGMENTS,
        "sender": {"user_id": 10000, "nickname": "n", "card": "c", "role": "member"},
    },
    {
        **_QQ, "post_type": "message", "user_id": 10000, "message_id": 7, "message_type": "private",
        "sub_type": "friend", "message": "[CQ:at,qq=10001] 你好&#91;[CQ:image,file=a.png,url=https://x/]",
        "sender": {"user_id": 10000, "nickname": "n"},
    },
    *(
        {**_QQ, **_GROUP, "post_type": "notice", "notice_type": kind, "sub_type": sub_type, "duration": 7}
        for kind, sub_type in (
            ("group_recall", ""), ("friend_recall", ""), ("group_ban", "ban"), ("group_decrease", "kick_me"),
            ("group_increase", "invite"), ("bot_offline", ""), ("notify", "poke"), ("group_upload", ""),
        )
    ),
    {**_QQ, "post_type": "meta_event", "meta_event_type": "heartbeat", "interval": 30000, "status": {"online": True}},
)  # fmt: skip
_PERSON = {"id": 5, "is_bot": False, "first_name": "Ming"}
_CHAT = {"id": -7, "type": "supergroup"}
_SAID = {"message_id": 16, "from": _PERSON, "chat": _CHAT, "date": 1795983000}
TELEGRAM: tuple[dict[str, Any], ...] = (
    {
        "message": {
            **_SAID, "text": "@bot 你好 /help", "is_topic_message": True, "message_thread_id": 4,
            "entities": [
                {"type": "mention", "offset": 0, "length": 4}, {"type": "bot_command", "offset": 8, "length": 5},
                {"type": "text_mention", "offset": 0, "length": 4, "user": {"id": 99}},
            ],
            "reply_to_message": {**_SAID, "text": "x", "photo": [{"file_id": "a", "width": 1, "height": 1}]},
            "quote": {"text": "x"}, "media_group_id": "g", "document": {"file_id": "a", "file_size": 9},
            "photo": [{"file_id": "a", "width": 9, "height": 9, "file_size": 9}], "dice": {"emoji": "x", "value": 1},
            "venue": {"location": {"latitude": 1, "longitude": 2}, "title": "t"}, "contact": {"first_name": "x"},
            "poll": {"question": "q", "options": [{"text": "x"}]}, "location": {"latitude": 1, "longitude": 2},
        }
    },
    {"message": {**_SAID, "caption": "x", "forward_origin": {"type": "user", "sender_user": _PERSON}}},
    {"message": {**_SAID, "sender_chat": _CHAT, "text": "x", "external_reply": {"origin": {"sender_user": _PERSON}}}},
    {"message": {**_SAID, "migrate_to_chat_id": -100}},
    {"message": {**_SAID, "left_chat_member": _PERSON}},
    {"edited_message": {**_SAID, "edit_date": 1795983001, "text": "x"}},
    {"callback_query": {"id": "1", "from": _PERSON, "message": _SAID, "data": "yes:evt"}},
    {
        "my_chat_member": {
            "chat": _CHAT, "from": _PERSON, "old_chat_member": {"status": "left"},
            "new_chat_member": {"status": "member"},
        }
    },
)  # fmt: skip
_FILE = {"encrypt_query_param": "p", "aes_key": "x", "full_url": "https://x"}
WECHAT: tuple[dict[str, Any], ...] = (
    {
        "message_id": 123, "client_id": "c", "from_user_id": "abc@im.wechat", "to_user_id": "bot", "message_type": 1,
        "create_time_ms": 1795983000000, "context_token": "t",
        "item_list": [
            {
                "type": 1, "text_item": {"text": "x"},
                "ref_msg": {
                    "svr_id": 1, "title": "t", "message_item": {"msg_id": "1", "type": 1, "text_item": {"text": "y"}},
                    "partial_text": {"start": "a", "end": "b"},
                },
            },
            {"type": 2, "image_item": {"aeskey": "00" * 16, "hd_size": 1, "media": _FILE}},
            {"type": 3, "voice_item": {"media": {}, "text": "hi"}},
            {"type": 4, "file_item": {"file_name": "x", "len": "1", "media": _FILE}},
        ],
    },
)  # fmt: skip


def qq(event: Any) -> Inbound | None:
    found = read_qq(event, "10001", {"10001"}, NOW) if isinstance(event, dict) else None
    return found.inbound if isinstance(found, QQSaid) else None


def telegram(event: Any) -> Inbound | None:
    found = Reading(Me(99, "bot")).read(event) if isinstance(event, dict) else None
    return found.inbound if isinstance(found, Press) else found if isinstance(found, Inbound) else None


def wechat(event: Any) -> Inbound | None:
    found = read_wechat(event, NOW)
    return found.inbound if isinstance(found, WeChatSaid) else None


READERS = {"qq": (qq, QQ), "telegram": (telegram, TELEGRAM), "wechat": (wechat, WECHAT)}


def carried(samples: tuple[Any, ...], *values: Any) -> Iterator[Any]:
    """As they come out of JSON."""
    for sample in samples:
        for event in broken(sample, *values):
            try:
                yield json.loads(json.dumps(event))
            except ValueError:
                continue  # more digits than a number may have


@pytest.mark.parametrize("name", READERS)
def test_whatever_stands_in_an_event_it_is_read_or_is_nothing(name: str) -> None:
    read, samples = READERS[name]
    taken = [found for event in carried(samples) if (found := read(event)) is not None]
    assert len(taken) > 100  # of most places nothing depends
    for inbound in taken:
        whole = is_account(inbound.account) or is_shared(inbound.account)
        # What is no account is nobody's: the desk looks it up and finds no person.
        assert whole or not inbound.account.startswith(("qq:", "wx:"))
        assert inbound.time.tzinfo is not None
        assert len(inbound.nickname) <= 200
        assert len(inbound.text) <= 1_000_000


@pytest.mark.parametrize("name", READERS)
def test_however_much_stands_in_an_event_no_more_is_kept_than_somebody_may_say(name: str) -> None:
    read, samples = READERS[name]
    for event in carried(samples[:1], LARGE):
        if (inbound := read(event)) is not None:
            assert len(inbound.materials) <= 500
            assert len(inbound.remotes) <= 500
            assert len(inbound.nickname) <= 200


def test_no_broken_place_makes_the_speaker_of_qq_another() -> None:
    for event in carried(QQ[:2]):
        if (inbound := qq(event)) is None:
            continue
        speaker = event["user_id"]
        assert inbound.account in (f"qq:{str(speaker).strip()}", ANONYMOUS)
        segments = event["message"] if isinstance(event["message"], list) else []
        called = [one for one in segments if isinstance(one, dict) and one.get("type") == "at"]
        if inbound.space.is_group and not any('"10001"' in json.dumps(one) for one in called):
            assert not inbound.addressed


def test_no_broken_place_makes_the_speaker_of_telegram_another() -> None:
    for event in carried(TELEGRAM[:1]):
        if (inbound := telegram(event)) is None:
            continue
        message = event.get("message") or event.get("edited_message")
        speaker = message.get("sender_chat") or message["from"]
        assert inbound.account == f"tg:{int(speaker['id'])}"
