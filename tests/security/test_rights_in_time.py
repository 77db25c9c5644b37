"""Rights that change between a question and its answer, a proposal and its acceptance, a message and its turn.

What counts is what somebody may do at the moment when it is done; and nobody becomes more than they were asked about.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from qingtuan.events.kinds import Kind
from qingtuan.events.log import Place
from qingtuan.identity.scopes import Scope
from qingtuan.language import Words
from qingtuan.memory.acts import By
from qingtuan.memory.beliefs import Candidate
from qingtuan.messages import Space
from tests.fakes.booking import Bookings, books
from tests.fakes.conversation import OWNER, Conversation
from tests.fakes.model_server import call, on_result, on_user
from tests.security.planted import obey, spoken

QQ, TG, OTHER = "qq:10002", "tg:42", "qq:10003"
GROUP = Space("group", "qq:777")


@pytest.fixture
def bookings(tmp_path: Path) -> Bookings:
    return Bookings(tmp_path / "bookings.jsonl")


@pytest.fixture
async def chat(tmp_path: Path, bookings: Bookings) -> AsyncIterator[Conversation]:
    environ = {"ACCESS__MEMBERS": f'["{QQ}"]', "ACCESS__GROUPS": '["qq:777"]', "EMBEDDING__MODEL": "off"}
    async with Conversation(tmp_path, tools={"booking": bookings}, **environ) as chat:
        yield chat


def people(chat: Conversation, text: str) -> None:
    """What the owner writes into the file; it counts from the next message on."""
    chat.home.people_file.write_text(text, "utf-8")


async def given(chat: Conversation, command: str, by: str) -> str:
    found = re.search(r"[2-9A-Z]{3,4}-[2-9A-Z]{3,4}", (await chat.say(command, by))[-1])
    assert found
    return found[0]


def role(chat: Conversation, account: str) -> str:
    person = chat.app.kit.people.find(account)
    return str(chat.app.kit.people.role(person)) if person else "nobody"


# Links


async def test_an_account_that_became_the_owners_meanwhile_joins_nobody(chat: Conversation) -> None:
    """It was asked as a stranger; by the time of the yes it is the owner's, whose memory would go to a member."""
    await chat.say(await given(chat, f"/link {TG}", QQ), TG)
    people(chat, f'[persons.owner]\naccounts = ["{TG}"]\n')
    await chat.say("/memory add 存折在书房")
    await chat.say("确认关联", TG)
    assert not chat.events(Kind.PERSON_LINKED)
    assert (role(chat, TG), role(chat, QQ)) == ("owner", "member")
    assert "存折" not in str(await chat.say("/memory", QQ))


async def test_nobody_becomes_the_owner_by_a_yes_to_another_question(chat: Conversation) -> None:
    """Whoever began it was a member when the question was asked, and is the owner by the time of the yes."""
    await chat.say(await given(chat, f"/link {TG}", QQ), TG)
    people(chat, f'[persons.owner]\naccounts = ["{QQ}"]\n')
    await chat.say("/whoami")
    await chat.say("确认关联", TG)
    assert not chat.events(Kind.PERSON_LINKED)
    assert role(chat, TG) == "guest"


@pytest.mark.parametrize("command", ["/claim", f"/link {TG}"])
async def test_a_code_dies_with_the_rights_of_whoever_asked_for_it(chat: Conversation, command: str) -> None:
    """It was asked for from an account of the owner that is not theirs any more."""
    people(chat, f'[persons.owner]\naccounts = ["{OTHER}"]\n')
    code = await given(chat, command, OTHER)
    people(chat, "")
    await chat.say(code, TG)
    await chat.say("确认关联", TG)
    assert not chat.events(Kind.PERSON_LINKED, Kind.PERSON_CLAIMED)
    assert role(chat, TG) == "guest"


@pytest.mark.parametrize("command", ["/claim", f"/link {TG}"])
async def test_nor_does_its_question_outlive_them(chat: Conversation, command: str) -> None:
    people(chat, f'[persons.owner]\naccounts = ["{OTHER}"]\n')
    code = await given(chat, command, OTHER)
    if command != "/claim":
        await chat.say(code, TG)
    people(chat, "")
    await chat.say("确认关联" if command != "/claim" else code, TG)
    assert not chat.events(Kind.PERSON_LINKED, Kind.PERSON_CLAIMED)
    assert role(chat, TG) == "guest"


async def test_of_two_links_to_one_account_a_bare_yes_means_the_last(chat: Conversation) -> None:
    people(chat, f'[persons.li]\naccounts = ["{OTHER}"]\nmember = true\n')
    first, second = await given(chat, f"/link {TG}", QQ), await given(chat, f"/link {TG}", OTHER)
    await chat.say(first, TG)
    await chat.say(second, TG)
    await chat.say("是", TG)
    (linked,) = chat.events(Kind.PERSON_LINKED)
    assert linked.payload["kept"] == "li"
    await chat.say("确认关联", TG)
    assert len(chat.events(Kind.PERSON_LINKED)) == 1
    assert role(chat, TG) == "member"
    assert chat.app.kit.people.find(QQ) != chat.app.kit.people.find(TG)


