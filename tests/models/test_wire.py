"""Requests as bytes: canonical, prefix-stable, and split without loss."""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.models.chat import Answer, Call, ChatMessage, ImagePart, Params, Request, ToolSpec, WireRequest
from qingtuan.models.profiles import GENERIC, Profile, ThinkingSwitch, recognise
from qingtuan.models.wire import Assembler, encode
from tests.fakes.model_session import WEATHER, CallIds

FULL = Profile("full", json="schema", thinking="thinking", returns_reasoning="always")
_TEXT = st.text(max_size=30)
_CALL = st.builds(Call, st.text(min_size=1, max_size=8), _TEXT, st.sampled_from(["{}", '{"a":1}', "{", "", "[]"]))
_MESSAGE = st.one_of(
    st.builds(ChatMessage, st.sampled_from(["system", "user"]), _TEXT),
    st.builds(
        lambda text, calls, reasoning: ChatMessage("assistant", text, calls=tuple(calls), reasoning=reasoning),
        _TEXT,
        st.lists(_CALL, max_size=2),
        st.none() | _TEXT,
    ),
    st.builds(lambda text, call: ChatMessage("tool", text, call_id=call), _TEXT, _TEXT),
    st.builds(lambda text, data: ChatMessage("user", text, images=(ImagePart("image/png", data),)), _TEXT, st.binary()),
)
_PROFILES = st.builds(
    lambda **fields: replace(GENERIC, **fields),
    tools=st.booleans(),
    tool_role=st.booleans(),
    system=st.sampled_from(["many", "one", "refused"]),
    alternate=st.booleans(),
    vision=st.sampled_from(["url", "data", "none"]),
    thinking=st.sampled_from(["none", "enable_thinking", "thinking", "reasoning_effort", "template"]),
    returns_reasoning=st.sampled_from(["never", "with_calls", "always"]),
    json=st.sampled_from(["schema", "object", "none"]),
    temperature=st.booleans(),
    stream_usage=st.booleans(),
)
_REQUESTS = st.builds(
    Request,
    st.lists(_MESSAGE, max_size=8).map(tuple),
    st.sampled_from([(), (WEATHER,), (WEATHER, WEATHER)]),
    st.builds(
        Params,
        st.just("m"),
        st.floats(0, 2),
        st.none() | st.integers(1, 9999),
        st.none() | st.just({"type": "object"}),
        st.none() | st.booleans(),
    ),
)


@given(_REQUESTS, _PROFILES)
def test_parts_and_whole_are_the_same_json(request: Request, profile: Profile) -> None:
    wire = encode(request, profile)
    body = json.loads(wire.body())
    tools = {} if wire.tools is None else {"tools": json.loads(wire.tools)}
    assert body == {**tools, "messages": [json.loads(m) for m in wire.messages], **json.loads(wire.params)}
    assert json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() == wire.body(), "compact, in order"
    assert encode(request, profile) == wire


@given(st.lists(st.dictionaries(_TEXT, st.integers() | _TEXT, max_size=3), max_size=4), st.booleans())
def test_any_split_request_joins_to_what_it_was(messages: list[dict[str, Any]], with_tools: bool) -> None:
    def dump(value: object) -> bytes:
        return json.dumps(value, indent=1).encode()

    wire = WireRequest(tuple(map(dump, messages)), dump([{"x": [1]}]) if with_tools else None, dump({"model": "m"}))
    expected = {"messages": messages, "model": "m", **({"tools": [{"x": [1]}]} if with_tools else {})}
    assert json.loads(wire.body()) == expected
    assert json.loads(WireRequest((), None, b"{}").body()) == {"messages": []}


def test_a_longer_history_begins_with_the_bytes_of_the_shorter() -> None:
    messages = tuple(ChatMessage("user" if i % 2 else "assistant", f"第 {i} 句") for i in range(40))
    short, long = (encode(Request(messages[:n], (WEATHER,), Params("m")), FULL) for n in (38, 40))
    prefix = short.body().partition(b'],"model"')[0]
    assert long.body().startswith(prefix)


def test_message_fields() -> None:
    call = Call("call_1", "weather", '{"place":"武汉"}')
    request = Request(
        (
            ChatMessage("system", "你是小青团。"),
            ChatMessage("user", "天气"),
            ChatMessage("assistant", "", calls=(call,), reasoning="查"),
            ChatMessage("tool", "晴", call_id="call_1"),
            ChatMessage("assistant", "晴天", reasoning="好"),
        ),
        (WEATHER,),
        Params("deepseek-flash", temperature=0.1, max_tokens=100, thinking=False),
    )
    tool_call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"place":"武汉"}'}}
    body = json.loads(encode(request, recognise("https://api.deepseek.com", "deepseek-flash")).body())
    assert body == {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "天气预报",
                    "parameters": {
                        "type": "object",
                        "properties": {"place": {"type": "string"}},
                        "required": ["place"],
                    },
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "你是小青团。"},
            {"role": "user", "content": "天气"},
            {"role": "assistant", "content": "", "reasoning_content": "查", "tool_calls": [tool_call]},
            {"role": "tool", "content": "晴", "tool_call_id": "call_1"},
            {"role": "assistant", "content": "晴天", "reasoning_content": "好"},
        ],
        "model": "deepseek-flash",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.1,
        "max_tokens": 100,
        "thinking": {"type": "disabled"},
    }


