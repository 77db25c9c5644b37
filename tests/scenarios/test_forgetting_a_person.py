"""`qingtuan forget PERSON` as conversations: of whoever goes nothing is left, and nobody else loses what is theirs."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.app.forgetting import Departures, Outlook
from qingtuan.errors import NotAllowed, NotThere
from qingtuan.events.erasing import unfinished
from qingtuan.events.kinds import Kind
from qingtuan.messages import Attachment, Space
from qingtuan.storage.files import content_hash
from qingtuan.turn.trace import timeline, trace
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.holding import holding
from tests.fakes.model_server import Rule, call, on_result, on_user
from tests.fakes.replaying import replayed, tables
from tests.scenarios.test_extraction import extractor

MARK = "榴莲千层"
OWNER_QQ, LI, WANG = "qq:10001", "qq:20002", "qq:10003"
GROUP = Space("group", "qq:777")
LIKES = f"爱吃{MARK}"
PEOPLE = """\
# 我认识的人

# 大学同学
[persons.xiaofang]
accounts = ["qq:20002"]
name = "小芳"
member = true
writes_groups = ["qq:777"]

# 邻居
[persons.laowang]
accounts = ["qq:10003"]  # 老号
member = true
"""


def conversation(folder: Path, **more: str) -> Conversation:
    environ = {
        "OWNER__ACCOUNTS": f'["{OWNER_QQ}"]',
        "ACCESS__GROUPS": '["qq:777"]',
        "EMBEDDING__MODEL": "off",
        **more,
    }
    return Conversation(folder, tools=None, **environ)


async def known(chat: Conversation, people: str = PEOPLE) -> None:
    await chat.stop()
    chat.home.people_file.write_text(people, "utf-8")
    await chat.start()


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    async with conversation(tmp_path) as chat:
        await known(chat)
        yield chat
        same(chat)


def git(chat: Conversation, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=chat.home.wiki, capture_output=True, text=True, check=True).stdout


def same(chat: Conversation) -> None:
    """Every table is what a replay makes of the events, git finds nothing wrong, and nothing is left to do."""
    log = chat.app.kit.record.log
    assert tables(log) == replayed(log)
    assert git(chat, "fsck", "--strict", "--no-dangling") == ""
    assert git(chat, "status", "--porcelain") == ""
    assert unfinished(log) == []
    assert [event.payload for event in chat.events(Kind.CHORE_FAILED)] == []


def of_group(content: str, predicate: str, value: str, subject: str = "本群") -> Rule:
    """Told this with 记住我们群 before it, the model keeps it."""
    kept = call("remember", content=content, subject=subject, predicate=predicate, value=value)
    return on_user(f"记住我们群{content}", kept)


def remembering() -> tuple[Rule, ...]:
    """A model that keeps what it is told, and repeats it."""
    return (
        on_user(f"记住我{LIKES}", call("remember", content=LIKES, topic="吃", predicate="爱吃", value=MARK)),
        on_user("记住我坐", call("remember", content="坐二楼", topic="图书馆", predicate="座位", value="二楼")),
        of_group("周五聚餐", "聚餐", "周五"),
        of_group("订位归小芳", "订位", "小芳"),
        of_group("值日是 qq:20002", "值日", LI),
        of_group("王叔带酒", "酒", "王叔"),
        of_group("再加一条", "再加", "一条"),
        on_result(MARK, f"记住了，{LIKES}。"),
        on_result("", "好。"),
        on_user("", "好的。"),
    )


def departures(chat: Conversation) -> Departures:
    app = chat.app
    return Departures(app.kit, app.remembering, app.queues, app.settings)


async def forget(chat: Conversation, name: str = "xiaofang", *, even_owner: bool = False) -> Outlook:
    found, _ = await departures(chat).forget(name, even_owner=even_owner)
    return found


# What goes


async def test_of_a_private_chat_nothing_is_left(chat: Conversation) -> None:
    picture = b"\x89PNG of " + MARK.encode()
    name = content_hash(picture)
    chat.home.media.mkdir(exist_ok=True)
    (chat.home.media / name).write_bytes(picture)
    (chat.home.logs / "mcp-x.log").write_text(f"start\nuser said: 记住我{LIKES}\nqq:20002 asked\nend\n", "utf-8")
    attachment = Attachment("image", "x.png", "image/png", name, len(picture))
    found = {
        "message": 2, "type": "preference", "topic": "吃", "subject": "我", "predicate": "常去", "value": "榴莲铺子",
        "confidence": 0.7, "explicit": False, "evidence": "我常去榴莲铺子",
    }  # fmt: skip
    chat.model(extractor(found), *remembering())
    await chat.say(f"记住我{LIKES}", LI, nickname="丽丽")
    await chat.say("我常去榴莲铺子，那里的好吃", LI, attachments=(attachment,))
    await chat.say("/policy review", LI)
    await chat.later(seconds=61)
    assert chat.events(Kind.BELIEF_PROPOSED)
    await chat.say("/memory", LI)
    await chat.app.remembering.recollection.episodes.feed()
    await chat.say("记住我坐二楼")
    assert len(holding(chat.home, "榴莲")) >= 6
    before = await departures(chat).look("xiaofang")
    gone = await forget(chat)
    assert gone.counts == before.counts
    assert gone.counts["messages"] == 4
    assert gone.counts["media"] == 1
    assert gone.counts["pages"] == 1
    for text in ("榴莲", "丽丽", "小芳"):
        assert holding(chat.home, text) == [], text
    assert [place for place in holding(chat.home, LI) if not place.startswith("state.sqlite")] == []
    assert [place for place in holding(chat.home, "xiaofang") if not place.startswith("state.sqlite")] == []
    assert (chat.home.logs / "mcp-x.log").read_text("utf-8") == "start\nend\n"
    assert (
        chat.home.people_file.read_text("utf-8")
        == PEOPLE[: PEOPLE.index("# 大学")] + PEOPLE[PEOPLE.index("\n# 邻居") :]
    )
    await chat.stop()
    assert holding(chat.home, "榴莲") == []
    await chat.start()
    assert "坐二楼" in (await chat.say("/memory"))[0]


async def test_who_writes_again_is_a_stranger(chat: Conversation) -> None:
    chat.model(*remembering())
    await chat.say(f"记住我{LIKES}", LI)
    await forget(chat)
    assert await chat.say("在吗", LI) == ["我只和主人认识的人聊天。"]
    await chat.stop()
    chat.home.people_file.write_text(PEOPLE, "utf-8")
    await chat.start()
    assert await chat.say("在吗", LI) == ["好的。"]
    sent = [message["content"] for message in chat.asked.messages if message["role"] != "system"]
    assert sent == ["在吗"]
    assert await chat.say("/memory", LI) == ["还什么都没有记。"] or MARK not in (await chat.say("/memory", LI))[0]
    chat.model(on_user("", "好的。"))
    await chat.say("/memory add 新来的", LI)
    assert "新来的 ^1" in chat.page("users/xiaofang/profile.md")


async def test_in_a_group_what_is_the_groups_stays_and_names_nobody(chat: Conversation) -> None:
    """Those who read it go on with it; of who wrote it nothing is left."""
    chat.model(*remembering())
    await chat.say("记住我们群周五聚餐", LI, GROUP, nickname="芳芳")
    await chat.say("记住我们群订位归小芳", LI, GROUP, nickname="芳芳")
    await chat.say("记住我们群值日是 qq:20002", LI, GROUP)
    await chat.say("周五几点", WANG, GROUP)
    await chat.say("记住我们群王叔带酒", OWNER_QQ, GROUP)
    listed = (await chat.say("/memory", WANG, GROUP))[0]
    assert all(text in listed for text in ("周五聚餐", "订位归小芳", "王叔带酒"))
    gone = await forget(chat)
    assert (gone.counts["entries"], gone.counts["nameless"]) == (0, 3)
    listed = (await chat.say("/memory", WANG, GROUP))[0]
    assert all(text in listed for text in ("周五聚餐", "订位归某人", "值日是 某人", "王叔带酒"))
    for text in ("小芳", "芳芳"):
        assert holding(chat.home, text) == [], text
    assert LI not in git(chat, "log", "--all", "-p")
    assert "xiaofang" not in git(chat, "log", "--all", "-p")
    why = (await chat.say("/memory why 群1", OWNER_QQ, GROUP))[0]
    assert "xiaofang" not in why
    await chat.say("记住我们群再加一条", OWNER_QQ, GROUP)
    assert "再加一条 ^5" in "".join(map(chat.page, chat.pages()))


@pytest.mark.parametrize("about", ["小芳对桃子过敏", "我对桃子过敏", "本人对桃子过敏"])
async def test_in_a_group_what_is_about_themselves_goes(chat: Conversation, about: str) -> None:
    chat.model(of_group(about, "过敏", "桃子"), *remembering())
    await chat.say(f"记住我们群{about}", LI, GROUP)
    await chat.say("记住我们群王叔带酒", OWNER_QQ, GROUP)
    assert "对桃子过敏" in (await chat.say("/memory", WANG, GROUP))[0]
    await chat.say("今天吃什么", WANG, GROUP)
    assert "对桃子过敏" in "".join(message["content"] or "" for message in chat.asked.messages)
    await chat.say("/memory edit 群1 对桃子和李子过敏", OWNER_QQ, GROUP)
    gone = await forget(chat)
    assert (gone.counts["entries"], gone.counts["nameless"]) == (1, 0)
    assert holding(chat.home, "小芳") == []
    assert "桃子" not in git(chat, "log", "--all", "-p") + "".join(map(chat.page, chat.pages()))
    left = [event for event in chat.events(*Kind) if "桃子" in str(event.payload)]
    assert [(event.kind, event.place.person) for event in left] == [(Kind.MESSAGE_RECEIVED, "owner")]
    listed = (await chat.say("/memory", WANG, GROUP))[0]
    assert listed.splitlines()[1:] == ["#群2 王叔带酒"]
    assert [event.payload["text"] for event in chat.events(Kind.MESSAGE_RECEIVED) if "吃什么" in str(event.payload)]


async def test_what_they_made_public_goes_from_what_others_were_told(chat: Conversation) -> None:
    chat.model(
        *remembering()[:-1],
        on_user("谁爱吃", f"小芳{LIKES}。"),
        on_user("", "好的。"),
    )
    await chat.say(f"记住我{LIKES}", LI)
    await chat.say("/memory share 1 public", LI)
    await chat.say(f"记住我{LIKES}", WANG)
    await chat.say("谁爱吃榴莲", WANG, GROUP)
    sent = "".join(message["content"] or "" for message in chat.asked.messages)
    assert f"[xiaofang] {LIKES}" in sent
    await forget(chat)
    left = [event for event in chat.events(*Kind) if MARK in str(event.payload)]
    assert {event.place.person for event in left} == {"laowang"}
    assert [event.payload["text"] for event in left if event.kind is Kind.MESSAGE_SENT] == [f"记住了，{LIKES}。"]
    assert LIKES in (await chat.say("/memory", WANG))[0]
    assert holding(chat.home, "小芳") == []


async def test_requests_of_others_lose_what_they_said(chat: Conversation) -> None:
    chat.model(on_user("", "好的。"))
    await chat.say(f"我最{LIKES}", LI, GROUP)
    await chat.say("她说了什么", WANG, GROUP)
    asked = [message["content"] for message in chat.asked.messages]
    assert any(MARK in text for text in asked if text)
    turn = [event.place.turn for event in chat.events(Kind.TURN_STARTED)][-1] or ""
    await forget(chat)
    assert holding(chat.home, MARK) == []
    log, zone = chat.app.kit.record.log, chat.app.settings.zone
    assert "她说了什么" in timeline(trace(log, turn), "zh", zone)
    assert await chat.say("再说一遍", WANG, GROUP) == ["好的。"]
    sent = [message["content"] for message in chat.asked.messages if message["role"] != "system"]
    assert [text for text in sent if MARK in (text or "")] == []
    assert any("她说了什么" in (text or "") for text in sent)


async def test_what_was_looked_up_of_them_goes_from_the_owners_turns(chat: Conversation) -> None:
    chat.model(
        on_user("她说过", call("memory_recall", query=MARK)),
        on_result("", f"她说：我最{LIKES}。"),
        on_user("", "好的。"),
    )
    await chat.say(f"我最{LIKES}", LI, GROUP)
    await chat.app.remembering.recollection.episodes.feed()
    await chat.say("她说过什么", OWNER_QQ, GROUP)
    assert any(MARK in str(event.payload) for event in chat.events(Kind.TOOL_FINISHED))
    await chat.say(f"我自己也{LIKES}", OWNER_QQ, GROUP)
    await forget(chat)
    left = [event for event in chat.events(*Kind) if MARK in str(event.payload)]
    assert [(event.kind, event.place.person) for event in left] == [(Kind.MESSAGE_RECEIVED, "owner")]


# Who may, and when


async def test_nobody_is_not_there(chat: Conversation) -> None:
    for name in ("qq:99999", "nobody", "qq-99999", "../x", "群"):
        with pytest.raises(NotThere):
            await departures(chat).look(name)
        with pytest.raises(NotThere):
            await forget(chat, name)
    chat.model(*remembering())
    await chat.say("在吗", LI)
    await forget(chat, LI)
    with pytest.raises(NotThere):
        await forget(chat, "xiaofang")


async def test_the_owner_is_forgotten_only_with_the_word_for_it(chat: Conversation) -> None:
    chat.model(*remembering())
    await chat.say(f"记住我{LIKES}")
    with pytest.raises(NotAllowed):
        await forget(chat, "owner")
    assert MARK in (await chat.say("/memory"))[0]
    gone = await forget(chat, OWNER, even_owner=True)
    assert gone.listed == (("owner.accounts", OWNER_QQ),)
    assert holding(chat.home, MARK) == []
    chat.model(on_user("", "好的。"))
    assert await chat.say("在吗") == ["好的。"]
    assert MARK not in (await chat.say("/memory"))[0]


async def test_what_is_being_answered_to_them_is_stopped(chat: Conversation) -> None:
    chat.model(*remembering())
    await chat.send(f"记住我{LIKES}", LI)
    await chat.send("讲个故事", LI)
    await chat.send("在吗", WANG, GROUP)
    await forget(chat)
    assert not chat.app.queues.serves({"xiaofang"})
    await chat.settled()
    assert holding(chat.home, MARK) == holding(chat.home, "讲个故事") == []
    assert chat.deliver(GROUP) == ["好的。"]
    assert chat.deliver(Space("private", LI)) == []