async def test_two_who_link_each_other_at_once_are_one_person(chat: Conversation) -> None:
    people(chat, f'[persons.li]\naccounts = ["{OTHER}"]\nmember = true\n')
    mine, theirs = await given(chat, f"/link {OTHER}", QQ), await given(chat, f"/link {QQ}", OTHER)
    await chat.say(mine, OTHER)
    await chat.say(theirs, QQ)
    await chat.say("确认关联", OTHER)
    await chat.say("确认关联", QQ)
    assert len(chat.events(Kind.PERSON_LINKED)) == 1
    assert chat.app.kit.people.find(QQ) == chat.app.kit.people.find(OTHER)
    await chat.restart()
    assert chat.app.kit.people.find(QQ) == chat.app.kit.people.find(OTHER)


# Questions about acts


@pytest.mark.parametrize("after", ["", '[persons.li]\naccounts = ["qq:10003"]\n'])
async def test_a_member_who_is_none_any_more_has_nothing_done(
    chat: Conversation, bookings: Bookings, after: str
) -> None:
    """The owner agrees to what a member asked for, who is a guest by then."""
    people(chat, f'[persons.li]\naccounts = ["{OTHER}"]\nmember = true\n')
    chat.model(on_user("约", books()), on_result("", "约好了。"))
    await chat.say("约个座位", OTHER)
    (asked,) = chat.app.kit.book.open()
    people(chat, after)
    await chat.say("/whoami")
    await chat.say(f"确认 {asked.code}")
    await chat.say(f"确认 {asked.code}", OTHER)
    await chat.later(minutes=1)
    assert bookings.made == []


async def test_a_turn_that_had_to_wait_has_the_rights_of_when_it_begins(chat: Conversation) -> None:
    """A member's message waits for its cool-down; by the time of its turn they are a guest, who writes nothing."""
    people(chat, f'[persons.li]\naccounts = ["{OTHER}"]\nmember = true\n')
    obey(chat)
    await chat.say("你好", OTHER)
    await chat.send("你好", OTHER)
    await chat.send(spoken("note_write", title="占位", content="还是成员"), OTHER)
    people(chat, "")
    await chat.say("/whoami")
    await chat.later(seconds=40)
    assert not any("占位" in page for page in chat.pages())


async def test_a_message_that_waited_while_its_account_was_linked_is_not_swallowed(chat: Conversation) -> None:
    people(chat, f'[persons.li]\naccounts = ["{OTHER}"]\nmember = true\n')
    chat.model()
    code = await given(chat, f"/link {OTHER}", QQ)
    await chat.say("你好", OTHER)
    await chat.say(code, OTHER)
    await chat.send("还有一件事", OTHER)
    await chat.send("确认关联", OTHER)
    await chat.later(seconds=40)
    told = chat.deliver(Space("private", OTHER))
    assert any("还有" in str(event.payload) for event in chat.events(Kind.MODEL_REQUESTED)) or any(
        "请再说一遍" in text for text in told
    )


# What waits for a word


def waiting(chat: Conversation, text: str, account: str, scope: Scope | None = None) -> None:
    """Something of theirs waits in `/review`, as if it had been concluded from what they said."""
    space = Space("private", account) if scope is None or scope.kind == "user" else Space("group", scope.id)
    reader = chat.app.kit.people.reader(account, space)
    now = chat.clock.now().astimezone(chat.app.kit.zone_of(reader))
    cause = chat.events(Kind.MESSAGE_RECEIVED)[-1].id
    by = By(reader, Place(None, space, None, reader.person), cause, "", now, "zh")
    candidate = Candidate(text=text, said_at=now, how="inferred")
    scope = scope or Scope.of_person(reader.person)
    chat.app.remembering.memory.propose(candidate, scope, by, Words("看出来的", "concluded"))


async def listed(chat: Conversation, by: str = OWNER) -> dict[int, str]:
    """What waits for somebody's word, by its number."""
    lines = (await chat.say("/review", by))[-1].splitlines()
    return {int(found[1]): found[2] for line in lines if (found := re.match(r"(\d+)\. (.*)", line))}


async def test_who_is_a_guest_by_then_keeps_nothing(chat: Conversation) -> None:
    people(chat, f'[persons.li]\naccounts = ["{OTHER}"]\nmember = true\n')
    await chat.say("/whoami")
    waiting(chat, "常吃川菜", OTHER)
    assert "常吃川菜" in str(await listed(chat, OTHER))
    people(chat, f'[persons.li]\naccounts = ["{OTHER}"]\n')
    for words in ("/review", "/review accept 1", "/review accept all", "/review edit 1 别的", "1"):
        await chat.say(words, OTHER)
    assert chat.pages() == []


