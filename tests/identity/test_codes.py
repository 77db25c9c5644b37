"""The one-use code by which an account becomes the owner's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from qingtuan.identity.codes import ALPHABET, MAX_WRONG, Answer, OneUseCode, answer_code, looks_like_code, new_code
from qingtuan.messages import Space

NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
CHAT = Space("private", "qq:10001")
GROUP = Space("group", "qq:777")


def other(shown: str) -> str:
    return ("B" if shown[0] == "A" else "A") + shown[1:]


@pytest.mark.parametrize("spelling", [str, str.lower, lambda code: code.replace("-", ""), lambda code: f" {code} "])
def test_the_right_code_is_right_once(spelling: object) -> None:
    shown, code = new_code(NOW)
    assert callable(spelling)
    typed = spelling(shown)
    assert looks_like_code(typed)
    answer, after = answer_code(code, typed, CHAT, NOW)
    assert answer is Answer.RIGHT
    assert answer_code(after, typed, CHAT, NOW)[0] is Answer.VOID


def test_a_code_reads_without_doubt_and_is_kept_as_a_hash() -> None:
    shown, code = new_code(NOW)
    assert set(shown) <= set(ALPHABET) | {"-"}
    assert not set("IO01") & set(ALPHABET)
    assert shown.replace("-", "") not in str(code.payload())
    assert OneUseCode.of(code.payload()) == code
    assert new_code(NOW)[0] != shown


def test_full_width_letters_are_the_same_code() -> None:
    shown, code = new_code(NOW)
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in shown)
    assert answer_code(code, wide, CHAT, NOW)[0] is Answer.RIGHT


def test_it_expires_after_ten_minutes() -> None:
    shown, code = new_code(NOW)
    assert answer_code(code, shown, CHAT, NOW + timedelta(minutes=9, seconds=59))[0] is Answer.RIGHT
    assert answer_code(code, shown, CHAT, NOW + timedelta(minutes=10))[0] is Answer.VOID


def test_guesses_are_limited() -> None:
    shown, code = new_code(NOW)
    for _ in range(MAX_WRONG):
        answer, code = answer_code(code, other(shown), CHAT, NOW)
        assert answer is Answer.WRONG
    assert answer_code(code, shown, CHAT, NOW)[0] is Answer.VOID


def test_a_code_shown_in_a_group_is_void() -> None:
    shown, code = new_code(NOW)
    answer, after = answer_code(code, shown, GROUP, NOW)
    assert answer is Answer.VOID
    assert answer_code(after, shown, CHAT, NOW)[0] is Answer.VOID


@pytest.mark.parametrize("text", ["", "你好", "K7QM", "K7QM-2XPDE", "K7QM-2XP0", "/start"])
def test_other_messages_are_no_tries(text: str) -> None:
    assert not looks_like_code(text)
