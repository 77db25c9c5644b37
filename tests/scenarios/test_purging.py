"""`/memory purge N` as conversations: what was said once is nowhere any more, and everything else works as before."""

from __future__ import annotations

import re
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.identity.people import OWNER as OWNER_ID
from qingtuan.memory.wiki.history import History
from qingtuan.memory.wiki.undo import Undo
from qingtuan.messages import Space
from qingtuan.turn.trace import timeline, trace
from tests.fakes.conversation import OWNER, Conversation, remembers
from tests.fakes.holding import holding
from tests.fakes.model_server import Rule, call, on_result, on_user
from tests.fakes.replaying import replayed, tables
from tests.scenarios.test_extraction import extractor

MARK, PIECE = "榴莲千层", "榴莲"
OWNER_QQ, MEMBER, WRITER = "qq:10001", "qq:10002", "qq:10003"
GROUP = Space("group", "qq:777")
LIKES = f"爱吃{MARK}"
PAGE = "users/owner/profile.md"


def conversation(folder: Path) -> Conversation:
    environ = {
        "OWNER__ACCOUNTS": f'["{OWNER_QQ}"]',
        "ACCESS__MEMBERS": f'["{MEMBER}", "{WRITER}"]',
        "ACCESS__GROUPS": '["qq:777"]',
        "EMBEDDING__MODEL": "off",
    }
    return Conversation(folder, tools=None, **environ)


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with conversation(tmp_path) as chat:
        yield chat
        same(chat)


def git(chat: Conversation, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=chat.home.wiki, capture_output=True, text=True, check=True).stdout


def same(chat: Conversation) -> None:
    """Every table is what a replay makes of the events, and git finds nothing wrong."""
    log = chat.app.kit.record.log
    assert tables(log) == replayed(log)
    assert git(chat, "fsck", "--strict", "--no-dangling") == ""
    assert git(chat, "status", "--porcelain") == ""


def remembering() -> tuple[Rule, ...]:
    """A model that keeps what it is told, and repeats it."""
    return (
        on_user(f"记住我{LIKES}", call("remember", content=LIKES, topic="吃", predicate="爱吃", value=MARK)),
        on_user("记住我不吃香菜", call("remember", content="不吃香菜", topic="吃", predicate="忌口", value="香菜")),
        on_user("记住我坐", remembers(content="坐二楼", value="二楼")),
        on_result(MARK, f"记住了，{LIKES}。"),
        on_result("", "好。"),
        on_user("我爱吃什么", call("memory_search", query="爱吃什么")),
        on_user("", "好的。"),
    )


async def purge(chat: Conversation, name: str, by: str = OWNER, space: Space | None = None) -> str:
    (told,) = await chat.say(f"/memory purge {name} 确认", by, space)
    return told


# What goes


async def test_what_was_said_once_is_nowhere_any_more(chat: Conversation) -> None:
    chat.model(*remembering())
    await chat.say("记住我不吃香菜")
    await chat.say(f"记住我{LIKES}")
    await chat.say("今天吃什么好")
    assert await chat.say("我爱吃什么") == [f"记住了，{LIKES}。"]
    assert LIKES in (await chat.say("/memory"))[0]
    await chat.app.remembering.recollection.episodes.feed()
    assert len(holding(chat.home, MARK)) >= 4
    (question,) = await chat.say("/memory purge 2")
    assert question.splitlines() == [
        f"要彻底清除 #2「{LIKES}」吗？页面上、历史里、git 历史里都不会再有，撤销不了。",
        "说过它的消息（1 条，整条）和重复它的回答、结果（11 处）也一起抹掉。",
        "抹不到的：聊天软件里的记录，和换了说法的话。",
        "确定就发：/memory purge 2 确认",
    ]
    assert LIKES in chat.page(PAGE)
    assert await purge(chat, "2") == "#2 彻底清除了。"
    assert holding(chat.home, MARK) == holding(chat.home, PIECE) == []
    await chat.stop()
    assert holding(chat.home, MARK) == holding(chat.home, PIECE) == []
    await chat.start()
    assert "不吃香菜" in (await chat.say("/memory"))[0]
    assert await chat.say("我爱吃什么") == ["好。"]


async def test_what_became_history_long_ago_goes_from_every_version(chat: Conversation) -> None:
    chat.model(*remembering())
    await chat.say(f"记住我{LIKES}")
    await chat.say("/memory edit 1 爱吃榴莲千层蛋糕")
    await chat.say("/memory pin 1")
    await chat.say("记住我不吃香菜")
    await chat.say("/memory del 1")
    assert len(re.findall(PIECE, "".join(chat.commits()))) == 4
    assert await purge(chat, "1") == "#1 彻底清除了。"
    assert holding(chat.home, PIECE) == []
    assert [commit for commit in chat.commits() if "清除" not in commit] == ["记住：不吃香菜"]
    assert len(chat.commits()) == 5


