"""Somebody else's act waits for the owner, who is asked in private: by whom and from where, and nobody reads along."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path

import pytest

from qingtuan.channels.cli.client import SocketLink
from qingtuan.channels.cli.link import LocalLink, Speaker
from qingtuan.channels.cli.server import Server
from qingtuan.channels.connected import CaughtUp
from qingtuan.channels.outcome import Done
from qingtuan.events.kinds import Kind
from qingtuan.messages import Outbound, Space
from tests.fakes.booking import DONE, GROUP, MEMBER, OWNER_QQ, WHAT, WISH, Bookings, books, codes, library
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.linked import done, saying, until
from tests.fakes.model_server import Reply, call, on_result, on_user

HOME, HOME_QQ, MEMBERS_CHAT = Space("private", OWNER), Space("private", OWNER_QQ), Space("private", MEMBER)
ASKED = "这要主人同意，已经去问了，有结果就告诉你。"


@pytest.fixture
def bookings(tmp_path: Path) -> Bookings:
    return Bookings(tmp_path / "bookings.jsonl")


@pytest.fixture
async def chat(tmp_path: Path, bookings: Bookings) -> AsyncIterator[Conversation]:
    async with library(tmp_path, bookings) as chat:
        yield chat


def question(code: str, where: str) -> str:
    return f"qq:10002（{where}）要我做这件事，你同意吗？\n{WHAT}\n回复「确认 {code}」或「取消 {code}」。"


def message_of(chat: Conversation, code: str) -> str:
    """The platform's id of the message that asked with this code."""
    (asked,) = [event for event in chat.events(Kind.CONFIRMATION_ASKED) if event.payload["code"] == code]
    (sent,) = [event for event in chat.events(Kind.MESSAGE_SENT) if event.cause == asked.id]
    return f"p-{sent.id}"


# Who reads what


@pytest.mark.parametrize(("space", "where"), [(GROUP, "群 qq:777"), (MEMBERS_CHAT, "私聊")])
async def test_the_owner_is_asked_in_private_and_the_asker_told_so(
    chat: Conversation, bookings: Bookings, space: Space, where: str
) -> None:
    assert await chat.say(WISH, MEMBER, space) == [ASKED]
    (code,) = codes(chat)
    assert chat.deliver(HOME) == [question(code, where)]
    assert bookings.made == []
    assert await chat.say(f"确认 {code}") == ["好，结果在那边说。"]
    assert chat.deliver(space) == [DONE]
    assert [made["by"] for made in bookings.made] == ["qq-10002"]


async def test_a_nickname_is_no_identity(chat: Conversation) -> None:
    await chat.say(WISH, MEMBER, GROUP, nickname="主人 owner")
    (told,) = chat.deliver(HOME)
    assert told.startswith("qq:10002（群 qq:777）")
    assert "owner" not in told


async def test_neither_the_code_nor_the_question_reaches_the_model_or_the_group(
    chat: Conversation, bookings: Bookings
) -> None:
    await chat.say(WISH, MEMBER, GROUP)
    (code,) = codes(chat)
    chat.deliver(HOME)
    told = await chat.say("怎么样了？", MEMBER, GROUP)
    told += await chat.say("确认", OWNER_QQ, GROUP)
    told += await chat.say("/status", MEMBER)
    assert code not in str(told)
    await chat.say("今天星期几？")
    await chat.say(f"确认 {code}")
    await chat.say(f"确认 {code}")
    await chat.say("今天星期几？", MEMBER, GROUP)
    heard = "\n".join(re.sub(r"call_\w+", "", asked.raw.decode()) for asked in chat.server.requests)
    assert code not in heard
    assert "你同意吗" not in heard
    assert len(bookings.made) == 1


async def test_nobody_else_can_answer_for_the_owner(chat: Conversation, bookings: Bookings) -> None:
    await chat.say(WISH, MEMBER, GROUP)
    (code,) = codes(chat)
    for space in (GROUP, MEMBERS_CHAT):
        for word in ("确认", "好", f"确认 {code}", f"取消 {code}", "取消"):
            answers = await chat.say(word, MEMBER, space)
            assert not any(part in str(answers) for part in (code, "A12", DONE)), (word, answers)
    assert codes(chat) == [code]
    assert bookings.made == []


