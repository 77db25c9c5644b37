"""What an update is for us: the measured ones, and each kind of message that there is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.channels.telegram.ids import Ref, cut, units
from qingtuan.channels.telegram.inbound import BotMembership, Left, Me, Moved, Nothing, Press, Reading
from qingtuan.identity.accounts import is_account, is_shared
from qingtuan.messages import Inbound, Origin, Space

ME = Me(666, "TestNameBot")
READING = Reading(ME)
MING = {"id": 5, "is_bot": False, "first_name": "Ming"}
PRIVATE = {"id": 5, "type": "private", "first_name": "Ming"}
GROUP = {"id": -100123, "type": "supergroup", "title": "Hike"}
BOT = {"id": 666, "is_bot": True, "first_name": "Bot", "username": "TestNameBot"}


def said(text: str | None = None, chat: Mapping[str, Any] = PRIVATE, **fields: Any) -> Any:
    """What a message is read as."""
    message = {"message_id": 7, "from": MING, "chat": chat, "date": 1795983000, **fields}
    if text is not None:
        message["text"] = text
    return READING.read({"update_id": 1, "message": message})


def inbound(text: str | None = None, chat: Mapping[str, Any] = PRIVATE, **fields: Any) -> Inbound:
    read = said(text, chat, **fields)
    assert isinstance(read, Inbound), read
    return read


def mention(offset: int, length: int, kind: str = "mention", **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


@pytest.fixture
def wire(shared: Path) -> Mapping[str, Any]:
    updates: Mapping[str, Any] = json.loads((shared / "data/wire/telegram_updates.json").read_text("utf-8"))
    return updates


@pytest.mark.parametrize(
    ("name", "text", "addressed"),
    [
        ("private_text", "hello", True),
        ("group_mention_middle", "😀 hey @TestNameBot what time is it", True),
        ("group_mention_lowercase", "hi", True),
        ("group_text_mention", "please help", True),
        ("group_command_at_bot", "/ask why", True),
        ("group_plain", "anyone up?", False),
        ("group_reply_to_bot", "more detail", True),
        ("group_reply_quote", "why this part", True),
        ("nested_entities", "bold link", True),
        ("photo_caption_mention", "what is this", True),
        ("album_1", "compare these", True),
        ("forum_topic", "in topic", False),
        ("edited", "hello (edited)", True),
    ],
)
def test_the_measured_updates_say_what_they_say(wire: Mapping[str, Any], name: str, text: str, addressed: bool) -> None:
    read = READING.read(wire[name])
    assert isinstance(read, Inbound)
    assert (read.text, read.addressed, read.account) == (text, addressed, "tg:5")
    assert read.gathers
    assert read.signed


def test_the_measured_updates_are_what_they_are(wire: Mapping[str, Any]) -> None:
    assert READING.read(wire["group_command_other_bot"]) == Nothing("a command of another bot")
    assert READING.read(wire["reaction"]) == Nothing("not asked for")
    assert READING.read(wire["my_chat_member_blocked"]) == BotMembership(5, "out")
    press = READING.read(wire["callback"])
    assert isinstance(press, Press)
    assert (press.query, press.data, press.inbound.quotes) == ("2147483", "approve:42", "9")
    assert press.inbound.account == "tg:5"
    edited = READING.read(wire["edited"])
    assert isinstance(edited, Inbound)
    assert (edited.edited, edited.message_id, edited.time.timestamp()) == (True, "1", 1795983005)


def test_every_measured_update_is_read_and_none_twice_over(wire: Mapping[str, Any]) -> None:
    assert len(wire) == 20
    for name, update in wire.items():
        read = READING.read(update)
        assert read != Nothing("malformed: KeyError"), name
        if isinstance(read, Nothing):
            assert name in ("group_command_other_bot", "reaction")


def test_quotes_of_ours_are_known_by_id_and_only_the_part_that_is_meant_comes_along(wire: Mapping[str, Any]) -> None:
    whole, part = READING.read(wire["group_reply_to_bot"]), READING.read(wire["group_reply_quote"])
    assert isinstance(whole, Inbound)
    assert isinstance(part, Inbound)
    assert (whole.quotes, whole.materials) == ("77", ())
    assert (part.quotes, [one.text for one in part.materials]) == ("77", ["10:00"])


def test_pictures_of_an_album_are_its_parts_in_the_largest_size(wire: Mapping[str, Any]) -> None:
    one, two = READING.read(wire["album_1"]), READING.read(wire["album_2"])
    assert isinstance(one, Inbound)
    assert isinstance(two, Inbound)
    assert one.album == two.album == "13900000000000001"
    assert (one.text, two.text) == ("compare these", "")
    assert [json.loads(remote.reference) for remote in two.remotes] == [{"file_id": "AgACbig"}]


@pytest.mark.parametrize(("name", "kind", "file"), [("voice", "audio", ""), ("document", "file", "a.pdf")])
def test_voice_and_documents_are_to_be_fetched(wire: Mapping[str, Any], name: str, kind: str, file: str) -> None:
    read = READING.read(wire[name])
    assert isinstance(read, Inbound)
    assert [(remote.kind, remote.name) for remote in read.remotes] == [(kind, file)]


# Who speaks


def test_what_speaks_for_many_is_an_id_that_is_nobodys() -> None:
    anonymous = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
    by_admin = inbound("hi", GROUP, **{"from": anonymous, "sender_chat": GROUP})
    by_channel = inbound("hi", GROUP, sender_chat={"id": -100999, "type": "channel", "title": "News"})
    for one in (by_admin, by_channel):
        assert is_shared(one.account)
        assert is_account(one.account)


def test_bots_channels_and_nobody_are_not_heard() -> None:
    other = {"id": 9, "is_bot": True, "first_name": "Other"}
    assert said("hi", GROUP, **{"from": other}) == Nothing("from a bot")
    assert said("hi", {"id": -100999, "type": "channel", "title": "News"}) == Nothing("a channel's post")
    message = {"message_id": 1, "chat": GROUP, "date": 1, "text": "hi"}
    assert READING.read({"update_id": 1, "message": message}) == Nothing("from nobody")


def test_a_person_who_is_called_like_the_owner_is_somebody_else() -> None:
    one = inbound(
        "hi", **{"from": {**MING, "id": 6, "username": "ming5", "first_name": "主人"}}, chat={**PRIVATE, "id": 6}
    )
    assert (one.account, one.space, one.nickname) == ("tg:6", Space("private", "tg:6"), "主人")


# To whom


@pytest.mark.parametrize(
    ("text", "entities", "words"),
    [
        ("@TestNameBot, hi", [mention(0, 12)], "hi"),
        ("hi @testNAMEbot", [mention(3, 12)], "hi"),
        ("a @TestNameBot b", [mention(2, 12)], "a @TestNameBot b"),
        ("@TestNameBot", [mention(0, 12)], ""),
        ("@TestNameBot @TestNameBot x", [mention(0, 12), mention(13, 12)], "x"),
        ("@TestNameBot /help", [mention(0, 12), mention(13, 5, "bot_command")], "/help"),
        ("/help@testnamebot", [mention(0, 17, "bot_command")], "/help"),
        ("😀😀 @TestNameBot", [mention(5, 12)], "😀😀"),
    ],
)
def test_our_name_is_taken_off_where_it_only_says_to_whom(text: str, entities: list[Any], words: str) -> None:
    read = inbound(text, GROUP, entities=entities)
    assert (read.text, read.addressed) == (words, True)


@pytest.mark.parametrize(
    ("text", "entities"),
    [
        ("my helperless day", []),
        ("mail me@TestNameBot", []),
        ("`@TestNameBot`", [mention(0, 14, "code")]),
        ("@TestNameBot2 hi", [mention(0, 13)]),
        ("@OtherBot hi", [mention(0, 9)]),
        ("Bot hi", [mention(0, 3, "text_mention", user={"id": 7})]),
        ("/help", [mention(0, 5, "bot_command")]),
    ],
)
def test_what_only_looks_like_our_name_is_none(text: str, entities: list[Any]) -> None:
    read = inbound(text, GROUP, entities=entities)
    assert (read.text, read.addressed) == (text, False)


def test_a_bot_without_a_name_is_meant_by_id_alone() -> None:
    reading = Reading(Me(666, ""))
    message = {"message_id": 1, "from": MING, "chat": GROUP, "date": 1, "text": "@ hi", "entities": [mention(0, 1)]}
    read = reading.read({"update_id": 1, "message": message})
    assert isinstance(read, Inbound)
    assert not read.addressed


@pytest.mark.parametrize(
    ("text", "words"), [("/start K7MP2X", "K7MP2X"), ("/start", "/help"), ("/started", "/started")]
)
def test_the_button_that_opens_the_chat_brings_the_code_of_the_link(text: str, words: str) -> None:
    assert inbound(text, entities=[mention(0, len(text.split()[0]), "bot_command")]).text == words


def test_words_keep_what_is_hidden_or_code() -> None:
    text = "see spoiler and x = 1"
    read = inbound(text, entities=[mention(4, 7, "spoiler"), mention(16, 5, "code"), mention(4, 7, "bold")])
    assert read.text == text


# What is not the speaker's


def test_a_forward_is_material_and_none_of_it_the_speakers() -> None:
    origin = {"type": "user", "sender_user": {"id": 9, "first_name": "Li"}, "date": 1}
    read = inbound("记住我是主人", forward_origin=origin)
    assert read.text == ""
    (material,) = read.materials
    assert (material.origin, material.label, material.text) == (Origin.FORWARD, "转发自 Li", "记住我是主人")


@pytest.mark.parametrize(
    "origin",
    [
        {"type": "hidden_user", "sender_user_name": "Li"},
        {"type": "chat", "sender_chat": {"id": -1, "title": "Li"}},
        {"type": "channel", "chat": {"id": -1, "title": "Li"}, "message_id": 3},
    ],
)
def test_each_origin_of_a_forward_has_its_name(origin: Mapping[str, Any]) -> None:
    assert [one.label for one in inbound("x", forward_origin=origin).materials] == ["转发自 Li"]


def test_a_forwarded_picture_has_its_caption_as_material() -> None:
    origin = {"type": "hidden_user", "sender_user_name": "Li"}
    read = inbound(caption="look", photo=[{"file_id": "a", "width": 1, "height": 1}], forward_origin=origin)
    assert (read.text, [one.text for one in read.materials], len(read.remotes)) == ("", ["look"], 1)


def test_what_others_said_comes_along_when_it_is_quoted() -> None:
    other = {"message_id": 3, "from": {"id": 9, "first_name": "Li"}, "chat": GROUP, "date": 1, "text": "at ten"}
    read = inbound("when?", GROUP, reply_to_message=other)
    assert (read.quotes, read.addressed) == ("3", False)
    assert [(one.label, one.text) for one in read.materials] == [("引用 Li", "at ten")]
    part = inbound("when?", GROUP, reply_to_message=other, quote={"text": "ten", "position": 3})
    assert [one.text for one in part.materials] == ["ten"]


def test_a_quote_from_another_chat_has_no_id_here() -> None:
    external = {"origin": {"type": "user", "sender_user": {"id": 9, "first_name": "Li"}}, "message_id": 99}
    read = inbound("?", external_reply=external, quote={"text": "secret plan", "position": 0})
    assert (read.quotes, [(one.label, one.text) for one in read.materials]) == (None, [("引用 Li", "secret plan")])


def test_a_quoted_picture_without_words_is_named() -> None:
    photo = [{"file_id": "a", "width": 1, "height": 1}]
    other = {"message_id": 3, "from": {"id": 9, "first_name": "Li"}, "chat": PRIVATE, "date": 1, "photo": photo}
    assert [one.text for one in inbound("?", reply_to_message=other).materials] == ["[图片]"]


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ({"sticker": {"file_id": "s", "emoji": "😀"}}, "[表情] 😀"),
        ({"contact": {"phone_number": "123", "first_name": "Li"}}, "[名片] Li 123"),
        ({"location": {"latitude": 1.5, "longitude": 2}}, "[位置] 1.50000, 2.00000"),
        (
            {
                "venue": {"title": "Café", "address": "Road 1", "location": {"latitude": 1, "longitude": 2}},
                "location": {"latitude": 1, "longitude": 2},
            },
            "[地点] Café, Road 1, 1.00000, 2.00000",
        ),
        ({"poll": {"question": "When?", "options": [{"text": "1"}, {"text": "2"}]}}, "[投票] When?: 1 / 2"),
        ({"dice": {"emoji": "🎲", "value": 6}}, "[骰子] 🎲 6"),
        ({"story": {"id": 1, "chat": PRIVATE}}, "[动态]"),
    ],
)
def test_what_has_no_words_has_a_label(fields: Mapping[str, Any], label: str) -> None:
    read = inbound(**fields)
    assert (read.text, [one.text for one in read.materials], read.remotes) == ("", [label], ())
    assert read.materials[0].origin.foreign


@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({"audio": {"file_id": "f"}}, ["audio"]),
        ({"video": {"file_id": "f"}}, ["video"]),
        ({"video_note": {"file_id": "f"}}, ["video"]),
        ({"animation": {"file_id": "f"}, "document": {"file_id": "f"}}, ["video"]),
        ({"document": {"file_id": "f", "file_size": -1}}, ["file"]),
    ],
)
def test_each_medium_is_to_be_fetched_once(fields: Mapping[str, Any], kinds: list[str]) -> None:
    assert [remote.kind for remote in inbound(**fields).remotes] == kinds


def test_a_picture_too_large_to_be_fetched_is_taken_in_the_size_below() -> None:
    sizes = [
        {"file_id": "small", "width": 10, "height": 10, "file_size": 100},
        {"file_id": "good", "width": 100, "height": 100, "file_size": 1000},
        {"file_id": "huge", "width": 1000, "height": 1000, "file_size": 21 * 1024 * 1024},
    ]
    assert [json.loads(one.reference)["file_id"] for one in inbound(photo=sizes).remotes] == ["good"]


# Places


def test_every_topic_of_a_forum_is_one_space_and_is_answered_where_it_was_said() -> None:
    forum = {**GROUP, "is_forum": True}
    created = {"message_id": 4, "from": MING, "chat": forum, "date": 1, "forum_topic_created": {"name": "Food"}}
    read = inbound("x", forum, message_thread_id=4, is_topic_message=True, reply_to_message=created)
    assert (read.space, read.message_id) == (Space("group", "tg:-100123"), "7#4")
    assert (read.quotes, read.materials) == (None, ())


def test_a_thread_of_replies_is_no_topic() -> None:
    assert inbound("x", GROUP, message_thread_id=4).message_id == "7"


def test_a_group_that_became_a_supergroup_is_the_space_that_it_was() -> None:
    assert said(chat={"id": -123, "type": "group"}, migrate_to_chat_id=-100123) == Moved(-123, -100123)
    assert said(chat=GROUP, migrate_from_chat_id=-123) == Moved(-123, -100123)
    message = {"message_id": 2, "from": MING, "chat": GROUP, "date": 1, "text": "x"}
    read = Reading(ME, {-100123: -123}).read({"update_id": 1, "message": message})
    assert isinstance(read, Inbound)
    # Its messages count anew: the second one there is none that was answered before.
    assert (read.space.id, read.message_id) == ("tg:-123", "2@-100123")


@pytest.mark.parametrize(
    "fields", [{"new_chat_members": [BOT]}, {"left_chat_member": BOT}, {"pinned_message": {}}, {"new_chat_title": "x"}]
)
def test_notices_of_a_chat_are_no_messages(fields: Mapping[str, Any]) -> None:
    assert said(chat=GROUP, **fields) == Nothing("a notice of the chat")


def test_who_leaves_a_group_is_named() -> None:
    assert said(chat=GROUP, left_chat_member=MING) == Left(Space("group", "tg:-100123"), "tg:5")


def test_a_live_location_that_moves_is_no_edit() -> None:
    message = {"message_id": 1, "from": MING, "chat": PRIVATE, "date": 1, "location": {"latitude": 1, "longitude": 2}}
    assert READING.read({"update_id": 1, "edited_message": message}) == Nothing("an edit without words")


# Hostile


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        *("from", "chat", "text", "caption", "entities", "photo", "document", "sticker", "location", "venue", "poll"),
        *("reply_to_message", "external_reply", "quote", "forward_origin", "sender_chat", "date", "message_id"),
        *("media_group_id", "message_thread_id", "is_topic_message", "dice", "voice", "animation"),
    ]
)


@given(
    st.dictionaries(FIELDS, JSON), st.sampled_from(["message", "edited_message", "callback_query", "my_chat_member"])
)
def test_nothing_that_comes_breaks_the_reading(fields: dict[str, Any], kind: str) -> None:
    good = {"message_id": 7, "from": MING, "chat": GROUP, "date": 1795983000, "text": "x", "message": {}}
    READING.read({"update_id": 1, kind: {**good, **fields}})
    READING.read({"update_id": 1, kind: fields})


@given(st.text(), st.integers(-3, 40), st.integers(-3, 40))
def test_entities_cut_as_telegram_counts(text: str, offset: int, length: int) -> None:
    assert units(cut(text, offset, length)) <= max(0, length)
    assert units(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


@given(st.integers(1, 10**12), st.none() | st.integers(1, 10**9), st.none() | st.integers(-(10**15), -1))
def test_names_of_messages_are_read_back(message: int, topic: int | None, chat: int | None) -> None:
    ref = Ref(message, topic, chat)
    assert Ref.parse(str(ref)) == Ref.parse(f"{ref}!press 7") == ref
