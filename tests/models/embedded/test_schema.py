"""Tools to a schema and answers back: pure."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.models.chat import ToolSpec
from qingtuan.models.embedded.schema import (
    MAX_PARAMETERS,
    Answered,
    ReplyReader,
    answer_schema,
    arguments_schema,
    read_answer,
    write_call,
    write_reply,
)

REMEMBER = ToolSpec(
    "remember", "write down", {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]}
)
SEARCH = ToolSpec(
    "memory_search", "look up", {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
)


def fits(value: Any, schema: dict[str, Any]) -> bool:
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).is_valid(value)


def test_an_answer_is_a_reply_or_a_call_of_a_tool_that_is_offered() -> None:
    schema = answer_schema([REMEMBER, SEARCH])
    assert fits({"reply": "hi"}, schema)
    assert fits({"tool": "remember", "arguments": {"content": "x"}}, schema)
    assert not fits({"tool": "remember", "arguments": {"query": "x"}}, schema)
    assert not fits({"tool": "delete", "arguments": {}}, schema)
    assert not fits({"reply": "hi", "tool": "remember"}, schema)


def test_without_tools_there_is_only_a_reply() -> None:
    assert answer_schema([]) == answer_schema([], reply=False)
    assert not fits({"tool": "remember", "arguments": {"content": "x"}}, answer_schema([]))


def test_a_call_can_be_demanded() -> None:
    schema = answer_schema([SEARCH], reply=False)
    assert not fits({"reply": "hi"}, schema)
    assert fits({"tool": "memory_search", "arguments": {"query": "x"}}, schema)


def test_parameters_become_plain() -> None:
    plain = arguments_schema(
        {
            "type": "object",
            "$defs": {"Place": {"type": "object", "properties": {"city": {"type": "string", "pattern": "^x"}}}},
            "properties": {
                "when": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}], "default": None},
                "kind": {"enum": ["a", "b"], "description": "which"},
                "place": {"$ref": "#/$defs/Place"},
                "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                "number": {"type": ["integer", "null"], "minimum": 1, "multipleOf": 2},
            },
            "required": ["kind"],
        }
    )
    assert plain["required"] == ["kind"]
    assert plain["additionalProperties"] is False
    assert plain["properties"]["when"] == {"type": "string"}
    assert plain["properties"]["kind"] == {"enum": ["a", "b"]}
    assert plain["properties"]["place"]["properties"] == {"city": {"type": "string"}}
    assert plain["properties"]["tags"] == {"type": "array", "items": {"type": "string"}, "maxItems": 8}
    assert plain["properties"]["number"] == {"type": "integer", "minimum": 1}


def test_a_schema_that_refers_to_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    assert fits({}, arguments_schema({"$defs": {"Node": node}, "properties": {"head": {"$ref": "#/$defs/Node"}}}))


def test_few_parameters_are_shown_and_required_ones_always() -> None:
    names = [f"p{number}" for number in range(12)]
    properties = {name: {"type": "string"} for name in names}
    shown = arguments_schema({"properties": properties, "required": ["p11"]})["properties"]
    assert list(shown) == [*names[: MAX_PARAMETERS - 1], "p11"]
    assert list(arguments_schema({"properties": properties, "required": names})["properties"]) == names


@pytest.mark.parametrize(
    ("raw", "meaning"),
    [
        ('{"reply": "你好"}', Answered(reply="你好")),
        ('{"tool": "x", "arguments": {"a": 1}}', Answered(tool="x", arguments={"a": 1})),
        ('{"reply": "cut o', None),
        ('{"tool": "x"}', None),
        ("[]", None),
        ("", None),
    ],
)
def test_reading_answers(raw: str, meaning: Answered | None) -> None:
    assert read_answer(raw) == meaning


@given(text=st.text())
def test_what_is_written_is_read(text: str) -> None:
    assert read_answer(write_reply(text)) == Answered(reply=text)
    assert read_answer(write_call("t", json.dumps({"a": text}))) == Answered(tool="t", arguments={"a": text})


def test_a_call_with_broken_arguments_is_written_without_them() -> None:
    assert read_answer(write_call("t", '{"a": ')) == Answered(tool="t", arguments={})


@given(text=st.text(), ascii_only=st.booleans(), spaced=st.booleans(), data=st.data())
def test_a_reply_is_read_while_it_is_written(text: str, ascii_only: bool, spaced: bool, data: st.DataObject) -> None:
    raw = json.dumps({"reply": text}, ensure_ascii=ascii_only, separators=None if spaced else (",", ":"))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=5)))
    reader = ReplyReader()
    parts = [reader.feed(raw[start:end]) for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert "".join(parts) == text
    assert reader.raw == raw


def test_a_call_shows_nothing() -> None:
    reader = ReplyReader()
    assert reader.feed('{"tool": "x", "arguments": {"reply": "no"}}') == ""
