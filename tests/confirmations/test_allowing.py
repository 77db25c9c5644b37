"""The words of `/allow`: what can be read, what it means for a tool, and that nothing is allowed by accident."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.confirmations.allowing import (
    ANYTHING,
    Asked,
    Giving,
    Listing,
    Revoking,
    check_risk,
    conditions,
    near,
    pattern_for,
    read,
)
from qingtuan.errors import UsageWrong
from qingtuan.identity.trust import Risk, StandingYes
from qingtuan.tools.tool import Tool, ToolContext, ToolResult

DAYS = timedelta(days=1)
NOW = datetime(2026, 11, 29, tzinfo=UTC)


async def nothing(context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
    return ToolResult("")


def tool(*required: str, optional: tuple[str, ...] = (), **more: Any) -> Tool:
    schema = {"type": "object", "properties": {name: {} for name in (*required, *optional)}, "required": [*required]}
    return Tool(**{"name": "book", "description": "", "parameters": schema, "risk": Risk.ACT, "run": nothing, **more})


BOOK = tool("seat", "date", optional=("note",))


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("", Listing()),
        ("  \n ", Listing()),
        ("撤销 3", Revoking(3)),
        ("revoke #3", Revoking(3)),
        ("取消 ３", Revoking(3)),
        ("Delete 12", Revoking(12)),
        ("book", Giving("book")),
        ('"revoke" any', Giving("revoke", rest=True)),
        ("book seat=A1", Giving("book", (("seat", "A1"),))),
        ("book seat＝二楼* 其余任意 7天", Giving("book", (("seat", "二楼*"),), rest=True, lasts=7 * DAYS)),
        ("book 90d seat=A1 any", Giving("book", (("seat", "A1"),), rest=True, lasts=90 * DAYS)),
        ("book ANY １天", Giving("book", rest=True, lasts=DAYS)),
        ("book 365days", Giving("book", lasts=365 * DAYS)),
        ('book seat="二楼 A1"', Giving("book", (("seat", "二楼 A1"),))),
        (
            "book seat='a b' note=「c d」 date=“e f”",
            Giving("book", (("seat", "a b"), ("note", "c d"), ("date", "e f"))),
        ),
        ("book seat=a=b&c=d", Giving("book", (("seat", "a=b&c=d"),))),
        ('book seat=""', Giving("book", (("seat", ""),))),
        ('book seat="any"', Giving("book", (("seat", "any"),))),
        ("book seat=any", Giving("book", (("seat", "any"),))),
        ("book seat=7d", Giving("book", (("seat", "7d"),))),
        ("book seat=it's", Giving("book", (("seat", "it's"),))),
        ("book\tseat=A1\n any", Giving("book", (("seat", "A1"),), rest=True)),
        ("图书馆__约座 座位=A1", Giving("图书馆__约座", (("座位", "A1"),))),
    ],
)
def test_what_can_be_read(text: str, asked: Asked) -> None:
    assert read(text) == asked


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("撤销", "撤销哪一条"),
        ("撤销 三", "撤销哪一条"),
        ("撤销 1 2", "撤销哪一条"),
        ("revoke 0x1", "撤销哪一条"),
        ("seat=A1", "先写是哪个工具"),
        ('""', "先写是哪个工具"),
        ("book A1", "看不懂「A1」"),
        ('book "any"', "看不懂「any」"),
        ("book 7天 8天", "看不懂「8天」"),
        ("book seat=", "「seat=」后面没有值"),
        ("book seat= A1", "「seat=」后面没有值"),
        ("book =A1", "引号"),
        ('book seat="A1', "引号"),
        ('book seat="A1"x', "引号"),
        ("book 「seat", "引号"),
        ("book seat=1 seat=2", "seat 写了两次"),
        ("book 0天", "1 到 365 天"),
        ("book 366d", "1 到 365 天"),
        ("book 999999d", "1 到 365 天"),
        (f"book seat={'x' * 201}", "太长"),
        ("book x\u202ey", "\\u{202E}"),
        (f"book {'长' * 5000}", "…"),
    ],
)
def test_what_cannot(text: str, words: str) -> None:
    with pytest.raises(UsageWrong) as refused:
        read(text)
    assert words in refused.value.words.zh
    assert len(refused.value.words.zh) < 200
    assert refused.value.words.en


_words = st.sampled_from(
    [
        "book",
        "any",
        "其余任意",
        "7d",
        "30天",
        "revoke",
        "撤销",
        "3",
        "seat=A1",
        "seat=",
        "=",
        '"',
        "「a b」",
        "'x'",
        "date=*",
    ]
)
_lines = st.lists(st.one_of(_words, st.text(max_size=8)), max_size=8).map(" ".join)


@given(_lines)
def test_anything_is_read_or_refused_and_bounds_hold(text: str) -> None:
    try:
        asked = read(text)
    except UsageWrong:
        return
    if isinstance(asked, Giving):
        assert DAYS <= asked.lasts <= 365 * DAYS
        assert asked.tool
        assert all(name and len(pattern) <= 200 for name, pattern in asked.patterns)
        assert len({name for name, _ in asked.patterns}) == len(asked.patterns)
        assert not asked.rest or any(part in text.casefold() for part in ("any", "任意"))


_value = st.text(st.characters(codec="utf-8", exclude_characters='"'), max_size=60)


@given(st.dictionaries(st.sampled_from(["seat", "date", "note", "数量"]), _value), st.booleans())
def test_what_stands_in_quotation_marks_is_taken_as_it_is(values: dict[str, str], rest: bool) -> None:
    written = " ".join(["book", *(f'{name}="{value}"' for name, value in values.items()), *(["any"] if rest else [])])
    assert read(written) == Giving("book", tuple(values.items()), rest)


# What it means for a tool


def test_whatever_is_not_named_may_be_anything_only_when_said_so() -> None:
    assert pattern_for(Giving("book", (("seat", "A*"),), rest=True), BOOK) == (
        ("seat", "A*"),
        ("date", ANYTHING),
        ("note", ANYTHING),
    )
    assert pattern_for(Giving("book", (("date", "*"), ("seat", "A*"))), BOOK) == (("seat", "A*"), ("date", "*"))
    assert pattern_for(Giving("book"), tool()) == ()


@pytest.mark.parametrize(
    ("giving", "words"),
    [
        (Giving("book", (("seat", "A*"),)), "book 还要 date，"),
        (Giving("book"), "book 还要 seat、date，"),
        (Giving("book", (("seet", "A*"),), rest=True), "book 没有 seet 这个参数。有：seat、date、note"),
        (Giving("book", (("zzz", "A*"),), rest=True), "有：seat、date、note"),
    ],
)
def test_a_yes_that_could_never_fit_is_refused(giving: Giving, words: str) -> None:
    with pytest.raises(UsageWrong) as refused:
        pattern_for(giving, BOOK)
    assert words in refused.value.words.zh


def test_a_tool_without_parameters_has_none_to_name() -> None:
    with pytest.raises(UsageWrong, match="no parameters"):
        pattern_for(Giving("book", (("seat", "A"),)), tool())


@given(
    st.dictionaries(st.sampled_from(["seat", "date", "note"]), st.sampled_from(["A1", "B2", "*"])),
    st.booleans(),
    st.dictionaries(st.sampled_from(["seat", "date", "note", "price"]), st.sampled_from(["A1", "B2", "C3"])),
)
def test_no_call_fits_that_was_not_allowed(patterns: dict[str, str], rest: bool, call: dict[str, str]) -> None:
    try:
        pattern = pattern_for(Giving("book", tuple(patterns.items()), rest), BOOK)
    except UsageWrong:
        return
    if not StandingYes("book", pattern, NOW + DAYS).fits("book", call, NOW):
        return
    for name, value in call.items():
        assert patterns.get(name) in ("*", value) or (rest and name not in patterns)
        assert name != "price"


@pytest.mark.parametrize(
    ("risk", "words"),
    [(Risk.READ, "不用授权"), (Risk.WRITE, "不用授权"), (Risk.CRITICAL, "不能提前授权"), (Risk.ACT, None)],
)
def test_only_an_act_can_be_allowed_ahead(risk: Risk, words: str | None) -> None:
    wanted = replace(BOOK, risk=risk)
    if words is None:
        check_risk(wanted)
        return
    with pytest.raises(UsageWrong) as refused:
        check_risk(wanted)
    assert words in refused.value.words.zh
    assert "book" in refused.value.words.en


def test_near_names_are_named() -> None:
    assert "book_seat" in near("bok_seat", ["book_seat", "send_post"]).words.zh
    assert "/tools" in near("qwx", ["book_seat"]).words.en


# Saying it back


def test_what_runs_without_asking_is_said_in_plain_words() -> None:
    pattern = (("seat", "二楼*"), ("date", "*"), ("start", "09:00"), ("note", ""), ("row", "[AB]?"), ("end", "*"))
    assert conditions(pattern, "zh") == [
        "seat：像「`二楼*`」（* 是任意一串字）",
        "start：正好是「`09:00`」",
        "note：空的",
        "row：像「`[AB]?`」（? 是任意一个字，[ ] 是其中一个字）",
        "date、end：随便什么",
    ]
    assert conditions(pattern, "en")[0] == "seat: like “`二楼*`” (* is any text)"
    assert conditions((), "zh") == ["不带参数"]


def test_what_is_hidden_or_secret_is_not_printed_and_nothing_hides_in_a_value() -> None:
    (said,) = conditions((("pin", "1234"),), "zh", hidden={"pin"})
    assert "1234" not in said
    (said,) = conditions((("text", "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"),), "zh")
    assert "sk-abc" not in said
    (said,) = conditions((("text", "a\u202eb\n- seat：随便什么"),), "zh")
    assert "\u202e" not in said
    assert "\n" not in said