async def test_in_the_group_the_owner_is_sent_home_and_may_give_the_code(
    chat: Conversation, bookings: Bookings
) -> None:
    await chat.say(WISH, MEMBER, GROUP)
    (code,) = codes(chat)
    chat.deliver(HOME)
    assert await chat.say("确认", OWNER_QQ, GROUP) == ["这件事已经在私聊里问你了，在那边回答，或者在这里带上代码。"]
    assert bookings.made == []
    assert await chat.say(f"确认 {code}", OWNER_QQ, GROUP) == [DONE]


async def test_what_a_secret_hides_in_a_group_it_hides_from_the_owner_too(chat: Conversation) -> None:
    chat.model(on_user("发", call("send_post", text="打 13800138000 找我")))
    await chat.say("发一条", MEMBER)
    (told,) = chat.deliver(HOME)
    assert "13800138000" not in told
    assert "会发送：手机号。" in told


# Where the owner is asked


async def test_it_goes_where_the_owner_wrote_last(chat: Conversation) -> None:
    await chat.say("你好", OWNER_QQ)
    await chat.say("大家好", OWNER_QQ, GROUP)  # a group is no place to ask
    await chat.say(WISH, MEMBER, GROUP)
    assert len(chat.deliver(HOME_QQ)) == 1
    assert chat.deliver(HOME) == []
    await chat.say("你好")
    await chat.say("帮我约下午的座位", MEMBER, GROUP)
    assert len(chat.deliver(HOME)) == 1
    assert chat.deliver(HOME_QQ) == []


async def test_an_account_tried_out_at_the_terminal_is_not_where_the_owner_reads(chat: Conversation) -> None:
    await chat.say("你好", OWNER_QQ, channel="cli")
    await chat.say(WISH, MEMBER)
    assert len(chat.deliver(HOME)) == 1


async def test_a_key_of_the_owner_is_not_where_the_owner_reads_and_may_not_answer(
    tmp_path: Path, bookings: Bookings
) -> None:
    chat = library(tmp_path, bookings)
    chat.home.prepare()
    chat.home.people_file.write_text('[persons.owner]\naccounts = ["http:k1"]\n', "utf-8")
    async with chat:
        await chat.say("你好", "http:k1")
        assert await chat.say(WISH, "http:k1") == ["这要你本人确认，已经发到你的私聊了。"]
        (code,) = codes(chat)
        (told,) = chat.deliver(HOME)
        assert told.startswith("程序 http:k1（owner，密钥）要我做这件事，你同意吗？")
        await chat.say(f"确认 {code}", "http:k1")
        assert bookings.made == []
        # It was not said here: a bare word is not enough.
        assert code in (await chat.say("好"))[0]
        await chat.say(f"确认 {code}")
        assert chat.deliver(Space("private", "http:k1"))[-1] == DONE


@pytest.mark.parametrize("by", [OWNER, OWNER_QQ])
async def test_any_private_chat_of_the_owner_may_answer(chat: Conversation, bookings: Bookings, by: str) -> None:
    await chat.say(WISH, MEMBER, GROUP)
    (code,) = codes(chat)
    await chat.say(f"确认 {code}", by)
    assert len(bookings.made) == 1


# How the owner answers


async def test_a_quote_of_the_question_is_enough(chat: Conversation, bookings: Bookings) -> None:
    await chat.say(WISH, MEMBER, GROUP)
    await chat.say("再发一条", MEMBER, GROUP)
    (code,) = codes(chat)
    chat.deliver(HOME)
    assert await chat.say("好", quotes=message_of(chat, code)) == ["好，结果在那边说。"]
    assert len(bookings.made) == 1
    assert await chat.say("好", quotes=message_of(chat, code)) == ["这件事已经有了答复，或者过期了。"]
    assert len(bookings.made) == 1


