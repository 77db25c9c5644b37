"""Which language a machine speaks."""

from __future__ import annotations

import pytest

from qingtuan.language import Language, Words, system_language


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "zh"),
        ({"LANG": "C"}, "zh"),
        ({"LANG": "C.UTF-8"}, "zh"),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW"}, "zh"),
        ({"LANG": "en_US.UTF-8"}, "en"),
        ({"LC_MESSAGES": "zh_CN.UTF-8", "LANG": "en_US.UTF-8"}, "zh"),
        ({"LC_ALL": "", "LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_the_locale_decides(environ: dict[str, str], language: Language) -> None:
    assert system_language(environ) == language


def test_words_are_said_in_the_language_asked_for() -> None:
    words = Words("好。", "All right.")
    assert (words.say("zh"), words.say("en")) == ("好。", "All right.")
