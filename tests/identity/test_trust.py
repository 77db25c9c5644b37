"""Every row of identity.md, What is trusted, and who may answer a question."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from qingtuan.identity.scopes import Reader, Role
from qingtuan.identity.trust import (
    CallFacts,
    Piece,
    QuestionFacts,
    Risk,
    StandingYes,
    inherit,
    material_in,
    may_answer,
    verdict,
)
from qingtuan.messages import Origin, Space

NOW = datetime(2026, 11, 30, tzinfo=UTC)
WEB = (Piece(Origin.WEB, "a.test"),)
EVERYBODY = frozenset(Role)
NOBODY: frozenset[Role] = frozenset()
KEY = "sk-" + "3f9a" * 8


def call(risk: Risk, role: Role = Role.OWNER, roles: frozenset[Role] = EVERYBODY, **facts: Any) -> CallFacts:
    return CallFacts("tool", risk, facts.pop("arguments", {}), role, roles, now=NOW, **facts)


def decision(facts: CallFacts) -> str:
    return verdict(facts).decision


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        # read: runs.
        (call(Risk.READ, arguments={"query": "座位"}), "run"),
        (call(Risk.READ, arguments={"query": "座位"}, material=WEB), "run"),
        (call(Risk.READ, Role.GUEST, arguments={"query": KEY}), "run"),
        # read that sends out, no material: runs unless it holds a secret or somebody else's data.
        (call(Risk.READ, sends_out=True, arguments={"query": "天气"}), "run"),
        (call(Risk.READ, sends_out=True, arguments={"url": "https://made.test/up"}), "run"),
        (call(Risk.READ, sends_out=True, arguments={"query": KEY}), "ask"),
        (call(Risk.READ, sends_out=True, arguments={"q": {"password": "hunter2"}}), "ask"),
        (call(Risk.READ, sends_out=True, arguments={"query": "小丽住哪"}, others=("小丽",)), "ask"),
        (call(Risk.READ, sends_out=True, arguments={"query": "不是小丽"}, others=("小丽",)), "ask"),
        (call(Risk.READ, sends_out=True, arguments={"query": "10002 是谁"}, others=("10002",)), "ask"),
        (call(Risk.READ, sends_out=True, arguments={"query": "天气"}, others=("小丽",)), "run"),
        # with material: an address must stand in the message or in a result of this turn.
        (call(Risk.READ, sends_out=True, material=WEB, arguments={"url": "https://a.test/?d=x"}), "ask"),
        (
            call(
                Risk.READ,
                sends_out=True,
                material=WEB,
                arguments={"url": "https://a.test/x"},
                own_words="看 https://a.test/x 吧",
            ),
            "run",
        ),
        (
            call(
                Risk.READ,
                sends_out=True,
                material=WEB,
                arguments={"url": "https://a.test/x"},
                results=("1. 标题 https://a.test/x\n2. …",),
            ),
            "run",
        ),
        (
            call(
                Risk.READ,
                sends_out=True,
                material=WEB,
                arguments={"url": "https://a.test/x?d=1"},
                own_words="看 https://a.test/x 吧",
                results=("https://a.test/x", "https://a.test/x?d=12"),
            ),
            "ask",
        ),
        (
            call(
                Risk.READ,
                sends_out=True,
                material=WEB,
                arguments={"url": "https://a.test/x"},
                own_words="看 a.test/x 吧",
            ),
            "run",
        ),
        # with material: other values must stand in the message; a result does not do.
        (
            call(
                Risk.READ,
                sends_out=True,
                material=WEB,
                arguments={"query": "httpx 文档"},
                own_words="查一下httpx文档",
            ),
            "run",
        ),
        (
            call(
                Risk.READ,
                sends_out=True,
                material=WEB,
                arguments={"query": "我的住址是"},
                own_words="查一下",
                results=("我的住址是",),
            ),
            "ask",
        ),
        (
            call(
                Risk.READ,
                sends_out=True,
                material=WEB,
                arguments={"query": "看 https://a.test/x 和 别的"},
                own_words="看 https://a.test/x",
            ),
            "ask",
        ),
        (
            call(
                Risk.READ,
                sends_out=True,
                material=WEB,
                arguments={"query": "天气", "limit": 5},
                own_words="查天气",
                labels=frozenset({"limit"}),
            ),
            "run",
        ),
        (
            call(
                Risk.READ,
                sends_out=True,
                material=WEB,
                arguments={"query": "天气", "topic": "偷偷带出去的话"},
                own_words="查天气",
                labels=frozenset({"topic"}),
            ),
            "ask",
        ),
        # write
        (call(Risk.WRITE, arguments={"content": "不吃香菜"}), "run"),
        (call(Risk.WRITE, Role.MEMBER, arguments={"content": "不吃香菜"}), "run"),
        (call(Risk.WRITE, Role.GUEST, arguments={"content": "不吃香菜"}), "refuse"),
        (call(Risk.WRITE, arguments={"content": "不吃香菜"}, material=WEB, own_words="记住我不吃香菜"), "run"),
        (call(Risk.WRITE, arguments={"content": "主人是张三"}, material=WEB, own_words="总结一下"), "ask"),
        (
            call(
                Risk.WRITE,
                arguments={"text": "交报告", "at": "2026-12-01"},
                material=WEB,
                own_words="明天提醒我交报告",
                resolved=frozenset({"2026-12-01"}),
            ),
            "run",
        ),
        # act
        (call(Risk.ACT), "ask"),
        (call(Risk.ACT, Role.MEMBER), "ask"),
        (call(Risk.ACT, Role.MEMBER, NOBODY), "ask"),
        (call(Risk.ACT, Role.GUEST, NOBODY), "ask"),
        (call(Risk.CRITICAL), "ask"),
        # roles
        (call(Risk.READ, Role.MEMBER, NOBODY), "refuse"),
        (call(Risk.WRITE, Role.MEMBER, frozenset({Role.OWNER})), "refuse"),
        (call(Risk.READ, Role.OWNER, NOBODY), "run"),
        # nobody to ask
        (call(Risk.ACT, can_ask=False), "refuse"),
        (call(Risk.READ, can_ask=False), "run"),
    ],
)
def test_the_table(facts: CallFacts, expected: str) -> None:
    result = verdict(facts)
    assert result.decision == expected
    assert (result.why is None) is (expected == "run")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("周日 图书馆 开放时间", "run"),
        ("开放时间 2026-12-06", "run"),
        ("周日图书馆", "ask"),
        ("图书馆 密码", "ask"),
        ("馆 图 员", "ask"),
        ("去 图书馆", "ask"),
        ("打扰 图书馆", "ask"),
        (" ".join(["图书馆", "开放"] * 5), "ask"),
    ],
)
def test_search_words_may_be_picked_out_of_what_was_said(query: str, expected: str) -> None:
    words = "帮我搜一下图书馆的开放时间，是这个周日，别打扰馆员"
    facts = call(
        Risk.READ, sends_out=True, material=WEB, arguments={"query": query}, own_words=words,
        resolved=frozenset({"2026-12-06"}),
    )  # fmt: skip
    assert decision(facts) == expected


def test_an_address_that_the_model_composed_is_an_act() -> None:
    result = verdict(call(Risk.READ, sends_out=True, material=WEB, arguments={"url": "https://a.test/?d=x"}))
    assert result.risk is Risk.ACT
    assert verdict(call(Risk.READ, sends_out=True, arguments={"query": KEY})).risk is Risk.READ


def test_the_question_names_the_origin_in_words_of_our_own() -> None:
    pieces = (Piece(Origin.FILE, "已获主人批准.txt"), Piece(Origin.WEB), Piece(Origin.WEB))
    why = verdict(call(Risk.WRITE, material=pieces, arguments={"content": "x"})).why
    assert why is not None
    assert "文件、网页" in why.zh
    assert "批准" not in why.zh
    secret = verdict(call(Risk.READ, sends_out=True, arguments={"query": KEY})).why
    assert secret is not None
    assert "API 密钥" in secret.zh
    assert KEY not in secret.zh + secret.en


def standing(**pattern: str) -> tuple[StandingYes, ...]:
    return (StandingYes("tool", tuple(pattern.items()), NOW + timedelta(days=1)),)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (call(Risk.ACT, arguments={"seat": "二楼A12"}, standing=standing(seat="二楼*")), "run"),
        (call(Risk.ACT, arguments={"seat": "三楼A12"}, standing=standing(seat="二楼*")), "ask"),
        (call(Risk.ACT, arguments={"seat": "二楼A12", "day": 3}, standing=standing(seat="*")), "ask"),
        (call(Risk.ACT, arguments={"seat": "二楼A12", "day": 3}, standing=standing(seat="*", day="3")), "run"),
        (call(Risk.ACT, arguments={"seat": "二楼A12"}, standing=standing(seat="*", day="*")), "run"),
        (call(Risk.ACT, arguments={"seat": "二楼A12"}, standing=standing(seat="*", day="3")), "ask"),
        (call(Risk.ACT, arguments={"list": ["a", "b"]}, standing=standing(list='["a", *')), "run"),
        (call(Risk.ACT, arguments={"seat": "A"}, standing=standing(seat="*"), material=WEB), "ask"),
        (call(Risk.CRITICAL, arguments={"seat": "A"}, standing=standing(seat="*")), "ask"),
        (call(Risk.ACT, Role.MEMBER, arguments={"seat": "A"}, standing=standing(seat="*")), "ask"),
        (call(Risk.ACT, arguments={"seat": KEY}, standing=standing(seat="*"), sends_out=True), "ask"),
        (call(Risk.ACT, arguments={"seat": "A"}, standing=()), "ask"),
    ],
)
def test_a_standing_yes(facts: CallFacts, expected: str) -> None:
    assert decision(facts) == expected


def test_a_standing_yes_is_for_one_tool_until_it_expires() -> None:
    (yes,) = standing(seat="*")
    assert yes.fits("tool", {"seat": "A"}, NOW)
    assert not yes.fits("other", {"seat": "A"}, NOW)
    assert not yes.fits("tool", {"seat": "A"}, NOW + timedelta(days=1))


def test_what_is_made_from_pieces_is_as_foreign_as_the_most_foreign() -> None:
    assert inherit([]) is Origin.SYSTEM
    assert inherit([Origin.OWNER, Origin.ASSISTANT]) is Origin.ASSISTANT
    assert inherit([Origin.ASSISTANT, Origin.WEB, Origin.OWNER]) is Origin.WEB
    for pair in permutations(Origin, 2):
        made = inherit(pair)
        assert made in pair
        assert made.foreign is any(origin.foreign for origin in pair)


def test_what_others_say_is_material_for_the_speaker() -> None:
    own = Piece(Origin.OWNER, "", "owner")
    other = Piece(Origin.PERSON, "", "qq-2")
    pieces = [own, other, Piece(Origin.SYSTEM), Piece(Origin.ASSISTANT), *WEB]
    assert material_in(pieces, "owner") == (other, *WEB)
    assert material_in(pieces, "qq-2") == (own, *WEB)


CHAT = Space("private", "qq:2")
OWNER_CHAT = Space("private", "qq:1")
GROUP = Space("group", "qq:777")
OTHER = Space("group", "qq:888")
MEMBERS = frozenset({Role.OWNER, Role.MEMBER})


def owner(space: Space) -> Reader:
    return Reader("owner", Role.OWNER, space)


def member(space: Space, person: str = "qq-2") -> Reader:
    return Reader(person, Role.MEMBER, space)


@pytest.mark.parametrize(
    ("question", "answerer", "may"),
    [
        (QuestionFacts(Risk.WRITE, "qq-2", GROUP), member(GROUP), True),
        (QuestionFacts(Risk.WRITE, "qq-2", GROUP), member(GROUP, "qq-3"), False),
        (QuestionFacts(Risk.WRITE, "qq-2", GROUP), owner(GROUP), False),
        (QuestionFacts(Risk.WRITE, "qq-2", GROUP), member(CHAT), False),
        (QuestionFacts(Risk.WRITE, "owner", GROUP), owner(OWNER_CHAT), True),
        (QuestionFacts(Risk.READ, "qq-2", CHAT), member(CHAT), True),
        (QuestionFacts(Risk.ACT, "qq-2", GROUP), member(GROUP), False),
        (QuestionFacts(Risk.ACT, "qq-2", GROUP, MEMBERS), member(GROUP), True),
        (QuestionFacts(Risk.ACT, "qq-2", GROUP, MEMBERS), member(GROUP, "qq-3"), False),
        (QuestionFacts(Risk.ACT, "qq-2", GROUP), owner(GROUP), True),
        (QuestionFacts(Risk.ACT, "qq-2", CHAT), owner(OWNER_CHAT), True),
        (QuestionFacts(Risk.ACT, "qq-2", GROUP), owner(OTHER), False),
        (QuestionFacts(Risk.CRITICAL, "owner", OWNER_CHAT), owner(OWNER_CHAT), True),
        (QuestionFacts(Risk.ACT, "owner", GROUP), member(GROUP), False),
        (QuestionFacts(Risk.ACT, "owner", Space("private", "http:k")), owner(Space("private", "http:k")), False),
        (QuestionFacts(Risk.ACT, "owner", GROUP), owner(Space("private", "a2a:bot")), False),
        (QuestionFacts(Risk.ACT, "qq-2", GROUP), Reader("qq-3", Role.OWNER, GROUP), False),
    ],
)
def test_who_may_answer(question: QuestionFacts, answerer: Reader, may: bool) -> None:
    assert may_answer(question, answerer) is may


EVIL = "https://evil.test/c"


@pytest.mark.parametrize(
    ("url", "own_words", "results", "expected"),
    [
        # What stands behind a known address could be spelt: dots and slashes carry as much as letters do.
        (f"{EVIL}?!;:,.)]}}?!!;;:.,", "", f"<{EVIL}>", "ask"),
        (f"{EVIL}/////////", "", f"<{EVIL}>", "ask"),
        (f"{EVIL}.", "", f"<{EVIL}>", "ask"),
        (f"{EVIL}，密码", "密码", f"<{EVIL}>", "ask"),
        (f"{EVIL}“密码", "密码", f"<{EVIL}>", "ask"),
        (f"{EVIL} 密码", "密码", f"<{EVIL}>", "ask"),
        # Letter case as well.
        ("https://evil.test/C", "", f"<{EVIL}>", "ask"),
        ("https://evil.test/aBc", "看 evil.test/abc", "", "ask"),
        ("https://evil.test/abc////", "看 evil.test/abc", "", "ask"),
        ("https://evil.test/a bc", "看 evil.test/abc", "", "ask"),
        ("https://eVil@evil.test/", "", "https://evil@evil.test/", "ask"),
        # The scheme, one slash at the end and the letter case of the host are nobody's message.
        (f"{EVIL}/", "", f"<{EVIL}>", "run"),
        (EVIL, "", f"<{EVIL}/>", "run"),
        ("HTTP://Evil.test/c", "", f"<{EVIL}>", "run"),
        ("https://Evil.test/abc/", "看 evil.TEST/abc 吧", "", "run"),
        (f"<{EVIL}>", "", f"<{EVIL}>", "run"),
        # Without a scheme it is an address all the same.
        ("evil.test/c?d=1234", "", f"<{EVIL}>", "ask"),
        ("evil.test/c", "", f"<{EVIL}>", "run"),
        # Brackets may belong to it.
        ("https://a.test/b_(c)", "看 https://a.test/b_(c)", "", "run"),
        ("https://a.test/b_(c)", "", "[名](https://a.test/b_(c))", "run"),
        ("https://a.test/b", "", "(https://a.test/b).", "run"),
        ("https://a.test/b", "看 https://a.test/b, 好吗?", "", "run"),
    ],
)
def test_only_what_stands_there_to_the_letter_is_an_address_that_was_given(
    url: str, own_words: str, results: str, expected: str
) -> None:
    facts = call(
        Risk.READ, sends_out=True, material=WEB, arguments={"url": url}, own_words=own_words, results=(results,)
    )
    found = verdict(facts)
    assert (found.decision, found.risk) == (expected, Risk.ACT if expected == "ask" else Risk.READ)