@pytest.mark.parametrize("word", ["好", "确认", "不要", "取消"])
async def test_a_word_alone_gets_the_code_told(chat: Conversation, bookings: Bookings, word: str) -> None:
    await chat.say(WISH, MEMBER, GROUP)
    (code,) = codes(chat)
    chat.deliver(HOME)
    asked = len(chat.server.requests)
    (told,) = await chat.say(word)
    assert f"「确认 {code}」或「取消 {code}」：qq:10002（群 qq:777）：要预约" in told
    assert len(chat.server.requests) == asked, "no model says 好的 to it"
    assert codes(chat) == [code]
    assert bookings.made == []


async def test_a_word_of_another_talk_is_none(chat: Conversation, bookings: Bookings) -> None:
    await chat.say(WISH, MEMBER, GROUP)
    chat.deliver(HOME)
    assert await chat.say("今天星期几？") == ["好的。"]
    assert await chat.say("好") == ["好的。"]
    assert bookings.made == []


@pytest.mark.parametrize(
    ("space", "told"),
    [(GROUP, ["主人没有同意，没有做。"]), (MEMBERS_CHAT, [f"主人没有同意，没有做。\n{WHAT}"])],
)
async def test_a_no_is_told_to_whoever_waits(
    chat: Conversation, bookings: Bookings, space: Space, told: list[str]
) -> None:
    await chat.say(WISH, MEMBER, space)
    (code,) = codes(chat)
    chat.deliver(HOME)
    assert await chat.say(f"取消 {code}") == ["好，不做了。"]
    assert chat.deliver(space) == told
    assert bookings.made == []


async def test_what_is_critical_needs_its_code_though_quoted(chat: Conversation, bookings: Bookings) -> None:
    await chat.say("注销我的账号", MEMBER)
    (code,) = codes(chat)
    chat.deliver(HOME)
    assert code in (await chat.say("确认", quotes=message_of(chat, code)))[0]
    assert bookings.made == []
    await chat.say(f"确认 {code}", quotes=message_of(chat, code))
    assert len(bookings.made) == 1


async def test_each_of_several_is_answered_by_its_own_code(chat: Conversation, bookings: Bookings) -> None:
    both = Reply(calls=(*books().calls, *books(seat="三楼-B3").calls))
    chat.model(on_user("两个", both), on_result("预约成功", DONE))
    assert await chat.say("约两个座位", MEMBER, GROUP) == [ASKED], "once a turn"
    assert len(chat.deliver(HOME)) == 2
    await chat.say(WISH)  # the owner has one of their own
    one, other, *_ = codes(chat)
    await chat.say(f"确认 {other}")
    await chat.say(f"取消 {one}")
    assert [made["seat"] for made in bookings.made] == ["三楼-B3"]


async def test_a_new_wish_takes_the_place_of_the_old_and_the_old_code_does_nothing(
    chat: Conversation, bookings: Bookings
) -> None:
    await chat.say(WISH, MEMBER, GROUP)
    (old,) = codes(chat)
    await chat.say("改成下午", MEMBER, GROUP)
    (new,) = codes(chat)
    first, second = chat.deliver(HOME)
    assert "14:00" in second
    assert "14:00" not in first
    (told,) = await chat.say("好", quotes=message_of(chat, old))
    assert "已经有了答复" in told
    assert new in (await chat.say(f"确认 {old}"))[0], "the one that is open is named"
    assert bookings.made == []
    await chat.say(f"确认 {new}")
    assert [made["start"] for made in bookings.made] == ["14:00"]


# Time and restarts


@pytest.mark.parametrize("space", [GROUP, MEMBERS_CHAT])
async def test_what_runs_out_is_told_to_both_and_asked_anew_on_a_late_yes(
    chat: Conversation, bookings: Bookings, space: Space
) -> None:
    await chat.say(WISH, MEMBER, space)
    (code,) = codes(chat)
    chat.deliver(HOME)
    await chat.later(minutes=31)
    assert chat.deliver(space) == ["没有等到同意，刚才那件事没有做。还要的话再说一次。"]
    (told,) = chat.deliver(HOME)
    assert told.startswith("过期了，没有做：qq:10002（")
    assert f"「确认 {code}」" in told
    notice, fresh = await chat.say(f"确认 {code}")
    assert notice == "刚才的过期了，还要吗？"
    (renewed,) = codes(chat)
    assert renewed in fresh
    assert WHAT in fresh
    assert bookings.made == []
    await chat.say(f"确认 {renewed}")
    assert chat.deliver(space) == [DONE]
    await chat.restart()
    assert chat.deliver(HOME) == []
    assert chat.deliver(space) == []


