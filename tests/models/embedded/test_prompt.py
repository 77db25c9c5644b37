"""A request made short: what stays, what goes, what stands where."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bench.embedded_cases import CASES, TOOLS, Case, request_of
from qingtuan.models.chat import Call, ChatMessage, Params, Request
from qingtuan.models.embedded.prompt import Retry, Shaped, corrected, language_of, shape
from qingtuan.models.usage import estimate_tokens

MEMORY = Case("我一般喜欢坐图书馆哪里？", memory=("图书馆优先坐二楼安静区",))


def texts(shaped: Shaped) -> list[str]:
    return [message["content"] for message in shaped.messages]


def roles(shaped: Shaped) -> list[str]:
    return [message["role"] for message in shaped.messages]


def tools_of(schema: Any) -> set[str]:
    choices = schema.get("anyOf", [schema])
    return {choice["properties"]["tool"]["const"] for choice in choices if "tool" in choice["properties"]}


def test_long_rules_go_and_labelled_layers_stay() -> None:
    shaped = shape(request_of(MEMORY))
    whole = "\n".join(texts(shaped))
    assert "长长的规则" not in whole
    assert "[角色卡" in whole
    assert "2026-12-01 09:30" in whole
    assert "二楼安静区" in whole
    assert shaped.entries == ("图书馆优先坐二楼安静区",)


def test_the_persons_words_stand_last_and_bare() -> None:
    shaped = shape(request_of(MEMORY))
    assert shaped.messages[-1] == {"role": "user", "content": MEMORY.words}
    assert shaped.words == MEMORY.words


def test_the_first_message_is_the_same_whatever_is_said() -> None:
    shaped = [shape(request_of(Case(words))) for words in ("你好", "明天提醒我", "有座位吗")]
    assert len({texts(one)[0] for one in shaped}) == 1
    assert {one.stable for one in shaped} == {1}
    assert "[" not in texts(shaped[0])[0].splitlines()[0]


def test_every_prompt_is_short() -> None:
    for case in CASES:
        shaped = shape(request_of(case))
        assert sum(map(estimate_tokens, texts(shaped))) < 800
        assert len(tools_of(shaped.schema)) <= 5


def test_long_layers_are_cut_by_whole_lines_and_the_last_ones_kept() -> None:
    many = replace(MEMORY, memory=tuple(f"第 {number} 条记忆" + "很长" * 20 for number in range(100)))
    shaped = shape(request_of(many))
    assert sum(map(len, texts(shaped))) < 2000
    assert 0 < len(shaped.entries) < 100
    assert all(entry in many.memory for entry in shaped.entries)


def test_without_memory_the_model_is_told_so() -> None:
    assert any("没有与这句话有关的记忆" in text for text in texts(shape(request_of(Case("我叫什么名字？")))))


def test_english_words_get_english_rules() -> None:
    assert "You are Qingtuan" in texts(shape(request_of(Case("hi there"))))[0]
    assert "你是小青团" in texts(shape(request_of(Case("你好"))))[0]
    assert "你是小青团" in texts(shape(request_of(Case("ok 好的"))))[0]
    assert [language_of("???"), language_of("???", "en"), language_of("hello"), language_of("用 git")] == [
        "zh",
        "en",
        "en",
        "zh",
    ]


def test_a_guest_without_tools_to_remember_is_not_taught_to() -> None:
    request = request_of(Case("你好"))
    few = tuple(tool for tool in TOOLS if tool.name == "calculate")
    assert "remember" not in texts(shape(replace(request, tools=few)))[0]


def test_history_is_a_window_that_begins_with_the_person() -> None:
    history = tuple((f"问 {number}", f"答 {number}") for number in range(20))
    shaped = shape(request_of(Case("那下午呢？", history=history)))
    assert roles(shaped)[:3] == ["system", "system", "user"]
    assert "问 19" in texts(shaped)
    assert '{"reply": "答 19"}' in texts(shaped)
    assert len(shaped.messages) <= 12


def test_the_window_moves_in_steps() -> None:
    def first(turns: int) -> str:
        history = tuple((f"问 {number}", f"答 {number}") for number in range(turns))
        return texts(shape(request_of(Case("嗯", history=history))))[2]

    assert first(9) == first(10)


def test_calls_and_results_of_the_turn_stand_behind_the_words() -> None:
    call = Call("1", "seats__find_seats", '{"date": "2026-12-02"}')
    current = (ChatMessage("assistant", "", calls=(call,)), ChatMessage("tool", "二楼-A12", call_id="1"))
    shaped = shape(request_of(Case("帮我约明天上午的座位"), current))
    assert roles(shaped)[-3:] == ["user", "assistant", "system"]
    assert "seats__reserve_seat" in texts(shaped)[-1]
    assert shaped.used == ("seats__find_seats",)
    assert shaped.result == "二楼-A12"
    assert tools_of(shaped.schema) == {"seats__reserve_seat"}


def test_the_last_round_has_no_tools_and_answers() -> None:
    call = Call("1", "weather", "{}")
    current = (ChatMessage("assistant", "", calls=(call,)), ChatMessage("tool", "晴", call_id="1"))
    shaped = shape(replace(request_of(Case("天气"), current), tools=()))
    assert shaped.talk
    assert tools_of(shaped.schema) == set()


def test_an_auxiliary_request_keeps_its_own_instructions_and_schema() -> None:
    wanted = {"type": "object", "properties": {"facts": {"type": "array"}}}
    request = Request(
        (ChatMessage("system", "找出事实。" * 50), ChatMessage("user", "对话" * 4000)),
        (),
        Params("embedded", schema=wanted),
    )
    shaped = shape(request)
    assert not shaped.talk
    assert shaped.schema == wanted
    assert texts(shaped)[0] == "找出事实。" * 50
    assert len(texts(shaped)[1]) < 4000
    summary = shape(replace(request, params=Params("embedded")))
    assert summary.talk
    assert texts(summary)[0].startswith("找出事实")


def test_a_correction_stands_behind_the_answer_and_may_take_a_tool_away() -> None:
    shaped = shape(request_of(Case("帮我约二楼-A12")))
    again = corrected(shaped, '{"reply": "约好了"}', "没有做", Retry())
    assert again.messages[: len(shaped.messages)] == shaped.messages
    assert roles(again)[-2:] == ["assistant", "system"]
    assert tools_of(again.schema) == tools_of(shaped.schema)
    without = corrected(shaped, "{}", "编的", Retry(without="seats__reserve_seat"))
    assert "seats__reserve_seat" not in tools_of(without.schema)
    search = shape(request_of(Case("我叫什么名字？")))
    assert corrected(search, "{}", "编的", Retry(must=("memory_search",))).schema["properties"]["tool"] == {
        "const": "memory_search"
    }


@given(
    messages=st.lists(
        st.builds(ChatMessage, st.sampled_from(["system", "user", "assistant", "tool"]), st.text(max_size=40)),
        max_size=8,
    ),
    tools=st.lists(st.sampled_from(TOOLS), max_size=4, unique_by=lambda tool: tool.name),
)
def test_any_request_can_be_shaped(messages: list[ChatMessage], tools: list[Any]) -> None:
    request = Request(tuple(messages), tuple(tools), Params("embedded"))
    assert shape(request) == shape(request)