async def test_what_was_moved_goes_from_where_it_was(chat: Conversation) -> None:
    chat.model(*remembering())
    await chat.say(f"记住我{LIKES}")
    assert await chat.say("/memory share 1 all") == ["#G1：全局。"]
    assert await purge(chat, "G1") == "#G1 彻底清除了。"
    assert holding(chat.home, PIECE) == []
    await chat.say("/memory add 新的一条")
    assert (await chat.say("/memory"))[0].splitlines()[1] == "#2 新的一条"


async def test_what_was_written_by_hand_goes_with_the_lines_that_had_no_number_yet(chat: Conversation) -> None:
    path = chat.home.wiki / PAGE
    path.parent.mkdir(parents=True)
    path.write_text(f"# 我\n\n## 当前\n- {LIKES}\n- 别的\n", "utf-8")
    await chat.app.remembering.memory.edited(["users"])
    await chat.say("/memory")
    assert f"- {LIKES} ^1" in chat.page(PAGE)
    assert await purge(chat, "1") == "#1 彻底清除了。"
    assert holding(chat.home, PIECE) == []
    assert "- 别的 ^2" in chat.page(PAGE)
    assert len(chat.commits()) == 2


async def test_words_too_short_to_be_known_anywhere_go_where_they_were_said(chat: Conversation) -> None:
    chat.model(
        on_user("记住我养猫", call("remember", content="养猫", predicate="宠物", value="猫")),
        on_result("", "记住了，养猫。"),
        on_user("", "猫很可爱。"),
    )
    await chat.say("记住我养猫")
    await chat.say("猫是什么")
    await chat.say("/memory")
    await purge(chat, "1")
    assert holding(chat.home, "养猫") == []
    said = [event.payload.get("text") for event in chat.events(Kind.MESSAGE_RECEIVED, Kind.MESSAGE_SENT)]
    assert "猫是什么" in said
    assert "猫很可爱。" in said


async def test_a_summary_of_it_goes_and_what_else_it_told_is_read_raw_again(tmp_path: Path) -> None:
    environ = {"MEMORY__MAX_STORED": "4", "MEMORY__KEEP_RECENT": "2", "MEMORY__BATCH": "2", "MEMORY__MIN_SOURCE": "2"}
    async with Conversation(tmp_path, tools=None, EMBEDDING__MODEL="off", **environ) as chat:
        aside = Rule(lambda asked: not asked.tools, [f"- 说过{MARK}的事\n- 喜欢一种带刺的水果"])
        chat.model(aside, *remembering())
        await chat.say(f"记住我{LIKES}")
        for number in range(3):
            await chat.say(f"第{number}句闲话")
        await chat.done()
        assert chat.events(Kind.SUMMARY_WRITTEN)
        assert any("sqlite" in place for place in holding(chat.home, f"说过{MARK}"))
        await chat.say("在吗")
        await chat.done()
        assert len(holding(chat.home, "带刺的水果")) > 0
        assert any("带刺的水果" in str(request.messages) for request in chat.server.requests if request.tools)
        await purge(chat, "1")
        assert holding(chat.home, PIECE) == holding(chat.home, "带刺的水果") == []
        chat.model(on_user("", "在。"))
        await chat.say("还在吗")
        asked = next(request for request in reversed(chat.server.requests) if request.tools)
        sent = [message["content"] for message in asked.messages if message["role"] == "user"]
        assert sent == ["第0句闲话", "第1句闲话", "第2句闲话", "在吗", "还在吗"]
        same(chat)


async def test_what_extraction_found_waits_for_nobody_any_more(chat: Conversation) -> None:
    found = {
        "message": 1, "type": "preference", "topic": "吃", "subject": "我", "predicate": "爱吃", "value": MARK,
        "confidence": 0.7, "explicit": False, "evidence": f"我{LIKES}",
    }  # fmt: skip
    chat.model(extractor(found), on_user("", "好的。"))
    await chat.say(f"我{LIKES}，这个周末去买一点")
    await chat.later(seconds=61)
    assert [event.payload["value"] for event in chat.events(Kind.BELIEF_PROPOSED)] == [MARK]
    await chat.say(f"/memory add {LIKES}")
    await purge(chat, "1")
    assert [event.forgotten for event in chat.events(Kind.BELIEF_PROPOSED)] == [True]
    assert holding(chat.home, LIKES) == []


# What stays