async def test_a_late_yes_asks_who_may_answer_by_the_settings_of_today(tmp_path: Path, bookings: Bookings) -> None:
    async with library(tmp_path, bookings, ACCESS__TOOLS='{"book_seat": "member"}') as before:
        assert WHAT in (await before.say(WISH, MEMBER))[0]
        (code,) = codes(before)
    later = library(tmp_path, bookings)
    later.clock.advance(timedelta(minutes=40))
    async with later:
        assert await later.say(f"确认 {code}", MEMBER) == ["刚才的过期了，还要吗？", ASKED]
        (renewed,) = codes(later)
        await later.say(f"确认 {renewed}", MEMBER)
        assert bookings.made == []
        assert later.deliver(HOME) == [question(renewed, "私聊")]


async def test_what_ran_out_while_we_were_down_is_told_once(chat: Conversation) -> None:
    await chat.say(WISH, MEMBER, GROUP)
    chat.deliver(HOME)
    await chat.stop()
    chat.clock.advance(timedelta(minutes=31))
    await chat.start()
    assert len(chat.deliver(GROUP)) == 1
    assert len(chat.deliver(HOME)) == 1
    await chat.restart()
    await chat.later(minutes=31)
    assert chat.deliver(GROUP) == []
    assert chat.deliver(HOME) == []


async def test_what_runs_out_while_nothing_can_be_written_is_told_when_it_can(chat: Conversation) -> None:
    await chat.say(WISH, MEMBER, GROUP)
    chat.deliver(HOME)
    database = chat.app.kit.record.log.database
    database.execute("PRAGMA query_only=ON")
    await chat.later(minutes=31)
    database.execute("PRAGMA query_only=OFF")
    await chat.later(minutes=2)
    assert len(chat.deliver(GROUP)) == 1
    assert len(chat.deliver(HOME)) == 1


async def test_a_question_of_ones_own_runs_out_quietly(chat: Conversation) -> None:
    await chat.say(WISH)
    await chat.later(minutes=31)
    assert chat.deliver(HOME) == []


async def test_a_restart_asks_nobody_twice(chat: Conversation, bookings: Bookings) -> None:
    await chat.say(WISH, MEMBER, GROUP)
    (code,) = codes(chat)
    await chat.restart()
    await chat.settled()
    assert len(chat.deliver(HOME)) == 1
    await chat.restart()
    assert chat.deliver(HOME) == []
    assert chat.deliver(GROUP) == []
    await chat.say(f"确认 {code}")
    assert len(bookings.made) == 1


# The terminal, over the real socket


@pytest.fixture
async def remote(chat: Conversation) -> AsyncIterator[SocketLink]:
    link = LocalLink(chat.app)
    server = Server(link, chat.home)
    await server.start()
    yield SocketLink(chat.home.socket_address())
    await server.close()
    await link.close()


async def asks(chat: Conversation, remote: SocketLink, text: str, account: str = OWNER) -> Done:
    async with asyncio.timeout(20):
        ended = await done(remote, saying(text, account))
    await chat.settled()
    return ended


