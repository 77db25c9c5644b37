from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from qingtuan.errors import ArgumentsRefused
from qingtuan.tools.schema import check_arguments, fault_of, misfit

SEAT = {
    "type": "object",
    "properties": {
        "seat_id": {"type": "string", "description": "like 二楼安静区-A12", "maxLength": 20},
        "date": {"type": "string", "format": "date"},
        "hours": {"type": "integer", "minimum": 1, "maximum": 4},
        "window": {"type": ["boolean", "null"]},
        "area": {"type": "string", "enum": ["quiet", "talk"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["seat_id", "date"],
    "additionalProperties": False,
}
DEEP = {
    "type": "object",
    "properties": {
        "seats": {"type": "array", "items": {"$ref": "#/$defs/seat"}},
        "when": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
    },
    "required": ["seats"],
    "additionalProperties": False,
    "$defs": {
        "seat": {
            "type": "object",
            "properties": {"id": {"type": "string"}, "row": {"type": "integer"}},
            "required": ["id"],
            "additionalProperties": False,
        }
    },
}


def refusal(arguments: Any, schema: dict[str, Any] = SEAT) -> tuple[str, str]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    with pytest.raises(ArgumentsRefused) as refused:
        check_arguments(text, schema)
    return refused.value.say("zh"), refused.value.say("en")


def test_fitting_arguments_come_back_as_they_are() -> None:
    given = {"seat_id": "A12", "date": "2026-12-01", "hours": 2, "window": None, "area": "quiet", "tags": ["a"]}
    assert check_arguments(json.dumps(given), SEAT) == given


def test_the_refusal_names_the_field_what_it_must_be_and_what_came() -> None:
    zh, en = refusal({"seat_id": "A12", "date": "明天"})
    assert "没有执行" in zh
    assert 'date 要形如 2026-12-01 的日期，收到 "明天"' in zh
    assert 'date must be a date like 2026-12-01, got "明天"' in en


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seat_id": 12}, "seat_id must be a string (at most 20 characters), got 12"),
        ({"seat_id": "x" * 21}, "at most 20 characters"),
        ({"hours": "2"}, 'hours must be an integer (1 to 4), got "2"'),
        ({"hours": 5}, "got 5"),
        ({"hours": 1.5}, "got 1.5"),
        ({"hours": True}, "got true"),
        ({"window": "yes"}, "window must be true or false"),
        ({"area": "loud"}, 'area must be one of "quiet", "talk"'),
        ({"tags": ["a", 1]}, "tags must be a list, each item a string"),
        ({"date": "2026-02-30"}, "date must be"),
        ({"date": "20261201"}, "date must be"),
        ({"sead": "x"}, "there is no parameter sead"),
        ({"seatid": "x"}, "did you mean seat_id"),
    ],
)
def test_each_kind_of_mistake_is_named(change: dict[str, Any], says: str) -> None:
    _, en = refusal({"seat_id": "A12", "date": "2026-12-01", **change})
    assert says in en


def test_what_is_missing_is_named_and_the_whole_shape_is_told() -> None:
    zh, en = refusal("{}")
    assert "缺 seat_id" in zh
    assert "缺 date（形如 2026-12-01 的日期）" in zh
    assert "date is missing" in en
    assert "hours (optional, an integer (1 to 4))" in en


def test_a_cut_off_call_is_told_what_was_expected() -> None:
    zh, en = refusal('{"seat_id":"A1')
    assert "截断" in zh
    assert "cut off" in en
    assert "seat_id" in en


def test_a_call_without_parameters_may_be_empty_and_no_other() -> None:
    nothing: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    assert check_arguments("", nothing) == {}
    assert check_arguments("{}", nothing) == {}
    optional = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    assert "cut off" in refusal("", optional)[1]


def test_nothing_hostile_makes_the_refusal_long() -> None:
    many = {f"extra{i}": "x" * 1000 for i in range(50)}
    zh, en = refusal({"y" * 5000: "x" * 9000, **many})
    assert len(zh) < 2000
    assert len(en) < 2000


def test_deeper_schemas_are_checked_by_the_library_with_the_same_words() -> None:
    assert check_arguments('{"seats":[{"id":"a"}],"when":null}', DEEP)
    assert "seats[0].id is missing (a string)" in refusal({"seats": [{}]}, DEEP)[1]
    assert "seats[1].row must be an integer" in refusal({"seats": [{"id": "a"}, {"id": "b", "row": "x"}]}, DEEP)[1]
    assert "no parameter seats[0].colour" in refusal({"seats": [{"id": "a", "colour": 1}]}, DEEP)[1]
    assert "when must be" in refusal({"seats": [], "when": "soon"}, DEEP)[1]


def test_flat_schemas_do_not_load_the_library() -> None:
    program = (
        "import sys; from qingtuan.tools.schema import check_arguments;"
        "check_arguments('{\"a\":1}', {'type':'object','properties':{'a':{'type':'integer'}},"
        "'additionalProperties':False}); assert 'jsonschema' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_both_ways_of_checking_agree() -> None:
    elsewhere = {**SEAT, "$comment": "sends it through the library"}
    for given in (
        {"seat_id": "A", "date": "2026-12-01"},
        {"seat_id": "A", "date": "x"},
        {"seat_id": "A", "date": "2026-12-01", "hours": 2.0},
        {"seat_id": "A", "date": "2026-12-01", "hours": 0},
        {"seat_id": "A", "date": "2026-12-01", "area": None},
        {"seat_id": "A", "date": "2026-12-01", "tags": {}},
    ):
        results = []
        for schema in (SEAT, elsewhere):
            try:
                results.append(check_arguments(json.dumps(given), schema))
            except ArgumentsRefused as refused:
                results.append({"refused": refused.say("en")})
        assert results[0] == results[1]


def test_a_reference_to_an_address_is_never_fetched() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}}
    assert fault_of(schema) == "$ref leads outside: http://127.0.0.1:9/x.json"
    assert "broken" in refusal({"a": 1}, schema)[1]


