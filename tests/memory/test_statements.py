"""Which of the things that people say may be kept."""

from __future__ import annotations

import pytest

from qingtuan.memory.statements import Unfit, in_earnest, spot_of, unfit, worth_reading
from qingtuan.memory.topics import Kind


def verdict(text: str, piece: str, kind: Kind) -> Unfit | None:
    start = text.index(piece)
    return unfit(spot_of(text, start, start + len(piece)), kind)


@pytest.mark.parametrize(
    ("text", "piece", "kind"),
    [
        ("我不吃香菜", "不吃香菜", "preference"),
        ("我以后图书馆优先坐二楼安静区", "优先坐二楼安静区", "preference"),
        ("下周三我要去北京出差", "去北京出差", "event"),
        ("I'm vegetarian, can you suggest something?", "I'm vegetarian", "preference"),
        ("我不吃香菜，这道菜里有吗？", "不吃香菜", "preference"),
        ("我不吃香菜，行吗？", "我不吃香菜", "preference"),
        ("以后叫我阿明好吗？", "叫我阿明", "preference"),
        ("我不吃香菜\n你呢？", "不吃香菜", "preference"),
        ("我喜欢什么都加辣", "喜欢什么都加辣", "preference"),
        ("我是测试工程师", "测试工程师", "profile"),
        ("我容易焦虑，别催我", "容易焦虑", "profile"),
        ("我一累就头疼", "一累就头疼", "profile"),
        ("我讨厌冷的天气", "讨厌冷的天气", "preference"),
        ("现在我住在杭州", "住在杭州", "profile"),
        ("今天是我生日", "今天是我生日", "profile"),
        ("我不可能吃辣", "不可能吃辣", "preference"),
        ("如果下雨就提醒我带伞", "如果下雨就提醒我带伞", "rule"),
        ("我老板叫“王大锤”", "王大锤", "fact"),
        ("以后每次都帮我查一下天气", "帮我查一下天气", "rule"),
        ("写代码是我的爱好", "写代码是我的爱好", "preference"),
        ("说话请简短", "说话请简短", "preference"),
    ],
)
def test_statements_pass(text: str, piece: str, kind: Kind) -> None:
    assert verdict(text, piece, kind) is None


@pytest.mark.parametrize(
    ("text", "piece", "kind", "why"),
    [
        ("今天好累啊", "好累", "profile", Unfit.MOOD),
        ("我累了", "累了", "profile", Unfit.MOOD),
        ("I'm so tired", "so tired", "fact", Unfit.MOOD),
        ("今天想吃火锅", "想吃火锅", "preference", Unfit.ONE_OFF),
        ("这次简短一点", "简短一点", "preference", Unfit.ONE_OFF),
        ("给我来杯咖啡，这次不加糖", "不加糖", "preference", Unfit.ONE_OFF),
        ("我一般喜欢坐哪里", "喜欢坐哪里", "preference", Unfit.QUESTION),
        ("我对花生过敏吗", "对花生过敏", "profile", Unfit.QUESTION),
        ("我是不是对花生过敏", "对花生过敏", "profile", Unfit.QUESTION),
        ("do I like tea?", "I like tea", "preference", Unfit.QUESTION),
        ("我可能对花生过敏", "对花生过敏", "profile", Unfit.GUESS),
        ("小王好像离职了", "离职了", "fact", Unfit.GUESS),
        ("如果我是素食者，该吃什么", "我是素食者", "profile", Unfit.SUPPOSED),
        ("老板说“周末所有人都要来公司加班”", "所有人都要来公司加班", "fact", Unfit.QUOTED),
        ("老板说“周末都要加班”", "老板说“周末都要加班”", "rule", Unfit.QUOTED),
        ("帮我查一下天气", "查一下天气", "preference", Unfit.REQUEST),
        ("请讲个笑话", "讲个笑话", "task", Unfit.REQUEST),
        ("给我推荐几本书", "推荐几本书", "fact", Unfit.REQUEST),
        ("please translate this", "translate this", "task", Unfit.REQUEST),
        ("报告写完了", "报告写完了", "task", Unfit.DONE),
    ],
)
def test_the_rest_does_not(text: str, piece: str, kind: Kind, why: Unfit) -> None:
    assert verdict(text, piece, kind) is why


@pytest.mark.parametrize(
    "text",
    ["嗯", "好的", "ok", "谢谢", "嗯嗯好的", "哈哈哈哈", "👍", "收到，谢谢", "Yes", "ok thanks", "666", "", "……"],
)
def test_greetings_and_acknowledgements_hold_nothing(text: str) -> None:
    assert not worth_reading(text)


@pytest.mark.parametrize("text", ["我姓王", "叫我阿明", "是的，我对花生过敏", "好的，以后叫我阿明", "喝茶"])
def test_short_statements_do(text: str) -> None:
    assert worth_reading(text)


def test_a_role_lasts_until_it_ends_and_a_joke_takes_back_what_stood_before() -> None:
    play = ["我们来角色扮演，你演老师", "我是亿万富翁", "我最爱吃土", "不玩了，说正经的", "我不吃香菜"]
    assert in_earnest(play) == [False, False, False, False, True]
    assert in_earnest(["我是外星人", "骗你的", "我住杭州"]) == [False, False, True]
    assert in_earnest(["测试一下，我叫张三", "*走进房间* 我是国王", "我演过话剧"]) == [False, False, True]
