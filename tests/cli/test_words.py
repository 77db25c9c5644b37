"""Command lines: who speaks where, and errors of usage in the person's language."""

from __future__ import annotations

import argparse

import pytest

from qingtuan.cli import COMMANDS, main
from qingtuan.cli.parser import Parser
from qingtuan.cli.running import exit_of
from qingtuan.cli.speaking import space_of, speaker_arguments, speaker_of
from qingtuan.errors import (
    Bug,
    HomeInUse,
    ModelRefused,
    ModelUnreachable,
    NotAllowed,
    NotThere,
    SettingsWrong,
    UsageWrong,
)
from qingtuan.language import Language, Words
from qingtuan.messages import Space


def parsed(*arguments: str, language: Language = "zh") -> argparse.Namespace:
    parser = Parser(language, prog="qingtuan ask")
    parser.add_argument("text")
    parser.add_argument("--how", choices=("a", "b"))
    parser.add_argument("--count", type=int)
    speaker_arguments(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize(
    ("arguments", "account", "space"),
    [
        (("x",), "cli:local", Space("private", "cli:local")),
        (("x", "--as", "qq:10001"), "qq:10001", Space("private", "qq:10001")),
        (("x", "--as", "qq:10001", "--space", "group:777"), "qq:10001", Space("group", "qq:777")),
        (("x", "--as", "tg:42", "--space", "group:-100"), "tg:42", Space("group", "tg:-100")),
        (("x", "--space", "group:7"), "cli:local", Space("group", "cli:7")),
        (("x", "--as", "qq:10001", "--space", "group:tg:-100"), "qq:10001", Space("group", "tg:-100")),
    ],
)
def test_who_speaks_where(arguments: tuple[str, ...], account: str, space: Space) -> None:
    speaker = speaker_of(parsed(*arguments))
    assert (speaker.account, speaker.space) == (account, space)


@pytest.mark.parametrize("text", ["", "group", "group:", "group: 7", "private:qq:1", "qq:777", "group::7"])
def test_what_is_no_space(text: str) -> None:
    with pytest.raises(UsageWrong):
        space_of(text, "cli:local")


@pytest.mark.parametrize(
    ("arguments", "zh", "en"),
    [
        ((), "还缺 text。", "Missing: text."),
        (("x", "y"), "不认识 y。", "Not understood: y."),
        (("x", "--ho", "a"), "不认识 --ho a。", "Not understood: --ho a."),
        (("x", "--how"), "--how 后面要跟一个值。", "--how needs a value."),
        (("x", "--how", "c"), "--how 只能是 'a', 'b'。", "--how is one of 'a', 'b'."),
        (("x", "--count", "c"), "--count 的值不对：'c'。", "--count cannot be 'c'."),
    ],
)
def test_errors_of_usage(arguments: tuple[str, ...], zh: str, en: str) -> None:
    for language, words in (("zh", zh), ("en", en)):
        with pytest.raises(UsageWrong) as caught:
            parsed(*arguments, language=language)  # type: ignore[arg-type]
        assert caught.value.say(language).startswith(words)  # type: ignore[arg-type]
        assert "qingtuan ask --help" in caught.value.say(language)  # type: ignore[arg-type]


def test_exit_statuses_of_errors() -> None:
    words = Words("x", "x")
    codes = {
        UsageWrong: 2,
        ModelUnreachable: 3,
        NotAllowed: 4,
        HomeInUse: 6,
        NotThere: 1,
        SettingsWrong: 1,
        Bug: 1,
    }
    assert {kind: exit_of(kind(words)) for kind in codes} == codes
    assert exit_of(ModelRefused(words, reason="key")) == 3


def test_every_command_has_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in COMMANDS)
    assert main(["--version"]) == 0
