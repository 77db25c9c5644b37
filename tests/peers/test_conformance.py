"""What is read of the conformance suite, and what our client says to its servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from peers.checks import Check
from peers.conformance import LEFT_OUT, Scenario, checks_of, left_out, scenarios
from peers.conformance_client import calls, sample

LISTING = """\
Client scenarios (test against a client):
  - initialize [2025-06-18,2025-11-25]
  - auth/metadata-default [2025-11-25]
  - sep-2640-client-verify-size [extension]
"""
SCENARIO = Scenario("tools_call", "2025-11-25")


def test_each_scenario_runs_in_each_of_its_versions() -> None:
    assert [one.shown for one in scenarios(LISTING)] == [
        "initialize [2025-06-18]",
        "initialize [2025-11-25]",
        "auth/metadata-default [2025-11-25]",
        "sep-2640-client-verify-size [extension]",
    ]


def test_what_does_not_apply_has_a_reason_and_all_else_applies() -> None:
    assert left_out("auth/dpop-nonce") is not None
    assert left_out("anything-new") is None
    assert all(LEFT_OUT.values())


def test_passed_checks_are_counted_and_others_named() -> None:
    seen: list[Mapping[str, Any]] = [
        {"id": "a", "status": "SUCCESS"},
        {"id": "b", "status": "SUCCESS"},
        {"id": "c", "status": "FAILURE", "errorMessage": "no  header\nat all"},
        {"id": "d", "status": "WARNING", "description": "SHOULD", "details": {"is": 1}},
        {"id": "e", "status": "SKIPPED"},
        {"id": "f", "status": "INFO"},
        {"id": "sep-2640-client-verify-size", "status": "FAILURE"},
    ]
    passed, no_header, should, state = checks_of(SCENARIO, seen)
    assert passed == Check("tools_call [2025-11-25]", "passed", count=2)
    assert no_header == Check("tools_call [2025-11-25] c", "failed", "no header at all")
    assert should == Check("tools_call [2025-11-25] d", "failed", 'SHOULD {"is": 1}')
    assert state.state == "left out"
    assert checks_of(SCENARIO, []) == []


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "boolean"}}}, {"a": 1, "b": True}),
        ({"type": "object"}, {}),
        ({"type": "object", "properties": {"who": {"$ref": "#/$defs/who"}, "odd": True}}, {}),
        ({"type": "string", "enum": ["slow", "fast"]}, "slow"),
        ({"type": "integer", "default": 7}, 7),
        ({"type": "array"}, []),
    ],
)
def test_arguments_fit_the_schema(schema: dict[str, object], value: object) -> None:
    assert sample(schema) == value


def test_each_tool_is_called_once() -> None:
    number = {"type": "object", "properties": {"a": {"type": "number"}}}
    tools: Mapping[str, Mapping[str, Any]] = {"add": number, "now": {"type": "object"}}
    assert list(calls(tools, {})) == [("add", {"a": 1}), ("now", {})]


def test_the_suite_may_say_what_to_call() -> None:
    context = {"name": "x", "toolCalls": [{"name": "add", "arguments": {"a": None}}]}
    assert list(calls({"add": {}, "now": {}}, context)) == [("add", {"a": None})]


def test_a_schema_is_sent_back_as_it_was_understood() -> None:
    schema = {"type": "object", "$defs": {"x": {}}}
    echo = {"type": "object"}
    tools: Mapping[str, Mapping[str, Any]] = {"json_schema_2020_12_tool": schema, "json_schema_echo": echo}
    assert list(calls(tools, {}))[1] == ("json_schema_echo", {"schema": schema})