async def test_who_may_not_write_the_group_any_more_keeps_nothing_for_it(chat: Conversation) -> None:
    people(chat, f'[persons.li]\naccounts = ["{OTHER}"]\nmember = true\nwrites_groups = ["qq:777"]\n')
    await chat.say("/whoami")
    waiting(chat, "每周三聚餐", OTHER, Scope.of_group("qq:777"))
    assert await listed(chat, OTHER) == {1: "每周三聚餐（记给群 qq:777）"}
    people(chat, f'[persons.li]\naccounts = ["{OTHER}"]\nmember = true\n')
    await chat.say("/review accept 1", OTHER)
    assert await listed(chat, OTHER) == {}
    assert chat.pages() == []
    assert "记住了" in (await chat.say("/review accept 1"))[0]


async def test_who_lost_the_right_to_write_takes_nothing_back_either(chat: Conversation) -> None:
    writer = f'[persons.li]\naccounts = ["{OTHER}"]\nmember = true\n'
    people(chat, f'{writer}writes_groups = ["qq:777"]\n')
    chat.model(on_user("聚餐", call("remember", content="本群周三聚餐", subject="本群")), on_result("", "记住了。"))
    await chat.say("记住本群周三聚餐", OTHER, GROUP)
    (page,) = chat.pages()
    before = chat.page(page)
    people(chat, writer)
    for place in (None, GROUP):
        await chat.say("/undo", OTHER, place)
    assert chat.page(page) == before
    people(chat, writer.replace("member = true\n", ""))
    for place in (None, GROUP):
        await chat.say("/undo", OTHER, place)
    assert chat.page(page) == before


async def test_another_s_numbers_are_nobody_else_s(chat: Conversation) -> None:
    people(chat, f'[persons.li]\naccounts = ["{OTHER}"]\nmember = true\n')
    await chat.say("/whoami")
    waiting(chat, "常吃川菜", OTHER)
    waiting(chat, "常吃米线", QQ)
    for words in ("/review accept 1 2 10001", "/review reject all", "/审核 改 1 别的"):
        await chat.say(words, QQ)
    assert await listed(chat, OTHER) == {1: "常吃川菜"}


async def test_a_number_means_the_same_after_every_link(chat: Conversation) -> None:
    """Each account had a number 1; whatever is linked and parted, a number that was shown is never another's."""
    shown: dict[int, str] = {}

    async def look() -> None:
        for number, text in (await listed(chat)).items():
            assert shown.setdefault(number, text) == text

    accounts = ("qq:10005", "qq:10003", "qq:10009", "qq:10001")
    people(chat, "".join(f'[persons.p{one[-1]}]\naccounts = ["{one}"]\nmember = true\n' for one in accounts))
    await chat.say("/whoami")
    waiting(chat, "主人的事", OWNER)
    for account in accounts:
        waiting(chat, f"{account} 的事", account)
    await look()
    for account in accounts:
        code = await given(chat, f"/link {account}", OWNER)
        await chat.say(code, account)
        await chat.say("确认关联", account)
        await look()
        assert f"{account} 的事" in shown.values()
    waiting(chat, "主人的另一件事", OWNER)
    await look()
    await chat.say("/unlink qq:10003")
    await look()
    waiting(chat, "主人的第三件事", OWNER)
    await look()


async def test_an_answer_in_numbers_means_what_was_asked(chat: Conversation) -> None:
    """A digest names things by number; by the time of the answer the person has another id, and other numbers."""
    people(chat, "")
    await chat.say("你好", QQ)
    waiting(chat, "常吃川菜", QQ)
    waiting(chat, "常吃米线", QQ)
    await chat.later(days=1, hours=2)
    chat.app.digest.look()
    (asked,) = chat.deliver(Space("private", QQ))
    assert "1. 常吃川菜" in asked
    people(chat, f'[persons.li]\naccounts = ["{QQ}"]\nmember = true\n')
    await chat.say("/whoami")
    waiting(chat, "怕狗", QQ)
    await chat.say("1", QQ)
    assert not any("怕狗" in chat.page(page) for page in chat.pages())
    assert any("常吃川菜" in chat.page(page) for page in chat.pages())


async def test_a_no_does_not_hide_that_it_is_remembered_already(chat: Conversation) -> None:
    """It was written meanwhile: by hand, or right before the process ended, before anybody wrote down that it was."""
    await chat.say("你好", QQ)
    waiting(chat, "常吃川菜", QQ)
    await chat.say("/memory add 常吃川菜", QQ)
    (told,) = await chat.say("/review reject 1", QQ)
    assert "已经记着了：#1 常吃川菜" in told
    assert "/memory del" in told
    assert await listed(chat, QQ) == {}
    waiting(chat, "常吃川菜", QQ)
    assert await listed(chat, QQ) == {}
