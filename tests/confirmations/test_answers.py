from __future__ import annotations

import unicodedata
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.confirmations.answers import (
    NOT_AN_ANSWER,
    Answer,
    Said,
    code_in,
    is_explicit,
    may_be_answer,
    recognise,
    say_needs_code,
)
from qingtuan.confirmations.confirmation import Answerable, Chat, Confirmation
from qingtuan.events.log import Place
from qingtuan.identity.scopes import Reader, Role
from qingtuan.identity.trust import QuestionFacts, Risk
from qingtuan.messages import Space

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
HOME = Space("private", "qq:1")
OWNER = Reader("owner", Role.OWNER, HOME)
SEAT = Confirmation(
    event="evt_seat",
    code="K7QM",
    place=Place("s_1", HOME, "turn_1", "owner"),
    tool="reserve_seat",
    arguments={"seat": "A12"},
    binding="",
    text="",
    summary="要预约：A12。",
    expires=NOON + timedelta(minutes=30),
    state="open",
    needs_code=False,
    facts=QuestionFacts(Risk.ACT, "owner", HOME),
    message="evt_message",
    delivered=NOON,
    certain=True,
)
OTHER = replace(SEAT, event="evt_other", code="P4XR", tool="cancel_reservation", message="evt_message_2")
CRITICAL = replace(SEAT, needs_code=True, must_type=True)
SECOND = replace(SEAT, needs_code=True)
OF_MEMBER = replace(SEAT, place=replace(SEAT.place, person="qq-2"))
EXPIRED = replace(SEAT, state="expired")

ALONE = Answerable([SEAT])


def said(text: str, **change: Any) -> Said:
    later = NOON + timedelta(seconds=20)
    return replace(Said(text, OWNER, later, later), **change)


def verdict(text: str, answerable: Answerable = ALONE, **change: Any) -> str:
    return recognise(said(text, **change), answerable).verdict


YES = [
    "确认",
    "好的确认",
    "好的，确认",
    "确认。",
    "确认！",
    " 确认 ",
    "/confirm",
    "／ｃｏｎｆｉｒｍ",
    "Confirm",
    "confirm.",
]
BARE_YES = ["好", "好的", "嗯", "嗯嗯", "ok", "OK", "ＯＫ", "Ok!", "okay", "yes", "👍", "👍🏻", "👍️", "好。", "嗯～"]
NO = ["取消", "/cancel", "cancel", "取消。"]
BARE_NO = ["不", "不要", "算了", "no", "不要！", "算了…"]
NEITHER = [
    "",
    "好吗",
    "好？",
    "确认？",
    "确认一下时间",
    "不确认",
    "好的取消",
    "确认 取消",
    "可以",
    "行",
    "是",
    "对",
    "继续",
    "好 的",
    "确\u200b认",
    "确认吧",
    "「确认」",
    "> 确认",
    "`确认`",
    "请确认",
    "confirm it",
    "confirm that",
    "yes please",
    "ok 但是改成下午",
    "okok",
    "k",
    "👍👍",
    "确认" * 30,
    "好好好",
    "不好",
    "明天再说",
]


@pytest.mark.parametrize("text", YES + BARE_YES)
def test_words_that_mean_yes(text: str) -> None:
    assert recognise(said(text), ALONE) == Answer("yes", SEAT)


@pytest.mark.parametrize("text", NO + BARE_NO)
def test_words_that_mean_no(text: str) -> None:
    assert recognise(said(text), ALONE) == Answer("no", SEAT)


@pytest.mark.parametrize("text", NEITHER)
def test_any_other_message_is_a_normal_one(text: str) -> None:
    assert recognise(said(text), ALONE) == NOT_AN_ANSWER


@pytest.mark.parametrize(
    "text", ["确认 K7QM", "确认K7QM", "确认 k7qm", "/confirm K7QM", "confirm k7qm", "好的确认 Ｋ７ＱＭ。"]
)
def test_a_code_says_which(text: str) -> None:
    answerable = Answerable([OTHER, SEAT], others=2)
    assert recognise(said(text), answerable) == Answer("yes", SEAT)


@pytest.mark.parametrize("text", ["取消 K7QM", "取消k7qm", "/cancel K7QM", "cancel K7QM"])
def test_a_no_can_name_a_code(text: str) -> None:
    assert recognise(said(text), Answerable([OTHER, SEAT])) == Answer("no", SEAT)


def test_a_wrong_code_is_no_yes() -> None:
    assert verdict("确认 K7QN") == "needs_code"
    assert verdict("取消 K7QN") == "needs_code"
    assert verdict("confirmk7qm") == "not_an_answer"
    assert verdict("确认 K7QM", Answerable()) == "not_an_answer"


@pytest.mark.parametrize("text", ["确认", "取消", "不要", "算了"])
def test_with_several_open_a_code_is_needed(text: str) -> None:
    assert recognise(said(text), Answerable([SEAT, OTHER])) == Answer("needs_code")


