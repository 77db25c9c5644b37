"""Which words of a person count as a command to keep something, and what they are about."""

from __future__ import annotations

import pytest

from tests.memory.world import GROUP, World


@pytest.mark.parametrize(
    "words",
    [
        "记住我不吃香菜",
        "请帮我记一下，周五聚餐",
        "记住：密码在抽屉",
        "记住不要叫我老师",
        "我对花生过敏，记住了啊",
        "我以后图书馆优先坐二楼安静区",
        "以后都叫我小明",
        "从现在起说中文",
        "记得我不吃葱",
        "Remember that I hate coriander",
        "can you remember I take no sugar",
        "From now on call me Ming",
        "Please note that I am away on Friday",
    ],
)
def test_explicit_words(world: World, words: str) -> None:
    assert world.by(words).explicit


@pytest.mark.parametrize(
    "words",
    [
        "我不吃香菜",
        "别记住这个",
        "不用记住",
        "你记住了吗？",
        "都记住了？",
        "你记住的都有哪些",
        "你记住了什么",
        "我没记住",
        "你还记得我吗",
        "以后再说",
        "以后可能去北京",
        "do you remember me?",
        "I remember that day",
        "don't remember this",
        "what did you remember",
    ],
)
def test_words_that_ask_for_nothing_to_be_kept(world: World, words: str) -> None:
    assert not world.by(words).explicit


@pytest.mark.parametrize(
    ("words", "named", "subject"),
    [
        ("本群周五聚餐", "本群", "本群"),
        ("我们周五聚餐", "这个群", "本群"),
        ("our group meets on Friday", "the group", "本群"),
        ("存折在抽屉", "本群", "我"),
        ("张三住在北京", "张三", "张三"),
        ("不吃葱", "", "我"),
    ],
)
def test_what_it_is_about(world: World, words: str, named: str, subject: str) -> None:
    assert world.by(words, space=GROUP).subject(named) == subject
    assert world.by(words).subject(named) == ("我" if named != "张三" else "张三")
