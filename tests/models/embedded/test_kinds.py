"""What kind of thing a person told."""

from __future__ import annotations

import pytest

from qingtuan.models.embedded.kinds import addressed, kind_of


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("我以后图书馆优先坐二楼安静区", "preference"),
        ("我不吃香菜", "preference"),
        ("I prefer the quiet zone", "preference"),
        ("以后回复我简短一点", "rule"),
        ("每次预约前必须问我", "rule"),
        ("Always ask before you book", "rule"),
        ("我叫小明", "profile"),
        ("我的生日是五月三号", "profile"),
        ("My name is Ming", "profile"),
        ("组会改到周三了", None),
        ("今天好累", None),
    ],
)
def test_the_words_tell_the_kind(words: str, kind: str | None) -> None:
    assert kind_of(words) == kind


@pytest.mark.parametrize(
    ("words", "reply", "said"),
    [
        ("我一般喜欢坐哪里？", "我一般喜欢坐二楼。", "你一般喜欢坐二楼。"),
        ("我叫什么", "我叫小青团。", "我叫小青团。"),
        ("你是谁", "我是小青团。", "我是小青团。"),
        ("我", "我", "我"),
    ],
)
def test_an_echo_of_the_speaker_is_turned_towards_them(words: str, reply: str, said: str) -> None:
    assert addressed(reply, words) == said