@pytest.mark.parametrize("answerable", [Answerable([SEAT, OTHER]), Answerable([SEAT], others=1)])
@pytest.mark.parametrize("text", BARE_YES)
def test_a_bare_yes_counts_only_with_nothing_else_open(text: str, answerable: Answerable) -> None:
    assert verdict(text, answerable) == "not_an_answer"


def test_questions_of_servers_and_agents_count_as_open() -> None:
    assert verdict("确认", Answerable([SEAT], others=1)) == "needs_code"


@pytest.mark.parametrize("text", ["确认", "好", "/confirm"])
def test_critical_and_over_long_questions_need_their_code(text: str) -> None:
    assert recognise(said(text), Answerable([CRITICAL])) == Answer("needs_code", CRITICAL)
    assert verdict("确认 K7QM", Answerable([CRITICAL])) == "yes"
    assert verdict("取消", Answerable([CRITICAL])) == "no"
    assert verdict("确认", Answerable([CRITICAL]), quotes="evt_message") == "needs_code"


def test_somebody_other_than_the_asker_needs_the_code() -> None:
    answerable = Answerable([OF_MEMBER])
    assert verdict("确认", answerable) == "needs_code"
    assert verdict("取消", answerable) == "needs_code"
    assert verdict("确认 K7QM", answerable) == "yes"
    assert verdict("取消 K7QM", answerable) == "no"
    # A quote names the question as a code does.
    assert verdict("确认", answerable, quotes="evt_message") == "yes"
    assert verdict("好", answerable, quotes="evt_message") == "yes"
    assert verdict("不要", answerable, quotes="evt_message") == "no"


def test_a_quote_names_the_second_of_several_and_is_not_enough_for_what_must_be_read() -> None:
    assert verdict("确认", Answerable([SECOND])) == "needs_code"
    assert verdict("确认", Answerable([SECOND]), quotes="evt_message") == "yes"
    assert verdict("确认", Answerable([CRITICAL]), quotes="evt_message") == "needs_code"
    assert verdict("确认 K7QM", Answerable([CRITICAL]), quotes="evt_message") == "yes"


@pytest.mark.parametrize("text", BARE_YES + BARE_NO)
def test_a_bare_word_counts_only_from_the_asker(text: str) -> None:
    assert verdict(text, Answerable([OF_MEMBER])) == "not_an_answer"
    # Said right behind the question it is about that, and still not enough.
    assert recognise(said(text), Answerable([OF_MEMBER], newest=OF_MEMBER)) == Answer("needs_code", OF_MEMBER)
    undelivered = replace(OF_MEMBER, delivered=None)
    assert verdict(text, Answerable([undelivered], newest=undelivered)) == "not_an_answer"


@pytest.mark.parametrize("text", YES + BARE_YES + NO + BARE_NO)
def test_others_are_told_nothing(text: str) -> None:
    nothing_to_answer = Answerable()
    assert recognise(said(text), nothing_to_answer) == NOT_AN_ANSWER


def test_a_bare_yes_was_sent_after_the_question_was_delivered() -> None:
    early = NOON - timedelta(seconds=1)
    assert verdict("好", said_at=early) == "not_an_answer"
    assert verdict("好", received_at=early) == "not_an_answer"
    assert verdict("好", Answerable([replace(SEAT, certain=False)])) == "not_an_answer"
    assert verdict("好", Answerable([replace(SEAT, delivered=None)])) == "not_an_answer"


def test_an_explicit_yes_may_come_with_a_wrong_clock_and_not_before_the_question() -> None:
    early = NOON - timedelta(seconds=1)
    assert verdict("确认", said_at=early) == "yes"
    assert verdict("确认", Answerable([replace(SEAT, certain=False)])) == "yes"
    assert verdict("确认", received_at=early) == "not_an_answer"
    assert verdict("确认", Answerable([replace(SEAT, delivered=None)])) == "not_an_answer"
    assert verdict("确认 K7QM", Answerable([replace(SEAT, delivered=None)])) == "yes"


def test_a_quote_says_which() -> None:
    answerable = Answerable([OTHER, SEAT], others=1)
    for text in (*YES, *BARE_YES):
        assert recognise(said(text, quotes="evt_message"), answerable) == Answer("yes", SEAT)
    for text in (*NO, *BARE_NO):
        assert recognise(said(text, quotes="evt_message_2"), answerable) == Answer("no", OTHER)


def test_a_quote_of_something_else_or_with_another_code_is_no_yes() -> None:
    assert verdict("确认", quotes="evt_elsewhere") == "not_an_answer"
    assert verdict("好", quotes="evt_elsewhere") == "not_an_answer"
    assert verdict("改成下午", quotes="evt_message") == "not_an_answer"
    assert verdict("确认 P4XR", quotes="evt_message") == "needs_code"
    assert verdict("确认 K7QM", quotes="evt_message") == "yes"


