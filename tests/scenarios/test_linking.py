"""Seed 000: 「绑定QQ 12345」, a code, 「确认绑定」: two accounts, one person, one memory; and back again."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.messages import Space
from tests.fakes.conversation import OWNER, Conversation, remembers
from tests.fakes.model_server import on_result, on_user

QQ, TG, WX, GUEST = "qq:10002", "tg:42", "wx:o9@im.wechat", "qq:10009"
GROUP = Space("group", "qq:777")
STRANGER = "我只和主人认识的人聊天。"


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Conversation]:
    environ = {"ACCESS__MEMBERS": f'["{QQ}"]', "ACCESS__GROUPS": '["qq:777"]', "EMBEDDING__MODEL": "off"}
    async with Conversation(tmp_path, tools=None, **environ) as chat:
        yield chat


def code_in(texts: list[str]) -> str:
    found = re.search(r"[A-HJ-NP-Z2-9]{3,4}-[A-HJ-NP-Z2-9]{3,4}", "\n".join(texts))
    assert found, texts
    return found[0]


async def link(chat: Conversation, begun: str = QQ, other: str = TG) -> list[str]:
    """Link two accounts; what the one that confirms is told."""
    code = code_in(await chat.say(f"/link {other}", begun))
    (question,) = await chat.say(code, other)
    assert begun in question
    told = await chat.say("确认", other)
    chat.deliver(Space("private", begun))
    return told


def files(chat: Conversation) -> dict[str, bytes]:
    wiki = chat.home.wiki
    return {str(path.relative_to(wiki)): path.read_bytes() for path in sorted(wiki.glob("users/**/*.md"))}


async def heard(chat: Conversation, words: str, by: str, space: Space | None = None) -> str:
    """All that the model is sent."""
    chat.model()
    await chat.say(words, by, space)
    return chat.asked.raw.decode()


async def test_two_accounts_become_one_person(chat: Conversation) -> None:
    await chat.say("/memory add 我养了一只猫叫年糕", QQ)
    assert await chat.say("你好", TG) == [STRANGER]
    (told,) = await chat.say("/link tg:42", QQ)
    assert "10 分钟内用 tg:42 私聊我发这个码" in told
    (question,) = await chat.say(code_in([told]), TG)
    assert "qq:10002 说这是它的另一个账号" in question
    assert "不是你自己的账号就别确认" in question
    (linked,) = await chat.say("好的", TG)
    assert linked == "关联好了：qq:10002 和 tg:42 是同一个人了。要分开：/unlink"
    assert chat.deliver(Space("private", QQ)) == ["tg:42 确认了，和 qq:10002 是同一个人了。要分开：/unlink"]
    assert chat.deliver(Space("private", OWNER)) == [
        "成员 qq-10002 关联了账号：qq:10002 和 tg:42 现在是同一个人，都按成员算。"
    ]
    assert "#1 我养了一只猫叫年糕" in (await chat.say("/memory", TG))[0]
    who = (await chat.say("/whoami", TG))[0]
    assert "你是成员（qq-10002）" in who
    assert "你的账号：qq:10002 tg:42" in who
    assert '[persons.qq-10002]\naccounts = ["qq:10002", "tg:42"]' in chat.home.people_file.read_text("utf-8")
    assert "年糕" in await heard(chat, "你好呀，说说看", TG)


@pytest.mark.parametrize("words", ["绑定Telegram 42", "关联telegram：42", "/绑定 tg:42", "/关联 tg 42", "／link tg:42"])
async def test_the_words_of_the_seed_begin_it_too(chat: Conversation, words: str) -> None:
    code = code_in(await chat.say(words, QQ))
    (question,) = await chat.say(f"确认绑定 {code}", TG)
    assert "qq:10002" in question
    assert "关联好了" in (await chat.say("确认绑定", TG))[0]
    assert chat.server.requests == []


async def test_the_owner_links_an_account_and_it_has_every_right(chat: Conversation) -> None:
    code = code_in(await chat.say("/link 微信 o9@im.wechat"))
    (question,) = await chat.say(code, WX)
    assert "就和主人一样" in question
    await chat.say("确认", WX)
    assert "你是主人（owner）" in (await chat.say("/whoami", WX))[0]


async def test_both_memories_are_one_and_come_apart_again(chat: Conversation) -> None:
    chat.home.people_file.write_text(f'[persons.li]\naccounts = ["{TG}"]\nmember = true\nhome = "武汉"\n', "utf-8")
    chat.model(
        on_user("记住二楼", remembers(content="优先二楼", value="二楼")),
        on_user("记住三楼", remembers(content="优先三楼", value="三楼")),
        on_result("", "记住了。"),
    )
    await chat.say("记住二楼", TG)
    await chat.say("/memory add 住在宿舍三栋", TG)
    await chat.say("记住三楼", QQ)
    people, before, commits = chat.home.people_file.read_bytes(), files(chat), len(chat.commits())
    told = (await link(chat))[0]
    assert "那边的 2 条都过来了" in told
    assert "1 处说法不一样" in told
    assert len(chat.commits()) == commits + 1
    assert not [path for path in files(chat) if path.startswith("users/li")]
    page = chat.page("users/qq-10002/preferences/图书馆.md")
    assert "- 优先三楼 ^1" in page
    assert "曾优先二楼" in page
    text = chat.home.people_file.read_text("utf-8")
    assert 'home = "武汉"' in text
    assert "persons.li" not in text
    (parted,) = await chat.say("/unlink tg:42", QQ)
    assert "两边的记忆都回到关联以前的样子" in parted
    assert files(chat) == before
    assert chat.home.people_file.read_bytes() == people
    assert "优先二楼" in (await chat.say("/memory", TG))[0]
    assert "年糕" not in (await chat.say("/memory", QQ))[0]


async def test_undo_takes_a_link_back_whole(chat: Conversation) -> None:
    chat.home.people_file.write_text(f'[persons.li]\naccounts = ["{TG}"]\nmember = true\n', "utf-8")
    await chat.say("/memory add 住在宿舍三栋", TG)
    before = files(chat)
    await link(chat)
    assert "这里是群" in (await chat.say("/undo", QQ, GROUP))[0]
    (told,) = await chat.say("/undo", QQ)
    assert "分开了：tg:42" in told
    assert files(chat) == before
    assert "你是成员（li）" in (await chat.say("/whoami", TG))[0]


async def test_what_was_remembered_since_stays_and_nothing_is_lost(chat: Conversation) -> None:
    chat.home.people_file.write_text(f'[persons.li]\naccounts = ["{TG}"]\nmember = true\n', "utf-8")
    await chat.say("/memory add 住在宿舍三栋", TG)
    await chat.say("/memory add 喜欢喝茶", QQ)
    await link(chat)
    await chat.say("/memory add 养了一只猫", TG)
    (told,) = await chat.say("/unlink", TG)
    assert "改动留在这边：users/qq-10002/profile.md" in told
    assert "住在宿舍三栋" in (await chat.say("/memory", TG))[0]
    mine = (await chat.say("/memory", QQ))[0]
    assert "喜欢喝茶" in mine
    assert "养了一只猫" in mine
    assert "宿舍" not in mine


async def test_what_was_said_under_the_old_id_is_found_and_counted(chat: Conversation) -> None:
    chat.home.people_file.write_text(f'[persons.li]\naccounts = ["{TG}"]\nmember = true\n', "utf-8")
    chat.model()
    await chat.say("我的学生证丢在三号楼了", TG)
    before = (await chat.say("/cost", TG))[0]
    await link(chat)
    reader = chat.app.kit.people.reader(QQ, Space("private", QQ))
    assert reader.ids == {"qq-10002", "li", "tg-42"}
    found = await chat.app.remembering.recollection.recall(reader, query="学生证")
    assert "我的学生证丢在三号楼了" in [line.text for line in found.lines if line.own]
    assert before == (await chat.say("/cost", QQ))[0]
    assert "今天用了 1/200 轮" in (await chat.say("/whoami", QQ))[0]
    await chat.say("/memory add 住在宿舍三栋", TG)
    await chat.say("/unlink tg:42", QQ)
    found = await chat.app.remembering.recollection.recall(
        chat.app.kit.people.reader(QQ, Space("private", QQ)), query="学生证"
    )
    assert found.lines == ()


async def test_why_leads_to_what_the_other_account_said(chat: Conversation) -> None:
    chat.home.people_file.write_text(f'[persons.li]\naccounts = ["{TG}"]\nmember = true\n', "utf-8")
    await chat.say("/memory add 住在宿舍三栋", TG)
    await link(chat)
    (story,) = await chat.say("/memory why 1", QQ)
    assert "住在宿舍三栋" in story
    assert "/memory add" in story, "the sentence itself"
    assert "拿掉" not in story


async def test_a_no_links_nothing_and_both_are_told(chat: Conversation) -> None:
    code = code_in(await chat.say("/link tg:42", QQ))
    await chat.say(code, TG)
    assert await chat.say("不", TG) == ["好，没有关联。"]
    assert chat.deliver(Space("private", QQ)) == ["tg:42 那边没有确认，没有关联。"]
    assert not chat.events(Kind.PERSON_LINKED)
    await chat.later(minutes=2)
    assert await chat.say("好", TG) == [STRANGER]


async def test_the_question_survives_a_restart(chat: Conversation) -> None:
    code = code_in(await chat.say("/link tg:42", QQ))
    await chat.restart()
    await chat.say(code, TG)
    await chat.restart()
    assert "关联好了" in (await chat.say("确认", TG))[0]
    await chat.restart()
    assert "你的账号：qq:10002 tg:42" in (await chat.say("/whoami", QQ))[-1]


async def test_a_bare_yes_counts_only_where_it_was_asked_and_last(chat: Conversation) -> None:
    code = code_in(await chat.say("/link tg:42", QQ))
    await chat.say(code, TG)
    chat.model()
    await chat.say("好", QQ)
    assert not chat.events(Kind.PERSON_LINKED)
    await chat.later(minutes=2)
    await chat.say("等等，这是什么？", TG)
    assert await chat.say("好", TG) == []
    assert not chat.events(Kind.PERSON_LINKED)
    assert "关联好了" in (await chat.say("确认关联", TG))[0]


async def test_in_a_group_nothing_of_it_is_told(chat: Conversation) -> None:
    chat.model()
    for words in ("/link tg:42", "/unlink", "绑定QQ 10001"):
        assert await chat.say(words, QQ, GROUP) == ["这里是群，私聊我再说。"]
    assert await chat.say("/claim", OWNER, GROUP) == ["这里是群，私聊我再说。"]
    assert await chat.say("/whoami", QQ, GROUP) == ["你是成员。账号和能做什么，私聊我再说。"]
    assert not chat.events(Kind.CODE_GIVEN)


async def test_the_owner_may_say_it_in_the_file(chat: Conversation) -> None:
    """Linking, renaming and parting by hand: the memory follows, and the owner is told."""
    await chat.say("/memory add 喜欢喝茶", QQ)
    await chat.say("/whoami")
    before = files(chat)
    chat.home.people_file.write_text(f'[persons.xiaoli]\naccounts = ["{QQ}"]\nmember = true\n', "utf-8")
    (told, _) = await chat.say("/whoami")
    assert told == "people.toml 里 qq-10002 现在就是 xiaoli，记忆也合过去了。"
    assert "喜欢喝茶" in (await chat.say("/memory", QQ))[0]
    chat.home.people_file.write_text(f'[persons.lily]\naccounts = ["{QQ}"]\nmember = true\n', "utf-8")
    await chat.restart()
    assert "喜欢喝茶" in (await chat.say("/memory", QQ))[0]
    assert list(files(chat)) == ["users/lily/profile.md"]
    chat.home.people_file.write_text("", "utf-8")
    await chat.say("/whoami")
    assert "喜欢喝茶" in (await chat.say("/memory", QQ))[0]
    assert list(files(chat)) == list(before)


async def test_what_is_not_signed_proves_nothing(chat: Conversation) -> None:
    code = code_in(await chat.say(f"/link {TG}", QQ))
    assert await chat.say(code, TG, signed=False) == []
    assert await chat.say(code, GUEST, GROUP, signed=False, addressed=False) == []
    (question,) = await chat.say(code, TG)  # still good: nobody has used it up
    assert QQ in question
    assert await chat.say("确认", TG, signed=False) == []
    assert await chat.say("不关联", TG, signed=False) == []
    assert await chat.say("你好", signed=False) == []  # not the owner's either
    assert "关联好了" in (await chat.say("确认", TG))[0]
    reasons = [event.payload["reason"] for event in chat.events(Kind.MESSAGE_IGNORED)]
    assert reasons == ["unsigned"] * 5


async def test_what_is_not_signed_brings_nobody_back_into_a_group(chat: Conversation) -> None:
    membership = chat.app.desk.membership
    await chat.say("你好", QQ, GROUP, addressed=False)
    membership.left("qq", GROUP, QQ)
    await chat.say("我还在", QQ, GROUP, addressed=False, signed=False)
    assert membership.groups.has_left(GROUP, QQ)
    await chat.say("我还在", QQ, GROUP, addressed=False)
    assert not membership.groups.has_left(GROUP, QQ)


async def test_claiming_by_a_code(chat: Conversation) -> None:
    code = code_in(await chat.say("/claim"))
    assert len(code) == 9
    assert await chat.say(code.lower(), TG) == ["认得了：tg:42 是主人的账号。"]
    assert "你是主人（owner）" in (await chat.say("/whoami", TG))[0]
    more = code_in(await chat.say("/claim", TG))
    await chat.say("/memory add 喜欢喝茶", QQ)
    assert "那边的 1 条都过来了" in (await chat.say(more, QQ))[0]
    assert "喜欢喝茶" in (await chat.say("/memory"))[-1]
    assert (await chat.say("/claim", GUEST))[0] == STRANGER
    await chat.restart()
    assert "你的账号：tg:42 qq:10002 cli:local" in (await chat.say("/whoami", QQ))[0]
