"""Reading what WeChat delivers: every message of the wire data, and whatever else may stand there."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.channels.wxclaw.inbound import Said, Unread, key_of, read
from qingtuan.messages import Material, Origin, Remote, Space

NOW = datetime(2026, 12, 1, tzinfo=UTC)
USER = "o9cq80fakeuser@im.wechat"
KEY = "00112233445566778899aabbccddeeff"


@pytest.fixture(scope="module")
def wire(shared: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((shared / "data" / "wire" / "ilink_messages.json").read_text("utf-8"))
    return data


def said(message: Any) -> Said:
    found = read(message, NOW)
    assert isinstance(found, Said), found
    return found


def unread(message: Any) -> Unread:
    found = read(message, NOW)
    assert isinstance(found, Unread), found
    return found


def reference(remote: Remote) -> dict[str, str]:
    plain: dict[str, str] = json.loads(remote.reference)
    return plain


def test_a_text(wire: dict[str, Any]) -> None:
    found = said(wire["text"])
    inbound = found.inbound
    assert (inbound.channel, inbound.account, inbound.space) == (
        "wxclaw", f"wx:{USER}", Space("private", f"wx:{USER}"),
    )  # fmt: skip
    assert inbound.message_id == "7412345678901234501"  # uint64: no float ever holds it
    assert inbound.text == "帮我记一下：周五体检"
    assert inbound.time == datetime.fromtimestamp(1795983000, UTC)
    assert inbound.gathers
    assert inbound.addressed
    assert (found.user, found.context_token) == (USER, "CT-A")


def test_a_picture_whose_key_is_only_its_own(wire: dict[str, Any]) -> None:
    (remote,) = said(wire["image_hex_key_only"]).inbound.remotes
    assert (remote.kind, remote.size) == ("image", 100016)
    assert reference(remote) == {"param": "EQPi", "url": "", "key": KEY}


def test_a_picture_with_the_key_of_its_media(wire: dict[str, Any]) -> None:
    (remote,) = said(wire["image_media_key"]).inbound.remotes
    assert (remote.size, reference(remote)) == (100016, {"param": "EQPj", "url": "", "key": KEY})


def test_a_pictures_own_key_goes_before_that_of_its_media(wire: dict[str, Any]) -> None:
    message = json.loads(json.dumps(wire["image_media_key"]))
    message["item_list"][0]["image_item"]["aeskey"] = "ff" * 16
    assert reference(said(message).inbound.remotes[0])["key"] == "ff" * 16


def test_voice_brings_what_it_says_beside_what_it_is(wire: dict[str, Any]) -> None:
    inbound = said(wire["voice_with_transcript"]).inbound
    (remote,) = inbound.remotes
    assert (inbound.text, remote.kind, remote.transcript) == ("", "audio", "明天早上叫我")
    assert reference(remote) == {"param": "EQPv", "url": "", "key": KEY}


def test_voice_without_words(wire: dict[str, Any]) -> None:
    (remote,) = said(wire["voice_no_transcript"]).inbound.remotes
    assert (remote.kind, remote.transcript) == ("audio", "")


def test_a_file(wire: dict[str, Any]) -> None:
    (remote,) = said(wire["file"]).inbound.remotes
    assert (remote.kind, remote.name, remote.size) == ("file", "合同.pdf", 100001)


def test_a_video(wire: dict[str, Any]) -> None:
    (remote,) = said(wire["video"]).inbound.remotes
    assert (remote.kind, remote.size) == ("video", 2233456)


def test_a_quote_with_its_words(wire: dict[str, Any]) -> None:
    inbound = said(wire["quote_inline"]).inbound
    assert (inbound.text, inbound.quotes) == ("这句什么意思", "7412345678901234400")
    assert inbound.materials == (Material(Origin.FORWARD, "引用 小明", "被引用的整句"),)


def test_a_quote_that_is_only_an_id(wire: dict[str, Any]) -> None:
    inbound = said(wire["quote_id_only_partial"]).inbound
    assert (inbound.text, inbound.quotes) == ("只问这半句", "7412345678901234400")
    assert inbound.materials == (Material(Origin.FORWARD, "引用的只是其中一段", "整……句"),)


def test_an_id_of_a_quote_may_be_a_number() -> None:
    message = text_message(ref_msg={"svr_id": 7412345678901234400})
    assert said(message).inbound.quotes == "7412345678901234400"


def test_a_kind_that_nobody_knows(wire: dict[str, Any]) -> None:
    found = unread(wire["unknown_item_type"])
    assert (found.reason, found.message_id, found.context_token) == ("empty", "7412345678901234510", "CT-J")


def test_what_the_bot_said_itself(wire: dict[str, Any]) -> None:
    assert unread(wire["bot_echo_must_be_ignored"]).reason == "own"


def text_message(text: str = "嗨", **item: Any) -> dict[str, Any]:
    return {
        "message_id": 1,
        "from_user_id": USER,
        "message_type": 1,
        "item_list": [{"type": 1, "text_item": {"text": text}, **item}],
    }


def test_several_items_are_one_message() -> None:
    media = {"encrypt_query_param": "p", "aes_key": base64.b64encode(bytes.fromhex(KEY)).decode()}
    message = text_message("第一句")
    message["item_list"] += [
        {"type": 2, "image_item": {"media": media}},
        {"type": 99, "foo": 1},
        {"type": 1, "text_item": {"text": "第二句"}},
        {"type": 4, "file_item": {"media": media, "file_name": "a.txt", "len": 3}},
    ]
    inbound = said(message).inbound
    assert inbound.text == "第一句\n第二句"
    assert [(remote.kind, remote.size) for remote in inbound.remotes] == [("image", None), ("file", 3)]


def test_a_group_is_none_of_ours() -> None:
    assert unread({**text_message(), "group_id": "g1"}).reason == "group"


def test_by_what_a_message_is_known_again() -> None:
    """The server's id, else the sender's, else what it says: never by chance (openclaw-weixin 239)."""
    message = text_message()
    assert said(message).inbound.message_id == "1"
    del message["message_id"]
    message["client_id"] = "wx-1"
    assert said(message).inbound.message_id == "wx-1"
    message["client_id"] = ""
    message["create_time_ms"] = 1795983000000
    name = said(message).inbound.message_id
    assert name.startswith("h-")
    assert said(json.loads(json.dumps(message))).inbound.message_id == name
    assert said({**message, "create_time_ms": 1795983000001}).inbound.message_id != name
    assert said({**text_message("别的"), "message_id": 0}).inbound.message_id != name


def test_a_time_that_has_not_come_is_now() -> None:
    assert said({**text_message(), "create_time_ms": 10**15}).inbound.time == NOW
    assert said({**text_message(), "create_time_ms": -5}).inbound.time == NOW
    assert said({**text_message(), "create_time_ms": "soon"}).inbound.time == NOW


@pytest.mark.parametrize("user", ["", None, 7, "a b", "x" * 400, "\ud800"])
def test_a_sender_that_is_none(user: Any) -> None:
    assert unread({**text_message(), "from_user_id": user}).reason == "nobody"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("ABEiM0RVZneImaq7zN3u/w==", KEY),
        ("MDAxMTIyMzM0NDU1NjY3Nzg4OTlhYWJiY2NkZGVlZmY=", KEY),
        ("", None),
        ("no base64", None),
        (base64.b64encode(b"short").decode(), None),
        (base64.b64encode(b"z" * 32).decode(), None),
        (None, None),
    ],
)
def test_both_spellings_of_a_key(text: Any, key: str | None) -> None:
    found = key_of(text)
    assert (found.hex() if found else None) == key


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from(
    ["text_item", "image_item", "voice_item", "file_item", "video_item", "ref_msg", "type", "media"]
)
items = st.lists(st.dictionaries(names, anything | st.integers(0, 6), max_size=4) | anything, max_size=4)
fields = st.fixed_dictionaries(
    {},
    optional={
        "message_id": anything,
        "client_id": anything,
        "from_user_id": anything | st.just(USER),
        "group_id": anything,
        "message_type": anything | st.just(1),
        "create_time_ms": anything,
        "item_list": anything | items,
        "context_token": anything,
    },
)


@given(fields | anything)
def test_nothing_that_comes_breaks_the_reading(message: Any) -> None:
    found = read(message, NOW)
    if isinstance(found, Said):
        assert found.inbound.message_id
        assert found.inbound.text or found.inbound.remotes
        assert found.inbound.time <= NOW