@pytest.mark.parametrize("text", YES + BARE_YES + NO + BARE_NO + ["确认 K7QM", "取消 K7QM"])
def test_edits_and_forwards_never_count(text: str) -> None:
    assert verdict(text, edited=True) == "not_an_answer"
    assert verdict(text, forwarded=True) == "not_an_answer"
    assert verdict(text, forwarded=True, quotes="evt_message") == "not_an_answer"


@pytest.mark.parametrize("text", ["确认", "好", "确认 K7QM"])
def test_a_late_yes_means_the_question_that_ran_out(text: str) -> None:
    assert recognise(said(text), Answerable(expired=EXPIRED)) == Answer("late", EXPIRED)
    assert verdict(text, Answerable(expired=EXPIRED), quotes="evt_message") == "late"


def test_a_late_no_needs_nothing_and_a_late_bare_yes_may_mean_something_else() -> None:
    assert verdict("取消", Answerable(expired=EXPIRED)) == "not_an_answer"
    assert verdict("好", Answerable(expired=EXPIRED, spoke_since=True)) == "not_an_answer"
    assert verdict("好", Answerable(expired=EXPIRED, others=1)) == "not_an_answer"
    assert verdict("确认", Answerable(expired=EXPIRED, spoke_since=True)) == "late"
    assert verdict("确认", Answerable([OTHER], expired=EXPIRED)) == "yes"
    assert verdict("确认 K7QM", Answerable([OTHER], expired=EXPIRED)) == "late"


def test_what_ran_out_unanswered_is_found_by_its_code_or_a_quote_and_not_by_a_word_alone() -> None:
    lapsed = Answerable(
        lapsed=[replace(EXPIRED, code="P4XR", message="evt_message_2"), replace(OF_MEMBER, state="expired")]
    )
    assert verdict("确认 K7QM", lapsed) == "late"
    assert verdict("好", lapsed, quotes="evt_message") == "late"
    assert recognise(said("确认", quotes="evt_message_2"), lapsed) == Answer("late", lapsed.lapsed[0])
    assert verdict("取消 K7QM", lapsed) == "not_an_answer"
    assert verdict("确认", lapsed) == "not_an_answer"
    assert verdict("好", lapsed) == "not_an_answer"
    assert verdict("确认 K7QM", replace(lapsed, open=[OTHER])) == "late"


_LISTED = {"确认", "好的确认", "好的,确认", "好,确认", "confirm", "/confirm", "/确认"} | {
    *("好", "好的", "嗯", "嗯嗯", "ok", "okay", "yes", "👍")
}
_near = st.text(alphabet="确认好的嗯不要取消算了okyes/confirm K7QM。!,？ 👍\u200b\ufe0f", max_size=9)


@given(st.one_of(_near, st.text(max_size=12), st.sampled_from(YES + BARE_YES + NEITHER)))
def test_nothing_but_a_listed_word_is_ever_a_yes(text: str) -> None:
    answer = recognise(said(text), ALONE)
    if answer.verdict != "yes":
        return
    plain = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(char for char in plain if char not in " \t\r\n。.!~、…\ufe0f" and not "🏻" <= char <= "🏿").rstrip(
        ","
    )
    assert kept.removesuffix("k7qm").removeprefix("/") in {word.removeprefix("/") for word in _LISTED}


def test_the_reply_names_each_question_with_its_code() -> None:
    text = say_needs_code([SEAT, OTHER], OWNER, "zh")
    assert "「确认 K7QM」或「取消 K7QM」：要预约：A12。" in text
    assert "P4XR" in text
    assert "“confirm K7QM”" in say_needs_code([SEAT], OWNER, "en")


def test_who_wants_it_is_named_to_the_owner_and_nothing_is_spelled_out_in_a_group() -> None:
    asked = replace(OF_MEMBER, asked_by="qq:2（群 qq:777）", owner_at=Chat("onebot", HOME))
    assert "「取消 K7QM」：qq:2（群 qq:777）：要预约：A12。" in say_needs_code([asked], OWNER, "zh")
    in_group = replace(OWNER, space=Space("group", "qq:777"))
    for language in ("zh", "en"):
        text = say_needs_code([SEAT, asked], in_group, language)
        assert not any(part in text for part in ("K7QM", "A12", "qq:2"))


@pytest.mark.parametrize(
    ("text", "code"), [("确认 k7qm", "K7QM"), ("/cancel K7QM", "K7QM"), ("确认", None), ("K7QM", None)]
)
def test_the_code_of_an_answer_is_known(text: str, code: str | None) -> None:
    assert code_in(text) == code


@pytest.mark.parametrize(
    ("text", "may_be", "explicit"),
    [
        ("确认", True, True),
        ("/cancel K7QM", True, True),
        ("好", True, False),
        ("不要", True, False),
        ("确认一下天气", False, False),
        ("你好", False, False),
    ],
)
def test_words_can_be_told_from_answers_without_looking_at_the_questions(
    text: str, may_be: bool, explicit: bool
) -> None:
    assert (may_be_answer(text), is_explicit(text)) == (may_be, explicit)
