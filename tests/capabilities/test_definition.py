"""Definitions and their files: what is read is what was written, and what is wrong is said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.capabilities.bounds import faults, host_fault
from qingtuan.capabilities.coercion import coerced
from qingtuan.capabilities.definition import ABSENT, Case, Definition, DefinitionRefused, read
from qingtuan.capabilities.folder import FILES, definition_of, files_of
from tests.fakes.capability_world import adder

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_objects = st.dictionaries(_texts, _values, max_size=4)
_cases = st.builds(Case, _objects, st.just(ABSENT) | _values, _texts)
_definitions = st.builds(
    lambda **fields: read({**fields, "cases": [case.json for case in fields["cases"]]}),
    name=st.from_regex(r"[a-z][a-z0-9_]{1,20}", fullmatch=True),
    description=_texts,
    parameters=_objects,
    code=_texts,
    cases=st.lists(_cases, max_size=3),
    hosts=st.lists(_texts, max_size=2),
    tags=st.lists(_texts, max_size=2),
    examples=st.lists(_texts, max_size=2),
    kind=st.sampled_from(["persistent", "normal", "ephemeral"]),
    ttl=st.none() | st.integers(1, 10**6),
)


@given(_definitions)
def test_files_say_what_the_definition_says(definition: Definition) -> None:
    again = definition_of(definition.name, files_of(definition))
    assert again.json == definition.json
    assert again.hash == definition.hash
    assert files_of(again) == files_of(definition)
    assert read(json.loads(json.dumps(definition.json))).hash == definition.hash


@given(_definitions)
def test_whatever_it_is_its_faults_can_be_said(definition: Definition) -> None:
    for fault in faults(definition):
        assert fault.told.zh
        assert fault.told.en
        json.dumps(fault.json)


@given(st.dictionaries(st.sampled_from(FILES), st.binary(max_size=200)))
def test_no_bytes_in_the_files_raise_anything_else(files: dict[str, bytes]) -> None:
    try:
        definition_of("adder", {name: files.get(name) for name in FILES})
    except DefinitionRefused as error:
        faults_of(error)


def faults_of(error: DefinitionRefused) -> None:
    """There are some, and each can be told."""
    if not error.faults or not all(fault.told.en and fault.told.zh for fault in error.faults):
        raise AssertionError(error)


@given(_values)
def test_no_json_raises_anything_else(raw: object) -> None:
    try:
        read(raw)
    except DefinitionRefused as error:
        faults_of(error)


@pytest.mark.parametrize(
    "host",
    [
        "аpple.com",  # the first letter is Cyrillic
        "example。com",
        "EXAMPLE.com",
        "localhost",
        "127.0.0.1",
        "0x7f.1",
        "2130706433",
        "1.2.3.0x4",
        "[::1]",
        "user@example.com",
        "example.com/path",
        "https://example.com",
        "*.example.com",
        "example.com:0",
        "example.com:99999",
        "example.com.",
        "-bad.example.com",
        "exam ple.com",
        "example.com\u202e",
        "a" * 64 + ".com",
        "",
    ],
)
def test_what_is_no_plain_host_is_refused(host: str) -> None:
    assert host_fault(host) is not None


@pytest.mark.parametrize("host", ["api.open-meteo.com", "example.com:8443", "xn--80ak6aa92e.com", "a.b.c.example"])
def test_plain_hosts_are_taken(host: str) -> None:
    assert host_fault(host) is None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"hosts": tuple(f"h{n}.example.com" for n in range(200))}, "hosts"),
        ({"hosts": ("a.example.com", "a.example.com")}, "hosts"),
        ({"description": "Adds\u202e numbers."}, "description"),
        ({"description": "x" * 1001}, "description"),
        ({"code": "export default () => 1 // \u2066\n"}, "code"),
        ({"code": "let a\u200b = 1\n"}, "code"),
        ({"code": "x" * 40_001}, "code"),
        ({"tags": ("\u200b",)}, "tags[0]"),
        ({"examples": tuple("abcdefghijk")}, "examples"),
        ({"cases": tuple(Case({"a": 1, "b": n}) for n in range(21))}, "cases"),
        ({"cases": (Case({"a": "x", "b": 1}),)}, "cases[0].arguments"),
        ({"cases": (Case({"a": 1, "b": 1, "c": 1}),)}, "cases[0].arguments"),
        ({"cases": (Case({"a": 1, "b": 1}, note="\u202e"),)}, "cases[0].note"),
        ({"parameters": {"type": "string"}}, "parameters"),
        ({"parameters": {"type": "object", "properties": {"a": {"type": "wrong"}}}, "cases": ()}, "parameters"),
        ({"parameters": {"$ref": "https://example.com/schema"}, "cases": ()}, "parameters"),
        ({"parameters": {"type": "object", "properties": {"a\u202eb": {}}}, "cases": ()}, "parameters"),
        ({"parameters": {"type": "object", "description": "x" * 9000}, "cases": ()}, "parameters"),
        ({"parameters": {"type": "object", "default": {"a": float("nan")}}, "cases": ()}, "parameters"),
        ({"cases": (Case({"a": 1, "b": 2}, float("inf")),)}, "cases[0]"),
        ({"cases": (Case({"a": 1, "b": 2}, "\ud800"),)}, "cases[0]"),
        ({"kind": "ephemeral", "ttl": 0}, "ttl"),
        ({"ttl": 60}, "ttl"),
        ({"name": "x"}, "name"),
        ({"name": "a__b"}, "name"),
        ({"name": "Ab"}, "name"),
        ({"name": "é_tool"}, "name"),
        ({"name": "capability_create"}, "name"),
    ],
)
def test_what_would_mislead_or_flood_is_refused(changes: dict[str, Any], field: str) -> None:
    assert field in [fault.field for fault in faults(adder(**changes))]


def test_a_plain_definition_has_no_faults() -> None:
    assert faults(adder(hosts=("api.example.com",), tags=("数字",), examples=("把两个数加起来",))) == []


def test_names_of_properties_are_data_and_never_code() -> None:
    name = 'raw.x;process.exit()//"]['
    made = adder(parameters={"type": "object", "properties": {name: {"type": "number"}}}, cases=(Case({name: 1}),))
    assert faults(made) == []
    assert coerced(made.parameters, {name: "7"}) == {name: 7}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "integer"}, "42", 42),
        ({"type": "integer"}, "4.5", "4.5"),
        ({"type": "number"}, "4.5", 4.5),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "number"}, "inf", "inf"),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "maybe", "maybe"),
        ({"type": "string"}, "42", "42"),
        ({"type": ["string", "null"]}, "null", None),
        ({"type": ["integer", "string"]}, "x", "x"),
        ({"type": "array", "items": {"type": "integer"}}, ["1", "2"], [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, "3", [3]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"type": "string"}, ["a", "b"], "b"),
        ({"enum": [1, 2]}, "2", 2),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "3", 3),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, "null", None),
        ({"anyOf": [{"type": "string"}, {"type": "number"}]}, "x", "x"),
        ({"oneOf": [{"const": 1}, {"const": "auto"}]}, "1", 1),
        ({"oneOf": [{"const": 1}, {"const": "auto"}]}, "auto", "auto"),
        ({"const": True}, "true", True),
        ({"anyOf": [{"oneOf": [{"enum": [1, 2]}]}]}, "2", 2),
        ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}, ["1", "2"], [1, 2]),
        ({"type": "string", "anyOf": [{"type": "integer"}]}, "3", "3"),
        ({"anyOf": "integer", "oneOf": [3]}, "3", "3"),
        ({}, "2", "2"),
        ({"type": "integer"}, "9" * 30, "9" * 30),
        ({"type": "object"}, "[" * 10_000, "[" * 10_000),
    ],
)
def test_text_becomes_what_the_schema_asks_for(schema: dict[str, Any], text: Any, value: Any) -> None:
    found = coerced({"type": "object", "properties": {"x": schema}}, {"x": text})
    assert found == {"x": value}
    assert type(found["x"]) is type(value)


def test_defaults_are_filled_in_and_unknown_names_stay_to_be_refused() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer", "default": 3}}}
    assert coerced(schema, {"y": "1"}) == {"x": 3, "y": "1"}


@given(_objects, st.dictionaries(_texts, _texts | st.lists(_texts, max_size=3), max_size=3))
def test_no_schema_and_no_query_raise(schema: dict[str, Any], query: dict[str, Any]) -> None:
    coerced(schema, query)
    coerced({"properties": schema}, query)
