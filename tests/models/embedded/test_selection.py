"""Which tools the small model is shown."""

from __future__ import annotations

import pytest

from bench.embedded_cases import TOOLS
from qingtuan.models.chat import ToolSpec
from qingtuan.models.embedded.selection import MOST, Situation, act_called_for, choose

MEMORY = ("图书馆优先坐二楼安静区",)


def names(words: str, **more: object) -> set[str]:
    return {tool.name for tool in choose(TOOLS, Situation(words, **more))}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("我以后图书馆优先坐二楼安静区", {"remember", "seats__find_seats"}),
        ("我不吃香菜", {"remember"}),
        ("I prefer tea", {"remember"}),
        ("我女朋友生日是哪天？", {"memory_search"}),
        ("我一般喜欢坐图书馆哪里？", {"memory_search"}),
        ("我上周跟你聊过什么？", {"memory_search", "memory_recall"}),
        ("明天早上八点提醒我交作业", {"reminder_create"}),
        ("记得明天八点交作业", {"remember", "reminder_create"}),
        ("以后不要叫我老师", {"remember"}),
        ("中国的首都是哪里？", set()),
        ("What's the capital of France?", set()),
        ("明天杭州要带伞吗？", {"weather"}),
        ("49乘48等于多少", {"calculate"}),
        ("推荐一本书吧", set()),
    ],
)
def test_words_choose(words: str, shown: set[str]) -> None:
    assert shown <= names(words)
    assert (
        not {"remember", "memory_search", "memory_recall", "reminder_create", "weather", "calculate"}
        & names(words) - shown
    )


def test_what_a_memory_answers_needs_no_search() -> None:
    assert "memory_search" not in names("我一般喜欢坐图书馆哪里？", entries=MEMORY)
    assert "memory_search" in names("我对什么过敏？", entries=MEMORY)


def test_a_tool_that_ran_is_not_offered_again() -> None:
    assert "seats__find_seats" in names("帮我看看有没有座位")
    assert "seats__find_seats" not in names("帮我看看有没有座位", used=("seats__find_seats",))
    assert not names("我上周跟你聊过什么？", used=("memory_recall",))


def test_after_a_call_only_what_was_plainly_asked_for_is_left() -> None:
    assert names("帮我约明天上午的座位", used=("seats__find_seats",)) == {"seats__reserve_seat"}
    assert names("帮我看看我有哪些图书馆预约", used=("seats__list_reservations",)) == set()


def test_an_id_must_be_known_before_a_tool_that_wants_one_is_shown() -> None:
    assert "seats__reserve_seat" not in names("帮我约明天上午的座位")
    assert "seats__reserve_seat" in names("帮我约二楼安静区-A12")
    assert "seats__reserve_seat" in names("就约这个", context="二楼安静区-A12 有空", earlier="有没有座位")


def test_there_are_never_more_than_five() -> None:
    tools = [ToolSpec(f"weather_{number}", "天气", {"type": "object", "properties": {}}) for number in range(20)]
    assert [tool.name for tool in choose(tools, Situation("明天天气怎么样"))] == [f"weather_{n}" for n in range(MOST)]


def test_acts_are_known_by_their_verbs() -> None:
    act = act_called_for(TOOLS, "帮我约明天的座位")
    assert act is not None
    assert act.name == "seats__reserve_seat"
    assert act_called_for(TOOLS, "明天有没有座位") is None
    assert act_called_for(TOOLS, "我有哪些预约") is None