async def test_everything_else_can_still_be_undone_explained_and_rolled_back(chat: Conversation) -> None:
    chat.model(*remembering())
    await chat.say("记住我坐二楼")
    await chat.say(f"记住我{LIKES}")
    await chat.say("记住我不吃香菜")
    await chat.say("/memory add 有个妹妹")
    why, history = await chat.say("/memory why 1"), chat.commits()
    before = await History(chat.app.remembering.store.repository).of_page(PAGE)
    await purge(chat, "2")
    assert await chat.say("/memory why 1") == why
    assert chat.commits() == [history[0], history[1], "（已清除）", history[3]]
    after = await History(chat.app.remembering.store.repository).of_page(PAGE)
    assert [(one.time, one.author, one.events, one.people) for one in after] == [
        (one.time, one.author, one.events, one.people) for one in before
    ]
    assert await chat.say("/undo") == ["已撤销：记住：有个妹妹"]
    assert await chat.say("/undo") == ["已撤销：记住：不吃香菜"]
    assert await chat.say("/undo") == ["已撤销：记住：坐二楼"]
    assert await chat.say("/undo") == ["没有可以撤销的写入。"]
    place = Place(person=OWNER_ID)
    undo = Undo(chat.app.remembering.store)
    await undo.page_to(PAGE, after[0].commit, place, cause=None)
    assert "有个妹妹 ^4" in chat.page(PAGE)
    assert PIECE not in chat.page(PAGE)
    await undo.all_to(before[-1].time, place, cause=None)
    await chat.app.remembering.memory.edited()
    assert chat.pages() == [f"users/{OWNER_ID}/preferences/图书馆.md"] or PIECE not in "".join(
        map(chat.page, chat.pages())
    )
    assert holding(chat.home, PIECE) == []


async def test_the_record_can_still_be_read(chat: Conversation) -> None:
    chat.model(*remembering())
    await chat.say(f"记住我{LIKES}")
    await chat.say("今天吃什么好")
    await purge(chat, "1")
    log, zone = chat.app.kit.record.log, chat.app.settings.zone
    turns = [event.place.turn for event in chat.events(Kind.TURN_STARTED)]
    told = timeline(trace(log, turns[0] or ""), "zh", zone)
    assert "（内容已抹掉）" in told
    assert "回复了" in told
    for command in ("/trace", "/context", "/cost", "/status", "/memory why 1", "/memory", "/undo"):
        (answer,) = await chat.say(command)
        assert "出错" not in answer, command
    chat.model(on_user("", "在。"))
    assert await chat.say("在吗") == ["在。"]
    sent = [message["content"] for message in chat.asked.messages if message["role"] != "system"]
    assert sent == ["今天吃什么好", "好的。", "在吗"]


async def test_another_entry_that_says_the_same_is_named(chat: Conversation) -> None:
    await chat.say(f"/memory add {LIKES}")
    await chat.say("/memory del 1")
    await chat.say(f"/memory add {LIKES}")
    assert await purge(chat, "1") == "#1 彻底清除了。#2 说的是同一件事，还在；也要清除就发 /memory purge 2。"
    assert LIKES in chat.page(PAGE)
    assert await purge(chat, "2") == "#2 彻底清除了。"
    assert holding(chat.home, PIECE) == []


async def test_what_others_said_of_themselves_is_theirs(chat: Conversation) -> None:
    chat.model(*remembering())
    await chat.say(f"记住我{LIKES}", MEMBER)
    await chat.say(f"记住我{LIKES}")
    await purge(chat, "1")
    assert LIKES in (await chat.say("/memory", MEMBER))[0]
    assert LIKES in chat.page("users/qq-10002/profile.md")
    said = [event for event in chat.events(Kind.MESSAGE_RECEIVED) if event.payload.get("text") == f"记住我{LIKES}"]
    assert [event.place.person for event in said] == ["qq-10002"]


# Who may


async def test_it_asks_first_and_takes_no_other_words_for_a_yes(chat: Conversation) -> None:
    await chat.say(f"/memory add {LIKES}")
    for words in ("", " 好", " 1", " 确认吧"):
        (told,) = await chat.say(f"/memory purge 1{words}")
        assert told.startswith("要彻底清除"), words
    assert LIKES in chat.page(PAGE)
    for missing in ("7", "G1", "群1"):
        (told,) = await chat.say(f"/memory purge {missing} 确认")
        assert "清除了" not in told
    assert await chat.say("/memory 清除 1 确认") == ["#1 彻底清除了。"]
    assert await chat.say("/memory purge 1 确认") == ["没有这一条。"]


async def test_what_is_not_ones_own_is_refused(chat: Conversation) -> None:
    await chat.say(f"/memory add {LIKES}")
    await chat.say("/memory share 1 all")
    assert await chat.say("/memory purge G1 确认", MEMBER) == ["全局记忆只有主人能改。"]
    assert await chat.say("/memory purge 1 确认", MEMBER) == ["没有这一条。"]
    assert await chat.say("/memory purge G1 确认", "qq:99999") == ["我只和主人认识的人聊天。"]
    assert LIKES in chat.page("shared/profile.md") or LIKES in "".join(map(chat.page, chat.pages()))


