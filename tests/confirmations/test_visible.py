from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.confirmations.visible import escaped, quoted, shown, shown_in_sentence, shown_name, with_plain_hosts
from qingtuan.storage.files import content_hash


@pytest.mark.parametrize(
    ("hidden", "seen"),
    [
        ("a\x00b", "a\\u{0}b"),
        ("a\tb", "a\\u{9}b"),
        ("a\nb\r\nc", "a⏎b⏎c"),
        ("pay\u200bpal", "pay\\u{200B}pal"),
        ("\u202ecod.exe", "\\u{202E}cod.exe"),
        ("\u2066x\u2069", "\\u{2066}x\\u{2069}"),
        ("a\ufeffb", "a\\u{FEFF}b"),
        ("a\u00adb", "a\\u{AD}b"),
        ("a\u2028b", "a\\u{2028}b"),
        ("\U000e0041", "\\u{E0041}"),
        ("\u3164", "\\u{3164}"),
        ("a\u00a0b", "a\\u{A0}b"),
        ("❤\ufe0f", "❤\\u{FE0F}"),
        ("\ue000", "\\u{E000}"),
        ("二楼 安静区　A12 👍", "二楼 安静区　A12 👍"),
    ],
)
def test_what_cannot_be_seen_is_written_out(hidden: str, seen: str) -> None:
    assert escaped(hidden) == seen


@given(st.text())
def test_nothing_unseen_is_left(text: str) -> None:
    for char in escaped(text):
        assert unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(st.text(st.characters(categories=["L", "Nd", "Po", "Pd"]), max_size=60))
def test_what_can_be_seen_stays(text: str) -> None:
    kept = [char for char in text if escaped(char) == char]
    assert escaped("".join(kept)) == "".join(kept)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("https://pаypal.com/login", "https://xn--pypal-4ve.com/login"),  # Cyrillic а
        ("see gооgle.com now", "see xn--ggle-55da.com now"),
        ("https://аррӏе.com", "https://xn--80ak6aa92e.com"),  # wholly Cyrillic, looks Latin
        ("mail bob@gооgle.com", "mail bob@xn--ggle-55da.com"),
        ("https://google.comノx.evil.example/", "https://google.xn--comx-xq4c.evil.example/"),
        ("https://müller.example", "https://xn--mller-kva.example"),
        ("https://例子.com/页", "https://例子.com/页"),
        ("https://example.com/路径?q=座位", "https://example.com/路径?q=座位"),
        ("打开https://example.com，明天九点", "打开https://example.com，明天九点"),
        ("明天9点开会。地点A座", "明天9点开会。地点A座"),
        ("请看example.com。谢谢", "请看example.com。谢谢"),
    ],
)
def test_hosts_that_mix_scripts_are_written_in_punycode(text: str, plain: str) -> None:
    assert with_plain_hosts(text) == plain


def test_a_quoted_value_cannot_end_its_quotation() -> None:
    assert quoted("A12」。回复「确认」", "zh") == "「`A12\\」。回复\\「确认\\」`」"
    assert quoted("a” b", "en") == "“`a\\” b`”"
    assert quoted("", "zh") == "「」"


@given(st.text(alphabet="`*_[]()<>!@# a1", max_size=40))
def test_a_code_span_is_closed_by_our_own_fence_only(text: str) -> None:
    shown = quoted(text, "zh")[1:-1]
    if not text:
        assert shown == ""
        return
    fence = shown[: len(shown) - len(shown.lstrip("`"))]
    inside = shown[len(fence) : -len(fence)]
    assert shown.endswith(fence)
    assert inside.strip(" ") == text.strip(" ")
    assert fence not in inside


def test_a_long_value_shows_head_tail_length_and_hash() -> None:
    text = "".join(chr(0x4E00 + number) for number in range(1234))
    value = shown(text, "zh")
    assert text[:200] in value
    assert text[-100:] in value
    assert "共 1234 字" in value
    assert content_hash(text.encode())[:16] in value
    assert text[500:700] not in value
    assert shown("x" * 500, "zh") == f"「`{'x' * 500}`」"


@pytest.mark.parametrize("plain", ["二楼安静区-A12", "2026-12-01", "09:00", "12.5", "A12"])
def test_one_plain_word_stands_bare_in_a_sentence(plain: str) -> None:
    assert shown_in_sentence(plain, "zh") == plain


@pytest.mark.parametrize(
    "other",
    ["A12 已取消", "A12。回复好", "evil.com", "https://a.b", "*A*", "_x_", "`x`", "@all", "", "a" * 25, "a\u200bb", "ㅤ"],
)
def test_anything_else_is_quoted(other: str) -> None:
    assert shown_in_sentence(other, "zh") == quoted(other, "zh")


def test_names_of_arguments_are_bare_only_if_they_are_identifiers() -> None:
    assert shown_name("seat_id", "zh") == "seat_id"
    assert shown_name("a：「b」", "zh") == "「`a：\\「b\\」`」"
    assert "SHA-256" in shown_name("x " * 600, "en")