def test_a_schema_that_runs_in_a_circle_or_has_a_hostile_pattern_does_not_hang() -> None:
    circle = {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}
    assert "broken" in refusal({"a": 1}, circle)[1]
    hostile = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(a+)+$"}}}
    assert check_arguments(json.dumps({"a": "a" * 60 + "!"}), hostile)
    names = {"type": "object", "patternProperties": {"(a+)+$": {}}, "additionalProperties": False}
    assert check_arguments(json.dumps({"a" * 60 + "!": 1}), names)


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "array"}, "describes an object"),
        ({"type": "object", "properties": {"a": {"type": "strin"}}}, "strin"),
        ({"type": "object", "required": "a"}, "a"),
    ],
)
def test_a_foreign_schema_that_cannot_be_used_is_named(schema: dict[str, Any], fault: str) -> None:
    assert fault in (fault_of(schema) or "")


def test_a_sound_foreign_schema_has_no_fault() -> None:
    assert fault_of(DEEP) is None
    assert fault_of({}) is None
    nested: dict[str, Any] = {}
    for _ in range(200):
        nested = {"properties": {"a": nested}}
    assert fault_of(nested) == "nested deeper than 32"


@pytest.mark.parametrize(
    ("items", "fits"), [([1, 2], True), ([{"a": 1}, {"a": 2}], True), ([{"a": 1}, {"a": 1}], False)]
)
def test_items_that_must_differ(items: list[Any], fits: bool) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}
    assert (misfit({"a": items}, schema) is None) == fits
    assert misfit({"a": [1, 1]}, {"properties": {"a": {"uniqueItems": False}}}) is None


def test_a_check_that_would_never_end_is_given_up() -> None:
    branching = {"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}, "required": ["b"]}
    deep: dict[str, Any] = {"b": 1}
    for _ in range(25):
        deep = {"a": deep, "b": 1}
    assert misfit(deep, branching) is None
    assert misfit({"a": {"a": {}}, "b": 1}, branching) is not None, "what takes little work is checked"
    with pytest.raises(ArgumentsRefused, match="broken"):
        check_arguments(json.dumps(deep), branching)
    assert check_arguments('{"b": 1}', branching) == {"b": 1}, "and the next one has its own measure"