def body_of(params: Params, profile: Profile, *messages: ChatMessage) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(encode(Request(messages, (), params), profile).body())
    return body


def test_deepseek_gets_the_field_of_thinking_even_when_it_is_empty() -> None:
    deepseek = recognise("https://api.deepseek.com", "deepseek-v4-pro")
    message = ChatMessage("assistant", "", calls=(Call("c", "weather", "{}"),))
    assert body_of(Params("m"), deepseek, message)["messages"][0]["reasoning_content"] == ""
    qwen = recognise("https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen-plus")
    assert "reasoning_content" not in body_of(Params("m"), qwen, message)["messages"][0]


@pytest.mark.parametrize(
    ("switch", "off", "on"),
    [
        ("none", {}, {}),
        ("enable_thinking", {"enable_thinking": False}, {"enable_thinking": True}),
        ("thinking", {"thinking": {"type": "disabled"}}, {"thinking": {"type": "enabled"}}),
        ("reasoning_effort", {"reasoning_effort": "none"}, {"reasoning_effort": "medium"}),
        (
            "template",
            {"chat_template_kwargs": {"enable_thinking": False}},
            {"chat_template_kwargs": {"enable_thinking": True}},
        ),
    ],
)
def test_thinking(switch: ThinkingSwitch, off: dict[str, object], on: dict[str, object]) -> None:
    profile = replace(GENERIC, thinking=switch)
    plain = body_of(Params("m"), profile)
    assert body_of(Params("m", thinking=False), profile) == {**plain, **off}
    assert body_of(Params("m", thinking=True), profile) == {**plain, **on}


CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def test_a_schema_goes_as_the_profile_can() -> None:
    user = ChatMessage("user", "提取")
    params = Params("m", schema=MappingProxyType(CLOSED))
    strict = body_of(params, replace(GENERIC, json="schema"), user)
    assert strict["response_format"]["json_schema"] == {"name": "answer", "schema": CLOSED, "strict": True}
    assert len(strict["messages"]) == 1
    loose = body_of(replace(params, schema={"type": "object"}), replace(GENERIC, json="schema"), user)
    assert loose["response_format"]["json_schema"]["strict"] is False
    told = body_of(params, replace(GENERIC, json="object"), ChatMessage("system", "规则"), user)
    assert told["response_format"] == {"type": "json_object"}
    assert [m["role"] for m in told["messages"]] == ["system", "system", "user"]
    assert json.dumps(CLOSED) in told["messages"][1]["content"]
    assert "JSON" in told["messages"][1]["content"], "some providers refuse JSON mode without the word"
    assert "response_format" not in body_of(params, replace(GENERIC, json="none"), user)


def test_a_schema_turns_thinking_off_unless_told_otherwise() -> None:
    profile = replace(GENERIC, json="object", thinking="enable_thinking")
    assert body_of(Params("m", schema=CLOSED), profile)["enable_thinking"] is False
    assert body_of(Params("m", schema=CLOSED, thinking=True), profile)["enable_thinking"] is True


def test_tools_that_differ_in_their_schema_alone_are_sent_as_each_is() -> None:
    specs = tuple(ToolSpec("find", "找", {"type": "object", "properties": {name: {}}}) for name in "ab")
    for tools in (specs, specs[:1], specs[1:], specs):
        sent = json.loads(encode(Request((), tools, Params("m")), GENERIC).tools or b"[]")
        assert [tool["function"]["parameters"] for tool in sent] == [spec.parameters for spec in tools]


def test_no_tools_for_a_model_without() -> None:
    tool = ToolSpec("t", "", {})
    assert encode(Request((), (tool,), Params("m")), replace(GENERIC, tools=False)).tools is None
    assert encode(Request((), (), Params("m")), GENERIC).tools is None


def test_what_is_no_chunk_at_all_is_passed_over() -> None:
    assembler = Assembler("m", CallIds())
    odd: list[object] = [
        None,
        1,
        "x",
        [],
        {},
        {"choices": [None, {"delta": "x"}, {"index": 0, "delta": {"tool_calls": [1, {}]}}]},
    ]
    assert [event for chunk in odd for event in assembler.feed(chunk)] == []
    (answer,) = assembler.end()
    assert isinstance(answer, Answer)
    assert (answer.text, answer.calls) == ("", ())