async def test_a_terminal_that_was_away_finds_the_question_when_it_is_opened(
    chat: Conversation, remote: SocketLink, bookings: Bookings
) -> None:
    member = await asks(chat, remote, WISH, MEMBER)
    assert (member.status, member.reply) == ("waiting", ASKED)
    ((code, summary),) = [(asked.code, asked.summary) for asked in member.pending]
    assert code is None
    assert summary == WHAT
    # A question that was asked with no terminal open is in the list of whoever asks next …
    owner = await asks(chat, remote, "你好")
    (waiting,) = owner.pending
    assert waiting.code == codes(chat)[0]
    assert waiting.summary == f"qq:10002（私聊）：{WHAT}"
    # … and stands in the chat that is opened next, once.
    async with aclosing(remote.attend(Speaker())) as pieces:
        seen = await until(pieces, CaughtUp)
    assert [piece.text for piece in seen if isinstance(piece, Outbound)] == [question(codes(chat)[0], "私聊")]
    async with aclosing(remote.attend(Speaker())) as pieces:
        assert [type(piece) for piece in await until(pieces, CaughtUp)] == [CaughtUp]
    ended = await asks(chat, remote, f"确认 {codes(chat)[0]}")
    assert (ended.reply, ended.pending, ended.tools) == ("好，结果在那边说。", (), ("book_seat",))
    assert len(bookings.made) == 1
    # The result waits for the member.
    async with aclosing(remote.attend(Speaker(MEMBER, MEMBERS_CHAT))) as pieces:
        seen = await until(pieces, CaughtUp)
    assert [piece.text for piece in seen if isinstance(piece, Outbound)] == [DONE]


async def test_a_terminal_that_is_open_shows_the_question_at_once(chat: Conversation, remote: SocketLink) -> None:
    async with aclosing(remote.attend(Speaker())) as pieces:
        await until(pieces, CaughtUp)
        await chat.send(WISH, MEMBER, GROUP)
        (seen,) = await until(pieces, Outbound)
    assert isinstance(seen, Outbound)
    assert (seen.kind, seen.space) == ("question", HOME)


async def test_a_late_yes_at_the_terminal_shows_the_fresh_question(chat: Conversation, remote: SocketLink) -> None:
    await asks(chat, remote, WISH, MEMBER)
    (code,) = codes(chat)
    await chat.later(minutes=31)
    ended = await asks(chat, remote, f"确认 {code}")
    assert ended.status == "waiting"
    assert question(codes(chat)[0], "私聊") in ended.reply


async def test_whoever_follows_the_asker_sees_nothing_of_the_owners(chat: Conversation, remote: SocketLink) -> None:
    seen = []
    async with asyncio.timeout(20), aclosing(remote.say(saying(WISH, MEMBER, GROUP))) as pieces:
        seen = [piece async for piece in pieces]
    assert [piece.text for piece in seen if isinstance(piece, Outbound)] == [ASKED]
    assert codes(chat)[0] not in str(seen)


async def test_a_forwarded_or_edited_yes_of_the_owner_is_none(chat: Conversation, bookings: Bookings) -> None:
    await chat.say(WISH, MEMBER, GROUP)
    (code,) = codes(chat)
    chat.deliver(HOME)
    await chat.say(f"确认 {code}", edited=True)
    assert bookings.made == []


async def test_english_says_the_same(tmp_path: Path, bookings: Bookings) -> None:
    async with library(tmp_path, bookings, LANGUAGE="en") as chat:
        (told,) = await chat.say(WISH, MEMBER, GROUP)
        assert told == "This needs the owner's consent. The owner has been asked, and you will hear."
        (code,) = codes(chat)
        (asked,) = chat.deliver(HOME)
        assert asked.startswith("qq:10002 (group qq:777) wants me to do this. Do you agree?\nAbout to book ")
        assert asked.endswith(f"Reply “confirm {code}” or “cancel {code}”.")


async def test_each_reads_their_own_language(tmp_path: Path, bookings: Bookings) -> None:
    chat = library(tmp_path, bookings)
    chat.home.prepare()
    chat.home.people_file.write_text(
        '[persons.tom]\naccounts = ["qq:10002"]\nlanguage = "en"\nmember = true\n', "utf-8"
    )
    async with chat:
        (told,) = await chat.say(WISH, MEMBER)
        assert told.startswith("This needs the owner's consent.")
        (asked,) = chat.deliver(HOME)
        assert asked.startswith("qq:10002（tom，私聊）要我做这件事")
        await chat.say(f"取消 {codes(chat)[0]}")
        (declined,) = chat.deliver(MEMBERS_CHAT)
        assert declined.startswith("The owner did not agree, so it was not done.\nAbout to book")
