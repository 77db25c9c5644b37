"""What a small model gets wrong and code can see."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.models.embedded import guards
from qingtuan.models.embedded.guards import Deed

CLAIMS: dict[str, Deed] = {
    "记住了，下次会优先坐二楼安静区。": "memory",
    "好的，我记住了。": "memory",
    "已经帮你记录下来。": "memory",
    "我会记住的！": "memory",
    "Got it, I'll remember that.": "memory",
    "I've saved that for you.": "memory",
    "Noted.": "memory",
    "好的，明天八点我会提醒你。": "reminder",
    "提醒已设置。": "reminder",
    "到时候提醒你。": "reminder",
    "OK, I'll remind you at nine.": "reminder",
    "I have set a reminder for tomorrow.": "reminder",
    "已经为你预约了二楼安静区-A12。": "act",
    "预约成功！": "act",
    "座位约好了。": "act",
    "I've booked seat A12.": "act",
    "Your seat has been reserved.": "act",
    "邮件已发送。": "act",
}
NO_CLAIMS = [
    "你好！",
    "要我帮你预约吗？",
    "需要我记住吗？",
    "还没有预约成功。",
    "没记住，你再说一次。",
    "我可以帮你预约座位。",
    "如果约好了，我告诉你。",
    "我记得你喜欢二楼。",
    "你记住了吗",
    "等你订好了再说。",
    "I can set a reminder for you.",
    "Would you like me to book it?",
    "I remember that you like tea.",
    "I have not booked anything.",
    "The library is open.",
    "",
]


@pytest.mark.parametrize(("text", "deed"), CLAIMS.items())
def test_claims_are_seen(text: str, deed: Deed) -> None:
    assert deed in guards.claims(text)


@pytest.mark.parametrize("text", NO_CLAIMS)
def test_other_sentences_claim_nothing(text: str) -> None:
    assert guards.claims(text) == frozenset()


def test_a_call_makes_its_claim_true() -> None:
    assert guards.empty_claims("记住了。", []) == {"memory"}
    assert guards.empty_claims("记住了。", ["remember"]) == frozenset()
    assert guards.empty_claims("记住了。", ["memory_search"]) == {"memory"}
    assert guards.empty_claims("已经预约了。", ["seats__reserve_seat"]) == frozenset()
    assert guards.empty_claims("已经预约了，我会提醒你。", ["seats__reserve_seat"]) == {"reminder"}
    assert guards.empty_claims("提醒已设置，我记住了。", ["reminder_create"]) == frozenset()


KEPT = [
    ("周五不要给我安排会议", "周五不要安排会议"),
    ("我不吃香菜", "用户不吃香菜"),
    ("我不吃香菜", "用户讨厌香菜"),
    ("我喜欢二楼", "用户喜欢二楼"),
    ("我今天不开心，记住我喜欢苹果", "用户喜欢苹果"),
    ("二楼不错，以后坐二楼", "以后坐二楼"),
    ("我特别喜欢猫", "用户喜欢猫"),
    ("没关系，我住在杭州", "用户住在杭州"),
    ("I don't eat pork", "The user never eats pork"),
    ("I like tea but not coffee", "The user does not drink coffee"),
    ("No problem, I live in Berlin", "The user lives in Berlin"),
    ("别给我打电话", "不要给用户打电话"),
]
LOST = [
    ("周五不要给我安排会议", "周五安排会议"),
    ("我不吃香菜", "用户吃香菜"),
    ("别给我打电话", "给用户打电话"),
    ("我从没去过北京", "用户去过北京"),
    ("I don't eat pork", "The user eats pork"),
    ("never call me after ten", "call the user after ten"),
    ("我喜欢二楼", "用户不喜欢二楼"),
    ("我喜欢茶，不喜欢咖啡", "用户喜欢咖啡"),
]


@pytest.mark.parametrize(("source", "fact"), KEPT)
def test_negation_that_is_kept(source: str, fact: str) -> None:
    assert guards.negation_kept(source, fact)


@pytest.mark.parametrize(("source", "fact"), LOST)
def test_negation_that_is_lost(source: str, fact: str) -> None:
    assert not guards.negation_kept(source, fact)


@given(text=st.text(alphabet="我不吃没别喜欢香菜，。 notI don'teat,", max_size=30))
def test_a_sentence_keeps_its_own_negation(text: str) -> None:
    assert guards.negation_kept(text, text) or len(guards._CLAUSE.split(text)) > 1


def test_wishes_without_a_subject_are_noted_in_the_persons_words() -> None:
    assert guards.says_otherwise("The owner never calls the user", "Never call me after 10pm")
    assert guards.says_otherwise("会议", "以后周五不要给我安排会议")
    assert guards.says_otherwise("他不喝咖啡", "我不喝咖啡")
    assert not guards.says_otherwise("他不喝咖啡", "他不喝咖啡")
    assert not guards.says_otherwise("用户以后坐二楼", "我以后坐二楼")


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("我一般喜欢坐图书馆哪里？", True),
        ("我女朋友生日是哪天", True),
        ("我叫什么名字？", True),
        ("What is my blood type?", True),
        ("where do I like to sit", True),
        ("我不吃香菜", False),
        ("中国的首都是哪里？", False),
        ("帮我看看有没有座位", False),
        ("我们去哪里？", False),
        ("我该怎么做？", False),
        ("I like tea", False),
        ("What's the capital of France?", False),
    ],
)
def test_questions_about_oneself(text: str, about: bool) -> None:
    assert guards.asks_about_self(text) is about


def test_inventions() -> None:
    question, entries = "我一般喜欢坐图书馆哪里？", ["图书馆优先坐二楼安静区"]
    assert not guards.invented("你一般坐二楼安静区。", question, entries)
    assert guards.invented("你喜欢三楼靠窗。", question, entries)
    assert guards.invented("你喜欢三楼靠窗。", question, [])
    assert not guards.invented("这件事我没有记录。", question, [])
    assert not guards.invented("你喜欢几楼？", question, [])
    assert not guards.invented("北京。", "中国的首都是哪里？", [])
    assert guards.invented("Your blood type is AB.", "What is my blood type?", [])
    assert not guards.invented("I have no record of that.", "What is my blood type?", [])


def test_a_memory_that_is_passed_over() -> None:
    question, entry = "Where do I like to sit in the library?", "The user prefers window seats in the library"
    assert guards.answering_entry("You like to sit in the library.", question, ["The user eats pork", entry]) == entry
    assert guards.answering_entry("At the window.", question, [entry]) is None
    assert guards.answering_entry("At the window.", question, ["The user eats pork"]) is None
    assert guards.answering_entry("北京", "中国的首都是哪里？", [entry]) is None


def test_small_slips() -> None:
    assert guards.parrots("我喜欢安静的地方。", "我喜欢安静的地方")
    assert not guards.parrots("你好！", "你好")
    assert guards.speaks_past("用户不吃香菜。", "我不吃香菜")
    assert guards.speaks_past("I remember that the user eats fish.", "I eat fish")
    assert not guards.speaks_past("你不吃香菜。", "我不吃香菜")
    assert not guards.speaks_past("用户有三个。", "我有几个用户？")
    assert guards.made_up_numbers("13 到 15 度", ["8 到 10 度"])
    assert not guards.made_up_numbers("8 度", ["8 到 10 度"])


def test_ids_must_come_from_somewhere() -> None:
    assert guards.made_up_ids({"seat_id": "12345"}, ["约个座位"])
    assert not guards.made_up_ids({"seat_id": "二楼-A12", "date": "x"}, ["约个座位", "有 二楼-A12"])
    assert not guards.made_up_ids({"content": "12345"}, [])
    assert guards.made_up_ids({"id": 7}, [])
    assert guards.made_up_ids({"seat_id": "1"}, ["a seat tomorrow from 13:00 to 15:00"]), "no part of another number"
    assert guards.made_up_ids({"seat_id": "二楼-A1"}, ["有 二楼-A12"])
    assert not guards.made_up_ids({"seat_id": "A1"}, ["坐A1吧"])


@pytest.mark.parametrize(
    ("text", "lasting"),
    [
        ("我喜欢安静的地方，别的都无所谓", True),
        ("我不吃香菜", True),
        ("我对花生过敏", True),
        ("我叫李明", True),
        ("我以后图书馆优先坐二楼", True),
        ("I don't eat pork", True),
        ("I live in Berlin", True),
        ("我今天不吃午饭了", False),
        ("我喜欢什么？", False),
        ("我爱你", False),
        ("我叫你一声", False),
        ("今天好累啊", False),
        ("I like you", False),
        ("I would like a seat", False),
    ],
)
def test_what_is_told_of_oneself(text: str, lasting: bool) -> None:
    assert guards.tells_of_self(text) is lasting