async def test_a_group_has_its_own_erased_by_those_who_may_write_it(tmp_path: Path) -> None:
    async with conversation(tmp_path) as chat:
        await chat.stop()
        people = '[persons.xiaoli]\naccounts = ["qq:10003"]\nmember = true\nwrites_groups = ["qq:777"]\n'
        chat.home.people_file.write_text(people, "utf-8")
        await chat.start()
        dinner = f"聚餐点{MARK}"
        chat.model(
            on_user("记住我们群", call("remember", content=dinner, subject="本群", predicate="聚餐", value=MARK)),
            on_result("", f"记住了：{dinner}。"),
            on_user("", "好的。"),
        )
        await chat.say(f"记住我们群{dinner}", WRITER, GROUP)
        await chat.say("晚上好", MEMBER, GROUP)
        assert "#群1" in (await chat.say("/memory", MEMBER, GROUP))[0]
        assert await chat.say("/memory purge 群1 确认", MEMBER, GROUP) == ["这里的记忆你不能写。"]
        (question,) = await chat.say("/memory purge 群1", WRITER, GROUP)
        assert dinner in question
        assert "backups" not in question
        assert await purge(chat, "群1", OWNER_QQ, GROUP) == "#群1 彻底清除了。"
        assert holding(chat.home, PIECE) == []
        assert [event.payload.get("text") for event in chat.events(Kind.MESSAGE_RECEIVED)].count("晚上好") == 1
        same(chat)


async def test_while_a_message_is_being_answered_it_is_refused(chat: Conversation) -> None:
    await chat.say(f"/memory add {LIKES}")
    chat.model(on_user("", "好的。"))
    await chat.send("讲个故事")
    await chat.send("/memory purge 1 确认")
    await chat.settled()
    assert "正在回答一句话，等它说完再清除。" in chat.deliver(Space("private", OWNER))
    assert LIKES in chat.page(PAGE)
    assert await purge(chat, "1") == "#1 彻底清除了。"


async def test_what_is_said_while_it_waits_for_rest_puts_it_off(chat: Conversation) -> None:
    await chat.say(f"/memory add {LIKES}")
    chat.model(on_user("", "好的。"))

    async def somebody_speaks() -> None:
        await chat.send("讲个故事")

    chat.app.remembering.erasures.interrupt_before(somebody_speaks)
    assert "正在回答一句话，等它说完再清除。" in await chat.say("/memory purge 1 确认")
    assert LIKES in chat.page(PAGE)
    chat.app.remembering.erasures.interrupt_before(chat.app.afterwards.interrupt)
    assert await purge(chat, "1") == "#1 彻底清除了。"


async def test_what_was_said_under_an_earlier_id_goes_too(tmp_path: Path) -> None:
    async with conversation(tmp_path) as chat:
        await chat.stop()
        chat.home.people_file.write_text('[persons.li]\naccounts = ["qq:10002"]\nmember = true\n', "utf-8")
        await chat.start()
        chat.model(*remembering())
        await chat.say(f"记住我{LIKES}", MEMBER)
        assert await chat.say("我爱吃什么", MEMBER) == [f"记住了，{LIKES}。"]
        chat.home.people_file.write_text('[persons.wang]\naccounts = ["qq:10002"]\nmember = true\n', "utf-8")
        assert LIKES in (await chat.say("/memory", MEMBER))[0]
        assert await purge(chat, "1", MEMBER) == "#1 彻底清除了。"
        assert holding(chat.home, PIECE) == []
        same(chat)


async def test_the_owner_is_told_what_cannot_be_reached(chat: Conversation) -> None:
    await chat.say(f"/memory add {LIKES}")
    (chat.home.backups / "2026-11-28.tar").write_bytes(b"x")
    git(chat, "remote", "add", "home", "https://me:secret-pass@example.com/wiki.git")
    git(chat, "update-ref", "refs/remotes/home/main", "HEAD")
    (question,) = await chat.say("/memory purge 1")
    assert "备份（backups/ 里 1 个）" in question
    assert "home (https://" in question
    assert "secret-pass" not in question
    told = await purge(chat, "1")
    assert "refs/remotes/home/main" in told
    assert "reflog" in told


async def test_nothing_is_lost_of_a_message_that_comes_once_more(chat: Conversation) -> None:
    """The platform may deliver twice; what was erased must not be heard anew."""
    chat.model(*remembering())
    await chat.send(f"记住我{LIKES}", message_id="m-1")
    await chat.settled()
    await purge(chat, "1")
    await chat.send(f"记住我{LIKES}", message_id="m-1")
    await chat.settled()
    assert holding(chat.home, PIECE) == []
